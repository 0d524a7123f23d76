"""Marking files: marks out of the store as CSV, and marks, labels and readings brought from a file into it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from arena.database import now
from arena.io.csv_text import csv_text
from scoring.jobs.store import Job
from scoring.people.error_sample import known_errors
from scoring.people.errors import Label
from scoring.people.label_files import read_labels
from scoring.people.mark_files import CANNOT, JudgedFile, PersonMark, read_marks
from scoring.people.marking import Marking, shown_answers
from scoring.people.marks import judged_file
from scoring.people.open_answers import open_answers
from scoring.people.plan import answer_key
from scoring.people.reading_files import read_readings
from scoring.people.readings import AnswerKey, PersonReading
from scoring.people.store import LONGEST_NOTE, Mark, Said
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
            mark.said.value if mark.said.value == CANNOT else f"{mark.score:.1f}",
            mark.said.note,
            mark.stratum,
            f"{mark.seconds:.1f}",
            mark.at.isoformat(),
        )
        for mark in marks
    ]
    return csv_text([MARK_COLUMNS, *rows])


def by_item(report: Report) -> tuple[JudgedFile, Mapping[str, str]]:
    """A judged report by its questions' ids, and the key of each answer."""
    file = judged_file(report)
    keys = {one.question.id: key for key, one in file.answers.items()}
    return file._replace(answers={id: file.answers[key] for id, key in keys.items()}), keys


def bring_labels(
    marking: Marking, job: Job, report: AnyReport, path: Path
) -> tuple[int, Sequence[str]]:
    """Store a file's labels of a report's errors, as `bring_marks` does marks. Raises RowsError."""
    errors = known_errors(shown_answers("labels", report)).by_item
    read = read_labels(path, errors)
    marks = [
        _brought(job, answer_key(errors[one.item][0]), one, one.labeller, one.main, one.further)
        for one in read.labels
    ]
    return marking.store.bring("labels", job.link, job.owner, marks), read.problems


def bring_readings(
    marking: Marking, job: Job, report: AnyReport, path: Path
) -> tuple[int, Sequence[str]]:
    """Store a file's readings of a report's open answers, as `bring_marks` does marks. Raises RowsError."""
    answers = {AnswerKey.of(one.id, one.answer): one for one in open_answers(report)}
    read = read_readings(path, {key: [*one.options] for key, one in answers.items()})
    marks = [
        _brought(job, answer_key(answers[one.answer]), one, one.reader, one.option)
        for one in read.readings
    ]
    return marking.store.bring("readings", job.link, job.owner, marks), read.problems


def bring_marks(
    marking: Marking, job: Job, report: Report, path: Path
) -> tuple[int, Sequence[str]]:
    """Store a file's marks of a report; return how many are new, and what was said against others. Raises RowsError."""
    file, keys = by_item(report)
    read = read_marks(path, file)
    marks = [
        _brought(job, keys[one.item], one, one.marker or "unnamed", str(round(10 * one.score)))
        for one in read.marks
    ]
    return marking.store.bring("marks", job.link, job.owner, marks), read.problems


def _brought(
    job: Job,
    answer: str,
    row: PersonMark | Label | PersonReading,
    marker: str,
    value: str,
    further: tuple[str, ...] = (),
) -> Mark:
    """A mark out of a file: of no stratum, and without the time that it took."""
    said = Said(value, further, row.note[:LONGEST_NOTE])
    return Mark(
        job.link, answer, row.item, "", marker, row.round, said, 0.0, now(), is_brought=True
    )
