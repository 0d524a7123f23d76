"""Leaderboard view: a board as HTML, with its summary, its table, and the meaning of the columns."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from arena.leaderboard.board import SETTLED, Board, BoardKey, Span, Standing, VoteShare
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.statistics import FLOOR, ORDERS, Statistics
from arena.ratings.bradley_terry import Status
from arena.web.leaderboard_notes import import_notes, own_notes

BOARD_HEAD = f"<script>{(Path(__file__).parent / 'leaderboard.js').read_text('utf-8')}</script>"
SEARCH = (
    '<div class="board-search"><label for="board-search">Search models</label>'
    '<input type="search" id="board-search" autocomplete="off" spellcheck="false">'
    '<span id="board-said" role="status"></span></div>'
)
NO_SOURCE = '<p class="empty">There are no items yet, so there is no board.</p>'
FILES = {"board.csv": "Table (CSV)", "plots.html": "Plots (HTML)", "plots.json": "Plots (JSON)"}
_EXPORT = (
    '<a href="export/votes.parquet" download>Parquet</a><a href="export/votes.jsonl" download>JSONL</a>'
    '<a href="export/README.md" target="_blank">What stands in it</a>'
)
_SHOWN_NAMES = 4


class Column(NamedTuple):
    """A column of the table: its label and its meaning."""

    name: str
    label: str
    meaning: str


COLUMNS = (
    Column(
        "rank",
        "Rank",
        "1 + the models whose interval lies wholly above. Below it the ranks that 95% of draws give; where hardly a "
        "tuple tells, those that intervals allow.",
    ),
    Column(
        "model", "Model", f"Grey: provisional, with under {SETTLED} votes, a wide interval, or not a loss or a win."
    ),
    Column(
        "rating",
        "Rating",
        "Bradley-Terry on the Elo scale, mean 1000, with a 95% interval clustered by (item, pair). A weak prior, one "
        f"tied game against a mean model, keeps it finite. Blank under {FLOOR} votes.",
    ),
    Column(
        "elo",
        "Elo (paper)",
        f"Elo as VisIT-Bench computes it (K=4, scale 400, start 1000): the median over {ORDERS} seeded orders of the "
        "votes, with the spread over these orders, which is no confidence interval.",
    ),
    Column("votes", "Votes", "Battles of this model, each for two models; ties, which only imported votes have, too."),
    Column(
        "win-rate",
        "Win vs. reference",
        "Share of its decided battles with the reference answers that it won; n of them.",
    ),
    Column("mean", "Mean win rate", "Predicted share of wins against each other model of its group, averaged."),
    Column(
        "left",
        "Left chosen",
        "How often the answer on the left won in its decided battles; half where sides do not matter.",
    ),
)

MEANINGS = (
    '<details class="meaning"><summary>What the columns mean</summary><dl>'
    f"{''.join(f'<dt>{column.label}</dt><dd>{escape(column.meaning)}</dd>' for column in COLUMNS)}</dl></details>"
)


def board_html(board: Board, choice: BoardSelection) -> str:
    """Render a board: summary, table and downloads."""
    title = f"{choice.source}, {'multiple images' if board.key.multi else 'single image'}{_narrowed(choice)}"
    if not board.votes:
        begin = " on {}" if board.key.kind == "imported" else " yet on {}. Vote, and this board begins"
        return f'<p class="empty">{" ".join((f"No votes{begin.format(escape(title))}.", *own_notes(board)))}</p>'
    query = urlencode(_query(choice))
    links = "".join(f'<a href="boards/{name}?{escape(query)}" download>{text}</a>' for name, text in FILES.items())
    return (
        f'<div class="tells">{"".join(f"<p>{part}</p>" for part in summary(board))}</div>'
        f'<div class="board">{_table(board, title)}</div>'
        f'<p class="downloads">{links}</p>'
        f'<p class="downloads">Every vote: {_EXPORT}</p>'
    )


def summary(board: Board) -> tuple[str, ...]:
    """Return paragraphs of HTML on what the numbers of a board can and cannot tell."""
    statistics, told = board.statistics, (*import_notes(board), *own_notes(board))
    if statistics is None:
        lead, limits = f"{_votes(board.votes)}. Intervals and ranks are being computed.", ""
    else:
        lead = " ".join((_cast(board, statistics), *_lead(board), *_sides(board.left)))
        limits = " ".join((_limits(board, statistics), *_groups(board)))
    return tuple(part for part in (lead, " ".join(told), limits) if part)


def note_html(text: str) -> str:
    """Render a plot's caption."""
    return f'<p class="note">{escape(text)}</p>'


def problem_html(text: str) -> str:
    """Render an error in place of a board."""
    return f'<p class="problem" role="alert">{escape(text)}</p>'


