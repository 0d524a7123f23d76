"""Files of answers, opened beside the question file that they belong to."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.tables import PAGE, FileLimits
from scoring.benchmarks.base import ChoicesError, FileBenchmark, OpenedFile, answers_of
from scoring.questions.known_file import file_md5
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import Match, answer_file, matched
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import QuestionStamp
from scoring.specs.problems import either

NO_FILE = "None: as the file says"
"""The choice of no question file, for a file that holds its questions."""


class Joined(NamedTuple):
    """A file of answers beside its questions; None where no question file of the library is its own."""

    file: OpenedFile | None
    match: Match


def joined(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: str | None = None,
    questions: str = "",
    wanted: Callable[[], bool] = lambda: True,
) -> Joined:
    """Open a file with the question file of the library that it belongs to, or with the one of the name `questions`.

    Right answers that nobody may read are not read with it. Raises RowsError and ChoicesError.
    """
    match = _match(library, path, limits, name, benchmark, questions)
    if match.found is None:
        return Joined(None, match)
    known = match.found
    key = known.questions()
    blind = known.record.blind(key, lambda split: answers_of(known.answers, split) != "there")
    opened = open_upload(path, limits, name, known.record, blind, wanted)
    assert opened, "a benchmark that is given takes any file"
    stamp = QuestionStamp(known.name, known.md5, known.is_published)
    beside = replace(opened, stamp=stamp, answers=known.answers, answer_key=key)
    return Joined(beside, match)


def _match(
    library: QuestionLibrary,
    path: Path,
    limits: FileLimits,
    name: str | None,
    benchmark: str | None,
    questions: str,
) -> Match:
    is_table = benchmark is None or isinstance(BENCHMARKS.get(benchmark), FileBenchmark)
    files = library.files() if is_table and questions != NO_FILE else ()
    if not files:
        return Match()
    match = matched(files, answer_file(path, limits, name), benchmark)
    if not questions:
        return match
    chosen = [file for file in match.fits if file.name == questions]
    if not chosen:
        names = either([*(file.name for file in match.fits), NO_FILE])
        raise ChoicesError(
            f"{name or path.name}: {questions[:80]!r} is none of its question files; choose {names}"
        )
    return Match(chosen[0], match.fits)


def given_stamp(path: Path, benchmark: FileBenchmark[Any]) -> QuestionStamp:
    """The stamp of a question file that was given beside its answers."""
    md5 = file_md5(path)
    return QuestionStamp(path.name, md5, any(file.md5 == md5 for file in benchmark.question_files))
