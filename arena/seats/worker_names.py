"""Worker names: an operator's names for workers with plain links, in any script.

Platforms have ids of their own, which are no names. A name is signed, stored and matched in one form.
"""

import re
import unicodedata

from arena.io.csv_text import plain_cell

LONGEST = 64
"""The most characters of a name."""
_LONGEST_TYPED = 4 * LONGEST
"""The most characters of a name before NFC, which makes one character out of four at most."""
_BLANKS = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks, which `str.isprintable` accepts."""
ACCOUNT = "account "
ERASED = "forgotten "
"""ACCOUNT, ERASED: how `Seat.person` begins for a worker who logged in, and for one whose data were deleted."""


def tidy_name(text: str) -> str:
    """Returns a name in its one form: NFC, single blanks inside, none around."""
    name = _BLANKS.sub(" ", text).strip(" ")
    return unicodedata.normalize("NFC", name) if len(name) <= _LONGEST_TYPED else name


def is_name(text: str) -> bool:
    """Returns whether a text is a name in its one form, without invisible signs or a reserved beginning."""
    return (
        0 < len(text) <= LONGEST
        and text == tidy_name(text)
        and text.isprintable()
        and not UNSEEN.search(text)
        and not text.startswith((ACCOUNT, ERASED))
        and text == plain_cell(text)
    )


def listed_name(cell: str) -> str:
    """Returns the name in a cell or on a line of a list, which may come from a spreadsheet or a download from here."""
    return tidy_name(plain_cell(cell.strip()))


def is_erased(person: str) -> bool:
    """Returns whether the data of a seat's person were deleted."""
    return person.startswith(ERASED)
