"""Worker names: what an operator may call a worker who gets a plain link, in any script.

Platforms have ids of their own, which are no names. A name is signed, stored and matched in one form.
"""

import re
import unicodedata

from arena.io.csv_text import plain_cell

LONGEST = 64
_LONGEST_TYPED = 4 * LONGEST
"""No letter comes apart into more than four signs: a longer text is no name, in whatever form."""
_BLANKS = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing; `str.isprintable` takes them."""
ACCOUNT = "account "
ERASED = "forgotten "
"""How seats call people who logged in, and people whose data were deleted."""


def tidy_name(text: str) -> str:
    """A name in its one form, whatever keyboard or file it comes from: NFC, single blanks inside, none around."""
    name = _BLANKS.sub(" ", text).strip(" ")
    return unicodedata.normalize("NFC", name) if len(name) <= _LONGEST_TYPED else name


def is_name(text: str) -> bool:
    """Whether a text is a name in its one form: nothing in it is unseen, and nobody else is called so."""
    return (
        0 < len(text) <= LONGEST
        and text == tidy_name(text)
        and text.isprintable()
        and not _UNSEEN.search(text)
        and not text.startswith((ACCOUNT, ERASED))
        and text == plain_cell(text)
    )


def listed_name(cell: str) -> str:
    """The name in a cell or on a line of a list, which may come from a spreadsheet or be a download from here."""
    return tidy_name(plain_cell(cell.strip()))


def is_erased(person: str) -> bool:
    """Whether a seat's person is somebody whose data were deleted."""
    return person.startswith(ERASED)
