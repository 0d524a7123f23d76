"""Benchmark registry: the list of all benchmarks, whose file an upload is, and what judging a draft costs and gives."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from arena.io.tables import KEY, PAGE, VALUE, FileLimits, Record, read_records
from scoring.benchmarks.base import Benchmark, FileBenchmark, OpenedFile, check_scorable, while_wanted
from scoring.benchmarks.choice import ChoiceReport, MultipleChoice
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mmbench import MMBENCH
from scoring.benchmarks.mmt_bench import MMT_BENCH
from scoring.benchmarks.vqa import VQA
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.run import Progress, Quote, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.reader import IMAGE_COLUMNS, read_questions
from scoring.multiple_choice.types import ChoiceQuestion
from scoring.report import AnyReport, NoAnswersError
from scoring.visit_bench.benchmark import VISIT_BENCH

R = TypeVar("R", bound=AnyReport)

BENCHMARKS: dict[str, Benchmark[Any]] = {
    benchmark.key: benchmark for benchmark in (MM_VET, VISIT_BENCH, MMBENCH, MMT_BENCH, *VQA)
}
"""In the order of the form. Of several that recognise a file, the last one takes it."""


def open_upload(
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: str | None = None,
    questions: Mapping[int, ChoiceQuestion] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """Read a file that holds its questions; None if it fits no such benchmark and none is given.

    A column of images is skipped. `questions` are the benchmark's own, for a file without options. Reading the file and
    its letters stops when it is no longer `wanted`. Raises RowsError and ChoicesError.
    """
    label = name or path.name
    records = map(_flat, read_records(path, limits, IMAGE_COLUMNS, label, members=True))
    first = next(records, None)
    if first is None:
        raise NoAnswersError("expected answers, found none; choose the file that holds them", label)
    known = [one for one in reversed(BENCHMARKS.values()) if isinstance(one, FileBenchmark)]
    fitting = [one for one in known if (one.key == benchmark if benchmark else one.fits(first))]
    if not fitting:
        return None
    file = fitting[0].read(while_wanted(chain([first], records), wanted, label), questions)
    alike = (one for one in fitting if type(one) is type(fitting[0]))
    taken = next((one for one in alike if benchmark or one.recognises(file.rows)), None)
    return OpenedFile(taken, file, label, wanted, questions) if taken else None


def question_file(path: Path, limits: FileLimits = PAGE) -> Mapping[int, ChoiceQuestion]:
    """A benchmark's own questions by index. Raises RowsError, and ChoicesError with all problems."""
    found, problems = read_questions(read_records(path, limits, IMAGE_COLUMNS))
    check_scorable(path.name, problems)
    return found


def choice_benchmark(report: ChoiceReport) -> MultipleChoice:
    benchmark = BENCHMARKS[report.benchmark]
    assert isinstance(benchmark, MultipleChoice)
    return benchmark


def quote(draft: AnyReport, spec: JudgeSpec, owner: str | None, cache: ReplyCache) -> Quote:
    """The cost of judging a draft; `owner` is who owns the judge, None for the operator's."""
    address = draft.judge.address if draft.judge else ""
    return quote_tasks(BENCHMARKS[draft.benchmark].tasks(draft, spec), spec, address, owner, cache)


async def score(draft: R, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event) -> R:
    """The draft with the judge's outcomes. Raises what `run_tasks` raises."""
    benchmark = BENCHMARKS[draft.benchmark]
    outcomes = await run_tasks(benchmark.tasks(draft, judge.spec), judge, cache, tell, stop)
    return benchmark.graded(draft, outcomes)


def _flat(record: Record) -> Record:
    """A member of a JSON object as a row: its key is the index, and a plain value the prediction."""
    if KEY not in record.values:
        return record
    values = {"index": record.values[KEY], **record.values}
    if VALUE in record.values:
        values["prediction"] = record.values[VALUE]
    return Record(record.row, {name: value for name, value in values.items() if name not in (KEY, VALUE)})
