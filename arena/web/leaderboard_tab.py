"""Leaderboard tab: all boards, one of them with sentence, chart, table and plots, or a page of one model or battle."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import gradio as gr

from arena.battles.voters import NOBODY
from arena.database import DatabaseError
from arena.leaderboard.board import Board
from arena.leaderboard.board_sheet import COLUMNS
from arena.leaderboard.overview import Overview
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection, BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.plots import Plot
from arena.web.battle_page import BattlePages
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.events import LATEST, RAW, REFUSED, Updates
from arena.web.leaderboard_view import HTML, PARTS, board_html
from arena.web.model_page import PATIENCE_SECONDS, ModelPages
from arena.web.results_address import FURTHER, MOST_ADDRESS, ResultsAddress
from arena.web.results_view import head_html, opening_html, plots_html

_REFUSED = (
    f'() => [{json.dumps(str(PARTS.alert(REFUSED)))}, {{"__type__": "update", "visible": false}}]'
)
"""In the browser: why the address was not opened, in place of the boards."""
NO_SOURCE = PARTS.empty("There is no board to show yet.")


class LeaderboardTab:
    """The tab's components as attributes, its handlers as methods; the page's address says what is shown."""

    def __init__(
        self,
        leaderboard: Leaderboard,
        models: ModelPages,
        battles: BattlePages,
        voter: Callable[[str], int],
    ) -> None:
        """`voter` returns the voter of a cookie's hash."""
        self._leaderboard = leaderboard
        self._voter = voter
        self._models = models
        self._battles = battles
        self._overview: Overview = models.overview
        self.address = gr.Textbox(
            visible="hidden", elem_id="board-address", max_length=MOST_ADDRESS
        )
        self.model = gr.HTML(elem_id="model", padding=False)
        with gr.Column(elem_id="boards") as self.boards:
            self.head = gr.HTML(elem_id="board-head", padding=False)
            self.opening = gr.HTML(elem_id="board-opening", padding=False)
            gr.HTML(HTML.search(), padding=False)
            self.board = gr.HTML(elem_id="board", padding=False)
            gr.HTML(HTML.meanings(COLUMNS), padding=False)
            self.plots = gr.HTML(elem_id="board-plots", padding=False)
        self.seen = gr.Textbox(visible="hidden", elem_id="board-seen")
        self.open = gr.Button(visible="hidden", elem_id="board-open")
        self.refresh = gr.Button(visible="hidden", elem_id="board-refresh")

    def listen(self, *opened: Any) -> None:
        """Bind the handlers: a board is read at the events that open it, and every few seconds while it is shown."""
        board = [self.head, self.opening, self.board, self.seen]
        shown = [self.model, self.boards, *board, self.plots]
        here = "() => [results.address()]"
        board_opened = gr.on(
            [*opened, self.open.click], self.on_open, self.address, shown, js=here, **LATEST
        )
        board_opened.failure(None, None, [self.model, self.boards], js=_REFUSED)
        still = "(_, seen) => [results.address(), seen]"
        self.refresh.click(self.on_refresh, [self.address, self.seen], board, js=still, **RAW)

    def on_open(self, sent: object, request: gr.Request) -> Updates:
        """Show the board, model or battle of the page's address, at first the board with the most votes."""
        address = ResultsAddress.parse(sent)
        try:
            if (alone := self._alone(address, request)) is not None:
                return {self.model: alone, self.boards: gr.update(visible=False)}
            opened = {self.model: "", self.boards: gr.update(visible=True)}
            choice = address.choose(self._overview)
            if choice is None:
                return {**opened, self.board: NO_SOURCE}
            board = self._leaderboard.board(choice.key, PATIENCE_SECONDS)
            plots = (
                plots_html(choice, address.plot, self._plot(board, address)) if board.votes else ""
            )
            return {**opened, **self._shown(board, choice, address), self.plots: plots}
        except (BoardSelectionError, DatabaseError) as error:
            return {self.model: PARTS.alert(error)}

    def _alone(self, address: ResultsAddress, request: gr.Request) -> str | None:
        """Return the page of an address that is no board's."""
        if address.battle is not None:
            return self._battles.html(address.battle)
        if address.model is None:
            return None
        cookie = sent_cookie(request.headers)
        return self._models.html(address, self._voter(cookie_hash(cookie)) if cookie else NOBODY)

    def on_refresh(self, sent: object, seen: object) -> Updates:
        """Show the board again if it has changed; if it cannot be read, the page stays as it is."""
        address = ResultsAddress.parse(sent)
        try:
            choice = None if address.model or address.battle else address.choose(self._overview)
            shown = (
                self._shown(self._leaderboard.board(choice.key), choice, address) if choice else {}
            )
        except (BoardSelectionError, DatabaseError):
            shown = {}
        return shown if shown and shown[self.seen] != seen else {self.seen: gr.skip()}

    def _shown(self, board: Board, choice: BoardSelection, address: ResultsAddress) -> Updates:
        entries = self._overview.entries()
        rule = self._leaderboard.who.rule
        parts = {
            self.head: head_html(entries, choice, rule, address.strange(choice)),
            self.opening: opening_html(board, choice),
            self.board: board_html(board, choice),
        }
        return {
            **parts,
            self.seen: hashlib.sha256("\n".join(parts.values()).encode()).hexdigest()[:16],
        }

    def _plot(self, board: Board, address: ResultsAddress) -> Plot | None:
        """Return the plot that an address names; none for another name."""
        name = FURTHER.get(address.plot)
        return PLOTS[name](board, self._leaderboard) if name else None
