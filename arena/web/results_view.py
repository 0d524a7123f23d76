"""Results view: the overview of all boards, and the chips, the headline, the chart and the plots of one board."""

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
    """The tabs of the results. Empty pages have none."""

    has_judges: Callable[[], bool]
    has_agreement: Callable[[], bool]

    def html(self, here: str) -> str:
        """Returns the tabs of the page at path `here`. Raises DatabaseError."""
        pages = {RANKING: "Elo ranking"}
        if self.has_judges():
            pages[JUDGES] = "Judge models"
        if self.has_agreement():
            pages[AGREEMENT] = "Do people agree?"
        return RESULTS.tabs(pages, here)


class Choice(NamedTuple):
    """A choice in a chip's menu, and its address."""

    label: str
    address: str
    chosen: bool


class Chip(NamedTuple):
    """A filter, its chosen value and the choices of its menu. Days have no choices: they are typed."""

    name: str
    label: str
    value: str
    choices: Sequence[Choice]


class ModelChoice(NamedTuple):
    """The models that a page shows, chosen by their facts."""

    filter: ModelFilter
    filtered: Filtered | None
    """None if no filter is in use."""
    facts: Mapping[str, ModelFacts]
    """The facts of the board's models, by name."""


def head_html(
    entries: Sequence[BoardEntry],
    choice: BoardSelection,
    rule: CountRule,
    models: ModelChoice,
) -> str:
    """Returns the overview and the chips of a board."""
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
    sources = {source: source for source in choice.sources}
    cleared = dict.fromkeys(("family", "since", "until", "voters"), "")
    yield _menu(query, "source", "Items", sources, **cleared)
    pictures = {label: name for name, label in PICTURES.items()}
    yield _menu(query, "images", "Pictures", pictures, family="")
    if choice.families:
        families = {family: family for family in choice.families}
        yield _menu(query, "family", "Family", {ALL: "", **families})
    days = ALL
    if choice.key.dated:
        days = f"{query.get('since') or 'the first'} to {query.get('until') or 'today'}"
    yield Chip("days", "Days", days, ())
    if choice.votes:
        votes = {f"of {COUNTED[rule]}": "counted", "of everyone": "everyone"}
        yield _menu(query, "votes", "Votes", votes)
    if choice.key.kind != "imported":
        yield _menu(query, "voters", "Flagged voters", {"left out": "", "included": "all"})


def _model_chips(models: ModelChoice, query: Mapping[str, str]) -> Iterator[Chip]:
    """Yields the filters of models, each with the number of models whose fact is unknown."""
    unknown = models.filtered.unknown if models.filtered else {}
    for menu in menus(models.filter, [*models.facts.values()]):
        chip = _menu(query, menu.field, menu.label, {ALL: "", **menu.values})
        count = unknown.get(menu.field, 0)
        gap = f", {count} unknown" if count else ""
        yield chip._replace(value=f"{menu.chosen or ALL}{gap}")
    if models.facts:
        yield _menu(query, "facts", "Facts", {"hidden": "", "shown": "1"})


def _menu(
    query: Mapping[str, str], name: str, label: str, values: Mapping[str, str], **changed: str
) -> Chip:
    """Returns the chip of a parameter. A choice also sets the parameters `changed`."""
    chosen = query.get(name, "")
    choices = []
    chosen_text = ALL
    for text, value in values.items():
        address = board_address(query, **{**changed, name: value})
        choices.append(Choice(text, address, value == chosen))
        if value == chosen:
            chosen_text = text
    return Chip(name, label, chosen_text, choices)


def filter_note(models: ModelChoice, query: Mapping[str, str]) -> str:
    """Returns the number of models that pass the filter, in words; "" if no filter is in use."""
    if models.filtered is None:
        return ""
    everything = board_address(query, **dict.fromkeys(models.filter.in_use, ""))
    return RESULTS.filter_note(models.filtered.notes, everything)


def opening_html(board: Board, choice: BoardSelection, models: int | None, vote: str) -> str:
    """Returns the opening of a board: its headline, the number of votes, and its chart.

    `models`: the number of models that can be voted on, None for boards that aren't the bank's; `vote`: the path of the
    page for votes, "" if there is none. A board without a rank links there.
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
    """Returns the sentence about the votes that a board without one needs."""
    if not models:
        return "No item here has answers from two models to compare."
    rule = board.left_out.rule
    voters = "" if rule == "everyone" else f" of {COUNTED[rule]}"
    return f"It needs about {votes_for(models):,} votes{voters} to rank its {models} models."


def picture_html(plot: Plot | None, name: str, path: str, query: Mapping[str, str]) -> str:
    """Returns a plot with its table and the links to its files, whose addresses begin with `path`."""
    if plot is None:
        return ""
    return RESULTS.plot_part(plot, svg(plot.drawing, name) if plot.drawing else "", path, query)


def plots_html(query: Mapping[str, str], chosen: str, picture: str) -> str:
    """Returns the menu of plots for a page with this query, and the chosen plot's picture."""
    others = [
        Choice(name, board_address(query, plot=slug), slug == chosen)
        for slug, name in FURTHER.items()
    ]
    return RESULTS.plots(others, picture)
