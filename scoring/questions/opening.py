"""Files of answers, opened beside the question file that they belong to.

`wanted` says whether somebody still waits for a file; reading it ends when nobody does.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.tables import PAGE, FileLimits, Record
from scoring.benchmarks.base import (
    ChoicesError,
    FileBenchmark,
    OpenedFile,
    TruthPlace,
    truth_place_of,
)
from scoring.questions.known_file import file_md5, truth_places
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import QuestionMatch, answer_files, match_questions
from scoring.registry import BENCHMARKS, first_row, open_upload
from scoring.report import QuestionStamp
from scoring.specs.problems import either

NO_FILE = "None: use what the file says"
"""The choice of no question file, for a file that holds its questions."""


class JoinedFile(NamedTuple):
    """A file of answers opened with its questions; None if no question file of the library is its own."""

    file: OpenedFile | None
    match: QuestionMatch


class _QuestionSource(NamedTuple):
    """The questions of a file of answers, with their benchmark and stamp."""

    benchmark: FileBenchmark[Any]
    questions: Mapping[Any, Any]
    truth_places: Mapping[str, TruthPlace]
    stamp: QuestionStamp


def open_joined_file(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: str | None = None,
    questions: str = "",
    wanted: Callable[[], bool] = lambda: True,
    hides_truths: bool = True,
) -> JoinedFile:
    """Opens a file with the question file of the library that it belongs to.

    `questions` is the name of that file if it is known, `NO_FILE` for none, or "" to look for it.
    `hides_truths`: whether hidden right answers are left out; the question file's owner has them anyway. Raises
    RowsError and ChoicesError.
    """
    match = _match(library, path, limits, name, benchmark, questions)
    if match.file is None:
        return JoinedFile(None, match)
    question_file = match.file
    places = question_file.truth_places
    if not hides_truths:
        places = _unhidden(places)
    source = _QuestionSource(
        benchmark=question_file.file_benchmark,
        questions=question_file.questions(),
        truth_places=places,
        stamp=QuestionStamp(question_file.name, question_file.md5, question_file.is_published),
    )
    return JoinedFile(_opened(path, limits, name, source, wanted), match)


def _unhidden(places: Mapping[str, TruthPlace]) -> Mapping[str, TruthPlace]:
    """Returns the places of right answers for somebody who has the question file."""
    return {split: "there" if place == "hidden" else place for split, place in places.items()}


def _match(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits,
    name: str | None,
    benchmark: str | None,
    questions: str,
) -> QuestionMatch:
    can_have_file = benchmark is None or isinstance(BENCHMARKS.get(benchmark), FileBenchmark)
    if not can_have_file or questions == NO_FILE:
        return QuestionMatch()
    files = library.files()
    if not files and not questions:
        return QuestionMatch()
    namings = {file.file_benchmark.column_names for file in files}
    match = match_questions(files, answer_files(path, namings, limits, name), benchmark)
    if not questions:
        return match
    chosen = [file for file in match.fits if file.name == questions]
    if not chosen:
        names = either([*(file.name for file in match.fits), NO_FILE])
        raise ChoicesError(
            f"{name or path.name}: {questions[:80]!r} isn't one of its question files. Choose {names}."
        )
    return QuestionMatch(chosen[0], match.fits)


def whole_file(
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """Opens a file that has its questions and can be scored by them; None for another. Raises RowsError."""
    try:
        opened = open_upload(path, limits, name, wanted=wanted)
    except ChoicesError:
        return None
    return opened if opened and opened.file.scorable else None


def opened_beside(
    path: Path,
    question_file: Path,
    benchmark: FileBenchmark[Any],
    limits: FileLimits = PAGE,
    name: str | None = None,
    questions_name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile:
    """Opens a file of answers with the question file beside it. Raises RowsError and ChoicesError."""
    own_questions = benchmark.own_questions(question_file, limits, questions_name)
    source = _QuestionSource(
        benchmark=benchmark,
        questions=own_questions,
        truth_places=truth_places(benchmark.list_questions(own_questions)),
        stamp=question_stamp(question_file, benchmark, questions_name),
    )
    return _opened(path, limits, name, source, wanted)


def _opened(
    path: Path,
    limits: FileLimits,
    name: str | None,
    source: _QuestionSource,
    wanted: Callable[[], bool],
) -> OpenedFile:
    """Opens a file with its questions, without the right answers that nobody may read."""
    shown_questions = source.benchmark.without_truths(
        source.questions, lambda split: truth_place_of(source.truth_places, split) != "there"
    )
    opened = open_upload(path, limits, name, source.benchmark, shown_questions, wanted)
    assert opened, "a benchmark that is given takes any file"
    has_hidden = "hidden" in source.truth_places.values()
    # an md5 would confirm a guess of all the hidden answers
    stamp = replace(source.stamp, md5="") if has_hidden else source.stamp
    return replace(
        opened,
        stamp=stamp,
        truth_places=source.truth_places,
        answer_key=source.questions,
    )


def recognised_beside(
    path: Path,
    question_file: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    questions_name: str | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> OpenedFile | None:
    """Opens a file of answers with a question file, by the benchmark that both belong to; None if there is none.

    The question file's md5 decides, else the names and the questions. Raises RowsError and ChoicesError.
    """
    label = name or path.name
    questions_label = questions_name or question_file.name
    question_row = first_row(question_file, limits, questions_label)

    def fits(benchmark: FileBenchmark[Any]) -> bool:
        first = first_row(path, limits, label, benchmark.column_names)
        return benchmark.fits(Record(first.row, {**question_row.values, **first.values}))

    md5 = file_md5(question_file)
    published = []
    by_name = []
    for benchmark in reversed(BENCHMARKS.values()):  # the last that recognises a file takes it
        if not isinstance(benchmark, FileBenchmark):
            continue
        if any(file.md5 == md5 for file in benchmark.question_files):
            published.append(benchmark)
        if benchmark.is_named(label) or benchmark.is_named(questions_label):
            by_name.append(benchmark)
    for benchmark in (*published, *filter(fits, by_name)):
        opened = opened_beside(
            path, question_file, benchmark, limits, label, questions_label, wanted
        )
        if benchmark in published or benchmark.recognises(opened.file.rows, label):
            return opened
    return None


def question_stamp(
    path: Path, benchmark: FileBenchmark[Any], name: str | None = None
) -> QuestionStamp:
    """Returns the stamp of a question file that came with its answers."""
    md5 = file_md5(path)
    is_published = any(file.md5 == md5 for file in benchmark.question_files)
    return QuestionStamp(name or path.name, md5, is_published)
