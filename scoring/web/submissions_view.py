"""Automatic leaderboard as HTML: judge and steadiness, the table, and Figure 8."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import urlencode

from arena.figures import Figure
from scoring.visit_bench.leaderboard import FLOOR, ORDERS, AutomaticBoard, BoardLine, Correlation, WinRate
from scoring.visit_bench.matches import Part, Steadiness
from scoring.visit_bench.store import JudgeBoardKey, Judging, Standings, Submission

NO_BOARD = (
    '<p class="empty">No judge has compared models yet. Submit a model\'s answers under "Score outputs", or with '
    "<code>python -m scoring visit-bench</code>, and this board begins.</p>"
)
_CONTEXTS = {"captions": "read the pictures' captions", "images": "looked at the pictures themselves (a vision judge)"}
_GREY = "#8a8f98"
_SHADES = [[0.0, "#b5482f"], [0.5, "#f7f5f2"], [1.0, "#3f4db8"]]
_ROW_PIXELS, _FRAME_PIXELS, _MOST_PIXELS = 24, 240, 4000
_LETTERS = 24


class _Column(NamedTuple):
    name: str
    label: str
    meaning: str


_COLUMNS = (
    _Column("rank", "Rank", "1 + the models whose interval lies wholly above. Below it the ranks of 95% of draws."),
    _Column("model", "Model", "A submission's variant says how often its submitter has tried on these items."),
    _Column(
        "rating",
        "Rating",
        "Bradley-Terry on the Elo scale, mean 1000, with a 95% interval by (item, pair); a tie is half a win to each.",
    ),
    _Column(
        "elo",
        "Elo (paper)",
        f"Elo as VisIT-Bench computes it (K=4, scale 400, start 1000): the median over {ORDERS} seeded orders of the "
        "matches, with the spread over these orders, which is no confidence interval.",
    ),
    _Column("votes", "Matches", "Matches with a result; each is two verdicts, one in either order."),
    _Column(
        "win-rate",
        "Win vs. reference",
        "Share of its matches against the references, verified by people, that it won, ties left out; n of them.",
    ),
    _Column("mean", "Unscored", "Matches in which the judge gave no verdict in an order; they count nowhere else."),
    _Column("left", "People", "The rating that people's votes give on the same items."),
)
MEANINGS = (
    '<details class="meaning"><summary>What the columns mean</summary><dl>'
    f"{''.join(f'<dt>{column.label}</dt><dd>{escape(column.meaning)}</dd>' for column in _COLUMNS)}</dl></details>"
)


class Beside(NamedTuple):
    """People's ratings of the same models, and their correlation with the judge's."""

    ratings: Mapping[str, float]
    """By model."""
    agreement: Correlation | None


def board_html(board_key: JudgeBoardKey, found: Standings, beside: Beside, variants: Mapping[str, int]) -> str:
    """Return a board: what it shows, the table, and downloads; `variants` holds submissions' numbers by name."""
    title = f"{board_key.source}, {'multiple images' if board_key.multi else 'single image'}"
    return (
        f'<p class="tells">{" ".join(_tells(board_key, found, beside))}</p>'
        f"{steady_html(found.steadiness)}"
        f'<div class="board automatic">{board_table(title, found.board, beside, variants)}</div>'
        f'<p class="downloads">{_downloads(board_key)}</p>'
    )


def mine_html(submissions: Sequence[Submission]) -> str:
    """Return a user's submissions; "" if there are none."""
    if not submissions:
        return ""
    rows = "".join(
        f"<li><b>{escape(one.name)}</b> <small>{escape(one.source)} · variant {one.number} · "
        f"{one.created:%Y-%m-%d %H:%M} UTC{' · texts withdrawn' if one.withdrawn else ''}</small></li>"
        for one in submissions
    )
    return f'<h3>Your submissions</h3><ul class="mine">{rows}</ul>'


def problem_html(text: str) -> str:
    """Return an error in place of a board."""
    return f'<p class="problem" role="alert">{escape(text)}</p>'


def note_html(text: str) -> str:
    """Return the caption of a plot."""
    return f'<p class="note">{escape(text)}</p>'


