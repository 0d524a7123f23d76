"""Benchmarks: what each brings to the scoring of a file; the quote and the driving of calls are the same for all.

A draft is the report of a file before any call: everything that shapes the scores stands in it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from scoring.benchmarks.choice import MultipleChoice, VQAMarks
from scoring.benchmarks.detect import CHOICES, DATASETS
from scoring.benchmarks.mm_vet_judge import MMVet
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.run import Progress, Quote, Task, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec
from scoring.report import AnyReport
from scoring.visit_bench.benchmark import VisitBench

R = TypeVar("R", bound=AnyReport)


class Benchmark(Protocol[R]):
    """What one benchmark brings: pure functions on its kind of report."""

    def tasks(self, report: R, spec: JudgeSpec) -> Sequence[Task]:
        """Return what a judge is to be asked for a draft."""
        ...

    def graded(self, report: R, outcomes: Sequence[Any]) -> R:
        """Return the draft with the outcomes, which stand in the order of the tasks."""
        ...

    def ungraded(self, report: R) -> str:
        """Return the sentence that says that nothing was graded, and why; "" where anything was."""
        ...

    def write(self, report: R) -> str:
        """Return the whole report as JSON text."""
        ...

    def read(self, text: str) -> R:
        """Return the report of a JSON text. Raises ReportError."""
        ...

    def files(self, report: R) -> Mapping[str, bytes]:
        """Return every download by its name."""
        ...


BENCHMARKS: Mapping[str, Benchmark[Any]] = {
    "mm-vet": MMVet(),
    "visit-bench": VisitBench(),
    **dict.fromkeys(CHOICES, MultipleChoice()),
    **dict.fromkeys(DATASETS, VQAMarks()),
}


def quote(draft: AnyReport, spec: JudgeSpec, owner: str | None, cache: ReplyCache) -> Quote:
    """Return what the judging of a draft costs; `owner` is whose judge it is, None for the operator's."""
    address = draft.judge.address if draft.judge else ""
    return quote_tasks(BENCHMARKS[draft.benchmark].tasks(draft, spec), spec, address, owner, cache)


async def score(draft: R, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event) -> R:
    """Return the draft with what the judge gave; raises what `run_tasks` raises."""
    benchmark = BENCHMARKS[draft.benchmark]
    outcomes = await run_tasks(benchmark.tasks(draft, judge.spec), judge, cache, tell, stop)
    return benchmark.graded(draft, outcomes)
