"""Sheets of multiple-choice reports: steps of extraction, predicted letters, two models, and two protocols."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.multiple_choice.metrics import ComparisonTable, LetterCount, StepCounts
from scoring.multiple_choice.types import PROTOCOL_WORDS, Protocol
from scoring.report import ScoreLine

SMALLEST_CHANGE = 0.05
"""A what-if lists the means that change by more, in percentage points, and those that only one protocol scores."""


class LinePair(NamedTuple):
    """A mean under two protocols: a report's own and another."""

    own: ScoreLine
    other: ScoreLine


class ChangeSheets(NamedTuple):
    """The means of a report under two protocols."""

    overall: Sheet
    changed: Sheet
    """The means other than Overall, of which only those that change are listed."""


def steps_sheet(steps: StepCounts) -> Sheet:
    """The number of answers read by each step of the extraction (MMBench, Table 2)."""
    rows = [
        {"step": step, "answers": count, "share": count / steps.n}
        for step, count in steps.by_step.items()
    ]
    columns = (
        Column("step", "Step", has_words=True),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    return Sheet("steps", "How letters were read", pd.DataFrame(rows), columns, place="below")


def letter_sheet(counts: Sequence[LetterCount]) -> Sheet:
    """How often each letter is predicted and, if known, how often it is the right answer (MMBench, Figure 4)."""
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
    """Two models' outcomes on the same questions, with McNemar's exact p; `first` and `second` are their names."""
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
    pairs: Sequence[LinePair], label: Callable[[str], str], own: Protocol, other: Protocol
) -> ChangeSheets:
    """The means under two protocols, of which the first pair is Overall; `label` puts a mean's name into words."""
    columns = (
        Column("name", "Ability", has_words=True),
        Column("here", PROTOCOL_WORDS[own], "score"),
        Column("there", PROTOCOL_WORDS[other], "score"),
        Column("change", "Change", "difference"),
    )
    overall = [_change_row(pair, label) for pair in pairs[:1]]
    changed = [_change_row(pair, label) for pair in pairs[1:] if _has_changed(pair)]
    return ChangeSheets(
        overall=Sheet("what-if", "Under two protocols", pd.DataFrame(overall), columns),
        changed=Sheet("what-if-below", "Means that move", pd.DataFrame(changed), columns),
    )


def _change_row(pair: LinePair, label: Callable[[str], str]) -> Mapping[str, object]:
    own = pair.own.mean
    other = pair.other.mean
    change = None if own is None or other is None else other - own
    return {"name": label(pair.own.name), "here": own, "there": other, "change": change}


def _has_changed(pair: LinePair) -> bool:
    own = pair.own.mean
    other = pair.other.mean
    if own is None or other is None:
        return (own is None) != (other is None)
    return abs(own - other) > SMALLEST_CHANGE
