"""Drawn pictures: several joined into one, boxes drawn on one, a black one. Equal pictures in, equal bytes out.

All functions take pictures from `images.read_picture`, which are upright RGB. Digits come from a bitmap font inside
Pillow, not from the machine's fonts, so the bytes depend on the version of Pillow alone (`DRAWN_BY`).
"""

import io
from collections.abc import Sequence
from math import ceil, sqrt

from PIL import Image, ImageDraw, ImageFont, __version__
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from arena.io.images import encode

DRAWN_BY = f"Pillow {__version__}"
MOST_IN_ROW = 4
"""More pictures are joined in a grid with as many columns as rows, or one more."""
GAP = 16
"""White pixels between joined pictures."""
LONGEST = 4096
"""Longest side of joined pictures, in pixels."""
_NUMBER_SHARE = 12
"""A picture's number is a twelfth as high as the picture."""
_LINE_SHARE = 0.003
"""Thickness of a box by the picture's longest side: 3 of 1,000 pixels."""


def joined(pictures: Sequence[bytes]) -> bytes:
    """Joins pictures into one, numbered from 1 in their upper left corners.

    Up to four stand in a row, more in a grid row by row. Each is scaled to the height of the highest, with 16 white
    pixels between them. A result longer than 4,096 pixels is made smaller as a whole.
    """
    images = [_decoded(data) for data in pictures]
    height = max(image.height for image in images)
    across = len(images) if len(images) <= MOST_IN_ROW else ceil(sqrt(len(images)))
    widths = [max(1, round(image.width * height / image.height)) for image in images]
    rows = [
        range(start, min(start + across, len(images))) for start in range(0, len(images), across)
    ]
    share = (LONGEST - GAP * (len(rows) - 1)) / (len(rows) * height)
    for row in rows:
        share = min(
            1.0, share, (LONGEST - GAP * (len(row) - 1)) / sum(widths[place] for place in row)
        )
    height = max(1, int(height * share))
    widths = [max(1, int(width * share)) for width in widths]
    across = max(sum(widths[place] + GAP for place in row) - GAP for row in rows)
    whole = Image.new("RGB", (across, len(rows) * (height + GAP) - GAP), "white")
    for down, row in enumerate(rows):
        left = 0
        for place in row:
            resized = images[place].resize((widths[place], height), Image.Resampling.LANCZOS)
            whole.paste(_numbered(resized, place + 1), (left, down * (height + GAP)))
            left += widths[place] + GAP
    return encode(whole, "PNG")


def with_boxes(picture: bytes, boxes: Sequence[tuple[float, float, float, float]]) -> bytes:
    """Draws red boxes on a picture; a box is left, top, right and bottom edge, as shares of its width and height."""
    image = _decoded(picture)
    pen = ImageDraw.Draw(image)
    thickness = max(1, round(_LINE_SHARE * max(image.size)))
    for left, top, right, bottom in boxes:
        edges = (left * image.width, top * image.height, right * image.width, bottom * image.height)
        pen.rectangle([round(edge) for edge in edges], outline="red", width=thickness)
    return encode(image, "PNG")


def black(picture: bytes) -> bytes:
    """Returns a black picture of the same size."""
    return encode(Image.new("RGB", _decoded(picture).size), "PNG")


def _numbered(image: Image.Image, number: int) -> Image.Image:
    font = ImageFont.load_default_imagefont()
    left, top, right, bottom = font.getbbox(str(number))
    label = Image.new("L", (round(right - left) + 4, round(bottom - top) + 4), 255)
    ImageDraw.Draw(label).text((2 - left, 2 - top), str(number), 0, font)
    times = max(1, image.height // (_NUMBER_SHARE * label.height))
    image.paste(
        label.resize((label.width * times, label.height * times), Image.Resampling.NEAREST).convert(
            "RGB"
        )
    )
    return image


def _decoded(data: bytes) -> Image.Image:
    reader = JpegImageFile if data.startswith(b"\xff\xd8") else PngImageFile
    return reader(io.BytesIO(data)).convert("RGB")
