"""Values of a spec's figures over scored rows, with bounds for unread answers and 95% intervals.

Every figure is a weighted sum of ratios of sums over rows: a mean is the rows' scores over their number, F1 is 2 TP
over 2 TP + FP + FN, a mean over groups is such a ratio for each group. So one computation gives all values, and one
bootstrap the intervals of all that are no shares.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import Floats
from arena.types import grouped
from scoring.intervals import Ends, Sample, mean_ends, mean_of_shares, possible, share_ends
from scoring.report import ScoreLine
from scoring.small_groups import LEAST
from scoring.specs.figures import Figure
from scoring.specs.scored_rows import Codes, Mask, ScoredRows, scored_rows

Fill = Literal["", "worst", "best"]
"""The score that unread answers are counted with; "" leaves them out."""
_REPLICATES = 500
_SEED = 56
_TAIL = 2.5
"""Percent of the replicates beyond each end of an interval."""
_UNUSED = -1
"""In place of a cluster's number, for a row that no part of a figure counts."""
_FEWEST = 2
"""Clusters of rows that a bootstrap needs."""


class Term(NamedTuple):
    """A part of a figure: weight * sum(over) / sum(under) / among, both by row, of the rows where they aren't 0."""

    weight: float
    over: Floats
    under: Floats
    rows: Codes
    """The numbers of these rows."""
    among: int = 1
    """Number of groups whose mean is taken. A mean is their sum over it, as others compute it, to the last digit."""

    @property
    def value(self) -> float:
        """Its value, of which a mean of groups is a part."""
        return float(self.weight * self.over.sum() / self.under.sum())

    @property
    def is_share(self) -> bool:
        """Whether it is a share of rows, or of units that stand at one of their rows."""
        numbers = np.concatenate([self.under, self.over])
        return bool(((numbers == 0) | (numbers == 1)).all())


def figure_line(name: str, rows: ScoredRows, figures: Mapping[str, Figure]) -> ScoreLine:
    """A figure of these rows, with its bounds and its interval."""
    computed = _Computed(rows, figures)
    figure = figures[name]
    mask = rows.everything
    counted = computed.counted(figure, mask)
    mean = computed.value(figure, mask, "")
    bounds = Ends(mean or 0.0, mean or 0.0)
    if counted.unscored:
        worst = computed.value(figure, mask, "worst") or 0.0
        best = computed.value(figure, mask, "best") or 0.0
        bounds = Ends(worst, best)
    ends = computed.ends(figure, mask, bounds) if mean is not None else None
    return ScoreLine(
        name=name,
        n=counted.n,
        unscored=counted.unscored,
        mean=mean,
        low=ends.low if ends else None,
        high=ends.high if ends else None,
        worst=bounds.low,
        best=bounds.high,
        places=figure.places,
    )


def share_line(name: str, rights: Iterable[bool | None], pictures: Sequence[str] = ()) -> ScoreLine:
    """The share of right outcomes; None is unscored. Those about one picture, named in `pictures`, are a cluster."""
    scores = [None if right is None else float(right) for right in rights]
    rows = scored_rows(scores, {}, pictures=pictures)
    return figure_line(name, rows, {name: Figure(mean="rows")})


def reveals_few_answers(name: str, rows: ScoredRows, figures: Mapping[str, Figure]) -> bool:
    """Whether a figure of enough answers has a part that is over a few: the precision of one yes, a small group's mean.

    How an unread yes or no widens the bounds tells which of the two is right.
    """
    computed = _Computed(rows, figures)
    figure = figures[name]
    counted = computed.counted(figure, rows.everything)
    if counted.n - counted.unscored < LEAST:
        return False
    terms = computed.terms(figure, rows.everything, "")
    parts = [term.rows[term.under != 0] for term in terms]
    if computed.counts_words(figure):
        parts.append(np.flatnonzero(~rows.is_read))
    counts = [len(np.unique(rows.answers[part])) for part in parts if len(part)]
    return min(counts, default=LEAST) < LEAST


def value_of(terms: Sequence[Term]) -> float | None:
    """The value of a figure; None where a part of it has no scored row."""
    if not terms or not all(term.under.any() for term in terms):
        return None
    values = grouped((term.among, term.value) for term in terms)
    return sum(math.fsum(group) / among for among, group in values.items())


class _Counted(NamedTuple):
    """The rows or units of a figure, and how many of them are unscored."""

    n: int
    unscored: int


