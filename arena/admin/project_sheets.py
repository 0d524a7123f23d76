"""Project sheets: how far a project is, by kinds of items, first checks, time and people."""

from collections.abc import Iterator, Mapping

from arena.admin.projects import ProjectStanding
from arena.authoring.board import Metric, PersonRow, StepMinutes, YieldRow
from arena.interval_text import spanned
from arena.ratings.shares import Share
from arena.sheets import Sheet, plain_sheet

PAPER: Mapping[Metric, tuple[float, float, float]] = {
    "correct": (87.3, 91.5, 63.0),
    "caption": (4.0, 3.6, 6.0),
    "answer": (7.7, 3.8, 30.0),
}
"""Percentages of VisIT-Bench's Table 2: overall, of single-image and of multi-image items."""
FAMILY_HEADS = (
    "Kind",
    "Wanted",
    "Accepted",
    "Instruction",
    "Caption",
    "Answer",
    "Verification",
    "Rejected",
)
YIELD_HEADS = ("First check", "Overall", "Paper", "One picture", "Paper", "Several", "Paper")
TIME_HEADS = ("Step", "Done", "Median minutes", "Minutes in all")
PERSON_HEADS = (
    "Person",
    "Instructions",
    "Captions",
    "Answers",
    "Verdicts",
    "Left to others",
    "Accepted",
    "Verdicts as others'",
    "Minutes",
)
_YIELDS: Mapping[Metric, str] = {
    "correct": "Correct",
    "caption": "Caption at fault",
    "answer": "Answer at fault",
    "other": "Other faults",
}


def project_sheets(one: ProjectStanding, most_persons: int | None = None) -> Iterator[Sheet]:
    """Yield four tables; `most_persons`: people in the last one, the latest, all if left out."""
    persons = one.persons if most_persons is None else one.persons[-most_persons:]
    for name, heads, rows in (
        ("Items by kind", FAMILY_HEADS, one.families),
        ("Yield", YIELD_HEADS, map(_yield, one.yields)),
        ("Time", TIME_HEADS, map(_minutes, one.minutes)),
        ("People", PERSON_HEADS, map(_person, persons)),
    ):
        yield plain_sheet(name.lower(), name, heads, rows, scrolls=True)


def _minutes(row: StepMinutes) -> tuple[object, ...]:
    median = None if row.median is None else f"{row.median:.1f}"
    return row.kind, row.number, median, f"{row.total:,.0f}"


def _person(row: PersonRow) -> tuple[object, ...]:
    return (
        row.person,
        row.instructions,
        row.captions,
        row.answers,
        row.verdicts,
        row.passed,
        _share(row.accepted),
        f"{row.agreed} of {row.others}" if row.others else None,
        f"{row.minutes:,.0f}",
    )


def _yield(row: YieldRow) -> list[str]:
    """A share beside the paper's, of all items, of those with one picture and of those with several."""
    paper = PAPER.get(row.metric)
    beside = [f"{number:.1f}%" for number in paper] if paper else ["–"] * 3
    cells = [_YIELDS[row.metric]]
    for share, published in zip((row.overall, row.single, row.multi), beside, strict=True):
        cells += [_share(share), published]
    return cells


def _share(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{share.value:.1%} ({spanned(share.low, share.high, '.0%')}) of {share.n:,}"
