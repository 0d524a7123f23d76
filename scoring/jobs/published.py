"""Published reports: those that anybody may read and find, by benchmark, by model and in pages."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from sqlalchemy import func, select

from arena.database import Database
from scoring.jobs.store import IS_PUBLIC, JOB, Job, job_of, select_jobs

PAGE = 50
"""Reports on a page of the list."""
_NEWEST_FIRST = (JOB.c.finished.desc(), JOB.c.link)


class PublishedPage(NamedTuple):
    """A page of the list of published reports."""

    jobs: Sequence[Job]
    page: int
    """Its number, from 1."""
    pages: int


class PublishedJobs:
    """The jobs of one database whose reports are published."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def with_slug(self, slug: str) -> Job | None:
        """Returns the job of a slug, while its report is published."""
        with self._database.read() as connection:
            row = connection.execute(select_jobs().where(IS_PUBLIC, JOB.c.slug == slug)).first()
        return job_of(row) if row else None

    def newest(self, benchmark: str, most: int) -> Sequence[Job]:
        """Returns reports of a benchmark, the newest first; if there are more than `most`, owners take turns."""
        # Every owner's newest report comes first, then every owner's second one, and so on.
        place_in_owner = func.row_number().over(partition_by=JOB.c.owner, order_by=_NEWEST_FIRST)
        links = select(JOB.c.link).where(IS_PUBLIC, JOB.c.benchmark == benchmark)
        first_links = links.order_by(place_in_owner, *_NEWEST_FIRST).limit(most)
        query = select_jobs().where(JOB.c.link.in_(first_links)).order_by(*_NEWEST_FIRST)
        with self._database.read() as connection:
            return tuple(map(job_of, connection.execute(query)))

    def with_title(self, title: str, most: int) -> Sequence[Job]:
        """Returns reports with this title, the newest first."""
        query = (
            select_jobs()
            .where(IS_PUBLIC, JOB.c.title == title)
            .order_by(*_NEWEST_FIRST)
            .limit(most)
        )
        with self._database.read() as connection:
            return tuple(map(job_of, connection.execute(query)))

    def counts_by_benchmark(self) -> dict[str, int]:
        """Returns the number of reports by a benchmark's key, the highest number first."""
        count = func.count()
        query = select(JOB.c.benchmark, count).where(IS_PUBLIC).group_by(JOB.c.benchmark)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(count.desc(), JOB.c.benchmark))
            return {row[0]: row[1] for row in rows}

    def page(self, benchmark: str, page: int) -> PublishedPage:
        """Returns a page of a benchmark's reports, or of all for "", the newest first; the last if there are fewer."""
        conditions = [IS_PUBLIC]
        if benchmark:
            conditions.append(JOB.c.benchmark == benchmark)
        with self._database.read() as connection:
            reports = connection.execute(select(func.count()).where(*conditions)).scalar_one()
            pages = max(1, ceil(reports / PAGE))
            shown_page = min(max(page, 1), pages)
            query = select_jobs().where(*conditions).order_by(*_NEWEST_FIRST)
            rows = connection.execute(query.limit(PAGE).offset((shown_page - 1) * PAGE))
            return PublishedPage(tuple(map(job_of, rows)), shown_page, pages)
