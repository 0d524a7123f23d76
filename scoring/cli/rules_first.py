"""`score` for files that hold their questions: rules make a report, and a judge reads what they leave open."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.io.tables import ANSWERS, COMMAND_LINE
from arena.templates import plural
from scoring.benchmarks.base import ChoicesError, FileBenchmark, OpenedFile, problem_lines
from scoring.cli import progress
from scoring.cli.score_request import ScoreRequest
from scoring.jobs.report_pictures import wanted_pictures
from scoring.jobs.uploads import UploadedFile
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file, question_stamp
from scoring.registry import BENCHMARKS, open_upload


def rules_first(benchmark: FileBenchmark[Any], request: ScoreRequest) -> Iterator[str]:
    protocol = benchmark.protocol_named(request.protocol)
    opener = _AnswerOpener(benchmark, request)
    # `opened` was read without the request's question file.
    recognised = request.opened if request.questions is None else None
    file = recognised or opener.open(request.file)
    ruled = file.report(protocol, request.title)
    against = opener.open(request.against) if request.against else None
    other = against.report(protocol) if against else None
    if other:
        benchmark.compare(ruled, other)  # refuses other questions before a judge is paid
    report = yield from _judge_open_answers(file, request.file, ruled, request)

    def compare() -> progress.Lines[Mapping[str, bytes]]:
        assert against and request.against
        judged = yield from _judge_open_answers(against, request.against, other, request)
        return (yield from progress.compare_reports(report, judged))

    lines = progress.report_lines(report)
    yield from progress.finish_report(
        report, lines, request.out, request.input_paths, compare if against else None
    )


class _AnswerOpener:
    """Opener of files of answers, beside the request's question file or those of `QUESTIONS_PATH`."""

    def __init__(self, benchmark: FileBenchmark[Any], request: ScoreRequest) -> None:
        self._benchmark = benchmark
        self._path = request.questions
        self._questions = benchmark.own_questions(self._path) if self._path else None
        self._library = QuestionLibrary(request.settings.questions)

    def open(self, path: Path) -> OpenedFile:
        # A user's own benchmark has no questions in the library.
        if self._path is None and self._benchmark.key in BENCHMARKS:
            key = self._benchmark.key
            file, match = open_joined_file(
                self._library, path, ANSWERS, benchmark=key, hides_truths=False
            )
            if file is not None:
                return file
            if match.unclear:
                raise ChoicesError(f"{path.name}: {match.unclear} Choose it with --questions FILE.")
        opened = open_upload(path, ANSWERS, benchmark=self._benchmark, questions=self._questions)
        assert opened, "a benchmark that is given takes any file"
        if self._path is None:
            return opened
        return replace(opened, stamp=question_stamp(self._path, self._benchmark))


def _judge_open_answers(
    opened: OpenedFile, path: Path, report: Any, request: ScoreRequest
) -> progress.Lines[Any]:
    """Report by rules, with a judge for the answers they leave open if the request chooses one."""
    benchmark = opened.benchmark
    yield from benchmark.lines(opened.file)
    if opened.stamp:
        yield f"questions: {opened.stamp.words}"
    yield from benchmark.no_answer_notes(report)
    yield from problem_lines(opened.file.problems)
    if not report.left or request.no_judge:
        return report
    answer_count = plural(len(report.rows), "answer")
    if not request.judge:
        raise ChoicesError(
            f"Rules can't read {report.left:,} of {answer_count}. Choose a judge with --judge MODEL, "
            "or use rules only with --no-judge."
        )
    command_judge = request.command_judge()
    spec = yield from command_judge.spec()
    yield f"{opened.name}: {report.left:,} of {answer_count} for the judge, {report.protocol} protocol."
    draft = benchmark.draft(report, spec, command_judge.address.address)
    if wanted := benchmark.answers_with_pictures(report):
        answers = benchmark.scored_answers(report)
        pictures = command_judge.store_pictures(
            wanted_pictures(
                UploadedFile(path, opened.name),
                _question_file(opened, request),
                benchmark.column_names,
                answers,
                wanted,
                COMMAND_LINE,
            )
        )
        yield f"Pictures for the judge: {len(pictures):,} of {plural(len(wanted), 'question')}."
        draft = benchmark.with_pictures(draft, pictures)
    return (yield from command_judge.judge_draft(draft, spec))


def _question_file(opened: OpenedFile, request: ScoreRequest) -> UploadedFile | None:
    """The question file of the request, else that of `QUESTIONS_PATH` which the answers were joined to."""
    if request.questions is not None:
        return UploadedFile(request.questions, request.questions.name)
    folder = request.settings.questions
    if opened.stamp is None or folder is None:
        return None
    return UploadedFile(folder / opened.stamp.name, opened.stamp.name)
