"""Own benchmarks without a spec: their fields as guessed from a file's columns, and the check of a file by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.tables import PAGE, read_records
from scoring.benchmarks.base import OpenedFile
from scoring.benchmarks.file_check import FileCheck, file_check
from scoring.jobs.file_roles import FileRoles
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.reader import IMAGE_COLUMNS, Problem
from scoring.registry import flat_record
from scoring.specs.own_fields import MOST_ROWS, OwnFields, columns_of, guess_fields

MOST_COLUMNS = 200


class OwnLook(NamedTuple):
    """The first values of an own benchmark's form."""

    columns: Sequence[str]
    fields: OwnFields


@dataclass(frozen=True)
class OwnCheck:
    """A file by an own benchmark's spec, before it is scored."""

    title: str
    lines: Sequence[str]
    problems: Sequence[Problem]
    check: FileCheck | None
    """None for a file that cannot be scored."""


def own_look(roles: FileRoles) -> OwnLook | None:
    """Returns an upload's columns and the fields guessed from them; None if it has a spec. Raises RowsError."""
    if roles.spec is not None:
        return None
    rows = _first_rows(roles.answers, roles.name)
    if roles.questions is not None:
        question_rows = _first_rows(roles.questions, roles.questions_name)
        # Joined by place, not by id: the fields are guessed from the names and kinds of columns.
        rows = [{**question, **row} for question, row in zip(question_rows, rows, strict=False)]
    columns = columns_of(rows)[:MOST_COLUMNS]
    narrow_rows = [{column: row[column] for column in columns if column in row} for row in rows]
    return OwnLook(columns, guess_fields(Path(roles.name).stem, narrow_rows))


def own_check(opened: OpenedFile, judge: JudgeSpec) -> OwnCheck:
    """Checks an opened file by its spec's first protocol, with this judge's prompt and price."""
    check = None
    if opened.file.scorable:
        protocol = next(iter(opened.benchmark.protocols.values()))
        check = file_check(opened.report(protocol), judge)
    return OwnCheck(opened.title, opened.lines, opened.problems, check)


def _first_rows(path: Path, name: str) -> list[dict[str, Any]]:
    records = read_records(path, PAGE, (), name, allow_object=True, digested=IMAGE_COLUMNS)
    return [{**flat_record(record).values} for record in islice(records, MOST_ROWS)]
