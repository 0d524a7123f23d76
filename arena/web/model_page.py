"""Model page: one model's rank, wins and losses on a board, its best and worst items, and the battles it lost."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from arena.battles.blindness import Blindness
from arena.drawings import shortened
from arena.items.fact_store import FactStore
from arena.items.store import ItemBank
from arena.leaderboard.model_results import ItemShare, model_results
from arena.leaderboard.overview import Overview
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.service import Leaderboard, LostBattle
from arena.locale import named, t
from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, as_html, frame_of
from arena.templates import macros
from arena.types import Item
from arena.web.addresses import MOST_NAME
from arena.web.facts_view import NamedLink, fact_rows
from arena.web.leaderboard_view import judges, model_numbers
from arena.web.results_address import (
    ResultsAddress,
    board_address,
    board_query,
    model_address,
    model_addresses,
)

MODEL = macros("model.html")
PARTS = macros("parts.html")
PATIENCE_SECONDS = 1.5
"""The longest wait for a board's intervals, so that they don't appear after the page has opened."""
MOST_LOST = 6
"""The most lost battles on a page."""
MOST_TEXT = 1_200
"""The most characters of an answer on this page; a battle's page shows all."""


class ShownItem(NamedTuple):
    """An item with the model's share of its battles."""

    item: Item
    share: ItemShare


class ShownBattle(NamedTuple):
    """A lost battle."""

    item: Item
    battle: LostBattle
    with_texts: bool
    """Whether the reader may see the answers with the models' names."""


class LostBattles(NamedTuple):
    """The newest of a model's lost battles, or those that follow."""

    battles: Sequence[ShownBattle]
    older_address: str
    """The address of the page with the next ones; "" for none."""
    newest_address: str
    """The address of the page with the newest ones; "" if this is the page."""
    are_stored: bool
    """Whether battles of such a board are stored here, and not only imported votes."""


class PageBoard(NamedTuple):
    """The board of a model's page."""

    title: str
    address: str
    other_boards: Sequence[NamedLink]
    """The model's pages on other boards."""


class ModelPage(NamedTuple):
    """A model's page as HTML. `is_here`: whether the model exists."""

    html: str
    is_here: bool = True


