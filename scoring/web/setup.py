"""Scoring setup: builds the scoring services from the settings, on the app's database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.battles.lending import Lending
from arena.budget import Budget, Ceilings
from arena.database import Database, DatabaseError
from arena.io.images import PictureStore
from arena.settings import Settings
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.service import JobService, operators_judge, question_sets
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore
from scoring.jobs.worker import JobWorker
from scoring.judges.cache import ReplyCache
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import read_prices

TIDY_SECONDS = 600.0

log = logging.getLogger(__name__)


def build_scoring(settings: Settings, database: Database) -> JobService:
    """Raises SettingError for a judge that cannot be asked, QuestionsError and RowsError for an invalid file."""
    jobs = Jobs(database)
    cache = ReplyCache(database)
    upload_store = UploadStore(settings.uploads_dir)
    judge = settings.judge
    prices = read_prices(judge.prices) if judge.prices else {}
    operator = operators_judge(judge, jobs, prices)
    budget = Budget(database, Ceilings(judge.job_budget, judge.day_budget, judge.total_budget))
    pace = RateLimits(judge.concurrency, judge.requests_per_minute, judge.tokens_per_minute)
    submissions = Submissions(database)
    pictures = PictureStore(settings.pictures_dir)
    report_pictures = ReportPictures(database, jobs, upload_store)
    done = {"judged": submissions.publish_if_complete, "finished": report_pictures.soon}
    worker = JobWorker(jobs, cache, budget, operator, pace, pictures=pictures, **done)
    sets = question_sets(settings.mm_vet, settings.mm_vet_v2)
    ceiling = judge.job_budget / 1e6
    lending = Lending(database, settings.oauth is not None)
    found = (
        sets,
        upload_store,
        jobs,
        worker,
        cache,
        operator,
        prices,
        ceiling,
        submissions,
        lending,
    )
    return JobService(*found, report_pictures)


@asynccontextmanager
async def scoring_running(service: JobService) -> AsyncIterator[None]:
    """Run the job worker while the server runs; at shutdown, return its jobs to the queue."""
    service.worker.start()
    tidying = asyncio.create_task(_tidy(service))
    try:
        yield
    finally:
        tidying.cancel()
        await asyncio.to_thread(service.worker.stop)
        service.pictures.stop()


async def _tidy(service: JobService) -> None:
    while True:
        try:
            await asyncio.to_thread(service.upload_store.sweep)
            await asyncio.to_thread(service.jobs.sweep)
        except (DatabaseError, OSError) as error:
            log.warning("uploads and free reports were not tidied up: %s", error)
        await asyncio.sleep(TIDY_SECONDS)
