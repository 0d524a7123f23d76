"""Sheets of multiple-choice reports: steps of extraction, predicted letters, two models, and two protocols."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.multiple_choice.metrics import ComparisonTable, LetterCount, StepCounts
from scoring.multiple_choice.types import PROTOCOL_WORDS, Protocol
from scoring.report import ScoreLine

CHANGE = 0.05
"""Smallest change of a mean, in percentage points, that a what-if lists."""


def steps_sheet(read: StepCounts) -> Sheet:
    """The number of answers read by each step of the extraction (MMBench, Table 2)."""
    rows = [
        {"step": step, "answers": times, "share": times / read.n}
        for step, times in read.by_step.items()
    ]
    columns = (
        Column("step", "Step", has_words=True),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    return Sheet("steps", "How letters were read", pd.DataFrame(rows), columns, place="below")


def letter_sheet(counts: Sequence[LetterCount]) -> Sheet:
    """Sheet of the times each letter is predicted and, if known, right (MMBench, Figure 4)."""
    predicted = sum(count.predicted for count in counts)
    right = sum(count.right for count in counts)
    rows = [
        {
            "letter": count.letter,
            "predicted": count.predicted,
            "predicted_share": count.predicted / predicted if predicted else None,
            "right": count.right,
            "right_share": count.right / right if right else None,
        }
        for count in counts
    ]
    columns = [
        Column("letter", "Letter"),
        Column("predicted", "Predicted", "count"),
        Column("predicted_share", "Share", "percent", bar=True),
    ]
    if right:
        columns += [
            Column("right", "Right", "count"),
            Column("right_share", "Share", "percent", bar=True),
        ]
    note = "As in MMBench's Figure 4. Z: none of the options."
    frame = pd.DataFrame(rows)
    return Sheet("letters", "Letters predicted", frame, tuple(columns), note, "below")


def comparison_sheets(
    first: str, second: str, comparisons: Sequence[ComparisonTable], note: str
) -> list[Sheet]:
    """Two models' outcomes on the same questions, with McNemar's exact p."""
    columns = (
        Column("name", "Ability", has_words=True),
        Column("both", "Both", "count"),
        Column("first_only", "First only", "count"),
        Column("second_only", "Second only", "count"),
        Column("neither", "Neither", "count"),
        Column("p", "p", "p"),
    )
    return [
        Sheet(
            name=comparison.over.replace(" ", "-"),
            title=f"{first} against {second}, {comparison.over}",
            frame=pd.DataFrame(comparison.lines),
            columns=columns,
            note=note,
        )
        for comparison in comparisons
    ]


def change_sheets(
    pairs: Sequence[tuple[ScoreLine, ScoreLine]],
    label: Callable[[str], str],
    here: Protocol,
    there: Protocol,
) -> tuple[Sheet, Sheet]:
    """Overall, the first of `pairs`, under two protocols, and the other means that change."""
    columns = (
        Column("name", "Ability", has_words=True),
        Column("here", PROTOCOL_WORDS[here], "score"),
        Column("there", PROTOCOL_WORDS[there], "score"),
        Column("change", "Change", "difference"),
    )
    overall = [_change(label(first.name), first, second) for first, second in pairs[:1]]
    below = [
        _change(label(first.name), first, second)
        for first, second in pairs[1:]
        if _moves(first, second)
    ]
    return (
        Sheet("what-if", "Under two protocols", pd.DataFrame(overall), columns),
        Sheet("what-if-below", "Means that move", pd.DataFrame(below), columns),
    )


def _change(name: str, here: ScoreLine, there: ScoreLine) -> Mapping[str, object]:
    change = None
    if here.mean is not None and there.mean is not None:
        change = there.mean - here.mean
    return {"name": name, "here": here.mean, "there": there.mean, "change": change}


def _moves(here: ScoreLine, there: ScoreLine) -> bool:
    if here.mean is None or there.mean is None:
        return here.mean is not there.mean
    return abs(here.mean - there.mean) > CHANGE
