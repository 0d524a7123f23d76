"""Agreement with people: how far people agree, and how often each metric and judge reproduces their majority.

As in VisIT-Bench (4.3), only contests between two models count, not those with a reference; a metric prefers the answer
with the higher score, and a coin breaks ties.
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
"""Contestants that are not models."""

Scores = Mapping[tuple[str, str], float]
"""A metric's scores by (item, model)."""
Scorer = Callable[[MetricName, Sequence[Candidate]], Scores]

EVERY_SECONDS = 60.0
"""Minimum seconds between two reads of a source's votes."""


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement among several people, and between them and the measures."""

    contests: int
    """All contests with a vote."""
    with_reference: int
    """Contests with several votes that are left out because one side is a reference."""
    people: People
    reproductions: tuple[Reproduction, ...]
    notices: tuple[str, ...]


class PollSource(Protocol):
    """Source of the votes: the arena's database."""

    def sources(self) -> Sequence[str]: ...

    def poll(self, source: str) -> Poll:
        """The votes on a source's items."""
        ...


class VerdictSource(Protocol):
    """Source of the judges' verdicts."""

    def verdicts(self, source: str) -> Sequence[Verdict]:
        """The verdicts on a source's items, one per pair and judge."""
        ...


def people_agreement(
    poll: Poll,
    scores: Mapping[str, Scores] = MappingProxyType({}),
    metrics: Collection[MetricName] = KEPT,
    scorer: Scorer = score,
) -> PeopleAgreement:
    """Agreement of people with each other, with judges, with text metrics, and with other metrics' `scores` by name.

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
    """Contests between two models with votes of several people: what a measure has to reproduce."""
    voted = several(poll.choices)
    return {contest: chosen for contest, chosen in voted.items() if not REFERENCES & set(contest[1:])}


class PeopleAgreements:
    """Cache of each source's agreement: computed once per set of votes, not once per visitor.

    `every` is the minimum number of seconds between two reads of a source's votes.
    """

    def __init__(self, polls: PollSource, verdicts: VerdictSource, every: float = EVERY_SECONDS) -> None:
        self._polls, self._verdicts, self._every = polls, verdicts, every
        self._lock = Lock()
        self._kept: dict[str, _CachedPoll] = {}
        self._scores: dict[tuple[MetricName, Candidate], float] = {}

    def sources(self) -> tuple[str, ...]:
        return tuple(self._polls.sources())

    def of(self, source: str, scores: Mapping[str, Scores] = MappingProxyType({})) -> PeopleAgreement:
        """A source's agreement, with the text metrics in `KEPT`. Raises DatabaseError.

        `scores` are other metrics' scores by name: they are added to this caller's result and not cached.
        """
        kept = self._read(source)
        if not scores:
            return kept.people_agreement
        between = between_models(kept.poll)
        own = reproductions(between, [by_scores(name, given, between) for name, given in scores.items()])
        return replace(kept.people_agreement, reproductions=ranked([*kept.people_agreement.reproductions, *own]))

    def answers(self, source: str) -> list[tuple[str, str]]:
        """(item, model) of each answer that a measure has to score. Raises DatabaseError."""
        return _met(between_models(self._read(source).poll))

    def _read(self, source: str) -> "_CachedPoll":
        """A source's votes and their agreement, not much older than `every` seconds."""
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
        """Scores of the answers, computing only new ones: a score depends on the answer and its reference alone."""
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
    return [
        Candidate(item, model, poll.answers[item, model], poll.answers.get((item, REFERENCE)))
        for item, model in _met(contests)
        if (item, model) in poll.answers
    ]


def _met(contests: Collection[Contest]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((contest.item, model) for contest in contests for model in contest[1:]))
