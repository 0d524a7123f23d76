"""Agreement among people, and the share of their majorities that a measure reproduces.

The unit is a contest: an item and two models, on either side. Coefficients of two values, such as Krippendorff's alpha,
would change with the models' names if the values were a contest's first and second model. So every contest enters
twice, once with its models exchanged, which makes both values equally likely by chance. Everything is vectorised over
the distinct kinds of contests (by the votes for each model), so that the bootstrap costs the same at any number of
votes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.intervals import percentiles
from arena.ratings.shares import Share, shares
from arena.ratings.votes import Floats

Preference = Literal["first", "second", "tie"]
Winner = Literal["a", "b", "tie"]
ROUNDS = 1000
"""Bootstrap draws."""
LEAST_CONTESTS = 10
"""Contests below which there is no bootstrap interval."""
Coefficient = Callable[[Floats, Floats], Floats]
"""Returns a coefficient of each draw. Units with the same counts of values are one kind. First argument, draws x kinds:
the number of units of each kind in a draw. Second, kinds x values: how often each value occurs in one unit."""


class Contest(NamedTuple):
    """An item and two models that answered it, ordered by name."""

    item: str
    first: str
    second: str


def contest_of(item: str, model: str, other: str) -> Contest:
    """Returns the contest of two models in either order. Raises ValueError for a model against itself."""
    if model == other:
        raise ValueError(f"{model!r} is compared with itself on {item!r}")
    return Contest(item, min(model, other), max(model, other))


class Choices(NamedTuple):
    """The number of people who chose each model of a contest; those who chose a tie are in neither."""

    first: int
    second: int

    @property
    def level(self) -> "Level":
        return Level(max(self), sum(self))

    @property
    def majority(self) -> Preference:
        """The model with the majority; "tie" without one."""
        return _preferred(self.first, self.second)


class Level(NamedTuple):
    """Unanimity of the votes on a contest, as in 4/5."""

    most: int
    votes: int

    def __str__(self) -> str:
        return f"{self.most}/{self.votes}"


@dataclass(frozen=True)
class Estimate:
    """A coefficient with its bootstrap interval; None where undefined."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class People:
    """Agreement among people, over contests with several votes."""

    contests: int
    votes: int
    levels: Mapping[Level, Share]
    """Share of each level among the contests with as many votes; most votes first, then most unanimous first."""
    with_majority: Share
    """Share of the votes in contests with a majority that agree with it. They are part of that majority themselves."""
    undecided: int
    """Contests without a majority."""
    alpha: Estimate
    """Krippendorff's alpha, nominal."""
    ac1: Estimate
    """Gwet's AC1, which is 2 Po - 1: Po is the share of a contest's pairs of votes that agree."""


@dataclass(frozen=True)
class Measure:
    """Preferences of a metric or a judge by contest; contests without a preference are absent."""

    name: str
    preferences: Mapping[Contest, Preference]


@dataclass(frozen=True)
class Reproduction:
    """The share of the people's majorities that a measure reproduces."""

    measure: str
    overall: Share
    levels: Mapping[Level, Share]
    """The shares by the people's unanimity, in the order of `People.levels`, without levels that have no majority."""
    ties: int
    """Contests decided by a coin."""
    missing: int
    """Contests with a majority but without the measure's preference."""


class Verdict(NamedTuple):
    """A judge's choice in a contest: a vote of kind judge."""

    item: str
    model_a: str
    model_b: str
    winner: Winner
    judge: str
    """Judge and method, as in "gpt-4-0613, reference-free"."""


@dataclass(frozen=True)
class Poll:
    """People's choices, the answers they chose between, and judges' choices."""

    choices: Mapping[Contest, Choices]
    answers: Mapping[tuple[str, str], str]
    """Answer texts by (item, model)."""
    verdicts: tuple[Verdict, ...] = ()
    notices: tuple[str, ...] = ()
    """Notices for the reader about the votes, such as excluded ones."""


