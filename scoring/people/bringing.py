"""Marking files: stored marks as CSV, and marks, labels and readings from a file added to the store."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from arena.database import now
from arena.io.csv_text import csv_text
from scoring.jobs.store import Job
from scoring.people.error_sample import known_errors
from scoring.people.errors import Label
from scoring.people.label_files import read_labels
from scoring.people.mark_files import CANNOT, JudgedFile, PersonMark, read_marks
from scoring.people.marking import Marking, answers_for
from scoring.people.marks import judged_file
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


def by_item(report: Report) -> tuple[JudgedFile, Mapping[str, str]]:
    """A judged report by its questions' ids, and the key of each answer by question id."""
    file = judged_file(report)
    keys = {judged.question.id: key for key, judged in file.answers.items()}
    return file._replace(answers={id: file.answers[key] for id, key in keys.items()}), keys


def bring_labels(
    marking: Marking, job: Job, report: AnyReport, path: Path
) -> tuple[int, Sequence[str]]:
    """Stores a file's labels of a report's errors and returns as `bring_marks` does. Raises RowsError."""
    errors = known_errors(answers_for("labels", report)).by_item
    file = read_labels(path, errors)
    marks = [
        _brought(
            job,
            answer_key(errors[label.item].answer),
            label,
            label.labeller,
            label.main,
            label.further,
        )
        for label in file.labels
    ]
    return marking.store.bring("labels", job.link, job.owner, marks), file.problems


def bring_readings(
    marking: Marking, job: Job, report: AnyReport, path: Path
) -> tuple[int, Sequence[str]]:
    """Stores a file's readings of a report's open answers and returns as `bring_marks` does. Raises RowsError."""
    answers = {
        AnswerKey.from_answer(answer.id, answer.answer): answer for answer in open_answers(report)
    }
    file = read_readings(path, {key: [*answer.options] for key, answer in answers.items()})
    marks = [
        _brought(job, answer_key(answers[reading.answer]), reading, reading.reader, reading.option)
        for reading in file.readings
    ]
    return marking.store.bring("readings", job.link, job.owner, marks), file.problems


def bring_marks(
    marking: Marking, job: Job, report: Report, path: Path
) -> tuple[int, Sequence[str]]:
    """Stores a file's marks of a report. Returns how many are new, and the problems of other rows. Raises RowsError."""
    file, keys = by_item(report)
    mark_file = read_marks(path, file)
    marks = [
        _brought(job, keys[mark.item], mark, mark.marker or "unnamed", str(round(10 * mark.score)))
        for mark in mark_file.marks
    ]
    return marking.store.bring("marks", job.link, job.owner, marks), mark_file.problems


def _brought(
    job: Job,
    answer: str,
    row: PersonMark | Label | PersonReading,
    marker: str,
    value: str,
    further: tuple[str, ...] = (),
) -> Mark:
    """A mark from a file, without a stratum and without the time that it took."""
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
        is_brought=True,
    )
