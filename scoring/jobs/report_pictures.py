"""Report pictures: those of the wrong answers that a report shows, or people label, where its file or its question file
holds them.

They are strangers' bytes: decoded and encoded anew, small, and kept in the database beside their report, with which
they go. Who has the report's link may see them, nobody else; no copy and no export holds them.
"""

import base64
import binascii
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, Table, Text, func, insert, select

from arena.database import METADATA, Database, DatabaseError
from arena.io.aside import Aside, AsideError
from arena.io.images import Picture, PictureError, read_picture
from arena.io.scaled_pictures import scaled_picture
from arena.io.tables import COMMAND_LINE, JSON, PAGE, FileLimits, RowsError, read_records
from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer, wrong_answers
from scoring.benchmarks.base import ColumnNames, FileBenchmark
from scoring.jobs.files import Source
from scoring.jobs.given import GivenFilesError, given_files
from scoring.jobs.store import JOB, Job, Jobs
from scoring.jobs.uploads import StoredUpload, UploadedFile, UploadStore
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import record_id
from scoring.registry import benchmark_of
from scoring.report import QuestionStamp
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
MOST_LABELLED = 90
"""Answers whose pictures are kept so that people can label their errors: about 5 MB."""
_MOST_WAITING = 50
"""Files of which pictures are still to be read; those of others stay unread."""
_PATIENCE_SECONDS = 5.0
_REFERENCE = re.compile(r"\d{1,12}")
"""A cell that is the index of the question whose picture it is."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")

QuestionFilePaths = Mapping[tuple[str, str], Path]
"""The question files of this server by name and md5."""
_UNREAD = (RowsError, GivenFilesError, SpecError, OSError, DatabaseError, AsideError)
"""What keeps a file's pictures from being read."""

log = logging.getLogger(__name__)


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

    def soon(self, job: Job, labelled: Sequence[ScoredAnswer] = ()) -> None:
        """Keep the pictures of a report that was made of its owner's uploaded file, in the background.

        Those of the wrong answers that it shows, or of the first MOST_LABELLED of these that people label.
        """
        if not isinstance(benchmark_of(job), FileBenchmark):
            return
        arrived = self._uploads.latest(job.owner, job.file)
        kept = self.of(job.link)
        wanted = [one for one in labelled[:MOST_LABELLED] if one.id not in kept]
        is_known = not wanted if labelled else kept
        if (
            arrived is None
            or job.link in self._waiting
            or len(self._waiting) >= _MOST_WAITING
            or is_known
        ):
            return
        self._waiting[job.link] = reading = self._reader.submit(
            self._keep, job.link, arrived, wanted
        )
        reading.add_done_callback(lambda _: self._waiting.pop(job.link, None))

    def stop(self) -> None:
        self._reader.shutdown(cancel_futures=True)

    def of(self, link: str) -> Mapping[str, Sequence[int]]:
        """Return the numbers of a report's pictures by question; it waits a moment for those still being read."""
        if waiting := self._waiting.get(link):
            with suppress(TooLateError):
                waiting.result(_PATIENCE_SECONDS)
        query = select(REPORT_PICTURE.c.question, REPORT_PICTURE.c.number).where(
            REPORT_PICTURE.c.link == link
        )
        with self._database.read() as connection:
            return grouped(connection.execute(query.order_by(REPORT_PICTURE.c.number)))

    def picture(self, link: str, number: int) -> bytes | None:
        """Return a picture of the report under this link; None if that has no such picture."""
        query = select(REPORT_PICTURE.c.data).where(
            REPORT_PICTURE.c.link == link, REPORT_PICTURE.c.number == number
        )
        with self._database.read() as connection:
            return connection.scalar(query)

    def _keep(self, link: str, arrived: StoredUpload, wanted: Sequence[ScoredAnswer]) -> None:
        try:
            on_server = {(file.name, file.md5): file.path for file in self._library.files()}
            aside = self._aside if on_server or Source.of(arrived).is_large else None
            asked = partial(report_pictures, self._jobs, link, arrived, wanted, on_server)
            self._insert(link, aside.run(asked) if aside else asked())
        except _UNREAD as error:
            log.info("the pictures of a report were not read: %s", error)

    def _insert(self, link: str, found: Sequence[tuple[str, bytes]]) -> None:
        last = select(func.coalesce(func.max(REPORT_PICTURE.c.number), 0)).where(
            REPORT_PICTURE.c.link == link
        )
        with self._database.write() as connection:  # its owner may have deleted it meanwhile
            if found and connection.scalar(select(JOB.c.link).where(JOB.c.link == link)):
                first = connection.execute(last).scalar_one() + 1
                rows = [
                    {"link": link, "number": number, "question": question, "data": data}
                    for number, (question, data) in enumerate(found, first)
                ]
                connection.execute(insert(REPORT_PICTURE), rows)


