"""Results view: the overview of all boards, the filters of one as chips, its sentence with its chart, and its plots."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arena.drawings import svg
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import has_intervals
from arena.leaderboard.chart import board_chart
from arena.leaderboard.headline import headline, leaders, votes_for, written
from arena.leaderboard.overview import BoardEntry
from arena.leaderboard.selection import BoardSelection
from arena.model_facts import ModelFacts
from arena.plots import Plot
from arena.settings import CountRule
from arena.templates import macros
from arena.web.addresses import AGREEMENT, JUDGES
from arena.web.addresses import RESULTS as RANKING
from arena.web.leaderboard_view import COUNTED, cast_sentence, own_notes
from arena.web.model_filter import Filtered, ModelFilter, menus
from arena.web.results_address import FURTHER, board_address, board_query

RESULTS = macros("results.html")
PICTURES = {"single": "One picture", "multiple": "Several pictures"}
ALL = "all"


@dataclass(frozen=True)
class ResultsTabs:
    """The pages of the results; those that have nothing to show are left out."""

    has_judges: Callable[[], bool]
    has_agreement: Callable[[], bool]

    def html(self, here: str) -> str:
        """Return the links to these pages from the one at path `here`. Raises DatabaseError."""
        pages = {RANKING: "Elo ranking"}
        if self.has_judges():
            pages[JUDGES] = "Judge models"
        if self.has_agreement():
            pages[AGREEMENT] = "Do people agree?"
        return RESULTS.tabs(pages, here)


class Choice(NamedTuple):
    """A choice of a chip's menu, and its address."""

    label: str
    address: str
    chosen: bool


class Chip(NamedTuple):
    """A filter: what it chooses, what is chosen, and the choices; none: the days, which are typed."""

    name: str
    label: str
    value: str
    choices: Sequence[Choice]


class ModelChoice(NamedTuple):
    """Which models of a board a page shows, by what is known of them."""

    filter: ModelFilter
    filtered: Filtered | None
    """None: all are shown."""
    facts: Mapping[str, ModelFacts]
    """Of the board's models, by name."""


def head_html(
    entries: Sequence[BoardEntry],
    choice: BoardSelection,
    rule: CountRule,
    models: ModelChoice,
) -> str:
    """Return the overview and the chips of a board."""
    query = {**board_query(choice), **models.filter.query}
    listed = []
    for entry in entries if len(entries) > 1 else ():
        chosen = (entry.source, entry.images) == (choice.source, query["images"])
        address = board_address({"source": entry.source, "images": entry.images})
        listed.append((entry, written(entry.models), PICTURES[entry.images], address, chosen))
    all_days = board_address(query, since="", until="")
    groups = {
        "Which votes": [*_chips(choice, query, rule)],
        "Which models": [*_model_chips(models, query)],
    }
    return RESULTS.head(listed, groups, query, all_days)


def _chips(choice: BoardSelection, query: Mapping[str, str], rule: CountRule) -> Iterator[Chip]:
    anew = dict.fromkeys(("family", "since", "until", "voters"), "")
    yield _menu(query, "source", "Items", {one: one for one in choice.sources}, **anew)
    yield _menu(
        query, "images", "Pictures", {label: name for name, label in PICTURES.items()}, family=""
    )
    if choice.families:
        yield _menu(query, "family", "Family", {ALL: "", **{one: one for one in choice.families}})
    days = (
        f"{query.get('since') or 'the first'} to {query.get('until') or 'today'}"
        if choice.key.dated
        else ALL
    )
    yield Chip("days", "Days", days, ())
    if choice.votes:
        yield _menu(
            query, "votes", "Votes", {f"of {COUNTED[rule]}": "counted", "of everyone": "everyone"}
        )
    if choice.key.kind != "imported":
        yield _menu(query, "voters", "Flagged voters", {"left out": "", "included": "all"})


def _model_chips(models: ModelChoice, query: Mapping[str, str]) -> Iterator[Chip]:
    """Yield the filters of models, each with how many it leaves out because nobody knows."""
    unknown = models.filtered.unknown if models.filtered else {}
    for field, label, values, shown in menus(models.filter, [*models.facts.values()]):
        menu = _menu(query, field, label, {ALL: "", **values})
        count = unknown.get(field, 0)
        gap = f", {count} unknown" if count else ""
        yield menu._replace(value=f"{shown or ALL}{gap}")
    if models.facts:
        yield _menu(query, "facts", "Facts", {"hidden": "", "shown": "1"})


def _menu(
    query: Mapping[str, str], name: str, label: str, values: Mapping[str, str], **changed: str
) -> Chip:
    chosen = query.get(name, "")
    choices = [
        Choice(text, board_address(query, **{**changed, name: value}), value == chosen)
        for text, value in values.items()
    ]
    return Chip(name, label, next((one.label for one in choices if one.chosen), ALL), choices)


def filter_note(models: ModelChoice, query: Mapping[str, str]) -> str:
    """Return what a filter of models leaves of a board; "" without one."""
    if models.filtered is None:
        return ""
    everything = board_address(query, **dict.fromkeys(models.filter.in_use, ""))
    return RESULTS.filter_note(models.filtered.notes, everything)


def opening_html(board: Board, choice: BoardSelection, models: int | None, vote: str) -> str:
    """Return what a board opens with: its sentence, by how many votes, and its chart.

    `models`: how many of the bank can be voted on, None on other boards; `vote`: the path where one votes, "" if
    nobody can. A board that ranks nobody yet leads there.
    """
    cast = cast_sentence(board) if board.votes else " ".join(own_notes(board))
    chart = svg(board_chart(board), "chart") if has_intervals(board) else ""
    needs = "" if board.votes or models is None else _needs(board, models)
    ranks_nobody = not leaders(board) and (board.statistics is not None or not board.votes)
    models_written = written(line.model for line in board.standings)
    return RESULTS.opening(
        headline(board),
        models_written,
        cast,
        chart,
        board_query(choice),
        needs,
        vote if ranks_nobody else "",
    )


def _needs(board: Board, models: int) -> str:
    """Say what a board without a vote needs."""
    if not models:
        return "No item here has answers from two models to compare."
    whose = "" if board.left_out.rule == "everyone" else f" of {COUNTED[board.left_out.rule]}"
    return f"It needs about {votes_for(models):,} votes{whose} to rank its {models} models."


def picture_html(plot: Plot | None, name: str, path: str, query: Mapping[str, str]) -> str:
    """Return a plot as the server draws it, with its table and the addresses of its files, which begin with `path`."""
    if plot is None:
        return ""
    return RESULTS.plot_part(plot, svg(plot.drawing, name) if plot.drawing else "", path, query)


def plots_html(query: Mapping[str, str], chosen: str, picture: str) -> str:
    """Return the plots to choose from on a page with this query, and the chosen one's picture."""
    others = [
        Choice(name, board_address(query, plot=slug), slug == chosen)
        for slug, name in FURTHER.items()
    ]
    return RESULTS.plots(others, picture)
