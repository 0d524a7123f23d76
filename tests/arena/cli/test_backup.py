"""`python -m arena backup`: a copy of the SQLite file that has what only its log holds yet."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from arena.battles.tables import VOTER
from arena.database import Database, now
from tests.support.commands import run


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    return {"DATA_DIR": str(tmp_path / "data")}


def voters(file: Path) -> list[str]:
    with closing(Database(f"sqlite:///{file}")) as database, database.read() as connection:
        return sorted(connection.scalars(select(VOTER.c.cookie_hash)))


def test_a_copy_made_beside_the_server_has_all_that_is_stored(environ, tmp_path):
    copy = tmp_path / "copy.db"
    with closing(Database(f"sqlite:///{tmp_path / 'data' / 'arena.db'}")) as served:
        served.become_server()
        with served.write() as connection:
            connection.execute(VOTER.insert().values(cookie_hash="first", since=now()))
        done = run("arena", "backup", copy, environ=environ)
        assert (done.code, done.err) == (0, "") and str(copy) in done.out, done
        with served.write() as connection:
            connection.execute(VOTER.insert().values(cookie_hash="later", since=now()))
        assert voters(copy) == ["first"]
    assert os.name == "nt" or copy.stat().st_mode & 0o777 == 0o600, "nobody else may read it"


def test_a_file_that_is_there_is_never_written_over(environ, tmp_path):
    Database(f"sqlite:///{tmp_path / 'data' / 'arena.db'}").close()
    copy = tmp_path / "copy.db"
    copy.write_text("the copy of yesterday")
    done = run("arena", "backup", copy, environ=environ)
    assert done.code == 2 and f"{copy} already exists. Choose another name" in done.err, done
    assert copy.read_text() == "the copy of yesterday"


def test_without_a_database_nothing_is_made(environ, tmp_path):
    done = run("arena", "backup", tmp_path / "copy.db", environ=environ)
    assert done.code == 2 and "arena.db to copy. Set DATA_DIR or DATABASE_URL" in done.err, done
    assert not (tmp_path / "copy.db").exists() and not (tmp_path / "data" / "arena.db").exists()


def test_a_copy_that_fails_leaves_no_file(environ, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "arena.db").write_bytes(b"no database" * 100)
    done = run("arena", "backup", tmp_path / "copy.db", environ=environ)
    assert done.code == 2 and "arena.db can't be copied to" in done.err, done
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_postgresql_is_copied_by_its_own_tool(environ, tmp_path):
    address = {"DATABASE_URL": "postgresql://arena:secret@nowhere.example/arena"}
    done = run("arena", "backup", tmp_path / "copy.db", environ=environ | address)
    assert done.code == 2 and "Use pg_dump" in done.err and "secret" not in done.err, done
