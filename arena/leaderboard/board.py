"""Board: from win counts to one line for each model, with the uncertainty of each number.

A rating is Bradley-Terry's with the stated prior. Numbers that take longer than a request come from `Statistics`, which
may be older than the counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain, zip_longest
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from arena.leaderboard.statistics import FLOOR, Statistics, trusted_models
from arena.ratings.bradley_terry import Status, Strengths, bradley_terry, mean_win_chances
from arena.ratings.intervals import Bounds, ranks
from arena.ratings.settled import Order, Settlement, orders
from arena.ratings.shares import Share, shares
from arena.ratings.votes import Codes, Floats
from arena.settings import CountRule

Value = TypeVar("Value")
Trust = Literal["trusted", "provisional"]
VoteKind = Literal["bank", "live", "imported"]
"""Votes on the bank's items and their stored answers, votes on live answers, or imported votes."""


@dataclass(frozen=True)
class BoardKey:
    """The votes that a board counts; days are whole ones, UTC."""

    source: int
    """The code of a source: of the bank's items, of live answers or of imported votes, by `kind`."""
    multi: bool
    """Whether the voters saw several images."""
    family: int | None = None
    since: date | None = None
    until: date | None = None
    kind: VoteKind = "bank"
    unflagged: bool = True
    """Whether flagged voters are excluded, as on the default board."""
    everyone: bool = False
    """Whether it is the board of everyone's votes, beside the counted one; False if there is only one board."""

    @property
    def dated(self) -> bool:
        return self.since is not None or self.until is not None

    @property
    def narrowed(self) -> bool:
        """Whether it is one of the many boards of one family or of some days."""
        return self.dated or self.family is not None


class Entrant(NamedTuple):
    """A model as a board needs it."""

    display: str
    retired: bool
    is_reference: bool


@dataclass(frozen=True, eq=False)
class Counts:
    """Pairwise win counts: models x models, of models that played, by place."""

    codes: tuple[int, ...]
    """The models' codes, by place."""
    wins: Floats
    """`wins[i, j]`: the wins of the model at place i against the one at place j."""
    left: Floats
    """The part of `wins` that was won on the left."""
    ties: Floats
    """Votes without a winner, symmetric; `wins` has each as half a win for both sides."""

    @property
    def votes(self) -> int:
        return int(self.wins.sum())

    @property
    def decided(self) -> Floats:
        """The wins without the halves of ties."""
        return self.wins - self.ties / 2

    @cached_property
    def places(self) -> dict[int, int]:
        """The models' places, by code."""
        return {code: place for place, code in enumerate(self.codes)}


_NO_PAIRS = np.zeros((0, 0))
NO_COUNTS = Counts(codes=(), wins=_NO_PAIRS, left=_NO_PAIRS, ties=_NO_PAIRS)


class ImportSummary(NamedTuple):
    """Summary of a board's imported votes."""

    votes: int
    """Votes that count."""
    sources: tuple[str, ...]
    judge: bool
    """Whether a judge model cast them, not people."""
    ties: int
    """Ties without those of `both_bad`."""
    both_bad: int
    """"Both bad" votes that count, each as a tie."""
    both_bad_out: int
    """"Both bad" votes excluded by the import's setting."""
    alone: int
    """Excluded votes of a model against itself."""
    repeated: int
    """Excluded votes that their voter gave again on the same conversation."""
    named: int
    """Votes cast with the model names visible."""
    no_item: int
    no_voter: int
    no_time: int
    no_images: int
    """Votes without the number of images shown."""


class Span(NamedTuple):
    """A number with its range; the range is None until it is computed."""

    value: float
    low: float | None
    high: float | None


