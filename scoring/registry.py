"""Benchmark registry: the list of all benchmarks, the recognition of uploads, and the judging of drafts."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from arena.io.strict_json import row_errors
from arena.io.tables import (
    ANSWERS,
    KEY,
    PAGE,
    VALUE,
    FileLimits,
    Record,
    RowsError,
    read_records,
)
from arena.templates import plural
from arena.types import folded
from scoring.benchmarks.base import (
    USUAL_NAMES,
    Benchmark,
    ChoicesError,
    ColumnNames,
    FileBenchmark,
    OpenedFile,
    while_wanted,
)
from scoring.benchmarks.choice import MultipleChoice
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.hidden import HIDDEN, HiddenReport, hidden_benchmark
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mm_vet_v2 import MM_VET_V2, edition_of_answers, edition_of_table
from scoring.benchmarks.mmbench import MMBENCH
from scoring.benchmarks.mmt_bench import MMT_BENCH
from scoring.benchmarks.predictions import plain_sample
from scoring.benchmarks.result_files import result_file_problem, toolkit_of_grades
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge
from scoring.judges.run import Progress, Quote, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.columns import has_options
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.report import AnyReport, NoAnswersError, QuestionSet
from scoring.specs.files import OURS, load_folder
from scoring.specs.layout import has_question_truth_and_answer
from scoring.specs.report import SpecReport, spec_of_report
from scoring.specs.schema import spec_of
from scoring.visit_bench.benchmark import VISIT_BENCH
from scoring.visit_bench.reader import is_submission
from scoring.visit_bench.sealed import SEALED_ITEMS

R = TypeVar("R", bound=AnyReport)

SPECS = OURS
"""Folder of benchmarks that are YAML files, a file each."""
_BENCHMARKS_IN_CODE: dict[str, Benchmark[Any]] = {
    benchmark.key: benchmark
    for benchmark in (
        MM_VET,
        MM_VET_V2,
        VISIT_BENCH,
        SEALED_ITEMS,
        MMBENCH,
        MMT_BENCH,
        HIDDEN,
    )
}
"""Benchmarks that are more than a table of answers; a spec of the same key holds data of it."""
BENCHMARKS: dict[str, Benchmark[Any]] = _BENCHMARKS_IN_CODE | {
    key: spec_benchmark(key, spec)
    for key, spec in load_folder(SPECS)
    if key not in _BENCHMARKS_IN_CODE
}
"""Benchmarks in the order of the form; the last that recognises a file takes it."""
SHIPPED = frozenset(BENCHMARKS)
"""Keys of the benchmarks that come with the program; a server's people may add others later."""
OWN_BENCHMARK = spec_benchmark(
    OWN,
    spec_of(
        {
            "name": "Your benchmark",
            "about": "Your own questions, with a rule that you write into a benchmark.yaml.",
            "rule": {"kind": "rubric", "grades": [0, 1], "prompt": "{answer}"},
        }
    ),
)
"""Stand-in for every benchmark that a user brought, where its spec isn't at hand."""


class HasBenchmark(Protocol):
    """Report of a benchmark, or its job."""

    @property
    def benchmark(self) -> str: ...


def benchmark_of(scored: HasBenchmark) -> Benchmark[Any]:
    """Benchmark of a report or a job. A spec's report carries the spec, so later changes of the file don't matter."""
    if isinstance(scored, SpecReport):
        return spec_benchmark(scored.benchmark, spec_of_report(scored))
    if isinstance(scored, HiddenReport):
        return hidden_benchmark(scored)
    return benchmark_named(scored.benchmark)


def benchmark_named(key: str) -> Benchmark[Any]:
    """Benchmark by its key; the stand-in for an unknown key, such as that of a deleted spec."""
    return BENCHMARKS.get(key, OWN_BENCHMARK)


def offered_benchmarks() -> Mapping[str, Benchmark[Any]]:
    """Benchmarks that a user can choose: all but `HIDDEN`, as hidden answers come in a file of their own benchmark."""
    return {key: benchmark for key, benchmark in BENCHMARKS.items() if benchmark.way != "hidden"}


_NO_ROWS = "The file has no answers. Choose the one that has them."


