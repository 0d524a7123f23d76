"""Files of calibration: what judges scored (a report's `-audit.jsonl`), and people's marks of the same answers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.io.csv_text import plain_cell
from arena.io.strict_json import RowsError
from arena.io.tables import Record, read_records, refuse_repeated, told_rows
from scoring.people.measures import GRADES
from scoring.report import Question, Row, answer_digest, read_audit

_COLUMNS = ("item", "marker", "score", "prediction_sha256")
CANNOT = "cannot"
"""In place of a score: the person could not judge it."""


class JudgedAnswer(NamedTuple):
    """An answer with a judge's mean score over its runs; None: unscored."""

    question: Question
    answer: str
    score: float | None

    @property
    def digest(self) -> str:
        return answer_digest(self.answer)


class JudgedFile(NamedTuple):
    """One judge's scores of one file of answers."""

    name: str
    answers: Mapping[str, JudgedAnswer]


class PersonMark(NamedTuple):
    """One person's mark of one answer, from 0 to 1 in tenths."""

    item: str
    marker: str
    score: float
    digest: str
    row: int
    round: int = 1
    """2: the same person's second mark of the same answer; 0: the file says neither."""
    note: str = ""


def judged_answers(path: Path) -> JudgedFile:
    """What a judged report's audit file holds. Raises RowsError."""
    report = read_audit(path)
    found = {
        row.question.id: _judged(row, row.prediction)
        for row in report.rows
        if row.prediction is not None
    }
    return JudgedFile(f"{report.judge.model}, {report.protocol}", found)


def _judged(row: Row, prediction: str) -> JudgedAnswer:
    scores = [grade.score for grade in row.grades if grade.score is not None]
    return JudgedAnswer(row.question, prediction, sum(scores) / len(scores) if scores else None)


class ReadMarks(NamedTuple):
    """Marks that can be used, and what was said against others: a file with some wrong rows loses those alone."""

    marks: tuple[PersonMark, ...]
    problems: tuple[str, ...]


def read_marks(path: Path, judged: JudgedFile) -> ReadMarks:
    """People's marks in columns `item`, `marker`, `score` (0 to 1), maybe `prediction_sha256`, `round` and `note`.

    Raises RowsError for a file without these columns.
    """
    wrong: dict[str, list[int]] = {}
    kept: dict[tuple[str, str, int], PersonMark] = {}
    for record in read_records(path):
        mark = _mark(record, path.name)
        could = str(record.values["score"]).strip() != CANNOT
        problem = _problem(mark, judged, kept) if could else "it could not be judged"
        if problem:
            wrong.setdefault(problem, []).append(mark.row)
        else:
            kept[mark.item, mark.marker, mark.round] = mark
    return ReadMarks(
        tuple(kept.values()), tuple(told_rows(problem, rows) for problem, rows in wrong.items())
    )


def _mark(record: Record, file: str) -> PersonMark:
    values = {name: value for name, value in record.values.items() if value is not None}
    cells = {
        name: plain_cell(str(values.get(name, "")).strip()) for name in (*_COLUMNS, "round", "note")
    }
    for name in ("item", "marker", "score"):
        if name not in record.values:
            raise RowsError(
                f"expected the columns item, marker and score, found no {name}; add it",
                file,
                record.row,
            )
    try:
        score = float(cells["score"])
    except ValueError:
        score = float("nan")
    number = {"": 1, "1": 1, "2": 2}.get(cells["round"], 0)
    return PersonMark(
        item=cells["item"],
        marker=cells["marker"],
        score=score,
        digest=cells["prediction_sha256"],
        row=record.row,
        round=number,
        note=cells["note"],
    )


def _problem(
    mark: PersonMark, judged: JudgedFile, kept: Mapping[tuple[str, str, int], PersonMark]
) -> str:
    tenths = mark.score * (GRADES - 1)
    if not (0 <= mark.score <= 1 and abs(tenths - round(tenths)) < 1e-6):
        return "a score is 0, 0.1, ... 1"
    if mark.item not in judged.answers:
        return "no such answer was judged"
    if mark.digest and mark.digest != judged.answers[mark.item].digest:
        return "the mark is of another answer: prediction_sha256 differs"
    if not mark.round:
        return "a round is 1, or 2 for the same person's second mark"
    return (
        "this person marked this answer in a row before"
        if (mark.item, mark.marker, mark.round) in kept
        else ""
    )


def audits(paths: Sequence[Path]) -> Iterator[JudgedFile]:
    """Each judge's file; where a judge has several, their names have the path too.

    Raises RowsError for a file that is given twice.
    """
    refuse_repeated(paths)
    files = [judged_answers(path) for path in paths]
    times = Counter(file.name for file in files)
    for path, file in zip(paths, files, strict=True):
        yield file if times[file.name] == 1 else file._replace(name=f"{file.name} ({path})")
