"""Leaderboard tab: one source's board, for single or several images, with its filters and plots."""

import hashlib
import json
from collections.abc import Sequence

import gradio as gr
from gradio.components.plot import PlotData

from arena.database import DatabaseError
from arena.leaderboard.board import Board
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection, BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.web.events import LATEST, RAW, Updates, offered
from arena.web.leaderboard_view import COLUMNS, HTML, PARTS, board_html, vote_choices

ALL_FAMILIES = "All families"
NO_SOURCE = PARTS.empty("There are no items yet, so there is no board.")
IMAGES = [("Single image", "single"), ("Multiple images", "multiple")]
PATIENCE_SECONDS = 1.5
"""How long opening a board waits for its intervals, so that they do not appear later."""


class LeaderboardTab:
    """The tab's components as attributes, its handlers as methods."""

    def __init__(self, leaderboard: Leaderboard) -> None:
        self._leaderboard = leaderboard
        with gr.Row(elem_id="board-choice"):
            self.source = gr.Dropdown([], label="Items", elem_id="board-source", min_width=240)
            self.images = gr.Radio(IMAGES, value="single", label="Images", elem_id="board-images", min_width=350)
            self.family = gr.Dropdown(
                [ALL_FAMILIES], value=ALL_FAMILIES, label="Family", elem_id="board-family", min_width=180
            )
            days = {"include_time": False, "type": "string", "min_width": 150}
            self.since = gr.DateTime(label="From (UTC day)", elem_id="board-since", **days)
            self.until = gr.DateTime(label="To (UTC day)", elem_id="board-until", **days)
        # Shown once a board has a choice: of no imported board, and nowhere if everybody counts.
        self.votes = gr.Radio(vote_choices(leaderboard.who.rule), label="Votes", visible=False, elem_id="board-votes")
        self.without = gr.Checkbox(True, label="Without flagged voters", container=False, elem_id="board-without")
        gr.HTML(HTML.search(), padding=False)
        self.board = gr.HTML(elem_id="board", padding=False)
        gr.HTML(HTML.meanings(COLUMNS), padding=False)
        self.plot_name = gr.Radio(list(PLOTS), label="Plot", elem_id="board-plots")
        self.plot = gr.Plot(show_label=False, visible=False, elem_id="board-plot")
        self.note = gr.HTML(elem_id="board-note", padding=False)
        self.seen = gr.Textbox(visible="hidden", elem_id="board-seen")
        self.refresh = gr.Button(visible="hidden", elem_id="board-refresh")

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers: a board is read when it is opened, and every few seconds while it is shown."""
        chosen = [self.source, self.images, self.family, self.since, self.until, self.without, self.votes]
        table = [self.source, self.family, self.votes, self.board, self.seen]
        plots = [self.plot, self.note]
        narrowed = [self.source.input, self.images.input, self.family.input, self.since.change, self.until.change]
        narrowed += [self.without.input, self.votes.input]
        gr.on([tab.select, *narrowed], self.on_open, [*chosen, self.plot_name], [*table, *plots], **LATEST)
        self.plot_name.input(self.on_plot, [*chosen, self.plot_name], plots, **LATEST)
        self.refresh.click(self.on_refresh, [*chosen, self.seen], table, **RAW)

    def on_open(self, *sent: object) -> Updates:
        """Show the selected board, at first the newest source's, and its plot if one is selected."""
        *chosen, plot = sent
        try:
            choice = self._choice(*chosen)
            if choice is None:
                return {self.board: NO_SOURCE}
            board = self._leaderboard.board(choice.key, PATIENCE_SECONDS)
            return {**self._shown(board, choice, chosen), **self._plotted(board, plot)}
        except (BoardSelectionError, DatabaseError) as error:
            return {self.board: PARTS.alert(error)}

    def on_plot(self, *sent: object) -> Updates:
        *chosen, plot = sent
        try:
            choice = self._choice(*chosen)
            board = choice and self._leaderboard.board(choice.key, PATIENCE_SECONDS)
            return self._plotted(board, plot) if board else {self.note: NO_SOURCE}
        except (BoardSelectionError, DatabaseError) as error:
            return {self.note: PARTS.alert(error)}

    def on_refresh(self, *sent: object) -> Updates:
        """Show the board again if it has changed; if it cannot be read, the page stays as it is."""
        *chosen, seen = sent
        try:
            choice = self._choice(*chosen)
            shown = self._shown(self._leaderboard.board(choice.key), choice, chosen) if choice else {}
        except (BoardSelectionError, DatabaseError):
            shown = {}
        return shown if shown and shown[self.seen] != seen else {self.seen: gr.skip()}

    def _choice(self, *sent: object) -> BoardSelection | None:
        """Return the selected board, from values in the order of the components that select it."""
        source, images, family, since, until, without, votes = sent
        voters = "all" if without is False else "unflagged"
        return self._leaderboard.choose(source, images, family, since, until, voters, votes)

    def _shown(self, board: Board, choice: BoardSelection, sent: Sequence[object]) -> Updates:
        html = board_html(board, choice)
        votes = {} if choice.votes in (None, sent[6]) else {"value": choice.votes}
        families = [ALL_FAMILIES, *choice.families]
        told = "\n".join([html, *choice.sources, *families])
        return {
            self.source: gr.update(**offered(choice.sources, choice.source, sent[0])),
            self.family: gr.update(**offered(families, choice.family or ALL_FAMILIES, sent[2])),
            self.votes: gr.update(visible=choice.votes is not None, **votes),
            self.board: html,
            self.seen: hashlib.sha256(told.encode()).hexdigest()[:16],
        }

    def _plotted(self, board: Board, plot: object) -> Updates:
        """Return the plot with this name; none for an unknown name or a board without votes."""
        if not isinstance(plot, str) or plot not in PLOTS or not board.votes:
            return {self.plot: gr.update(visible=False), self.note: ""}
        figure = PLOTS[plot](board, self._leaderboard)
        # As Gradio sends Plotly's figures: plotly.js draws in the browser, and Plotly is not needed here.
        drawing = json.dumps({"data": list(figure.traces), "layout": figure.layout}, allow_nan=False)
        drawn = PlotData(type="plotly", plot=drawing) if figure.traces else None
        shown = gr.update(value=drawn, visible=True) if drawn else gr.update(visible=False)
        return {self.plot: shown, self.note: PARTS.note(figure.note)}
