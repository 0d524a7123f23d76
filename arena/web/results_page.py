"""Results page: the routes of boards, models and finished battles."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import NamedTuple
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from arena.battles.voters import NOBODY
from arena.cache import Cache
from arena.items.fact_store import FactsSnapshot, FactStore
from arena.items.store import ItemBank
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import COLUMNS
from arena.leaderboard.overview import Overview
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.service import Leaderboard
from arena.locale import current_locale, t
from arena.plots import Plot
from arena.web.addresses import NAME, OWN, RESULTS, Address
from arena.web.battle_page import HTML as FINISHED
from arena.web.battle_page import BattlePages
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.facts_view import COLUMN as FACTS
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.leaderboard_view import BoardTable, board_html
from arena.web.model_filter import ModelFilter
from arena.web.model_page import PATIENCE_SECONDS, ModelPages
from arena.web.results_address import PLOT_NAMES, ResultsAddress, board_query
from arena.web.results_view import (
    HTML,
    ModelChoice,
    ResultsTabs,
    filter_note,
    head_html,
    opening_html,
    picture_html,
    plots_html,
)

AT_ONCE = 20
"""The most pages at the same time: waiting for intervals, more of them would hold threads that other pages need."""
MOST_CACHED = 8_000_000
"""Most characters of cached boards."""


class BoardParts(NamedTuple):
    """The parts of a page that show a board's votes, as HTML."""

    opening: str
    board: str
    """The table; "" on a board without votes."""
    picture: str
    """The chosen plot; "" for none."""


@dataclass(frozen=True)
class ResultsPages:
    """The pages of all boards. The parts that show votes are made once for each state of a board and the bank."""

    leaderboard: Leaderboard
    overview: Overview
    items: ItemBank
    facts: FactStore
    tabs: ResultsTabs
    _numbers: WeakKeyDictionary[Board, int] = field(default_factory=WeakKeyDictionary)
    """Numbers stand for boards in the cache's keys, which keep no board alive."""
    _next_number: "count[int]" = field(default_factory=count)
    _cache: Cache[BoardParts] = field(
        default_factory=lambda: Cache(MOST_CACHED, weigh=lambda parts: sum(map(len, parts)))
    )

    def html(self, address: ResultsAddress, choice: BoardSelection | None) -> str:
        """Returns the page of a board as HTML; `choice`: None without a board. Raises DatabaseError."""
        if choice is None:
            return self.closed("") if self.leaderboard.closed_sources() else HTML.no_source()
        board = self.leaderboard.board(choice.key, PATIENCE_SECONDS)
        facts = self.facts.snapshot()
        models = _model_choice(board, facts, address.filter)
        table = BoardTable(
            facts=models.facts if models.filter.facts else None,
            models=models.filtered.models if models.filtered else None,
        )
        cache_key = (
            self._number_of(board),
            # The bank may be a moment behind the board, and the parts count its models.
            self.items.bank().version,
            current_locale().language,
            choice.source,
            choice.votes,
            choice.family,
            address.plot,
            facts.version,
            bool(models.filter.facts),
            None if table.models is None else sorted(table.models),
        )
        parts = self._cache.get(
            cache_key, lambda: self._make_parts(board, choice, address.plot, table)
        )
        rule = self.leaderboard.counted.rule
        query = {**board_query(choice), **models.filter.query}
        body = ""
        if board.votes:
            is_empty = models.filtered is not None and not models.filtered.models
            table_html = "" if is_empty else parts.board
            body = _part("board", filter_note(models, query) + table_html)
        return HTML.page(
            self.tabs.html(RESULTS),
            address.ignored(choice),
            _part("board-head", head_html(self.overview.entries(), choice, rule, models)),
            _part("board-opening", parts.opening),
            body,
            (*COLUMNS, FACTS) if table.facts else COLUMNS,
            plots_html(query, address.plot, parts.picture),
        )

    def _number_of(self, board: Board) -> int:
        """Returns the number of a board in the cache's keys; a new board gets the next one."""
        number = self._numbers.get(board)
        if number is None:
            # Another thread may have given it a number by now: the first one stays.
            number = self._numbers.setdefault(board, next(self._next_number))
        return number

    def closed(self, source: str) -> str:
        """Returns the HTML of a board that is closed while a campaign runs. `source`: "" if all boards are."""
        return HTML.closed(self.tabs.html(RESULTS), source)

    def _make_parts(
        self, board: Board, choice: BoardSelection, plot: str, table: BoardTable
    ) -> BoardParts:
        models = self._count_votable_models(choice)
        vote_path = _where_to_vote(choice, models)
        opening = opening_html(board, choice, models, vote_path)
        if not board.votes:
            return BoardParts(opening, "", "")
        query = {**board_query(choice), "plot": plot}
        picture = picture_html(self._plot(board, plot), "plot", "/boards/plot", query)
        return BoardParts(opening, board_html(board, choice, table), picture)

    def _plot(self, board: Board, name: str) -> Plot | None:
        if not name:
            return None
        make_plot = PLOTS[PLOT_NAMES[name]]
        return make_plot(board, self.leaderboard)

    def _count_votable_models(self, choice: BoardSelection) -> int | None:
        """Returns the number of models of a bank's board that can be voted on; None for other boards."""
        key = choice.key
        if key.kind != "bank" or key.narrowed:
            return None
        models = set()
        for item in self.items.bank().items.values():
            is_on_board = item.source == key.source and item.multi == key.multi
            if is_on_board and len(item.contestants) > 1:
                models |= {contestant.model for contestant in item.contestants}
        return len(models)