# Sentences above the table.
def _cast(board: Board, statistics: Statistics) -> str:
    """Say how many votes there are, by whom and on how many items, as far as the votes tell."""
    crowd = statistics.crowd
    people = "1 person" if crowd.voters == 1 else f"{crowd.voters:,} people"
    items = "1 item" if crowd.items == 1 else f"{crowd.items:,} items"
    of_busiest = crowd.busiest / statistics.votes
    busiest = f"; the busiest cast {of_busiest:.0%} of them" if crowd.voters > 1 and of_busiest >= 0.01 else ""
    by = "a judge model" if _by_judge(board) else people
    told = [f" by {by}"] if crowd.voters or _by_judge(board) else []
    return f"<b>{_votes(board.votes)}</b>{''.join(told)}{f' on {items}' if crowd.items else ''}{busiest}."


def _limits(board: Board, statistics: Statistics) -> str:
    """Say what the intervals cover, and what no interval covers."""
    others = "a person or another judge" if _by_judge(board) else "other people or other tasks"
    where = "there" if board.key.kind == "imported" else "here"
    return (
        f"Intervals take the {statistics.clusters:,} (item, pair) tuples for independent, not the votes on them. They "
        f"tell how far more votes of this kind would move a rating, not whether {others} would "
        f"agree{'' if _by_judge(board) else f': whoever came {where} voted'}."
    )


def _by_judge(board: Board) -> bool:
    return board.import_summary is not None and board.import_summary.judge


def _lead(board: Board) -> tuple[str, ...]:
    """Say which model is first, whether the votes can tell, and how many votes it depends on."""
    ranked = [line for line in (board.groups[0] if board.groups else ()) if line.rank is not None]
    if len(ranked) < 2:
        return (f"No two models have {FLOOR} votes yet: too few for a rating.",)
    first = [line.model for line in ranked if line.rank and line.rank.value == 1]
    if len(first) == 1:
        lead = f"<b>{escape(first[0])}</b> is first, with its interval above all others."
    else:
        lead = f"The votes do not tell which is best of {_listed(first)}: their intervals overlap."
    alone = [line for line in ranked if line.status is Status.UNBEATEN]
    doubts = (
        (f"{_listed([line.model for line in alone])} never lost: only the prior says how far ahead.",) if alone else ()
    )
    return lead, *doubts, *_fragility(board, ranked[0])


def _fragility(board: Board, first: Standing) -> tuple[str, ...]:
    overturn = board.statistics and board.statistics.overturn
    if not overturn or overturn.leader != first.code or board.statistics is None:
        return ()
    rival = next((line.model for line in board.standings if line.code == overturn.rival), "")
    without = "1 vote" if overturn.votes == 1 else f"{overturn.votes:,} votes"
    share = f"{overturn.votes / board.statistics.votes:.1%}"
    return (f"Without {without} ({share}) that speak most for it, {escape(rival)} would come first.",)


def _sides(left: VoteShare | None) -> tuple[str, ...]:
    """Warn of a side bias that the votes show."""
    if left is None or left.low <= 0.5 <= left.high:
        return ()
    side = "left" if left.value > 0.5 else "right"
    told = f"{left.value:.0%}, {left.low:.0%} to {left.high:.0%}"
    return (f"The {side} answer won more often than by chance (left: {told}); sides are drawn, so this adds noise.",)


def _groups(board: Board) -> tuple[str, ...]:
    if len(board.groups) < 2:
        return ()
    return (f"{len(board.groups)} groups of models never met, not even through others: each has ranks of its own.",)


# The table.
def _table(board: Board, title: str) -> str:
    columns = [column for column in COLUMNS if column.name != "win-rate" or _meets_reference(board)]
    head = "".join(
        f'<th scope="col" class="{column.name}" role="columnheader" aria-sort="none"><button type="button" '
        f'data-column="{column.name}" title="{escape(column.meaning)}">{column.label}</button></th>'
        for column in columns
    )
    names = [column.name for column in columns]
    bodies = "".join(_body(group, names, number, len(board.groups)) for number, group in enumerate(board.groups, 1))
    caption = f"<caption>{escape(title)}: {_votes(board.votes)}</caption>"
    return f'<table role="table">{caption}<thead role="rowgroup"><tr role="row">{head}</tr></thead>{bodies}</table>'


def _meets_reference(board: Board) -> bool:
    return any(line.win_rate for line in board.standings)


def _body(group: Sequence[Standing], columns: Sequence[str], number: int, groups: int) -> str:
    title = ""
    if groups > 1:
        told = f"Group {number} of {groups}: {len(group)} models, not comparable with the others"
        title = f'<tr class="group" role="row"><th scope="rowgroup" colspan="{len(columns)}">{told}</th></tr>'
    bounds = [bound for line in group if line.rating for bound in line.rating if bound is not None]
    scale = (min(bounds), max(bounds)) if bounds else (0.0, 1.0)
    return f'<tbody role="rowgroup">{title}{"".join(_row(line, columns, *scale) for line in group)}</tbody>'


