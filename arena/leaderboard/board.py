"""Boards: win counts in, a line for each model out, with how far each number can be trusted.

A rating is Bradley-Terry's with the stated prior. What takes longer than a request is a `Statistics`, joined to newer
counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from arena.leaderboard.statistics import FLOOR, Statistics
from arena.ratings.bradley_terry import Status, Strengths, bradley_terry, mean_win_chances
from arena.ratings.intervals import Bounds, ranks, wilson
from arena.ratings.votes import Codes, Floats

SETTLED = 30
"""Votes under which a model's numbers are provisional."""
WIDE = 200.0
"""Rating points to either side beyond which an interval makes a model's numbers provisional (odds of three to one)."""

Value = TypeVar("Value")
Trust = Literal["settled", "provisional", "too few votes"]
VoteKind = Literal["bank", "live", "imported"]
"""Whether votes are on the bank's items and their stored answers, on live answers, or came from elsewhere."""


@dataclass(frozen=True)
class BoardKey:
    """Which votes a board counts; days are whole ones, UTC."""

    source: int
    """The code of a source of this kind."""
    multi: bool
    family: int | None = None
    since: date | None = None
    until: date | None = None
    kind: VoteKind = "bank"
    unflagged: bool = True
    """Whether flagged voters are left out, as on the board that counts."""

    @property
    def dated(self) -> bool:
        """Tell whether only some days count."""
        return self.since is not None or self.until is not None


class Entrant(NamedTuple):
    """A model as a board knows it."""

    display: str
    retired: bool
    is_reference: bool


@dataclass(frozen=True, eq=False)
class Counts:
    """Who beat whom how often: models x models, of models that played, by place."""

    codes: tuple[int, ...]
    """The models' codes, by place."""
    wins: Floats
    left: Floats
    """Those wins that were won on the left."""
    ties: Floats | None = None
    """Votes without a winner, which `wins` has as half a win for each: symmetric; None where there are none."""

    @property
    def votes(self) -> int:
        """Return the number of votes."""
        return int(self.wins.sum())

    @property
    def decided(self) -> Floats:
        """Return the wins without the halves of ties."""
        return self.wins if self.ties is None else self.wins - self.ties / 2


NOTHING = Counts((), np.zeros((0, 0)), np.zeros((0, 0)))


class ImportSummary(NamedTuple):
    """What should be known of a board's votes from elsewhere."""

    votes: int
    """Those that count."""
    sources: tuple[str, ...]
    judge: bool
    """Whether a judge model cast them, and no people."""
    ties: int
    """Half a win for each, as is a "both bad" that counts."""
    both_bad: int
    both_bad_out: int
    """Those that are left out, as the import was told."""
    alone: int
    """Left out: a model against itself."""
    named: int
    """Cast with the names in view."""
    no_item: int
    no_voter: int
    no_time: int
    no_images: int
    """Those that do not tell how many images were shown."""


class VoteShare(NamedTuple):
    """A share of votes with Wilson's interval."""

    part: int
    votes: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """Return the share."""
        return self.part / self.votes


class Span(NamedTuple):
    """A number with what it may range over; the range is None until it is found out."""

    value: float
    low: float | None
    high: float | None


class Standing(NamedTuple):
    """One model's line on a board; None is a number that does not exist, says too little, or is still worked on."""

    code: int
    model: str
    trust: Trust
    status: Status
    rank: Span | None
    """1 + the comparable models whose interval lies above; its range is the bootstrap's, and takes this rank in."""
    rating: Span | None
    elo: Span | None
    """Median over seeded orders, with the spread over these orders: no confidence interval."""
    votes: int
    """Battles of this model (the paper's "matches", Table 3)."""
    win_rate: VoteShare | None
    """Of its decided battles with the reference (Table 3); None for the reference itself and without such battles."""
    mean_win_rate: float | None
    """Predicted share of wins against a comparable model drawn evenly."""
    left: VoteShare | None
    """How often the answer on the left won in its decided battles."""
    retired: bool
    ties: int
    """How many of its battles nobody won."""


class ExcludedVotes(NamedTuple):
    """Which of this arena's stored votes stand outside a board."""

    voters: int = 0
    """Flagged voters, who are left out of the board that counts; a board with them tells of them too."""
    flagged: int = 0
    """Their votes."""
    uncounted: int = 0
    """Votes of those whose votes do not count, by the operator's rule."""
    stopped: int = 0
    """Live votes on answers that were stopped."""
    named: int = 0
    """Live votes where an answer told which model gave it."""


NONE_LEFT_OUT = ExcludedVotes()


@dataclass(frozen=True, eq=False)
class Board:
    """One board: groups of models that may be compared, the largest first, the best of each first."""

    key: BoardKey
    votes: int
    left: VoteShare | None
    groups: tuple[tuple[Standing, ...], ...]
    statistics: Statistics | None
    counts: Counts
    fit: Strengths
    import_summary: ImportSummary | None = None
    left_out: ExcludedVotes = NONE_LEFT_OUT

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Return the lines of all groups, one below the other."""
        return tuple(standing for group in self.groups for standing in group)


def shares(parts: Floats, votes: Floats) -> list[VoteShare | None]:
    """Return the shares parts / votes with Wilson's intervals; None of no votes."""
    columns = (parts.astype(int), votes.astype(int), *wilson(parts, votes))
    return _blanked(map(VoteShare, *(column.tolist() for column in columns)), (votes > 0).tolist())


