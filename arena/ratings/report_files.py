"""A rating report on disk: board.csv, plots.html, and report.json with all parameters."""

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
from arena.ratings.report import BoardRow, RatingReport

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d")
"""What a spreadsheet takes for the beginning of a formula (OWASP)."""


def write_report(report: RatingReport, battles: Battles, source: Path, folder: Path) -> tuple[Path, ...]:
    """Write the files of a report on the battles of a source into a folder, and return their paths."""
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
    """Return a board as CSV; a name that a spreadsheet would take for a formula has an apostrophe before it."""
    header = [field.name for field in fields(BoardRow)]
    cells = ((table_text(name), *numbers) for name, *numbers in (asdict(row).values() for row in rows))
    return csv_text([header, *cells])


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV in lines that end in LF; a text with a line break of any kind in it stands in quotes."""
    lines = []
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\r\n").writerow(row)  # whose characters are those that it quotes
        lines.append(line.getvalue().removesuffix("\r\n"))
    return "".join(f"{line}\n" for line in lines)


def table_text(name: str) -> str:
    """Return a name as a table may hold it: with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{name}" if name.startswith(_FORMULA) else name


def figures(report: RatingReport) -> tuple[Figure, ...]:
    """Return the plots of a report, its models in the board's order."""
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
    note = f"Bradley-Terry with intervals of {report.bounds.level:.0%}, clustered by {report.bounds.cluster}."
    return interval_figure(bars, note), win_rate_figure(names, np.round(win_chances(report.fit)[grid], 4)), counts


def _record(report: RatingReport, battles: Battles, source: Path) -> dict[str, Any]:
    """Return what report.json holds: the file, all parameters, what happened, and the board with full precision."""
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
            **asdict(fit.settings),
            "once": "in the order of the file",
            "median_low_high": None if report.orders is None else _orders(report.orders.level),
        },
        "bradley_terry": {
            "prior": fit.prior,
            "anchor": None,
            "mean": fit.settings.start,
            "newton_steps": fit.steps,
            "residual_wins": fit.residual,
            "components": [
                [name for name, of in zip(report.models, fit.components, strict=True) if of == group]
                for group in groups
            ],
            "intervals": {
                "kind": "sandwich",
                "level": report.bounds.level,
                "cluster": report.bounds.cluster,
                "clusters": report.bounds.clusters,
            },
            "rank_low_high": draws
            and {
                "kind": "bootstrap",
                "level": report.bounds.level,
                "cluster": draws.cluster,
                "refitted": draws.refitted,
            },
        },
        "board": [
            {**asdict(row), "status": fit.statuses[place], "component": int(fit.components[place])}
            for row, place in zip(report.rows, report.places, strict=True)
        ],
    }


def _orders(level: float) -> dict[str, Any]:
    return {"kind": "seeded orders of all votes", "share_of_orders": level, "confidence_interval": False}
