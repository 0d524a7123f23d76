"""Writing setup: the services behind the pages of writers, and the models' draft answers, in the background."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.admin.projects import ProjectAdmin
from arena.authoring.drafting import Drafting
from arena.authoring.projects import Projects
from arena.authoring.spec import KINDS, project_of
from arena.authoring.store import DraftStore
from arena.authoring.work import Writing
from arena.budget import DRAFTS, Budget, Ceilings
from arena.database import Database, DatabaseError
from arena.inference.catalogue import Models
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.seats.campaigns import Campaign, CampaignStore
from arena.settings import Settings

AT_ONCE = 4
"""Drafts that models answer at once."""
SWEEP_SECONDS = 600
_MOST = 10_000_000_000
"""Millionths of a US dollar for all projects together: each has a smaller budget of its own."""

log = logging.getLogger(__name__)


class WritingSetup:
    """Services of the projects of one database."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        items: ItemBank,
        pictures: PictureStore,
        models: Models,
    ) -> None:
        store = DraftStore(database)
        self._campaigns = CampaignStore(database, KINDS)
        self.writing = Writing(store, pictures)
        self.budget = Budget(database, Ceilings(_MOST, _MOST, _MOST), DRAFTS)
        self.drafting = Drafting(store, models.vlm, self.budget)
        projects = Projects(self._campaigns, store, pictures, models.catalogue)
        self.admin = ProjectAdmin(settings, database, items, projects, self.drafting)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._answering: set[asyncio.Task[None]] = set()

    def soon(self, campaign: Campaign, draft: int) -> None:
        """Have the project's model answer a draft that has its captions; may be called in any thread."""
        if self._loop and project_of(campaign.spec).model:
            self._loop.call_soon_threadsafe(self._begin, campaign, draft)

    def _begin(self, campaign: Campaign, draft: int) -> None:
        task = asyncio.create_task(self._answer(campaign, draft))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, campaign: Campaign, draft: int) -> None:
        async with self._turns:
            try:
                if why := await self.drafting.answer(campaign, draft):
                    log.warning(
                        "item %d of %s has no draft answer, a person writes it: %s",
                        draft,
                        campaign.name,
                        why,
                    )
            except DatabaseError as error:
                log.warning(
                    "item %d of %s waits for its draft answer: %s", draft, campaign.name, error
                )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer drafts while the server runs, also those that one which has ended left."""
        self._loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            for task in (sweeping, *self._answering):
                task.cancel()
            await asyncio.gather(sweeping, *self._answering, return_exceptions=True)

    async def _sweep(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.budget.commit_lost)
                for campaign in await asyncio.to_thread(self._campaigns.all):
                    if campaign.ended_at is None and project_of(campaign.spec).model:
                        for draft in await asyncio.to_thread(self.drafting.due, campaign):
                            self._begin(campaign, draft)
            except DatabaseError as error:
                log.warning("drafts that wait for an answer were not looked for: %s", error)
            await asyncio.sleep(SWEEP_SECONDS)
