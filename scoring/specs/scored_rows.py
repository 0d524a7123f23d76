"""Scored rows: what a rule read of each answer, beside the cells that figures and groups name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.ratings.votes import Floats
from scoring.intervals import UNIT, Ends
from scoring.specs.reading import is_empty

Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]
Cell: TypeAlias = str | tuple[str, ...]
"""A text, or several, each of which puts the row in a group."""


class CellColumn(NamedTuple):
    """A column: its different cells, and each row's place among them."""

    codes: Codes
    """The place of each row's cell in `distinct`."""
    distinct: Sequence[Cell]
    """The different cells, in the order of the file."""
    has_lists: bool
    """Whether a cell has several texts."""

    def within(self, mask: Mask) -> "CellColumn":
        return self._replace(codes=self.codes[mask])

    def mask_of_cells(self, are_wanted: Iterable[bool]) -> Mask:
        """The rows whose cell is wanted; `are_wanted` has a value for each cell of `distinct`, in order."""
        return np.fromiter(are_wanted, dtype=bool, count=len(self.distinct))[self.codes]


class GroupMembers(NamedTuple):
    """The members of groups of rows: for each member the number of its group, and that of its row."""

    groups: Codes
    rows: Codes


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Answers by row, each with its score, what was read of it, and its question's cells."""

    score: Floats
    """NaN where an answer is unscored."""
    read: CellColumn
    """What was read of each answer; "" where nothing was."""
    truth: CellColumn
    picture: CellColumn
    """The name of each row's picture; "" where it is unknown."""
    answers: Codes
    """The number of each row's answer; rows made by splitting a cell of one answer share its number."""
    options: Codes
    """How many options each row's question has; 0 where that isn't known."""
    cells: Mapping[str, CellColumn]
    """The columns that figures and groups name."""
    ends: Ends = UNIT
    """The lowest and the highest score that a row can have."""
    marks: Floats = field(default_factory=lambda: np.empty((0, 2)))
    """A judge's marks, of shape (rows, marks); NaN where a mark is unknown. Without rows if the rule gives no marks."""
    mark_ends: Ends = UNIT
    """The lowest and the highest mark."""
    is_unread_no: bool = False
    """Whether an answer that was not read counts as the negative one, as in VLMEvalKit's F1."""

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def chance_scores(self) -> Floats:
        """The expected score of a random guess among each row's options; NaN where there are none."""
        return np.divide(1.0, self.options, out=np.full(len(self), np.nan), where=self.options > 0)

    def frequent_scores(self, column: str) -> Floats:
        """Each row's score for a guess: the most frequent right answer in its group of this column.

        NaN where a row's right answer is unknown. A row in several groups has the guess of the last one.
        """
        if column in self._frequent_scores:
            return self._frequent_scores[column]
        is_known = self.truth.mask_of_cells(truth != "" for truth in self.truth.distinct)
        score = np.full(len(self), np.nan)
        for group in self.groups(column).values():
            rows = np.flatnonzero(group & is_known)
            truths = self.truth.codes[rows]
            if len(rows):
                score[rows] = truths == np.bincount(truths).argmax()
        self._frequent_scores[column] = score
        return score

    @cached_property
    def _frequent_scores(self) -> dict[str, Floats]:
        """The scores so far by column: a cache that fills, as are `_groups` and `_unit_codes`."""
        return {}

    @cached_property
    def all_rows(self) -> Mask:
        return np.ones(len(self), dtype=bool)

    @cached_property
    def row_numbers(self) -> Codes:
        """The number of each row."""
        return np.arange(len(self))

    @cached_property
    def is_read(self) -> Mask:
        """Whether an answer counts as read."""
        if self.is_unread_no:
            return self.all_rows
        return self.read.mask_of_cells(text != "" for text in self.read.distinct)

    @cached_property
    def pictures(self) -> Sequence[str]:
        """The name of each row's picture; "" where it is unknown."""
        return [str(self.picture.distinct[code]) for code in self.picture.codes.tolist()]

    @cached_property
    def picture_codes(self) -> Codes:
        """The number of each row's picture; -1 where it is unknown."""
        is_known = self.picture.mask_of_cells(text != "" for text in self.picture.distinct)
        return np.where(is_known, self.picture.codes, -1)

    def mask_with_text(self, column: CellColumn, text: str) -> Mask:
        """Returns the rows in which `read` or `truth` is this text, in any case."""
        folded = text.casefold()
        return column.mask_of_cells(
            str(cell).strip().casefold() == folded for cell in column.distinct
        )

    def groups(self, column: str) -> Mapping[str, Mask]:
        """The rows of each group of a column by the group's name, in the order of the file."""
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

    @cached_property
    def _groups(self) -> dict[str, Mapping[str, Mask]]:
        return {}

    def group_members(self, column: str) -> GroupMembers:
        """The members of all of a column's groups; a row is a member of each group that its cell names."""
        cells = self.cells[column]
        if not cells.has_lists:
            return GroupMembers(cells.codes, self.row_numbers)
        rows = [np.flatnonzero(group) for group in self.groups(column).values()]
        groups = np.repeat(np.arange(len(rows)), [len(group) for group in rows])
        no_rows = self.row_numbers[:0]  # concatenate needs an array, also where there is no group
        return GroupMembers(groups, np.concatenate([*rows, no_rows]))

    def mask_of_groups(self, column: str, names: Iterable[str]) -> Mask:
        """The rows in any of these groups of a column."""
        groups = self.groups(column)
        mask = ~self.all_rows
        for name in names:
            mask = mask | groups.get(name, False)
        return mask

    def mask_with_cells(self, conditions: Mapping[str, str]) -> Mask:
        """The rows with these cells; a column that is not there has empty ones."""
        mask = self.all_rows
        for column, value in conditions.items():
            if column not in self.cells:
                mask = ~self.all_rows if value else mask
            elif value:
                mask = mask & self.mask_of_groups(column, [value])
            else:
                mask = mask & self.mask_of_empty_cells(column)
        return mask

    def mask_of_empty_cells(self, column: str) -> Mask:
        """The rows whose cell is empty, or has empty members alone."""
        cells = self.cells[column]
        members = [cell if isinstance(cell, tuple) else (cell,) for cell in cells.distinct]
        return cells.mask_of_cells(all(map(is_empty, texts)) for texts in members)

    def mask_of_conditions(self, where: Mapping[str, str], without: Mapping[str, str]) -> Mask:
        """The rows with all cells of `where`, but for those with all cells of `without` if it has any."""
        mask = self.mask_with_cells(where)
        return mask & ~self.mask_with_cells(without) if without else mask

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

    def unit_codes(self, columns: Sequence[str]) -> Codes:
        """The number of each row's unit: rows with equal cells in all of these columns are one unit."""
        key = tuple(columns)
        if key not in self._unit_codes:
            unit_codes = np.zeros(len(self), dtype=np.int64)
            for column in key:
                cells = self.cells[column]
                pair_codes = unit_codes * len(cells.distinct) + cells.codes
                # numbered anew, so that the next product stays small
                unit_codes = np.unique(pair_codes, return_inverse=True)[1]
            self._unit_codes[key] = unit_codes
        return self._unit_codes[key]

    @cached_property
    def _unit_codes(self) -> dict[tuple[str, ...], Codes]:
        return {}


def scored_rows(
    scores: Sequence[float | None],
    cells: Mapping[str, Sequence[Any]],
    reads: Sequence[str] = (),
    truths: Sequence[str] = (),
    pictures: Sequence[str] = (),
    answers: Sequence[int] = (),
    options: Sequence[int] = (),
    **fields: Any,
) -> ScoredRows:
    """Rows from their columns; `fields` are other fields of `ScoredRows`.

    By default, answers are unread, their truths, pictures and options unknown, and each row is an answer of its own.
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
        **fields,
    )


def _column(cells: Iterable[Cell]) -> CellColumn:
    code_by_cell: dict[Cell, int] = {}
    codes = [code_by_cell.setdefault(cell, len(code_by_cell)) for cell in cells]
    has_lists = any(isinstance(cell, tuple) for cell in code_by_cell)
    return CellColumn(np.array(codes, dtype=np.int64), [*code_by_cell], has_lists)
