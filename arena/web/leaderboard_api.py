"""Leaderboard API: a board's table and plots as files."""

from collections.abc import Callable
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from arena.database import DatabaseError
from arena.figures import PlotsError, page
from arena.leaderboard.board import Board
from arena.leaderboard.downloads import board_csv, plots_json
from arena.leaderboard.plots import board_figures
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.web.leaderboard_view import VOTES_SHOWN

PATIENCE_SECONDS = 20.0
"""How long a download waits for the intervals of a board that is not yet computed."""


def routes(leaderboard: Leaderboard) -> APIRouter:
    """Return the routes; their query parameters are those of `Leaderboard.choose`."""
    router = APIRouter()
    files: dict[str, tuple[str, Callable[[str, Board], str]]] = {
        "board.csv": ("text/csv", lambda title, board: board_csv(board)),
        "plots.html": ("text/html", lambda title, board: page(title, board_figures(board, leaderboard))),
        "plots.json": ("application/json", lambda title, board: plots_json(title, board_figures(board, leaderboard))),
    }

    @router.get("/boards/{name}")
    def download(
        name: str,
        source: str = "",
        images: str = "single",
        family: str = "",
        since: str = "",
        until: str = "",
        voters: str = "",
        votes: str = "",
    ) -> Response:
        if name not in files:
            return PlainTextResponse("There is no such file.", status_code=404)
        media, content = files[name]
        try:
            choice = leaderboard.choose(source, images, family, since, until, voters, votes)
            if choice is None or choice.source != source or (family and choice.family is None):
                return PlainTextResponse("There is no such board.", status_code=404)
            text = content(
                f"Leaderboard: {source}{VOTES_SHOWN[choice.votes]}", leaderboard.board(choice.key, PATIENCE_SECONDS)
            )
        except BoardSelectionError as error:
            return PlainTextResponse(str(error), status_code=400)
        except (DatabaseError, PlotsError) as error:
            return PlainTextResponse(str(error), status_code=503)
        headers = {
            "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
            "cache-control": "no-store",
            "x-robots-tag": "noindex",
        }
        return Response(text, media_type=media, headers=headers)

    return router
