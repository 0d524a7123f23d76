"""Tidying: deletes what live battles leave behind when its time is over."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arena.battles.quotas import Quotas
from arena.budget import Budget
from arena.database import DatabaseError, now
from arena.live.images import OwnImages

TIDY_SECONDS = 600

log = logging.getLogger(__name__)


@asynccontextmanager
async def tidying(images: OwnImages, budget: Budget, quotas: Quotas) -> AsyncIterator[None]:
    """Tidy while the server runs."""
    task = asyncio.create_task(_tidy(images, budget, quotas))
    try:
        yield
    finally:
        task.cancel()


async def _tidy(images: OwnImages, budget: Budget, quotas: Quotas) -> None:
    """Delete expired images and networks, and commit the reservations of dead servers."""
    while True:
        try:
            await asyncio.to_thread(images.sweep, now())
            await asyncio.to_thread(budget.commit_lost)
            await asyncio.to_thread(quotas.forget_networks)
        except (DatabaseError, OSError) as error:
            log.warning("own images were not tidied up: %s", error)
        await asyncio.sleep(TIDY_SECONDS)
