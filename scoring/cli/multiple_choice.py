"""Commands `score`, `mmbench`, `mmt-bench` and `vqa`: rules, and a judge for what they leave open; reports as text."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, BadParameter, Context, Option, Typer

from arena.interval_text import BRACKETS
from arena.io.tables import ANSWERS
from arena.settings import Settings
from arena.templates import plural
from scoring.benchmarks import vqa as vqa_marks
from scoring.benchmarks.base import ChoicesError, LazyFiles, OpenedFile
from scoring.benchmarks.choice import ChoiceReport, told_no_answers
from scoring.benchmarks.choice_sheets import comparison_sheets
from scoring.benchmarks.vqa import Dataset, MarkProtocol, VQAMarks
from scoring.benchmarks.vqa_answers import read_references
from scoring.cli import progress
from scoring.multiple_choice.extract import SEED
from scoring.multiple_choice.metrics import picture_problems
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import Protocol
from scoring.registry import BENCHMARKS, choice_benchmark, open_upload, question_file, unrecognised
from scoring.report import AnyReport, file_stem
from scoring.score_sheets import sheet_files

app = Typer(rich_markup_mode=None)
File = Annotated[Path, Argument(help="TSV, XLSX, CSV, JSON or JSONL")]
NoJudge = Annotated[bool, Option("--no-judge", help="rules alone")]


@app.command()
def score(
    file: File,
    out: progress.Out,
    benchmark: Annotated[
        str | None, Option(metavar="NAME", help="recognised from the file without")
    ] = None,
    protocol: Annotated[
        str | None, Option(metavar="NAME", help="the benchmark's first without")
    ] = None,
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    found = open_upload(file, ANSWERS, benchmark=benchmark)
    if found is None:
        raise unrecognised(file, "--benchmark")
    first, *_ = found.benchmark.protocols.values()
    report = yield from _judged(found, found.report(protocol or first, title), judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file])


class _ByRules(NamedTuple):
    """A file, and the report that rules alone make of it."""

    opened: OpenedFile
    report: ChoiceReport


@app.command("mmbench")
@app.command("mmt-bench")
def score_choices(
    context: Context,
    file: File,
    out: progress.Out,
    protocol: Protocol = "strict",
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
    questions: Annotated[
        Path | None, Option(metavar="FILE", help="the benchmark's own, for a file without options")
    ] = None,
    against: Annotated[
        Path | None, Option(metavar="FILE", help="another model's, compared by McNemar's test")
    ] = None,
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    asked = question_file(questions) if questions else None

    def by_rules(path: Path, title: str) -> _ByRules:
        opened = open_upload(path, ANSWERS, benchmark=context.info_name, questions=asked)
        assert opened, "a benchmark that is given takes any file"
        return _ByRules(opened, opened.report(protocol, title))

    first = by_rules(file, title)
    second = by_rules(against, "") if against else None
    if second:
        # refuses other questions before a judge is paid
        choice_benchmark(first.report).comparisons(first.report, second.report)
    report = yield from _judged(first.opened, first.report, judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file, questions, against])
    if second:
        other = yield from _judged(second.opened, second.report, judge, serving)
        found = choice_benchmark(report).comparisons(report, other)
        name = f"{file_stem(report.file)}-against-{file_stem(other.file)}"
        sheets = comparison_sheets(report.title, other.title, found)
        yield from progress.sheet_lines(sheets)
        yield f"\n{progress.written(LazyFiles(sheet_files(name, sheets)), out)}"


@app.command("vqa")
def mark(
    file: File,
    out: progress.Out,
    protocol: MarkProtocol = "strict",
    judge: progress.JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    title: progress.Title = "",
    dataset: Annotated[Dataset | None, Option(help="recognised from the file without")] = None,
    questions: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="the dataset's own, for a file without answers; needs --dataset"
        ),
    ] = None,
) -> Iterator[str]:
    serving = _serving(judge, no_judge, base_url, batch, yes, budget)
    if questions and not dataset:
        raise BadParameter("--questions are those of a dataset; give --dataset as well")
    asked = read_references(questions) if questions else None
    found = open_upload(file, ANSWERS, benchmark=dataset, questions=asked)
    if found is None:
        raise unrecognised(file, "--dataset")
    if not isinstance(found.benchmark, VQAMarks):
        key = found.benchmark.key
        raise ChoicesError(
            f"{file.name}: expected the columns question, answer and prediction, found options as of {key}; "
            f"score it with python -m scoring {key}"
        )
    report = yield from _judged(found, found.report(protocol, title), judge, serving)
    yield from progress.finished(report, report_lines(report), out, read=[file, questions])


def _serving(
    judge: str, no_judge: bool, base_url: str | None, batch: bool, yes: bool, budget: float | None
) -> Callable[[], progress.CommandJudge] | None:
    """Return what reaches the judge for what rules leave open; None: rules alone."""
    if judge and no_judge:
        raise BadParameter("--no-judge leaves no work to --judge; give one of them")
    return (
        None
        if no_judge
        else lambda: progress.CommandJudge(Settings.from_env(), judge, base_url, batch, yes, budget)
    )


def _judged(
    found: OpenedFile, report: Any, judge: str, serving: Callable[[], progress.CommandJudge] | None
) -> progress.Lines[Any]:
    """Return a report by rules, with a judge for what they leave open if one is chosen."""
    yield from found.benchmark.lines(found.file)
    yield from _told_no_answers(report)
    yield from problem_lines(found.file.problems)
    if not report.left or serving is None:
        return report
    if not judge:
        raise ChoicesError(
            f"left to a judge: {report.left:,} of {plural(len(report.rows), 'answer')}; choose --judge MODEL to have "
            "that read, or --no-judge for rules alone"
        )
    asked = serving()
    spec = yield from asked.spec()
    answers = plural(len(report.rows), "answer")
    yield f"{found.name}: {report.left:,} of {answers} for the judge, {report.protocol} protocol."
    return (
        yield from asked.judged(found.benchmark.stamped(report, spec, asked.address.shown), spec)
    )


def _told_no_answers(report: AnyReport) -> tuple[str, ...]:
    if isinstance(report, vqa_marks.MarksReport):
        return vqa_marks.told_no_answers(report)
    return told_no_answers(report) if isinstance(report, ChoiceReport) else ()


_SHOWN = 20


def report_lines(report: AnyReport) -> Iterator[str]:
    yield BRACKETS
    if isinstance(report, vqa_marks.MarksReport):
        yield from vqa_marks.told_wrappers(report)
    elif isinstance(report, ChoiceReport):
        tables = choice_benchmark(report).tabulated(report)
        told = picture_problems(row.question for row in report.rows)
        yield from problem_lines((*tables.problems, *told))
    benchmark = BENCHMARKS[report.benchmark]
    yield f"\n{benchmark.sentence(report)}"
    yield from progress.sheet_lines(benchmark.sheets(report))
    if isinstance(report, ChoiceReport):
        if report.protocol == "mmbench-paper" and report.judge:
            yield f"What the judge left open was assigned at random from the seed {SEED}."
        if tables.without_answer:
            count = plural(tables.without_answer, "answer")
            yield f"{count} without a right letter: extracted, not scored."


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield a file's problems; the first ones are shown in full."""
    for problem in problems[:_SHOWN]:
        yield f"row {problem.row}: {problem.text}" if problem.row else problem.text
    if len(problems) > _SHOWN:
        yield f"... and {len(problems) - _SHOWN:,} more, all in the file of problems."