def family_figure(board: AutomaticBoard) -> Figure | None:
    """Return Figure 8, win rates against the reference by family and model; None if no cell reaches the floor."""
    models = [line.row.model for line in board.lines if line.reference is not None]
    shown = {
        family: cells for family, cells in board.families.items() if any(rate.n >= FLOOR for rate in cells.values())
    }
    if not shown:
        return None
    cells = [[_above_floor(of.get(model)) for model in models] for of in shown.values()]
    trace = {
        "type": "heatmap",
        "x": [escape(model) for model in models],
        "y": [escape(family) for family in shown],
        "z": [[rate and rate.value for rate in row] for row in cells],
        "customdata": [[_hover(rate) for rate in row] for row in cells],
        "hovertemplate": "%{x}, %{y}: %{z:.0%}, %{customdata}<extra></extra>",
        "hoverongaps": False,
        "zmin": 0,
        "zmax": 1,
        "colorscale": _SHADES,
        "colorbar": {"orientation": "h", "y": 1, "yanchor": "bottom", "thickness": 10, "tickformat": ".0%"},
    }
    layout = {
        "height": min(_FRAME_PIXELS + _ROW_PIXELS * max(len(shown), 4), _MOST_PIXELS),
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(138,143,152,.12)",
        "font": {"color": _GREY, "size": 11},
        "xaxis": {"automargin": True, "tickangle": 90, **_names(models)},
        "yaxis": {"automargin": True, "autorange": "reversed", **_names(list(shown))},
    }
    note = (
        "Share of matches won against the human-verified reference, by instruction family, ties left out (Figure 8); "
        f"hover for n and the 95% interval. Blank: under {FLOOR} matches that were decided."
    )
    return Figure("Win rate against the reference by family", note, (trace,), layout)


# Summary of a board
def _tells(board_key: JudgeBoardKey, found: Standings, beside: Beside) -> list[str]:
    return [
        f"<b>{found.board.matches:,} matches</b> judged by {_judge(board_key.judging)}, in both orders of every pair.",
        _people(beside),
        *(f"{escape(notice[0].upper() + notice[1:])}." for notice in found.board.notices),
    ]


def steady_html(found: Steadiness) -> str:
    """Return how far the judge's verdicts depend on the order, with the counts behind each share."""
    named = {name.removeprefix("the ").capitalize(): part for name, part in found.named.items()}
    parts = "".join(f"<div><dt>{name}</dt>{_part(part)}</div>" for name, part in named.items())
    return f'<dl class="steady">{parts}</dl>'


def _judge(judging: Judging) -> str:
    reference = "was shown the reference" if judging.reference == "backed" else "was not shown the reference"
    return (
        f"<b>{escape(judging.model)}</b> at {escape(judging.address)}, which {_CONTEXTS[judging.context]} and "
        f"{reference} ({escape(judging.protocol)} protocol)"
    )


def _people(beside: Beside) -> str:
    if beside.agreement is None:
        return "Too few of these models have a rating by people for a correlation between the two."
    rho, p, n = beside.agreement
    shown = "p &lt; 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"People rank its models alike to Spearman's ρ = {rho:.2f} ({shown}, {n} models)."


def _part(part: Part) -> str:
    shown = "–" if part.share is None else f"{part.share:.1%}"
    return f"<dd>{shown} <small>{part.part:,} of {part.of:,}</small></dd>"


# Table
def board_table(title: str, board: AutomaticBoard, beside: Beside, variants: Mapping[str, int]) -> str:
    """Return a board's table, without columns that are empty for every model."""
    bounds = [bound for line in board.lines for bound in (line.row.bt_low, line.row.bt_high) if bound is not None]
    scale = (min(bounds), max(bounds)) if bounds else (0.0, 1.0)
    rows = [_cells(line, beside, variants.get(line.row.model), *scale) for line in board.lines]
    columns = [column for column in _COLUMNS if any(cells[column.name] for cells in rows)]
    head = "".join(
        f'<th scope="col" class="{column.name}" role="columnheader" title="{escape(column.meaning)}">'
        f"{column.label}</th>"
        for column in columns
    )
    body = "".join(f'<tr role="row">{"".join(_cell(cells, column) for column in columns)}</tr>' for cells in rows)
    return (
        f'<table role="table"><caption>{escape(title)}: {board.matches:,} matches</caption><thead role="rowgroup">'
        f'<tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
    )


