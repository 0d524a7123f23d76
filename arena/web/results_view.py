"""Results view: the overview of all boards, and the chips, the headline, the chart and the plots of one board."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arena.drawings import svg
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import has_intervals
from arena.leaderboard.chart import board_chart
from arena.leaderboard.headline import enumeration, headline, leaders, name_forms, votes_to_rank
from arena.leaderboard.overview import BoardEntry
from arena.leaderboard.selection import BoardSelection
from arena.locale import named, t, translated
from arena.model_facts import ModelFacts
from arena.plots import Plot
from arena.settings import CountRule
from arena.templates import macros
from arena.web.addresses import AGREEMENT, JUDGES
from arena.web.addresses import RESULTS as RANKING
from arena.web.leaderboard_view import cast_sentence, counted_voters, own_notes
from arena.web.model_filter import Filtered, ModelFilter, menus
from arena.web.results_address import FURTHER, board_address, board_query

RESULTS = macros("results.html")
PICTURES: Mapping[str, str] = {
    "single": "results.one_picture",
    "multiple": "results.several_pictures",
}
"""The keys of the texts for how many pictures an item has."""


@dataclass(frozen=True)
class ResultsTabs:
    """The tabs of the results. Empty pages have none."""

    has_judges: Callable[[], bool]
    has_agreement: Callable[[], bool]

    def html(self, here: str) -> str:
        """Returns the tabs of the page at path `here`. Raises DatabaseError."""
        pages = {RANKING: t("results.ranking")}
        if self.has_judges():
            pages[JUDGES] = t("results.judges")
        if self.has_agreement():
            pages[AGREEMENT] = t("results.agreement")
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
        leader = None if entry.leaders is None else enumeration(entry.leaders)
        pictures = t(PICTURES[entry.images])
        listed.append((entry, leader, name_forms(entry.models), pictures, address, chosen))
    all_days = board_address(query, since="", until="")
    groups = {
        t("results.which_votes"): [*_chips(choice, query, rule)],
        t("results.which_models"): [*_model_chips(models, query)],
    }
    return RESULTS.head(listed, groups, query, all_days)


def _chips(choice: BoardSelection, query: Mapping[str, str], rule: CountRule) -> Iterator[Chip]:
    sources = {named(source): source for source in choice.sources}
    cleared = dict.fromkeys(("family", "since", "until", "voters"), "")
    yield _menu(query, "source", t("results.items"), sources, **cleared)
    pictures = {t(label): name for name, label in PICTURES.items()}
    yield _menu(query, "images", t("results.pictures"), pictures, family="")
    if choice.families:
        families = {named(family): family for family in choice.families}
        yield _menu(query, "family", t("results.family"), {t("results.all"): "", **families})
    days = t("results.all")
    if choice.key.dated:
        since = query.get("since") or t("results.first_day")
        days = t("results.days_span", since=since, until=query.get("until") or t("board.today"))
    yield Chip("days", t("results.days"), days, ())
    if choice.votes:
        counted = t("results.votes_of", voters=counted_voters(rule))
        votes = {counted: "counted", t("results.votes_of_everyone"): "everyone"}
        yield _menu(query, "votes", t("results.votes"), votes)
    if choice.key.kind != "imported":
        flagged = {t("results.left_out"): "", t("results.included"): "all"}
        yield _menu(query, "voters", t("results.flagged"), flagged)


def _model_chips(models: ModelChoice, query: Mapping[str, str]) -> Iterator[Chip]:
    """Yields the filters of models, each with the number of models whose fact is unknown."""
    unknown = models.filtered.unknown if models.filtered else {}
    for menu in menus(models.filter, [*models.facts.values()]):
        chip = _menu(query, menu.field, menu.label, {t("results.all"): "", **menu.values})
        count = unknown.get(menu.field, 0)
        value = menu.chosen or t("results.all")
        if count:
            value = t("results.unknown", value=value, count=count)
        yield chip._replace(value=value)
    if models.facts:
        shown = {t("results.hidden"): "", t("results.shown"): "1"}
        yield _menu(query, "facts", t("results.facts"), shown)


def _menu(
    query: Mapping[str, str], name: str, label: str, values: Mapping[str, str], **changed: str
) -> Chip:
    """Returns the chip of a parameter. A choice also sets the parameters `changed`."""
    chosen = query.get(name, "")
    choices = []
    chosen_text = t("results.all")
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
    cast = cast_sentence(board) if board.votes else t("pages.gap").join(own_notes(board))
    chart = svg(board_chart(board), "chart") if has_intervals(board) else ""
    needs = "" if board.votes or models is None else _needs(board, models)
    ranks_nobody = not leaders(board) and (board.statistics is not None or not board.votes)
    models_written = name_forms(line.model for line in board.standings)
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
        return t("results.no_pairs")
    rule = board.left_out.rule
    votes = votes_to_rank(models)
    if rule == "everyone":
        return t("results.needs", votes=votes, count=models)
    return t("results.needs_of", votes=votes, count=models, voters=counted_voters(rule))


def picture_html(plot: Plot | None, name: str, path: str, query: Mapping[str, str]) -> str:
    """Returns a plot with its table and the links to its files, whose addresses begin with `path`."""
    if plot is None:
        return ""
    return RESULTS.plot_part(plot, svg(plot.drawing, name) if plot.drawing else "", path, query)


def plots_html(query: Mapping[str, str], chosen: str, picture: str) -> str:
    """Returns the menu of plots for a page with this query, and the chosen plot's picture."""
    others = [
        Choice(translated(name), board_address(query, plot=slug), slug == chosen)
        for slug, name in FURTHER.items()
    ]
    return RESULTS.plots(others, picture)
