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
from arena.web.addresses import AGREEMENT, JUDGES, RESULTS
from arena.web.leaderboard_view import cast_sentence, counted_voters, own_notes
from arena.web.model_filter import Filtered, ModelFilter, menus
from arena.web.results_address import PLOT_NAMES, board_address, board_query

HTML = macros("results.html")
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
        pages = {RESULTS: t("results.ranking")}
        if self.has_judges():
            pages[JUDGES] = t("results.judges")
        if self.has_agreement():
            pages[AGREEMENT] = t("results.agreement")
        return HTML.tabs(pages, here)


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


class ListedBoard(NamedTuple):
    """A board in the overview of all boards."""

    entry: BoardEntry
    leaders: str | None
    """The names of the best models; None while they are being computed."""
    model_names: frozenset[str]
    """The names that may be in `leaders`."""
    pictures: str
    address: str
    is_shown: bool
    """Whether it is the page's board."""


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
    """Returns the overview of all boards, if there are several, and the chips of one."""
    query = {**board_query(choice), **models.filter.query}
    boards = []
    if len(entries) > 1:
        boards = [_listed_board(entry, choice.source, query["images"]) for entry in entries]
    all_days = board_address(query, since="", until="")
    groups = {
        t("results.which_votes"): list(_vote_chips(choice, query, rule)),
        t("results.which_models"): list(_model_chips(models, query)),
    }
    return HTML.head(boards, groups, query, all_days)


def _listed_board(entry: BoardEntry, source: str, images: str) -> ListedBoard:
    """Returns a board of the overview. `source`, `images`: those of the page's board."""
    return ListedBoard(
        entry=entry,
        leaders=None if entry.leaders is None else enumeration(entry.leaders),
        model_names=name_forms(entry.models),
        pictures=t(PICTURES[entry.images]),
        address=board_address({"source": entry.source, "images": entry.images}),
        is_shown=entry.source == source and entry.images == images,
    )


def _vote_chips(
    choice: BoardSelection, query: Mapping[str, str], rule: CountRule
) -> Iterator[Chip]:
    """Yields the filters of a board's votes."""
    sources = {source: named(source) for source in choice.sources}
    # Another source has other families, days and flagged voters.
    cleared = dict.fromkeys(("family", "since", "until", "voters"), "")
    yield _menu(query, "source", t("results.items"), sources, **cleared)
    pictures = {name: t(label) for name, label in PICTURES.items()}
    yield _menu(query, "images", t("results.pictures"), pictures, family="")
    if choice.families:
        families = {family: named(family) for family in choice.families}
        yield _menu(query, "family", t("results.family"), {"": t("results.all"), **families})
    days = t("results.all")
    if choice.key.dated:
        since = query.get("since") or t("results.first_day")
        days = t("results.days_span", since=since, until=query.get("until") or t("board.today"))
    yield Chip("days", t("results.days"), days, ())
    if choice.votes:
        counted = t("results.votes_of", voters=counted_voters(rule))
        votes = {"counted": counted, "everyone": t("results.votes_of_everyone")}
        yield _menu(query, "votes", t("results.votes"), votes)
    if choice.key.kind != "imported":
        flagged = {"": t("results.left_out"), "all": t("results.included")}
        yield _menu(query, "voters", t("results.flagged"), flagged)


def _model_chips(models: ModelChoice, query: Mapping[str, str]) -> Iterator[Chip]:
    """Yields the filters of models, each with the number of models whose fact is unknown."""
    unknown = models.filtered.unknown if models.filtered else {}
    for menu in menus(models.filter, list(models.facts.values())):
        labels = {value: label for label, value in menu.values.items()}
        chip = _menu(query, menu.field, menu.label, {"": t("results.all"), **labels})
        count = unknown.get(menu.field, 0)
        # The chosen value isn't in the menu if no model of the board has it.
        value = menu.chosen or t("results.all")
        if count:
            value = t("results.unknown", value=value, count=count)
        yield chip._replace(value=value)
    if models.facts:
        shown = {"": t("results.hidden"), "1": t("results.shown")}
        yield _menu(query, "facts", t("results.facts"), shown)


def _menu(
    query: Mapping[str, str], name: str, label: str, texts: Mapping[str, str], **changed: str
) -> Chip:
    """Returns the chip of a parameter. `texts`: those in the menu, by their values in an address.

    A choice also sets the parameters `changed`. Two values may have one text: a family may be called "all".
    """
    chosen = query.get(name, "")
    choices = []
    chosen_text = t("results.all")
    for value, text in texts.items():
        address = board_address(query, **{**changed, name: value})
        choices.append(Choice(text, address, value == chosen))
        if value == chosen:
            chosen_text = text
    return Chip(name, label, chosen_text, choices)


def filter_note(models: ModelChoice, query: Mapping[str, str]) -> str:
    """Returns the number of models that pass the filter, in words; "" if no filter is in use."""
    if models.filtered is None:
        return ""
    address_of_all = board_address(query, **dict.fromkeys(models.filter.in_use, ""))
    return HTML.filter_note(models.filtered.notes, address_of_all)


def opening_html(
    board: Board, choice: BoardSelection, votable_models: int | None, vote_path: str
) -> str:
    """Returns the opening of a board: its headline, the number of votes, and its chart.

    `votable_models`: the number of models that can be voted on, None for boards that aren't the bank's.
    `vote_path`: the page for votes, "" if there is none. A board without a rank links there.
    """
    note = cast_sentence(board) if board.votes else t("pages.gap").join(own_notes(board))
    chart = svg(board_chart(board), "chart") if has_intervals(board) else ""
    needs = "" if board.votes or votable_models is None else _needs(board, votable_models)
    is_computed = board.statistics is not None or not board.votes
    ranks_nobody = is_computed and not leaders(board)
    model_names = name_forms(line.model for line in board.standings)
    return HTML.opening(
        headline(board),
        model_names,
        note,
        chart,
        board_query(choice),
        needs,
        vote_path if ranks_nobody else "",
    )


def _needs(board: Board, models: int) -> str:
    """Returns the sentence about the votes that a board without votes needs."""
    if not models:
        return t("results.no_pairs")
    rule = board.left_out.rule
    votes = votes_to_rank(models)
    if rule == "everyone":
        return t("results.needs", votes=votes, count=models)
    return t("results.needs_of", votes=votes, count=models, voters=counted_voters(rule))


def picture_html(plot: Plot | None, name: str, path: str, query: Mapping[str, str]) -> str:
    """Returns a plot with its table and the links to its files; "" without a plot.

    `name`: the drawing's name in the page; the files' addresses begin with `path`.
    """
    if plot is None:
        return ""
    drawing = svg(plot.drawing, name) if plot.drawing else ""
    return HTML.plot_part(plot, drawing, path, query)


def plots_html(query: Mapping[str, str], chosen: str, picture: str) -> str:
    """Returns the menu of plots for a page with this query, and the chosen plot's picture."""
    plots = [
        Choice(translated(name), board_address(query, plot=slug), slug == chosen)
        for slug, name in PLOT_NAMES.items()
    ]
    return HTML.plots(plots, picture)