@dataclass(frozen=True)
class _Computed:
    rows: ScoredRows
    figures: Mapping[str, Figure]

    def terms(self, figure: Figure, within: Mask, fill: Fill) -> list[Term]:
        return [*_TERMS[figure.form](self, figure, self._narrowed(figure, within), fill)]

    def counts_words(self, figure: Figure) -> bool:
        """Whether it, or a part of it, counts yes and no."""
        return figure.positive is not None or any(map(self.counts_words, self._parts(figure)))

    def counted(self, figure: Figure, within: Mask) -> _Counted:
        if figure.all is not None:
            whole = self._units(figure, self._narrowed(figure, within), "best").under
            known = self._units(figure, self._narrowed(figure, within), "").under
            n = int(whole.sum())
            return _Counted(n, n - int(known.sum()))
        support = self._support(figure, within)
        is_known = self._is_known(figure)
        return _Counted(int(support.sum()), int((support & ~is_known).sum()))

    def value(self, figure: Figure, within: Mask, fill: Fill) -> float | None:
        """The value of a figure; None where a part of it has no scored row."""
        if figure.mean_of is None:
            return value_of(self.terms(figure, within, fill))
        groups, rows = self.rows.members(figure.mean_of)
        score = self._score(figure, fill)[rows]
        counted = self._narrowed(figure, within)[rows] & ~np.isnan(score)
        under = np.bincount(groups[counted])
        over = np.bincount(groups[counted], score[counted])
        means = figure.factor * over[under > 0] / under[under > 0]
        return math.fsum(means) / len(means) if len(means) else None

    def ends(self, figure: Figure, within: Mask, bounds: Ends) -> Ends | None:
        """The 95% interval: Wilson's for shares, Student's for means of other scores, else by bootstrap.

        A guess has none: it is known what it comes to on these questions.
        """
        if figure.is_guess:
            return None
        terms = self.terms(figure, within, "")
        unscored = self.counted(figure, within).unscored
        if len(terms) == 1 and terms[0].is_share and figure.mean_of is None:
            return _times(share_ends(self._sample(terms[0], unscored)), terms[0].weight)
        if figure.mean_of is not None and all(term.is_share for term in terms):
            ends = mean_of_shares([self._sample(term, 0) for term in terms])
            return possible(_times(ends, figure.factor), *bounds, self._scale(terms))
        if figure.form == "mean" and not figure.parts:
            return self._mean_ends(terms[0], bounds, self.rows.ends)
        if figure.mark is not None:
            return self._mean_ends(terms[0], bounds, self.rows.mark_ends)
        ends = self._bootstrapped(figure, terms)
        scale = self._scale(terms) if figure.ratio is None else self._ratio_scale(figure)
        return possible(ends, *bounds, scale) if ends else None

    def _scale(self, terms: Sequence[Term]) -> Ends:
        weight = sum(term.weight / term.among for term in terms)
        return _times(self.rows.ends, weight)

    def _ratio_scale(self, figure: Figure) -> Ends:
        low, high = self.rows.mark_ends
        if low <= 0:
            return Ends(0.0, math.inf)
        return Ends(figure.factor * low / high, figure.factor * high / low)

    def _sample(self, term: Term, unscored: int) -> Sample:
        counted = np.flatnonzero(term.under)
        places: list[int] = term.rows[counted].tolist()
        pictures = [self.rows.pictures[place] for place in places]
        return Sample(term.over[counted], pictures, unscored)

    def _mean_ends(self, term: Term, bounds: Ends, scale: Ends) -> Ends | None:
        counted = term.under > 0
        scores = np.full((len(self.rows), 1), np.nan)
        scores[term.rows[counted], 0] = term.over[counted]
        ends = mean_ends(scores, self.rows.pictures, scale, scale)
        if ends is None:
            return None
        return possible(_times(ends, term.weight), *bounds, _times(scale, term.weight))

    def _bootstrapped(self, figure: Figure, terms: Sequence[Term]) -> Ends | None:
        """Percentiles over weights drawn for clusters (Rubin 1981): rows on one picture or in one unit have one weight.

        Drawing rows instead would often leave out a whole group of few.
        """
        used = np.unique(np.concatenate([term.rows[term.under != 0] for term in terms]))
        clusters = np.full(len(self.rows), _UNUSED)
        clusters[used] = np.unique(self._clusters(figure)[used], return_inverse=True)[1]
        size = int(clusters.max()) + 1
        if size < _FEWEST:
            return None
        sums = [_sums(term, clusters, size) for term in terms]
        overs = np.stack([over for over, _ in sums], axis=1)
        unders = np.stack([under for _, under in sums], axis=1)
        weights = np.array([term.weight / term.among for term in terms])
        random = np.random.default_rng(_SEED)
        values = []
        for _ in range(_REPLICATES):
            drawn = random.exponential(size=size)
            values.append(weights @ ((drawn @ overs) / (drawn @ unders)))
        return Ends(*np.percentile(values, [_TAIL, 100 - _TAIL]).tolist())

    def _clusters(self, figure: Figure) -> Codes:
        joined = [self.rows.units(columns) for columns in self._unit_columns(figure)]
        return connected([self.rows.picture_codes, *joined], len(self.rows))

    def _unit_columns(self, figure: Figure) -> Iterator[Sequence[str]]:
        if figure.all is not None:
            yield figure.all
        for part in self._parts(figure):
            yield from self._unit_columns(part)

    def _parts(self, figure: Figure) -> list[Figure]:
        return [self.figures[name] for name in figure.parts]

    def _narrowed(self, figure: Figure, within: Mask) -> Mask:
        return within & self.rows.fitting(figure.where or {}, figure.without or {})

    def _support(self, figure: Figure, within: Mask) -> Mask:
        """The rows that a figure is over."""
        mask = self._narrowed(figure, within)
        if not figure.parts:
            return mask
        if figure.over is not None and figure.among is not None:
            mask = mask & self.rows.in_any(figure.over, figure.among)
        support: Mask = np.zeros(len(self.rows), dtype=bool)
        for part in self._parts(figure):
            np.logical_or(support, self._support(part, mask), out=support)
        return support

    def _is_known(self, figure: Figure) -> Mask:
        if figure.positive is not None:
            return self.rows.is_read
        if figure.ratio is not None or figure.mark is not None:
            return np.asarray(~np.isnan(self.rows.marks).any(axis=1))
        return ~np.isnan(self._score(figure, ""))

    def _score(self, figure: Figure, fill: Fill) -> Floats:
        """The rows' scores, or those of the figure's guesses."""
        score = self.rows.score
        if figure.chance is not None:
            score = self.rows.chance
        if figure.frequent is not None:
            score = self.rows.frequent(figure.frequent)
        if not fill:
            return score
        end = self.rows.ends.low if fill == "worst" else self.rows.ends.high
        return np.where(np.isnan(score), end, score)

    def _mean(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        if figure.parts:
            weight = figure.factor / len(figure.parts)
            yield from self._weighted(figure, mask, fill, weight)
        else:
            yield _mean_term(figure.factor, self._score(figure, fill), mask)

    def _count(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        term = _mean_term(1.0, self._score(figure, fill), mask)
        yield term._replace(weight=figure.factor * float(term.under.sum()))

    def _all(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        yield self._units(figure, mask, fill)

    def _units(self, figure: Figure, mask: Mask, fill: Fill) -> Term:
        """Each unit at its first row: right if all its rows are, wrong if one is, else not counted."""
        score = self._score(figure, fill)[mask]
        places = np.flatnonzero(mask)
        over = np.zeros(len(self.rows))
        under = np.zeros(len(self.rows))
        if len(places):
            _, first, units = np.unique(
                self.rows.units(figure.all or ())[mask], return_index=True, return_inverse=True
            )
            size = len(first)
            wrong = np.bincount(units, score < 1, size) > 0
            unread = np.bincount(units, np.isnan(score), size) > 0
            over[places[first]] = ~wrong & ~unread
            under[places[first]] = wrong | ~unread
        return _term(figure.factor, over, under)

    def _mean_of(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        groups = self.rows.groups(figure.mean_of or "").values()
        score = self._score(figure, fill)
        terms = [_mean_term(figure.factor, score, mask & group) for group in groups]
        scored = [term for term in terms if term.under.any()]
        for term in scored:
            yield term._replace(among=len(scored))

    def _answers(self, positive: str, fill: Fill) -> tuple[Mask, Mask, Mask]:
        """Returns masks of the rows whose answer is the positive one, whose truth is it, and that count."""
        truth = self.rows.equals(self.rows.truth, positive)
        is_positive = self.rows.equals(self.rows.read, positive)
        is_read = self.rows.is_read
        if not fill:
            return is_positive, truth, is_read
        meant = truth if fill == "best" else ~truth
        return np.where(is_read, is_positive, meant), truth, self.rows.everything

    def _f1(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        is_positive, truth, known = self._answers(figure.f1 or "", fill)
        counted = mask & known
        over = 2 * _numbers(counted & is_positive & truth)
        yield _term(
            figure.factor, over, _numbers(counted & is_positive) + _numbers(counted & truth)
        )

    def _precision(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        is_positive, truth, known = self._answers(figure.precision or "", fill)
        counted = mask & known & is_positive
        yield _term(figure.factor, _numbers(counted & truth), _numbers(counted))

    def _recall(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        is_positive, truth, known = self._answers(figure.recall or "", fill)
        counted = mask & known & truth
        yield _term(figure.factor, _numbers(counted & is_positive), _numbers(counted))

    def _yes(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        is_positive = self.rows.equals(self.rows.read, figure.yes or "")
        counted = mask & self.rows.is_read
        if fill:
            counted = mask
            is_positive = np.where(self.rows.is_read, is_positive, fill == "best")
        yield _term(figure.factor, _numbers(counted & is_positive), _numbers(counted))

    def _above(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        score = self._score(figure, fill)
        counted = mask & ~np.isnan(score)
        above = counted & (np.nan_to_num(score) > (figure.above or 0.0))
        yield _term(figure.factor, _numbers(above), _numbers(counted))

    def _ratio(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        first, second = self.rows.marks.T
        low, high = self.rows.mark_ends
        if fill:
            first = np.where(np.isnan(first), high if fill == "worst" else low, first)
            second = np.where(np.isnan(second), low if fill == "worst" else high, second)
        counted = mask & ~np.isnan(first) & ~np.isnan(second)
        over = np.where(counted, second, 0.0)
        yield _term(figure.factor, over, np.where(counted, first, 0.0))

    def _mark(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        marks = self.rows.marks[:, (figure.mark or 1) - 1]
        if fill:
            low, high = self.rows.mark_ends
            marks = np.where(np.isnan(marks), low if fill == "worst" else high, marks)
        counted = mask & ~np.isnan(marks)
        yield _term(figure.factor, np.where(counted, marks, 0.0), _numbers(counted))

    def _sum(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        if figure.over is None:
            yield from self._weighted(figure, mask, fill, figure.factor)
            return
        for name, group in self.rows.groups(figure.over).items():
            if (figure.among is None or name in figure.among) and (mask & group).any():
                yield from self._weighted(figure, mask & group, fill, figure.factor)

    def _weighted(self, figure: Figure, mask: Mask, fill: Fill, weight: float) -> Iterator[Term]:
        for part in self._parts(figure):
            terms = self.terms(part, mask, fill)
            if not terms:
                nothing = np.zeros(len(self.rows))
                yield _term(weight, nothing, nothing)
            for term in terms:
                yield term._replace(weight=weight * term.weight)


_TERMS: Mapping[str, Callable[[_Computed, Figure, Mask, Fill], Iterator[Term]]] = {
    "mean": _Computed._mean,
    "count": _Computed._count,
    "all": _Computed._all,
    "mean_of": _Computed._mean_of,
    "f1": _Computed._f1,
    "precision": _Computed._precision,
    "recall": _Computed._recall,
    "yes": _Computed._yes,
    "sum": _Computed._sum,
    "above": _Computed._above,
    "ratio": _Computed._ratio,
    "mark": _Computed._mark,
}


def connected(codes: Sequence[Codes], size: int) -> Codes:
    """The number of each row's cluster: rows with one of these codes in common; -1 is no code."""
    labels = np.arange(size)
    while True:
        before = labels.copy()
        for each in codes:
            known = each >= 0
            least = np.full(int(each.max(initial=-1)) + 1, size)
            np.minimum.at(least, each[known], labels[known])
            labels[known] = least[each[known]]
        if (labels == before).all():
            return labels


def _term(weight: float, over: Floats, under: Floats) -> Term:
    """A part of a figure, from sums over all rows."""
    rows = np.flatnonzero((over != 0) | (under != 0))
    return Term(weight, over[rows], under[rows], rows)


def _mean_term(weight: float, score: Floats, mask: Mask) -> Term:
    """The mean of the scores of some rows, NaN left out."""
    rows = (mask & ~np.isnan(score)).nonzero()[0]
    return Term(weight, score[rows], np.ones(len(rows)), rows)


def _sums(term: Term, clusters: Codes, size: int) -> tuple[Floats, Floats]:
    """The two sums of a term over each cluster of rows."""
    is_used = clusters[term.rows] != _UNUSED
    codes = clusters[term.rows[is_used]]
    over = np.bincount(codes, term.over[is_used], size).astype(np.float64)
    under = np.bincount(codes, term.under[is_used], size).astype(np.float64)
    return over, under


def _numbers(mask: Mask) -> Floats:
    return mask.astype(np.float64)


def _times(ends: Ends, factor: float) -> Ends:
    return Ends(factor * ends.low, factor * ends.high)
