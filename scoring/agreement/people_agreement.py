"""Judges and people: how far people agree, and how often each metric and judge reproduces their majority.

As in VisIT-Bench (4.3) only contests between two models count, not those with a reference; a metric's preference is the
answer with the higher score, and a tie is broken by a coin.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple, Protocol

from arena.ratings.agreement import (
    Choices,
    Contest,
    People,
    Poll,
    Reproduction,
    Verdict,
    by_scores,
    by_verdicts,
    people,
    ranked,
    reproductions,
    several,
)
from arena.types import DATASET_ANSWER, REFERENCE
from scoring.agreement.text_metrics import KEPT, Candidate, MetricName, score

REFERENCES = frozenset({REFERENCE, DATASET_ANSWER})
"""Contestants that are no models."""

Scores = Mapping[tuple[str, str], float]
"""A metric's scores by item and model."""
Scorer = Callable[[MetricName, Sequence[Candidate]], Scores]

EVERY_SECONDS = 60.0
"""How often at most a source's votes are read anew."""


@dataclass(frozen=True)
class PeopleAgreement:
    """What the votes of several people tell about them and about the measures."""

    contests: int
    """All that were voted on."""
    with_reference: int
    """Contests with several votes that are left out: one side is a reference."""
    people: People
    reproductions: tuple[Reproduction, ...]
    notices: tuple[str, ...]


class PollSource(Protocol):
    """Where the votes are: the arena's database."""

    def sources(self) -> Sequence[str]:
        """Return the names of the sources, in the order of their first import."""
        ...

    def poll(self, source: str) -> Poll:
        """Return the votes on a source's items."""
        ...


class VerdictSource(Protocol):
    """Where the judges' verdicts are."""

    def verdicts(self, source: str) -> Sequence[Verdict]:
        """Return the verdicts on a source's items, one for each pair and judge."""
        ...


def people_agreement(
    poll: Poll,
    scores: Mapping[str, Scores] = MappingProxyType({}),
    metrics: Collection[MetricName] = KEPT,
    scorer: Scorer = score,
) -> PeopleAgreement:
    """Return how people, judges, text metrics, and other metrics' scores by their name go together.

    Raises TextMetricError for a metric that is not installed.
    """
    voted = several(poll.choices)
    between = between_models(poll)
    candidates = _candidates(poll, between)
    found = {**{name: scorer(name, candidates) for name in metrics}, **scores}
    measures = [by_scores(name, given, between) for name, given in found.items()]
    return PeopleAgreement(
        contests=len(poll.choices),
        with_reference=len(voted) - len(between),
        people=people(between.values()),
        reproductions=reproductions(between, [*measures, *by_verdicts(poll.verdicts)]),
        notices=poll.notices,
    )


def between_models(poll: Poll) -> dict[Contest, Choices]:
    """Return the contests of two models that several people voted on: what a measure is to reproduce."""
    voted = several(poll.choices)
    return {contest: chosen for contest, chosen in voted.items() if not REFERENCES & set(contest[1:])}


class PeopleAgreements:
    """Keep each source's concordance, so that it is found once for the votes it counts and not once for each visitor.

    `every` is how many seconds lie at least between two readings of a source's votes.
    """

    def __init__(self, polls: PollSource, verdicts: VerdictSource, every: float = EVERY_SECONDS) -> None:
        self._polls, self._verdicts, self._every = polls, verdicts, every
        self._lock = Lock()
        self._kept: dict[str, _CachedPoll] = {}
        self._scores: dict[tuple[MetricName, Candidate], float] = {}

    def sources(self) -> tuple[str, ...]:
        """Return the names of the sources, in the order of their first import. Raises DatabaseError."""
        return tuple(self._polls.sources())

    def of(self, source: str, scores: Mapping[str, Scores] = MappingProxyType({})) -> PeopleAgreement:
        """Return the concordance of a source; its text metrics are the kept ones. Raises DatabaseError.

        Other metrics' scores, by their name, stand beside them for who asks, and are not kept.
        """
        kept = self._read(source)
        if not scores:
            return kept.people_agreement
        between = between_models(kept.poll)
        own = reproductions(between, [by_scores(name, given, between) for name, given in scores.items()])
        return replace(kept.people_agreement, reproductions=ranked([*kept.people_agreement.reproductions, *own]))

    def answers(self, source: str) -> list[tuple[str, str]]:
        """Return the answers that a measure is to score: by item and model. Raises DatabaseError."""
        return _met(between_models(self._read(source).poll))

    def _read(self, source: str) -> "_CachedPoll":
        """Return a source's votes and what they tell, not much older than `every` seconds."""
        with self._lock:
            kept = self._kept.get(source)
            if kept is not None and time.monotonic() - kept.at < self._every:
                return kept
            poll = self._polls.poll(source)
            poll = replace(poll, verdicts=(*poll.verdicts, *self._verdicts.verdicts(source)))
            if kept is not None and poll == kept.poll:
                found = kept.people_agreement
            else:
                found = people_agreement(poll, scorer=self._scored)
            read = self._kept[source] = _CachedPoll(time.monotonic(), poll, found)
            return read

    def _scored(self, name: MetricName, candidates: Sequence[Candidate]) -> Scores:
        """Score the answers that are new; a kept metric's score depends on nothing but the answer and its reference."""
        new = [one for one in candidates if (name, one) not in self._scores]
        fresh = score(name, new)
        self._scores |= {(name, one): fresh[one.item, one.model] for one in new if (one.item, one.model) in fresh}
        known = ((one, self._scores.get((name, one))) for one in candidates)
        return {(one.item, one.model): value for one, value in known if value is not None}


class _CachedPoll(NamedTuple):
    at: float
    poll: Poll
    people_agreement: PeopleAgreement


def _candidates(poll: Poll, contests: Collection[Contest]) -> list[Candidate]:
    """Return the answers that met in the contests, each once, with the reference of their item."""
    return [
        Candidate(item, model, poll.answers[item, model], poll.answers.get((item, REFERENCE)))
        for item, model in _met(contests)
        if (item, model) in poll.answers
    ]


def _met(contests: Collection[Contest]) -> list[tuple[str, str]]:
    """Return the items and models of contests, each pair once."""
    return list(dict.fromkeys((contest.item, model) for contest in contests for model in contest[1:]))
