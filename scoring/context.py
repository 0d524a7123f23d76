"""Context: every service of scoring, made once, on the arena's database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.admin.dashboard import StoppedJob
from arena.budget import Budget, Ceilings
from arena.cache import tidy
from arena.context import ArenaContext
from arena.database import DatabaseError
from arena.imports.polls import Polls
from arena.io.aside import Aside
from scoring.jobs.published import PublishedJobs
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.service import JobService, operators_judge, question_sets
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import Submissions
from scoring.jobs.uploads import UploadStore
from scoring.jobs.worker import JobWorker
from scoring.judges.cache import ReplyCache
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import read_prices
from scoring.people.agreement_service import AgreementService
from scoring.people.marking import Marking
from scoring.questions.library import QuestionLibrary, offer_specs
from scoring.task_map.reports import ReportAccuracies

SWEEP_SECONDS = 600.0
"""The time between deletions of expired uploads and jobs."""
FORGET_SECONDS = 20.0
"""The time between looks for values in memory that nobody needs any more."""
MOST_STOPPED = 5
"""Stopped jobs on the operators' page."""

LOADED_ASIDE = (
    "scoring.jobs.report_pictures",
    "scoring.people.agreement_service",
    "scoring.web.task_map_view",
)
"""Modules that the helper of `Aside` loads ahead of calls, as their functions run in its processes."""

log = logging.getLogger(__name__)


class ScoringContext:
    """Services of scoring, and the work in the background."""

    def __init__(self, arena: ArenaContext) -> None:
        """Raises SettingError for a judge that cannot be asked, QuestionsError and RowsError for an invalid file."""
        settings = arena.settings
        database = arena.database
        judge = settings.judge
        prices = read_prices(judge.prices) if judge.prices else {}
        cache = ReplyCache(database)
        self.submissions = Submissions(database, arena.blindness)
        self.jobs = Jobs(database, redact=self.submissions.redact)
        self.published = PublishedJobs(database)
        self.uploads = UploadStore(settings.uploads_dir)
        self.aside = Aside(LOADED_ASIDE)
        self._library = QuestionLibrary(settings.questions)
        self.pictures = ReportPictures(
            database, self.jobs, self.uploads, self.aside, library=self._library
        )
        # The operator's own judge, with its address; None without one.
        operator = operators_judge(judge, self.jobs, prices)
        self.worker = JobWorker(
            self.jobs,
            cache,
            Budget(database, Ceilings(judge.job_budget, judge.day_budget, judge.total_budget)),
            operator,
            RateLimits(judge.concurrency, judge.requests_per_minute, judge.tokens_per_minute),
            pictures=arena.pictures,
            on_judged=self.submissions.publish_if_complete,
            on_done=self.pictures.keep_soon,
            is_blind=self.submissions.is_blind,
            open_draft=self.submissions.open_draft,
        )
        # Pages list the benchmarks, also those that this folder adds.
        offer_specs(settings.questions)
        self.service = JobService(
            question_sets=question_sets(settings.mm_vet, settings.mm_vet_v2),
            library=self._library,
            upload_store=self.uploads,
            jobs=self.jobs,
            worker=self.worker,
            cache=cache,
            operator=operator,
            prices=prices,
            ceiling=judge.job_budget / 1e6,  # in US dollars
            submissions=self.submissions,
            lending=arena.lending,
            pictures=self.pictures,
            aside=self.aside,
        )
        self.agreement = AgreementService(
            Polls(database), self.submissions.store, self.uploads, aside=self.aside
        )
        self.marking = Marking(database, self.jobs)
        self.accuracies = ReportAccuracies(self.jobs, self.published)

    def stopped_jobs(self) -> tuple[StoppedJob, ...]:
        """Jobs of the site's judge that stopped last, for the operators' page."""
        jobs = self.jobs.stopped_jobs(MOST_STOPPED)
        return tuple(StoppedJob(job.started or job.created, job.model, job.problem) for job in jobs)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the job worker while the server runs; at shutdown, returns its jobs to the queue."""
        self.worker.start()
        # Question files are read ahead, so that the first visitor doesn't wait for them.
        reading = asyncio.create_task(asyncio.to_thread(self._library.files))
        sweeping = asyncio.create_task(self._sweep())
        forgetting = asyncio.create_task(_forget())
        try:
            yield
        finally:
            reading.cancel()
            sweeping.cancel()
            forgetting.cancel()
            await asyncio.to_thread(self.worker.stop)
            self.pictures.stop()
            self.aside.stop()

    async def _sweep(self) -> None:
        """Deletes expired uploads and jobs from time to time."""
        while True:
            try:
                await asyncio.to_thread(self.uploads.sweep)
                await asyncio.to_thread(self.jobs.sweep)
            except (DatabaseError, OSError) as error:
                log.warning("uploads and free reports were not tidied up: %s", error)
            await asyncio.sleep(SWEEP_SECONDS)


async def _forget() -> None:
    """Frees the memory of values that nobody has looked at for a while."""
    while True:
        await asyncio.sleep(FORGET_SECONDS)
        await asyncio.to_thread(tidy)
