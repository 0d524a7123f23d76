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

LEAST_FREE_BYTES = 200_000_000
"""The free space that a ready server needs on each disk of its data."""
_FRESH_SECONDS = 1.0
"""The age from which a check is made again."""
_PATIENCE_SECONDS = 2.0
"""A check that takes longer counts as a problem."""

log = logging.getLogger(__name__)


class Health:
    """Checks the database and the disk at most once a second, in a thread of its own: all others may be busy."""

    def __init__(
        self,
        database: Database,
        folders: Sequence[Path],
        least_free_bytes: int = LEAST_FREE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._folders = folders
        self._least_free_bytes = least_free_bytes
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "health")
        self._began_at = 0.0
        self._latest_check: Future[str | None] | None = None

    async def problem(self) -> str | None:
        """Returns the reason why no vote can be stored, in one line; None if votes can be stored."""
        is_old = self._clock() >= self._began_at + _FRESH_SECONDS
        # A check that isn't done yet is waited for, however old it is: there is one thread.
        if self._latest_check is None or (self._latest_check.done() and is_old):
            self._began_at = self._clock()
            self._latest_check = self._thread.submit(self._check)
        check = asyncio.wrap_future(self._latest_check)
        patience = self._began_at + _PATIENCE_SECONDS - self._clock()
        await asyncio.wait([check], timeout=max(0.0, patience))
        if not check.done():
            return "The database or the disk isn't answering. It may be locked."
        return check.result()

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
        if free < self._least_free_bytes:
            return f"Less than {self._least_free_bytes // 10**6} MB of the disk are free."
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
