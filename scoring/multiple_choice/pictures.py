"""Pictures of questions: which questions of a file are about the same one.

A cell holds a picture, of which readers keep a digest, its name, or the index of the row that has it, as public tools
write it where several rows share one.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arena.io.bounded_reader import DIGEST
from scoring.report import EMPTY_CELLS, NO_ANSWERS

_COLUMNS = (
    "image",
    "images",
    "img",
    "image_path",
    "image_id",
    "imageid",
    "image_name",
    "imagename",
    "image_file",
    "image_url",
)
"""Columns that tell pictures apart, in one spelling; of several, the first that does."""
_NO_PICTURE = frozenset((*EMPTY_CELLS, *NO_ANSWERS))
_PLACE = "<"
"""Start of what marks a picture's place, such as <image>."""


def picture_cell(
    columns: Mapping[str, str], cells: Mapping[str, Any], named: Iterable[str] = ()
) -> str:
    """What a row says of its picture; "" if nothing. `columns` are its columns by their names in one spelling.

    It is looked for in the `named` columns, then in those that toolkits have.
    """
    for name in (*named, *_COLUMNS):
        cell = cells[columns[name]] if name in columns else None
        text = str(cell).strip() if isinstance(cell, str | int) else ""
        if text and text not in _NO_PICTURE and not text.startswith(_PLACE):
            return text
    return ""


def pictures(cells: Sequence[str], ids: Sequence[str]) -> list[str]:
    """A short digest of each row's picture, by the rows' cells and ids; "" where it is not known.

    What is the same in all rows tells nothing.
    """
    by_id = dict(zip(ids, cells, strict=True))
    shared = {id: cell for id, cell in by_id.items() if cell.startswith(DIGEST)}
    meant = [shared.get(cell, cell) for cell in cells]
    if len({*meant} - {""}) < 2:
        return [""] * len(cells)
    return [hashlib.sha256(cell.encode()).hexdigest()[:16] if cell else "" for cell in meant]


def shared_pictures(known: Sequence[str]) -> str:
    """A sentence on questions that share a picture, given those of all questions that have one; "" if none do."""
    of = len({*known})
    if len(known) == of:
        return ""
    return f"{len(known):,} questions are about {of:,} pictures: intervals take those about one together"
