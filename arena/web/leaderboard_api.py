"""Leaderboard API: a board's table, chart and plots as files, each made once for the votes it shows and kept."""

import gzip
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from arena.drawing_png import png
from arena.drawings import Drawing, TextMark, svg_file
from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.board_sheet import board_sheet
from arena.leaderboard.chart import board_chart, chart_png
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.sheets import Sheet, as_csv, as_json, as_latex, as_markdown
from arena.web.leaderboard_view import VOTES_SHOWN
from arena.web.results_address import FURTHER

PATIENCE_SECONDS = 20.0
"""How long a download waits for the intervals of a board that is not yet computed."""
KEPT_FILES = 32
AT_ONCE = 4
"""Downloads that are worked on at the same time, so that they hold no thread that others need."""
_Made = Callable[[str, Board, Leaderboard, str], str | bytes]


def _table(form: Callable[[Sheet], str]) -> _Made:
    return lambda title, board, boards, plot: form(board_sheet(board, title))


FILES: Mapping[str, tuple[str, _Made]] = {
    "board.csv": ("text/csv", _table(as_csv)),
    "board.md": ("text/markdown", _table(as_markdown)),
    "board.tex": ("application/x-tex", _table(as_latex)),
    "board.json": ("application/json", _table(as_json)),
    "board.svg": ("image/svg+xml", lambda title, board, boards, plot: svg_file(board_chart(board))),
    "board.png": ("image/png", lambda title, board, boards, plot: chart_png(board, title)),
    "plot.svg": (
        "image/svg+xml",
        lambda title, board, boards, plot: svg_file(_drawn(board, boards, plot)),
    ),
    "plot.png": ("image/png", lambda title, board, boards, plot: png(_drawn(board, boards, plot))),
}
"""Each file's media type, and what makes it, given its title and the name of the plot in it, if it has one."""
OF_ONE_PLOT = frozenset({"plot.svg", "plot.png"})


def _drawn(board: Board, leaderboard: Leaderboard, name: str) -> Drawing:
    """Return the drawing of a plot of `FURTHER`, or of the words that stand in its place."""
    plot = PLOTS[FURTHER[name]](board, leaderboard)
    return plot.drawing or Drawing(plot.title, plot.note, 720, 30, (TextMark(0, 20, plot.note),))


class _KeptFile(NamedTuple):
    board: Board
    """What it shows: a board that changes is another object."""
    plain: bytes
    zipped: bytes


@dataclass(frozen=True)
class BoardFiles:
    """Files of boards by name and board, the least recently used dropped first."""

    leaderboard: Leaderboard
    _kept: OrderedDict[tuple[str, BoardKey, str, str], _KeptFile] = field(
        default_factory=OrderedDict
    )
    _lock: Lock = field(default_factory=Lock)

    def file(self, name: str, title: str, key: BoardKey, plot: str = "") -> _KeptFile:
        """Return a board's file, made anew if the board has changed."""
        board = self.leaderboard.board(key, PATIENCE_SECONDS)
        place = (name, key, title, plot)
        kept = self._kept.get(place)
        if kept is None or kept.board is not board:
            made = FILES[name][1](title, board, self.leaderboard, plot)
            plain = made.encode() if isinstance(made, str) else made
            kept = _KeptFile(board, plain, gzip.compress(plain, mtime=0))
        with self._lock:
            self._kept[place] = kept
            self._kept.move_to_end(place)
            if len(self._kept) > KEPT_FILES:
                self._kept.popitem(last=False)
        return kept


def routes(leaderboard: Leaderboard) -> APIRouter:
    """Return the routes; their query parameters are those of `Leaderboard.choose`."""
    router = APIRouter()
    files = BoardFiles(leaderboard)
    turns = CapacityLimiter(AT_ONCE)

    @router.get("/boards/{name}")
    async def download(
        request: Request,
        name: str,
        source: str = "",
        images: str = "single",
        family: str = "",
        since: str = "",
        until: str = "",
        voters: str = "",
        votes: str = "",
        plot: str = "",
    ) -> Response:
        def found() -> Response:
            if source in leaderboard.closed():
                return PlainTextResponse(
                    "This board is closed until its campaign ends.", status_code=403
                )
            choice = leaderboard.choose(source, images, family, since, until, voters, votes)
            if choice is None or choice.source != source or (family and choice.family is None):
                return PlainTextResponse("There is no such board.", status_code=404)
            file = files.file(
                name,
                f"Elo ranking: {source}{VOTES_SHOWN[choice.votes]}",
                choice.key,
                plot if name in OF_ONE_PLOT else "",
            )
            zips = "gzip" in request.headers.get("accept-encoding", "")
            headers = {
                "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
                "cache-control": "no-store",
                "x-robots-tag": "noindex",
                "vary": "accept-encoding",
                **({"content-encoding": "gzip"} if zips else {}),
            }
            return Response(
                file.zipped if zips else file.plain, media_type=FILES[name][0], headers=headers
            )

        if name not in FILES or (name in OF_ONE_PLOT and plot not in FURTHER):
            return PlainTextResponse("There is no such file.", status_code=404)
        try:
            return await to_thread.run_sync(found, limiter=turns)
        except BoardSelectionError as error:
            return PlainTextResponse(str(error), status_code=400)

    return router
