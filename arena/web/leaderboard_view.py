"""Leaderboard view: a board as HTML, with its table and the sentences about its numbers."""

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
"""The voters whose votes count, by rule."""
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
    """The models in a board's table, and their facts."""

    facts: Mapping[str, ModelFacts] | None = None
    """The facts by model; None for a table without the column of facts."""
    models: frozenset[str] | None = None
    """The models in the table; None for all."""

    def shows(self, line: Standing) -> bool:
        return self.models is None or line.model in self.models


WHOLE_TABLE = BoardTable()


def board_html(board: Board, choice: BoardSelection, table: BoardTable = WHOLE_TABLE) -> str:
    """Returns a board with votes: table, downloads, and the meaning and limits of its numbers."""
    pictures = "several pictures" if board.key.multi else "one picture"
    title = f"{choice.source}, {pictures}{_narrowed(choice)}"
    sheet = board_sheet(board, title)
    model, rank, *others = sheet.columns
    facts = () if table.facts is None else (FACTS,)
    columns = (rank, model, *facts, *others)
    query = board_query(choice)
    links = model_addresses(board, query)
    summary = HTML.summary(paragraphs(board), written(line.model for line in board.standings))
    bodies = [*_bodies(board, sheet, table)]
    return HTML.board(title, board.votes, summary, columns, bodies, query, links)


def facts_of(board: Board, model: str) -> list[tuple[Column, "TableCell"]]:
    """Returns the columns and cells of a model in its board's table, without name and rank."""
    sheet = board_sheet(board)
    place = [line.model for line in board.standings].index(model)
    line = board.standings[place]
    row = list(sheet.rows)[place]
    cells = _cells(line, row, sheet.columns, _scale([line]))
    columns = [column for column in sheet.columns if column.key not in ("model", "rank")]
    return [(column, cells[column.key]) for column in columns if column.key in cells]


def paragraphs(board: Board) -> tuple[Sequence[str], ...]:
    """Returns paragraphs of sentences on the meaning and the limits of a board's numbers."""
    statistics = board.statistics
    notes = (*import_notes(board), *own_notes(board))
    if statistics is None or not has_intervals(board):
        return (notes,)
    any_time = [ANY_TIME] if has_orders(board) else []
    lead = (
        *_few_voters(board, statistics),
        *_overturn(board),
        *_takeover(board),
        *any_time,
        *_sides(board),
        *_lack_of_fit(board, statistics),
    )
    limits = [_limits(board, statistics)]
    if len(board.groups) > 1:
        groups = len(board.groups)
        limits.append(
            f"{groups} groups of models never met, not even through others: each has ranks of its own."
        )
    return lead, notes, limits


# Sentences on the numbers.
def cast_sentence(board: Board) -> str:
    """Returns a sentence on the number of votes, voters and items, as far as the votes name them."""
    if board.statistics is None:
        return f"{plural(board.votes, 'vote')}. Intervals and ranks are being computed."
    crowd = board.statistics.crowd
    voters = ""
    if _is_by_judge(board):
        voters = " by a judge model"
    elif crowd.voters:
        voters = f" by {plural(crowd.voters, 'person')}"
    items = f" on {plural(crowd.items, 'item')}" if crowd.items else ""
    busiest = ""
    share = crowd.busiest / board.statistics.votes
    if crowd.voters > 1 and crowd.busiest > 1 and share >= 0.01:
        busiest = f"; the busiest cast {share:.0%} of them"
    return HTML.cast(board.votes, f"{voters}{items}{busiest}")


def _limits(board: Board, statistics: Statistics) -> str:
    """Returns the sentences on the reach of the intervals."""
    if not statistics.crowd.items:
        unit = "voters, not a voter's votes," if statistics.for_new_voters else "each vote"
        return (
            f"The 95% intervals take {unit} for independent: no vote says which item it is about."
        )
    crowd = statistics.crowd
    cases = f"the {plural(crowd.items, 'item')} for independent, not the votes on one item"
    if crowd.pictures < crowd.items:
        cases = (
            f"the {plural(crowd.pictures, 'picture')} for independent, not the {crowd.items:,} items on them (near "
            "copies are one) nor the votes on one item"
        )
    if _is_by_judge(board):
        others = "a person or another judge would agree"
    else:
        where = "there" if board.key.kind == "imported" else "here"
        others = f"other people or other tasks would agree: whoever came {where} voted"
    return (
        f"The 95% intervals hold for new items of this kind, judged by {judges(board, statistics)}: they take "
        f"{cases}. They do not tell whether {others}."
    )


def judges(board: Board, statistics: Statistics) -> str:
    """Returns the voters for whom a board's intervals hold: no others than these if one person cast all votes."""
    if _is_by_judge(board):
        return "the same judge"
    return "voters like these" if statistics.for_new_voters else "these voters only"


def _few_voters(board: Board, statistics: Statistics) -> Iterator[str]:
    """Yields a warning if the intervals hold for no other voters."""
    if not only_for(board):
        return
    crowd = statistics.crowd
    why = "All votes are one person's" if crowd.voters else "No vote says who cast it"
    yield (
        f"{why}: intervals are for these voters only, and no lead is called clear. What others would choose may be "
        "far outside."
    )


