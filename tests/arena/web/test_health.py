"""Health: alive is always said; ready only while a vote can be taken, and else in one plain line why not."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.database import Database
from arena.settings import Settings
from arena.storage import votes_folders
from arena.web import health_api
from arena.web.health_api import Health, routes
from tests.support.disks import small_disk
from tests.support.servers import new_postgresql_database

pytestmark = pytest.mark.locks_or_dialect

GONE = "The database can't store anything. It is locked, read-only or gone."
SILENT = "The database or the disk isn't answering. It may be locked."


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def patient(monkeypatch) -> None:
    """A machine that stands still is not a database that does."""
    monkeypatch.setattr(health_api, "_PATIENCE_SECONDS", 60.0)


def asked(health: Health) -> tuple[int, str]:
    app = FastAPI()
    app.include_router(routes(health))
    with TestClient(app) as client:
        assert (client.get("/healthz").status_code, client.get("/healthz").text) == (200, "ok")
        answer = client.get("/readyz")
        assert (client.head("/healthz").status_code, client.head("/readyz").status_code) == (
            200,
            answer.status_code,
        )
    return answer.status_code, answer.text


def test_a_database_and_a_disk_make_a_server_ready(database, tmp_path):
    assert asked(Health(database, [tmp_path], least_free_bytes=1)) == (200, "ready")


def test_a_full_disk_is_told(database, tmp_path):
    status, told = asked(Health(database, [tmp_path], least_free_bytes=10**18))
    assert status == 503 and told == "Less than 1000000000000 MB of the disk are free."


def test_the_disk_of_a_database_elsewhere_is_watched_too(tmp_path):
    with small_disk(tmp_path / "disk", "5m") as disk:
        (disk / "file.db").touch()
        (tmp_path / "link.db").symlink_to(disk / "file.db")
        url = f"sqlite:///{tmp_path / 'link.db'}"
        settings = Settings.from_env({"DATA_DIR": str(tmp_path), "DATABASE_URL": url})
        with closing(Database(url)) as database:
            status, told = asked(Health(database, votes_folders(settings), least_free_bytes=10**7))
    assert (status, told) == (503, "Less than 10 MB of the disk are free.")


def test_a_folder_that_is_gone_is_told(database, tmp_path):
    assert asked(Health(database, [tmp_path / "gone"])) == (503, "The data folder is gone.")


def test_a_database_that_does_not_answer_is_told_without_its_address(
    database, postgresql, tmp_path
):
    """The file is gone from under SQLite; PostgreSQL has ended the sessions and lets nobody in."""
    health = Health(database, [tmp_path], least_free_bytes=1, clock=(clock := Clock()))
    assert asyncio.run(health.problem()) is None
    if database.is_sqlite:
        hidden = Path(str(database.url.database))
        database.close()
        for file in hidden.parent.glob("arena.db*"):
            file.rename(file.with_name(f"was-{file.name}"))
        hidden.mkdir()
    else:
        database.close()
        server = Database(postgresql)
        with server.read() as connection:
            name = database.url.database
            autocommit = connection.execution_options()
            autocommit.exec_driver_sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
            connection.commit()
        server.close()
    assert asyncio.run(health.problem()) is None, "what was seen holds for a second"
    clock.now += 1
    assert asked(health) == (503, GONE)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_flood_of_questions_asks_the_database_once_a_second(database, tmp_path):
    seen = []

    class Counting(Database):
        def try_write(self):
            seen.append(1)
            super().try_write()

    async def flood(health: Health) -> set[str | None]:
        return set(await asyncio.gather(*(health.problem() for _ in range(100))))

    counting = Counting(f"sqlite:///{tmp_path / 'counted.db'}")
    health = Health(counting, [tmp_path], least_free_bytes=1, clock=(clock := Clock()))
    assert asyncio.run(flood(health)) == {None}
    assert len(seen) == 1
    clock.now += 1.5
    assert asyncio.run(flood(health)) == {None}
    assert len(seen) == 2
    counting.close()


def test_a_file_that_another_program_holds_is_told_soon_and_until_it_is_given_back(
    tmp_path, monkeypatch
):
    """SQLite itself waits ten seconds and then says something else."""
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    health = Health(database, [tmp_path], least_free_bytes=1, clock=(clock := Clock()))
    with closing(sqlite3.connect(tmp_path / "arena.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(health_api, "_PATIENCE_SECONDS", 0.5)
        assert asked(health) == (503, SILENT)
        monkeypatch.setattr(health_api, "_PATIENCE_SECONDS", 60.0)
        clock.now += 60
        assert asked(health) == (503, SILENT), "who asks later does not wait anew"
        other.execute("ROLLBACK")
    clock.now -= 30
    asked(health)  # what was begun then ends now
    clock.now += 30
    assert asked(health) == (200, "ready")
    database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_that_only_reads_is_not_ready(kind, request, tmp_path):
    if kind == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
        with database.write() as connection:
            connection.exec_driver_sql("PRAGMA query_only=ON")
    else:
        url = new_postgresql_database(request.getfixturevalue("postgresql"))
        Database(url).close()
        database = Database(url)
        with database.read() as connection:
            connection.exec_driver_sql(
                f"ALTER DATABASE {database.url.database} SET default_transaction_read_only = on"
            )
            connection.commit()
        database.close()  # new sessions only read, as those of a standby
    assert asked(Health(database, [tmp_path], least_free_bytes=1)) == (503, GONE)
    database.close()


def test_both_answer_while_every_thread_of_the_requests_is_taken(database, tmp_path):
    app, free = FastAPI(), threading.Event()
    app.include_router(routes(Health(database, [tmp_path], least_free_bytes=1)))

    @app.get("/slow")
    def slow() -> str:
        free.wait(60)
        return "done"

    async def scenario() -> list[str]:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://here"
        ) as client:
            slow_ones = [asyncio.create_task(client.get("/slow")) for _ in range(60)]
            await asyncio.sleep(0.3)
            told = [(await client.get(path)).text for path in ("/healthz", "/readyz")]
            assert not any(task.done() for task in slow_ones), "they answer before a thread is free"
            free.set()
            await asyncio.gather(*slow_ones)
            return told

    assert asyncio.run(scenario()) == ["ok", "ready"]
