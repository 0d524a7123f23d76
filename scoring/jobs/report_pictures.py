"""Report pictures: those of the wrong answers that a report shows, and of the answers that people label.

They come from the report's file or its question file, and are strangers' bytes: decoded and encoded anew, small, and
kept in the database until their report is deleted. Only people with the report's link can see them; no copy and no
export holds them.
"""

import base64
import binascii
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, Table, Text, func, insert, select

from arena.database import METADATA, Database, DatabaseError
from arena.io.aside import Aside, AsideError
from arena.io.images import Picture, PictureError, read_picture
from arena.io.scaled_pictures import scaled_picture
from arena.io.tables import (
    COMMAND_LINE,
    JSON,
    PAGE,
    TABLE_SUFFIXES,
    FileLimits,
    RowsError,
    read_records,
)
from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer, wrong_answers
from scoring.benchmarks.base import ColumnNames, FileBenchmark
from scoring.jobs.file_roles import FileRolesError, file_roles
from scoring.jobs.files import Source
from scoring.jobs.store import JOB, Job, Jobs
from scoring.jobs.uploads import StoredUpload, UploadedFile, UploadStore
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import record_id
from scoring.registry import benchmark_of
from scoring.report import QuestionStamp
from scoring.serialize import ReportError
from scoring.specs.problems import SpecError

