"""Job worker: a thread of the server that judges waiting jobs, two with the operator's judge and two with own keys.

Every second it renews its leases, drops cancelled jobs, and claims waiting ones, including those of dead servers.
"""

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from arena.budget import JUDGE, Budget, BudgetError, RunBudget
from arena.database import DatabaseError
from arena.inference.endpoint import Endpoint, place_of
from arena.io.fetch import Fetcher
from arena.io.images import PictureStore
from scoring.jobs.store import Claim, Job, JobError, Jobs
from scoring.jobs.trials import Trials
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeError, JudgeUnknown, JudgeUnreadable
from scoring.judges.rate_limit import RateLimiter, RateLimits
from scoring.judges.run import Progress, ScoringStopped
from scoring.judges.spec import JudgeSpec
from scoring.registry import score
from scoring.report import AnyReport
from scoring.serialize import ReportError

AT_ONCE = 2
"""Jobs of either kind that are judged at the same time: a stranger's own judge may take any time over its replies."""
TICK_SECONDS = 1.0
GRACE_SECONDS = 3.0
"""The time that running calls get to end when the worker stops."""
_UNEXPECTED = "An unexpected error. The people who run this site find it in the log."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Operator:
    """Judge that the operator provides."""

    endpoint: Endpoint
    spec: JudgeSpec