def open_upload(
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: str | FileBenchmark[Any] | None = None,
    questions: Mapping[Any, Any] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """Reads a file that holds its questions, for `benchmark` or the benchmark that recognises it; None if none does.

    Images are read as digests. `questions` are the benchmark's own, for a file without any. Reading the file and
    its letters stops when it is no longer `wanted`. Raises RowsError and ChoicesError.
    """
    label = name or path.name

    def file_records() -> Iterator[Record]:
        return read_records(path, limits, (), label, allow_object=True, digested=IMAGE_COLUMNS)

    first_records = file_records()
    start = next(first_records, None)
    if start is None:
        raise NoAnswersError(_NO_ROWS, label)
    # The first row of a table is enough, so only other files are opened again here.
    toolkit = toolkit_of_grades(chain([start], file_records()))
    result_problem = result_file_problem(start, label, toolkit)
    first_cells = plain_sample(start)
    is_mm_vet = edition_of_table(first_cells) is not None and not has_options(first_cells)
    # Only MM-Vet, which is no `FileBenchmark`, reads the grades of a toolkit's judge.
    is_graded_mm_vet = toolkit is not None and is_mm_vet
    if result_problem and (benchmark or not is_graded_mm_vet):
        raise RowsError(result_problem, label)
    candidates = _candidates(start, label) if benchmark is None else [file_benchmark(benchmark)]
    records = chain([start], first_records)
    read_files = {}  # by way of reading: benchmarks that read a file in the same way share it
    for candidate in candidates:
        reading_way = candidate.reading_way
        if reading_way not in read_files:
            with row_errors(label):
                rows = (flat_record(record, candidate.column_names) for record in records)
                wanted_rows = while_wanted(rows, wanted, label)
                read_files[reading_way] = candidate.read(wanted_rows, questions)
                records = file_records()
        if benchmark or candidate.recognises(read_files[reading_way].rows, label):
            return OpenedFile(candidate, read_files[reading_way], label, wanted, questions)
    return None


def _candidates(first: Record, label: str) -> list[FileBenchmark[Any]]:
    """Benchmarks that may take a file with this name and first row, in the order to try them."""
    return [
        candidate
        for candidate in reversed(BENCHMARKS.values())
        if isinstance(candidate, FileBenchmark)
        and candidate.is_named(label)
        and candidate.fits(flat_record(first, candidate.column_names))
    ]


def recognise(
    path: Path,
    sets: Callable[[], Iterable[QuestionSet]],
    place: str,
    limits: FileLimits = PAGE,
    name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | Benchmark[Any]:
    """Opens a file that holds its questions, else returns its benchmark: an edition of MM-Vet for free answers.

    Questions with right answers are MM-Vet's only if one of these `sets` has them; `place` is where a user names a
    benchmark, in words. Raises RowsError and ChoicesError.
    """
    label = name or path.name
    if is_submission(path, label, limits):
        return VISIT_BENCH
    opened = open_upload(path, limits, name, wanted=wanted)
    if opened:
        return opened
    first = first_row(path, limits, label)
    if not answers_any(path, sets(), limits, name):
        if _is_short_answer(first):
            raise unrecognised_error(path, place, name)
        if count := _count_bare_numbers(path, limits, label):
            raise ChoicesError(
                f"{label}: {plural(count, 'answer')} with plain numbers as ids and no questions, as in many "
                f"benchmarks. Choose the benchmark {place}, such as mm-vet or mmbench."
            )
    return BENCHMARKS[edition_of_answers(path, limits)]


_ID_COLUMNS = ("index", "question_id", "id")
_QUESTION_COLUMNS = (*_ID_COLUMNS, "question")
"""Columns that identify the question that a row answers."""


def _count_bare_numbers(path: Path, limits: FileLimits, label: str) -> int:
    """Number of answers in a file that has bare numbers as ids and no questions; 0 for any other file."""
    count = 0
    for record in read_records(path, limits, IMAGE_COLUMNS, label, allow_object=True):
        row = flat_record(record)
        cells = {column.strip().lower(): str(cell).strip() for column, cell in row.values.items()}
        ids = [cells[column] for column in _ID_COLUMNS if cells.get(column)]
        texts = [cells[column] for column in ("question", "prompt") if cells.get(column)]
        if texts or not ids or not all(id.removesuffix(".0").isdecimal() for id in ids):
            return 0
        count += 1
    return count


def answers_any(
    path: Path, sets: Iterable[QuestionSet], limits: FileLimits = PAGE, name: str | None = None
) -> bool:
    """Whether a file answers MM-Vet, by its first row, or a question of these sets. Raises RowsError."""
    known_texts: set[str] = set()
    for question_set in sets:
        for question in (*question_set.questions, *question_set.outside):
            known_texts |= {folded(question.id), folded(question.text)}
    records = read_records(path, limits, IMAGE_COLUMNS, name, allow_object=True)
    for number, record in enumerate(records):
        row = flat_record(record)
        if number == 0 and edition_of_table(row):
            return True
        cells = {column.strip().lower(): str(cell) for column, cell in row.values.items()}
        texts = [folded(cells[column]) for column in _QUESTION_COLUMNS if column in cells]
        if not known_texts.isdisjoint(texts):
            return True
    return False


def unrecognised_error(path: Path, place: str, name: str | None = None) -> ChoicesError:
    """Error for a file that no benchmark takes, with its columns and the remedy; `place` as for `recognise`."""
    label = name or path.name
    first = first_row(path, ANSWERS, label)
    if _is_short_answer(first):
        return ChoicesError(
            f"{label}: Several benchmarks have the columns question, answer and prediction, and the file's name fits "
            f"none. Choose the benchmark {place}, such as gqa or docvqa. For multiple choice, add the options as "
            "columns A, B, ..."
        )
    columns = ", ".join(map(repr, list(first.values)[:20])) or "none"
    keys = ", ".join(
        benchmark.key
        for benchmark in offered_benchmarks().values()
        if benchmark.way not in ("compare", "sealed")
    )
    return ChoicesError(
        f"{label}: The file has the columns {columns}. It needs question, answer and prediction, and for multiple "
        "choice also A, B, ... with the options. Add what is missing, or give the question file: python -m scoring "
        f"score FILE --questions QUESTIONS --benchmark NAME, where NAME is one of {keys}."
    )


def _is_short_answer(first: Record) -> bool:
    """Whether a row is a question with its right answer and a model's, and without options."""
    return has_question_truth_and_answer([*first.values]) and not has_options(first)


def file_benchmark(key: str | FileBenchmark[Any]) -> FileBenchmark[Any]:
    """Benchmark of this key, or this benchmark. Raises ChoicesError if its files do not hold their questions."""
    if isinstance(key, FileBenchmark):
        return key
    known = {
        benchmark.key: benchmark
        for benchmark in BENCHMARKS.values()
        if isinstance(benchmark, FileBenchmark)
    }
    if key not in known:
        raise ChoicesError(f"{key[:80]!r} isn't a benchmark with files. Choose {', '.join(known)}.")
    return known[key]


def choice_benchmark(report: ChoiceReport) -> MultipleChoice:
    """Benchmark of a multiple-choice report."""
    benchmark = benchmark_of(report)
    assert isinstance(benchmark, MultipleChoice)
    return benchmark


def quote(draft: AnyReport, spec: JudgeSpec, owner: str | None, cache: ReplyCache | None) -> Quote:
    """Cost of judging a draft; `owner` owns the judge, None for the operator's."""
    address = draft.judge.address if draft.judge else ""
    return quote_tasks(benchmark_of(draft).tasks(draft, spec), spec, address, owner, cache)


async def score(
    draft: R, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event
) -> R:
    """Judges a draft, and returns it with the judge's outcomes. Raises as `run_tasks`."""
    benchmark = benchmark_of(draft)
    outcomes = await run_tasks(benchmark.tasks(draft, judge.spec), judge, cache, tell, stop)
    return benchmark.with_outcomes(draft, outcomes)


def first_row(
    path: Path, limits: FileLimits, label: str, names: ColumnNames = USUAL_NAMES
) -> Record:
    """First row of a file. Raises RowsError, also for a file without rows."""
    records = read_records(path, limits, IMAGE_COLUMNS, label, allow_object=True)
    start = next(records, None)
    if start is None:
        raise NoAnswersError(_NO_ROWS, label)
    return flat_record(start, names)


def flat_record(record: Record, names: ColumnNames = USUAL_NAMES) -> Record:
    """Record as a row, with the id and the answer of a JSON object's member in the columns of `names`.

    A member's id is its key, unless it has that column itself; its answer is its value, if that is plain. lmms-eval's
    submissions are a list of objects with one such member each. Other records are read as `plain_sample` does.
    """
    values = record.values
    if len(values) == 1:
        (name,) = values
        if name.isdecimal():  # an object of lmms-eval: {"17": "the answer"}
            values = {KEY: name, VALUE: values[name]}
    if KEY not in values:
        return plain_sample(record, names.answer)
    cells = {names.id: values[KEY], **values}
    if VALUE in values:
        cells[names.answer] = values[VALUE]
    own_cells = {name: value for name, value in cells.items() if name not in (KEY, VALUE)}
    return Record(record.row, own_cells)
