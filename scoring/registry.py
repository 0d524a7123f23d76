"""Benchmark registry: what each benchmark defines for scoring a file; quotes and judge calls are the same for all.

A draft is a file's report before any judge call; it holds everything that shapes the scores.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from scoring.benchmarks.choice import MultipleChoice, VQAMarks
from scoring.benchmarks.detect import CHOICE_BENCHMARKS, VQA_BENCHMARKS
from scoring.benchmarks.mm_vet_judge import MMVet
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.run import Progress, Quote, Task, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec
from scoring.report import AnyReport
from scoring.visit_bench.benchmark import VisitBench

R = TypeVar("R", bound=AnyReport)


class Benchmark(Protocol[R]):
    """A benchmark's part: pure functions on its type of report."""

    @property
    def report(self) -> type[R]:
        """The type of its reports, which the job store writes and reads."""
        ...

    def tasks(self, report: R, spec: JudgeSpec) -> Sequence[Task]:
        """The judge tasks of a draft."""
        ...

    def graded(self, report: R, outcomes: Sequence[Any]) -> R:
        """The draft with the outcomes, which are in the order of the tasks."""
        ...

    def ungraded(self, report: R) -> str:
        """A sentence saying that nothing was graded, and why; "" if anything was."""
        ...

    def files(self, report: R) -> Mapping[str, bytes]:
        """Every download by file name."""
        ...


BENCHMARKS: Mapping[str, Benchmark[Any]] = {
    "mm-vet": MMVet(),
    "visit-bench": VisitBench(),
    **dict.fromkeys(CHOICE_BENCHMARKS, MultipleChoice()),
    **dict.fromkeys(VQA_BENCHMARKS, VQAMarks()),
}


def quote(draft: AnyReport, spec: JudgeSpec, owner: str | None, cache: ReplyCache) -> Quote:
    """The cost of judging a draft; `owner` is who owns the judge, None for the operator's."""
    address = draft.judge.address if draft.judge else ""
    return quote_tasks(BENCHMARKS[draft.benchmark].tasks(draft, spec), spec, address, owner, cache)


async def score(draft: R, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event) -> R:
    """The draft with the judge's outcomes. Raises what `run_tasks` raises."""
    benchmark = BENCHMARKS[draft.benchmark]
    outcomes = await run_tasks(benchmark.tasks(draft, judge.spec), judge, cache, tell, stop)
    return benchmark.graded(draft, outcomes)