class Standing(NamedTuple):
    """A model's line on a board; None is a number that does not exist, means too little, or is not computed yet."""

    code: int
    model: str
    trust: Trust
    status: Status
    rank: Span | None
    """1 + the number of comparable trusted models with an interval above its own; its range is that of
    `Statistics.ranks`, widened to include the rank."""
    rating: Span | None
    elo: Span | None
    """Median over seeded orders, with the spread over these orders: no confidence interval."""
    votes: int
    """Battles of this model (the paper's "matches", Table 3)."""
    win_rate: Share | None
    """The share of its decided battles with the reference that it won (Table 3); None for the reference itself, or
    without such battles."""
    mean_win_rate: float | None
    """Predicted share of wins against a comparable model drawn uniformly."""
    left: Share | None
    """The share of its decided battles that the answer on the left won."""
    retired: bool
    ties: int
    """The model's battles without a winner."""
    order: Order | None = None
    """The order of it and the next model, by code; None for provisional models and on boards without a record."""


class ExcludedVotes(NamedTuple):
    """This arena's stored votes that a board excludes."""

    voters: int = 0
    """Flagged voters, excluded from the default board; a board that includes them shows their number too."""
    flagged: int = 0
    """Votes of flagged voters."""
    of_crowd: int = 0
    """Votes of unflagged voters that look like a crowd's."""
    crowd_models: frozenset[int] = frozenset()
    """The models of the crowds, by code."""
    uncounted: int = 0
    """Votes of voters who don't count by the operator's rule."""
    stopped: int = 0
    """Live votes on answers that were stopped."""
    named: int = 0
    """Live votes with an answer that revealed its model."""
    rule: CountRule = "everyone"
    """The rule for voters that the board includes."""


NONE_LEFT_OUT = ExcludedVotes()


@dataclass(frozen=True, eq=False)
class Board:
    """A board: groups of comparable models, the largest first; each by rank, with provisional models last."""

    key: BoardKey
    votes: int
    left: Share | None
    groups: tuple[tuple[Standing, ...], ...]
    statistics: Statistics | None
    counts: Counts
    fit: Strengths
    placed_statistics: "_PlacedStatistics"
    import_summary: ImportSummary | None = None
    left_out: ExcludedVotes = NONE_LEFT_OUT

    @property
    def standings(self) -> tuple[Standing, ...]:
        return tuple(chain.from_iterable(self.groups))


def board(
    key: BoardKey,
    counts: Counts,
    entrants: Mapping[int, Entrant],
    statistics: Statistics | None,
    import_summary: ImportSummary | None = None,
    left_out: ExcludedVotes = NONE_LEFT_OUT,
    before: Board | None = None,
) -> Board:
    """Returns the board of these counts, with the statistics available so far.

    The fit starts from that of the board before, if it has the same models.
    """
    reusable = before if before and before.counts.codes == counts.codes else None
    fit = bradley_terry(counts.wins, start=reusable.fit.strengths if reusable else None)
    if reusable and reusable.statistics is statistics:  # they stay the same over many votes
        placed_statistics = reusable.placed_statistics
    else:
        placed_statistics = _PlacedStatistics(counts.codes, statistics)
    lines = _lines(counts, fit, entrants, placed_statistics)
    by_rating = np.argsort(-fit.ratings, kind="stable")
    groups = []
    for group in np.unique(fit.components):  # The largest is number 0.
        places = by_rating[fit.components[by_rating] == group]
        # Lines with equal keys stay in the order of their ratings.
        group_lines = sorted((lines[place] for place in places.tolist()), key=_sort_key)
        groups.append(tuple(_with_orders(group_lines, placed_statistics)))
    won_left = np.array([counts.left.sum()])
    decided = np.array([counts.decided.sum()])
    (left,) = _shares(won_left, decided, placed_statistics.left_effect_of_all)
    return Board(
        key=key,
        votes=counts.votes,
        left=left,
        groups=tuple(groups),
        statistics=statistics,
        counts=counts,
        fit=fit,
        placed_statistics=placed_statistics,
        import_summary=import_summary,
        left_out=left_out,
    )


