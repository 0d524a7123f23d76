"""Drawn pictures: equal bytes from equal pictures, bounded sides, boxes where they belong."""

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from arena.io.drawn_pictures import DRAWN_BY, GAP, LONGEST, black_picture, draw_boxes, join_pictures
from arena.io.images import picture_size, read_picture

ROOT = Path(__file__).parents[3]


def picture(width: int, height: int, turned: bool = False, kind: str = "JPEG") -> bytes:
    """Return a picture with a slope of greys, of which `turned` says that it is held sideways."""
    stream, exif = io.BytesIO(), Image.Exif()
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    ImageDraw.Draw(image).ellipse((0, 0, width // 2, height // 2), "teal")
    if turned:
        exif[0x0112] = 6
    image.save(stream, kind if turned else "PNG", exif=exif)
    return stream.getvalue()


def kept(width: int, height: int) -> bytes:
    return read_picture(picture(width, height)).data


def pixels(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def colours(image: Image.Image) -> set[object]:
    return {colour for _, colour in image.getcolors() or ()}


SIZES = [(60, 40), (30, 90), (200, 200), (64, 48), (50, 50), (31, 17)]


def test_joined_pictures_are_the_same_bytes_in_every_process():
    program = (
        "import hashlib; from tests.arena.io.test_drawn_pictures import *;"
        "print(hashlib.sha256(join_pictures([kept(*size) for size in SIZES])).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (
        done.stdout.strip()
        == hashlib.sha256(join_pictures([kept(*size) for size in SIZES])).hexdigest()
    )


def test_the_pixels_of_joined_pictures_are_those_of_every_machine():
    """The hash was made with Pillow 12.3.0; another version may resample otherwise, and a run says which it had."""
    found = hashlib.sha256(
        pixels(join_pictures([kept(*size) for size in SIZES])).tobytes()
    ).hexdigest()
    assert (
        found == "2838aab816e2abbf1f6811981127acf8d7c1d7fa52f2ad62452644352c63c023"
        or DRAWN_BY != "Pillow 12.3.0"
    )


def test_up_to_four_stand_in_a_row_of_one_height_and_more_in_a_grid():
    row = pixels(join_pictures([kept(*size) for size in SIZES[:3]]))
    assert row.size == (300 + 67 + 200 + 2 * GAP, 200)
    assert row.getpixel((300 + GAP // 2, 100)) == (255, 255, 255) and row.getpixel((150, 199)) != (
        255,
        255,
        255,
    )
    assert pixels(join_pictures([kept(*size) for size in SIZES])).height == 2 * 200 + GAP
    assert pixels(join_pictures([kept(40, 40)] * 5)).size == (3 * 40 + 2 * GAP, 2 * 40 + GAP)


def test_each_joined_picture_has_its_number_in_the_corner():
    one, two = (
        pixels(join_pictures([black_picture(kept(400, 400))] * times)).crop((0, 0, 60, 60))
        for times in (1, 2)
    )
    second = pixels(join_pictures([black_picture(kept(400, 400))] * 2)).crop(
        (400 + GAP, 0, 460 + GAP, 60)
    )
    assert one.tobytes() == two.tobytes() != second.tobytes()
    assert colours(two) == colours(second) == {(0, 0, 0), (255, 255, 255)}


@pytest.mark.parametrize(
    "sizes", [[(1600, 40)] * 9, [(1600, 800)] * 3, [(10, 1600), (1600, 10)], [(9, 1600)] * 30]
)
def test_no_side_of_joined_pictures_is_above_4096_pixels(sizes):
    assert max(picture_size(join_pictures([kept(*size) for size in sizes]))) <= LONGEST


def test_boxes_are_red_and_three_of_1000_pixels_thick():
    image = pixels(draw_boxes(black_picture(kept(1000, 500)), [(0.1, 0.2, 0.5, 0.9)]))
    red = [x for x in range(1000) if image.getpixel((x, 250)) == (255, 0, 0)]
    assert red == [100, 101, 102, 498, 499, 500]
    assert [y for y in range(500) if image.getpixel((300, y)) == (255, 0, 0)] == [
        100,
        101,
        102,
        448,
        449,
        450,
    ]


def test_a_box_is_closed_at_the_edges_of_the_picture():
    image = pixels(draw_boxes(black_picture(kept(100, 80)), [(0, 0, 1, 1), (-0.5, 0.5, 1.5, 0.9)]))
    corners = [(0, 0), (99, 0), (0, 79), (99, 79), (99, 30), (30, 79)]
    assert {image.getpixel(corner) for corner in corners} == {(255, 0, 0)}
    assert image.getpixel((50, 60)) == (0, 0, 0)


def test_a_black_picture_has_the_size_of_its_picture():
    image = pixels(black_picture(kept(33, 44)))
    assert image.size == (33, 44) and colours(image) == {(0, 0, 0)}


def test_the_size_is_that_of_a_picture_held_upright():
    assert picture_size(picture(60, 40)) == (60, 40)
    for kind in ("JPEG", "PNG", "WEBP"):
        assert picture_size(picture(60, 40, turned=True, kind=kind)) == (40, 60)
    with pytest.raises(ValueError, match="broken|no picture"):
        picture_size(b"\x89PNG\r\n\x1a\nnothing")
