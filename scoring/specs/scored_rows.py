"""Scored rows: what a rule read of each answer, beside the cells that figures and groups name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from arena.ratings.votes import Floats
from scoring.intervals import UNIT, Ends

Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """A frame of rows with the columns `score` (NaN: unscored), `read` ("": nothing), `truth`, `picture` and `answer`.

    `ends` are the lowest and the highest score of a row, `mark_ends` those of a mark; `marks` is (rows, marks).
    """

    frame: pd.DataFrame
    cells: pd.DataFrame
    """The columns that figures and groups name; a cell is a text, or a tuple of texts, which puts its row in each of
    their groups."""
    ends: Ends = UNIT
    marks: Floats = field(default_factory=lambda: np.empty((0, 2)))
    mark_ends: Ends = UNIT
    unread_is_no: bool = False
    """Whether an answer that was not read counts as the negative one, as in VLMEvalKit's F1."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def score(self) -> Floats:
        return self.frame["score"].to_numpy(dtype=np.float64)

    @cached_property
    def everything(self) -> Mask:
        return np.ones(len(self), dtype=bool)

    @property
    def answers(self) -> Codes:
        """The number of each row's answer: rows of one answer differ in a cell that is split."""
        return self.frame["answer"].to_numpy(np.int64)

    @cached_property
    def is_read(self) -> Mask:
        """Whether an answer counts as read."""
        return self.everything if self.unread_is_no else (self.frame["read"] != "").to_numpy(bool)

    @cached_property
    def pictures(self) -> Sequence[str]:
        """Identity of each row's picture; "" if unknown."""
        return self.frame["picture"].tolist()

    @cached_property
    def picture_codes(self) -> Codes:
        codes = np.asarray(pd.factorize(self.frame["picture"])[0], dtype=np.int64)
        return np.where(self.frame["picture"] == "", -1, codes)

    def equals(self, column: str, text: str) -> Mask:
        """Where a column of the frame is this text, in any case."""
        return (self._folded[column] == text.casefold()).to_numpy(bool)

    @cached_property
    def _folded(self) -> Mapping[str, pd.Series]:
        return {name: self.frame[name].str.strip().str.casefold() for name in ("read", "truth")}

    @cached_property
    def _groups(self) -> dict[str, Mapping[str, Mask]]:
        return {}

    def groups(self, column: str) -> Mapping[str, Mask]:
        """The rows of each group of a column, in the order of the file."""
        if column not in self._groups:
            places: dict[str, list[int]] = {}
            for place, cell in enumerate(self.cells[column]):
                for name in cell if isinstance(cell, tuple) else (cell,):
                    places.setdefault(name, []).append(place)
            self._groups[column] = {name: self._mask(rows) for name, rows in places.items()}
        return self._groups[column]

    def in_any(self, column: str, names: Iterable[str]) -> Mask:
        """The rows in any of these groups of a column."""
        known = self.groups(column)
        mask = self._mask([])
        for name in names:
            mask = mask | known.get(name, self._mask([]))
        return mask

    def having(self, conditions: Mapping[str, str]) -> Mask:
        """The rows with these cells; a column that is not there has empty ones."""
        mask = self.everything
        for column, value in conditions.items():
            if column in self.cells:
                mask = mask & self.in_any(column, [value])
            elif value:
                mask = self._mask([])
        return mask

    def within(self, mask: Mask) -> "ScoredRows":
        """These rows alone."""
        marks = self.marks[mask] if len(self.marks) else self.marks
        return replace(self, frame=self.frame[mask], cells=self.cells[mask], marks=marks)

    @cached_property
    def _units(self) -> dict[tuple[str, ...], Codes]:
        return {}

    def units(self, columns: Sequence[str]) -> Codes:
        """The number of each row's unit: rows with equal cells in all of these columns."""
        key = tuple(columns)
        if key not in self._units:
            texts = [self.cells[column].map(str) for column in key]
            codes = pd.MultiIndex.from_arrays(texts).factorize()[0]
            self._units[key] = np.asarray(codes, dtype=np.int64)
        return self._units[key]

    def _mask(self, rows: Sequence[int]) -> Mask:
        mask = np.zeros(len(self), dtype=bool)
        mask[list(rows)] = True
        return mask


def scored_rows(
    scores: Sequence[float | None],
    reads: Sequence[str],
    truths: Sequence[str],
    pictures: Sequence[str],
    cells: Mapping[str, Sequence[Any]],
    answers: Sequence[int] | None = None,
    **how: Any,
) -> ScoredRows:
    """Rows from their columns, each of an answer of its own unless told; `how` are other fields of `ScoredRows`."""
    frame = pd.DataFrame(
        {
            "score": np.array([np.nan if score is None else score for score in scores], float),
            "read": pd.Series(reads, dtype=object),
            "truth": pd.Series(truths, dtype=object),
            "picture": pd.Series(pictures, dtype=object),
            "answer": range(len(scores)) if answers is None else answers,
        }
    )
    columns = {name: pd.Series(list(column), dtype=object) for name, column in cells.items()}
    return ScoredRows(frame, pd.DataFrame(columns, index=frame.index), **how)