def _is_by_judge(board: Board) -> bool:
    return board.import_summary is not None and board.import_summary.judge


def _overturn(board: Board) -> Iterator[str]:
    """Yields a sentence on the number of votes that the first place depends on."""
    statistics = board.statistics
    if statistics is None or statistics.overturn is None:
        return
    overturn = statistics.overturn
    first_group = board.groups[0] if board.groups else ()
    ranked = [line for line in first_group if line.rank is not None]
    if not ranked or overturn.leader != ranked[0].code:
        return
    models = {line.code: line.model for line in board.standings}
    rival = models.get(overturn.rival, "")
    votes = plural(overturn.votes, "vote")
    share = overturn.votes / statistics.votes
    speak = "speaks" if overturn.votes == 1 else "speak"
    yield f"Without {votes} ({share:.1%}) that {speak} most for {ranked[0].model}, {rival} would come first."


def _takeover(board: Board) -> Iterator[str]:
    """Yields a sentence on the number of new voters who can put another model first."""
    takeover = board.statistics and board.statistics.takeover
    models = {line.code: line.model for line in board.standings}
    if not takeover or not {takeover.leader, takeover.rival} <= models.keys():
        return
    rival = models[takeover.rival]
    is_one = takeover.voters == 1
    voters = f"{plural(takeover.voters, 'new voter')} with {EACH} votes{'' if is_one else ' each'}"
    if takeover.is_noticed:
        yield f"{rival} would come first if {voters} always chose it, but the board would notice this crowd."
    else:
        yield f"{voters} who always {'chooses' if is_one else 'choose'} {rival} could put it first unnoticed."


def _lack_of_fit(board: Board, statistics: Statistics) -> Iterator[str]:
    """Yields a sentence on the pair that differs most from its expected result."""
    lack_of_fit = statistics.lack_of_fit
    if lack_of_fit is None:
        return
    models = {line.code: line.model for line in board.standings}
    winner = models.get(statistics.codes[lack_of_fit.winner], "")
    loser = models.get(statistics.codes[lack_of_fit.loser], "")
    words = lack_of_fit.in_words(names([winner]), names([loser]))
    yield f"{words[0].upper()}{words[1:]}."


def _sides(board: Board) -> Iterator[str]:
    """Yields a warning if one side wins more often than by chance."""
    left = board.left
    if left is None or left.low <= 0.5 <= left.high:
        return
    side = "left" if left.low > 0.5 else "right"
    share = f"{left.value:.0%}, {interval_text(left.low, left.high, '.0%')}"
    effect = "sides are drawn, so this adds noise"
    if board.key.kind == "imported":
        effect = "a model that stood there more often may have gained by it"
    yield f"The {side} answer won more often than by chance (left: {share}); {effect}."


# Sentences on imported votes and excluded votes.
def import_notes(board: Board) -> Iterator[str]:
    """Yields sentences on a board's imported votes: their origin, their weight, and their gaps."""
    imports = board.import_summary
    if imports is None:
        return
    if board.key.kind == "imported":
        yield "These votes were imported: they were cast elsewhere, not in this arena."
    else:
        yield HTML.imported(_votes_were(imports.votes, " of these votes"), imports.sources)
    halves = [plural(imports.ties, "tie")] if imports.ties else []
    halves += [f"{imports.both_bad:,} \u201cboth bad\u201d"] if imports.both_bad else []
    if halves:
        yield f"{' and '.join(halves)} count half to each side."
    if imports.both_bad_out:
        yield f"{imports.both_bad_out:,} \u201cboth bad\u201d are left out."
    yield from _gaps(imports)


def own_notes(board: Board) -> Iterator[str]:
    """Yields sentences on the arena's own votes: the counted and the excluded ones."""
    out = board.left_out
    if board.key.kind == "live":
        is_own = board.key.source == LIVE_OWN
        where = "on pictures that visitors brought" if is_own else "on items of the bank"
        yield f"Two models answered live, {where}."
        reasons = []
        if out.stopped:
            reasons.append(f"{out.stopped:,} on answers that were stopped")
        if out.named:
            reasons.append(f"{out.named:,} where an answer told which model gave it")
        if reasons:
            yield f"{_votes_were(out.stopped + out.named)} kept outside the ranking: {', '.join(reasons)}."
    yield from _counted(board)
    voters = plural(out.voters, "flagged voter")
    cast = plural(out.flagged, "vote")
    if out.voters and board.key.unflagged:
        yield f"Without {voters} ({cast}): they fail check items or choose as no reader does. Their votes stay stored."
    elif out.voters:
        yield f"With {voters} ({cast}), whom the board leaves out by default."
    yield from _crowds(board)
    has_ranks = any(line.rank for line in board.standings)
    if has_ranks and out.rule == "everyone" and board.key.kind != "imported":
        yield CROWD


