"""Preview API: the pictures beside shared links, 1200 x 630 pixels, drawn from the heads of their pages."""

from pathlib import Path
from textwrap import wrap
from typing import NamedTuple
from urllib.parse import quote, unquote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from arena.cache import Cache
from arena.drawing_png import Photo, is_drawable, png
from arena.drawings import Drawing, Mark, TextMark
from arena.io.scaled_pictures import ScaledPictures
from arena.leaderboard.board import Board
from arena.leaderboard.chart import chart_png
from arena.locale import ENGLISH, speaking, t
from arena.markdown import visible_name
from arena.web.addresses import NAME, RESULTS, VOTE, Address, parse_address
from arena.web.heads import Head, Heads

_WIDTH = 600
_HEIGHT = 315
_LEFT = 36
"""The size and the left margin, in units of a drawing; a unit is two pixels."""
_PICTURE = 240
"""Side of the square that an item's picture fits, in units of a drawing."""
_LINE_HEIGHT = 22
"""The height of a line of the text below the title, in units of a drawing."""
_TITLE_IN_PLACE = "Which one helped more?"
"""The title in place of one that the font has no letters for."""
_PATIENCE_SECONDS = 1.5
"""The longest wait of a board's picture for its ranks."""
_NO_STORE = {"cache-control": "no-store"}
"""A preview ends with its page, when an item is hidden or a visitor forgotten."""


class _BoardPicture(NamedTuple):
    """A board, and its chart as a PNG."""

    board: Board
    png: bytes


class Previews:
    """Pictures by the path of their address. The latest board's picture is cached until the board changes."""

    def __init__(self, heads: Heads, scaled: ScaledPictures) -> None:
        self._heads = heads
        self._scaled = scaled
        self._latest: _BoardPicture | None = None

    def picture(self, path: str) -> bytes | None:
        """Returns the PNG at a path, if any. Raises DatabaseError."""
        # The font has letters for English only.
        with speaking(ENGLISH):
            return self._picture(path)

    def _picture(self, path: str) -> bytes | None:
        name = path.removesuffix(".png")
        address = Address(VOTE) if name == "vote" else parse_address(quote(name))
        if address is None:
            return None
        head = self._heads.head(address)
        # If the address names nothing that exists, the head is that of its page, and its preview has another path.
        if unquote(head.preview) != name:
            return None
        if address.page == RESULTS and address.kind in ("page", "board"):
            return self._board_picture(address.name)
        title = visible_name(head.title).removesuffix(f" · {NAME}")
        if address == Address(VOTE):
            title = title.removeprefix(f"{NAME}: ").capitalize()
        return card(title, head.description, self._file(head))

    def _board_picture(self, source: str) -> bytes | None:
        board, source = self._heads.board(source, _PATIENCE_SECONDS)
        if board is None:
            return None
        latest = self._latest
        if latest is not None and latest.board is board:
            return latest.png
        picture = _BoardPicture(board, chart_png(board, source))
        self._latest = picture
        return picture.png

    def _file(self, head: Head) -> Path | None:
        """Returns the file of a head's picture, about as wide as it is drawn."""
        if head.picture is None:
            return None
        file = self._scaled.path(head.picture, 640)
        # It may be the original, which can be too large to draw.
        is_scaled = file is not None and file.suffix == ".webp"
        return file if is_scaled else None


def routes(heads: Heads, scaled: ScaledPictures) -> APIRouter:
    """Returns the route of all previews. They show final votes only."""
    router = APIRouter()
    turns = CapacityLimiter(2)
    previews = Previews(heads, scaled)

    @router.get("/preview/{path:path}")
    async def preview(path: str) -> Response:
        picture = await to_thread.run_sync(previews.picture, path, limiter=turns)
        if picture is None:
            return PlainTextResponse(
                "There is no such picture.", status_code=404, headers=_NO_STORE
            )
        return Response(picture, media_type="image/png", headers=_NO_STORE)

    return router


_CARDS: Cache[bytes] = Cache(8_000_000, weigh=len)
"""At most 8 MB of drawn cards."""


class _Heading(NamedTuple):
    """A title in lines, and the size of its letters in units of a drawing."""

    size: int
    lines: list[str]


def card(title: str, text: str, picture: Path | None) -> bytes:
    """Returns a PNG with a title and a text, and the picture that they are about at the right."""
    return _CARDS.get((title, text, picture), lambda: _draw_card(title, text, picture))


def _draw_card(title: str, text: str, picture: Path | None) -> bytes:
    title = title if is_drawable(title) else _TITLE_IN_PLACE
    text = text if is_drawable(text) else t("heads.vote")
    width = _WIDTH - 2 * _LEFT
    if picture:
        width -= _PICTURE + _LEFT
    heading = _heading(title, width)
    heading_line_height = 1.25 * heading.size
    marks: list[Mark] = [TextMark(_LEFT, 48, NAME, tone="accent", size=16)]
    for number, line in enumerate(heading.lines):
        y = 96 + heading_line_height * number
        marks.append(TextMark(_LEFT, y, line, size=heading.size))
    text_top = 104 + heading_line_height * len(heading.lines)
    lines = _lines(text, width, 16)
    lowest_line = _HEIGHT - 30
    most_lines = 1 + int((lowest_line - text_top) // _LINE_HEIGHT)
    if len(lines) > most_lines:
        last = lines[most_lines - 1].rstrip(".,")
        lines = [*lines[: most_lines - 1], f"{last}…"]
    for number, line in enumerate(lines):
        y = text_top + _LINE_HEIGHT * number
        marks.append(TextMark(_LEFT, y, line, tone="quiet", size=16))
    photo = None
    if picture:
        photo = Photo(picture, _WIDTH - _LEFT - _PICTURE, (_HEIGHT - _PICTURE) / 2, _PICTURE)
    return png(Drawing(title, text, _WIDTH, _HEIGHT, tuple(marks)), 0, photo)


def _heading(title: str, width: float) -> _Heading:
    """Returns a title in the largest size at which it has at most three lines; in the smallest, it has up to five."""
    lines = []
    for size in (30, 24, 20):
        lines = _lines(title, width, size)
        if len(lines) < 4:
            return _Heading(size, lines)
    if len(lines) >= 6:
        lines = [*lines[:4], f"{lines[4][:-1]}…"]
    return _Heading(20, lines)


def _lines(text: str, width: float, size: int) -> list[str]:
    """Returns a text in lines of a width, by the mean width of a letter in Pillow's font."""
    return wrap(visible_name(text[:1000]), int(width / (0.52 * size)))
