"""Scored rows: what a rule read of each answer, beside the cells that figures and groups name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.ratings.votes import Floats
from scoring.intervals import UNIT, Ends

Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]
Cell: TypeAlias = str | tuple[str, ...]
"""A text, or several, each of which puts the row in a group."""


class CellColumn(NamedTuple):
    """A column: each row's number of one of its distinct cells."""

    codes: Codes
    distinct: Sequence[Cell]
    """The distinct cells, in the order of the file."""
    has_lists: bool
    """Whether a cell has several texts."""

    def within(self, mask: Mask) -> "CellColumn":
        return self._replace(codes=self.codes[mask])

    def having(self, cells: Iterable[bool]) -> Mask:
        """The rows whose distinct cell has a property, which `cells` are for each."""
        return np.fromiter(cells, dtype=bool, count=len(self.distinct))[self.codes]


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with a score (NaN: unscored), what was read of an answer ("": nothing), and its question's columns.

    `ends` are the lowest and the highest score of a row, `mark_ends` those of a mark; `marks` is (rows, marks).
    """

    score: Floats
    read: CellColumn
    truth: CellColumn
    picture: CellColumn
    """The name of each row's picture; "" where it is unknown."""
    answers: Codes
    """The number of each row's answer: rows of one answer differ in a cell that is split."""
    options: Codes
    """The number of each row's options; 0 where it isn't known."""
    cells: Mapping[str, CellColumn]
    """The columns that figures and groups name."""
    ends: Ends = UNIT
    marks: Floats = field(default_factory=lambda: np.empty((0, 2)))
    mark_ends: Ends = UNIT
    unread_is_no: bool = False
    """Whether an answer that was not read counts as the negative one, as in VLMEvalKit's F1."""

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def chance(self) -> Floats:
        """The expected score of a random guess among each row's options; NaN where there are none."""
        return np.divide(1.0, self.options, out=np.full(len(self), np.nan), where=self.options > 0)

    def frequent(self, column: str) -> Floats:
        """The score of the most frequent right answer of each of a column's groups; NaN without a right answer."""
        if column in self._frequent:
            return self._frequent[column]
        is_known = self.truth.having(truth != "" for truth in self.truth.distinct)
        score = np.full(len(self), np.nan)
        for group in self.groups(column).values():
            places = np.flatnonzero(group & is_known)
            truths = self.truth.codes[places]
            if len(places):
                score[places] = truths == np.bincount(truths).argmax()
        self._frequent[column] = score
        return score

    @cached_property
    def _frequent(self) -> dict[str, Floats]:
        return {}

    @cached_property
    def everything(self) -> Mask:
        return np.ones(len(self), dtype=bool)

    @cached_property
    def places(self) -> Codes:
        """The number of each row."""
        return np.arange(len(self))

    @cached_property
    def is_read(self) -> Mask:
        """Whether an answer counts as read."""
        if self.unread_is_no:
            return self.everything
        return self.read.having(text != "" for text in self.read.distinct)

    @cached_property
    def pictures(self) -> Sequence[str]:
        """What tells each row's picture; "" where nothing does."""
        return [str(self.picture.distinct[code]) for code in self.picture.codes.tolist()]

    @cached_property
    def picture_codes(self) -> Codes:
        is_known = self.picture.having(text != "" for text in self.picture.distinct)
        return np.where(is_known, self.picture.codes, -1)

    def equals(self, column: CellColumn, text: str) -> Mask:
        """Returns the rows in which `read` or `truth` is this text, in any case."""
        folded = text.casefold()
        return column.having(str(cell).strip().casefold() == folded for cell in column.distinct)

    @cached_property
    def _groups(self) -> dict[str, Mapping[str, Mask]]:
        return {}

    def groups(self, column: str) -> Mapping[str, Mask]:
        """The rows of each group of a column, in the order of the file."""
        if column not in self._groups:
            codes = self.cells[column].codes
            groups: dict[str, Mask] = {}
            for code in map(int, np.unique(codes)):
                rows = codes == code
                cell = self.cells[column].distinct[code]
                for name in cell if isinstance(cell, tuple) else (cell,):
                    groups[name] = groups[name] | rows if name in groups else rows
            self._groups[column] = groups
        return self._groups[column]

    def members(self, column: str) -> tuple[Codes, Codes]:
        """The members of a column's groups: the number of a group, and that of a row, for each."""
        cells = self.cells[column]
        if not cells.has_lists:
            return cells.codes, self.places
        rows = [np.flatnonzero(group) for group in self.groups(column).values()]
        groups = np.repeat(np.arange(len(rows)), [len(group) for group in rows])
        return groups, np.concatenate([*rows, self.places[:0]])

    def in_any(self, column: str, names: Iterable[str]) -> Mask:
        """The rows in any of these groups of a column."""
        known = self.groups(column)
        mask = ~self.everything
        for name in names:
            mask = mask | known.get(name, False)
        return mask

    def having(self, conditions: Mapping[str, str]) -> Mask:
        """The rows with these cells; a column that is not there has empty ones."""
        mask = self.everything
        for column, value in conditions.items():
            if column in self.cells:
                mask = mask & self.in_any(column, [value])
            elif value:
                mask = ~self.everything
        return mask

    def fitting(self, where: Mapping[str, str], without: Mapping[str, str]) -> Mask:
        """The rows with some cells, but for those that have all of others."""
        return self.having(where) & ~self.having(without) if without else self.having(where)

    def within(self, mask: Mask) -> "ScoredRows":
        """These rows alone."""
        return replace(
            self,
            score=self.score[mask],
            read=self.read.within(mask),
            truth=self.truth.within(mask),
            picture=self.picture.within(mask),
            answers=self.answers[mask],
            options=self.options[mask],
            cells={name: column.within(mask) for name, column in self.cells.items()},
            marks=self.marks[mask] if len(self.marks) else self.marks,
        )

    @cached_property
    def _units(self) -> dict[tuple[str, ...], Codes]:
        return {}

    def units(self, columns: Sequence[str]) -> Codes:
        """The number of each row's unit: rows with equal cells in all of these columns."""
        key = tuple(columns)
        if key not in self._units:
            units = np.zeros(len(self), dtype=np.int64)
            for column in key:
                cells = self.cells[column]
                both = units * len(cells.distinct) + cells.codes
                units = np.unique(both, return_inverse=True)[1]
            self._units[key] = units
        return self._units[key]


def scored_rows(
    scores: Sequence[float | None],
    cells: Mapping[str, Sequence[Any]],
    reads: Sequence[str] = (),
    truths: Sequence[str] = (),
    pictures: Sequence[str] = (),
    answers: Sequence[int] = (),
    options: Sequence[int] = (),
    **how: Any,
) -> ScoredRows:
    """Rows from their columns; `how` are other fields of `ScoredRows`.

    Without a column nothing was read, and truths, pictures and options are unknown; each row has an answer of its own.
    """
    size = len(scores)
    nothing = [""] * size
    return ScoredRows(
        score=np.array([np.nan if score is None else score for score in scores], dtype=np.float64),
        read=_column(reads or nothing),
        truth=_column(truths or nothing),
        picture=_column(pictures or nothing),
        answers=np.array(answers or range(size), dtype=np.int64),
        options=np.array(options or [0] * size, dtype=np.int64),
        cells={name: _column(column) for name, column in cells.items()},
        **how,
    )


def _column(cells: Iterable[Cell]) -> CellColumn:
    numbers: dict[Cell, int] = {}
    codes = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    has_lists = any(isinstance(cell, tuple) for cell in numbers)
    return CellColumn(np.array(codes, dtype=np.int64), [*numbers], has_lists)
