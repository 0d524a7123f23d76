"""Columns of multiple-choice files: their names in one spelling, and the options in the columns A, B, ..."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence

from arena.io.tables import Record, RowsError
from scoring.multiple_choice.option_texts import LIST_COLUMNS, listed_options
from scoring.multiple_choice.types import LETTERS, USUAL_LETTERS
from scoring.report import EMPTY_CELLS

_LONGEST_NAME = 100
"""Characters of a column's name that is read; a longer one is kept as it is."""
_GAPS = re.compile(r"[\s-]+")


def plain_name(column: str) -> str:
    """A column's name in one spelling; the options' single capitals stay distinct, and long names stay as they are."""
    if len(column) > _LONGEST_NAME:
        return column
    bare = column.strip()
    if len(bare) == 1 and bare in LETTERS:
        return bare
    return _GAPS.sub("_", bare.lower())


def unambiguous_columns(record: Record, answer_names: Sequence[str]) -> dict[str, str]:
    """A record's columns by their names in one spelling.

    Raises RowsError if two columns have the same name, or if several have the model's answers (`answer_names`).
    """
    columns: dict[str, str] = {}
    for column in record.values:
        same_named = columns.setdefault(plain_name(column), column)
        if same_named is not column:
            raise _ambiguity_error(f"named {plain_name(column)}", (same_named, column), record)
    answer_columns = [columns[name] for name in answer_names if name in columns]
    if len(answer_columns) > 1:
        raise _ambiguity_error("with the model's answers", answer_columns, record)
    return columns


def has_options(record: Record) -> bool:
    """Whether a row has options: in columns A, B, ..., in one list, or in its text, as circular files may."""
    columns = columns_by_plain_name(record.values)
    if len(option_columns(columns)) > 1:
        return True
    cells = [record.values[columns[name]] for name in LIST_COLUMNS if name in columns]
    return "g_index" in columns or any(listed_options(cell) is not None for cell in cells)


def columns_by_plain_name(columns: Iterable[str]) -> dict[str, str]:
    """Columns by their names in one spelling; of two with one name, the first."""
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(plain_name(column), column)
    return by_name


def option_columns(columns: Container[str]) -> list[str]:
    """The columns A to I that are there, and after a complete A to I those that follow without a gap.

    A lone X is no option.
    """
    letters = [letter for letter in USUAL_LETTERS if letter in columns]
    if len(letters) == len(USUAL_LETTERS):
        for letter in LETTERS[len(USUAL_LETTERS) :]:
            if letter not in columns:
                break
            letters.append(letter)
    return letters


def lettered_options(cells: Mapping[str, str], answer: str) -> dict[str, str]:
    """The cells with an option, by letter. `EMPTY_CELLS` words at the end are cells without an option.

    `answer` is the row's right answer: if it is the letter of such a word, the word is an option.
    """
    options = {letter: text for letter, text in cells.items() if text.strip()}
    has_two_cells = len(options) == 2
    while len(options) > 1:
        last = next(reversed(options))
        if last == answer or options[last] not in EMPTY_CELLS:
            break
        if has_two_cells:  # Of two filled cells, the second is an option even with such a word.
            break
        del options[last]
    return options


def _ambiguity_error(role: str, columns: Iterable[str], record: Record) -> RowsError:
    names = " and ".join(map(repr, columns))
    return RowsError(f"Several columns {role}: {names}. Delete or rename one.", row=record.row)