def _crowds(board: Board) -> Iterator[str]:
    """Yields a sentence on the votes of crowds, and the models that they are about."""
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
    """Yields a sentence on the number of counted votes, if there is a counted board and one of everyone."""
    out = board.left_out
    imports = board.import_summary
    votes = board.votes - (imports.votes if imports else 0)
    suspect = out.flagged + out.of_crowd if board.key.unflagged else 0
    cast = votes + out.uncounted + suspect
    if not cast:
        return
    of_all = f"{votes:,} of {plural(cast, 'vote')}"
    if out.rule != "everyone":
        yield f"Counted: {of_all}, those of {COUNTED[out.rule]}; everyone's board has the others too."
    elif board.key.everyone:
        yield f"Everyone: {of_all}, whoever cast them; the counted board has only some of them."


def _gaps(imports: ImportSummary) -> Iterator[str]:
    """Yields sentences on imported votes that were left out, or that lack data."""
    if imports.alone:
        yield f"{_votes_were(imports.alone)} on a model against itself and left out."
    if imports.repeated:
        yield f"{_votes_were(imports.repeated)} given again by their voter on the same conversation: the last counts."
    if imports.named:
        yield f"{_votes_were(imports.named)} cast with the names in view."
    no_voter = 0 if imports.judge else imports.no_voter
    lacks = {
        "which item they are about: each is taken for an item of its own, which may be too narrow": imports.no_item,
        "who cast them: they are taken for one person's": no_voter,
        "when they were cast: they are on no board of some days, nor in the plot over time": imports.no_time,
        "how many pictures were shown: they stand with those of one picture": imports.no_images,
    }
    for lack, count in lacks.items():
        if not count:
            continue
        votes = "The" if count == imports.votes else f"{count:,} of the"
        yield f"{votes} imported votes do not say {lack}."


def _votes_were(count: int, noun: str = "") -> str:
    return f"1{noun or ' vote'} was" if count == 1 else f"{count:,}{noun or ' votes'} were"


# The table.
class TableCell(NamedTuple):
    """A cell of the table. The browser sorts by `value` and shows the text `shown`."""

    value: float | str
    shown: str
    beside: str
    hint: str = ""
    """The meaning of `beside`."""
    doubts: Sequence[str] = ()
    facts: Sequence[str] = ()
    """The facts of the model, in the column of facts."""
    bar: tuple[str, ...] = ()
    """The low end, the rating and the high end, as percentages of the group's scale."""


TableRow = tuple[Standing, Mapping[str, TableCell]]


def _bodies(
    board: Board, sheet: Sheet, table: BoardTable
) -> Iterator[tuple[list[str], list[TableRow]]]:
    """Yields the bodies of the table with their headings: each group's trusted models, and its provisional ones."""
    rows = sheet.rows
    for number, group in enumerate(board.groups, 1):
        heading = f"Group {number} of {len(board.groups)}: {len(group)} models, not comparable with the others"
        headings = [heading] if len(board.groups) > 1 else []
        scale = _scale(group)
        lines = []
        for line in group:
            cells = _cells(line, next(rows), sheet.columns, scale)
            if table.shows(line):
                lines.append((line, _with_facts(line, cells, table)))
        for trust, body in groupby(lines, key=lambda row: row[0].trust):
            if trust == "provisional":
                headings = [*headings, "Still gathering votes: no rank yet"]
            yield headings, list(body)
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
    """Returns the lowest and the highest end of a group's intervals."""
    bounds = [bound for line in group if line.rating for bound in line.rating if bound is not None]
    return min(bounds, default=0.0), max(bounds, default=1.0)


def _cells(
    line: Standing,
    row: Mapping[str, Any],
    columns: Sequence[Column],
    scale: tuple[float, float],
) -> dict[str, TableCell]:
    """Returns a model's cells by column. The bar of its rating is on the scale of its group."""
    cells = {
        column.key: TableCell(row[column.key], *cell_of(column, row))
        for column in columns
        if row[column.key] is not None
    }
    if line.order:
        cells["order"] = _order(line.order)
    for key, note in _notes_beside(line).items():
        if key in cells:
            cells[key] = cells[key]._replace(**note)
    if "rating" in cells:
        bar = _bar(line.rating, *scale)
        cells["rating"] = cells["rating"]._replace(bar=bar)
    doubts = _doubts(line)
    if doubts:
        blank = TableCell("", "", "")
        cells["rating"] = cells.get("rating", blank)._replace(doubts=doubts)
    return cells


def _notes_beside(line: Standing) -> Mapping[str, Mapping[str, str]]:
    """Returns the texts beside a model's numbers other than intervals, and the hints that explain them."""
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
    needed = needs(line)
    if needed and (line.votes < TRUSTED or line.status is Status.RATED):
        doubts.append(needed)
    if line.rating is not None and line.status is not Status.RATED:
        doubts.append(STATUS_WORDS[line.status])
    if line.retired:
        doubts.append("retired")
    return doubts


def _narrowed(choice: BoardSelection) -> str:
    """Returns the filters of a board, as its title names them."""
    key = choice.key
    family = f", {choice.family}" if choice.family else ""
    days = f", {key.since or 'the first day'} to {key.until or 'today'} (UTC)" if key.dated else ""
    voters = "" if key.unflagged else ", flagged voters too"
    return f"{family}{days}{VOTES_SHOWN[choice.votes]}{voters}"
