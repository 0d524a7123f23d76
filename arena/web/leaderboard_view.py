"""Leaderboard view: a board as HTML, with its summary, its table, and the meaning of the columns."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from arena.battles.vote_table import LIVE_OWN
from arena.interval_text import interval_text
from arena.leaderboard.board import Board, ImportSummary, Span, Standing
from arena.leaderboard.board_sheet import board_sheet, has_intervals, has_orders
from arena.leaderboard.headline import (
    STATUS_WORDS,
    names,
    needs,
    only_for,
    places_in_words,
    written,
)
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.statistics import TRUSTED, Statistics
from arena.leaderboard.takeover import EACH
from arena.model_facts import ModelFacts
from arena.ratings.bradley_terry import Status
from arena.ratings.settled import ALPHA, ORDER_WORDS, Order
from arena.settings import BoardVoters, CountRule
from arena.sheets import Column, Sheet, cell_of
from arena.templates import macros, plural
from arena.web.facts_view import COLUMN as FACTS
from arena.web.facts_view import in_short
from arena.web.results_address import board_query, model_addresses

HTML = macros("leaderboard.html")


COUNTED: Mapping[CountRule, str] = {
    "counted": "logged-in and campaign voters",
    "logged-in": "logged-in voters",
    "campaign": "campaign voters",
}
"""Whose votes count, by the rules that leave some out."""
CROWD = (
    "One person can vote under many new cookies. In simulations 100 of them, with ten votes each for the last of six "
    "models beside 5,000 honest votes, moved it by at most one place, from however many networks and days they came. "
    "A crowd too small to be noticed moves a model that is close to the next."
)
"""`python -m perf.fraud`."""
ANY_TIME = (
    f"A clear lead may be read at any time: of 1,000 boards of equal models at most {1000 * ALPHA:.0f} ever call a "
    "lead clear falsely."
)
"""`python -m perf.campaigns`."""
VOTES_SHOWN: Mapping[BoardVoters | None, str] = {
    "counted": ", counted voters",
    "everyone": ", everyone",
    None: "",
}


class BoardTable(NamedTuple):
    """Which models a board's table shows, and whether with what is known of them."""

    facts: Mapping[str, ModelFacts] | None = None
    """For their column; None: without it."""
    models: frozenset[str] | None = None
    """None: all."""

    def shows(self, line: Standing) -> bool:
        return self.models is None or line.model in self.models


WHOLE_TABLE = BoardTable()


def board_html(board: Board, choice: BoardSelection, table: BoardTable = WHOLE_TABLE) -> str:
    """Render a board of some votes: table, downloads, and what its numbers can and cannot tell."""
    title = f"{choice.source}, {'several pictures' if board.key.multi else 'one picture'}{_narrowed(choice)}"
    sheet = board_sheet(board, title)
    model, rank, *others = sheet.columns
    about = () if table.facts is None else (FACTS,)
    columns = (rank, model, *about, *others)
    query = board_query(choice)
    links = model_addresses(board, query)
    tells = HTML.summary(paragraphs(board), written(line.model for line in board.standings))
    bodies = [*_bodies(board, sheet, table)]
    return HTML.board(title, board.votes, tells, columns, bodies, query, links)


def facts_of(board: Board, model: str) -> list[tuple[Column, "TableCell"]]:
    """Return a model's cells of its board's table with their columns, but for its name and rank."""
    sheet = board_sheet(board)
    lines = zip(board.standings, sheet.rows, strict=True)
    line, row = next((line, row) for line, row in lines if line.model == model)
    cells = _cells(line, row, sheet.columns, _scale([line]))
    return [
        (column, cells[column.key])
        for column in sheet.columns
        if column.key in cells and column.key not in ("model", "rank")
    ]


def paragraphs(board: Board) -> tuple[Sequence[str], ...]:
    """Return sentences on what the numbers of a board can and cannot tell."""
    statistics = board.statistics
    told = (*import_notes(board), *own_notes(board))
    if statistics is None or not has_intervals(board):
        return (told,)
    lead = (
        *_whose(board, statistics),
        *_overturn(board),
        *_takeover(board),
        *([ANY_TIME] if has_orders(board) else []),
        *_sides(board),
        *_lack_of_fit(board, statistics),
    )
    apart = f"{len(board.groups)} groups of models never met, not even through others: each has ranks of its own."
    return lead, told, (_limits(board, statistics), *([apart] if len(board.groups) > 1 else []))