def _cells(line: BoardLine, beside: Beside, variant: int | None, low: float, high: float) -> Mapping[str, str]:
    """Return a model's cells by column; "" if there is no value."""
    row, people = line.row, beside.ratings.get(line.row.model)
    return {
        "rank": _rank(line),
        "model": escape(row.model) + (f" <small>variant {variant}</small>" if variant else ""),
        "rating": _rating(line, low, high),
        "elo": "" if row.elo_median is None else f"{row.elo_median:.0f}{_range(row.elo_low, row.elo_high)}",
        "votes": f"{row.battles:,}{f' <small>({row.ties:,} tied)</small>' if row.ties else ''}",
        "win-rate": _win_rate(line.reference),
        "mean": f"{line.unscored:,}" if line.unscored else "",
        "left": "" if people is None else f"{people:.0f}",
    }


def _cell(cells: Mapping[str, str], column: _Column) -> str:
    shown = cells[column.name]
    if column.name == "model":
        return f'<th scope="row" class="model" role="rowheader">{shown}</th>'
    known = "known" if shown else ""
    return f'<td role="cell" class="{column.name}" data-label="{column.label}" data-value="{known}">{shown}</td>'


def _rank(line: BoardLine) -> str:
    """Return a rank with its range, widened to contain it: the rank counts only models that are surely better."""
    row = line.row
    if row.rank is None or row.rank_low is None or row.rank_high is None:
        return str(row.rank or "")
    return f"{row.rank}{_range(min(row.rank, row.rank_low), max(row.rank, row.rank_high))}"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None or low == high else f" <small>{low:.0f}–{high:.0f}</small>"


def _rating(line: BoardLine, low: float, high: float) -> str:
    """Return a rating with its interval, as numbers and as a bar on the board's scale."""
    row = line.row
    if row.bt is None or row.bt_low is None or row.bt_high is None:
        return ""
    at = [f"{(value - low) / max(high - low, 1e-9):.1%}" for value in (row.bt_low, row.bt, row.bt_high)]
    style = f"--from: {at[0]}; --at: {at[1]}; --to: {at[2]}"
    return f'{row.bt:.0f}{_range(row.bt_low, row.bt_high)}<span class="bar" style="{style}" aria-hidden="true"></span>'


def _win_rate(rate: WinRate | None) -> str:
    if rate is None:
        return ""
    ties = f", {rate.ties:,} tied" if rate.ties else ""
    if rate.value is None:
        return f"<small>{rate.ties:,} tied</small>"
    interval = f"95%: {rate.low:.0%} to {rate.high:.0%} (Wilson)"
    return f'{rate.value:.2%} <small title="{interval}">(n={rate.n:,}{ties})</small>'


def _downloads(board_key: JudgeBoardKey) -> str:
    query = escape(urlencode({"board": board_key.key}))
    files = {"board.tsv": "Table (TSV, as the authors')", "battles.jsonl": "Battles (JSONL, as the authors')"}
    files["families.csv"] = "Families (CSV)"
    return "".join(f'<a href="automatic/{name}?{query}" download>{text}</a>' for name, text in files.items())


# Figure 8
def _above_floor(rate: WinRate | None) -> WinRate | None:
    return rate if rate is not None and rate.n >= FLOOR else None


def _hover(rate: WinRate | None) -> str:
    return "" if rate is None else f"n={rate.n}, {rate.low:.0%} to {rate.high:.0%} (95%)"


def _names(names: Sequence[str]) -> dict[str, object]:
    shown = [name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…" for name in names]
    labels = {"tickvals": [escape(name) for name in names], "ticktext": [escape(name) for name in shown]}
    return {"type": "category", "tickmode": "array", **labels}
