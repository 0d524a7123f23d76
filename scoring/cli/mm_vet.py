"""Commands `mm-vet` and `mm-vet-v2`, which score a file of outputs, and `fetch`, which downloads MM-Vet's questions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Context, Option, Typer

from arena.interval_text import BRACKETS, bracketed
from arena.io.tables import ANSWERS
from arena.settings import Settings
from arena.templates import plural
from scoring.benchmarks.mm_vet import MM_VET, Options, missed
from scoring.benchmarks.mm_vet_grades import (
    differences,
    differences_csv,
    graded_report,
    grades_for,
    holds_grades,
)
from scoring.benchmarks.mm_vet_questions import fetch_mm_vet, load_mm_vet, own_sample
from scoring.benchmarks.mm_vet_questions import subset as part_of
from scoring.benchmarks.mm_vet_tables import tabulate, told_no_answers, told_zeros
from scoring.benchmarks.mm_vet_v2 import MM_VET_V2, load_mm_vet_v2
from scoring.benchmarks.predictions import Missing, fill, notices, read_predictions
from scoring.cli import progress
from scoring.judges.spec import JudgeSpec
from scoring.no_answers import fate
from scoring.report import Probed, Protocol, QuestionSet, Report, bounds, file_stem, missing_notice

app = Typer(rich_markup_mode=None)
LOAD: Mapping[str | None, Callable[[Settings, Path | None], QuestionSet]] = {
    MM_VET.key: lambda settings, path: load_mm_vet(path or settings.mm_vet),
    MM_VET_V2.key: lambda settings, path: load_mm_vet_v2(path or settings.mm_vet_v2),
}
_JUDGING = ("judge", "base_url", "batch", "budget", "runs", "samples", "protocol", "probe")
"""Options that say how a judge is asked, by parameter: a grade file needs none."""


@app.command("mm-vet")
@app.command("mm-vet-v2")
def score(
    context: Context,
    file: Annotated[
        Path,
        Argument(
            dir_okay=False,
            help="JSON, JSONL, CSV, TSV, XLSX or Parquet; or the authors' *-grade-*.json",
        ),
    ],
    out: progress.Out,
    judge: progress.JudgeModel = "",
    base_url: progress.BaseUrl = None,
    batch: progress.Batch = False,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
    runs: Annotated[int, Option(min=1, max=20)] = 5,
    samples: Annotated[
        bool, Option("--samples", help="the runs are samples of one call: cheaper")
    ] = False,
    protocol: Protocol = "hardened",
    missing: Annotated[Missing, Option(help="questions without an answer")] = "stop",
    probe: Annotated[
        Probed, Option(help="answers that are judged under another truth too, to see who is obeyed")
    ] = "flagged",
    questions: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="the question file or its folder; MM_VET_PATH, MM_VET_V2_PATH without",
        ),
    ] = None,
    subset: Annotated[
        Path | None, Option(metavar="FILE", help="ids to score, as in bard_set.json")
    ] = None,
    sample: Annotated[
        bool, Option("--sample", help="our own MM-Vet questions, to try it out")
    ] = False,
    title: progress.Title = "",
    answers: Annotated[
        Path | None,
        Option(metavar="FILE", help="the answers that a grade file is about, for its audit"),
    ] = None,
    against: Annotated[
        Path | None,
        Option(metavar="FILE", help="another model's *-grade-*.json, to be compared with"),
    ] = None,
) -> Iterator[str]:
    settings = Settings.from_env()
    read = [file, questions, subset, answers, against]
    whole = _whole(context.info_name, settings, questions, sample)
    chosen = part_of(whole, subset) if subset else whole
    baseline = None
    if against:
        baseline = yield from _graded(against, chosen, "unscored")
    if holds_grades(file, ANSWERS):
        if idle := ", ".join(_given(context, _JUDGING)):
            raise BadParameter(
                f"{file.name} holds grades, and nothing is left to {idle}; leave it out, or delete the grades to "
                "have the answers judged"
            )
        report = yield from _graded(file, chosen, missing, title, answers)
        yield from told_no_answers(report)
        judges = ", ".join(report.judge.versions)
        yield f"{chosen.name}: grades of {judges} for {plural(len(report.rows), 'question')}, runs: {report.runs}."
    else:
        if not judge or answers:
            problem = (
                "--answers goes with a grade file; leave it out"
                if judge
                else "choose a judge with --judge MODEL"
            )
            raise BadParameter(f"{file.name} holds answers: {problem}")
        serving = progress.CommandJudge(settings, judge, base_url, batch, yes, budget)
        options = Options(protocol, runs, samples, missing, probe)
        draft, spec = yield from _drafted(file, chosen, options, title, serving)
        progress.check_unread_files(draft, out, read)
        report = yield from serving.judged(draft, spec)
    yield from progress.finished(report, _tables(report), out, read)
    if baseline:
        yield from _compared(report, baseline, out)


def _whole(
    command: str | None, settings: Settings, questions: Path | None, sample: bool
) -> QuestionSet:
    """All questions of the command's edition, or our sample of them. Raises BadParameter."""
    if sample and command != MM_VET.key:
        raise BadParameter(
            f"--sample is of MM-Vet's first edition; score it with python -m scoring {MM_VET.key}"
        )
    if sample and questions:
        raise BadParameter("--sample has questions of its own; leave out --questions")
    return own_sample() if sample else LOAD[command](settings, questions)