@dataclass(eq=False)
class _RunningJob:
    """Job in progress on this server."""

    claim: Claim
    own_endpoint: Endpoint | None
    """Owner's endpoint and key; None for the operator's judge."""
    run_budget: RunBudget
    """What an own key may pay in this run and earlier ones."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    judge: Judge | None = None
    progress: Progress | None = None

    def current_progress(self) -> Progress:
        """Returns the number of grades so far, and the reason for waiting."""
        progress = self.progress or Progress(0, self.claim.job.total, 0)
        waits = progress.waits or (self.judge.waits if self.judge else "")
        return progress._replace(waits=waits)

    @property
    def ratio(self) -> float:
        """The ratio of the real to the estimated cost of the replies so far."""
        return self.judge.cost_per_estimate if self.judge else 1.0


class JobWorker:
    """Worker that judges jobs from `start` to `stop`; users' own keys are held only here, until their job ends."""

    def __init__(
        self,
        jobs: Jobs,
        cache: ReplyCache,
        budget: Budget,
        operator: Operator | None,
        pace: RateLimits,
        fetcher: Fetcher | None = None,
        pictures: PictureStore | None = None,
        on_judged: Callable[[Job, AnyReport], None] = lambda job, report: None,
        on_done: Callable[[Job], None] = lambda job: None,
        is_blind: Callable[[AnyReport], bool] = lambda report: False,
        open_draft: Callable[[AnyReport], AnyReport] = lambda report: report,
    ) -> None:
        """`on_judged` gets each complete report before its job is marked done, and again after a crash in between.

        `on_done` gets the job once its report can be read. `open_draft` returns a draft as the operator's judge reads
        it. What a judge or its server says about a draft that `is_blind` is not repeated, to its owner or in the log,
        and neither is what a call costs.
        """
        self.name = secrets.token_hex(8)
        self.trials = Trials(fetcher)
        self._jobs = jobs
        self._cache = cache
        self._budget = budget
        self._operator = operator
        self._pace = pace
        self._fetcher = fetcher
        self._pictures = pictures
        self._on_judged = on_judged
        self._on_done = on_done
        self._is_blind = is_blind
        self._open_draft = open_draft
        self._own_endpoints: dict[str, Endpoint] = {}
        """Users' own endpoints with their keys, by the links of jobs."""
        self._running: dict[asyncio.Task[None], _RunningJob] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="runner", daemon=True
        )
        self._wakeup = threading.Event()

    def start(self) -> None:
        self._jobs.recover()
        self._thread.start()

    def stop(self) -> None:
        """Stops: running calls may end, jobs return to the queue, and a hanging thread is abandoned."""
        self._ending.set()
        self.wake()
        self._thread.join(GRACE_SECONDS + 1)

    def begin(
        self, owner: str, link: str, own_endpoint: Endpoint | None, network: str | None = None
    ) -> Job:
        """Starts a job with its owner's key, or with the operator's judge, which `network` then pays for too."""
        job = self._jobs.find(link)
        if own_endpoint and job and own_endpoint.address != job.address:
            raise JobError(
                f"{job.title!r} was priced for {place_of(job.address)}. Upload the file again for another address."
            )
        started = self._jobs.start(owner, link, self.name if own_endpoint else None, network)
        if own_endpoint:
            # Under the name by which it asked before, so that replies that are kept aren't paid again.
            self._own_endpoints[link] = replace(
                own_endpoint, owner=started.asker or own_endpoint.owner
            )
        self.wake()
        return started

    def wake(self) -> None:
        self._wakeup.set()

    async def _run(self) -> None:
        self._rate_limiter = RateLimiter(self._pace)
        self.trials.run_in(asyncio.get_running_loop())
        while not self._ending.is_set():
            self._wakeup.clear()
            try:
                await self._poll()
            except DatabaseError as error:
                log.warning("jobs wait for the database: %s", error)
            except Exception:
                # The loop goes on: nobody else judges the jobs of this server.
                log.exception("jobs were not looked after")
            await asyncio.to_thread(self._wakeup.wait, TICK_SECONDS)
        try:
            await self._drain()
        except DatabaseError as error:
            log.warning("jobs are not given back, their leases lapse: %s", error)

    async def _poll(self) -> None:
        """Ends jobs that are over or lost, and claims others."""
        for task in [task for task in self._running if task.done()]:
            await self._handle_end(task)
        endpoints = dict(self._own_endpoints)  # Other threads change it meanwhile.
        links = frozenset(endpoints) | self._running_links()
        held = links
        if links:
            held = await asyncio.to_thread(self._jobs.renew_leases, self.name, links)
        for running in self._running.values():
            link = running.claim.job.link
            if link not in held:
                running.stop.set()
                continue
            progress = running.current_progress()
            await asyncio.to_thread(
                self._jobs.note_progress, self.name, link, progress, running.ratio
            )
            await self._note_spent(running)
        for link in endpoints.keys() - held:
            self._forget(link, endpoints[link])
        await asyncio.to_thread(self._jobs.release_lapsed)
        await asyncio.to_thread(self._budget.commit_lost)
        while await self._claim_job():
            pass

    def _running_links(self) -> frozenset[str]:
        return frozenset(running.claim.job.link for running in self._running.values())

    async def _claim_job(self) -> bool:
        """Claims a waiting job and begins to judge it; returns whether there was one."""
        busy = self._running_links()
        with_own_key = sum(
            1 for running in self._running.values() if running.own_endpoint is not None
        )
        with_operator = len(busy) - with_own_key
        keys = frozenset(self._own_endpoints) if with_own_key < AT_ONCE else frozenset[str]()
        is_lent = with_operator < AT_ONCE
        claim = await asyncio.to_thread(self._jobs.claim, self.name, keys, busy, is_lent)
        if claim is None:
            return False
        job = claim.job
        run_budget = RunBudget(job.quote.most, job.spent, JUDGE.quote_advice)
        running = _RunningJob(claim, self._own_endpoints.get(job.link), run_budget)
        task = asyncio.create_task(self._judge(running))
        task.add_done_callback(lambda _: self._wakeup.set())
        self._running[task] = running
        return True

    async def _judge(self, running: _RunningJob) -> None:
        """Judges a job to its end; a job that was lost or deleted meanwhile gets no report."""
        link = running.claim.job.link
        try:
            report = await self._make_report(running)
            job = await asyncio.to_thread(self._jobs.find_held, self.name, link)
            if job:
                await asyncio.to_thread(self._on_judged, job, report)
        except ScoringStopped as error:
            log.info("job of %s: %s", running.claim.job.model, error)
        except (JudgeError, BudgetError, JobError, ReportError) as error:
            await asyncio.to_thread(self._fail, running, error)
        else:
            if job and await asyncio.to_thread(self._jobs.finish, self.name, link, report):
                await asyncio.to_thread(self._on_done, job)

    def _fail(self, running: _RunningJob, error: Exception) -> None:
        problem = str(error)
        if isinstance(error, JudgeUnreadable | JudgeUnknown | BudgetError):
            if self._is_blind(running.claim.draft):
                problem = error.public_message
            is_judge_useless = not isinstance(error, BudgetError)
            if is_judge_useless and running.own_endpoint is None:
                log.error("this site's judge is of no use, a job stopped: %s", problem)
        self._jobs.fail(self.name, running.claim.job.link, problem)

    async def _make_report(self, running: _RunningJob) -> AnyReport:
        draft = running.claim.draft
        if running.own_endpoint is None:
            draft = await asyncio.to_thread(self._open_draft, draft)
            await asyncio.to_thread(self._budget.commit_job, running.claim.job.link)
        async with self._judge_of(running) as judge:
            running.judge = judge

            def tell(progress: Progress) -> None:
                running.progress = progress

            return await score(draft, judge, self._cache, tell, running.stop)

    def _judge_of(self, running: _RunningJob) -> Judge:
        """Returns the judge that the job was quoted for: its owner's, or the operator's.

        Raises JobError and ReportError.
        """
        claim = running.claim
        job = claim.job
        if running.own_endpoint:
            # The limits a minute are those of the operator's account.
            pace = replace(self._pace, requests_per_minute=None, tokens_per_minute=None)
            return Judge(
                claim.spec,
                running.own_endpoint,
                pace,
                running.run_budget,
                fetcher=self._fetcher,
                pictures=self._pictures,
            )
        operator = self._operator
        is_offered = (
            operator is not None
            and operator.endpoint.address == job.address
            and operator.spec.model == job.model
        )
        if operator is None or not is_offered:
            where = place_of(job.address)
            raise JobError(
                f"{job.model} at {where} is no longer offered here. Score the file again with another judge."
            )
        spec = replace(claim.spec, price=operator.spec.price)
        job_budget = self._budget.for_job(job.link, job.owner, job.quote.most, claim.network)
        return Judge(
            spec,
            operator.endpoint,
            self._pace,
            job_budget,
            self._rate_limiter,
            pictures=self._pictures,
        )

    async def _handle_end(self, task: asyncio.Task[None]) -> None:
        """Forgets a job that is over, with its owner's key; an unexpected error fails it."""
        running = self._running.pop(task)
        link = running.claim.job.link
        if running.own_endpoint:
            self._forget(link, running.own_endpoint)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, DatabaseError):
            log.warning("a job waits for its lease to lapse: %s", error)
        elif error:
            log.error("a job ended by an error", exc_info=error)
            await asyncio.to_thread(self._jobs.fail, self.name, link, _UNEXPECTED)
        await self._note_spent(running)

    async def _note_spent(self, running: _RunningJob) -> None:
        """Stores what an own key has paid, so that a resumed job pays no more than its quote in all."""
        if running.own_endpoint:
            link = running.claim.job.link
            await asyncio.to_thread(self._jobs.note_spent, link, running.run_budget.spent)

    def _forget(self, link: str, endpoint: Endpoint) -> None:
        """Drops a key, unless its owner has given another one meanwhile."""
        if self._own_endpoints.get(link) is endpoint:
            self._own_endpoints.pop(link, None)

    async def _drain(self) -> None:
        """Stops all jobs, and returns them to the queue."""
        for running in self._running.values():
            running.stop.set()
        if self._running:
            await asyncio.wait(self._running, timeout=GRACE_SECONDS)
            for task in self._running:
                task.cancel()
            await asyncio.wait(self._running)
        for task in list(self._running):
            await self._handle_end(task)
        self._own_endpoints.clear()
        await asyncio.to_thread(self._jobs.release, self.name)
