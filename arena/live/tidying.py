"""Tidying: deletes expired data of live battles."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from arena.battles.quotas import Quotas
from arena.battles.voters import Voters
from arena.budget import Budget
from arena.database import DatabaseError, now
from arena.live.credits import Credits
from arena.live.images import OwnImages

TIDY_SECONDS = 600

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tidier:
    """The stores that are tidied up every ten minutes while the server runs."""

    images: OwnImages
    budget: Budget
    quotas: Quotas
    credits: Credits
    voters: Voters

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._keep_tidying())
        try:
            yield
        finally:
            task.cancel()

    def tidy(self) -> None:
        """Drops visitors' keys, deletes expired images and networks, and commits the reservations of dead servers.

        Keys that expired are dropped, and those of visitors whom another process has logged out or forgotten.
        """
        self.credits.tidy(self.voters.logged_in)
        self.images.sweep(now())
        self.budget.commit_lost()
        self.quotas.forget_networks()

    async def _keep_tidying(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.tidy)
            except (DatabaseError, OSError) as error:
                log.warning("own images were not tidied up: %s", error)
            await asyncio.sleep(TIDY_SECONDS)
