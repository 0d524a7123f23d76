"""Pictures of questions: the questions of a file about the same picture.

A cell holds a picture, kept as a digest, or its name, or the index of the row with the picture: public tools write the
index where several rows share one.
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
"""Columns that identify pictures, in one spelling; the first with a value counts."""
_NO_PICTURE = frozenset((*EMPTY_CELLS, *NO_ANSWERS))
_PLACEHOLDER_START = "<"
"""Begins a placeholder for a picture, such as <image>."""


def picture_cell(
    columns: Mapping[str, str], cells: Mapping[str, Any], own_columns: Iterable[str] = ()
) -> str:
    """A row's picture cell; "" if it has none. `columns` are its columns by their names in one spelling.

    The `own_columns` come first, then those that toolkits use.
    """
    for name in (*own_columns, *_COLUMNS):
        cell = cells[columns[name]] if name in columns else None
        if isinstance(cell, float) and cell.is_integer():
            cell = int(cell)  # pandas makes 3.0 of 3 in a column with empty cells
        text = str(cell).strip() if isinstance(cell, str | int) else ""
        if text and text not in _NO_PICTURE and not text.startswith(_PLACEHOLDER_START):
            return text
    return ""


def picture_digests(cells: Sequence[str], ids: Sequence[str]) -> list[str]:
    """A short digest of each row's picture, from the rows' cells and ids; "" where it is unknown.

    A cell that is the same in all rows that have one does not identify a picture.
    """
    cell_by_id = dict(zip(ids, cells, strict=True))
    digest_by_id = {id: cell for id, cell in cell_by_id.items() if cell.startswith(DIGEST)}
    resolved = [digest_by_id.get(cell, cell) for cell in cells]
    if len({*resolved} - {""}) < 2:
        return [""] * len(cells)
    return [hashlib.sha256(cell.encode()).hexdigest()[:16] if cell else "" for cell in resolved]


def shared_pictures_text(pictures: Sequence[str]) -> str:
    """A sentence on questions that share a picture, from every question's known picture; "" if none do."""
    different = len({*pictures})
    if len(pictures) == different:
        return ""
    return f"{len(pictures):,} questions are about {different:,} pictures: intervals take those about one together"
