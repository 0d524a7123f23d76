"""Health: whether the server lives, and whether it can take votes. Asked by whoever keeps it running."""

import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from arena.database import Database, DatabaseError

LEAST_FREE = 200_000_000
"""Bytes of the data folder's disk, below which it is time to act."""
_FRESH_SECONDS = 1.0

log = logging.getLogger(__name__)


class Health:
    """Look at the database and the disk, at most once a second: anyone may ask."""

    def __init__(
        self,
        database: Database,
        data_dir: Path,
        least_free: int = LEAST_FREE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._data_dir = data_dir
        self._least_free = least_free
        self._clock = clock
        self._turn = Lock()
        self._seen_until = 0.0
        self._problem: str | None = None

    def problem(self) -> str | None:
        """Return in one plain line why no vote can be taken, or None."""
        with self._turn:
            if self._clock() >= self._seen_until:
                self._problem = self._looked()
                self._seen_until = self._clock() + _FRESH_SECONDS
            return self._problem

    def _looked(self) -> str | None:
        try:
            with self._database.read() as connection:
                connection.exec_driver_sql("SELECT 1")
        except DatabaseError:
            return "The database does not answer."
        try:
            free = shutil.disk_usage(self._data_dir).free
        except OSError as error:
            log.warning("the data folder cannot be looked at: %s", error)
            return "The data folder is gone."
        return None if free >= self._least_free else f"Less than {self._least_free // 10**6} MB of the disk are free."


def routes(health: Health) -> APIRouter:
    """Return the routes: /healthz says that the server lives, /readyz that it can take votes, or with 503 why not."""
    router = APIRouter()

    @router.get("/healthz")
    def lives() -> PlainTextResponse:
        return PlainTextResponse("ok")

    @router.get("/readyz")
    def ready() -> PlainTextResponse:
        problem = health.problem()
        return PlainTextResponse(problem or "ready", status_code=503 if problem else 200)

    return router