def report_pictures(
    jobs: Jobs,
    link: str,
    arrived: StoredUpload,
    wanted: Sequence[ScoredAnswer],
    on_server: QuestionFilePaths,
) -> list[tuple[str, bytes]]:
    """Questions and pictures, as they are kept, of wanted answers in a report's file. Raises RowsError."""
    report = jobs.report(link)
    if report is None:
        return []
    benchmark = benchmark_of(report)
    answers = benchmark.scored_answers(report)
    assert isinstance(benchmark, FileBenchmark), "pictures are asked for of no other"
    asked = wanted or wrong_answers(answers)
    given = given_files(arrived)
    questions = UploadedFile(given.questions, given.questions_name) if given.questions else None
    limits = PAGE
    stamp: QuestionStamp | None = report.questions
    if questions is None and stamp is not None and (stamp.name, stamp.md5) in on_server:
        questions = UploadedFile(on_server[stamp.name, stamp.md5], stamp.name)
        limits = COMMAND_LINE
    file = UploadedFile(given.answers, given.name)
    found = asked_pictures(file, questions, benchmark.column_names, answers, asked, limits)
    return [(question, scaled_picture(one.data, WIDTH)) for question, one in found]


def asked_pictures(
    file: UploadedFile,
    questions: UploadedFile | None,
    names: ColumnNames,
    answers: Sequence[ScoredAnswer],
    wanted: Sequence[ScoredAnswer],
    limits: FileLimits = PAGE,
) -> Iterator[tuple[str, Picture]]:
    """Yield question and picture of the wanted ones of a file's answers: its own, else those of its question file.

    `limits` are the question file's. Raises RowsError.
    """
    pictured = set()
    for question, picture in file_pictures(file.path, file.name, answers, wanted):
        pictured.add(question)
        yield question, picture
    left = [one for one in wanted if one.id not in pictured]
    if left and questions is not None:
        rows = _question_rows(questions, names, limits)
        yield from _row_pictures(questions.path, questions.name, rows, left, limits)


def _question_rows(file: UploadedFile, names: ColumnNames, limits: FileLimits) -> Mapping[str, int]:
    """The rows of a question file by its ids, as far as each has a row of its own. Raises RowsError."""
    rows: dict[str, int] = {}
    records = read_records(file.path, limits, IMAGE_COLUMNS, file.name, members=True)
    for place, record in enumerate(records):
        rows.setdefault(record_id(record, names) or str(place), record.row)
    times = Counter(rows.values())
    return {id: row for id, row in rows.items() if times[row] == 1}


def file_pictures(
    path: Path, name: str, answers: Sequence[ScoredAnswer], wanted: Sequence[ScoredAnswer]
) -> Iterator[tuple[str, Picture]]:
    """Yield question and picture of the wanted ones of a file's answers. Raises RowsError."""
    times = Counter(one.row for one in answers)
    rows = {one.id: one.row for one in answers if one.row and times[one.row] == 1}
    yield from _row_pictures(path, name, rows, wanted)


def _row_pictures(
    path: Path,
    name: str,
    rows: Mapping[str, int],
    wanted: Sequence[ScoredAnswer],
    limits: FileLimits = PAGE,
) -> Iterator[tuple[str, Picture]]:
    """Yield question and picture of the wanted answers, whose rows in a file these are by id."""
    shown = {one.id: rows[one.id] for one in wanted if one.id in rows}
    cells = _cells(path, name, set(shown.values()), limits) if shown else {}
    others = {id: str(cells.get(row)).strip() for id, row in shown.items()}
    meant = {
        id: rows[other]
        for id, other in others.items()
        if _REFERENCE.fullmatch(other) and other in rows
    }
    shown |= meant
    if missing := set(meant.values()) - cells.keys():
        cells |= _cells(path, name, missing, limits)
    for id, row in shown.items():
        for data in _decoded(cells.get(row)):
            with suppress(PictureError):
                yield id, read_picture(data)


def _cells(path: Path, name: str, rows: set[int], limits: FileLimits) -> dict[int, JSON]:
    """Return the pictures' cells of these rows."""
    found: dict[int, JSON] = {}
    for record in read_records(path, replace(limits, cell=limits.line), name=name, members=True):
        column = next((one for one in IMAGE_COLUMNS if one in record.values), None)
        if column is None or len(found) == len(rows):
            break
        if record.row in rows:
            found[record.row] = record.values[column]
    return found


def _decoded(cell: JSON) -> Iterator[bytes]:
    """Yield what a cell holds in base64: a picture, a data URL, or a list of them."""
    texts = _BASE64.findall(" ".join(map(str, cell)) if isinstance(cell, list) else str(cell or ""))
    for text in texts[:MOST_OF_QUESTION]:
        with suppress(binascii.Error):
            yield base64.b64decode(text)
