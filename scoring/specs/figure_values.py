"""Values of a spec's figures over scored rows, with bounds for unread answers and 95% intervals.

Every figure is a weighted sum of ratios of sums over rows: a mean is the rows' scores over their number, F1 is 2 TP
over 2 TP + FP + FN, a mean over groups is such a ratio for each group. So one computation gives all values, and one
bootstrap all intervals but those of shares and plain means.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.votes import Floats
from arena.types import grouped
from scoring.intervals import (
    UNIT,
    Ends,
    Sample,
    mean_ends,
    mean_of_shares,
    possible_ends,
    share_ends,
)
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
_SCORE_FORMS = ("mean", "count", "mean_of")
"""The forms that add up scores."""
_FEWEST = 2
"""Clusters of rows that a bootstrap needs."""


class Term(NamedTuple):
    """A part of a figure: weight * sum(numerators) / sum(denominators) / group_count.

    Rows whose numerator and denominator are 0 are left out.
    """

    weight: float
    numerators: Floats
    """One a row, as in `denominators` and `rows`."""
    denominators: Floats
    rows: Codes
    """The rows' numbers."""
    group_count: int = 1
    """The figure is the mean of this many terms. Their sum is divided at the end, as in other programs, so that the
    last digit is the same."""

    @property
    def value(self) -> float:
        """Its value before the division by `group_count`."""
        return float(self.weight * self.numerators.sum() / self.denominators.sum())

    @property
    def is_share(self) -> bool:
        """Whether all its numbers are 0 or 1: a share of rows, or of units, each counted at its first row."""
        numbers = np.concatenate([self.denominators, self.numerators])
        return bool(((numbers == 0) | (numbers == 1)).all())


def figure_line(name: str, rows: ScoredRows, figures: Mapping[str, Figure]) -> ScoreLine:
    """A figure of these rows, with its bounds and its interval."""
    values = _FigureValues(rows, figures)
    figure = figures[name]
    mask = rows.all_rows
    counts = values.count_rows(figure, mask)
    mean = values.value(figure, mask, "")
    known_value = mean or 0.0  # 0 where nothing is scored
    bounds = Ends(known_value, known_value)
    if counts.unscored:
        worst = values.value(figure, mask, "worst") or 0.0
        best = values.value(figure, mask, "best") or 0.0
        bounds = Ends(worst, best)
    ends = values.interval(figure, mask, bounds) if mean is not None else None
    return ScoreLine(
        name=name,
        n=counts.n,
        unscored=counts.unscored,
        mean=mean,
        low=ends.low if ends else None,
        high=ends.high if ends else None,
        worst=bounds.low,
        best=bounds.high,
        places=figure.places,
    )


def share_line(name: str, rights: Iterable[bool | None], pictures: Sequence[str] = ()) -> ScoreLine:
    """The share of right outcomes; None is unscored.

    `pictures` are the pictures' names by outcome: outcomes about one picture vary together.
    """
    scores = [None if right is None else float(right) for right in rights]
    rows = scored_rows(scores, {}, pictures=pictures)
    return figure_line(name, rows, {name: Figure(mean="rows")})


def reveals_few_answers(name: str, rows: ScoredRows, figures: Mapping[str, Figure]) -> bool:
    """Whether a figure of enough answers has a part that is over a few: the precision of one yes, a small group's mean.

    Unread answers of a figure that counts yes or no are such a part too: how they widen its bounds shows which of the
    two is right.
    """
    values = _FigureValues(rows, figures)
    figure = figures[name]
    counts = values.count_rows(figure, rows.all_rows)
    if counts.n - counts.unscored < LEAST:
        return False
    terms = values.terms(figure, rows.all_rows, "")
    row_parts = [term.rows[term.denominators != 0] for term in terms]
    if values.counts_yes_or_no(figure):
        row_parts.append(np.flatnonzero(~rows.is_read))
    answer_counts = [len(np.unique(rows.answers[part])) for part in row_parts if len(part)]
    return min(answer_counts, default=LEAST) < LEAST


def _value_of_terms(terms: Sequence[Term]) -> float | None:
    """The value of a figure; None without terms, or if one of them has no scored row."""
    if not terms or not all(term.denominators.sum() for term in terms):
        return None
    values = grouped((term.group_count, term.value) for term in terms)
    return sum(math.fsum(group) / group_count for group_count, group in values.items())


class _RowCounts(NamedTuple):
    """The rows or units of a figure, and how many of them are unscored."""

    n: int
    unscored: int


