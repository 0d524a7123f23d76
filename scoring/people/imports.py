"""Marking files: stored marks as CSV, and marks, labels and readings from a file added to the store."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.database import now
from arena.io.csv_text import csv_text
from scoring.jobs.store import Job
from scoring.people.error_sample import known_errors
from scoring.people.errors import Label
from scoring.people.label_files import read_labels
from scoring.people.mark_files import CANNOT, JudgedReport, PersonMark, read_marks
from scoring.people.marking import Marking, answers_for
from scoring.people.marks import judged_report
from scoring.people.open_answers import open_answers
from scoring.people.plan import answer_key
from scoring.people.reading_files import read_readings
from scoring.people.readings import AnswerKey, PersonReading
from scoring.people.store import LONGEST_NOTE, Mark, MarkEntry
from scoring.report import AnyReport, Report

MARK_COLUMNS = (
    "item",
    "prediction_sha256",
    "marker",
    "round",
    "score",
    "note",
    "stratum",
    "seconds",
    "at",
)


def marks_csv(marks: Sequence[Mark], digests: Mapping[str, str]) -> str:
    """Marks as `python -m scoring calibrate --marks` reads them; `digests`: sha256 of each answer, by its key."""
    rows = [
        (
            mark.item,
            digests.get(mark.answer, ""),
            mark.marker,
            mark.round,
            mark.entry.value if mark.entry.value == CANNOT else f"{mark.score:.1f}",
            mark.entry.note,
            mark.stratum,
            f"{mark.seconds:.1f}",
            mark.at.isoformat(),
        )
        for mark in marks
    ]
    return csv_text([MARK_COLUMNS, *rows])


class JudgedByItem(NamedTuple):
    """A judged report with its answers by question id, and the `answer_key` of each by question id."""

    judged: JudgedReport
    keys: Mapping[str, str]


def judged_by_item(report: Report) -> JudgedByItem:
    """A judged report by question id, as files of marks name its answers; the store has them by `answer_key`."""
    judged = judged_report(report)
    keys = {answer.question.id: key for key, answer in judged.answers.items()}
    answers = {item: judged.answers[key] for item, key in keys.items()}
    return JudgedByItem(judged._replace(answers=answers), keys)


class ImportedRatings(NamedTuple):
    """The number of new or changed ratings in a file, and the problems of the rows that were left out."""

    count: int
    problems: Sequence[str]


def import_labels(marking: Marking, job: Job, report: AnyReport, path: Path) -> ImportedRatings:
    """Stores a file's labels of a report's errors. Raises RowsError and MarkError."""
    errors = known_errors(answers_for("labels", report)).by_item
    file = read_labels(path, errors)
    marks = [
        _file_mark(
            job,
            answer_key(errors[label.item].answer),
            label,
            label.labeller,
            label.main,
            label.further,
        )
        for label in file.labels
    ]
    count = marking.store.import_marks("labels", job.link, job.owner, marks)
    return ImportedRatings(count, file.problems)


def import_readings(marking: Marking, job: Job, report: AnyReport, path: Path) -> ImportedRatings:
    """Stores a file's readings of a report's open answers. Raises RowsError and MarkError."""
    answers = {
        AnswerKey.from_answer(answer.id, answer.answer): answer for answer in open_answers(report)
    }
    file = read_readings(path, {key: [*answer.options] for key, answer in answers.items()})
    marks = [
        _file_mark(
            job, answer_key(answers[reading.answer]), reading, reading.reader, reading.option
        )
        for reading in file.readings
    ]
    count = marking.store.import_marks("readings", job.link, job.owner, marks)
    return ImportedRatings(count, file.problems)


def import_marks(marking: Marking, job: Job, report: Report, path: Path) -> ImportedRatings:
    """Stores a file's marks of a report. Raises RowsError and MarkError."""
    judged, keys = judged_by_item(report)
    mark_file = read_marks(path, judged)
    marks = [
        _file_mark(job, keys[mark.item], mark, mark.marker, str(round(10 * mark.score)))
        for mark in mark_file.marks
    ]
    count = marking.store.import_marks("marks", job.link, job.owner, marks)
    return ImportedRatings(count, mark_file.problems)


def _file_mark(
    job: Job,
    answer: str,
    row: PersonMark | Label | PersonReading,
    marker: str,
    value: str,
    further: tuple[str, ...] = (),
) -> Mark:
    """The mark of an answer, given by its `answer_key`, from a row of a file, which has no stratum and no seconds."""
    return Mark(
        report=job.link,
        answer=answer,
        item=row.item,
        stratum="",
        marker=marker,
        round=row.round,
        entry=MarkEntry(value, further, row.note[:LONGEST_NOTE]),
        seconds=0.0,
        at=now(),
        is_from_file=True,
    )
