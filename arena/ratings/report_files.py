"""Rating report files: board.csv, plots.html, and report.json with all parameters."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from arena.figures import Bar, Figure, battle_count_figure, interval_figure, page, win_rate_figure
from arena.formats.base import Battles
from arena.ratings.bradley_terry import win_chances
from arena.ratings.intervals import LEVEL
from arena.ratings.report import BoardRow, RatingReport
from arena.ratings.votes import ELO

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d")
"""First characters that make a spreadsheet read a cell as a formula (OWASP)."""


def write_report(report: RatingReport, battles: Battles, source: Path, folder: Path) -> tuple[Path, ...]:
    """Write a report on the battles of `source` into a folder; returns the files' paths."""
    record = json.dumps(_record(report, battles, source), indent=2, ensure_ascii=False, allow_nan=False)
    texts = {
        "board.csv": board_csv(report.rows),
        "plots.html": page(f"Ratings of {source.name}", figures(report)),
        "report.json": f"{record}\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return tuple(folder / name for name in texts)


def board_csv(rows: Sequence[BoardRow]) -> str:
    """A board as CSV; a name that a spreadsheet would read as a formula gets a leading apostrophe."""
    header = [field.name for field in fields(BoardRow)]
    cells = ((table_text(name), *numbers) for name, *numbers in (asdict(row).values() for row in rows))
    return csv_text([header, *cells])


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV lines that end in LF; a text with a line break of any kind is quoted."""
    lines = []
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\r\n").writerow(row)  # the writer quotes any character of its terminator
        lines.append(line.getvalue().removesuffix("\r\n"))
    return "".join(f"{line}\n" for line in lines)


def table_text(name: str) -> str:
    """A name as a table cell: a leading apostrophe where a spreadsheet would read a formula."""
    return f"'{name}" if name.startswith(_FORMULA) else name


def figures(report: RatingReport) -> tuple[Figure, ...]:
    """A report's plots, with models in board order."""
    names = [row.model for row in report.rows]
    m, votes = len(names), report.votes
    grid = np.ix_(report.places, report.places)
    met = np.bincount(votes.a.astype(np.int64) * m + votes.b, minlength=m * m).reshape(m, m)[grid]
    counts = battle_count_figure(names, met.astype(np.float64))
    if report.order.method == "elo":
        bars = [
            Bar(row.model, row.elo if row.elo_median is None else row.elo_median, row.elo_low, row.elo_high)
            for row in report.rows
        ]
        note = "Elo over seeded orders of the votes: median and spread, which is no confidence interval."
        return interval_figure(bars, note), counts
    bars = [Bar(row.model, row.bt, row.bt_low, row.bt_high) for row in report.rows]
    note = f"Bradley-Terry with intervals of {LEVEL:.0%}, clustered by {report.bounds.cluster}."
    return interval_figure(bars, note), win_rate_figure(names, np.round(win_chances(report.fit)[grid], 4)), counts


def _record(report: RatingReport, battles: Battles, source: Path) -> dict[str, Any]:
    """Content of report.json: the file, all parameters, what happened, and the board at full precision."""
    fit, draws = report.fit, report.draws
    groups = range(max(fit.components, default=-1) + 1)
    return {
        "file": {
            "name": source.name,
            "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
            "format": battles.format,
            "votes": len(battles),
        },
        "parameters": asdict(report.order),
        "votes_counted": len(report.votes),
        "notices": report.notices,
        "elo": {
            **asdict(ELO),
            "once": "in the order of the file",
            "median_low_high": report.orders
            and {"kind": "seeded orders of all votes", "share_of_orders": LEVEL, "confidence_interval": False},
        },
        "bradley_terry": {
            "prior": fit.prior,
            "anchor": None,
            "mean": ELO.start,
            "newton_steps": fit.steps,
            "residual_wins": fit.residual,
            "components": [
                [name for name, of in zip(report.models, fit.components, strict=True) if of == group]
                for group in groups
            ],
            "intervals": {
                "kind": "sandwich",
                "level": LEVEL,
                "cluster": report.bounds.cluster,
                "clusters": report.bounds.clusters,
            },
            "rank_low_high": draws
            and {
                "kind": "bootstrap",
                "level": LEVEL,
                "cluster": draws.cluster,
                "refitted": draws.refitted,
            },
        },
        "board": [
            {**asdict(row), "status": fit.statuses[place], "component": int(fit.components[place])}
            for row, place in zip(report.rows, report.places, strict=True)
        ],
    }
