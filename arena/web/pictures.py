"""Pictures: how the page asks for an item's pictures at the width of its screen, and the route that answers."""

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from fastapi.responses import FileResponse, PlainTextResponse, Response

from arena.io.images import PictureStore
from arena.io.scaled_pictures import AT_ONCE, MOST_BYTES, ScaledPictures
from arena.types import Image
from arena.web.cookies import YEAR

BATTLE_BYTES = 120_000
"""Most bytes of a battle's pictures, before one is enlarged."""
SIZES = {True: "(max-width: 700px) 70vw, 36vw", False: "(max-width: 700px) 94vw, 36vw"}
"""About how wide a picture is shown, of several or alone."""
LONG = 2.5
"""Times as long as wide; `scene.js` has the same."""
LONG_FROM = 1000
"""Pixels of the longer side; shorter pictures are shown about as large as they are."""


class Shown(NamedTuple):
    """What the page needs of a picture; `original` is what is shown when it is enlarged."""

    src: str
    original: str
    description: str
    srcset: str = ""
    sizes: str = ""
    width: int | None = None
    height: int | None = None

    @property
    def is_long(self) -> bool:
        """Whether its details are too small to see before it is enlarged, as those of a screenshot of a whole page."""
        shorter, longer = sorted((self.width or 1, self.height or 1))
        return longer > LONG * shorter and longer > LONG_FROM


def shown_images(images: Sequence[Image], scaled: ScaledPictures) -> Sequence[Shown]:
    """Return an item's pictures, in widths whose files together stay below BATTLE_BYTES."""
    fitting = [width for width, most in MOST_BYTES.items() if most * len(images) <= BATTLE_BYTES]
    widths = fitting or [min(MOST_BYTES)]
    return [_shown(image, widths, len(images) > 1, scaled) for image in images]


def _shown(image: Image, widths: Sequence[int], multi: bool, scaled: ScaledPictures) -> Shown:
    description = f". {image.caption}" if image.caption else ""
    if image.sha256 is None:
        return Shown(image.url or "", image.url or "", description)
    size = scaled.size(image.sha256)
    below = [width for width in widths if size is None or width < size[0]]
    offered = [(width, width) for width in below]
    if size is not None and len(below) < len(widths):  # the next width holds all there is
        offered.append((widths[len(below)], size[0]))
    addresses = [(f"/pictures/{width}/{image.sha256}.webp", pixels) for width, pixels in offered]
    srcset = ", ".join(f"{address} {pixels}w" for address, pixels in addresses)
    original = f"/pictures/{image.sha256}.{image.suffix}"
    return Shown(
        addresses[-1][0], original, description, srcset, SIZES[multi], *(size or (None, None))
    )


def routes(
    store: PictureStore, scaled: ScaledPictures, hidden: Callable[[], Container[str]]
) -> APIRouter:
    """Return the routes for pictures, by their hash: as they are kept, and in the widths of screens.

    `hidden` gives the hashes of those that nobody may see.
    """
    # threads of its own: votes do not wait for pictures
    router = APIRouter()
    turns = CapacityLimiter(4 * AT_ONCE)
    forever = {"cache-control": f"public, max-age={YEAR}, immutable"}

    @router.get("/pictures/{name}")
    def picture(name: str) -> Response:
        path = store.path(name)
        if path is None or name.partition(".")[0] in hidden():
            return PlainTextResponse("There is no such picture.", status_code=404)
        return FileResponse(path, headers=forever)

    @router.get("/pictures/{width}/{name}.webp")
    async def scaled_picture(width: int, name: str) -> Response:
        path = await to_thread.run_sync(
            lambda: None if name in hidden() else scaled.path(name, width), limiter=turns
        )
        if path is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        return FileResponse(
            path, headers=forever if path.suffix == ".webp" else {"cache-control": "no-store"}
        )

    return router
