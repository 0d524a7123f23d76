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


class FileAgreement(NamedTuple):
    """A source's agreement with the metrics of a file, and the reproductions by these metrics alone."""

    agreement: PeopleAgreement
    metrics: Sequence[Reproduction]


class AgreementService:
    """The page's operations; an owner is the hash of a voter cookie. All raise DatabaseError.

    A source's agreement is computed once per set of votes. Votes are read again after `every` seconds; files that are
    large are read by `aside`, in a process of its own.
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
        self._polls_by_source: dict[str, _CachedPoll] = {}
        self._scores: dict[tuple[str, bytes], float] = {}
        """Scores by metric and digest of a candidate."""

    def sources(self) -> Sequence[str]:
        return self._polls.sources()

    def agreement(
        self, source: str, scores: Mapping[str, Scores] = MappingProxyType({})
    ) -> PeopleAgreement:
        """A source's agreement; `scores` of other metrics, by name, are added for this caller and not cached."""
        cached = self._read(source)
        agreement = cached.agreement
        if not scores:
            return agreement
        contests = between_models(cached.poll)
        measures = [by_scores(name, by_answer, contests) for name, by_answer in scores.items()]
        added = reproductions(contests, measures)
        return replace(agreement, reproductions=ranked([*agreement.reproductions, *added]))

    def compare_file(self, source: str, owner: str, token: str) -> FileAgreement:
        """A source's agreement with the metrics of an uploaded file. Raises UploadStoreError, RowsError, AsideError."""
        upload = self._upload_store.find(owner, token)
        taken = {reproduction.measure for reproduction in self.agreement(source).reproductions}
        read = partial(read_scores, upload.path, taken, PAGE, upload.name)
        if self._aside and Source.from_upload(upload).is_large:
            scores = self._aside.run(read, network=upload.network)
        else:
            scores = read()
        agreement = self.agreement(source, scores)
        metrics = [
            reproduction
            for reproduction in agreement.reproductions
            if reproduction.measure in scores
        ]
        return FileAgreement(agreement, metrics)

    def answers(self, source: str) -> list[tuple[str, str]]:
        """The answers of a source that a metric's file scores, as (item, model)."""
        return answers_met(between_models(self._read(source).poll))

    def _read(self, source: str) -> "_CachedPoll":
        with self._lock:
            cached = self._polls_by_source.get(source)
            if cached is not None and time.monotonic() - cached.read_at < self._every:
                return cached
            poll = self._polls.poll(source)
            poll = replace(poll, verdicts=(*poll.verdicts, *self._verdicts.verdicts(source)))
            if cached is not None and poll == cached.poll:
                agreement = cached.agreement
            else:
                agreement = people_agreement(poll, scorer=self._score_answers)
            cached = _CachedPoll(time.monotonic(), poll, agreement)
            self._polls_by_source[source] = cached
            return cached

    def _score_answers(self, name: MetricName, candidates: Sequence[Candidate]) -> Scores:
        """Scores of the answers, computing only new ones: a score depends on the answer and its reference alone."""
        keys = {candidate: (name, _digest(candidate)) for candidate in candidates}
        new = [candidate for candidate in candidates if keys[candidate] not in self._scores]
        new_scores = score(name, new)
        for candidate in new:
            answer = (candidate.item, candidate.model)
            if answer in new_scores:
                self._scores[keys[candidate]] = new_scores[answer]
        return {
            (candidate.item, candidate.model): self._scores[key]
            for candidate, key in keys.items()
            if key in self._scores
        }


def _digest(candidate: Candidate) -> bytes:
    return hashlib.blake2b(repr(candidate).encode("utf-8", "replace"), digest_size=16).digest()


class _CachedPoll(NamedTuple):
    """A source's poll and its agreement; `read_at` is when they were read, in seconds of the monotonic clock."""

    read_at: float
    poll: Poll
    agreement: PeopleAgreement
