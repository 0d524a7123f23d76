"""Health checks for operators and their tools: /healthz (the server lives) and /readyz (it can store votes)."""

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from arena.database import Database, DatabaseError

LEAST_FREE = 200_000_000
"""The free bytes on each disk of the data that a ready server has at least."""
_FRESH_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0
"""A check that takes longer counts as a problem."""

log = logging.getLogger(__name__)


class Health:
    """Checks the database and the disk at most once a second, in a thread of its own: all others may be busy."""

    def __init__(
        self,
        database: Database,
        folders: Sequence[Path],
        least_free: int = LEAST_FREE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._folders = folders
        self._least_free = least_free
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "health")
        self._begun = 0.0
        self._look: Future[str | None] | None = None

    async def problem(self) -> str | None:
        """Returns the reason why no vote can be stored, in one line; None if votes can be stored."""
        is_old = self._clock() >= self._begun + _FRESH_SECONDS
        if self._look is None or (self._look.done() and is_old):
            self._begun = self._clock()
            self._look = self._thread.submit(self._check)
        look = asyncio.wrap_future(self._look)
        patience = self._begun + _PATIENCE_SECONDS - self._clock()
        await asyncio.wait([look], timeout=max(0.0, patience))
        if not look.done():
            return "The database or the disk isn't answering. It may be locked."
        return look.result()

    def _check(self) -> str | None:
        try:
            self._database.try_write()
        except DatabaseError:
            return "The database can't store anything. It is locked, read-only or gone."
        try:
            free = min(shutil.disk_usage(folder).free for folder in self._folders)
        except OSError as error:
            log.warning("the data folder cannot be looked at: %s", error)
            return "The data folder is gone."
        if free < self._least_free:
            return f"Less than {self._least_free // 10**6} MB of the disk are free."
        return None


def routes(health: Health) -> APIRouter:
    """Returns the routes. /readyz answers 503 with the reason if no vote can be stored."""
    router = APIRouter()

    @router.api_route("/healthz", methods=["GET", "HEAD"])
    async def lives() -> PlainTextResponse:
        return PlainTextResponse("ok")

    @router.api_route("/readyz", methods=["GET", "HEAD"])
    async def ready() -> PlainTextResponse:
        problem = await health.problem()
        return PlainTextResponse(problem or "ready", status_code=503 if problem else 200)

    return router
