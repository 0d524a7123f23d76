"""Own benchmarks without a spec: what a file's columns tell of one, and what the file comes to by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.tables import PAGE, read_records
from scoring.benchmarks.base import OpenedFile
from scoring.benchmarks.file_check import FileCheck, file_check
from scoring.jobs.given import GivenFiles
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.reader import IMAGE_COLUMNS, Problem
from scoring.registry import flat
from scoring.specs.own_fields import MOST_ROWS, OwnFields, columns_of, guessed_fields

MOST_COLUMNS = 200


class OwnLook(NamedTuple):
    """What a form of an own benchmark is filled in with."""

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


def own_look(given: GivenFiles) -> OwnLook | None:
    """The columns of an upload, with the fields as far as they tell; None for one with a spec. Raises RowsError."""
    if given.spec is not None:
        return None
    rows = _first_rows(given.answers, given.name)
    if given.questions is not None:
        asked = _first_rows(given.questions, given.questions_name)
        rows = [{**question, **row} for question, row in zip(asked, rows, strict=False)]
    columns = columns_of(rows)[:MOST_COLUMNS]
    kept = [{column: row[column] for column in columns if column in row} for row in rows]
    return OwnLook(columns, guessed_fields(Path(given.name).stem, kept))


def own_check(opened: OpenedFile, judge: JudgeSpec) -> OwnCheck:
    """What an opened file comes to under its spec's first protocol, with this judge's prompt and price."""
    check = None
    if opened.file.scorable:
        protocol = next(iter(opened.benchmark.protocols.values()))
        check = file_check(opened.report(protocol), judge)
    return OwnCheck(opened.title, opened.lines, opened.problems, check)


def _first_rows(path: Path, name: str) -> list[dict[str, Any]]:
    records = read_records(path, PAGE, (), name, members=True, digested=IMAGE_COLUMNS)
    return [{**flat(record).values} for record in islice(records, MOST_ROWS)]
