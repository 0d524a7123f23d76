"""Agreement view: HTML and Figure 9 for how far people agree and how far judges and metrics follow them."""

from textwrap import wrap
from typing import Any

from arena.drawings import ShareRow, shares_drawing
from arena.figures import CLEAR, GREY, Figure
from arena.ratings.agreement import Level, People
from arena.ratings.shares import Share
from arena.templates import macros
from scoring.agreement.people_agreement import PeopleAgreement
from scoring.web.report_parts import REPORT, TableRow

AGREEMENT = macros("agreement.html")
TITLE = "How often each measure reproduces what most people chose"
_LEVELS = (("#5866e0", "circle"), ("#2a9d8f", "square"), ("#d08a1e", "triangle-up"), ("#c2507a", "cross"))
"""Colour and symbol of each level of unanimity, for light and dark pages; most unanimous first."""
_ROW_PIXELS, _FRAME_PIXELS = 56, 130
_LINE_LETTERS = 18
_DOTTED = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": GREY, "width": 1.5, "dash": "dot"}}


def people_html(people: People) -> str:
    if not people.contests:
        return ""
    rows = [
        TableRow((f"{level} chose the same", f"{share.hits:,}", AGREEMENT.share(share)))
        for level, share in people.levels.items()
    ]
    columns = {"Votes on a pair": "", "Pairs": "", "Share": ""}
    return AGREEMENT.people(REPORT.table("agreement", "How far people agree", columns, rows), people)


def measures_html(found: PeopleAgreement) -> str:
    """Return Figure 9 as a table, best measure first; "" if no pair has a majority."""
    if not any(one.overall.n for one in found.reproductions):
        return ""
    levels = shown_levels(found.people)
    columns = dict.fromkeys(("Measure", "All", *map(str, levels), "Ties"), "")
    rows = []
    for one in found.reproductions:
        shares = (one.overall, *(one.levels[level] for level in levels))
        rows.append(TableRow((one.measure, *(AGREEMENT.share(share, True) for share in shares), f"{one.ties:,}")))
    return REPORT.table("agreement agreement-measures", TITLE, columns, rows)


def shown_levels(people: People) -> list[Level]:
    """Return the levels with a majority, for the most common number of votes per pair."""
    pairs = {level.votes: share.n for level, share in people.levels.items()}
    usual = max(pairs, key=lambda votes: (pairs[votes], votes), default=0)
    return [level for level in people.levels if level.votes == usual and 2 * level.most > usual]


def reproduction_figure(found: PeopleAgreement) -> Figure:
    shown = [one for one in found.reproductions if one.overall.n]
    levels = shown_levels(found.people)
    names = [str(AGREEMENT.lines(wrap(one.measure, _LINE_LETTERS))) for one in shown]
    traces = [_trace("all", names, [one.overall for one in shown], (GREY, "diamond"))]
    for level, mark in zip(levels, _LEVELS, strict=False):
        traces.append(_trace(str(level), names, [one.levels[level] for one in shown], mark))
    lines = [(0.5, "chance", "right")]
    if found.people.with_majority.value is not None:
        lines.append((found.people.with_majority.value, str(AGREEMENT.lines(["a single", "vote"])), "center"))
    axis = {"range": [0, 1.02], "tickformat": ".0%", "gridcolor": "rgba(138,143,152,.3)", "zeroline": False}
    layout = {
        "height": _FRAME_PIXELS + _ROW_PIXELS * max(len(shown), 3),
        "margin": {"l": 4, "r": 4, "t": 40, "b": 10},
        **CLEAR,
        "font": {"color": GREY, "size": 11},
        "scattermode": "group",
        "xaxis": {"automargin": True, **axis},
        "yaxis": {"automargin": True, "autorange": "reversed", "type": "category", "showgrid": False},
        "legend": {"orientation": "h", "y": -0.1, "yanchor": "top"},
        "shapes": [{**_DOTTED, "x0": at, "x1": at} for at, _, _ in lines],
        "annotations": [
            {"x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": anchor, "showarrow": False, "text": text}
            for at, text, anchor in lines
        ],
    }
    note = (
        "Share of the majorities that a measure reproduces, by how many of a pair's voters agreed, with 95% intervals. "
        "A measure at the line of 50% does no better than a coin; the other one says how often a single vote "
        "went with the majority that it is part of."
    )
    rows = [
        ShareRow(one.measure, share.value or 0.0, share.low, share.high) for one in shown for share in [one.overall]
    ]
    guides = {"chance": 0.5}
    if found.people.with_majority.value is not None:
        guides["a single vote"] = found.people.with_majority.value
    return Figure(TITLE, note, tuple(traces), layout, shares_drawing(TITLE, note, rows, guides))


def _trace(name: str, names: list[str], shares: list[Share], mark: tuple[str, str]) -> dict[str, Any]:
    shade, symbol = mark
    return {
        "type": "scatter",
        "mode": "markers",
        "orientation": "h",
        "offsetgroup": name,
        "name": name,
        "x": [share.value for share in shares],
        "y": names,
        "customdata": [[share.n, share.low, share.high] for share in shares],
        "hovertemplate": f"%{{y}}, {name}: %{{x:.1%}} (%{{customdata[1]:.0%}} to %{{customdata[2]:.0%}}, "
        "n = %{customdata[0]})<extra></extra>",
        "marker": {"color": shade, "size": 9, "symbol": symbol},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [None if share.value is None else share.high - share.value for share in shares],
            "arrayminus": [None if share.value is None else share.value - share.low for share in shares],
            "color": shade,
            "thickness": 2,
            "width": 0,
        },
    }