def _sort_key(line: Standing) -> tuple[float, ...]:
    """Returns the sort key of a line within its group.

    Trusted models are first, by rank. Of the provisional ones, those without a rating are last, by Elo.
    """
    rank = line.rank.value if line.rank else 0
    elo = line.elo.value if line.elo and not line.rating else 0
    return line.trust == "provisional", rank, line.rating is None, -elo


def _with_orders(
    lines: Sequence[Standing], placed_statistics: "_PlacedStatistics"
) -> Iterator[Standing]:
    for line, following in zip_longest(lines, lines[1:]):
        if following is not None and line.trust == following.trust == "trusted":
            line = line._replace(order=placed_statistics.order(line.code, following.code))
        yield line


def _lines(
    counts: Counts,
    fit: Strengths,
    entrants: Mapping[int, Entrant],
    placed_statistics: "_PlacedStatistics",
) -> list[Standing]:
    """Returns a line for each model, by place; each column is computed as one array, since a board has many cells."""
    decided = counts.decided
    played = counts.wins.sum(1) + counts.wins.sum(0)
    reach = np.where(played >= FLOOR, placed_statistics.reach, np.nan)
    bounds = Bounds(fit.ratings - reach, fit.ratings + reach)
    # Before the first statistics, votes alone decide; later a model without an interval is provisional.
    unknown_reach = np.inf if placed_statistics.has_statistics else 0.0
    trusted = trusted_models(fit, np.nan_to_num(reach, nan=unknown_reach))
    ranked = trusted & ~np.isnan(reach)
    ranked_bounds = Bounds(
        low=np.where(ranked, bounds.low, np.nan), high=np.where(ranked, bounds.high, np.nan)
    )
    rank = ranks(fit, ranked_bounds)
    has_numbers = (played >= FLOOR).tolist()
    votes = played.astype(int).tolist()
    is_trusted = trusted.tolist()
    rank_spans = _blanked(placed_statistics.rank_spans(rank), ranked.tolist())
    ratings = _blanked(_spans(fit.ratings, bounds.low, bounds.high), (played > 0).tolist())
    win_rates = _against_reference(counts, entrants, placed_statistics.reference_effects)
    mean_win_rates = _blanked(mean_win_chances(fit).tolist(), has_numbers)
    left = _shares(
        counts.left.sum(1) + counts.left.sum(0),
        decided.sum(1) + decided.sum(0),
        placed_statistics.left_effects,
    )
    left_or_none = _blanked(left, has_numbers)
    ties = counts.ties.sum(1).astype(int).tolist()
    return [
        Standing(
            code=code,
            model=entrants[code].display,
            trust="trusted" if is_trusted[place] else "provisional",
            status=fit.statuses[place],
            rank=rank_spans[place],
            rating=ratings[place],
            elo=placed_statistics.elo[place],
            votes=votes[place],
            win_rate=win_rates[place],
            mean_win_rate=mean_win_rates[place],
            left=left_or_none[place],
            retired=entrants[code].retired,
            ties=ties[place],
        )
        for place, code in enumerate(counts.codes)
    ]


def _blanked(values: Iterable[Value], is_shown: Sequence[bool]) -> list[Value | None]:
    """Returns the values, with None for those that are not shown."""
    return [value if show else None for value, show in zip(values, is_shown, strict=True)]


def _shares(hits: Floats, votes: Floats, effects: Floats | float = 1.0) -> list[Share | None]:
    return _blanked(shares(hits, votes, effects), (votes > 0).tolist())


def _against_reference(
    counts: Counts, entrants: Mapping[int, Entrant], effects: Floats
) -> list[Share | None]:
    """Returns the share of its decided battles with the reference that each model won.

    None for the reference itself, and for a model without such battles.
    """
    references = [place for code, place in counts.places.items() if entrants[code].is_reference]
    if not references:
        return [None] * len(counts.codes)
    reference = references[0]
    won = counts.decided[:, reference]
    lost = counts.decided[reference]
    return _shares(won, won + lost, effects)


