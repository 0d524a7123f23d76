"""Votes: columns of integer codes, and Elo over them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import chain, count
from math import exp, log
from typing import NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Name = TypeVar("Name", str, int)


class Outcome(IntEnum):
    """Outcome of a battle, as stored in a column."""

    A = 0
    B = 1
    TIE = 2
    BOTH_BAD = 3


VOTES_A_BLOCK = 2**15
"""Votes counted at once, so that intermediate arrays stay in the processor's cache."""
SCORES = np.array([1.0, 0.0, 0.5, 0.5])
"""Side a's share of a win, by outcome: ties and "both bad" count half for each side."""


class VotesError(ValueError):
    """Columns do not fit together."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Battles in order, as aligned columns; models are the codes 0 to models-1."""

    a: Codes
    b: Codes
    outcome: Codes
    """Codes of `Outcome`."""
    models: int
    items: Codes | None = None
    """Judged items: with the pair of models, an item makes the (item, pair) tuple."""
    voters: Codes | None = None
    pictures: Codes | None = None
    """Pictures of the items; items on one picture, and near copies, share a code."""
    families: Codes | None = None
    """Families of the items."""

    def __post_init__(self) -> None:
        for name, column in self._columns():
            if column.shape != self.a.shape or column.ndim != 1:
                raise VotesError(
                    f"column {name} has shape {column.shape}, a has {self.a.shape}: one value a vote"
                )
        if not len(self.a):
            return
        lowest = min(self.a.min(), self.b.min())
        highest = max(self.a.max(), self.b.max())
        if lowest < 0 or highest >= self.models:
            raise VotesError(f"models are coded 0 to {self.models - 1}, these are not")
        if self.outcome.min() < 0 or self.outcome.max() > max(Outcome):
            raise VotesError(f"outcomes are coded 0 to {max(Outcome)}, these are not")
        if (self.a == self.b).any():
            raise VotesError(f"vote {int(np.argmax(self.a == self.b))} sets a model against itself")

    def __len__(self) -> int:
        return len(self.a)

    def _columns(self) -> list[tuple[str, np.ndarray]]:
        columns = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, column) for name, column in columns if isinstance(column, np.ndarray)]

    def take(self, places: np.ndarray) -> Self:
        """Returns the votes at `places` (indices or a mask), in that order."""
        return type(self)(
            models=self.models, **{name: column[places] for name, column in self._columns()}
        )


def code_sums(codes: Codes, weights: Floats, size: int) -> Floats:
    """Sum of the weights of each code from 0 to size-1."""
    return np.bincount(codes, weights, size).astype(np.float64, copy=False)


def mean_ranks(values: np.ndarray) -> Floats:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def integer_array(rows: Iterable[Sequence[int]], columns: int) -> npt.NDArray[np.int64]:
    """Rows of integers, such as a query's, as one array: rows x columns."""
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, columns)


def outcome_counts(votes: Votes) -> Floats:
    """Number of the votes by outcome and side: outcomes x models on side a x models on side b."""
    m = votes.models
    cells = votes.models**2 * len(Outcome)
    counts = np.zeros(cells)
    for start in range(0, len(votes), VOTES_A_BLOCK):
        block = slice(start, start + VOTES_A_BLOCK)
        cell = np.multiply(votes.outcome[block], m, dtype=np.int32 if cells < 2**31 else np.int64)
        cell += votes.a[block]
        cell *= m
        cell += votes.b[block]
        np.add.at(counts, cell.astype(np.intp), 1.0)
    return counts.reshape(len(Outcome), m, m)


class EncodedColumns(NamedTuple):
    """Columns of names, as codes."""

    names: tuple[str, ...]
    """Each name once; a code is a name's place."""
    columns: list[Codes]


def encode_columns(*columns: Sequence[str]) -> EncodedColumns:
    """Codes the names of all columns in order of first appearance, column by column."""
    code_of: defaultdict[str, int] = defaultdict(count().__next__)  # A new name gets the next code.
    codes: list[Codes] = [
        np.fromiter(map(code_of.__getitem__, column), np.int32, len(column)) for column in columns
    ]
    return EncodedColumns(tuple(code_of), codes)


class WinLossCounts(NamedTuple):
    """Battles of each model, by code."""

    battles: Codes
    wins: Codes
    losses: Codes
    ties: Codes
    """Ties of both kinds."""


def win_loss_counts(votes: Votes) -> WinLossCounts:
    """Counts each model's battles: a vote is a battle of two models ("matches" in VisIT-Bench's Table 3)."""
    won_a, won_b, tie, both_bad = outcome_counts(votes).astype(np.int64)
    beat = won_a + won_b.T
    tied = tie + both_bad
    wins = beat.sum(1)
    losses = beat.sum(0)
    ties = tied.sum(0) + tied.sum(1)
    return WinLossCounts(battles=wins + losses + ties, wins=wins, losses=losses, ties=ties)


@dataclass(frozen=True)
class EloSettings:
    """Elo settings of VisIT-Bench and FastChat (VisIT-Bench 4.2, appendix E)."""

    k: float = 4.0
    scale: float = 400.0
    base: float = 10.0
    start: float = 1000.0

    @property
    def points(self) -> float:
        """Rating points per unit of log odds (173.7)."""
        return self.scale / log(self.base)


ELO = EloSettings()


def elo(votes: Votes, settings: EloSettings = ELO) -> Floats:
    """Ratings by model code after one pass of Elo over the votes in order."""
    ratings = elo_by_name(
        votes.a.tolist(), votes.b.tolist(), SCORES[votes.outcome].tolist(), settings
    )
    return np.array([ratings.get(model, settings.start) for model in range(votes.models)])


def elo_by_name(
    a: Iterable[Name], b: Iterable[Name], scores: Iterable[float], settings: EloSettings = ELO
) -> dict[Name, float]:
    """Ratings by name after one pass of Elo in order, as FastChat's `compute_elo` does; `scores` are side a's.

    Side a's expected score is 1 / (1 + base ** ((R_b - R_a) / scale)). VisIT-Bench's formula (1) prints this with
    R_a - R_b, its sign reversed; FastChat's code, which the paper ran, and the paper's own numbers are as here.
    """
    step = settings.k / settings.points
    # Against a model with the start rating.
    log_odds: defaultdict[Name, float] = defaultdict(float)
    for model_a, model_b, score in zip(a, b, scores, strict=True):
        log_odds_a = log_odds[model_a]
        log_odds_b = log_odds[model_b]
        gain = step * (score - 1.0 / (1.0 + exp(log_odds_b - log_odds_a)))
        log_odds[model_a] = log_odds_a + gain
        log_odds[model_b] = log_odds_b - gain
    return {name: settings.start + settings.points * value for name, value in log_odds.items()}
