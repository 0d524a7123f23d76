"""Published kinds of error: MMT-Bench's shares (section 4.4), and its case study's labels (Table A11) as an exam."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, get_args

from arena.io.tables import read_records
from scoring.people.errors import ErrorKey
from scoring.report import DATA

PAPER_SHARES: Mapping[str, Mapping[ErrorKey, float]] = {
    "GPT-4V": {
        "perception": 0.51,
        "reasoning": 0.0994,
        "capability": 0.19,
        "refuse": 0.0611,
        "instruction": 0.0299,
    },
    "GeminiProVision": {"perception": 0.769, "reasoning": 0.104, "instruction": 0.0114},
    "InternVL-Chat": {"perception": 0.672, "reasoning": 0.148, "instruction": 0.0664},
}
"""What the text of section 4.4 tells of up to five wrong answers a subtask; its Fig. 4 has no numbers. Lack of
knowledge lies between 6.99% and 9.0% in all three."""
CASE_MODELS = tuple(PAPER_SHARES)


@cache
def error_cases() -> Mapping[tuple[str, str], ErrorKey | None]:
    """The kind of error of each case's figure and model, from A5 to A36; None: no error."""
    found = {}
    for record in read_records(DATA / "mmt_bench_error_cases.csv"):
        for model in CASE_MODELS:
            kind = str(record.values[model])
            found[str(record.values["figure"]), model] = (
                kind if kind in get_args(ErrorKey) else None
            )
    return found


class Exam(NamedTuple):
    """A labelling judge on the published errors."""

    asked: int
    right: int
    unanswered: int
    """Not among the given labels: counted as wrong."""
    kappa: float | None
    """Cohen's, over the answered ones; None where everything is one kind."""
    most_common: int
    """How many are right by always saying the most common kind."""


def exam(given: Mapping[tuple[str, str], ErrorKey]) -> Exam:
    """Compare labels, by figure and model, with those of Table A11; cases without an error are not asked."""
    truth: dict[tuple[str, str], ErrorKey] = {
        case: kind for case, kind in error_cases().items() if kind is not None
    }
    pairs: list[tuple[ErrorKey, ErrorKey]] = [
        (kind, given[case]) for case, kind in truth.items() if case in given
    ]
    right = sum(kind == said for kind, said in pairs)
    often = Counter(truth.values()).most_common(1)[0][1]
    return Exam(len(truth), right, len(truth) - len(pairs), kappa(pairs), often)


def kappa(pairs: Sequence[tuple[ErrorKey, ErrorKey]]) -> float | None:
    """Cohen's kappa; None where everything is one kind."""
    if not pairs:
        return None
    here, there = (Counter(side) for side in zip(*pairs, strict=True))
    n = len(pairs)
    agreed = sum(one == other for one, other in pairs) / n
    chance = sum(here[kind] * there[kind] for kind in here) / n**2
    return (agreed - chance) / (1 - chance) if chance < 1 else None
