"""What an upload gives: a file of answers, maybe the questions beside it, and the spec by which it is scored.

Which table is which is told by its columns. A spec opens the files of its upload alone, and no address in it is asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.io.strict_json import parse_json
from arena.io.tables import PAGE, SUFFIXES
from scoring.benchmarks.base import USUAL_NAMES, FileBenchmark, OpenedFile
from scoring.benchmarks.spec_benchmark import SpecBenchmark, is_own, own_benchmark
from scoring.jobs.uploads import StoredUpload, UploadedFile
from scoring.questions.opening import opened_beside, recognised_beside
from scoring.registry import first_row
from scoring.specs.files import SPEC_ENDINGS
from scoring.specs.other_forms import own_spec
from scoring.specs.problems import either
from scoring.specs.reading import has_answers, has_questions
from scoring.specs.schema import Spec, spec_of


class GivenFilesError(ValueError):
    """The files of an upload don't make one of answers; the message says what to do."""


@dataclass(frozen=True)
class GivenFiles:
    """The files of an upload by what they are, each with its owner's name for it."""

    answers: Path
    name: str
    questions: Path | None = None
    questions_name: str = ""
    spec: Spec | None = None

    def own(self, key: str, spec: str) -> SpecBenchmark | None:
        """The benchmark that is brought: by this JSON of a spec, else by the upload; None if another `key` is chosen.

        Raises GivenFilesError, SpecError and RowsError.
        """
        if key and not is_own(key):
            return None
        if spec:
            return own_benchmark(spec_of(parse_json(spec)))
        if self.spec is not None:
            return own_benchmark(self.spec)
        if key:
            raise GivenFilesError(
                f"A benchmark of your own needs a benchmark.yaml. Drop it together with {self.name}"
            )
        return None


def given_files(upload: StoredUpload) -> GivenFiles:
    """What the files of an upload are. Raises GivenFilesError, SpecError and RowsError."""
    specs = [file for file in upload.files if file.path.suffix in SPEC_ENDINGS]
    if len(specs) > 1:
        raise GivenFilesError(f"{_named(specs)} each say how to score. Drop one of them")
    spec = None
    used: set[str] = set()
    if specs:
        paths = {file.name: file.path for file in upload.files}

        def beside(name: str) -> Path | None:
            used.add(name)
            return paths.get(name)

        spec = own_spec(specs[0].path, specs[0].name, beside)
    tables = _tables([file for file in upload.files if file not in specs and file.name not in used])
    if not tables and spec is not None:
        raise GivenFilesError(
            f"{specs[0].name} says how to score {spec.name}. Drop your answers together with it"
        )
    if not tables:
        raise GivenFilesError("There are no answers in it. Drop your model's answers")
    if len(tables) > 2:
        raise GivenFilesError(
            f"{_named(tables)} are {len(tables)} tables. Drop one with a model's answers, and one with the "
            "questions if they are in a file of their own"
        )
    if len(tables) == 1:
        return GivenFiles(tables[0].path, tables[0].name, spec=spec)
    answers, questions = _apart(tables, spec)
    return GivenFiles(answers.path, answers.name, questions.path, questions.name, spec)


def _tables(files: Sequence[UploadedFile]) -> list[UploadedFile]:
    """These files, which are tables all. Raises GivenFilesError."""
    for file in files:
        if file.path.suffix not in SUFFIXES:
            raise GivenFilesError(
                f"No benchmark.yaml beside {file.name} names it, so nothing reads it. Leave it out, or name it there"
            )
    return [*files]


def _apart(tables: Sequence[UploadedFile], spec: Spec | None) -> tuple[UploadedFile, UploadedFile]:
    """Which of two tables is the answers, and which the questions. Raises GivenFilesError and RowsError."""
    names = own_benchmark(spec).column_names if spec else USUAL_NAMES
    columns = {file: [*first_row(file.path, PAGE, file.name, names).values] for file in tables}
    answers = [file for file in tables if has_answers(columns[file], spec)]
    called = spec.columns.answer if spec else "prediction"
    if len(answers) > 1:
        raise GivenFilesError(
            f"{_named(tables)} both have a model's answers, in a column {called!r}. Drop one of them, and the "
            "questions without such a column"
        )
    if not answers:  # beside questions they may be called as the right ones are
        answers = [file for file in tables if not has_questions(columns[file], spec)]
    if len(answers) != 1:
        raise GivenFilesError(
            f"Neither of {_named(tables)} has a column {called!r} with a model's answers. Rename the column that has "
            "them"
        )
    questions = next(file for file in tables if file not in answers)
    return answers[0], questions


def opened_given(
    given: GivenFiles,
    questions: Path,
    benchmark: FileBenchmark[Any] | None,
    wanted: Callable[[], bool],
) -> OpenedFile:
    """Answers with the questions that came with them, of a benchmark if one is known.

    Raises GivenFilesError, RowsError and ChoicesError.
    """
    if benchmark is not None:
        return opened_beside(
            given.answers, questions, benchmark, PAGE, given.name, given.questions_name, wanted
        )
    found = recognised_beside(
        given.answers, questions, PAGE, given.name, given.questions_name, wanted
    )
    if found is None:
        raise GivenFilesError(
            f"No benchmark is known by {given.questions_name}. Choose it below, under Details, drop a benchmark.yaml "
            "with both files, or drop the answers alone"
        )
    return found


def _named(files: Sequence[UploadedFile]) -> str:
    return either((file.name for file in files), "and")
