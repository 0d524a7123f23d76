"""Commands `mm-vet`, which scores a file of outputs, and `fetch`, which downloads MM-Vet's questions."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from arena.io.tables import COMMAND_LINE
from arena.settings import Settings
from scoring.benchmarks.mm_vet import tabulate
from scoring.benchmarks.mm_vet_judge import Options, OptionsError, draft
from scoring.benchmarks.mm_vet_questions import QuestionsError, fetch_mm_vet, load_mm_vet, own_sample, subset
from scoring.benchmarks.predictions import UploadError, fill, notices, read_predictions
from scoring.cli import progress
from scoring.cli.progress import CommandJudge, add_judge, finished
from scoring.report import NothingGradedError, QuestionSet, Report, bounds, missing_notice

USER_ERRORS = (*progress.USER_ERRORS, OptionsError, QuestionsError, UploadError)


def score(arguments: argparse.Namespace, settings: Settings) -> Iterator[str]:
    """Score a file of MM-Vet outputs and write its tables."""
    questions = _questions(arguments, settings)
    upload = read_predictions(arguments.file, questions, COMMAND_LINE)
    filled = fill(questions, upload, arguments.missing)
    yield from notices(upload)
    if not any((one.prediction or "").strip() for one in filled):
        raise NothingGradedError(f"Nothing was graded: {upload.file} answers none of the {len(filled):,} questions")
    serving = CommandJudge(settings, arguments.base_url, arguments.yes, arguments.batch)
    spec = yield from serving.spec(arguments.judge)
    options = Options(arguments.protocol, arguments.runs, arguments.samples, arguments.missing)
    title, address = arguments.title or upload.title, serving.address.shown
    report = draft(filled, questions, options, spec, address, arguments.file.name, title)
    yield f"{questions.name}: {len(report.rows):,} questions, {report.runs} runs, {report.protocol} protocol."
    report = yield from serving.judged(report, spec)
    serving.close()
    yield from finished(report, _tables(report), arguments.out)


def fetch(arguments: argparse.Namespace, _: Settings) -> Iterator[str]:
    """Download MM-Vet's questions and images from its authors."""
    yield f"MM-Vet is in {fetch_mm_vet(arguments.folder)}: set MM_VET_PATH to it."


def _questions(arguments: argparse.Namespace, settings: Settings) -> QuestionSet:
    questions = own_sample() if arguments.sample else load_mm_vet(arguments.questions or settings.mm_vet)
    return subset(questions, arguments.subset) if arguments.subset else questions


def _tables(report: Report) -> Iterator[str]:
    if report.missing:
        yield f"PARTIAL: {missing_notice(report)}"
    for table in tabulate(report):
        yield f"\n{table.name}"
        for line in table.lines:
            mean = "unscored" if line.mean is None else f"{line.mean:5.1f}"
            interval = "" if line.low is None else f"  [{line.low:.1f}, {line.high:.1f}]"
            yield f"{line.name:>24} {line.n:>5} {mean}{interval}  {bounds(line, report.runs)}".rstrip()
    if not report.trusted:
        yield "\nJUDGE NOT TRUSTED: it gave points to an answer that deserves none."


def _score_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=score)
    parser.add_argument("file", type=Path, help="JSON, JSONL, CSV, TSV or XLSX")
    add_judge(parser, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--runs", type=_runs, default=5)
    parser.add_argument("--samples", action="store_true", help="the runs are samples of one call: cheaper")
    parser.add_argument("--protocol", choices=("paper", "hardened"), default="hardened")
    parser.add_argument("--missing", choices=("stop", "unscored"), default="stop", help="questions without an answer")
    parser.add_argument("--questions", type=Path, metavar="PATH", help="mm-vet.json or its folder; MM_VET_PATH without")
    parser.add_argument("--subset", type=Path, metavar="FILE", help="ids to score, as in bard_set.json")
    parser.add_argument("--sample", action="store_true", help="our own questions, to try it out")
    parser.add_argument("--title", default="", metavar="NAME", help="the model's name on the report")


def _fetch_grammar(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=fetch)
    parser.add_argument("folder", type=Path)


def _runs(text: str) -> int:
    if text not in map(str, range(1, 21)):
        raise argparse.ArgumentTypeError("expected 1 to 20 runs")
    return int(text)


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {"mm-vet": _score_grammar, "fetch": _fetch_grammar}
