"""Files of calibration: a judge's scores (a report's `-audit.jsonl`), and people's marks of the same answers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from arena.io.rows import FileRow, cell, sound_rows
from arena.io.strict_json import row_errors
from arena.io.tables import read_records, refuse_repeated
from scoring.people.measures import GRADES
from scoring.report import Question, Report, Row, answer_digest, read_audit

CANNOT = "cannot"
"""The value in place of a score when the person could not judge the answer."""
PersonName = Annotated[str, AfterValidator(lambda name: name or "unnamed")]
"""A person's name in a file, whose cell may be empty."""


class JudgedAnswer(NamedTuple):
    """An answer with a judge's mean score over its runs; None: unscored."""

    question: Question
    answer: str
    score: float | None

    @property
    def digest(self) -> str:
        return answer_digest(self.answer)


class JudgedReport(NamedTuple):
    """One judge's scores of one model's answers."""

    judge: str
    """The judge's name, as tables call it."""
    answers: Mapping[str, JudgedAnswer]
    """By a key: the question's id for an audit file, `answer_key` for a stored report."""


class PersonMark(NamedTuple):
    """One person's mark of one answer, from 0 to 1 in tenths."""

    item: str
    """The answer's key in a `JudgedReport`."""
    marker: str
    score: float
    round: int = 1
    """2: the same person's second mark of the same answer."""
    note: str = ""


def read_judged_report(path: Path) -> JudgedReport:
    """The scores in a judged report's audit file. Raises RowsError."""
    report = read_audit(path)
    answers = {
        row.question.id: _judged_answer(row, row.prediction)
        for row in report.rows
        if row.prediction is not None
    }
    return JudgedReport(judge_name(report), answers)


def judge_name(report: Report) -> str:
    """A report's judge with its protocol, as tables call it."""
    return f"{report.judge.model}, {report.protocol} protocol"


def _judged_answer(row: Row, prediction: str) -> JudgedAnswer:
    scores = [grade.score for grade in row.grades if grade.score is not None]
    return JudgedAnswer(row.question, prediction, sum(scores) / len(scores) if scores else None)


def _check_judged(score: object) -> object:
    if score == CANNOT:
        raise ValueError("it could not be judged")
    return score


def _is_tenth(score: float) -> bool:
    tenths = score * (GRADES - 1)
    return 0 <= score <= 1 and abs(tenths - round(tenths)) < 1e-6


class _MarkRow(FileRow):
    """A row of a file of marks."""

    item: str
    marker: PersonName
    score: Annotated[
        float,
        cell("0, 0.1, ... or 1", holds=_is_tenth),
        BeforeValidator(_check_judged),  # Runs before `cell`.
    ]
    prediction_sha256: str = ""
    round: Annotated[
        int,
        cell("1, or 2 for the same person's second mark", holds=lambda number: number in (1, 2)),
    ] = 1
    note: str = ""


class MarkFile(NamedTuple):
    """The marks of a file that can be used, and the problems of its other rows."""

    marks: tuple[PersonMark, ...]
    problems: tuple[str, ...]


def read_marks(path: Path, judged: JudgedReport) -> MarkFile:
    """People's marks in columns `item`, `marker`, `score` (0 to 1), optionally `prediction_sha256`, `round`, `note`.

    Raises RowsError for a file without the first three.
    """

    def row_problem(row: _MarkRow) -> str:
        if row.item not in judged.answers:
            return "no such answer was judged"
        if row.prediction_sha256 not in ("", judged.answers[row.item].digest):
            return "the mark is of another answer: prediction_sha256 differs"
        return ""

    with row_errors(path.name):
        sound = sound_rows(
            read_records(path),
            _MarkRow,
            check=row_problem,
            key=("item", "marker", "round"),
            repeat_problem="this person marked this answer in a row before",
        )
    marks = (
        PersonMark(row.item, row.marker, row.score, row.round, row.note) for _, row in sound.rows
    )
    return MarkFile(tuple(marks), sound.problems)


def read_judged_reports(paths: Sequence[Path]) -> Iterator[JudgedReport]:
    """Yields the scores of each audit file; if a judge has several, their paths are part of the judge's name.

    Raises RowsError for a file that is given twice.
    """
    refuse_repeated(paths)
    reports = [read_judged_report(path) for path in paths]
    report_counts = Counter(report.judge for report in reports)
    for path, report in zip(paths, reports, strict=True):
        is_only_report = report_counts[report.judge] == 1
        yield report if is_only_report else report._replace(judge=f"{report.judge} ({path})")
