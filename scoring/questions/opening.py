"""Files of answers, opened beside the question file that they belong to."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.tables import PAGE, FileLimits, Record
from scoring.benchmarks.base import Answers, ChoicesError, FileBenchmark, OpenedFile, answers_of
from scoring.questions.known_file import file_md5, where_answers
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import QuestionMatch, answer_files, matched
from scoring.registry import BENCHMARKS, first_row, open_upload
from scoring.report import QuestionStamp
from scoring.specs.problems import either

NO_FILE = "None: as the file says"
"""The choice of no question file, for a file that holds its questions."""


class JoinedFile(NamedTuple):
    """A file of answers beside its questions; None where no question file of the library is its own."""

    file: OpenedFile | None
    match: QuestionMatch


def joined(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: str | None = None,
    questions: str = "",
    wanted: Callable[[], bool] = lambda: True,
    hides: bool = True,
) -> JoinedFile:
    """Open a file with the question file of the library that it belongs to, or with the one of the name `questions`.

    Right answers that nobody may read are not read with it, unless who asks has them before them. Raises RowsError and
    ChoicesError.
    """
    match = _match(library, path, limits, name, benchmark, questions)
    if match.found is None:
        return JoinedFile(None, match)
    known = match.found
    answers = known.answers if hides else _shown(known.answers)
    asked = _AskedQuestions(
        benchmark=known.record,
        questions=known.questions(),
        answers=answers,
        stamp=QuestionStamp(known.name, known.md5, known.is_published),
    )
    return JoinedFile(_opened(path, limits, name, asked, wanted), match)


def _shown(answers: Mapping[str, Answers]) -> Mapping[str, Answers]:
    """Where right answers are for who has the question file."""
    return {split: "there" if where == "hidden" else where for split, where in answers.items()}


def _match(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits,
    name: str | None,
    benchmark: str | None,
    questions: str,
) -> QuestionMatch:
    is_table = benchmark is None or isinstance(BENCHMARKS.get(benchmark), FileBenchmark)
    files = library.files() if is_table and questions != NO_FILE else ()
    if not files:
        return QuestionMatch()
    namings = {file.record.column_names for file in files}
    match = matched(files, answer_files(path, namings, limits, name), benchmark)
    if not questions:
        return match
    chosen = [file for file in match.fits if file.name == questions]
    if not chosen:
        names = either([*(file.name for file in match.fits), NO_FILE])
        raise ChoicesError(
            f"{name or path.name}: {questions[:80]!r} is none of its question files; choose {names}"
        )
    return QuestionMatch(chosen[0], match.fits)


def whole_file(
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """A file that holds its questions itself, and can be scored so; None for another. Raises RowsError."""
    with suppress(ChoicesError):
        opened = open_upload(path, limits, name, wanted=wanted)
        return opened if opened and opened.file.scorable else None
    return None


def opened_beside(
    path: Path,
    questions: Path,
    benchmark: FileBenchmark[Any],
    limits: FileLimits = PAGE,
    name: str | None = None,
    questions_name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile:
    """Open a file of answers with the question file that was given beside it. Raises RowsError and ChoicesError."""
    known = benchmark.own_questions(questions, limits, questions_name)
    asked = _AskedQuestions(
        benchmark=benchmark,
        questions=known,
        answers=where_answers(benchmark.asked(known)),
        stamp=given_stamp(questions, benchmark, questions_name),
    )
    return _opened(path, limits, name, asked, wanted)


class _AskedQuestions(NamedTuple):
    """The questions of a file of answers."""

    benchmark: FileBenchmark[Any]
    questions: Mapping[Any, Any]
    answers: Mapping[str, Answers]
    stamp: QuestionStamp


def _opened(
    path: Path,
    limits: FileLimits,
    name: str | None,
    asked: _AskedQuestions,
    wanted: Callable[[], bool],
) -> OpenedFile:
    """Open a file beside its questions, from which right answers that nobody may read are taken out."""
    blind = asked.benchmark.blind(
        asked.questions, lambda split: answers_of(asked.answers, split) != "there"
    )
    opened = open_upload(path, limits, name, asked.benchmark, blind, wanted)
    assert opened, "a benchmark that is given takes any file"
    has_hidden = "hidden" in asked.answers.values()
    stamp = replace(asked.stamp, md5="") if has_hidden else asked.stamp
    return replace(opened, stamp=stamp, answers=asked.answers, answer_key=asked.questions)


def recognised_beside(
    path: Path,
    questions: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    questions_name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """Open a file of answers with a question file as those of the benchmark that both are of; None if none takes them.

    The question file's md5 tells it, else a name or the questions. Raises RowsError and ChoicesError.
    """
    label = name or path.name
    asked_label = questions_name or questions.name
    asked = first_row(questions, limits, asked_label)

    def fits(benchmark: FileBenchmark[Any]) -> bool:
        first = first_row(path, limits, label, benchmark.column_names)
        return benchmark.fits(Record(first.row, {**asked.values, **first.values}))

    md5 = file_md5(questions)
    of_files = [one for one in reversed(BENCHMARKS.values()) if isinstance(one, FileBenchmark)]
    published = [one for one in of_files if md5 in (file.md5 for file in one.question_files)]
    named = [one for one in of_files if one.is_named(label) or one.is_named(asked_label)]
    for benchmark in (*published, *filter(fits, named)):
        opened = opened_beside(path, questions, benchmark, limits, label, asked_label, wanted)
        if benchmark in published or benchmark.recognises(opened.file.rows, label):
            return opened
    return None


def given_stamp(
    path: Path, benchmark: FileBenchmark[Any], name: str | None = None
) -> QuestionStamp:
    """The stamp of a question file that was given beside its answers."""
    md5 = file_md5(path)
    is_published = any(file.md5 == md5 for file in benchmark.question_files)
    return QuestionStamp(name or path.name, md5, is_published)
