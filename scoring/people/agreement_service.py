"""Service of the "Judges and people" page: each source's agreement, with the metrics of a visitor's own file."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

from arena.imports.polls import Polls
from arena.io.aside import Aside
from arena.io.tables import PAGE
from arena.ratings.agreement import Poll, Reproduction, by_scores, ranked, reproductions
from scoring.jobs.files import Source
from scoring.jobs.uploads import UploadStore
from scoring.people.agreement import (
    PeopleAgreement,
    Scores,
    answers_met,
    between_models,
    people_agreement,
)
from scoring.people.agreement_files import read_scores
from scoring.people.text_metrics import Candidate, MetricName, score
from scoring.visit_bench.store import SubmissionStore


class AgreementService:
    """The page's operations; an owner is the hash of a voter cookie. All raise DatabaseError.

    A source's agreement is computed once per set of votes, which are read at most every `every` seconds.
    """

    def __init__(
        self,
        polls: Polls,
        verdicts: SubmissionStore,
        upload_store: UploadStore,
        every: float = 60.0,
        aside: Aside | None = None,
    ) -> None:
        self._polls = polls
        self._verdicts = verdicts
        self._upload_store = upload_store
        self._every = every
        self._aside = aside
        self._lock = Lock()
        self._kept: dict[str, _CachedPoll] = {}
        self._scores: dict[tuple[str, bytes], float] = {}
        """By the digest of answer and reference."""

    def sources(self) -> Sequence[str]:
        return self._polls.sources()

    def of(
        self, source: str, scores: Mapping[str, Scores] = MappingProxyType({})
    ) -> PeopleAgreement:
        """A source's agreement; `scores` of other metrics, by name, are added for this caller and not cached."""
        kept = self._read(source)
        if not scores:
            return kept.people_agreement
        between = between_models(kept.poll)
        own = reproductions(
            between, [by_scores(name, given, between) for name, given in scores.items()]
        )
        return replace(
            kept.people_agreement,
            reproductions=ranked([*kept.people_agreement.reproductions, *own]),
        )

    def beside(
        self, source: str, owner: str, token: str
    ) -> tuple[PeopleAgreement, Sequence[Reproduction]]:
        """A source's agreement with the metrics of an uploaded file, and these. Raises UploadStoreError, RowsError."""
        arrived = self._upload_store.find(owner, token)
        taken = {one.measure for one in self.of(source).reproductions}
        read = partial(read_scores, arrived.path, taken, PAGE, arrived.name)
        aside = self._aside if Source.of(arrived).is_large else None
        scores = aside.run(read, network=arrived.network) if aside else read()
        found = self.of(source, scores)
        return found, [one for one in found.reproductions if one.measure in scores]

    def answers(self, source: str) -> list[tuple[str, str]]:
        return answers_met(between_models(self._read(source).poll))

    def _read(self, source: str) -> "_CachedPoll":
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
        keys = {one: (name, _digest(one)) for one in candidates}
        new = [one for one in candidates if keys[one] not in self._scores]
        fresh = score(name, new)
        self._scores |= {
            keys[one]: fresh[one.item, one.model] for one in new if (one.item, one.model) in fresh
        }
        known = ((one, self._scores.get(keys[one])) for one in candidates)
        return {(one.item, one.model): value for one, value in known if value is not None}


def _digest(one: Candidate) -> bytes:
    return hashlib.blake2b(repr(one).encode("utf-8", "replace"), digest_size=16).digest()


class _CachedPoll(NamedTuple):
    at: float
    poll: Poll
    people_agreement: PeopleAgreement