# Sentences on what the numbers tell.
def cast_sentence(board: Board) -> str:
    """Say how many votes there are, by whom and on how many items, as far as the votes tell."""
    if board.statistics is None:
        return f"{plural(board.votes, 'vote')}. Intervals and ranks are being computed."
    statistics = board.statistics
    crowd = board.statistics.crowd
    of_busiest = crowd.busiest / statistics.votes
    busiest = (
        f"; the busiest cast {of_busiest:.0%} of them"
        if crowd.voters > 1 and crowd.busiest > 1 and of_busiest >= 0.01
        else ""
    )
    by = (
        " by a judge model"
        if _by_judge(board)
        else f" by {plural(crowd.voters, 'person')}"
        if crowd.voters
        else ""
    )
    items = f" on {plural(crowd.items, 'item')}" if crowd.items else ""
    return HTML.cast(board.votes, f"{by}{items}{busiest}")


def _limits(board: Board, statistics: Statistics) -> str:
    """Say what the intervals cover, and what no interval covers."""
    if not statistics.crowd.items:
        unit = "voters, not a voter's votes," if statistics.for_new_voters else "each vote"
        return (
            f"The 95% intervals take {unit} for independent: no vote says which item it is about."
        )
    others = "a person or another judge" if _by_judge(board) else "other people or other tasks"
    where = "there" if board.key.kind == "imported" else "here"
    crowd = statistics.crowd
    cases = f"the {plural(crowd.items, 'item')} for independent, not the votes on one item"
    if crowd.pictures < crowd.items:
        cases = (
            f"the {plural(crowd.pictures, 'picture')} for independent, not the {crowd.items:,} items on them (near "
            "copies are one) nor the votes on one item"
        )
    return (
        f"The 95% intervals hold for new items of this kind, judged by {judges(board, statistics)}: they take "
        f"{cases}. They do not tell whether "
        f"{others} would agree{'' if _by_judge(board) else f': whoever came {where} voted'}."
    )


def judges(board: Board, statistics: Statistics) -> str:
    """Return whose choices a board's intervals hold for: of one voter or unnamed ones, no others'."""
    if _by_judge(board):
        return "the same judge"
    return "voters like these" if statistics.for_new_voters else "these voters only"


def _whose(board: Board, statistics: Statistics) -> Iterator[str]:
    """Warn where intervals hold for the voters of these votes only."""
    if not only_for(board):
        return
    crowd = statistics.crowd
    why = "All votes are one person's" if crowd.voters else "No vote says who cast it"
    yield (
        f"{why}: intervals are for these voters only, and no lead is called clear. What others would choose may be "
        "far outside."
    )


def _by_judge(board: Board) -> bool:
    return board.import_summary is not None and board.import_summary.judge


def _overturn(board: Board) -> Iterator[str]:
    """Say how many votes the first place depends on."""
    ranked = [line for line in (board.groups[0] if board.groups else ()) if line.rank is not None]
    overturn = board.statistics and board.statistics.overturn
    if ranked and overturn and overturn.leader == ranked[0].code and board.statistics is not None:
        rival = next((line.model for line in board.standings if line.code == overturn.rival), "")
        without = plural(overturn.votes, "vote")
        share = overturn.votes / board.statistics.votes
        speak = "speaks" if overturn.votes == 1 else "speak"
        yield f"Without {without} ({share:.1%}) that {speak} most for {ranked[0].model}, {rival} would come first."


def _takeover(board: Board) -> Iterator[str]:
    """Say how many new voters can put another model first."""
    found = board.statistics and board.statistics.takeover
    models = {line.code: line.model for line in board.standings}
    if not found or not {found.leader, found.rival} <= models.keys():
        return
    rival = models[found.rival]
    is_one = found.voters == 1
    voters = f"{plural(found.voters, 'new voter')} with {EACH} votes{'' if is_one else ' each'}"
    if found.is_noticed:
        yield f"{rival} would come first if {voters} always chose it, but the board would notice this crowd."
    else:
        yield f"{voters} who always {'chooses' if is_one else 'choose'} {rival} could put it first unnoticed."


def _lack_of_fit(board: Board, statistics: Statistics) -> Iterator[str]:
    """Say how far pairs differ from what the ratings expect of them."""
    found = statistics.lack_of_fit
    if found is None:
        return
    models = {line.code: line.model for line in board.standings}
    words = found.in_words(
        names([models.get(statistics.codes[found.winner], "")]),
        names([models.get(statistics.codes[found.loser], "")]),
    )
    yield f"{words[0].upper()}{words[1:]}."


def _sides(board: Board) -> Iterator[str]:
    """Warn of a side bias that the votes show."""
    left = board.left
    noise = "sides are drawn, so this adds noise"
    if board.key.kind == "imported":
        noise = "a model that stood there more often may have gained by it"
    if left is not None and not left.low <= 0.5 <= left.high:
        side = "left" if left.low > 0.5 else "right"
        told = f"{left.value:.0%}, {interval_text(left.low, left.high, '.0%')}"
        yield f"The {side} answer won more often than by chance (left: {told}); {noise}."