def _model_choice(board: Board, facts: FactsSnapshot, model_filter: ModelFilter) -> ModelChoice:
    """Returns the models of a board that pass a filter, and the facts of all."""
    names = [line.model for line in board.standings]
    known_facts = {name: facts.models[name] for name in names if name in facts.models}
    return ModelChoice(
        filter=model_filter,
        filtered=model_filter.apply(names, known_facts),
        facts=known_facts,
    )


def _part(name: str, html: str) -> str:
    """Returns a part of the page with the hash of its content, by which the script sees a change."""
    return HTML.part(name, hashlib.sha256(html.encode()).hexdigest()[:16], html)


def _where_to_vote(choice: BoardSelection, models: int | None) -> str:
    """Returns the path of the page for votes on a board; "" if there is none."""
    if choice.key.narrowed or choice.key.kind == "imported":
        return ""
    if choice.key.kind == "live":
        return f"/{OWN}"
    return "/" if models else ""


def routes(
    boards: ResultsPages,
    models: ModelPages,
    battles: BattlePages,
    head: Callable[[Address], Head],
    voter: Callable[[str], int],
    layout: PageLayout,
) -> APIRouter:
    """Returns the routes. `voter` returns the voter of a cookie's hash."""
    router = APIRouter()
    methods = ["GET", "HEAD"]
    turns = CapacityLimiter(AT_ONCE)
    open_page = partial(_open_page, boards, layout)

    def board_page(request: Request, address: ResultsAddress) -> Response:
        choice = address.choose(boards.overview)
        source = address.fields.get("source", "")
        head_address = Address(RESULTS, "board", source) if source else Address(RESULTS)
        return layout.page(request, head(head_address), boards.html(address, choice), RESULTS)

    def model_page(request: Request, address: ResultsAddress) -> Response:
        if not address.model:
            return layout.nothing_here(request)
        page = models.page(address, _reader(request, voter))
        model_address = Address(RESULTS, "model", address.model)
        page_head = head(model_address) if page.is_here else _private_head("model.model")
        status = 200 if page.is_here else 404
        # The page shows answers only on items where the reader has voted.
        return layout.page(request, page_head, page.html, RESULTS, status=status, is_kept=False)

    @router.api_route("/results", methods=methods)
    @router.api_route("/results/{source:path}", methods=methods)
    async def results(request: Request) -> Response:
        return await to_thread.run_sync(open_page, board_page, request, limiter=turns)

    @router.api_route("/model/{name:path}", methods=methods)
    async def model(request: Request) -> Response:
        return await to_thread.run_sync(open_page, model_page, request, limiter=turns)

    @router.api_route("/battle/{token}", methods=methods)
    def battle(request: Request, token: str) -> Response:
        html = battles.html(token)
        if html is None:
            return layout.page(
                request,
                _private_head("battle.battle"),
                FINISHED.unknown(),
                RESULTS,
                status=404,
                is_kept=False,
            )
        return layout.page(request, head(Address(RESULTS, "battle", token)), html, RESULTS)

    return router


def _reader(request: Request, voter: Callable[[str], int]) -> int:
    """Returns the voter who sent a request; NOBODY without a cookie."""
    cookie = sent_cookie(request.headers)
    return voter(cookie_hash(cookie)) if cookie else NOBODY


def _private_head(key: str) -> Head:
    """Returns the head of a page about something that is not here, or not yet."""
    return Head(f"{t(key)} · {NAME}", "", is_private=True)


def _open_page(
    boards: ResultsPages,
    layout: PageLayout,
    make_page: Callable[[Request, ResultsAddress], Response],
    request: Request,
) -> Response:
    """Returns a page about a board, or a notice if the board is closed while a campaign runs."""
    address = ResultsAddress.parse(_path_and_query(request))
    source = address.fields.get("source", "")
    if source not in boards.leaderboard.closed_sources():
        return make_page(request, address)
    return layout.page(
        request, _private_head("results.ranking"), boards.closed(source), RESULTS, is_kept=False
    )


def _path_and_query(request: Request) -> str:
    """Returns the path and the query of a request as they were sent."""
    path = request.scope["raw_path"].decode("latin-1")
    return f"{path}?{request.scope['query_string'].decode('latin-1')}"
