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
_NUMBER_PART = 12
"""A picture's number is about a twelfth as high as the picture, but never smaller than the font."""
_MARGIN = 2
"""White pixels around a number, in pixels of the font."""
_LINE_SHARE = 0.003
"""Thickness of a box by the picture's longest side: 3 of 1,000 pixels."""


def join_pictures(pictures: Sequence[bytes]) -> bytes:
    """Joins pictures into one PNG, numbered from 1 in their upper left corners.

    Up to four stand in a row, more in a grid row by row. Each is scaled to the height of the highest, with 16 white
    pixels between them. A result longer than 4,096 pixels is made smaller as a whole.
    """
    images = [_decode(data) for data in pictures]
    columns = len(images) if len(images) <= MOST_IN_ROW else ceil(sqrt(len(images)))
    starts = range(0, len(images), columns)
    rows = [range(start, min(start + columns, len(images))) for start in starts]

    height = max(image.height for image in images)
    widths = [max(1, round(image.width * height / image.height)) for image in images]
    scale = _joined_scale(height, widths, rows)
    height = max(1, int(height * scale))
    widths = [max(1, int(width * scale)) for width in widths]

    row_widths = [sum(widths[index] + GAP for index in row) - GAP for row in rows]
    joined = Image.new("RGB", (max(row_widths), len(rows) * (height + GAP) - GAP), "white")
    for row_number, row in enumerate(rows):
        top = row_number * (height + GAP)
        left = 0
        for index in row:
            resized = images[index].resize((widths[index], height), Image.Resampling.LANCZOS)
            _draw_number(resized, index + 1)
            joined.paste(resized, (left, top))
            left += widths[index] + GAP
    return encode(joined, "PNG")


def _joined_scale(height: int, widths: Sequence[int], rows: Sequence[range]) -> float:
    """Returns the scale of pictures of this height and these widths at which no side is too long, at most 1."""
    scales = [1.0, (LONGEST - GAP * (len(rows) - 1)) / (len(rows) * height)]
    for row in rows:
        row_width = sum(widths[index] for index in row)
        scales.append((LONGEST - GAP * (len(row) - 1)) / row_width)
    return min(scales)


def draw_boxes(picture: bytes, boxes: Sequence[tuple[float, float, float, float]]) -> bytes:
    """Draws red boxes on a picture; a box is left, top, right and bottom edge, as shares of its width and height.

    Edges on the picture's border, and beyond it, are drawn along the border.
    """
    image = _decode(picture)
    pen = ImageDraw.Draw(image)
    thickness = max(1, round(_LINE_SHARE * max(image.size)))
    for left, top, right, bottom in boxes:
        upper_left = (_pixel(left, image.width), _pixel(top, image.height))
        lower_right = (_pixel(right, image.width), _pixel(bottom, image.height))
        pen.rectangle((upper_left, lower_right), outline="red", width=thickness)
    return encode(image, "PNG")


def _pixel(share: float, size: int) -> int:
    """Returns the pixel at a share of a side, within the picture."""
    return min(max(0, round(share * size)), size - 1)


def black_picture(picture: bytes) -> bytes:
    """Returns a black picture of the same size."""
    return encode(Image.new("RGB", _decode(picture).size), "PNG")


def _draw_number(image: Image.Image, number: int) -> None:
    """Draws a number in the upper left corner of an image."""
    font = ImageFont.load_default_imagefont()
    left, top, right, bottom = font.getbbox(str(number))
    label_size = (round(right - left) + 2 * _MARGIN, round(bottom - top) + 2 * _MARGIN)
    label = Image.new("L", label_size, 255)
    ImageDraw.Draw(label).text((_MARGIN - left, _MARGIN - top), str(number), 0, font)
    times = max(1, image.height // (_NUMBER_PART * label.height))
    size = (label.width * times, label.height * times)
    image.paste(label.resize(size, Image.Resampling.NEAREST).convert("RGB"))


def _decode(data: bytes) -> Image.Image:
    reader = JpegImageFile if data.startswith(b"\xff\xd8") else PngImageFile
    return reader(io.BytesIO(data)).convert("RGB")