# Sentences on imported votes and excluded votes.
def import_notes(board: Board) -> Iterator[str]:
    """Yield sentences on the origin of a board's imported votes, how they count, and what they leave open."""
    told = board.import_summary
    if told is None:
        return
    if board.key.kind == "imported":
        yield "These votes were imported: they were cast elsewhere, not in this arena."
    else:
        yield HTML.imported(_votes(told.votes, " of these votes"), told.sources)
    halves = [plural(told.ties, "tie")] if told.ties else []
    halves += [f"{told.both_bad:,} \u201cboth bad\u201d"] if told.both_bad else []
    if halves:
        yield f"{' and '.join(halves)} count half to each side."
    if told.both_bad_out:
        yield f"{told.both_bad_out:,} \u201cboth bad\u201d are left out."
    yield from _gaps(told)


def own_notes(board: Board) -> Iterator[str]:
    """Yield sentences on which of this arena's votes a board counts, and which it excludes."""
    out = board.left_out
    if board.key.kind == "live":
        what = (
            "on pictures that visitors brought"
            if board.key.source == LIVE_OWN
            else "on items of the bank"
        )
        yield f"Two models answered live, {what}."
        reasons = [f"{out.stopped:,} on answers that were stopped"] if out.stopped else []
        reasons += [f"{out.named:,} where an answer told which model gave it"] if out.named else []
        if reasons:
            yield f"{_votes(out.stopped + out.named)} kept outside the ranking: {', '.join(reasons)}."
    yield from _counted(board)
    who = plural(out.voters, "flagged voter")
    cast = plural(out.flagged, "vote")
    if out.voters and board.key.unflagged:
        yield f"Without {who} ({cast}): they fail check items or choose as no reader does. Their votes stay stored."
    elif out.voters:
        yield f"With {who} ({cast}), whom the board leaves out by default."
    yield from _crowds(board)
    has_ranks = any(line.rank for line in board.standings)
    if has_ranks and out.rule == "everyone" and board.key.kind != "imported":
        yield CROWD


def _crowds(board: Board) -> Iterator[str]:
    """Say how many votes a board leaves out because of crowds, and which models they are about."""
    out = board.left_out
    if not out.of_crowd:
        return
    cast = plural(out.of_crowd, "vote")
    crowds = [line.model for line in board.standings if line.code in out.crowd_models]
    about = f"about {names(crowds)} " if crowds else ""
    if board.key.unflagged:
        yield (
            f"Without {cast} {about}that look like a crowd's: as many as it cast, those of the likeliest voters. "
            "A few of these may be honest; their other votes count."
        )
    else:
        yield f"With {cast} {about}that look like a crowd's. The board leaves them out by default."


def _counted(board: Board) -> Iterator[str]:
    """Say whose votes a board shows, and how many of all, where there are two boards."""
    out = board.left_out
    imports = board.import_summary
    shown = board.votes - (imports.votes if imports else 0)
    suspect = out.flagged + out.of_crowd if board.key.unflagged else 0
    cast = shown + out.uncounted + suspect
    if not cast:
        return
    of_all = f"{shown:,} of {plural(cast, 'vote')}"
    if out.rule != "everyone":
        yield f"Counted: {of_all}, those of {COUNTED[out.rule]}; everyone's board has the others too."
    elif board.key.everyone:
        yield f"Everyone: {of_all}, whoever cast them; the counted board has only some of them."


def _gaps(told: ImportSummary) -> Iterator[str]:
    """Say how many votes were left out, or lack data that the numbers rest on."""
    if told.alone:
        yield f"{_votes(told.alone)} on a model against itself and left out."
    if told.repeated:
        yield f"{_votes(told.repeated)} given again by their voter on the same conversation: the last counts."
    if told.named:
        yield f"{_votes(told.named)} cast with the names in view."
    for count, what in (
        (
            told.no_item,
            "which item they are about: each is taken for an item of its own, which may be too narrow",
        ),
        (0 if told.judge else told.no_voter, "who cast them: they are taken for one person's"),
        (
            told.no_time,
            "when they were cast: they are on no board of some days, nor in the plot over time",
        ),
        (told.no_images, "how many pictures were shown: they stand with those of one picture"),
    ):
        if count == told.votes and count:
            yield f"The imported votes do not say {what}."
        elif count:
            yield f"{count:,} of the imported votes do not say {what}."


def _votes(count: int, of: str = "") -> str:
    return f"1{of or ' vote'} was" if count == 1 else f"{count:,}{of or ' votes'} were"


# The table.
class TableCell(NamedTuple):
    """A cell of the table: its value, by which the browser sorts, and what it shows."""

    value: float | str
    shown: str
    beside: str
    hint: str = ""
    """The meaning of what stands beside it."""
    doubts: Sequence[str] = ()
    facts: Sequence[str] = ()
    """What is known of the model."""
    bar: tuple[str, ...] = ()
    """The ends of a rating's interval and the rating, as percentages of the group's scale: from, at, to."""