class _PositiveAnswers(NamedTuple):
    """The rows' answers and truths for a figure such as F1 of Yes."""

    is_answer: Mask
    """Whether the answer is the positive one."""
    is_truth: Mask
    """Whether the truth is the positive one."""
    is_counted: Mask


@dataclass(frozen=True)
class _FigureValues:
    """Values of a spec's figures over these rows; `within` are masks of the rows to count."""

    rows: ScoredRows
    figures: Mapping[str, Figure]

    def terms(self, figure: Figure, within: Mask, fill: Fill) -> list[Term]:
        """The parts whose sum is the figure."""
        mask = self._figure_mask(figure, within)
        return [*_TERMS[figure.form](self, figure, mask, fill)]

    def counts_yes_or_no(self, figure: Figure) -> bool:
        """Whether a figure, or a part of it, counts yes or no."""
        return figure.positive is not None or any(map(self.counts_yes_or_no, self._parts(figure)))

    def count_rows(self, figure: Figure, within: Mask) -> _RowCounts:
        """Counts the rows that a figure is over, or its units where it is one of units."""
        if figure.all is not None:
            mask = self._figure_mask(figure, within)
            # with any fill no row is unread, so that every unit counts
            all_units = self._unit_term(figure, mask, "best").denominators
            scored_units = self._unit_term(figure, mask, "").denominators
            n = int(all_units.sum())
            return _RowCounts(n, n - int(scored_units.sum()))
        support = self._support(figure, within)
        unscored = support & ~self._is_known(figure)
        return _RowCounts(int(support.sum()), int(unscored.sum()))

    def value(self, figure: Figure, within: Mask, fill: Fill) -> float | None:
        """The value of a figure; None where a part of it has no scored row."""
        if figure.mean_of is not None:
            return self._mean_of_groups(figure.mean_of, figure, within, fill)
        return _value_of_terms(self.terms(figure, within, fill))

    def _mean_of_groups(
        self, column: str, figure: Figure, within: Mask, fill: Fill
    ) -> float | None:
        """The value of the terms of `_mean_of`, computed for all groups at once: a column may have thousands."""
        groups, rows = self.rows.group_members(column)
        score = self._score(figure, fill)[rows]
        is_counted = self._figure_mask(figure, within)[rows] & ~np.isnan(score)
        counts = np.bincount(groups[is_counted])
        sums = np.bincount(groups[is_counted], score[is_counted])
        has_rows = counts > 0
        means = figure.factor * sums[has_rows] / counts[has_rows]
        return math.fsum(means) / len(means) if len(means) else None

    def interval(self, figure: Figure, within: Mask, bounds: Ends) -> Ends | None:
        """The 95% interval: Wilson's for shares, Student's for means of other scores, else by bootstrap.

        A guess has none: its value on these questions is known. Nor has a figure of too few rows; None for both.
        """
        if figure.is_guess:
            return None
        terms = self.terms(figure, within, "")
        counts = self.count_rows(figure, within)
        if figure.count is None:
            return self._interval(figure, terms, counts.unscored, bounds)
        # An unscored row adds nothing to a count, but may be as good as the others. The interval covers both: the count
        # as it is, and the count if all rows were scored.
        (count,) = terms
        complete_count = count._replace(weight=figure.factor * counts.n)
        ends = self._interval(figure, [complete_count], counts.unscored, bounds)
        return ends and Ends(min(ends.low, count.value), max(ends.high, count.value))

    def _interval(
        self, figure: Figure, terms: Sequence[Term], unscored: int, bounds: Ends
    ) -> Ends | None:
        are_shares = self._counts_shares(figure) and all(term.is_share for term in terms)
        if len(terms) == 1 and are_shares and figure.mean_of is None:
            return _scaled_ends(share_ends(self._sample(terms[0], unscored)), terms[0].weight)
        if figure.mean_of is not None and are_shares:
            ends = mean_of_shares([self._sample(term, 0) for term in terms])
            return possible_ends(
                _scaled_ends(ends, figure.factor), *bounds, self._value_range(terms)
            )
        if figure.form == "mean" and not figure.parts:
            return self._mean_interval(terms[0], bounds, self.rows.ends)
        if figure.mark is not None:
            return self._mean_interval(terms[0], bounds, self.rows.mark_ends)
        ends = self._bootstrap_interval(figure, terms)
        if ends is None:
            return None
        scale = self._value_range(terms) if figure.ratio is None else self._ratio_range(figure)
        return possible_ends(ends, *bounds, scale)

    def _counts_shares(self, figure: Figure) -> bool:
        """Whether what a figure counts is from 0 to 1: rows always are, scores and marks only on such a scale."""
        if figure.parts:
            return all(map(self._counts_shares, self._parts(figure)))
        if figure.ratio is not None:
            return False
        if figure.mark is not None:
            return self.rows.mark_ends == UNIT
        return figure.form not in _SCORE_FORMS or self.rows.ends == UNIT

    def _value_range(self, terms: Sequence[Term]) -> Ends:
        """The lowest and the highest value that these terms can have."""
        weight = sum(term.weight / term.group_count for term in terms)
        return _scaled_ends(self.rows.ends, weight)

    def _ratio_range(self, figure: Figure) -> Ends:
        """The lowest and the highest ratio of two marks."""
        low, high = self.rows.mark_ends
        if low <= 0:
            return Ends(0.0, math.inf)
        return Ends(figure.factor * low / high, figure.factor * high / low)

    def _sample(self, term: Term, unscored: int) -> Sample:
        """The scored answers of a share."""
        is_counted = term.denominators != 0
        rows: list[int] = term.rows[is_counted].tolist()
        pictures = [self.rows.pictures[row] for row in rows]
        return Sample(term.numerators[is_counted], pictures, unscored)

    def _mean_interval(self, term: Term, bounds: Ends, scale: Ends) -> Ends | None:
        is_counted = term.denominators > 0
        scores = np.full((len(self.rows), 1), np.nan)
        scores[term.rows[is_counted], 0] = term.numerators[is_counted]
        ends = mean_ends(scores, self.rows.pictures, added=scale, scale=scale)
        if ends is None:
            return None
        return possible_ends(
            _scaled_ends(ends, term.weight), *bounds, _scaled_ends(scale, term.weight)
        )

    def _bootstrap_interval(self, figure: Figure, terms: Sequence[Term]) -> Ends | None:
        """Percentiles over weights drawn for clusters (Rubin 1981): rows on one picture or in one unit have one weight.

        Drawing rows instead would often leave out all rows of a small group.
        """
        used = np.unique(np.concatenate([term.rows for term in terms]))
        clusters = np.full(len(self.rows), _UNUSED)
        clusters[used] = np.unique(self._clusters(figure)[used], return_inverse=True)[1]
        size = int(clusters.max()) + 1
        if size < _FEWEST:
            return None
        sums = [_cluster_sums(term, clusters, size) for term in terms]
        numerators = np.stack([term_sums.numerators for term_sums in sums], axis=1)
        denominators = np.stack([term_sums.denominators for term_sums in sums], axis=1)
        term_weights = np.array([term.weight / term.group_count for term in terms])
        random = np.random.default_rng(_SEED)
        values = []
        for _ in range(_REPLICATES):
            cluster_weights = random.exponential(size=size)
            ratios = (cluster_weights @ numerators) / (cluster_weights @ denominators)
            values.append(term_weights @ ratios)
        return Ends(*np.percentile(values, [_TAIL, 100 - _TAIL]).tolist())

    def _clusters(self, figure: Figure) -> Codes:
        """The number of each row's cluster: rows on one picture, or in one unit of a figure, are together."""
        codes_of_units = [self.rows.unit_codes(columns) for columns in self._unit_columns(figure)]
        return cluster_codes([self.rows.picture_codes, *codes_of_units], len(self.rows))

    def _unit_columns(self, figure: Figure) -> Iterator[Sequence[str]]:
        """Yields the columns of each `all` that a figure is made of."""
        if figure.all is not None:
            yield figure.all
        for part in self._parts(figure):
            yield from self._unit_columns(part)

    def _parts(self, figure: Figure) -> list[Figure]:
        return [self.figures[name] for name in figure.parts]

    def _figure_mask(self, figure: Figure, within: Mask) -> Mask:
        """The rows that fit a figure's own conditions."""
        return within & self.rows.mask_of_conditions(figure.where or {}, figure.without or {})

    def _support(self, figure: Figure, within: Mask) -> Mask:
        """The rows that a figure, or a part of it, is over."""
        mask = self._figure_mask(figure, within)
        if not figure.parts:
            return mask
        if figure.over is not None and figure.among is not None:
            mask = mask & self.rows.mask_of_groups(figure.over, figure.among)
        support: Mask = np.zeros(len(self.rows), dtype=bool)
        for part in self._parts(figure):
            np.logical_or(support, self._support(part, mask), out=support)
        return support

    def _is_known(self, figure: Figure) -> Mask:
        """The rows that have what a figure counts: an answer, marks or a score."""
        if figure.positive is not None:
            return self.rows.is_read
        if figure.ratio is not None or figure.mark is not None:
            return np.asarray(~np.isnan(self.rows.marks).any(axis=1))
        return ~np.isnan(self._score(figure, ""))

    def _score(self, figure: Figure, fill: Fill) -> Floats:
        """The rows' scores, or those of the figure's guesses."""
        score = self.rows.score
        if figure.chance is not None:
            score = self.rows.chance_scores
        if figure.frequent is not None:
            score = self.rows.frequent_scores(figure.frequent)
        if not fill:
            return score
        end = self.rows.ends.low if fill == "worst" else self.rows.ends.high
        return np.where(np.isnan(score), end, score)

    def _mean(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        if figure.parts:
            weight = figure.factor / len(figure.parts)
            yield from self._part_terms(figure, mask, fill, weight)
        else:
            yield _mean_term(figure.factor, self._score(figure, fill), mask)

    def _count(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        term = _mean_term(1.0, self._score(figure, fill), mask)
        yield term._replace(weight=figure.factor * float(term.denominators.sum()))

    def _all(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        yield self._unit_term(figure, mask, fill)

    def _unit_term(self, figure: Figure, mask: Mask, fill: Fill) -> Term:
        """Each unit at its first row: right if all its rows are, wrong if one is, else not counted."""
        score = self._score(figure, fill)[mask]
        rows = np.flatnonzero(mask)
        numerators = np.zeros(len(self.rows))
        denominators = np.zeros(len(self.rows))
        if len(rows):
            _, first_places, units = np.unique(
                self.rows.unit_codes(figure.all or ())[mask], return_index=True, return_inverse=True
            )
            size = len(first_places)
            is_wrong = np.bincount(units, score < 1, size) > 0
            is_unread = np.bincount(units, np.isnan(score), size) > 0
            first_rows = rows[first_places]
            numerators[first_rows] = ~is_wrong & ~is_unread
            denominators[first_rows] = is_wrong | ~is_unread
        return _term(figure.factor, numerators, denominators)

    def _mean_of(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        groups = self.rows.groups(figure.mean_of or "").values()
        score = self._score(figure, fill)
        terms = [_mean_term(figure.factor, score, mask & group) for group in groups]
        scored_groups = [term for term in terms if term.denominators.any()]
        for term in scored_groups:
            yield term._replace(group_count=len(scored_groups))

    def _positive_answers(self, positive: str, fill: Fill) -> _PositiveAnswers:
        is_truth = self.rows.mask_with_text(self.rows.truth, positive)
        is_answer = self.rows.mask_with_text(self.rows.read, positive)
        is_read = self.rows.is_read
        if not fill:
            return _PositiveAnswers(is_answer, is_truth, is_read)
        filled_answer = is_truth if fill == "best" else ~is_truth
        return _PositiveAnswers(
            is_answer=np.where(is_read, is_answer, filled_answer),
            is_truth=is_truth,
            is_counted=self.rows.all_rows,
        )

    def _f1(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        positive = self._positive_answers(figure.f1 or "", fill)
        is_counted = mask & positive.is_counted
        answers = _as_floats(is_counted & positive.is_answer)
        truths = _as_floats(is_counted & positive.is_truth)
        hits = _as_floats(is_counted & positive.is_answer & positive.is_truth)
        yield _term(figure.factor, 2 * hits, answers + truths)

    def _precision(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        positive = self._positive_answers(figure.precision or "", fill)
        is_counted = mask & positive.is_counted & positive.is_answer
        yield _term(
            figure.factor, _as_floats(is_counted & positive.is_truth), _as_floats(is_counted)
        )

    def _recall(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        positive = self._positive_answers(figure.recall or "", fill)
        is_counted = mask & positive.is_counted & positive.is_truth
        yield _term(
            figure.factor, _as_floats(is_counted & positive.is_answer), _as_floats(is_counted)
        )

    def _yes(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        is_answer = self.rows.mask_with_text(self.rows.read, figure.yes or "")
        is_counted = mask & self.rows.is_read
        if fill:
            is_counted = mask
            is_answer = np.where(self.rows.is_read, is_answer, fill == "best")
        yield _term(figure.factor, _as_floats(is_counted & is_answer), _as_floats(is_counted))

    def _above(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        score = self._score(figure, fill)
        is_counted = mask & ~np.isnan(score)
        is_above = is_counted & (np.nan_to_num(score) > (figure.above or 0.0))
        yield _term(figure.factor, _as_floats(is_above), _as_floats(is_counted))

    def _ratio(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        first, second = self.rows.marks.T
        low, high = self.rows.mark_ends
        if fill == "worst":
            first = np.where(np.isnan(first), high, first)
            second = np.where(np.isnan(second), low, second)
        if fill == "best":
            first = np.where(np.isnan(first), low, first)
            second = np.where(np.isnan(second), high, second)
        is_counted = mask & ~np.isnan(first) & ~np.isnan(second)
        yield _term(
            figure.factor, np.where(is_counted, second, 0.0), np.where(is_counted, first, 0.0)
        )

    def _mark(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        marks = self.rows.marks[:, (figure.mark or 1) - 1]
        if fill:
            end = self.rows.mark_ends.low if fill == "worst" else self.rows.mark_ends.high
            marks = np.where(np.isnan(marks), end, marks)
        is_counted = mask & ~np.isnan(marks)
        yield _term(figure.factor, np.where(is_counted, marks, 0.0), _as_floats(is_counted))

    def _sum(self, figure: Figure, mask: Mask, fill: Fill) -> Iterator[Term]:
        if figure.over is None:
            yield from self._part_terms(figure, mask, fill, figure.factor)
            return
        for name, group in self.rows.groups(figure.over).items():
            if (figure.among is None or name in figure.among) and (mask & group).any():
                yield from self._part_terms(figure, mask & group, fill, figure.factor)

    def _part_terms(self, figure: Figure, mask: Mask, fill: Fill, weight: float) -> Iterator[Term]:
        """Yields the terms of the figures that a figure is made of; a part without terms makes its value None."""
        for part in self._parts(figure):
            terms = self.terms(part, mask, fill)
            if not terms:
                zeros = np.zeros(len(self.rows))
                yield _term(weight, zeros, zeros)
            for term in terms:
                yield term._replace(weight=weight * term.weight)


_TERMS: Mapping[str, Callable[[_FigureValues, Figure, Mask, Fill], Iterator[Term]]] = {
    "mean": _FigureValues._mean,
    "count": _FigureValues._count,
    "all": _FigureValues._all,
    "mean_of": _FigureValues._mean_of,
    "f1": _FigureValues._f1,
    "precision": _FigureValues._precision,
    "recall": _FigureValues._recall,
    "yes": _FigureValues._yes,
    "sum": _FigureValues._sum,
    "above": _FigureValues._above,
    "ratio": _FigureValues._ratio,
    "mark": _FigureValues._mark,
}


def cluster_codes(columns: Sequence[Codes], size: int) -> Codes:
    """The number of each row's cluster: rows that share a code in one of these columns, directly or by way of others.

    -1 is no code; `size` is the number of rows. A cluster's number is that of its first row.
    """
    clusters = np.arange(size)
    while True:
        before = clusters.copy()
        for codes in columns:
            has_code = codes >= 0
            least = np.full(int(codes.max(initial=-1)) + 1, size)
            np.minimum.at(least, codes[has_code], clusters[has_code])
            clusters[has_code] = least[codes[has_code]]
        if (clusters == before).all():
            return clusters


def _term(weight: float, numerators: Floats, denominators: Floats) -> Term:
    """A part of a figure, from the numerators and denominators of all rows."""
    rows = np.flatnonzero((numerators != 0) | (denominators != 0))
    return Term(weight, numerators[rows], denominators[rows], rows)


def _mean_term(weight: float, score: Floats, mask: Mask) -> Term:
    """The mean of the scores of some rows, NaN left out."""
    rows = (mask & ~np.isnan(score)).nonzero()[0]
    return Term(weight, score[rows], np.ones(len(rows)), rows)


class _ClusterSums(NamedTuple):
    """Sums over the rows of each cluster."""

    numerators: Floats
    denominators: Floats


def _cluster_sums(term: Term, clusters: Codes, size: int) -> _ClusterSums:
    codes = clusters[term.rows]
    numerators = np.bincount(codes, term.numerators, size).astype(np.float64)
    denominators = np.bincount(codes, term.denominators, size).astype(np.float64)
    return _ClusterSums(numerators, denominators)


def _as_floats(mask: Mask) -> Floats:
    return mask.astype(np.float64)


def _scaled_ends(ends: Ends, factor: float) -> Ends:
    return Ends(factor * ends.low, factor * ends.high)
