"""What "Score outputs" asks for, benchmark by benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from scoring.jobs.submissions import Opponents
from scoring.web.audit_view import PROTOCOL_WORDS

Way = Literal["judge first", "rules first", "compare"]
"""judge first: a quote, then the report. rules first: a report at once, then a quote of what they left open. compare: a
quote of matches with other models, then the report."""
Part = Literal["questions", "missing", "runs", "stored", "opponents", "reference", "context"]
"""Settings that not every benchmark has."""
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Form:
    """What the page asks for, for one benchmark."""

    name: str
    """As people choose it."""
    way: Way
    protocols: Mapping[str, str]
    """Words to protocol; the first is the one that is chosen at first."""
    parts: frozenset[Part]
    check: str
    """What its button says."""
    unit: str
    """What a judge is asked for, in the singular."""
    rest: str = ""
    """What the button says that has a judge do what rules left."""

    def counted(self, number: int) -> str:
        """Return a number of what a judge is asked for."""
        return counted(number, self.unit)


def counted(number: int, unit: str) -> str:
    """Return a number of things in words: "1 call", "2 calls"."""
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
"""By benchmark."""
VANILLA = "Score it as vanilla (free)"
"""What the button says where a file cannot be scored as circular."""
NAMES: Mapping[str, str] = {form.name: benchmark for benchmark, form in FORMS.items()}
"""What people choose to benchmark."""
MISSING = {"Stop and tell me": "stop", "Leave them unscored": "unscored"}
RUNS = {"5 separate runs": (5, False), "5 samples of one call (cheaper)": (5, True), "1 run": (1, False)}
OPPONENTS: Mapping[str, Opponents] = {"All models": "all", "The reference alone": "reference", "3 an item, drawn": 3}
REFERENCES = {"Reference-free, as in the paper": "free", "Shown the reference": "backed"}
CONTEXTS = {"Captions": "captions", "The images (a vision judge)": "images"}
"""What people choose, each with what it means."""
FILE = "The uploaded file"
"""Whose answers are compared, where they are not a stored model's."""