def _given(context: Context, parameters: Iterable[str]) -> Iterator[str]:
    """The options among these parameters that stand on the command line."""
    for name in parameters:
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE":
            yield f"--{name.replace('_', '-')}"


def _graded(
    file: Path, chosen: QuestionSet, missing: Missing, title: str = "", answers: Path | None = None
) -> progress.Lines[Report]:
    """The report of a grade file, with the answers that it is about if they are given."""
    found = grades_for(file, chosen, ANSWERS).within(chosen)
    if outside := found.upload.outside:
        yield f"{file.name}: grades of questions outside the subset, left out: {outside:,}"
    held = read_predictions(answers, chosen, ANSWERS) if answers else None
    return graded_report(found, chosen, missing, title, held)


def _drafted(
    file: Path, chosen: QuestionSet, options: Options, title: str, serving: progress.CommandJudge
) -> progress.Lines[tuple[Report, JudgeSpec]]:
    """The file's report before its judging, and the judge."""
    upload = read_predictions(file, chosen, ANSWERS)
    filled = fill(chosen, upload, options.missing)
    yield from notices(upload, chosen, fate(options.protocol))
    given = [one for one in filled if (one.prediction or "").strip()]
    if options.protocol == "hardened":
        given = [one for one in given if not missed(one)]
    if not given:
        raise progress.NothingGradedError(
            f"Nothing was graded: {upload.file} answers none of the {len(filled):,} questions"
        )
    spec = yield from serving.spec()
    benchmark = MM_VET_V2 if chosen.benchmark == MM_VET_V2.key else MM_VET
    report = benchmark.draft(
        filled, chosen, options, spec, serving.address.shown, file.name, title or upload.title
    )
    size = f"{plural(len(report.rows), 'question')}, {plural(report.runs, 'run')}"
    yield f"{chosen.name}: {size}, {report.protocol} protocol."
    return report, spec


@app.command()
def fetch(folder: Path) -> Iterator[str]:
    """Download MM-Vet's questions and images from its authors."""
    yield f"MM-Vet is in {fetch_mm_vet(folder)}: set MM_VET_PATH to it."


def _compared(report: Report, baseline: Report, out: Path) -> Iterator[str]:
    found = differences(report, baseline)
    name = f"{file_stem(report.file)}-against-{file_stem(baseline.file)}.csv"
    progress.written({name: differences_csv(found)}, out)
    yield f"\n{report.title} less {baseline.title}, over the questions that both have. {BRACKETS}"
    for line in found:
        mean = "" if line.mean is None else f"{line.mean:+6.1f}"
        interval = bracketed(line.low, line.high, "+.1f")
        yield f"{line.name:>24} {line.n:>5} {mean}  {interval}".rstrip()
    if report.judge.versions != baseline.judge.versions:
        ours, theirs = (", ".join(one.judge.versions) for one in (report, baseline))
        yield f"These grades are of different judges: {ours}; and {theirs}."
    yield f"\nThe comparison is in {out / name}."


def _tables(report: Report) -> Iterator[str]:
    if report.missing:
        yield f"PARTIAL: {missing_notice(report)}"
    if zeros := told_zeros(grade for row in report.rows for grade in row.grades):
        yield zeros
    yield BRACKETS
    for table in tabulate(report):
        yield f"\n{table.name}"
        for line in table.lines:
            mean = "unscored" if line.mean is None else f"{line.mean:5.1f}"
            interval = bracketed(line.low, line.high)
            yield f"{line.name:>24} {line.n:>5} {mean}  {interval}  {bounds(line, report.runs)}".rstrip()
    if not report.trusted:
        yield f"\n{report.distrust.replace('judge not trusted', 'JUDGE NOT TRUSTED')}."
