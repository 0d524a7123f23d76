"""Health: alive is always said; ready only while a vote can be taken, and else in one plain line why not."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from arena.database import Database
from arena.hosting.health import Health, routes


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(health: Health) -> tuple[int, str]:
    app = FastAPI()
    app.include_router(routes(health))
    with TestClient(app) as client:
        assert (client.get("/healthz").status_code, client.get("/healthz").text) == (200, "ok")
        answer = client.get("/readyz")
    return answer.status_code, answer.text


def test_a_database_and_a_disk_make_a_server_ready(database, tmp_path):
    assert asked(Health(database, tmp_path, least_free=1)) == (200, "ready")


def test_a_full_disk_is_told(database, tmp_path):
    status, told = asked(Health(database, tmp_path, least_free=10**18))
    assert status == 503 and told == "Less than 1000000000000 MB of the disk are free."


def test_a_folder_that_is_gone_is_told(database, tmp_path):
    assert asked(Health(database, tmp_path / "gone")) == (503, "The data folder is gone.")


def test_a_database_that_does_not_answer_is_told_without_its_address(database, postgresql, tmp_path):
    """The file is gone from under SQLite; PostgreSQL has ended the sessions and lets nobody in."""
    health = Health(database, tmp_path, least_free=1, clock=(clock := Clock()))
    assert health.problem() is None
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
    assert health.problem() is None, "what was seen holds for a second"
    clock.now += 1
    assert asked(health) == (503, "The database does not answer.")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_flood_of_questions_asks_the_database_once_a_second(database, tmp_path):
    seen = []

    class Counting(Database):
        def read(self):
            seen.append(1)
            return super().read()

    counting = Counting(f"sqlite:///{tmp_path / 'counted.db'}")
    health = Health(counting, tmp_path, least_free=1, clock=(clock := Clock()))
    for _ in range(100):
        health.problem()
    assert len(seen) == 1
    clock.now += 1.5
    health.problem()
    assert len(seen) == 2
    counting.close()
