"""How far people agree with one another, and how often a measure reproduces their majority.

The unit is a contest: an item and two models, whatever side either stood on. Where a number needs two fixed values, as
Krippendorff's alpha does, these are the first and the second model by name. Vectorised over the kinds of contests that
there are, so that the bootstrap costs the same at any number of votes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from arena.ratings.intervals import LEVEL, wilson
from arena.ratings.votes import Floats

Preference = Literal["first", "second", "tie"]
Winner = Literal["a", "b", "tie"]
ROUNDS = 1000
"""Draws of the bootstrap."""
LEAST_CONTESTS = 10
"""Contests under which a bootstrap says nothing."""


class Contest(NamedTuple):
    """An item and the two models that answered it, in the order of their names."""

    item: str
    first: str
    second: str


def contest_of(item: str, model: str, other: str) -> Contest:
    """Return the contest of two models, given in either order; raises ValueError for a model against itself."""
    if model == other:
        raise ValueError(f"{model!r} is compared with itself on {item!r}")
    return Contest(item, min(model, other), max(model, other))


class Choices(NamedTuple):
    """How many people chose either model of a contest."""

    first: int
    second: int

    @property
    def level(self) -> "Level":
        """Return how unanimous they were."""
        return Level(max(self), sum(self))

    @property
    def majority(self) -> Preference:
        """Return what most chose; a tie has no majority."""
        return "tie" if self.first == self.second else "first" if self.first > self.second else "second"


class Level(NamedTuple):
    """How unanimous the votes on a contest are, as in 4/5."""

    most: int
    votes: int

    def __str__(self) -> str:
        return f"{self.most}/{self.votes}"


@dataclass(frozen=True)
class Share:
    """A share of cases with its binomial interval (Wilson's)."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """Return hits / n; None where there are no cases."""
        return self.hits / self.n if self.n else None


@dataclass(frozen=True)
class Estimate:
    """A coefficient with its bootstrap interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class People:
    """How far people agree, over contests with several votes."""

    contests: int
    votes: int
    levels: Mapping[Level, Share]
    """Share of each level among the contests with as many votes; most votes first, then the most unanimous."""
    with_majority: Share
    """Single votes that went with the majority of their contest, which they are part of."""
    undecided: int
    """Contests without a majority."""
    alpha: Estimate
    """Krippendorff's, nominal. Undefined where every vote is for the same side of the alphabet."""
    ac1: Estimate
    """Gwet's."""


@dataclass(frozen=True)
class Measure:
    """What a metric or a judge prefers, by contest; a contest that it says nothing about is absent."""

    name: str
    preferences: Mapping[Contest, Preference]


@dataclass(frozen=True)
class Reproduction:
    """How often a measure reproduces what most people chose."""

    measure: str
    overall: Share
    levels: Mapping[Level, Share]
    """By how unanimous the people were; in the order of `People.levels`, levels without a majority left out."""
    ties: int
    """Contests that a coin decided."""
    missing: int
    """Contests with a majority that the measure says nothing about."""


class Verdict(NamedTuple):
    """A judge's choice in a contest: a vote of kind judge."""

    item: str
    model_a: str
    model_b: str
    winner: Winner
    judge: str
    """Who judged and how, as in "gpt-4-0613, reference-free"."""


@dataclass(frozen=True)
class Poll:
    """What people chose, what they chose between, and what judges chose."""

    choices: Mapping[Contest, Choices]
    answers: Mapping[tuple[str, str], str]
    """The texts, by item and model."""
    verdicts: tuple[Verdict, ...] = ()
    notices: tuple[str, ...] = ()
    """What the reader should know of the votes: some left out."""


def share(hits: int, n: int) -> Share:
    """Return hits out of n with their 95% interval; the whole of 0 to 1 where n is 0."""
    low, high = wilson(np.array([hits]), np.array([n]))
    return Share(hits, n, float(low[0]), float(high[0]))


def several(choices: Mapping[Contest, Choices]) -> dict[Contest, Choices]:
    """Return the contests that several people voted on."""
    return {contest: chosen for contest, chosen in choices.items() if sum(chosen) > 1}


def people(choices: Iterable[Choices], rounds: int = ROUNDS, seed: int = 0) -> People:
    """Return how far people agree. Raises ValueError for a contest with fewer than two votes."""
    kinds = Counter(choices)
    if any(sum(chosen) < 2 for chosen in kinds):
        raise ValueError("agreement is between people: each contest needs two votes")
    levels: Counter[Level] = Counter()
    for chosen, contests in kinds.items():
        levels[chosen.level] += contests
    alike = Counter()
    for level, contests in levels.items():
        alike[level.votes] += contests
    ordered = sorted(levels, key=lambda level: (-level.votes, -level.most))
    votes = sum(level.votes * contests for level, contests in levels.items())
    undecided = sum(contests for level, contests in levels.items() if 2 * level.most == level.votes)
    decided = [(level, contests) for level, contests in levels.items() if 2 * level.most > level.votes]
    with_majority = share(
        sum(level.most * contests for level, contests in decided),
        sum(level.votes * contests for level, contests in decided),
    )
    return People(
        contests=kinds.total(),
        votes=votes,
        levels={level: share(levels[level], alike[level.votes]) for level in ordered},
        with_majority=with_majority,
        undecided=undecided,
        **_coefficients(kinds, rounds, seed),
    )


def reproductions(choices: Mapping[Contest, Choices], measures: Iterable[Measure]) -> tuple[Reproduction, ...]:
    """Return how often each measure reproduces the majorities, best first; those that say nothing come last."""
    decided = {contest: chosen for contest, chosen in choices.items() if chosen.majority != "tie"}
    return ranked(_reproduction(decided, measure) for measure in measures)


def ranked(found: Iterable[Reproduction]) -> tuple[Reproduction, ...]:
    """Return measures' reproductions, best first; those of measures that say nothing come last."""
    return tuple(sorted(found, key=lambda one: (one.overall.n == 0, -(one.overall.value or 0), one.measure)))


def coin(contest: Contest) -> Preference:
    """Return what a fair coin, seeded by the unordered pair, prefers."""
    return "second" if _hash("coin", *contest)[0] & 1 else "first"


def random_score(item: str, model: str) -> float:
    """Return a score from 0 to 1 that knows nothing of the answer, the same at every call."""
    return int.from_bytes(_hash("score", item, model)[:7]) / (1 << 56)


def by_scores(name: str, scores: Mapping[tuple[str, str], float], contests: Iterable[Contest]) -> Measure:
    """Return what a metric prefers from its scores by (item, model): the higher one."""
    preferences: dict[Contest, Preference] = {}
    for contest in contests:
        first, second = (scores.get((contest.item, model)) for model in contest[1:])
        if first is not None and second is not None:
            preferences[contest] = "tie" if first == second else "first" if first > second else "second"
    return Measure(name, preferences)


def by_verdicts(verdicts: Iterable[Verdict]) -> tuple[Measure, ...]:
    """Return what each judge prefers; of a judge's several verdicts on a contest, its last."""
    judges: dict[str, dict[Contest, Preference]] = {}
    for item, model_a, model_b, winner, judge in verdicts:
        contest = contest_of(item, model_a, model_b)
        better = {"a": model_a, "b": model_b, "tie": None}[winner]
        preferred = "tie" if better is None else "first" if better == contest.first else "second"
        judges.setdefault(judge, {})[contest] = preferred
    return tuple(Measure(judge, preferences) for judge, preferences in judges.items())


def _reproduction(decided: Mapping[Contest, Choices], measure: Measure) -> Reproduction:
    hits: Counter[Level] = Counter()
    seen: Counter[Level] = Counter()
    ties = 0
    for contest, chosen in decided.items():
        preferred = measure.preferences.get(contest)
        if preferred is None:
            continue
        ties += preferred == "tie"
        seen[chosen.level] += 1
        hits[chosen.level] += (coin(contest) if preferred == "tie" else preferred) == chosen.majority
    levels = sorted({chosen.level for chosen in decided.values()}, key=lambda level: (-level.votes, -level.most))
    return Reproduction(
        measure=measure.name,
        overall=share(hits.total(), seen.total()),
        levels={level: share(hits[level], seen[level]) for level in levels},
        ties=ties,
        missing=len(decided) - seen.total(),
    )


def _coefficients(kinds: Mapping[Choices, int], rounds: int, seed: int) -> dict[str, Estimate]:
    """Return alpha and AC1 with percentile intervals over draws of the contests."""
    counts = np.array(list(kinds), dtype=np.float64).reshape(-1, 2)
    weights = np.array([list(kinds.values())], dtype=np.float64)
    contests = int(weights.sum())
    drawn = np.zeros((0, len(counts)))
    if contests >= LEAST_CONTESTS:
        coins = np.random.default_rng(seed)
        drawn = coins.multinomial(contests, weights[0] / contests, rounds).astype(np.float64)
    return {
        name: _estimate(float(coefficient(weights, counts)[0]), coefficient(drawn, counts))
        for name, coefficient in (("alpha", _alpha), ("ac1", _ac1))
    }


def _estimate(value: float, draws: Floats) -> Estimate:
    """Return a coefficient with its interval; none where a draw leaves it undefined, or no draw moves it."""
    if np.isnan(value):
        return Estimate(None, None, None)
    if not len(draws) or np.isnan(draws).any() or draws.min() == draws.max():
        return Estimate(value, None, None)
    low, high = np.quantile(draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))


def _alpha(weights: Floats, counts: Floats) -> Floats:
    """Return Krippendorff's alpha, nominal, of each draw (draws x kinds); NaN where no disagreement was possible."""
    first, second = counts.T
    votes = first + second
    observed = weights @ (2 * first * second / (votes - 1))
    expected = 2 * (weights @ first) * (weights @ second) / (weights @ votes - 1)
    return 1 - np.divide(observed, expected, out=np.full(len(weights), np.nan), where=expected > 0)


def _ac1(weights: Floats, counts: Floats) -> Floats:
    """Return Gwet's (2008) AC1 of each draw (draws x kinds); NaN without contests."""
    first, second = counts.T
    votes, contests = first + second, weights.sum(1)
    empty = np.full(len(weights), np.nan)
    agreed = weights @ ((first * (first - 1) + second * (second - 1)) / (votes * (votes - 1)))
    agreed = np.divide(agreed, contests, out=empty.copy(), where=contests > 0)
    inclined = np.divide(weights @ (first / votes), contests, out=empty, where=contests > 0)
    chance = 2 * inclined * (1 - inclined)
    return (agreed - chance) / (1 - chance)


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()