def _row(line: Standing, columns: Sequence[str], low: float, high: float) -> str:
    cells = {
        "rank": _cell("rank", line.rank and line.rank.value, _rank(line.rank)),
        "model": f'<th scope="row" class="model" role="rowheader" data-value="{escape(line.model)}">'
        f"{escape(line.model)}</th>",
        "rating": _cell("rating", line.rating and line.rating.value, _rating(line, low, high)),
        "elo": _cell("elo", line.elo and line.elo.value, _elo(line.elo)),
        "votes": _cell("votes", line.votes, f"{line.votes:,}{_ties(line.ties)}"),
        "win-rate": _cell("win-rate", line.win_rate and line.win_rate.value, _win_rate(line.win_rate)),
        "mean": _cell("mean", line.mean_win_rate, "" if line.mean_win_rate is None else f"{line.mean_win_rate:.0%}"),
        "left": _cell("left", line.left and line.left.value, _left(line.left)),
    }
    return f'<tr role="row" class="{line.trust.replace(" ", "-")}">{"".join(map(cells.__getitem__, columns))}</tr>'


def _cell(name: str, value: float | None, shown: str) -> str:
    label = next(column.label for column in COLUMNS if column.name == name)
    key = "" if value is None else f"{value:.6g}"
    return f'<td role="cell" class="{name}" data-label="{label}" data-value="{key}">{shown}</td>'


def _rank(rank: Span | None) -> str:
    if rank is None:
        return ""
    wide = rank.low is not None and rank.high is not None and rank.low < rank.high
    return f"{rank.value:.0f}{f' <small>{rank.low:.0f}–{rank.high:.0f}</small>' if wide else ''}"


def _rating(line: Standing, low: float, high: float) -> str:
    """Render a rating with its interval in numbers and as a bar on the group's scale, and any doubt about it."""
    words = " ".join(f"<small>{escape(word)}</small>" for word in _doubts(line))
    rating = line.rating
    if rating is None:
        return words
    shown, bar = f"{rating.value:.0f}", ""
    if rating.low is not None and rating.high is not None:
        at = [f"{(value - low) / max(high - low, 1e-9):.1%}" for value in (rating.low, rating.value, rating.high)]
        shown = f"{shown} <small>{rating.low:.0f}–{rating.high:.0f}</small>"
        style = f"--from: {at[0]}; --at: {at[1]}; --to: {at[2]}"
        bar = f'<span class="bar" style="{style}" aria-hidden="true"></span>'
    return f"{shown} {words}{bar}"


def _doubts(line: Standing) -> list[str]:
    doubts = ["too few votes"] if line.trust == "too few votes" else []
    if line.rating is not None and line.status is not Status.RATED:
        doubts.append(line.status)
    return [*doubts, *(["retired"] if line.retired else [])]


def _elo(elo: Span | None) -> str:
    if elo is None or elo.low is None or elo.high is None:
        return ""
    return f'{elo.value:.0f} <small title="spread over orders of the votes">{elo.low:.0f}–{elo.high:.0f}</small>'


def _win_rate(rate: VoteShare | None) -> str:
    if rate is None:
        return ""
    return f'{rate.value:.2%} <small title="95%: {rate.low:.0%} to {rate.high:.0%} (Wilson)">(n={rate.votes})</small>'


def _ties(ties: int) -> str:
    return f" <small>({ties:,} tied)</small>" if ties else ""


def _left(left: VoteShare | None) -> str:
    if left is None:
        return ""
    return f'{left.value:.0%} <small title="95% (Wilson)">{100 * left.low:.0f}–{left.high:.0%}</small>'


def _votes(votes: int) -> str:
    return "1 vote" if votes == 1 else f"{votes:,} votes"


def _listed(names: Sequence[str]) -> str:
    shown = [f"<b>{escape(name)}</b>" for name in names[:_SHOWN_NAMES]]
    more = len(names) - len(shown)
    last = f"{more} more" if more else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def _narrowed(choice: BoardSelection) -> str:
    key = choice.key
    days = f", {key.since or 'the first day'} to {key.until or 'today'} (UTC)" if key.dated else ""
    voters = "" if key.unflagged else ", flagged voters too"
    return f"{f', {choice.family}' if choice.family else ''}{days}{voters}"


def _query(choice: BoardSelection) -> dict[str, str]:
    """Return the query parameters of a board, as `Leaderboard.choose` takes them."""
    key: BoardKey = choice.key
    parts = {
        "source": choice.source,
        "images": "multiple" if key.multi else "single",
        "family": choice.family or "",
        "since": str(key.since or ""),
        "until": str(key.until or ""),
        "voters": "" if key.unflagged else "all",
    }
    return {name: value for name, value in parts.items() if value}
