"""`score` for MM-Vet's answers and grade files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from typer import BadParameter

from arena.io.tables import ANSWERS
from arena.settings import Settings
from arena.templates import plural
from scoring.benchmarks.mm_vet import JUDGING, MM_VET, MMVet, Options, no_answer_reason
from scoring.benchmarks.mm_vet_grades import graded_report, grades_for, holds_grades
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample, subset_of_file
from scoring.benchmarks.mm_vet_tables import no_answer_notes, zeros_sentence
from scoring.benchmarks.mm_vet_v2 import MM_VET_V2, load_mm_vet_v2
from scoring.benchmarks.predictions import Missing, fill, notices, read_predictions
from scoring.cli import progress
from scoring.cli.score_request import ScoreRequest
from scoring.no_answers import treatment
from scoring.report import QuestionSet, Report, missing_notice

QUESTION_LOADERS: Mapping[str, Callable[[Settings, Path | None], QuestionSet]] = {
    MM_VET.key: lambda settings, path: load_mm_vet(path or settings.mm_vet),
    MM_VET_V2.key: lambda settings, path: load_mm_vet_v2(path or settings.mm_vet_v2),
}


def questions_first(benchmark: MMVet, request: ScoreRequest) -> Iterator[str]:
    """The way "questions first" of `Workflow`: scores answers or grades of MM-Vet, and yields the lines to print."""
    options = request.options
    chosen = _question_set(benchmark, request)
    baseline = None
    if request.against:
        baseline = yield from _graded_report(request.against, chosen, missing="unscored")
    if holds_grades(request.file, ANSWERS):
        _refuse_judging_options(request)
        report = yield from _graded_report(
            request.file, chosen, options.missing, request.title, options.answers
        )
        yield from no_answer_notes(report)
        judges = ", ".join(report.judge.versions)
        yield f"{chosen.name}: grades by {judges} for {plural(len(report.rows), 'question')}, runs: {report.runs}."
    else:
        report = yield from _judge_answers(benchmark, chosen, request)
    lines = chain(_warnings(report), progress.report_lines(report))
    compare = partial(progress.compare_reports, report, baseline) if baseline else None
    yield from progress.finish_report(report, lines, request.out, request.input_paths, compare)


def _question_set(benchmark: MMVet, request: ScoreRequest) -> QuestionSet:
    """Questions to score: the benchmark's, or our sample, or a part of them. Raises BadParameter."""
    options = request.options
    if options.sample and benchmark is not MM_VET:
        raise BadParameter(
            f"-o sample is only for MM-Vet's first edition. Use --benchmark {MM_VET.key}."
        )
    if options.sample and request.questions:
        raise BadParameter("-o sample has its own questions. Leave out --questions.")
    load = QUESTION_LOADERS[benchmark.key]
    whole = own_sample() if options.sample else load(request.settings, request.questions)
    return subset_of_file(whole, options.subset) if options.subset else whole


def _refuse_judging_options(request: ScoreRequest) -> None:
    """Raises BadParameter for options of the judging, beside a file of grades."""
    is_given = {
        "--judge": request.judge,
        "--base-url": request.base_url is not None,
        "--batch": request.batch,
        "--budget": request.budget is not None,
        "--protocol": request.protocol is not None,
    }
    is_given |= {f"-o {name}": name in request.options.model_fields_set for name in JUDGING}
    if idle := ", ".join(name for name in is_given if is_given[name]):
        raise BadParameter(
            f"{request.file.name} already has grades, so nothing is judged. Leave out {idle}, or delete the "
            "grades to have the answers judged."
        )


def _graded_report(
    file: Path, chosen: QuestionSet, missing: Missing, title: str = "", answers: Path | None = None
) -> progress.Lines[Report]:
    """Report of a grade file, with the answers that it grades if their file is named."""
    grade_file = grades_for(file, chosen, ANSWERS).within(chosen)
    if outside := grade_file.upload.outside:
        yield f"{file.name}: grades of questions outside the subset, left out: {outside:,}"
    predictions = read_predictions(answers, chosen, ANSWERS) if answers else None
    return graded_report(grade_file, chosen, missing, title, predictions)


def _judge_answers(
    benchmark: MMVet, chosen: QuestionSet, request: ScoreRequest
) -> progress.Lines[Report]:
    """Report of a file of answers, by the judge."""
    requested = request.options
    if not request.judge or requested.answers:
        advice = (
            "Leave out -o answers, which goes with grades."
            if request.judge
            else "Choose a judge with --judge MODEL."
        )
        raise BadParameter(f"{request.file.name} has answers but no grades. {advice}")
    protocol = benchmark.protocol_named(request.protocol)
    options = Options(
        protocol=protocol,
        runs=requested.runs,
        sampled=requested.samples,
        missing=requested.missing,
        probed=requested.probe,
    )
    command_judge = request.command_judge()
    upload = read_predictions(request.file, chosen, ANSWERS)
    filled = fill(chosen, upload, options.missing)
    yield from notices(upload, chosen, treatment(protocol))
    answered = [answer for answer in filled if (answer.prediction or "").strip()]
    if protocol == "hardened":
        answered = [answer for answer in answered if not no_answer_reason(answer)]
    if not answered:
        raise progress.NothingGradedError(
            f"Nothing was graded: {upload.file} answers none of the {len(filled):,} questions. "
            "Choose the file that does."
        )
    spec = yield from command_judge.spec()
    address = command_judge.address.address
    title = request.title or upload.title
    draft = benchmark.draft(filled, chosen, options, spec, address, request.file.name, title)
    draft = replace(draft, asked=upload.asked)  # The text before each question, by the file.
    size = f"{plural(len(draft.rows), 'question')}, {plural(draft.runs, 'run')}"
    yield f"{chosen.name}: {size}, {draft.protocol} protocol."
    progress.refuse_overwriting_files(draft, request.out, request.input_paths)
    return (yield from command_judge.judge_draft(draft, spec))


def _warnings(report: Report) -> Iterator[str]:
    if report.missing:
        yield missing_notice(report)
    if zeros := zeros_sentence(grade for row in report.rows for grade in row.grades):
        yield zeros
