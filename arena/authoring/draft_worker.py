"""Draft worker: has the projects' models answer drafts in the background, while the server runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.authoring.drafting import Drafting
from arena.authoring.spec import project_of
from arena.database import DatabaseError
from arena.seats.campaigns import Campaign, CampaignStore

MOST_AT_ONCE = 4
"""The most drafts that models answer at the same time."""
SWEEP_SECONDS = 600
"""The interval at which drafts that nobody announced are looked for."""

log = logging.getLogger(__name__)


class DraftWorker:
    """Answers drafts that are announced, and drafts left over from a server that ended."""

    def __init__(self, campaigns: CampaignStore, drafting: Drafting) -> None:
        self._campaigns = campaigns
        self._drafting = drafting
        self._loop: asyncio.AbstractEventLoop | None = None
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._answering: set[asyncio.Task[None]] = set()

    def answer_soon(self, campaign: Campaign, draft: int) -> None:
        """Starts the model's answer to a draft that waits for it; may be called in any thread.

        Does nothing without a model, or unless the server runs: the first sweep finds the draft then.
        """
        if self._loop and project_of(campaign.spec).first_model:
            self._loop.call_soon_threadsafe(self._start_answer, campaign, draft)

    def _start_answer(self, campaign: Campaign, draft: int) -> None:
        task = asyncio.create_task(self._answer(campaign, draft))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, campaign: Campaign, draft: int) -> None:
        name = campaign.name
        async with self._places:
            try:
                reason = await self._drafting.answer(campaign, draft)
            except DatabaseError as error:
                log.warning("item %d of %s waits for its draft answer: %s", draft, name, error)
                return
            except Exception:
                log.exception("item %d of %s has no draft answer", draft, name)
                return
        if reason:
            message = "item %d of %s has no answer of the project's model, and goes on without: %s"
            log.warning(message, draft, name, reason)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answers drafts while the server runs."""
        self._loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            self._loop = None
            for task in (sweeping, *self._answering):
                task.cancel()
            await asyncio.gather(sweeping, *self._answering, return_exceptions=True)

    async def _sweep(self) -> None:
        """Starts the due answers at intervals.

        First books the money that dead servers reserved as spent: answers wait while a reservation fills the budget,
        and nobody else would end this one.
        """
        while True:
            try:
                await asyncio.to_thread(self._drafting.budget.commit_lost)
                await self._start_due_answers()
            except DatabaseError as error:
                log.warning("drafts that wait for an answer were not looked for: %s", error)
            except Exception:
                log.exception("drafts that wait for an answer were not looked for")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _start_due_answers(self) -> None:
        """Starts the answers to all drafts that wait for one. Raises DatabaseError."""
        for campaign in await asyncio.to_thread(self._campaigns.all):
            if campaign.ended_at is None and project_of(campaign.spec).first_model:
                for draft in await asyncio.to_thread(self._drafting.due, campaign):
                    self._start_answer(campaign, draft)
