"""Published reports: those that anybody may read and find, by benchmark, by model and in pages."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from sqlalchemy import func, select

from arena.database import Database
from scoring.jobs.store import IS_PUBLIC, JOB, Job, job_of, select_jobs

PAGE = 50
"""Reports on a page of the list."""
_NEWEST = (JOB.c.finished.desc(), JOB.c.link)


class PublishedPage(NamedTuple):
    """A page of the list of published reports."""

    jobs: Sequence[Job]
    page: int
    pages: int


class PublishedJobs:
    """The jobs of one database whose reports are published."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, slug: str) -> Job | None:
        """Returns the job of a slug, while its report is published."""
        with self._database.read() as connection:
            row = connection.execute(select_jobs().where(IS_PUBLIC, JOB.c.slug == slug)).first()
        return job_of(row) if row else None

    def newest(self, benchmark: str, most: int) -> Sequence[Job]:
        """Returns reports of a benchmark, the newest first; if there are more than `most`, owners take turns."""
        of_owner = func.row_number().over(partition_by=JOB.c.owner, order_by=_NEWEST)
        chosen = select(JOB.c.link).where(IS_PUBLIC, JOB.c.benchmark == benchmark)
        chosen = chosen.order_by(of_owner, *_NEWEST).limit(most)
        with self._database.read() as connection:
            query = select_jobs().where(JOB.c.link.in_(chosen)).order_by(*_NEWEST)
            return tuple(map(job_of, connection.execute(query)))

    def titled(self, title: str, most: int) -> Sequence[Job]:
        """Returns reports with this title, the newest first."""
        query = select_jobs().where(IS_PUBLIC, JOB.c.title == title).order_by(*_NEWEST).limit(most)
        with self._database.read() as connection:
            return tuple(map(job_of, connection.execute(query)))

    def benchmarks(self) -> dict[str, int]:
        """Returns the number of reports by a benchmark's key, the highest number first."""
        number = func.count()
        query = select(JOB.c.benchmark, number).where(IS_PUBLIC).group_by(JOB.c.benchmark)
        with self._database.read() as connection:
            counted = connection.execute(query.order_by(number.desc(), JOB.c.benchmark))
            return {benchmark: count for benchmark, count in counted}

    def page(self, benchmark: str, page: int) -> PublishedPage:
        """Returns a page of a benchmark's reports, or of all for "", the newest first, and the last page at most."""
        conditions = [IS_PUBLIC, *([JOB.c.benchmark == benchmark] if benchmark else [])]
        with self._database.read() as connection:
            number = connection.execute(select(func.count()).where(*conditions)).scalar_one()
            pages = max(1, ceil(number / PAGE))
            place = min(max(page, 1), pages)
            query = select_jobs().where(*conditions).order_by(*_NEWEST)
            rows = connection.execute(query.limit(PAGE).offset((place - 1) * PAGE))
            return PublishedPage(tuple(map(job_of, rows)), place, pages)
