"""Forms of "Score outputs": the settings of each benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scoring.jobs.submissions import Opponents
from scoring.web.choice_audit import PROTOCOL_WORDS

Workflow = Literal["judge first", "rules first", "compare"]
"""judge first: a quote, then the report. rules first: a report at once, then a quote for what the rules left open.
compare: a quote of matches with other models, then the report."""
Part = Literal["questions", "missing", "runs", "stored", "opponents", "reference", "context"]
"""Settings that only some benchmarks have."""


@dataclass(frozen=True)
class Form:
    """Settings form of one benchmark."""

    name: str
    """Label in the list of benchmarks."""
    way: Workflow
    protocols: Mapping[str, str]
    """Protocols by label; the first is the default."""
    parts: frozenset[Part]
    check: str
    """Label of the button."""
    unit: str
    """What the judge is asked for, in the singular."""
    rest: str = ""
    """Label of the button that has a judge read what the rules left open."""

    def counted(self, number: int) -> str:
        """Return a number with the form's unit: "1 mark", "2 marks"."""
        return counted(number, self.unit)


def counted(number: int, unit: str) -> str:
    """Return a number with its unit: "1 call", "2 calls"."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _marks(dataset: str) -> Form:
    return Form(
        f"{dataset}: marks 1 to 5",
        "rules first",
        {"Strict (ours)": "strict", "MMBench's paper": "mmbench-paper"},
        frozenset(),
        "Compare with the references (free)",
        "mark",
        "Have a judge give {left}: show the cost",
    )


def _choices(name: str) -> Form:
    return Form(
        name,
        "rules first",
        {words: protocol for protocol, words in PROTOCOL_WORDS.items()},
        frozenset(),
        "Read the letters (free)",
        "undecided answer",
        "Have a judge read {left}: show the cost",
    )


FORMS: Mapping[str, Form] = {
    "mm-vet": Form(
        "MM-Vet",
        "judge first",
        {"Hardened": "hardened", "As in the paper": "paper"},
        frozenset({"questions", "missing", "runs"}),
        "Check the file and show the cost",
        "grade",
    ),
    "visit-bench": Form(
        "VisIT-Bench",
        "compare",
        {"Hardened": "hardened", "As in the paper": "paper"},
        frozenset({"stored", "opponents", "reference", "context"}),
        "Check the file and show the cost",
        "verdict",
    ),
    "mmbench": _choices("MMBench, CN, v1.1, CCBench"),
    "mmt-bench": _choices("MMT-Bench"),
    **{dataset: _marks(dataset) for dataset in ("GQA", "OK-VQA", "TextVQA")},
}
"""Form by benchmark."""
VANILLA = "Score it as vanilla (free)"
"""Label of the button for a file that cannot be scored as circular."""
NAMES: Mapping[str, str] = {form.name: benchmark for benchmark, form in FORMS.items()}
"""Benchmark by label."""
MISSING = {"Stop and tell me": "stop", "Leave them unscored": "unscored"}
RUNS = {"5 separate runs": (5, False), "5 samples of one call (cheaper)": (5, True), "1 run": (1, False)}
OPPONENTS: Mapping[str, Opponents] = {"All models": "all", "The reference alone": "reference", "3 an item, drawn": 3}
REFERENCES = {"Reference-free, as in the paper": "free", "Shown the reference": "backed"}
CONTEXTS = {"Captions": "captions", "The images (a vision judge)": "images"}
"""Judge's context by label."""
FILE = "The uploaded file"
"""Choice of the uploaded file's answers instead of a stored model's."""
