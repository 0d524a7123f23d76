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
from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, as_html, frame_of
from arena.templates import macros
from arena.types import Item
from arena.web.addresses import MOST_NAME
from arena.web.facts_view import NamedLink, fact_rows
from arena.web.leaderboard_view import facts_of, judges
from arena.web.results_address import (
    ResultsAddress,
    board_address,
    board_query,
    model_address,
    model_addresses,
)
from arena.web.results_view import PICTURES

MODEL = macros("model.html")
PARTS = macros("parts.html")
PATIENCE_SECONDS = 1.5
"""How long opening a board waits for its intervals, so that they do not appear later."""
MOST_LOST = 6
"""Lost battles on a page."""
MOST_TEXT = 1_200
"""Characters of an answer that are shown here; battles show all."""


class SeenItem(NamedTuple):
    """An item that may be shown, with what happened on it."""

    item: Item
    about: ItemShare


class ShownBattle(NamedTuple):
    """A lost battle, with or without the answers under their names."""

    item: Item
    battle: LostBattle
    with_texts: bool


class ModelPage(NamedTuple):
    """A model's page as HTML; `is_here`: whether there is such a model."""

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
        """`reports` returns the published reports of a model's name."""
        self.overview = Overview(leaderboard)
        self._leaderboard = leaderboard
        self._items = items
        self._blindness = blindness
        self._facts = facts
        self._reports = reports

    def page(self, address: ResultsAddress, reader: int) -> ModelPage:
        """Return a model's page for a voter, on the board that the address names, else where it has most votes.

        Raises BoardSelectionError, DatabaseError.
        """
        name = address.model or ""
        choice = address.choose(self.overview)
        if choice is None or len(name) > MOST_NAME:
            return ModelPage(MODEL.absent(MOST_NAME if choice else 0), is_here=False)
        page = self.on_board(name, choice, reader, address.before)
        return page._replace(html=PARTS.not_understood(address.strange(choice)) + page.html)

    def on_board(
        self, name: str, selection: BoardSelection, reader: int, before: int | None = None
    ) -> ModelPage:
        """Return a model's page on a board; `before`: the number of the battle below which lost ones go on."""
        board = self._leaderboard.board(selection.key, PATIENCE_SECONDS)
        query = board_query(selection)
        found = model_results(board, name, self._leaderboard.families)
        where = f"{selection.source}, {PICTURES[query['images']].lower()}"
        back = board_address(query)
        elsewhere = [
            (
                f"{source}, {PICTURES[images].lower()}",
                model_address(name, {"source": source, "images": images}),
            )
            for source, images, _, _, models in self.overview.entries()
            if name in models and (source, images) != (selection.source, query["images"])
        ]
        if found is None:
            is_here = bool(elsewhere) or self._items.is_model(name, self._leaderboard.closed())
            about = self._about(name) if is_here else ""
            html = MODEL.unknown(shortened(name, 80), where, back, elsewhere, about)
            return ModelPage(html, is_here)
        links = model_addresses(board, query)
        lost = self._leaderboard.lost_battles(
            selection.key, found.standing.code, before, MOST_LOST + 1
        )
        names = {line.code: line.model for line in board.standings}
        more = _page(links[name], lost[MOST_LOST - 1].battle) if len(lost) > MOST_LOST else ""
        newest = links[name] if before is not None else ""
        html = MODEL.page(
            found,
            facts_of(board, name),
            self._about(name),
            (where, back, elsewhere),
            (
                _shares_html("By family", "Family", found.families, {}),
                _shares_html("Against each other model", "Model", found.opponents, links),
            ),
            (self._seen(found.best), self._seen(found.worst)),
            (
                self._lost(lost[:MOST_LOST], reader),
                names,
                MOST_TEXT,
                more,
                newest,
                selection.key.kind == "bank",
            ),
            judges(board, board.statistics) if board.statistics else "",
        )
        return ModelPage(html)

    def _about(self, name: str) -> str:
        """Return what is known of a model, and its reports."""
        rows = fact_rows(self._facts.snapshot().of(name))
        return MODEL.about(rows, self._reports(name))

    def _seen(self, found: Iterable[ItemShare]) -> list[SeenItem]:
        """Return what is on items that may be shown: not on those that operators took out."""
        bank = self._items.bank().items
        return [SeenItem(bank[one.item], one) for one in found if one.item in bank]

    def _lost(self, found: Iterable[LostBattle], reader: int) -> list[ShownBattle]:
        """Return battles on items that may be shown, with the answers where the reader may see them."""
        bank = self._items.bank().items
        return [
            ShownBattle(bank[one.item], one, self._blindness.may_show(reader, one.item))
            for one in found
            if one.item in bank
        ]


def _page(address: str, before: int) -> str:
    return f"{address}&{urlencode({'before': before})}"


class WonShare(NamedTuple):
    """A model's share of the battles of one family, or against one other model."""

    name: str
    won: float | None
    low: float
    high: float
    n: int
    address: str
    """The other model's page; "" for a family."""


def _shares_html(
    title: str, head: str, shares: Mapping[str, Share], links: Mapping[str, str]
) -> str:
    """Return shares with their names as a table, the one with most battles first."""
    rows = [
        WonShare(name, share.value, share.low, share.high, share.n, links.get(name, ""))
        for name, share in sorted(shares.items(), key=lambda one: -one[1].n)
    ]
    columns = (
        Column("name", head, href="address"),
        Column("won", "Won", "percent", "low", "high", places=0, bar=True, dash=True),
        Column("n", "of", "count"),
    )
    return as_html(Sheet(head.lower(), title, frame_of(WonShare, rows), columns))
