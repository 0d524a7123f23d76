"""Sheets of multiple-choice reports: how letters were read, which are predicted, and two models side by side."""

from collections.abc import Sequence

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.multiple_choice.metrics import Compared, LetterCount, Success


def steps_sheet(read: Success) -> Sheet:
    """How many answers each step of the extraction read (MMBench, Table 2)."""
    rows = [
        {"step": step, "answers": times, "share": times / read.n}
        for step, times in read.by_step.items()
    ]
    columns = (
        Column("step", "Step"),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    return Sheet("steps", "How letters were read", pd.DataFrame(rows), columns, place="below")


def letter_sheet(counts: Sequence[LetterCount]) -> Sheet:
    """How often each letter is predicted and, where it is known, right (MMBench, Figure 4)."""
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


def comparison_sheets(first: str, second: str, found: Sequence[Compared]) -> list[Sheet]:
    """Where two models differ, with McNemar's exact p."""
    columns = (
        Column("name", "Ability"),
        Column("both", "Both", "count"),
        Column("first_only", "First only", "count"),
        Column("second_only", "Second only", "count"),
        Column("neither", "Neither", "count"),
        Column("p", "p", "p"),
    )
    return [
        Sheet(
            name=compared.over.replace(" ", "-"),
            title=f"{first} against {second}, {compared.over}",
            frame=pd.DataFrame(compared.lines),
            columns=columns,
        )
        for compared in found
    ]
