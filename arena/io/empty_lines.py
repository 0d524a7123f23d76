"""Empty lines of a file with one record a line: they are allowed at its end only."""

from arena.io.strict_json import RowsError

MOST_EMPTY = 10_000
"""Most empty lines at the end of a file."""


class EmptyLines:
    """The empty lines met so far."""

    def __init__(self) -> None:
        self._first_row: int | None = None

    def add(self, row: int) -> None:
        """Notes an empty line. Raises RowsError if there are too many."""
        if self._first_row is None:
            self._first_row = row
        if row - self._first_row >= MOST_EMPTY:
            problem = f"There are over {MOST_EMPTY:,} empty lines. Delete them."
            raise RowsError(problem, row=self._first_row)

    def refuse_data(self) -> None:
        """Raises RowsError if there was an empty line, since there are data below it."""
        if self._first_row is not None:
            problem = "This line is empty, with data below it. Delete it."
            raise RowsError(problem, row=self._first_row)