REPORT_PICTURE = Table(
    "report_picture",
    METADATA,
    Column("link", ForeignKey("job.link", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)
"""Pictures of a report, numbered from 1; `data` is WebP."""
WIDTH = 640
"""Most pixels across."""
MOST_OF_QUESTION = 4
"""Pictures of one question that are kept."""
MOST_LABELLED = 90
"""Answers whose pictures are kept so that people can label their errors: about 5 MB."""
_MOST_WAITING = 50
"""Most files that wait to be read for their pictures; further files stay unread."""
_PATIENCE_SECONDS = 5.0
"""The time to wait for pictures that are being read."""
_REFERENCE = re.compile(r"\d{1,12}")
"""A cell with the index of another question, whose picture it shares."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")

QuestionFilePaths = Mapping[tuple[str, str], Path]
"""The question files of this server by name and md5."""
_UNREAD = (RowsError, FileRolesError, SpecError, ReportError, OSError, DatabaseError, AsideError)
"""Errors that keep a file's pictures from being read."""

log = logging.getLogger(__name__)


class QuestionPicture(NamedTuple):
    """A picture in a file, and the id of its question."""

    question: str
    picture: Picture


class KeptPicture(NamedTuple):
    """A picture as it is kept for a report, and the id of its question."""

    question: str
    data: bytes
    """WebP."""


class ReportPictures:
    """Pictures of reports; files are read one at a time, beside the scoring."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        uploads: UploadStore,
        aside: Aside | None = None,
        library: QuestionLibrary | None = None,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._uploads = uploads
        self._aside = aside
        self._library = library or QuestionLibrary()
        self._reader = ThreadPoolExecutor(1, "pictures")
        self._waiting: dict[str, Future[None]] = {}

    def keep_soon(self, job: Job, labelled: Sequence[ScoredAnswer] = ()) -> None:
        """Keeps pictures of the uploaded file of a report, in the background.

        They are of the wrong answers that the report shows, or of the first MOST_LABELLED answers that people label.
        """
        if not isinstance(benchmark_of(job), FileBenchmark):
            return
        kept_pictures = self.numbers(job.link)
        wanted = [answer for answer in labelled[:MOST_LABELLED] if answer.id not in kept_pictures]
        # Without `labelled`, `wanted` is empty, which means the wrong answers that the report shows.
        has_all = not wanted if labelled else bool(kept_pictures)
        if has_all:
            return
        upload = self._uploads.latest(job.owner, job.file)
        if upload is None:
            return
        if job.link in self._waiting or len(self._waiting) >= _MOST_WAITING:
            return
        reading = self._reader.submit(self._keep, job.link, upload, wanted)
        self._waiting[job.link] = reading
        reading.add_done_callback(lambda _: self._waiting.pop(job.link, None))

    def stop(self) -> None:
        """Leaves the files that wait unread."""
        self._reader.shutdown(cancel_futures=True)

    def numbers(self, link: str) -> Mapping[str, Sequence[int]]:
        """Returns the numbers of a report's pictures by question; waits a moment for pictures still being read."""
        if reading := self._waiting.get(link):
            with suppress(TooLateError, CancelledError):
                reading.result(_PATIENCE_SECONDS)
        query = select(REPORT_PICTURE.c.question, REPORT_PICTURE.c.number).where(
            REPORT_PICTURE.c.link == link
        )
        with self._database.read() as connection:
            return grouped(connection.execute(query.order_by(REPORT_PICTURE.c.number)))

    def picture(self, link: str, number: int) -> bytes | None:
        """Returns a picture of the report under this link; None if it has no such picture."""
        query = select(REPORT_PICTURE.c.data).where(
            REPORT_PICTURE.c.link == link, REPORT_PICTURE.c.number == number
        )
        with self._database.read() as connection:
            return connection.scalar(query)

    def _keep(self, link: str, upload: StoredUpload, wanted: Sequence[ScoredAnswer]) -> None:
        try:
            on_server = {(file.name, file.md5): file.path for file in self._library.files()}
            read_pictures = partial(report_pictures, self._jobs, link, upload, wanted, on_server)
            # The question files of this server have any length.
            may_be_large = bool(on_server) or Source.from_upload(upload).is_large
            if self._aside is not None and may_be_large:
                self._insert(link, self._aside.run(read_pictures))
            else:
                self._insert(link, read_pictures())
        except _UNREAD as error:
            log.info("the pictures of a report were not read: %s", error)

    def _insert(self, link: str, pictures: Sequence[KeptPicture]) -> None:
        if not pictures:
            return
        last_number = select(func.coalesce(func.max(REPORT_PICTURE.c.number), 0)).where(
            REPORT_PICTURE.c.link == link
        )
        with self._database.write() as connection:
            if connection.scalar(select(JOB.c.link).where(JOB.c.link == link)) is None:
                return  # Its owner has deleted the report meanwhile.
            first = connection.execute(last_number).scalar_one() + 1
            rows = [
                {"link": link, "number": number, **picture._asdict()}
                for number, picture in enumerate(pictures, first)
            ]
            connection.execute(insert(REPORT_PICTURE), rows)


def report_pictures(
    jobs: Jobs,
    link: str,
    upload: StoredUpload,
    wanted: Sequence[ScoredAnswer],
    on_server: QuestionFilePaths,
) -> list[KeptPicture]:
    """Returns scaled pictures of the wanted answers in a report's file; of the wrong ones if `wanted` is empty.

    `on_server` are question files, which may hold pictures that the report's file lacks. Raises RowsError.
    """
    report: Any = jobs.report(link)
    if report is None:
        return []
    benchmark = benchmark_of(report)
    answers = benchmark.scored_answers(report)
    assert isinstance(benchmark, FileBenchmark), "only files of answers have pictures to keep"
    shown_answers = wanted or wrong_answers(answers)
    roles = file_roles(upload)
    questions = UploadedFile(roles.questions, roles.questions_name) if roles.questions else None
    limits = PAGE
    stamp: QuestionStamp | None = report.questions
    if questions is None and stamp is not None and (stamp.name, stamp.md5) in on_server:
        questions = UploadedFile(on_server[stamp.name, stamp.md5], stamp.name)
        limits = COMMAND_LINE  # The question files of this server have any length.
    file = UploadedFile(roles.answers, roles.name)
    pictures = wanted_pictures(
        file, questions, benchmark.column_names, answers, shown_answers, limits
    )
    return [
        KeptPicture(question, scaled_picture(picture.data, WIDTH)) for question, picture in pictures
    ]


def wanted_pictures(
    file: UploadedFile,
    questions: UploadedFile | None,
    names: ColumnNames,
    answers: Sequence[ScoredAnswer],
    wanted: Sequence[ScoredAnswer],
    limits: FileLimits = PAGE,
) -> Iterator[QuestionPicture]:
    """Yields the pictures of the wanted answers of a file.

    A picture comes from the file itself, else from its question file, which `limits` are for. Raises RowsError.
    """
    pictured = set()
    for picture in file_pictures(file.path, file.name, answers, wanted):
        pictured.add(picture.question)
        yield picture
    without_picture = [answer for answer in wanted if answer.id not in pictured]
    if without_picture and questions is not None:
        rows = _question_rows(questions, names, limits)
        yield from _row_pictures(questions.path, questions.name, rows, without_picture, limits)


def _question_rows(file: UploadedFile, names: ColumnNames, limits: FileLimits) -> Mapping[str, int]:
    """Returns the row of each question id in a question file, for ids with a row of their own. Raises RowsError."""
    rows: dict[str, int] = {}
    records = read_records(file.path, limits, IMAGE_COLUMNS, file.name, allow_object=True)
    for place, record in enumerate(records):
        id = record_id(record, names) or str(place)
        rows.setdefault(id, record.row)
    # All records of a JSON file may be on one row.
    times = Counter(rows.values())
    return {id: row for id, row in rows.items() if times[row] == 1}


def file_pictures(
    path: Path, name: str, answers: Sequence[ScoredAnswer], wanted: Sequence[ScoredAnswer]
) -> Iterator[QuestionPicture]:
    """Yields the pictures of the wanted answers in the rows of a file itself. Raises RowsError."""
    # All records of a JSON file may be on one row.
    times = Counter(answer.row for answer in answers)
    rows = {answer.id: answer.row for answer in answers if answer.row and times[answer.row] == 1}
    yield from _row_pictures(path, name, rows, wanted)


def _row_pictures(
    path: Path,
    name: str,
    rows: Mapping[str, int],
    wanted: Sequence[ScoredAnswer],
    limits: FileLimits = PAGE,
) -> Iterator[QuestionPicture]:
    """Yields the pictures of the wanted answers; `rows` has a file's row of each id.

    A cell may hold another question's index in place of a picture: its row has the picture.
    """
    own_rows = {answer.id: rows[answer.id] for answer in wanted if answer.id in rows}
    cells = _cells(path, name, set(own_rows.values()), limits) if own_rows else {}
    picture_rows: dict[str, int] = {}
    for id, row in own_rows.items():
        cell_text = str(cells.get(row)).strip()
        is_reference = _REFERENCE.fullmatch(cell_text) and cell_text in rows
        picture_rows[id] = rows[cell_text] if is_reference else row
    other_rows = set(picture_rows.values()) - set(own_rows.values())
    if other_rows:
        cells |= _cells(path, name, other_rows, limits)
    for id, row in picture_rows.items():
        for data in _decode_pictures(cells.get(row)):
            with suppress(PictureError):
                yield QuestionPicture(id, read_picture(data))


def _cells(path: Path, name: str, rows: set[int], limits: FileLimits) -> dict[int, JSON]:
    """Returns the picture cells of these rows, by row; None for a row without one. Raises RowsError."""
    cells: dict[int, JSON] = {}
    # All records of a table have the same columns, those of a JSON file their own.
    is_table = Path(name).suffix.lower() in TABLE_SUFFIXES
    # A picture may be as long as a line.
    picture_limits = replace(limits, cell=limits.line)
    for record in read_records(path, picture_limits, name=name, allow_object=True):
        columns = [column for column in IMAGE_COLUMNS if column in record.values]
        has_no_pictures = is_table and not columns
        if has_no_pictures or len(cells) == len(rows):
            break
        if record.row in rows:
            cells[record.row] = record.values[columns[0]] if columns else None
    return cells


def _decode_pictures(cell: JSON) -> Iterator[bytes]:
    """Yields the bytes of a cell's pictures in base64: one picture or data URL, or a list of them."""
    text = ",".join(map(str, cell)) if isinstance(cell, list) else str(cell or "")
    # Many tools wrap base64 at 76 columns.
    for encoded in _BASE64.findall("".join(text.split()))[:MOST_OF_QUESTION]:
        with suppress(binascii.Error):
            yield base64.b64decode(encoded)
