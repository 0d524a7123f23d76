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
    enumeration,
    is_by_judge,
    name_forms,
    needs_in_words,
    places_in_words,
    voters_caveat,
)
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.statistics import TRUSTED, Statistics
from arena.leaderboard.takeover import VOTES_EACH
from arena.locale import named, t, translated
from arena.model_facts import ModelFacts
from arena.ratings.bradley_terry import Status
from arena.ratings.settled import ALPHA, ORDER_WORDS, Order
from arena.settings import BoardVoters, CountRule
from arena.sheets import Column, Sheet, cell_of
from arena.templates import macros
from arena.web.facts_view import COLUMN as FACTS
from arena.web.facts_view import short_facts
from arena.web.results_address import board_query, model_addresses

HTML = macros("leaderboard.html")


def counted_voters(rule: CountRule) -> str:
    """Returns the voters whose votes count, by rule."""
    return t(f"board.voters_{rule.replace('-', '_')}")


def title_voters(votes: BoardVoters | None) -> str:
    """Returns the end of a board's title that names the voters; "" if there is only one board."""
    return t(f"board.title_{votes}") if votes else ""


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
    pictures = t("board.several_pictures" if board.key.multi else "board.one_picture")
    title = t("board.title", source=named(choice.source), pictures=pictures) + _narrowed(choice)
    sheet = board_sheet(board, title)
    model, rank, *numbers = sheet.columns
    facts = () if table.facts is None else (FACTS,)
    columns = (rank, model, *facts, *numbers)
    query = board_query(choice)
    links = model_addresses(board, query)
    summary = HTML.summary(paragraphs(board), name_forms(line.model for line in board.standings))
    bodies = list(_bodies(board, sheet, table))
    return HTML.board(title, board.votes, summary, columns, bodies, query, links)


class ModelNumber(NamedTuple):
    """A number of a model on a board."""

    column: Column
    cell: "TableCell"


def model_numbers(board: Board, model: str) -> list[ModelNumber]:
    """Returns a model's numbers in its board's table, without the rank."""
    sheet = board_sheet(board)
    place = [line.model for line in board.standings].index(model)
    line = board.standings[place]
    row = list(sheet.rows)[place]
    cells = _cells(line, row, sheet.columns, _scale([line]))
    columns = [column for column in sheet.columns if column.key not in ("model", "rank")]
    return [ModelNumber(column, cells[column.key]) for column in columns if column.key in cells]


def paragraphs(board: Board) -> tuple[Sequence[str], ...]:
    """Returns paragraphs of sentences: warnings about a board's numbers, notes on its votes, and the intervals' limits.

    A board without intervals has only the notes.
    """
    statistics = board.statistics
    notes = (*import_notes(board), *own_notes(board))
    if statistics is None or not has_intervals(board):
        return (notes,)
    any_time = []
    if has_orders(board):
        # `python -m perf.campaigns` checks this number.
        any_time.append(t("board.any_time", boards=1000 * ALPHA))
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
        limits.append(t("board.groups", groups=len(board.groups)))
    return lead, notes, limits


# Sentences on the numbers.
def cast_sentence(board: Board) -> str:
    """Returns a sentence on the number of votes, voters and items, as far as the votes name them."""
    if board.statistics is None:
        return t("board.computing", votes=t("board.votes", count=board.votes))
    sample = board.statistics.sample
    voters = ""
    if is_by_judge(board):
        voters = t("board.by_judge")
    elif sample.voters:
        voters = t("board.by_people", count=sample.voters)
    items = t("board.on_items", count=sample.items) if sample.items else ""
    busiest = ""
    share = sample.busiest / board.statistics.votes
    if sample.voters > 1 and sample.busiest > 1 and share >= 0.01:
        busiest = t("board.busiest", share=share)
    votes = HTML.votes(board.votes)
    return t("board.cast", votes=votes, voters=voters, items=items, busiest=busiest)


