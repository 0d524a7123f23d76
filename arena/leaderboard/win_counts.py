"""Win counts: one source's single or multi-image items, kept in memory and updated by changed rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.leaderboard.board import NOTHING, Counts
from arena.ratings.votes import Codes, Floats, integers


class WinCounts:
    """The win counts of a source's single or multi-image items: for each family, models x models by code."""

    def __init__(self) -> None:
        self.seen = 0
        """The number from which on changes may be unknown."""
        self.version = 0
        self._families: dict[int, int] = {}
        self._cells: npt.NDArray[np.int32] = np.zeros((2, 0, 0, 0), np.int32)
        """Wins, and the part of them on the left: 2 x families x models x models."""
        self._total: npt.NDArray[np.int64] = np.zeros((2, 0, 0), np.int64)

    @property
    def votes(self) -> int:
        return int(self._total[0].sum())

    def forget(self) -> None:
        """Reset, so that all rows are read again; the version goes on."""
        version = self.version
        self.__init__()
        self.version = version + 1

    def take(self, rows: Sequence[Any], seen: int) -> None:
        """Apply rows (family, winner, loser, n, n on the left) that may have changed: all changes before `seen`."""
        self.seen = seen
        if not rows:
            return
        table = integers(rows, 5)
        family = self._places(table[:, 0])
        winner = table[:, 1]
        loser = table[:, 2]
        self._grow(int(table[:, 1:3].max()) + 1)
        news = table[:, 3:5].T - self._cells[:, family, winner, loser]
        if news.any():
            self._cells[:, family, winner, loser] += news.astype(np.int32)
            for total, part in zip(self._total, news, strict=True):
                np.add.at(total, (winner, loser), part)
            self.version += 1

    def voted_families(self) -> dict[int, int]:
        """Return the number of votes of each family that ever had any, by its code."""
        return {code: int(self._cells[0, place].sum()) for code, place in self._families.items()}

    def counts(self, family: int | None) -> Counts:
        """Return the counts of all families or of one, of the models that played."""
        if family is None:
            wins, left = self._total
        elif family in self._families:
            wins, left = self._cells[:, self._families[family]]
        else:
            wins = NOTHING.wins
            left = NOTHING.left
        return played_counts(np.arange(len(wins)), wins, left)

    def _places(self, families: np.ndarray) -> np.ndarray:
        for code in families.tolist():
            self._families.setdefault(code, len(self._families))
        return np.array([self._families[code] for code in families.tolist()])

    def _grow(self, models: int) -> None:
        _, families, size, _ = self._cells.shape
        more = max(0, models - size)
        new = len(self._families) - families
        if more or new:
            self._cells = np.pad(self._cells, ((0, 0), (0, new), (0, more), (0, more)))
            self._total = np.pad(self._total, ((0, 0), (0, more), (0, more)))


def played_counts(
    codes: Codes, wins: np.ndarray, left: np.ndarray, ties: np.ndarray | None = None
) -> Counts:
    """Return counts (models x models, `codes` naming the models) without the models that did not play."""
    played = np.flatnonzero(wins.any(0) | wins.any(1))

    def of_played(matrix: np.ndarray) -> Floats:
        return matrix.take(played, 0).take(played, 1).astype(np.float64, copy=False)

    return Counts(
        codes=tuple(codes[played].tolist()),
        wins=of_played(wins),
        left=of_played(left),
        ties=of_played(np.zeros_like(wins) if ties is None else ties),
    )


def summed_counts(rows: Codes) -> Counts:
    """Return the counts of rows (winner, loser, 1 if they tied, n, n on the left), by code."""
    codes, place = np.unique(rows[:, :2], return_inverse=True)
    winner, loser = place.reshape(-1, 2).T
    wins, left, ties = np.zeros((3, len(codes), len(codes)))
    tied = rows[:, 2] > 0
    n = rows[:, 3]
    np.add.at(ties, (winner[tied], loser[tied]), n[tied])
    np.add.at(wins, (winner[~tied], loser[~tied]), n[~tied])
    np.add.at(left, (winner[~tied], loser[~tied]), rows[~tied, 4])
    ties += ties.T
    return played_counts(codes, wins + ties / 2, left, ties)


def less_counts(counts: Counts, less: Counts) -> Counts:
    """Subtract some of the votes, which may be older or newer by a few: no count goes below 0."""
    if not less.codes or not counts.codes:
        return counts
    codes = np.array(counts.codes)
    wins = counts.wins.copy()
    left = counts.left.copy()
    _, here, there = np.intersect1d(codes, less.codes, return_indices=True)
    grid = np.ix_(here, here)
    part = np.ix_(there, there)
    wins[grid] = np.maximum(wins[grid] - less.wins[part], 0)
    left[grid] = np.clip(left[grid] - less.left[part], 0, wins[grid])
    return played_counts(codes, wins, left)


def same_counts(one: Counts, other: Counts) -> bool:
    pairs = ((one.wins, other.wins), (one.left, other.left), (one.ties, other.ties))
    return one.codes == other.codes and all(np.array_equal(this, that) for this, that in pairs)


def added_counts(one: Counts, other: Counts) -> Counts:
    if not other.codes:
        return one
    codes = np.union1d(one.codes, other.codes).astype(np.int64)
    wins, left, ties = np.zeros((3, len(codes), len(codes)))
    for part in (one, other):
        places = np.searchsorted(codes, part.codes)
        grid = np.ix_(places, places)
        wins[grid] += part.wins
        left[grid] += part.left
        ties[grid] += part.ties
    return played_counts(codes, wins, left, ties)
