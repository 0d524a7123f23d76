"""Sheets of VQA reports: the judge's marks."""

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from arena.sheets import Column, Sheet, interval
from scoring.report import ScoreLine


def mean_mark_sheet(marks: ScoreLine) -> Sheet:
    columns = [Column("name", "Score"), Column("n", "Answers", "count")]
    columns.append(Column("mean", "Mean", "score", "low", "high", places=2))
    if marks.unscored:
        columns.append(Column("unscored", "Not marked", "count"))
        columns.append(interval("worst", "best", "Possible mean", places=2))
    frame = pd.DataFrame([asdict(marks)])
    return Sheet("mean-mark", "Mean mark from 1 to 5", frame, tuple(columns))


def mark_counts_sheet(times: Mapping[int, int]) -> Sheet:
    """How often the judge gave each mark."""
    total = sum(times.values())
    rows = [
        {"mark": mark, "answers": count, "share": count / total}
        for mark, count in sorted(times.items(), reverse=True)
    ]
    columns = (
        Column("mark", "Mark", "rank"),
        Column("answers", "Answers", "count"),
        Column("share", "Share", "percent", bar=True),
    )
    return Sheet("marks", "Marks given", pd.DataFrame(rows), columns)
