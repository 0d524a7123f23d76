"""CSV and TSV rows: the cells of each row exactly as written, all rows of equal width."""

import csv
import itertools
from collections.abc import Iterator, Sequence

from arena.io.empty_lines import EmptyLines
from arena.io.strict_json import FileLimits, RowsError

_DELIMITERS = ",;\t"
_LONG_CELL = "A cell is too long (is a quote never closed?). Close the quote or shorten the cell."
_PROBLEMS = {
    "unexpected end": "A cell of this row has no closing quote. Add it, or write a quote in the text as two.",
    "expected after": "A closing quote has no delimiter after it. Write each quote inside a quoted cell as two.",
    "new-line character": "The lines end in CR alone. Save the file again with LF or CRLF.",
    "field larger": _LONG_CELL,
}
"""By a part of the error of Python's `csv`: what is wrong, and how to fix it."""


class CsvReader:
    """Reads rows of CSV.

    A cell of several lines is refused as soon as it passes its limit, not at its closing quote.
    """

    def __init__(self, lines: Iterator[str], limits: FileLimits, suffix: str) -> None:
        first_lines = list(itertools.islice(lines, 2))
        self.delimiter = "\t" if suffix == ".tsv" else _delimiter(first_lines)
        self._longest_cell = limits.cell
        self._row = 1
        self._is_row_start = True
        """Whether the reader takes its next line as the first of a row."""
        # `csv` has one limit of a cell's length for the whole process. It only ever rises, so no other reader breaks.
        # It is that of a line, since a cell in a skipped column may be as long.
        csv.field_size_limit(max(csv.field_size_limit(), limits.line))
        checked_lines = self._check_lines(itertools.chain(first_lines, lines))
        self._reader = csv.reader(checked_lines, delimiter=self.delimiter, strict=True)

    @property
    def line_num(self) -> int:
        """The number of lines read so far."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._row = self._reader.line_num + 1
        self._is_row_start = True
        return next(self._reader)

    def _check_lines(self, lines: Iterator[str]) -> Iterator[str]:
        """Yields the lines. Raises RowsError for a line that makes an open cell too long.

        A cell is open at the end of a line if the reader takes a further line for the same row. All of that line
        belongs to the cell, unless a quote in it closes the cell and maybe opens another.
        """
        open_cell_length = 0
        for line in lines:
            has_quote = '"' in line.replace('""', "")  # two quotes are one in the text
            if self._is_row_start or has_quote:
                before_open_cell = line.rfind('"') + 1
                open_cell_length = len(line) - before_open_cell
            else:
                open_cell_length += len(line)
                if open_cell_length > self._longest_cell:
                    raise RowsError(_LONG_CELL, row=self._row)
            self._is_row_start = False
            yield line


def delimited_rows(reader: CsvReader) -> Iterator[tuple[int, list[str]]]:
    """Yields rows of equal width, each with the row on which it starts; empty lines are allowed at the end only.

    Raises RowsError.
    """
    width = 0
    empty_lines = EmptyLines()
    while True:
        row = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise RowsError(_problem(error), row=row) from error
        if cells is None:
            return
        if not cells:
            empty_lines.add(row)
            continue
        empty_lines.refuse_data()
        width = width or len(cells)
        if len(cells) != width:
            raise RowsError(_width_problem(len(cells), width, reader.delimiter), row=row)
        yield row, cells


def _delimiter(first_lines: Sequence[str]) -> str:
    """Returns the delimiter that header and first row have equally often outside of quotes.

    Without one, it is the comma if the header has any, else the delimiter that the header has most often.
    """
    # split at quotes, every other piece is outside of them
    outside = ["".join(line.split('"')[::2]) for line in first_lines]
    header = outside[0]
    if len(outside) > 1:
        shared = [
            sign
            for sign in _DELIMITERS
            if sign in header and header.count(sign) == outside[1].count(sign)
        ]
        if shared:
            return max(shared, key=header.count)
    if "," in header:
        return ","
    return max(_DELIMITERS, key=header.count)


def _width_problem(cells: int, width: int, delimiter: str) -> str:
    """Returns the problem of a row with another number of cells than the header."""
    expected = "1 cell" if width == 1 else f"{width} cells"
    problem = f"Expected {expected}, separated by {delimiter!r}, found {cells}."
    advice = "Write every cell, even an empty one."
    if cells > width:
        advice = f"Put text that contains {delimiter!r} in quotes."
    if width == 1:
        advice = f"If row 1 is a title, delete it. {advice}"
    return f"{problem} {advice}"


def _problem(error: csv.Error) -> str:
    for part, problem in _PROBLEMS.items():
        if part in str(error):
            return problem
    return f"This isn't CSV ({error}). Save it again."
