"""Pictures: the addresses of an item's pictures for screens of several widths, and their routes."""

from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import NamedTuple

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from fastapi.responses import FileResponse, PlainTextResponse, Response

from arena.io.images import PictureStore
from arena.io.scaled_pictures import AT_ONCE, MOST_BYTES, ScaledPictures
from arena.types import Image
from arena.web.cookies import YEAR_SECONDS

BATTLE_BYTES = 120_000
"""Most bytes of a battle's pictures before one is enlarged."""
SINGLE_SIZES = "(max-width: 700px) 94vw, 36vw"
SEVERAL_SIZES = "(max-width: 700px) 70vw, 36vw"
"""SINGLE_SIZES, SEVERAL_SIZES: the width on the page of one picture, and of each of several, for `sizes` of `<img>`."""
LONG_RATIO = 2.5
"""The ratio of length to width from which a picture is long; `scene.js` has the same."""
LONG_FROM_PIXELS = 1000
"""The pixels of the longer side from which a picture may be long. Smaller pictures are shown at about full size."""


class ShownPicture(NamedTuple):
    """A picture on the page."""

    src: str
    original: str
    """The address of the enlarged picture."""
    description: str
    """The caption, to follow other words: a full stop comes first. Empty without a caption."""
    srcset: str = ""
    sizes: str = ""
    """The width on the page; with `srcset`, the browser chooses a file by it."""
    width: int | None = None
    height: int | None = None
    """`width`, `height`: of the picture itself, in pixels; None if unknown."""

    @property
    def is_long(self) -> bool:
        """Whether details are too small before it is enlarged, as in a screenshot of a whole page."""
        shorter, longer = sorted((self.width or 1, self.height or 1))
        return longer > LONG_RATIO * shorter and longer > LONG_FROM_PIXELS


def shown_images(images: Sequence[Image], scaled: ScaledPictures) -> Sequence[ShownPicture]:
    """Returns an item's pictures, in the widths at which all of them together have at most BATTLE_BYTES.

    If they have more in every width, it is the smallest.
    """
    fitting = [width for width, most in MOST_BYTES.items() if most * len(images) <= BATTLE_BYTES]
    widths = fitting or [min(MOST_BYTES)]
    has_several = len(images) > 1
    return [_shown_picture(image, widths, has_several, scaled) for image in images]


def _shown_picture(
    image: Image, widths: Sequence[int], is_one_of_several: bool, scaled: ScaledPictures
) -> ShownPicture:
    description = f". {image.caption}" if image.caption else ""
    if image.sha256 is None:
        return ShownPicture(image.url or "", image.url or "", description)
    full_width, full_height = scaled.size(image.sha256) or (None, None)
    pixels: dict[int, int] = {}
    """The width of each file in pixels, by the width in its address, from the smallest."""
    for width in sorted(widths):
        if full_width is not None and full_width <= width:
            # Files are never enlarged: this one is as wide as the picture, and wider ones would be equal to it.
            pixels[width] = full_width
            break
        pixels[width] = width
    addresses = {width: f"/pictures/{width}/{image.sha256}.webp" for width in pixels}
    return ShownPicture(
        src=addresses[max(addresses)],
        original=f"/pictures/{image.sha256}.{image.suffix}",
        description=description,
        srcset=", ".join(f"{addresses[width]} {pixels[width]}w" for width in pixels),
        sizes=SEVERAL_SIZES if is_one_of_several else SINGLE_SIZES,
        width=full_width,
        height=full_height,
    )


def routes(
    store: PictureStore, scaled: ScaledPictures, hidden: Callable[[], Container[str]]
) -> APIRouter:
    """Returns the routes of pictures by their hash: as they are stored, and in the widths of screens.

    `hidden` gives the hashes of pictures that are hidden from everybody.
    """
    router = APIRouter()
    # Scaling has threads of its own, so that votes don't wait for it. AT_ONCE of them scale; the others find files that
    # are made already, or wait for their turn.
    scaling_threads = CapacityLimiter(4 * AT_ONCE)
    forever = {"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"}

    @router.get("/pictures/{name}")
    def picture(name: str) -> Response:
        path = store.path(name)
        if path is None or name.partition(".")[0] in hidden():
            return PlainTextResponse("There is no such picture.", status_code=404)
        return FileResponse(path, headers=forever)

    @router.get("/pictures/{width}/{name}.webp")
    async def scaled_picture(width: int, name: str) -> Response:
        def find() -> Path | None:
            return None if name in hidden() else scaled.path(name, width)

        path = await to_thread.run_sync(find, limiter=scaling_threads)
        if path is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        # The original is sent if the scaled file can't be made now.
        is_scaled = path.suffix == ".webp"
        headers = forever if is_scaled else {"cache-control": "no-store"}
        return FileResponse(path, headers=headers)

    return router
