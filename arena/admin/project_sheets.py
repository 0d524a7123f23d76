"""Project sheets: a project's progress by kinds of items, first checks, time and people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arena.admin.projects import ProjectStanding
from arena.authoring.board import (
    FamilyRow,
    Metric,
    PersonRow,
    QuestionQuality,
    StepMinutes,
    YieldRow,
)
from arena.authoring.events import EventKind
from arena.authoring.spec import Kind, Step
from arena.interval_text import spanned
from arena.ratings.shares import Share
from arena.sheets import Sheet, plain_sheet


class PaperYield(NamedTuple):
    """Percentages in VisIT-Bench's Table 2."""

    overall: float
    single: float
    """Of items with one image."""
    multi: float
    """Of items with several images."""


PAPER: Mapping[Metric, PaperYield] = {
    "correct": PaperYield(87.3, 91.5, 63.0),
    "caption": PaperYield(4.0, 3.6, 6.0),
    "answer": PaperYield(7.7, 3.8, 30.0),
}
STEP_HEADS: Mapping[Kind, Mapping[Step, str]] = {
    "captions": {
        "instruction": "Instruction",
        "caption": "Caption",
        "answer": "Answer",
        "verify": "Verification",
    },
    "multiple choice": {"instruction": "Question", "verify": "Second person"},
}
"""The heads of each kind's steps, above their numbers of items."""
YIELD_HEADS = ("First check", "Overall", "Paper", "One picture", "Paper", "Several", "Paper")
QUALITY_HEADS = (
    "Kind",
    "Accepted",
    "Others chose the key",
    "Right without the picture",
    "Chance",
    "Spread of words",
    "Checked",
    "Good",
)
QUALITY_PAPER = (
    "MMT-Bench (paper)",
    None,
    None,
    "33.2% (ChatGPT-3.5)",
    "28.5%",
    "1.1",
    "half, up to 100",
    None,
)
"""MMT-Bench's numbers: Table A14, and the appendices I.1 and I.2. The result of the check is not printed."""
TIME_HEADS = ("Step", "Done", "Median minutes", "Total minutes")
PERSON_HEADS: Mapping[Kind, Mapping[EventKind, str]] = {
    "captions": {
        "instruction": "Instructions",
        "caption": "Captions",
        "answer": "Answers",
        "verdict": "Verdicts",
    },
    "multiple choice": {"instruction": "Questions", "verdict": "Answers"},
}
"""The heads for people's work at each step."""
AGREED_HEADS: Mapping[Kind, str] = {
    "captions": "Same verdict as others",
    "multiple choice": "Same letter as others",
}
"""The heads of people's agreement with others."""
YIELD_WORDS: Mapping[Metric, str] = {
    "correct": "Correct",
    "caption": "Caption wrong",
    "answer": "Answer wrong",
    "other": "Other faults",
}


def project_sheets(project: ProjectStanding, most_persons: int | None = None) -> Iterator[Sheet]:
    """Yields four tables: items by kind, first checks (for multiple choice: quality), time, and people.

    `most_persons`: the most people, the latest ones; None: all.
    """
    kind = project.spec.kind
    steps = STEP_HEADS[kind]
    acts = PERSON_HEADS[kind]
    families = [_family_row(row, list(steps)) for row in project.families]
    heads = ("Kind", "Wanted", "Accepted", *steps.values(), "Rejected")
    yield _sheet("Items by kind", heads, families)
    if project.spec.is_choice:
        quality = [_quality_row(row) for row in project.quality]
        yield _sheet("Quality", QUALITY_HEADS, [*quality, QUALITY_PAPER])
    else:
        yield _sheet("Yield", YIELD_HEADS, [_yield_row(row) for row in project.yields])
    minutes = [_minutes_row(row, acts[row.kind]) for row in project.minutes if row.kind in acts]
    yield _sheet("Time", TIME_HEADS, minutes)
    persons = project.persons if most_persons is None else project.persons[-most_persons:]
    heads = ("Person", *acts.values(), "Left to others", "Accepted", AGREED_HEADS[kind], "Minutes")
    yield _sheet("People", heads, [_person_row(row, list(acts)) for row in persons])


def _sheet(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Sheet:
    return plain_sheet(title.lower(), title, heads, rows, scrolls=True)


def _family_row(row: FamilyRow, steps: Sequence[Step]) -> tuple[object, ...]:
    at_steps = [getattr(row, step) for step in steps]
    return (row.family, row.wanted, row.accepted, *at_steps, row.rejected)


def _quality_row(row: QuestionQuality) -> tuple[object, ...]:
    return (
        row.family or "All",
        row.accepted,
        _share_text(row.same_as_key),
        _share_text(row.without_picture),
        None if row.chance is None else f"{row.chance:.1%}",
        None if row.spread is None else f"{row.spread:.1f}",
        f"{row.checked} of {row.wanted}",
        _share_text(row.good),
    )


def _minutes_row(row: StepMinutes, act: str) -> tuple[object, ...]:
    median = None if row.median is None else f"{row.median:.1f}"
    return act, row.number, median, f"{row.total:,.0f}"


def _person_row(row: PersonRow, acts: Sequence[EventKind]) -> tuple[object, ...]:
    numbers = {
        "instruction": row.instructions,
        "caption": row.captions,
        "answer": row.answers,
        "verdict": row.verdicts,
    }
    return (
        row.person,
        *(numbers[act] for act in acts),
        row.skipped,
        _share_text(row.accepted),
        f"{row.agreed} of {row.others}" if row.others else None,
        f"{row.minutes:,.0f}",
    )


def _yield_row(row: YieldRow) -> list[str]:
    """Returns the shares of all items, of those with one picture and with several, each with the paper's."""
    paper = PAPER.get(row.metric)
    return [
        YIELD_WORDS[row.metric],
        _share_text(row.overall),
        f"{paper.overall:.1f}%" if paper else "–",
        _share_text(row.single),
        f"{paper.single:.1f}%" if paper else "–",
        _share_text(row.multi),
        f"{paper.multi:.1f}%" if paper else "–",
    ]


def _share_text(share: Share) -> str:
    """Returns a share with its interval and the number of cases; a dash without cases."""
    if share.value is None:
        return "–"
    return f"{share.value:.1%} ({spanned(share.low, share.high, '.0%')}) of {share.n:,}"
