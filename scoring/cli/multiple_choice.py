"""Commands `score`, `mmbench`, `mmt-bench`, `vqa`: score by rules, with a judge for what they leave open."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option, Typer

from arena.io.tables import COMMAND_LINE
from arena.settings import Settings
from scoring.benchmarks.base import ChoicesError, OpenedFile
from scoring.benchmarks.choice import ChoiceReport, comparison_csv
from scoring.benchmarks.vqa import Dataset, MarkProtocol, VQAMarks
from scoring.cli import progress
from scoring.cli.text_report import comparison_lines, problem_lines, report_lines
from scoring.multiple_choice.types import Protocol
from scoring.registry import choice_benchmark, open_upload, question_file
from scoring.report import file_stem

app = Typer(rich_markup_mode=None)
File = Annotated[Path, Argument(help="TSV, XLSX, CSV, JSON or JSONL")]
JudgeModel = Annotated[str, Option("--judge", metavar="MODEL", help="its key is read from OPENAI_API_KEY")]
NoJudge = Annotated[bool, Option("--no-judge", help="rules alone")]


@app.command()
def score(
    file: File,
    out: progress.Out,
    benchmark: Annotated[str | None, Option(metavar="NAME", help="recognised from the file without")] = None,
    protocol: Annotated[str | None, Option(metavar="NAME", help="the benchmark's first without")] = None,
    judge: JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    title: progress.Title = "",
) -> Iterator[str]:
    options = _options(judge, no_judge, base_url, batch, yes)
    found = open_upload(file, COMMAND_LINE, benchmark=benchmark)
    if found is None:
        raise ChoicesError(f"{file.name}: expected answers with their questions; choose another file, or --benchmark")
    first, *_ = found.benchmark.protocols.values()
    report = yield from _judged(found, found.report(protocol or first, title), options)
    yield from progress.finished(report, report_lines(report), out)


@app.command("mmbench")
@app.command("mmt-bench")
def score_choices(
    context: Context,
    file: File,
    out: progress.Out,
    protocol: Protocol = "strict",
    judge: JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    title: progress.Title = "",
    questions: Annotated[
        Path | None, Option(metavar="FILE", help="the benchmark's own, for a file without options")
    ] = None,
    against: Annotated[Path | None, Option(metavar="FILE", help="another model's, compared by McNemar's test")] = None,
) -> Iterator[str]:
    options = _options(judge, no_judge, base_url, batch, yes)
    asked = question_file(questions, COMMAND_LINE) if questions else None

    def report_of(path: Path, title: str) -> progress.Lines[ChoiceReport]:
        found = open_upload(path, COMMAND_LINE, benchmark=context.info_name, questions=asked)
        assert found, "a benchmark that is given takes any file"
        return (yield from _judged(found, found.report(protocol, title), options))

    report = yield from report_of(file, title)
    yield from progress.finished(report, report_lines(report), out)
    if against:
        other = yield from report_of(against, "")
        found = choice_benchmark(report).comparisons(report, other)
        name = f"{file_stem(report.file)}-against-{file_stem(other.file)}.csv"
        progress.written({name: comparison_csv(found)}, out)
        yield from comparison_lines(report.title, other.title, found)
        yield f"\nThe comparison is in {out / name}."


@app.command("vqa")
def mark(
    file: File,
    out: progress.Out,
    protocol: MarkProtocol = "strict",
    judge: JudgeModel = "",
    no_judge: NoJudge = False,
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    title: progress.Title = "",
    dataset: Annotated[Dataset | None, Option(help="recognised from the file without")] = None,
) -> Iterator[str]:
    options = _options(judge, no_judge, base_url, batch, yes)
    found = open_upload(file, COMMAND_LINE, benchmark=dataset)
    if found is None or not isinstance(found.benchmark, VQAMarks):
        raise ChoicesError(
            f"{file.name}: expected the columns question, answer and prediction; add what is missing, "
            "or choose --dataset"
        )
    report = yield from _judged(found, found.report(protocol, title), options)
    yield from progress.finished(report, report_lines(report), out)


def _options(judge: str, no_judge: bool, base_url: str | None, batch: bool, yes: bool) -> progress.JudgeOptions | None:
    """Return the judge for what rules leave open, with an empty model if none is named; None: rules alone."""
    if judge and no_judge:
        raise BadParameter("--no-judge leaves no work to --judge; give one of them")
    return None if no_judge else progress.JudgeOptions(judge, base_url, batch, yes)


def _judged(found: OpenedFile, report: Any, options: progress.JudgeOptions | None) -> progress.Lines[Any]:
    """Return a report by rules, with a judge for what they leave open if one is chosen."""
    yield from found.lines
    yield from problem_lines(found.file.problems)
    if not report.left or options is None:
        return report
    if not options.model:
        raise ChoicesError(
            f"{report.left:,} of {len(report.rows):,} answers are left to a judge; choose --judge MODEL to have them "
            "read, or --no-judge for rules alone"
        )
    serving = progress.CommandJudge(Settings.from_env(), options)
    spec = yield from serving.spec()
    yield f"{found.name}: {report.left:,} of {len(report.rows):,} answers for the judge, {report.protocol} protocol."
    return (yield from serving.judged(found.benchmark.stamped(report, spec, serving.address.shown), spec))
