"""Sheets of multiple-choice reports: how letters were read, which are predicted, and two models side by side."""

from collections.abc import Sequence

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.multiple_choice.metrics import Compared, LetterCount, Success


def steps_sheet(title: str, read: Success) -> Sheet:
    """The share of answers that were read after each step, in percent (MMBench, Table 2)."""
    row = {
        "model": title,
        "rules": read.rate("letter", "content", "none"),
        "judge": read.rate("letter", "content", "none", "judge"),
        "none": read.refused,
    }
    columns = (
        Column("model", "Model"),
        Column("rules", "Step 1: rules", "score"),
        Column("judge", "Step 2: and judge", "score"),
        Column("none", "None of the options", "score"),
    )
    note = "As in MMBench's Table 2; what says none of the options is read too."
    return Sheet("steps", _STEPS, pd.DataFrame([row]), columns, note, "below")


_STEPS = "Answers read after each step, in percent"


def letter_sheet(counts: Sequence[LetterCount]) -> Sheet:
    """How often each letter is predicted, and how often it is right (MMBench, Figure 4)."""
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
    columns = (
        Column("letter", "Letter"),
        Column("predicted", "Predicted", "count"),
        Column("predicted_share", "Share", "percent", bar=True),
        Column("right", "Right", "count"),
        Column("right_share", "Share", "percent", bar=True),
    )
    title = "Letters predicted, beside the right ones"
    note = "As in MMBench's Figure 4. Z: none of the options."
    return Sheet("letters", title, pd.DataFrame(rows), columns, note, "below")


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
