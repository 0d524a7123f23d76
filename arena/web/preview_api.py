"""Preview API: the pictures beside shared links, 1200 x 630 pixels, drawn from what the heads of their pages say."""

from pathlib import Path
from textwrap import wrap
from urllib.parse import quote, unquote

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from arena.drawing_png import Photo, is_drawable, png
from arena.drawings import Drawing, Mark, TextMark
from arena.io.scaled_pictures import ScaledPictures
from arena.kept import Kept
from arena.leaderboard.board import Board
from arena.leaderboard.chart import chart_png
from arena.locale import ENGLISH, speaking, t
from arena.markdown import visible_name
from arena.web.addresses import NAME, RESULTS, VOTE, Address, described
from arena.web.heads import Head, Heads

_WIDTH = 600
_HEIGHT = 315
_LEFT = 36
_PICTURE = 240
"""Side of the square that an item's picture fits, in units of a drawing."""
_TITLE = "Which one helped more?"
"""Stands for a title that the font has no letters for."""
_PATIENCE_SECONDS = 1.5
"""How long a board's picture waits for its ranks."""
_NO_STORE = {"cache-control": "no-store"}
"""A preview ends with its page: when an item is hidden, a visitor forgotten."""


class Previews:
    """Pictures by the path of their address; the board that was drawn last is kept for as long as it stays the same."""

    def __init__(self, heads: Heads, scaled: ScaledPictures) -> None:
        self._heads = heads
        self._scaled = scaled
        self._kept: tuple[Board, bytes] | None = None

    def picture(self, path: str) -> bytes | None:
        """Return a picture, None if there is none at this path. Raises DatabaseError."""
        with speaking(ENGLISH):  # the only language that the font has letters for
            return self._picture(path)

    def _picture(self, path: str) -> bytes | None:
        name = path.removesuffix(".png")
        address = Address(VOTE) if name == "vote" else described(quote(name))
        head = self._heads.of(address) if address else None
        if address is None or head is None or unquote(head.preview) != name:
            return None
        if address.page == RESULTS and address.kind in ("page", "board"):
            return self._board(address.name)
        title = visible_name(head.title).removesuffix(f" · {NAME}")
        if address == Address(VOTE):
            title = title.removeprefix(f"{NAME}: ").capitalize()
        return card(title, head.description, self._file(head))

    def _board(self, source: str) -> bytes | None:
        board, source = self._heads.board(source, _PATIENCE_SECONDS)
        if board is None:
            return None
        if self._kept is None or self._kept[0] is not board:
            self._kept = (board, chart_png(board, source))
        return self._kept[1]

    def _file(self, head: Head) -> Path | None:
        """Return the file of a head's picture, about as wide as it is drawn."""
        file = self._scaled.path(head.picture, 640) if head.picture else None
        return file if file and file.suffix == ".webp" else None


def routes(heads: Heads, scaled: ScaledPictures) -> APIRouter:
    """Return the route of all previews; only votes that are final stand in one."""
    router = APIRouter()
    turns = CapacityLimiter(2)
    previews = Previews(heads, scaled)

    @router.get("/preview/{path:path}")
    async def preview(path: str) -> Response:
        found = await to_thread.run_sync(previews.picture, path, limiter=turns)
        if found is None:
            return PlainTextResponse(
                "There is no such picture.", status_code=404, headers=_NO_STORE
            )
        return Response(found, media_type="image/png", headers=_NO_STORE)

    return router


_kept: Kept[bytes] = Kept(8_000_000, weigh=len)


def card(title: str, text: str, picture: Path | None) -> bytes:
    """Return a picture of a title above a text, left of the picture that they are about."""
    return _kept.of((title, text, picture), lambda: _card(title, text, picture))


def _card(title: str, text: str, picture: Path | None) -> bytes:
    width = _WIDTH - 2 * _LEFT - (_PICTURE + _LEFT if picture else 0)
    title, text = (
        shown if is_drawable(shown) else other
        for shown, other in ((title, _TITLE), (text, t("heads.vote")))
    )
    sizes = {size: _lines(title, width, size) for size in (20, 24, 30)}
    size = max((size for size, lines in sizes.items() if len(lines) < 4), default=20)
    heading = sizes[size]
    heading = heading if len(heading) < 6 else [*heading[:4], f"{heading[4][:-1]}…"]
    marks: list[Mark] = [TextMark(_LEFT, 48, NAME, tone="accent", size=16)]
    marks += [
        TextMark(_LEFT, 96 + 1.25 * size * place, line, size=size)
        for place, line in enumerate(heading)
    ]
    top = 104 + 1.25 * size * len(heading)
    words = _lines(text, width, 16)
    room = int((_HEIGHT - 30 - top) // 22) + 1
    words = (
        words if len(words) <= room else [*words[: room - 1], f"{words[room - 1].rstrip('.,')}…"]
    )
    marks += [
        TextMark(_LEFT, top + 22 * place, line, tone="quiet", size=16)
        for place, line in enumerate(words)
    ]
    photo = picture and Photo(
        picture, _WIDTH - _LEFT - _PICTURE, (_HEIGHT - _PICTURE) / 2, _PICTURE
    )
    return png(Drawing(title, text, _WIDTH, _HEIGHT, tuple(marks)), 0, photo)


def _lines(text: str, width: float, size: int) -> list[str]:
    """Return a text in lines of a width, as wide as the letters of Pillow's font are on average."""
    return wrap(visible_name(text[:1000]), int(width / (0.52 * size)))
