"""Commands `mmbench`, `mmt-bench` and `vqa`: score by rules, with a judge for what they leave open."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from arena.io.tables import COMMAND_LINE
from arena.settings import Settings
from scoring.benchmarks.choice_report import (
    ChoiceBenchmark,
    ChoiceReport,
    ComparisonError,
    MarksReport,
    comparison_csv,
    comparisons,
    judge_draft,
)
from scoring.benchmarks.detect import (
    MARK_PROTOCOLS,
    VQA_BENCHMARKS,
    ChoicesError,
    Opened,
    OpenedChoices,
    OpenedMarks,
    open_upload,
    question_file,
)
from scoring.cli import progress
from scoring.cli.progress import CommandJudge, Lines, add_judge, finished, written
from scoring.cli.text_report import comparison_lines, problem_lines, report_lines
from scoring.multiple_choice.types import PROTOCOLS
from scoring.report import file_stem

R = TypeVar("R", ChoiceReport, MarksReport)
USER_ERRORS = (*progress.USER_ERRORS, ChoicesError, ComparisonError)


def score_choices(benchmark: ChoiceBenchmark, arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Score a multiple-choice file, compare it with a second one if given, and write the results."""
    questions = question_file(arguments.questions, COMMAND_LINE) if arguments.questions else None

    def report_of(file: Path, title: str) -> Lines[ChoiceReport]:
        found = open_upload(file, COMMAND_LINE, benchmark=benchmark, questions=questions)
        if not isinstance(found, OpenedChoices):
            raise ChoicesError(f"{file.name}: expected answers to multiple-choice questions; choose another file")
        return (yield from _judged(found, found.report(arguments.protocol, title), arguments, settings))

    report = yield from report_of(arguments.file, arguments.title)
    yield from finished(report, report_lines(report), arguments.out)
    if arguments.against:
        other = yield from report_of(arguments.against, "")
        found = comparisons(report, other)
        name = f"{file_stem(report.file)}-against-{file_stem(other.file)}.csv"
        written({name: comparison_csv(found)}, arguments.out)
        yield from comparison_lines(report.title, other.title, found)
        yield f"\nThe comparison is in {arguments.out / name}."


def mark(arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Mark a file of VQA answers and write the results."""
    found = open_upload(arguments.file, COMMAND_LINE, benchmark=arguments.dataset)
    if not isinstance(found, OpenedMarks):
        raise ChoicesError(
            f"{arguments.file.name}: expected the columns question, answer and prediction; add what is missing, "
            "or choose --dataset"
        )
    first = found.report(arguments.protocol, arguments.title)
    report = yield from _judged(found, first, arguments, settings)
    yield from finished(report, report_lines(report), arguments.out)


def _judged(found: Opened, report: R, arguments: argparse.Namespace, settings: Settings) -> Lines[R]:
    """Return a report by rules, with a judge for what they leave open if one is chosen."""
    yield from found.lines
    yield from problem_lines(found.file.problems)
    if report.left and not arguments.judge and not arguments.no_judge:
        raise ChoicesError(
            f"{report.left:,} of {len(report.rows):,} answers are left to a judge; choose --judge MODEL to have them "
            "read, or --no-judge for rules alone"
        )
    if not report.left or arguments.no_judge:
        return report
    serving = CommandJudge(settings, arguments.base_url, arguments.yes, arguments.batch)
    spec = yield from serving.spec(arguments.judge)
    yield f"{found.name}: {report.left:,} of {len(report.rows):,} answers for the judge, {report.protocol} protocol."
    report = yield from serving.judged(judge_draft(report, spec, serving.address.shown), spec)
    serving.close()
    return report


def _choices_grammar(benchmark: ChoiceBenchmark, parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=partial(score_choices, benchmark))
    _common_grammar(parser, PROTOCOLS)
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="the benchmark's own, for a file without options"
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="another model's, compared by McNemar's test")


def _marks_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=mark)
    _common_grammar(parser, MARK_PROTOCOLS)
    parser.add_argument("--dataset", choices=VQA_BENCHMARKS, help="recognised from the file without")


def _common_grammar(parser: argparse.ArgumentParser, protocols: tuple[str, ...]) -> None:
    parser.add_argument("file", type=Path, help="TSV, XLSX, CSV, JSON or JSONL")
    parser.add_argument("--protocol", choices=protocols, default="strict")
    add_judge(parser, required=False)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--title", default="", metavar="NAME", help="the model's name on the report")


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "mmbench": partial(_choices_grammar, "mmbench"),
    "mmt-bench": partial(_choices_grammar, "mmt-bench"),
    "vqa": _marks_grammar,
}
