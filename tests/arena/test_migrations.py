"""Migrations: the digest of all tables, refusals of other tables, and steps that are taken whole or not at all."""

import importlib
import os
import signal
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, inspect, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from arena import database as migrated
from arena.database import (
    DIGEST,
    META,
    METADATA,
    SCHEMA,
    STEPS,
    Database,
    DatabaseError,
    Step,
    bump_counter,
)
from tests.support.commands import Done, run
from tests.support.forked_app import FORKS
from tests.support.servers import ROOT, AppServer

DIALECTS = (sqlite.dialect(), postgresql.dialect())
OLD_TABLES = ROOT / "tests" / "golden" / "database_8e4b07a.sql"
"""A database of commit 8e4b07a with votes, as SQL."""


def digest() -> str:
    """Return a hash of all CREATE statements, for both databases."""
    for path in [*ROOT.glob("arena/**/*.py"), *ROOT.glob("scoring/**/*.py")]:
        if "METADATA" in path.read_text("utf-8"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    statements = []
    for _, table in sorted(METADATA.tables.items()):
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        for made in (CreateTable(table), *map(CreateIndex, indexes)):
            statements += [str(made.compile(dialect=dialect)) for dialect in DIALECTS]
    return sha256("\n".join(statements).encode()).hexdigest()[:16]


def test_the_digest_is_that_of_all_tables():
    now = digest()
    assert now == DIGEST, (
        f'set DIGEST = "{now}" in arena/database.py; CONTRIBUTING.md says when this wants a step'
    )


# Refusals


@pytest.fixture
def old_file(tmp_path) -> Path:
    file = tmp_path / "arena.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(OLD_TABLES.read_text("utf-8"))
    return file


def test_a_file_of_a_development_version_is_refused_and_stays_as_it_is(old_file):
    with pytest.raises(DatabaseError) as refused:
        Database(f"sqlite:///{old_file}")
    assert (
        str(refused.value)
        == f"{old_file} was made by a development version. Start with an empty folder."
    )
    with closing(sqlite3.connect(old_file)) as connection:
        assert "\n".join(connection.iterdump()) + "\n" == OLD_TABLES.read_text("utf-8")


def test_a_program_ends_with_one_sentence_at_a_file_of_a_development_version(old_file):
    sentence = f"{old_file} was made by a development version. Start with an empty folder.\n"
    with pytest.raises(RuntimeError) as ended:
        AppServer(old_file.parent)
    assert str(ended.value) == f"the server ended with 2: Stereoscope didn't start: {sentence}"
    own = {"DATA_DIR": str(old_file.parent)}
    command = run("arena", "votes", "export", "--out", "votes.jsonl", environ=own)
    assert command == Done(2, "", sentence)


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("stored", [{"digest": "another"}, {"version": -1}])
def test_another_digest_is_refused_and_its_password_not_shown(database, database_url, stored):
    with database.write() as connection:
        connection.execute(update(SCHEMA).values(stored))
    empty = "folder" if database.is_sqlite else "database"
    with pytest.raises(
        DatabaseError, match=rf"was made by a development version\. Start with an empty {empty}\.$"
    ):
        Database(database_url)


@pytest.mark.locks_or_dialect
def test_tables_without_a_digest_are_refused(database, database_url):
    with database.write() as connection:
        connection.execute(SCHEMA.delete())
    with pytest.raises(DatabaseError, match="was made by a development version"):
        Database(database_url)


# Steps

TOY_STATEMENTS = ("ALTER TABLE meta ADD COLUMN toy INTEGER", "UPDATE meta SET toy = value + 1")


def toy_step(url: str, killed_before: str) -> None:
    """Open a database with one step more; be killed before a statement that starts like this."""

    def kill(connection: Connection, cursor: object = None, statement: str = "COMMIT", *_) -> None:
        if statement.startswith(killed_before):
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", kill)
    event.listen(Engine, "commit", kill)
    migrated.STEPS = (Step(DIGEST, {"meta": TOY_STATEMENTS}),)
    migrated.DIGEST = "toy"
    Database(url).close()


def take_toy_step(url: str, killed_before: str) -> int:
    """Take the step in a process of its own; return how that ended."""
    process = FORKS.Process(target=toy_step, args=(url, killed_before), daemon=True)
    process.start()
    process.join(60)
    return process.exitcode


def contents(url: str) -> tuple[list[str], list[tuple], list[tuple]]:
    """Return the columns and rows of META, and the version with its digest."""
    engine = create_engine(url)
    with engine.connect() as connection:
        columns = [column["name"] for column in inspect(connection).get_columns(META.name)]
        rows = connection.exec_driver_sql("SELECT * FROM meta ORDER BY name").all()
        version = connection.execute(select(SCHEMA)).all()
    engine.dispose()
    return columns, [tuple(row) for row in rows], [tuple(row) for row in version]


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("moment", ["UPDATE meta", "COMMIT"])
def test_a_step_that_is_killed_leaves_nothing_and_is_taken_at_the_next_start(
    database, database_url, moment
):
    with database.write() as connection:
        bump_counter(connection, "toys")
    before = contents(database_url)
    assert before == (["name", "value"], [("toys", 1)], [(len(STEPS), DIGEST)])
    assert take_toy_step(database_url, killed_before=moment) == -signal.SIGKILL
    assert contents(database_url) == before
    assert take_toy_step(database_url, killed_before="never") == 0
    assert contents(database_url) == (["name", "value", "toy"], [("toys", 1, 2)], [(1, "toy")])


def test_steps_are_taken_in_order_from_the_release_that_made_the_database(
    database, database_url, monkeypatch
):
    first = Step(
        DIGEST,
        {"never made": ("DROP TABLE gone",), "meta": ("ALTER TABLE meta ADD COLUMN toy INTEGER",)},
    )
    second = Step("toy", {"meta": ("ALTER TABLE meta RENAME COLUMN toy TO renamed",)})
    monkeypatch.setattr(migrated, "STEPS", (first, second))
    monkeypatch.setattr(migrated, "DIGEST", "renamed")
    Database(database_url).close()
    assert contents(database_url) == (["name", "value", "renamed"], [], [(2, "renamed")])


def test_a_development_version_before_a_step_is_refused(database, database_url, monkeypatch):
    before = contents(database_url)
    monkeypatch.setattr(
        migrated, "STEPS", (Step("of the release", {"meta": ("DROP TABLE meta",)}),)
    )
    with pytest.raises(DatabaseError, match="was made by a development version"):
        Database(database_url)
    assert contents(database_url) == before


def test_an_empty_database_needs_no_step(tmp_path, monkeypatch):
    monkeypatch.setattr(
        migrated, "STEPS", (Step("of the release", {"meta": ("DROP TABLE meta",)}),)
    )
    url = f"sqlite:///{tmp_path / 'arena.db'}"
    Database(url).close()
    assert contents(url) == (["name", "value"], [], [(1, DIGEST)])
