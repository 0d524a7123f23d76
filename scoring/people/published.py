"""Published numbers: MM-Vet's distances of judges from people (Tables 6 to 8), MMT-Bench's shares of kinds of error
(section 4.4), its case study's labels (Table A11) as an exam, and MMBench's extractors beside people (Figure 5)."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, get_args

from arena.io.tables import read_records
from scoring.people.errors import ErrorKey, kind_table
from scoring.people.measures import kappa
from scoring.report import DATA

PAPER_DELTAS: Mapping[str, float] = {
    "keyword matching": 0.273,
    "LLaMA-2-7B": 0.307,
    "LLaMA-2-13B": 0.254,
    "LLaMA-2-70B": 0.316,
    "Mistral-7B-v0.1": 0.188,
    "Mistral-7B-Instruct-v0.2": 0.173,
    "Mixtral-8x7B-Instruct-v0.1": 0.234,
    "Gemini Pro": 0.144,
    "Claude 3 Opus": 0.137,
    "GPT-3.5 (turbo-0613)": 0.178,
    "GPT-4 (0613)": 0.0423,
}
"""Each judge's mean distance from people's scores of 0 to 1 (MM-Vet, Table 6; GPT-4's with the digits of Table 7)."""
PAPER_PANELS: Mapping[tuple[str, ...], float] = {
    ("GPT-4 (0613)",): 0.0423,
    ("GPT-4 (0613)", "LLaMA-2-13B"): 0.1483,
    ("GPT-4 (0613)", "Mistral-7B-Instruct-v0.2"): 0.1078,
    ("GPT-4 (0613)", "Gemini Pro"): 0.0933,
    ("GPT-4 (0613)", "Claude 3 Opus"): 0.0896,
    (
        "GPT-4 (0613)",
        "LLaMA-2-13B",
        "Mistral-7B-Instruct-v0.2",
        "Gemini Pro",
        "Claude 3 Opus",
    ): 0.1502,
}
"""MM-Vet, Table 7. The paper calls them combined, but they are means of the members' deltas, not a panel's own."""
Examples = tuple[int, ...]
"""Numbers of the prompt's examples, from 1, in the order of MM-Vet's Table 1."""
PAPER_EXAMPLES: Mapping[Examples, float] = {
    (): 0.0630,
    (1, 5): 0.0625,
    (1, 2, 3, 5): 0.0619,
    (1, 2, 3, 4, 5): 0.0551,
    (1, 2, 3, 4, 5, 7): 0.0520,
    (1, 2, 3, 4, 5, 6, 7): 0.0423,
}
"""MM-Vet, Table 8: GPT-4's delta by the examples that its prompt keeps."""


def examples_words(examples: Examples) -> str:
    """Examples as the paper writes them."""
    return " ".join(f"({number})" for number in examples) or "none"


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
"""The shares in the text of section 4.4, of up to five wrong answers a subtask; its Fig. 4 has no numbers. Lack of
knowledge is between 6.99% and 9.0% in all three."""
CASE_MODELS = tuple(PAPER_SHARES)
PAPER_ALIGNED: Mapping[str, float] = {
    "GPT-4": 0.872,
    "ChatGPT (gpt-3.5-turbo-0613)": 0.870,
    "Claude": 0.864,
}
"""MMBench, section 4.3: how often extractors choose as six people did. Figure 5 has no numbers for other extractors."""
PAPER_READ = 376
"""Answers of that comparison: of 824 answers, by 8 models to 103 questions, those that exact matching left open."""
PAPER_MISALIGNED = 50
"""ChatGPT's misaligned answers, as the paper counts them, although 87.0% of 376 leaves 49."""
PAPER_CASES = (0.70, 0.30)
"""Shares of case I and case II among the misaligned answers. Case I: people or the extractor chose no option, and the
other did. Case II: they chose two different options."""


@cache
def error_cases() -> Mapping[tuple[str, str], ErrorKey | None]:
    """The kind of error of each case, by its figure (A5 to A36) and model; None: no error."""
    kinds = {}
    for record in read_records(DATA / "mmt_bench_error_cases.csv"):
        figure = str(record.values["figure"])
        for model in CASE_MODELS:
            kind = str(record.values[model])
            kinds[figure, model] = kind if kind in get_args(ErrorKey) else None
    return kinds


class ExamResult(NamedTuple):
    """Result of a judge that labelled the published errors."""

    cases: int
    right: int
    unanswered: int
    """Cases without a label: counted as wrong."""
    kappa: float | None
    """Cohen's, over the answered cases; None where everything is one kind."""
    most_common: int
    """Right answers of a judge that always chooses the most common kind."""


def exam_result(labels: Mapping[tuple[str, str], ErrorKey]) -> ExamResult:
    """Compares labels, by figure and model, with those of Table A11; cases without an error are left out."""
    truth: dict[tuple[str, str], ErrorKey] = {
        case: kind for case, kind in error_cases().items() if kind is not None
    }
    pairs: list[tuple[ErrorKey, ErrorKey]] = [
        (kind, labels[case]) for case, kind in truth.items() if case in labels
    ]
    right = sum(kind == label for kind, label in pairs)
    return ExamResult(
        cases=len(truth),
        right=right,
        unanswered=len(truth) - len(pairs),
        kappa=kappa(kind_table(pairs)),
        most_common=max(Counter(truth.values()).values()),
    )
