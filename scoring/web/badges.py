"""Badges: a name beside a value, 20 pixels high, as an SVG file that needs no font and no script of its own."""

from typing import NamedTuple
from unicodedata import east_asian_width

from arena.drawings import shortened
from arena.templates import macros

PUBLISHED = macros("published.html")
MOST_LETTERS = 40
"""Most letters of a badge's name and value together."""
MOST_BYTES = 499
"""Most bytes of a badge's file. Texts are cut to it, so no name or title of a stranger makes a large file."""
_VALUE_LETTERS = 24
"""Most letters of a badge's value."""
_PADDING = 6
"""Pixels on each side of a text."""
_NARROW = frozenset("fijlrtI.,:;|!'()[] ")
_BROAD = frozenset("mwMW%@")


class Badge(NamedTuple):
    """The texts of a badge."""

    name: str
    value: str
    title: str = ""
    """Its full text, shown under the pointer."""
    tone: str = "#4f46e5"
    """Colour behind the value."""


WARNING_TONE = "#b5482f"
"""The tone of a badge whose value has a caveat."""
WITHDRAWN = Badge("report", "withdrawn", tone="#6b7280")
"""The badge of a report that isn't public or never existed."""


def badge_svg(badge: Badge) -> bytes:
    """Returns the file, in fewer than 500 bytes: long titles are cut."""
    value = shortened(badge.value, _VALUE_LETTERS)
    letters = MOST_LETTERS
    content = _draw(badge, value, letters)
    while len(content) > MOST_BYTES:
        letters -= 1
        content = _draw(badge, value, letters)
    return content


def _draw(badge: Badge, value: str, letters: int) -> bytes:
    """Draws a badge; `letters` is the most for name and value together, and for the title."""
    name = shortened(badge.name, max(letters - len(value), 1))
    title = shortened(badge.title, letters)
    drawn = PUBLISHED.badge(name, value, title, badge.tone, _width(name), _width(value))
    return drawn.strip().encode()


def _width(text: str) -> int:
    """Returns the width in pixels of a text with its padding, in letters of 11 pixels.

    The reader's font is unknown, so this is an estimate, and the SVG stretches the text to it.
    """
    return 2 * _PADDING + round(sum(map(_letter_width, text)))


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 4.2
    if letter in _BROAD:
        return 10.0
    return 11.0 if east_asian_width(letter) in ("W", "F") else 6.9