def board(
    key: BoardKey,
    counts: Counts,
    entrants: Mapping[int, Entrant],
    statistics: Statistics | None,
    import_summary: ImportSummary | None = None,
    left_out: ExcludedVotes = NONE_LEFT_OUT,
    before: Board | None = None,
) -> Board:
    """Return the board of these counts, with as much about its models as has been found out.

    The fit begins at that of the board before, if it has the same models.
    """
    near = before.fit.strengths if before and before.counts.codes == counts.codes else None
    fit = bradley_terry(counts.wins, start=near)
    lines = _lines(counts, fit, entrants, statistics)
    best_first = np.argsort(-fit.ratings, kind="stable")
    members = [best_first[fit.components[best_first] == group].tolist() for group in np.unique(fit.components)]
    ordered = [sorted(places, key=lambda place: lines[place].rating is None) for places in members]
    return Board(
        key=key,
        votes=counts.votes,
        left=shares(np.array([counts.left.sum()]), np.array([counts.decided.sum()]))[0],
        groups=tuple(tuple(lines[place] for place in places) for places in ordered),
        statistics=statistics,
        counts=counts,
        fit=fit,
        import_summary=import_summary,
        left_out=left_out,
    )


def _lines(
    counts: Counts, fit: Strengths, entrants: Mapping[int, Entrant], statistics: Statistics | None
) -> list[Standing]:
    """Return a line for each model, by place; the columns are lists, since a hundred models have a thousand cells."""
    decided = counts.decided
    played = counts.wins.sum(1) + counts.wins.sum(0)
    ties = np.zeros(len(played)) if counts.ties is None else counts.ties.sum(1)
    found = _ranking(counts.codes, statistics)
    reach = np.where(played >= FLOOR, found.reach, np.nan)
    bounds = Bounds(fit.ratings - reach, fit.ratings + reach)
    shown = (played >= FLOOR).tolist()
    votes = played.astype(int).tolist()
    models = [entrants[code] for code in counts.codes]
    columns = (
        counts.codes,
        [model.display for model in models],
        map(_trust, votes, fit.statuses, reach.tolist()),
        fit.statuses,
        _blanked(found.ranks(ranks(fit, bounds)), (~np.isnan(reach)).tolist()),
        _blanked(_spans(fit.ratings, *bounds), shown),
        _blanked(found.elo, shown),
        votes,
        _against_reference(counts, entrants),
        _blanked(mean_win_chances(fit).tolist(), shown),
        _blanked(shares(counts.left.sum(1) + counts.left.sum(0), decided.sum(1) + decided.sum(0)), shown),
        [model.retired for model in models],
        ties.astype(int).tolist(),
    )
    return [Standing(*line) for line in zip(*columns, strict=True)]


def _blanked(values: Iterable[Value], shown: Sequence[bool]) -> list[Value | None]:
    """Return values, None in the place of those that are not shown."""
    return [value if show else None for value, show in zip(values, shown, strict=True)]


def _trust(votes: int, status: Status, reach: float) -> Trust:
    if votes < FLOOR:
        return "too few votes"
    return "provisional" if votes < SETTLED or status is not Status.RATED or reach > WIDE else "settled"


def _against_reference(counts: Counts, entrants: Mapping[int, Entrant]) -> list[VoteShare | None]:
    """Return each model's wins of its battles with the reference; None for the reference itself and without any."""
    reference = next((place for place, code in enumerate(counts.codes) if entrants[code].is_reference), None)
    if reference is None:
        return [None] * len(counts.codes)
    won, lost = counts.decided[:, reference], counts.decided[reference]
    return shares(won, won + lost)


class _Ranking:
    """Findings by the places of newer counts, which may have models that the findings do not know."""

    def __init__(self, codes: Sequence[int], statistics: Statistics | None) -> None:
        known = {code: place for place, code in enumerate(statistics.codes)} if statistics else {}
        # The place after the last stands for models that the findings do not know.
        self._places = np.array([known.get(code, len(known)) for code in codes], np.intp)
        nothing = np.full(len(known), np.nan)
        self.reach = self._placed(statistics.reach if statistics else nothing)
        best, worst = (self._placed(bound) for bound in (statistics.ranks if statistics else (nothing, nothing)))
        self._ranked = ~np.isnan(best)
        self._best, self._worst = (np.nan_to_num(bound).astype(int) for bound in (best, worst))
        elo = statistics and statistics.elo
        spans = _spans(*map(self._placed, (elo.median, elo.low, elo.high))) if elo else [None] * len(codes)
        self.elo = [span if code in known else None for code, span in zip(codes, spans, strict=True)]
        """Elo's median and spread over orders."""

    def ranks(self, ranks: Codes) -> list[Span]:
        """Return ranks with their ranges, which take them in: they count only models that are surely better."""
        bounds = (np.minimum(ranks, self._best), np.maximum(ranks, self._worst))
        return list(map(Span, ranks.tolist(), *(_listed(bound, self._ranked) for bound in bounds)))

    def _placed(self, values: Floats) -> Floats:
        return np.append(values, np.nan)[self._places]


@lru_cache(maxsize=256)
def _ranking(codes: tuple[int, ...], statistics: Statistics | None) -> _Ranking:
    """Return findings by place; they stay the same over many votes."""
    return _Ranking(codes, statistics)


def _spans(value: Floats, low: Floats, high: Floats) -> list[Span]:
    """Return numbers with their ranges, which are NaN where they are not known."""
    return list(map(Span, value.tolist(), *(_listed(bound, ~np.isnan(bound)) for bound in (low, high))))


def _listed(values: np.ndarray, known: np.ndarray) -> list[float | None]:
    """Return values, None where they are not known."""
    listed = values.astype(object)
    listed[~known] = None
    return listed.tolist()
