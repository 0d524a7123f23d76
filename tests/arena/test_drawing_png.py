"""Texts of PNG drawings: what Pillow's font lacks is spelled with what it has."""

import pytest

from arena import drawing_png
from arena.drawing_png import is_drawable, png
from arena.drawings import BoxMark, Drawing, TextMark


def drawn(text: str) -> bytes:
    return png(Drawing("", "", 300, 40, (TextMark(4, 20, text),)))


@pytest.mark.parametrize(
    "text, spelling",
    [
        ("Naïve cafe\u0301", "Naive cafe"),
        ("rank 1\u20133, \u22122.5 points", "rank 1-3, -2.5 points"),
        ("\u03bc-VLM or \u00b5-VLM", "u-VLM or u-VLM"),
        ("Straße in Łódź", "Strasse in Lodz"),
        ("5 € or £4?", "5 EUR or GBP4?"),
    ],
)
def test_what_the_font_lacks_is_not_drawn_as_a_box(text, spelling):
    assert drawn(text) == drawn(spelling)
    assert is_drawable(text)


def test_the_font_has_the_signs_that_are_drawn_as_they_are():
    font = drawing_png._font(13)
    box = bytes(font.getmask("\u0378"))
    assert drawing_png._SIGNS
    assert not [sign for sign in drawing_png._SIGNS if bytes(font.getmask(sign)) == box]
    assert drawing_png.drawn_text("a \u2260 b") == "a \u2260 b"


@pytest.mark.parametrize("width", [0, 0.3, -2])
def test_a_box_under_a_pixel_is_not_drawn(width):
    box = BoxMark(5, 5, width, 14, "text", 1, "0.0")
    assert png(Drawing("title", "words", 60, 40, (box,))) == png(
        Drawing("title", "words", 60, 40, ())
    )