def _limits(board: Board, statistics: Statistics) -> str:
    """Returns the sentences on the reach of the intervals."""
    sample = statistics.sample
    if not sample.items:
        return t("board.no_items_voters" if statistics.for_new_voters else "board.no_items_votes")
    cases = t("board.independent_items", count=sample.items)
    if sample.pictures < sample.items:
        cases = t("board.independent_pictures", count=sample.pictures, items=sample.items)
    if is_by_judge(board):
        reach = t("board.reach_judge")
    else:
        reach = t("board.reach_there" if board.key.kind == "imported" else "board.reach_here")
    cover = t("board.cover", judges=judges(board, statistics))
    return t("pages.gap").join((cover, cases, reach))


def judges(board: Board, statistics: Statistics) -> str:
    """Returns, in words, the voters for whom a board's intervals hold: just its own, or any like them."""
    if is_by_judge(board):
        return t("board.same_judge")
    return t("board.voters_like_these" if statistics.for_new_voters else "board.these_voters")


def _few_voters(board: Board, statistics: Statistics) -> Iterator[str]:
    """Yields a warning if the intervals hold for no other voters."""
    if voters_caveat(board):
        yield t("board.one_person" if statistics.sample.voters else "board.unnamed_voters")


def _overturn(board: Board) -> Iterator[str]:
    """Yields a sentence on the number of votes that the first place depends on."""
    statistics = board.statistics
    if statistics is None or statistics.overturn is None:
        return
    overturn = statistics.overturn
    first_group = board.groups[0] if board.groups else ()
    ranked = [line for line in first_group if line.rank is not None]
    # It was computed by a fit of the ranked models alone, which may put another one first.
    if not ranked or overturn.leader != ranked[0].code:
        return
    models = {line.code: line.model for line in board.standings}
    yield t(
        "board.overturn",
        count=overturn.votes,
        share=overturn.votes / statistics.votes,
        leader=named(ranked[0].model),
        rival=named(models.get(overturn.rival, "")),
    )


def _takeover(board: Board) -> Iterator[str]:
    """Yields a sentence on the number of new voters who can put another model first."""
    takeover = board.statistics.takeover if board.statistics else None
    models = {line.code: line.model for line in board.standings}
    if takeover is None or takeover.leader not in models or takeover.rival not in models:
        return
    yield t(
        "board.takeover_noticed" if takeover.is_noticed else "board.takeover",
        count=takeover.voters,
        each=VOTES_EACH,
        rival=named(models[takeover.rival]),
    )


def _lack_of_fit(board: Board, statistics: Statistics) -> Iterator[str]:
    """Yields a sentence on the pair that differs most from its expected result."""
    lack_of_fit = statistics.lack_of_fit
    if lack_of_fit is None:
        return
    models = {line.code: line.model for line in board.standings}
    winner = models.get(statistics.codes[lack_of_fit.winner], "")
    loser = models.get(statistics.codes[lack_of_fit.loser], "")
    sentence = lack_of_fit.in_words(enumeration([winner]), enumeration([loser]))
    yield t("headline.stop", sentence=f"{sentence[0].upper()}{sentence[1:]}")


def _sides(board: Board) -> Iterator[str]:
    """Yields a warning if one side wins more often than by chance."""
    left = board.left
    if left is None or left.low <= 0.5 <= left.high:
        return
    is_imported = board.key.kind == "imported"
    yield t(
        "board.side_left" if left.low > 0.5 else "board.side_right",
        share=f"{left.value:.0%}, {interval_text(left.low, left.high, '.0%')}",
        effect=t("board.side_imported" if is_imported else "board.side_drawn"),
    )


# Sentences on imported votes and excluded votes.
def import_notes(board: Board) -> Iterator[str]:
    """Yields sentences on a board's imported votes: their origin, their weight, and their gaps."""
    imports = board.import_summary
    if imports is None:
        return
    if board.key.kind == "imported":
        yield t("board.imported_all")
    else:
        sources = HTML.sources(imports.sources)
        yield t("board.imported_some", count=imports.votes, sources=sources)
    ties = t("board.ties", count=imports.ties)
    both_bad = t("board.both_bad", count=imports.both_bad)
    if imports.ties and imports.both_bad:
        yield t("board.half", votes=t("names.two", first=ties, last=both_bad))
    elif imports.ties or imports.both_bad:
        yield t("board.half", votes=ties if imports.ties else both_bad)
    if imports.both_bad_out:
        yield t("board.bad_out", count=imports.both_bad_out)
    yield from _gaps(imports)


