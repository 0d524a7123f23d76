"""Leaderboard API: a board's table, chart and plots as files. Each is made once for a state of the board,
in English."""

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
from arena.items.fact_store import FactsSnapshot, FactStore
from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.board_sheet import board_sheet
from arena.leaderboard.chart import board_chart, chart_png
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelectionError
from arena.leaderboard.service import Leaderboard
from arena.locale import ENGLISH, speaking
from arena.sheets import Sheet, as_csv, as_json, as_latex, as_markdown
from arena.web.leaderboard_view import title_voters
from arena.web.results_address import PLOT_NAMES
from arena.web.static_files import accepts_gzip

PATIENCE_SECONDS = 20.0
"""The longest wait of a download for the intervals of a board."""
MOST_FILES = 32
"""The most files in the cache."""
AT_ONCE = 4
"""The most downloads at the same time; more would hold threads that other pages need."""


class WantedFile(NamedTuple):
    """All that a file is made from."""

    title: str
    board: Board
    leaderboard: Leaderboard
    plot: str
    """The name of the plot in it; "" for none."""
    facts: FactsSnapshot


_Maker = Callable[[WantedFile], str | bytes]


class _FileKind(NamedTuple):
    media_type: str
    make: _Maker


def _table(write: Callable[[Sheet], str]) -> _Maker:
    """Returns the maker of a board's table; `write` turns a sheet into a file's text."""
    return lambda wanted: write(board_sheet(wanted.board, wanted.title, wanted.facts.models))


FILES: Mapping[str, _FileKind] = {
    "board.csv": _FileKind("text/csv", _table(as_csv)),
    "board.md": _FileKind("text/markdown", _table(as_markdown)),
    "board.tex": _FileKind("application/x-tex", _table(as_latex)),
    "board.json": _FileKind("application/json", _table(as_json)),
    "board.svg": _FileKind("image/svg+xml", lambda wanted: svg_file(board_chart(wanted.board))),
    "board.png": _FileKind("image/png", lambda wanted: chart_png(wanted.board, wanted.title)),
    "plot.svg": _FileKind("image/svg+xml", lambda wanted: svg_file(_plot_drawing(wanted))),
    "plot.png": _FileKind("image/png", lambda wanted: png(_plot_drawing(wanted))),
}
"""The files that can be downloaded, by name."""
PLOT_FILES = frozenset({"plot.svg", "plot.png"})
"""The files of one plot, which the query names."""


def _plot_drawing(wanted: WantedFile) -> Drawing:
    """Returns the drawing of a plot of `PLOT_NAMES`; if it has none, a drawing of its note."""
    plot = PLOTS[PLOT_NAMES[wanted.plot]](wanted.board, wanted.leaderboard)
    return plot.drawing or Drawing(
        title=plot.title,
        description=plot.note,
        width=720,
        height=30,
        marks=(TextMark(x=0, y=20, text=plot.note),),
    )


class _FileKey(NamedTuple):
    """The address of a file in the cache; `title` and `plot` as in `WantedFile`."""

    name: str
    board: BoardKey
    title: str
    plot: str


class _CachedFile(NamedTuple):
    board: Board
    facts: FactsSnapshot
    """`board`, `facts`: the objects that the file shows. A change makes a new object."""
    plain: bytes
    gzipped: bytes


@dataclass(frozen=True)
class BoardFiles:
    """A cache of files by name and board. The least recently used file is dropped first."""

    leaderboard: Leaderboard
    facts: FactStore
    _files: OrderedDict[_FileKey, _CachedFile] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def file(self, name: str, title: str, key: BoardKey, plot: str = "") -> _CachedFile:
        """Returns a board's file. It is made again after the board or its models' facts have changed."""
        board = self.leaderboard.board(key, PATIENCE_SECONDS)
        facts = self.facts.snapshot()
        cache_key = _FileKey(name, key, title, plot)
        file = self._files.get(cache_key)
        if file is None or file.board is not board or file.facts is not facts:
            content = FILES[name].make(WantedFile(title, board, self.leaderboard, plot, facts))
            plain = content.encode() if isinstance(content, str) else content
            file = _CachedFile(board, facts, plain, gzip.compress(plain, mtime=0))
        with self._lock:
            # A file from the cache is stored again, too: another download may have dropped it meanwhile.
            self._files[cache_key] = file
            self._files.move_to_end(cache_key)
            if len(self._files) > MOST_FILES:
                self._files.popitem(last=False)
        return file


def routes(leaderboard: Leaderboard, facts: FactStore) -> APIRouter:
    """Returns the routes. Their query parameters are those of `Leaderboard.choose`."""
    router = APIRouter()
    files = BoardFiles(leaderboard, facts)
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
        if name not in FILES or (name in PLOT_FILES and plot not in PLOT_NAMES):
            return PlainTextResponse("There is no such file.", status_code=404)

        def make_response() -> Response:
            if source in leaderboard.closed_sources():
                return PlainTextResponse(
                    "This board is closed until its campaign ends.", status_code=403
                )
            choice = leaderboard.choose(source, images, family, since, until, voters, votes)
            # For an unknown source or family, `choose` returns another board.
            if choice is None or choice.source != source or (family and choice.family is None):
                return PlainTextResponse("There is no such board.", status_code=404)
            with speaking(ENGLISH):
                file = files.file(
                    name,
                    f"Elo ranking: {source}{title_voters(choice.votes)}",
                    choice.key,
                    plot if name in PLOT_FILES else "",
                )
            is_gzipped = accepts_gzip(request.headers)
            headers = {
                "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
                "cache-control": "no-store",
                "x-robots-tag": "noindex",
                "vary": "accept-encoding",
            }
            if is_gzipped:
                headers["content-encoding"] = "gzip"
            content = file.gzipped if is_gzipped else file.plain
            return Response(content, media_type=FILES[name].media_type, headers=headers)

        try:
            return await to_thread.run_sync(make_response, limiter=turns)
        except BoardSelectionError as error:
            return PlainTextResponse(str(error), status_code=400)

    return router