def share(hits: int, n: int) -> Share:
    """Returns the share of hits in n, with its 95% interval: 0 to 1 if n is 0."""
    return shares(np.array([hits]), np.array([n]))[0]


def with_several_votes(choices: Mapping[Contest, Choices]) -> dict[Contest, Choices]:
    """Returns the contests that more than one person voted on."""
    return {contest: counts for contest, counts in choices.items() if sum(counts) > 1}


def people(choices: Iterable[Choices], rounds: int = ROUNDS) -> People:
    """Returns the agreement among people. Raises ValueError for a contest with fewer than two votes."""
    contests_by_choices = Counter(choices)
    if any(sum(counts) < 2 for counts in contests_by_choices):
        raise ValueError("agreement is between people: each contest needs two votes")
    contests_by_level: Counter[Level] = Counter()
    contests_by_votes: Counter[int] = Counter()
    for counts, contests in contests_by_choices.items():
        contests_by_level[counts.level] += contests
        contests_by_votes[sum(counts)] += contests
    decided = {
        level: contests
        for level, contests in contests_by_level.items()
        if 2 * level.most > level.votes
    }
    counts_by_kind = np.array(list(contests_by_choices), dtype=np.float64).reshape(-1, 2)
    times = np.array(list(contests_by_choices.values()), dtype=np.float64)
    return People(
        contests=contests_by_choices.total(),
        votes=sum(votes * contests for votes, contests in contests_by_votes.items()),
        levels={
            level: share(contests_by_level[level], contests_by_votes[level.votes])
            for level in _ordered(contests_by_level)
        },
        with_majority=share(
            sum(level.most * contests for level, contests in decided.items()),
            sum(level.votes * contests for level, contests in decided.items()),
        ),
        undecided=contests_by_choices.total() - sum(decided.values()),
        alpha=estimate(_mirrored_alpha, counts_by_kind, times, rounds),
        ac1=estimate(_ac1, counts_by_kind, times, rounds),
    )


def reproductions(
    choices: Mapping[Contest, Choices], measures: Iterable[Measure]
) -> tuple[Reproduction, ...]:
    """Returns how well each measure reproduces the majorities, best first; measures without a preference last."""
    decided = {contest: counts for contest, counts in choices.items() if counts.majority != "tie"}
    return ranked(_reproduction(decided, measure) for measure in measures)


def ranked(reproductions: Iterable[Reproduction]) -> tuple[Reproduction, ...]:
    """Sorts measures, best first; measures without a preference come last."""

    def order(reproduction: Reproduction) -> tuple[bool, float, str]:
        overall = reproduction.overall
        return overall.n == 0, -(overall.value or 0), reproduction.measure

    return tuple(sorted(reproductions, key=order))


def coin(contest: Contest) -> Preference:
    """Returns the preference of a fair coin, seeded by the item and its two models in either order."""
    first_byte = _hash("coin", contest.item, contest.first, contest.second)[0]
    return "second" if first_byte & 1 else "first"


def random_score(item: str, model: str) -> float:
    """Returns a score from 0 to 1 that ignores the answer, the same at every call."""
    return int.from_bytes(_hash("score", item, model)[:7]) / (1 << 56)


def by_scores(
    name: str, scores: Mapping[tuple[str, str], float], contests: Iterable[Contest]
) -> Measure:
    """Returns the preferences of a metric from its scores by (item, model): the higher score wins."""
    preferences: dict[Contest, Preference] = {}
    for contest in contests:
        first = scores.get((contest.item, contest.first))
        second = scores.get((contest.item, contest.second))
        if first is not None and second is not None:
            preferences[contest] = _preferred(first, second)
    return Measure(name, preferences)


def by_verdicts(verdicts: Iterable[Verdict]) -> tuple[Measure, ...]:
    """Returns the preferences of each judge; the last of its verdicts on a contest counts."""
    judges: dict[str, dict[Contest, Preference]] = {}
    for item, model_a, model_b, winner, judge in verdicts:
        contest = contest_of(item, model_a, model_b)
        preferences = judges.setdefault(judge, {})
        if winner == "tie":
            preferences[contest] = "tie"
        else:
            better = model_a if winner == "a" else model_b
            preferences[contest] = "first" if better == contest.first else "second"
    return tuple(Measure(judge, preferences) for judge, preferences in judges.items())