def own_notes(board: Board) -> Iterator[str]:
    """Yields sentences on the arena's own votes: the counted and the excluded ones."""
    left_out = board.left_out
    if board.key.kind == "live":
        yield t("board.live_own" if board.key.source == LIVE_OWN else "board.live_bank")
        reasons = []
        if left_out.stopped:
            reasons.append(t("board.stopped", count=left_out.stopped))
        if left_out.named:
            reasons.append(t("board.named_itself", count=left_out.named))
        if reasons:
            listed = t("names.comma").join(reasons)
            yield t("board.outside", count=left_out.stopped + left_out.named, reasons=listed)
    yield from _counted(board)
    if left_out.voters:
        voters = t("board.flagged_voters", count=left_out.voters)
        votes = t("board.votes", count=left_out.flagged)
        key = "board.flagged_out" if board.key.unflagged else "board.flagged_in"
        yield t(key, voters=voters, votes=votes)
    yield from _crowds(board)
    has_ranks = any(line.rank for line in board.standings)
    if has_ranks and left_out.rule == "everyone" and board.key.kind != "imported":
        yield t("board.crowd")  # `python -m perf.fraud` measures this.


def _crowds(board: Board) -> Iterator[str]:
    """Yields a sentence on the votes of crowds, and the models that they are about."""
    left_out = board.left_out
    if not left_out.of_crowd:
        return
    votes = t("board.votes", count=left_out.of_crowd)
    crowds = [line.model for line in board.standings if line.code in left_out.crowd_models]
    if crowds:
        votes = t("board.votes_about", votes=votes, models=enumeration(crowds))
    yield t("board.crowd_out" if board.key.unflagged else "board.crowd_in", votes=votes)


def _counted(board: Board) -> Iterator[str]:
    """Yields a sentence on the number of counted votes, if this board or another leaves votes out by a rule."""
    left_out = board.left_out
    imports = board.import_summary
    votes = board.votes
    if imports:
        votes -= imports.votes
    all_votes = votes + left_out.uncounted
    # A board that keeps flagged voters has their votes, and those of crowds, among its own.
    if board.key.unflagged:
        all_votes += left_out.flagged + left_out.of_crowd
    if not all_votes:
        return
    if left_out.rule != "everyone":
        voters = counted_voters(left_out.rule)
        yield t("board.counted", votes=votes, count=all_votes, voters=voters)
    elif board.key.everyone:
        yield t("board.everyone", votes=votes, count=all_votes)


def _gaps(imports: ImportSummary) -> Iterator[str]:
    """Yields sentences on imported votes that were left out, or that lack data."""
    if imports.alone:
        yield t("board.alone", count=imports.alone)
    if imports.repeated:
        yield t("board.repeated", count=imports.repeated)
    if imports.named:
        yield t("board.names_in_view", count=imports.named)
    no_voter = 0 if imports.judge else imports.no_voter
    lacks = {
        "board.lack_item": imports.no_item,
        "board.lack_voter": no_voter,
        "board.lack_time": imports.no_time,
        "board.lack_images": imports.no_images,
    }
    for lack, count in lacks.items():
        if not count:
            continue
        if count == imports.votes:
            yield t("board.all_lack", lack=t(lack))
        else:
            yield t("board.some_lack", count=count, lack=t(lack))


# The table.
class TableCell(NamedTuple):
    """A cell of the table. The browser sorts by `value` and shows the text `shown`."""

    value: float | str
    shown: str
    beside: str
    """A small text after `shown`, such as an interval; "" for none."""
    hint: str = ""
    """The meaning of `beside`."""
    doubts: Sequence[str] = ()
    """Remarks on the rating, such as the votes that it needs."""
    facts: Sequence[str] = ()
    """The facts of the model, in the column of facts."""
    bar: tuple[str, ...] = ()
    """The low end, the rating and the high end, as percentages of the group's scale."""


class TableRow(NamedTuple):
    """A model's row of the table; the cells by column."""

    line: Standing
    cells: Mapping[str, TableCell]


class TableBody(NamedTuple):
    """Rows of the table under common headings."""

    headings: Sequence[str]
    rows: Sequence[TableRow]


