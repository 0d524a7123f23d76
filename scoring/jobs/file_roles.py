"""Roles of an upload's files: the answers, maybe the questions beside them, and the spec by which they are scored.

The columns of a table show whether it has the answers or the questions. A spec can only open files of its own upload,
and addresses in a spec are not fetched.
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
from scoring.specs.layout import has_answers, has_questions
from scoring.specs.other_forms import own_spec
from scoring.specs.problems import either
from scoring.specs.schema import Spec, spec_of


class FileRolesError(ValueError):
    """An upload's files don't add up to a file of answers; the message says what to do."""


@dataclass(frozen=True)
class FileRoles:
    """The files of an upload by their roles, with their owner's names for them."""

    answers: Path
    name: str
    """The owner's name for the file of answers."""
    questions: Path | None = None
    questions_name: str = ""
    spec: Spec | None = None

    def users_benchmark(self, key: str, spec: str) -> SpecBenchmark | None:
        """Returns the user's own benchmark; None if `key` names another, or there is neither a key nor a spec.

        `spec` is its spec as JSON, "" for that of the upload. Raises FileRolesError, SpecError and RowsError.
        """
        if key and not is_own(key):
            return None
        if spec:
            return own_benchmark(spec_of(parse_json(spec)))
        if self.spec is not None:
            return own_benchmark(self.spec)
        if key:
            raise FileRolesError(
                f"Your own benchmark needs a benchmark.yaml. Drop it together with {self.name}."
            )
        return None


def file_roles(upload: StoredUpload) -> FileRoles:
    """Returns the roles of an upload's files. Raises FileRolesError, SpecError and RowsError."""
    spec_file = _spec_file(upload)
    spec = None
    names_of_spec: set[str] = set()
    """The spec's own name and those of the files that it opens."""
    if spec_file is not None:
        names_of_spec.add(spec_file.name)
        paths = {file.name: file.path for file in upload.files}

        def path_beside_spec(name: str) -> Path | None:
            """Returns a file of the upload that the spec opens, and notes its name."""
            names_of_spec.add(name)
            return paths.get(name)

        spec = own_spec(spec_file.path, spec_file.name, path_beside_spec)
    tables = _tables([file for file in upload.files if file.name not in names_of_spec])
    if not tables and spec_file is not None and spec is not None:
        raise FileRolesError(
            f"{spec_file.name} says how to score {spec.name}. Drop your answers together with it."
        )
    if not tables:
        raise FileRolesError("There are no answers in it. Drop your model's answers.")
    if len(tables) > 2:
        raise FileRolesError(
            f"{_names(tables)} are {len(tables)} tables. Keep one with a model's answers, and one with the questions "
            "if they have their own file."
        )
    if len(tables) == 1:
        return FileRoles(tables[0].path, tables[0].name, spec=spec)
    answers = _table_of_answers(tables, spec)
    (questions,) = (file for file in tables if file is not answers)
    return FileRoles(answers.path, answers.name, questions.path, questions.name, spec)


def _spec_file(upload: StoredUpload) -> UploadedFile | None:
    """Returns the upload's spec; None without one. Raises FileRolesError for several."""
    specs = [file for file in upload.files if file.path.suffix in SPEC_ENDINGS]
    if len(specs) > 1:
        raise FileRolesError(f"{_names(specs)} each say how to score. Keep one of them.")
    return specs[0] if specs else None


def _tables(files: Sequence[UploadedFile]) -> list[UploadedFile]:
    """Returns these files if all are tables. Raises FileRolesError."""
    for file in files:
        if file.path.suffix not in SUFFIXES:
            raise FileRolesError(
                f"{file.name} isn't used, because no benchmark.yaml names it. Leave it out, or name it there."
            )
    return [*files]


def _table_of_answers(tables: Sequence[UploadedFile], spec: Spec | None) -> UploadedFile:
    """Returns that of two tables that has the answers. Raises FileRolesError and RowsError."""
    names = own_benchmark(spec).column_names if spec else USUAL_NAMES
    columns = {}
    for file in tables:
        row = first_row(file.path, PAGE, file.name, names)
        columns[file] = [*row.values]
    with_answers = [file for file in tables if has_answers(columns[file], spec)]
    answer_column = spec.columns.answer if spec else "prediction"
    if len(with_answers) > 1:
        raise FileRolesError(
            f"{_names(tables)} both have a model's answers, in a column {answer_column!r}. Keep one of them. If the "
            "other has the questions, delete that column there."
        )
    if with_answers:
        return with_answers[0]
    # The model's answers may be in a column named like that of right answers: the file without questions has them.
    without_questions = [file for file in tables if not has_questions(columns[file], spec)]
    if len(without_questions) != 1:
        raise FileRolesError(
            f"Neither of {_names(tables)} has a column {answer_column!r} with a model's answers. Rename the column "
            "that has them."
        )
    return without_questions[0]


def open_with_questions(
    roles: FileRoles,
    questions: Path,
    benchmark: FileBenchmark[Any] | None,
    wanted: Callable[[], bool],
) -> OpenedFile:
    """Opens answers with the questions of the same upload, as a benchmark if one is chosen.

    `wanted` says whether somebody still waits for it. Raises FileRolesError, RowsError and ChoicesError.
    """
    if benchmark is not None:
        return opened_beside(
            roles.answers, questions, benchmark, PAGE, roles.name, roles.questions_name, wanted
        )
    opened = recognised_beside(
        roles.answers, questions, PAGE, roles.name, roles.questions_name, wanted
    )
    if opened is None:
        raise FileRolesError(
            f"We can't tell the benchmark from {roles.questions_name}. Choose it below, under Details, add a "
            "benchmark.yaml, or drop the answers alone."
        )
    return opened


def _names(files: Sequence[UploadedFile]) -> str:
    return either((file.name for file in files), "and")
