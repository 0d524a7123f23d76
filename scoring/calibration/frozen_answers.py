"""Frozen answers: what a judge is looked at with, week after week; shipped with the program, and of no uploader.

Sixty answers of this project's own (CC0-1.0) that are partly right, so that a judge has room to move either way, and
the known-worthless ones, which deserve nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

from arena.io.tables import read_records
from scoring.benchmarks.mm_vet import MM_VET, MMVet, grading, prompt_digest
from scoring.benchmarks.mm_vet_v2 import MM_VET_V2
from scoring.judges.injection import canaries
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.report import DATA, Filled, Grade, Protocol, Question

_ANSWERS = DATA / "drift_answers.jsonl"


@cache
def frozen_answers() -> tuple[Filled, ...]:
    rows = [{name: str(value) for name, value in record.values.items()} for record in read_records(_ANSWERS)]
    ours = (Filled(Question(row["id"], row["question"], row["truth"], ()), row["answer"]) for row in rows)
    return (*ours, *canaries())


def frozen_digest() -> str:
    """sha256 of the questions, truths and answers, in order: scores of other answers say nothing about these."""
    texts = [(one.question.text, one.question.truth, one.prediction) for one in frozen_answers()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


class AskedWay(NamedTuple):
    """A way to ask a judge for scores from 0 to 1, known by the hash of its prompt."""

    benchmark: MMVet
    """An edition of MM-Vet: other benchmarks' judges give no scores to compare."""
    protocol: Protocol

    @property
    def prompt(self) -> str:
        return prompt_digest(self.protocol, self.benchmark.wording)

    def __str__(self) -> str:
        return f"{self.benchmark.name}, {self.protocol}"


EDITIONS = {benchmark.key: benchmark for benchmark in (MM_VET, MM_VET_V2)}


@cache
def ways() -> Mapping[str, AskedWay]:
    """The ways whose judges can be looked at, by prompt."""
    protocols: tuple[Protocol, ...] = ("hardened", "paper")
    found = (AskedWay(benchmark, protocol) for benchmark in EDITIONS.values() for protocol in protocols)
    return MappingProxyType({way.prompt: way for way in found})


def frozen_tasks(way: AskedWay, spec: JudgeSpec, runs: range) -> Sequence[Task[Grade]]:
    """Grade each frozen answer once in each of these runs, run by run."""
    benchmark, protocol = way
    return [
        Task(
            run,
            partial(grading, one, run, protocol, spec, 1, benchmark.wording),
            partial(benchmark.refused, one.question.id, run, protocol),
            seeded=protocol == "hardened",
            name=one.question.id,
        )
        for run in runs
        for one in frozen_answers()
    ]