def _bodies(board: Board, sheet: Sheet, table: BoardTable) -> Iterator[TableBody]:
    """Yields the bodies of the table: each group's trusted models, and its provisional ones."""
    rows = sheet.rows
    for number, group in enumerate(board.groups, 1):
        headings = []
        if len(board.groups) > 1:
            groups = len(board.groups)
            headings = [t("board.group", number=number, groups=groups, count=len(group))]
        scale = _scale(group)
        shown_rows = []
        for line in group:
            # The sheet has a row for every model, in the groups' order.
            cells = _cells(line, next(rows), sheet.columns, scale)
            if table.shows(line):
                shown_rows.append(TableRow(line, _with_facts(line, cells, table)))
        for trust, trust_rows in groupby(shown_rows, key=lambda row: row.line.trust):
            if trust == "provisional":
                headings = [*headings, t("board.no_rank_yet")]
            yield TableBody(headings, list(trust_rows))
            headings = []  # the group's heading is only above its first body


def _with_facts(
    line: Standing, cells: Mapping[str, TableCell], table: BoardTable
) -> Mapping[str, TableCell]:
    facts = table.facts.get(line.model) if table.facts else None
    if facts is None:
        return cells
    cell = TableCell(facts.parameters or "", "", "", facts=short_facts(facts))
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
        cells["order"] = _order_cell(line.order)
    for key, note in _notes_beside(line).items():
        if key in cells:
            cells[key] = cells[key]._replace(**note)
    if "rating" in cells:
        bar = _bar_ends(line.rating, *scale)
        cells["rating"] = cells["rating"]._replace(bar=bar)
    doubts = _doubts(line)
    if doubts:
        blank = TableCell("", "", "")
        cells["rating"] = cells.get("rating", blank)._replace(doubts=doubts)
    return cells


def _notes_beside(line: Standing) -> Mapping[str, Mapping[str, str]]:
    """Returns values of `TableCell.beside` and `hint` that the sheet doesn't have, by column."""
    rate = line.win_rate
    hint = f"{interval_text(rate.low, rate.high, '.0%')} (Wilson)" if rate else ""
    return {
        "rank": {"hint": places_in_words(line.rank)},
        "elo_median": {"hint": t("board.elo_hint")},
        "votes": {"beside": t("board.tied", count=line.ties) if line.ties else ""},
        "win_rate": {"beside": f"(n={rate.n})" if rate else "", "hint": hint},
        "left_share": {"hint": t("board.wilson")},
    }


def _order_cell(order: Order) -> TableCell:
    """Returns the cell of the order: settled since when, or the progress towards it."""
    if order.settled_at:
        since = t("board.since", count=order.settled_at)
        hint = t("board.since_hint")
    else:
        # An order that isn't settled never shows 100%.
        since = f"{min(max(order.progress, 0), 0.99):.0%}"
        hint = t("board.progress_hint")
    return TableCell(order.progress, translated(ORDER_WORDS[order.state]), since, hint)


def _bar_ends(rating: Span | None, low: float, high: float) -> tuple[str, ...]:
    """Returns a rating's `TableCell.bar` on a scale from `low` to `high`."""
    if rating is None or rating.low is None or rating.high is None:
        return ()
    ends = (rating.low, rating.value, rating.high)
    return tuple(f"{(value - low) / max(high - low, 1e-9):.1%}" for value in ends)


def _doubts(line: Standing) -> list[str]:
    doubts = []
    needed = needs_in_words(line)
    if needed and (line.votes < TRUSTED or line.status is Status.RATED):
        doubts.append(needed)
    if line.rating is not None and line.status is not Status.RATED:
        doubts.append(translated(STATUS_WORDS[line.status]))
    if line.retired:
        doubts.append(t("board.retired"))
    return doubts


def _narrowed(choice: BoardSelection) -> str:
    """Returns the filters of a board, as its title names them."""
    key = choice.key
    family = t("board.title_part", part=named(choice.family)) if choice.family else ""
    days = ""
    if key.dated:
        since = key.since or t("board.first_day")
        days = t("board.title_days", since=since, until=key.until or t("board.today"))
    voters = "" if key.unflagged else t("board.title_flagged")
    return f"{family}{days}{title_voters(choice.votes)}{voters}"
