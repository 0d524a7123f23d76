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

        Keys that expired are dropped, and those of visitors whom another process has logged out or forgotten. What
        fails is tried again the next time, and keeps nothing else from being tidied up.
        """
        for name, tidy in (
            ("visitors' keys", lambda: self.credits.tidy(self.voters.logged_in)),
            ("own images", lambda: self.images.sweep(now())),
            ("reservations", self.budget.commit_lost),
            ("networks", self.quotas.forget_networks),
        ):
            try:
                tidy()
            except (DatabaseError, OSError) as error:
                log.warning("%s were not tidied up: %s", name, error)

    async def _keep_tidying(self) -> None:
        while True:
            await asyncio.to_thread(self.tidy)
            await asyncio.sleep(TIDY_SECONDS)