TableRow = tuple[Standing, Mapping[str, TableCell]]


def _bodies(
    board: Board, sheet: Sheet, table: BoardTable
) -> Iterator[tuple[list[str], list[TableRow]]]:
    """Yield the bodies of the table with their headings: each group's trusted models, and its provisional ones."""
    rows = sheet.rows
    for number, group in enumerate(board.groups, 1):
        told = f"Group {number} of {len(board.groups)}: {len(group)} models, not comparable with the others"
        headings = [told] if len(board.groups) > 1 else []
        scale = _scale(group)
        cells = [(line, _cells(line, next(rows), sheet.columns, scale)) for line in group]
        lines = [(line, _with_facts(line, row, table)) for line, row in cells if table.shows(line)]
        for trust, shown in groupby(lines, key=lambda line: line[0].trust):
            if trust == "provisional":
                headings = [*headings, "Still gathering votes: no rank yet"]
            yield headings, list(shown)
            headings = []


def _with_facts(
    line: Standing, cells: Mapping[str, TableCell], table: BoardTable
) -> Mapping[str, TableCell]:
    facts = table.facts.get(line.model) if table.facts else None
    if facts is None:
        return cells
    cell = TableCell(facts.parameters or "", "", "", facts=in_short(facts))
    return {**cells, FACTS.key: cell}


def _scale(group: Sequence[Standing]) -> tuple[float, float]:
    """The lowest and the highest end of a group's intervals."""
    bounds = [bound for line in group if line.rating for bound in line.rating if bound is not None]
    return min(bounds, default=0.0), max(bounds, default=1.0)


def _cells(
    line: Standing,
    row: Mapping[str, Any],
    columns: Sequence[Column],
    scale: tuple[float, float],
) -> dict[str, TableCell]:
    """Return a model's cells by column, its rating's bar on the scale of its group."""
    cells = {
        column.key: TableCell(row[column.key], *cell_of(column, row))
        for column in columns
        if row[column.key] is not None
    }
    if line.order:
        cells["order"] = _order(line.order)
    for key, told in _told_beside(line).items():
        if key in cells:
            cells[key] = cells[key]._replace(**told)
    if "rating" in cells:
        bar = _bar(line.rating, *scale)
        cells["rating"] = cells["rating"]._replace(bar=bar)
    doubts = _doubts(line)
    if doubts:
        blank = TableCell("", "", "")
        cells["rating"] = cells.get("rating", blank)._replace(doubts=doubts)
    return cells


def _told_beside(line: Standing) -> Mapping[str, Mapping[str, str]]:
    """What stands beside a model's numbers and is no interval, and what the intervals mean."""
    rate = line.win_rate
    hint = f"{interval_text(rate.low, rate.high, '.0%')} (Wilson)" if rate else ""
    return {
        "rank": {"hint": places_in_words(line.rank)},
        "elo_median": {"hint": "spread over orders of the votes"},
        "votes": {"beside": f"({line.ties:,} tied)" if line.ties else ""},
        "win_rate": {"beside": f"(n={rate.n})" if rate else "", "hint": hint},
        "left_share": {"hint": "95% interval (Wilson)"},
    }


def _order(order: Order) -> TableCell:
    if order.settled_at:
        since = f"since {plural(order.settled_at, 'vote')}"
        hint = "votes of the board when it was first clear"
    else:
        since = f"{min(max(order.progress, 0), 0.99):.0%}"
        hint = "share of the gap that makes it clear"
    return TableCell(order.progress, ORDER_WORDS[order.state], since, hint)


def _bar(rating: Span | None, low: float, high: float) -> tuple[str, ...]:
    if rating is None or rating.low is None or rating.high is None:
        return ()
    ends = (rating.low, rating.value, rating.high)
    return tuple(f"{(value - low) / max(high - low, 1e-9):.1%}" for value in ends)


def _doubts(line: Standing) -> list[str]:
    doubts = []
    if line.votes < TRUSTED or line.status is Status.RATED:
        doubts += [needs(line)] if needs(line) else []
    if line.rating is not None and line.status is not Status.RATED:
        doubts.append(STATUS_WORDS[line.status])
    return [*doubts, *(["retired"] if line.retired else [])]


def _narrowed(choice: BoardSelection) -> str:
    key = choice.key
    days = f", {key.since or 'the first day'} to {key.until or 'today'} (UTC)" if key.dated else ""
    voters = "" if key.unflagged else ", flagged voters too"
    return (
        f"{f', {choice.family}' if choice.family else ''}{days}{VOTES_SHOWN[choice.votes]}{voters}"
    )