def _preferred(first: float, second: float) -> Preference:
    if first == second:
        return "tie"
    return "first" if first > second else "second"


def _ordered(levels: Iterable[Level]) -> list[Level]:
    return sorted(levels, key=lambda level: (-level.votes, -level.most))


def _reproduction(decided: Mapping[Contest, Choices], measure: Measure) -> Reproduction:
    hits: Counter[Level] = Counter()
    judged: Counter[Level] = Counter()
    ties = 0
    for contest, counts in decided.items():
        preferred = measure.preferences.get(contest)
        if preferred is None:
            continue
        judged[counts.level] += 1
        if preferred == "tie":
            ties += 1
            preferred = coin(contest)
        if preferred == counts.majority:
            hits[counts.level] += 1
    levels = {counts.level for counts in decided.values()}
    return Reproduction(
        measure=measure.name,
        overall=share(hits.total(), judged.total()),
        levels={level: share(hits[level], judged[level]) for level in _ordered(levels)},
        ties=ties,
        missing=len(decided) - judged.total(),
    )


def estimate(
    coefficient: Coefficient, counts: Floats, times: Floats, rounds: int = ROUNDS
) -> Estimate:
    """Returns a coefficient with its bootstrap interval over units; `counts` is kinds of units x values, `times` the
    number of units of each kind.

    There is no interval below LEAST_CONTESTS units, if a draw leaves the coefficient undefined, or if no draw moves it.
    """
    units = int(times.sum())
    (value,) = coefficient(times[None, :], counts)
    if np.isnan(value):
        return Estimate(None, None, None)
    if units < LEAST_CONTESTS:
        return Estimate(float(value), None, None)
    drawn = np.random.default_rng(0).multinomial(units, times / units, rounds)
    draws = coefficient(drawn.astype(np.float64), counts)
    if np.isnan(draws).any() or draws.min() == draws.max():
        return Estimate(float(value), None, None)
    bounds = percentiles(draws)
    return Estimate(float(value), float(bounds.low), float(bounds.high))


def alpha(weights: Floats, counts: Floats) -> Floats:
    """Returns Krippendorff's alpha, nominal, of each draw; `weights` and `counts` are those of a Coefficient.

    It is 1 for a draw with a single value, and NaN without units. Every unit has two values or more.
    """
    # The ordered pairs of values that differ: within each unit, and, by chance, among all values of a draw.
    size = counts.sum(1)
    observed = weights @ ((size**2 - (counts**2).sum(1)) / (size - 1))
    values = weights @ counts
    total = values.sum(1)
    chance = (total**2 - (values**2).sum(1)) / np.maximum(total - 1, 1)
    ratio = np.divide(observed, chance, out=np.zeros(len(weights)), where=chance > 0)
    return np.where(total > 0, 1 - ratio, np.nan)


def _mirrored_alpha(weights: Floats, counts: Floats) -> Floats:
    """Alpha of each draw together with its mirror image, where the two values are exchanged."""
    return alpha(np.hstack([weights, weights]), np.vstack([counts, counts[:, ::-1]]))


def _ac1(weights: Floats, counts: Floats) -> Floats:
    """Gwet's (2008) AC1 of each draw; NaN without contests.

    With a draw's mirror image, chance agreement is 1/2, so the formula needs no exchanged votes.
    """
    first, second = counts.T
    votes = first + second
    contests = weights.sum(1)
    agreed = weights @ ((first * (first - 1) + second * (second - 1)) / (votes * (votes - 1)))
    undefined = np.full(len(weights), np.nan)
    observed = np.divide(agreed, contests, out=undefined, where=contests > 0)
    return 2 * observed - 1


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()