class _PlacedStatistics:
    """Statistics by the places of newer counts, which may have additional models; NaN if a number is unknown.

    `codes` are the models of the counts by place.
    """

    def __init__(self, codes: tuple[int, ...], statistics: Statistics | None) -> None:
        self._statistics = statistics
        self.has_statistics = statistics is not None
        known_codes = statistics.codes if statistics else ()
        self._place_of = {code: place for place, code in enumerate(known_codes)}
        # Models that the statistics lack get the place after the last, where `_placed` puts NaN.
        after_last = len(known_codes)
        places_in_statistics = [self._place_of.get(code, after_last) for code in codes]
        self._places_in_statistics = np.array(places_in_statistics, np.intp)
        unknown = np.full(after_last, np.nan)
        self.reach = self._placed(statistics.reach if statistics else unknown)
        best = self._placed(statistics.ranks.low if statistics else unknown)
        worst = self._placed(statistics.ranks.high if statistics else unknown)
        self._ranked = ~np.isnan(best)
        self._best = np.nan_to_num(best).astype(int)
        self._worst = np.nan_to_num(worst).astype(int)
        spans: list[Span] | list[None] = [None] * len(codes)
        if statistics:
            elo = statistics.elo
            median = self._placed(elo.median)
            spans = _spans(median, self._placed(elo.low), self._placed(elo.high))
        # Without a known effect (inf), the votes of a share may depend on each other in any way.
        against = statistics.against if statistics else None
        reference_effects = against.effects if against else unknown
        self.reference_effects = np.nan_to_num(self._placed(reference_effects), nan=np.inf)
        """The factor by which the shares against the reference vary more than if votes were independent."""
        left_effects = statistics.left_effects if statistics else np.full(1, np.inf)
        self.left_effects = np.nan_to_num(self._placed(left_effects[:-1]), nan=np.inf)
        """The same factor for each model's share of votes won on the left."""
        self.left_effect_of_all = float(left_effects[-1])
        """The same factor for the share of all votes."""
        self.elo = _blanked(spans, [code in self._place_of for code in codes])
        """Elo's median and spread over orders."""

    def rank_spans(self, ranks: Codes) -> list[Span]:
        """Returns ranks with their ranges, widened to include the ranks.

        A rank counts only models whose whole interval is above, so it may be better than its range.
        """
        best = _with_none(np.minimum(ranks, self._best), self._ranked)
        worst = _with_none(np.maximum(ranks, self._worst), self._ranked)
        return list(map(Span, ranks.tolist(), best, worst))

    def order(self, above: int, below: int) -> Order | None:
        """Returns the order of two models by code, as of the last look; None without one or without these models."""
        statistics = self._statistics
        place_of = self._place_of
        if statistics is None or statistics.look is None:
            return None
        if above not in place_of or below not in place_of:
            return None
        record = [
            Settlement(place_of[first], place_of[second], statistics.settled[first, second])
            for first, second in ((above, below), (below, above))
            if (first, second) in statistics.settled
        ]
        (order,) = orders(statistics.look, [(place_of[above], place_of[below])], record)
        return order._replace(above=above, below=below)

    def _placed(self, values: Floats) -> Floats:
        """Returns values of the statistics by the places of the counts."""
        return np.append(values, np.nan)[self._places_in_statistics]


def _spans(value: Floats, low: Floats, high: Floats) -> list[Span]:
    """Returns numbers with their ranges, which are NaN when unknown."""
    lowest = _with_none(low, ~np.isnan(low))
    highest = _with_none(high, ~np.isnan(high))
    return list(map(Span, value.tolist(), lowest, highest))


def _with_none(values: np.ndarray, known: np.ndarray) -> list[float | None]:
    listed = values.astype(object)
    listed[~known] = None
    return listed.tolist()