class ModelPages:
    """Pages of models, from the boards and the item bank."""

    def __init__(
        self,
        leaderboard: Leaderboard,
        items: ItemBank,
        blindness: Blindness,
        facts: FactStore,
        reports: Callable[[str], Sequence[NamedLink]] = lambda name: (),
    ) -> None:
        """`reports` returns the published reports under a model's name."""
        self.overview = Overview(leaderboard)
        self._leaderboard = leaderboard
        self._items = items
        self._blindness = blindness
        self._facts = facts
        self._reports = reports

    def page(self, address: ResultsAddress, reader: int) -> ModelPage:
        """Returns a model's page for a voter, on the board in the address, or on the one with the model's most votes.

        Raises BoardSelectionError and DatabaseError.
        """
        name = address.model or ""
        choice = address.choose(self.overview)
        if choice is None:
            return ModelPage(MODEL.without_board(), is_here=False)
        if len(name) > MOST_NAME:
            return ModelPage(MODEL.long_name(MOST_NAME), is_here=False)
        page = self.page_on_board(name, choice, reader, address.before)
        return page._replace(html=PARTS.not_understood(address.ignored(choice)) + page.html)

    def page_on_board(
        self, name: str, selection: BoardSelection, reader: int, before: int | None = None
    ) -> ModelPage:
        """Returns a model's page on a board. `before`: only lost battles with a smaller number are listed."""
        board = self._leaderboard.board(selection.key, PATIENCE_SECONDS)
        query = board_query(selection)
        results = model_results(board, name, self._leaderboard.families)
        page_board = PageBoard(
            title=_board_title(selection.source, query["images"]),
            address=board_address(query),
            other_boards=self._other_boards(name, selection.source, query["images"]),
        )
        if results is None:
            is_here = bool(page_board.other_boards)
            is_here = is_here or self._items.is_model(name, self._leaderboard.closed_sources())
            about = self._about_html(name) if is_here else ""
            return ModelPage(MODEL.unknown(shortened(name, 80), page_board, about), is_here)
        links = model_addresses(board, query)
        tables = (
            _shares_html(
                results.families,
                name="family",
                title=t("model.by_family"),
                head=t("results.family"),
                links={},
            ),
            _shares_html(
                results.opponents,
                name="model",
                title=t("model.against"),
                head=t("model.model"),
                links=links,
            ),
        )
        # One more than the page has, to see whether there are older ones.
        lost = self._leaderboard.lost_battles(
            selection.key, results.standing.code, before, MOST_LOST + 1
        )
        older = ""
        if len(lost) > MOST_LOST:
            older = _older_address(links[name], lost[MOST_LOST - 1].battle)
        lost_battles = LostBattles(
            battles=self._shown_battles(lost[:MOST_LOST], reader),
            older_address=older,
            newest_address=links[name] if before is not None else "",
            are_stored=selection.key.kind == "bank",
        )
        html = MODEL.page(
            results,
            board=page_board,
            numbers=model_numbers(board, name),
            about=self._about_html(name),
            tables=tables,
            best=self._shown_items(results.best),
            worst=self._shown_items(results.worst),
            lost=lost_battles,
            names={line.code: line.model for line in board.standings},
            most_text=MOST_TEXT,
            judges=judges(board, board.statistics) if board.statistics else "",
        )
        return ModelPage(html)

    def _other_boards(self, name: str, source: str, images: str) -> list[NamedLink]:
        """Returns links to a model's pages on boards other than this one."""
        boards = []
        for entry in self.overview.entries():
            is_this = (entry.source, entry.images) == (source, images)
            if name in entry.models and not is_this:
                title = _board_title(entry.source, entry.images)
                query = {"source": entry.source, "images": entry.images}
                boards.append(NamedLink(title, model_address(name, query)))
        return boards

    def _about_html(self, name: str) -> str:
        """Returns the facts of a model and its reports as HTML."""
        rows = fact_rows(self._facts.snapshot().of(name))
        return MODEL.about(rows, self._reports(name))

    def _shown_items(self, shares: Iterable[ItemShare]) -> list[ShownItem]:
        """Returns the items in the bank; operators may have hidden the others."""
        bank = self._items.bank().items
        return [ShownItem(bank[share.item], share) for share in shares if share.item in bank]

    def _shown_battles(self, battles: Iterable[LostBattle], reader: int) -> list[ShownBattle]:
        """Returns the battles on items in the bank, with the answers if the reader may see them."""
        bank = self._items.bank().items
        return [
            ShownBattle(bank[battle.item], battle, self._blindness.may_show(reader, battle.item))
            for battle in battles
            if battle.item in bank
        ]


def _board_title(source: str, images: str) -> str:
    pictures = t("board.several_pictures" if images == "multiple" else "board.one_picture")
    return t("board.title", source=named(source), pictures=pictures)


def _older_address(address: str, before: int) -> str:
    return f"{address}&{urlencode({'before': before})}"


class WonShare(NamedTuple):
    """A model's share of won battles of a family, or against another model."""

    name: str
    won: float | None
    low: float
    high: float
    n: int
    address: str
    """The address of the other model's page; "" for a family."""


def _shares_html(
    shares: Mapping[str, Share], *, name: str, title: str, head: str, links: Mapping[str, str]
) -> str:
    """Returns shares by family or model as the HTML of a table, the one with most battles first.

    `name`: the sheet's; `head`: that of the first column; `links`: the addresses of models.
    """
    by_battles = sorted(shares.items(), key=lambda entry: -entry[1].n)
    rows = [
        WonShare(named(label), share.value, share.low, share.high, share.n, links.get(label, ""))
        for label, share in by_battles
    ]
    columns = (
        Column("name", head, href="address"),
        Column("won", t("model.won"), "percent", "low", "high", places=0, bar=True, dash=True),
        Column("n", t("model.of"), "count"),
    )
    return as_html(Sheet(name, title, frame_of(WonShare, rows), columns))
