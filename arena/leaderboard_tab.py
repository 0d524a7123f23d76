"""The leaderboard tab: one board of one source, single- or multi-image."""

from html import escape
from typing import Any

import gradio as gr

from arena.database import DatabaseError
from arena.items import ItemBank
from arena.leaderboard import Board, BoardKey, Leaderboard, Standing

SINGLE, MULTI = "Single image", "Multiple images"


class LeaderboardTab:
    """Components of the leaderboard tab as attributes, its handlers as methods."""

    def __init__(self, leaderboard: Leaderboard, items: ItemBank) -> None:
        self._leaderboard = leaderboard
        self._items = items
        with gr.Row(elem_id="board-choice"):
            self.source = gr.Dropdown([], label="Items", elem_id="board-source")
            self.images = gr.Radio([SINGLE, MULTI], value=SINGLE, label="Images", elem_id="board-images")
        self.board = gr.HTML(elem_id="board")

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers: a board is read anew whenever it is opened."""
        gr.on(
            [tab.select, self.source.input, self.images.input],
            self.on_open,
            [self.source, self.images],
            [self.source, self.board],
            queue=False,
            api_visibility="private",
            show_progress="hidden",
        )

    def on_open(self, source: object, images: object) -> dict[Any, Any]:
        """Show the chosen board, at first the newest source's."""
        try:
            sources = self._items.sources()
            chosen = next((known for known in sources if known.name == source), sources[-1] if sources else None)
            if chosen is None:
                return {self.board: '<p class="empty">There are no items yet, so there is no board.</p>'}
            board = self._leaderboard.board(BoardKey(chosen.id, images == MULTI))
        except DatabaseError as error:
            return {self.board: f'<p class="problem">{escape(str(error))}</p>'}
        names = [known.name for known in sources]
        return {self.source: gr.update(choices=names, value=chosen.name), self.board: board_html(board, chosen.name)}


def board_html(board: Board, source: str) -> str:
    """Return a board as a table."""
    kind = "multiple images" if board.key.multi else "single image"
    if not board.standings:
        return f'<p class="empty">No votes yet on {escape(source)}, {kind}. Vote, and this board begins.</p>'
    rows = "".join(map(_row, board.standings))
    votes = "1 vote" if board.votes == 1 else f"{board.votes:,} votes"
    return (
        f'<div class="board"><table><caption>{escape(source)}, {kind}: {votes}</caption><thead><tr>'
        '<th scope="col">Rank</th><th scope="col" class="name">Model</th><th scope="col">Elo</th>'
        '<th scope="col">Votes</th><th scope="col">Win rate vs. reference</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        '<p class="note">Elo as VisIT-Bench computes it: one pass over the votes in their order, K=4, scale 400, '
        "starting at 1000. With few votes it says little.</p>"
    )


def _row(standing: Standing) -> str:
    rate = (
        "–" if standing.win_rate is None else f"{standing.win_rate:.2%} <small>(n={standing.reference_votes})</small>"
    )
    retired = " <small>(retired)</small>" if standing.retired else ""
    return (
        f'<tr><td>{standing.rank}</td><th scope="row" class="name">{escape(standing.model)}{retired}</th>'
        f"<td>{standing.elo:.0f}</td><td>{standing.votes:,}</td><td>{rate}</td></tr>"
    )
