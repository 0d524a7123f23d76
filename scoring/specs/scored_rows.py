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
    """A frame of rows with the columns `score` (NaN: unscored), `read` ("": nothing), `truth`, `picture`, `answer` and
    `options`, the number of options (0: unknown).

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
    def chance(self) -> Floats:
        """The expected score of a random guess among each row's options; NaN where there are none."""
        options = self.frame["options"].to_numpy(dtype=np.float64)
        return np.divide(1.0, options, out=np.full(len(self), np.nan), where=options > 0)

    def frequent(self, column: str) -> Floats:
        """The score of the most frequent right answer of each of a column's groups; NaN without a right answer."""
        is_known = (self.frame["truth"] != "").to_numpy(bool)
        codes = pd.factorize(self.frame["truth"])[0]
        score = np.full(len(self), np.nan)
        for mask in self.groups(column).values():
            places = np.flatnonzero(mask & is_known)
            if len(places):
                score[places] = codes[places] == np.bincount(codes[places]).argmax()
        return score

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
            codes, distinct = pd.factorize(self.cells[column].to_numpy())
            groups: dict[str, Mask] = {}
            for code, cell in enumerate(distinct):
                rows = codes == code
                for name in cell if isinstance(cell, tuple) else (cell,):
                    groups[name] = groups[name] | rows if name in groups else rows
            self._groups[column] = groups
        return self._groups[column]

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
    nothing = [""] * len(scores)
    frame = pd.DataFrame(
        {
            "score": np.array([np.nan if score is None else score for score in scores], float),
            "read": pd.Series(reads or nothing, dtype=object),
            "truth": pd.Series(truths or nothing, dtype=object),
            "picture": pd.Series(pictures or nothing, dtype=object),
            "answer": answers or range(len(scores)),
            "options": options or 0,
        }
    )
    columns = {name: pd.Series(list(column), dtype=object) for name, column in cells.items()}
    return ScoredRows(frame, pd.DataFrame(columns, index=frame.index), **how)
