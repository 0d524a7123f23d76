"""Every schema version since the first comes to the present one, killed before each step, with every row as it was.

`tests/golden/schema_N.jsonl` is a database of version N (see `tests/support/schema_fixture.py`).
"""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, inspect, text

from arena.database import METADATA, SCHEMA_VERSION, UPGRADES, Database, DatabaseError
from tests.support.schema_fixture import import_tables, load
from tests.support.servers import ROOT, new_postgresql_database

pytestmark = pytest.mark.locks_or_dialect

GOLDEN = ROOT / "tests" / "golden"
PAST = range(1, SCHEMA_VERSION)
GONE = {"wins.changed_at", "live_wins.changed_at", "server", "found"}
"""Columns and tables that an upgrade took away; what every other one holds stays."""


def fixture(version: int) -> Path:
    return GOLDEN / f"schema_{version}.jsonl"


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, tmp_path) -> Iterator[Engine]:
    """An empty database without any table, once of each kind."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'arena.db'}"
    else:
        url = new_postgresql_database(request.getfixturevalue("postgresql"))
    made = create_engine(url)
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def opener() -> Iterator[subprocess.Popen]:
    """A fork server of processes that open a database and are killed."""
    line = [sys.executable, "-m", "tests.support.upgrading_process"]
    with subprocess.Popen(
        line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout.readline() == "ready\n"
        yield server
        server.stdin.close()


def address(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def columns(engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table."""
    seen = inspect(engine)
    return {
        table: tuple(column["name"] for column in seen.get_columns(table))
        for table in seen.get_table_names()
    }


def digest(engine: Engine, kept: dict[str, tuple[str, ...]]) -> str:
    """Return a hash of all rows, of these columns but those in GONE; the schema's version stands apart."""
    found = hashlib.sha256()
    with engine.connect() as connection:
        for table in sorted(kept.keys() - GONE):
            chosen = ", ".join(f'"{name}"' for name in kept[table] if f"{table}.{name}" not in GONE)
            rows = connection.execute(text(f'SELECT {chosen} FROM "{table}"')).all()
            lines = sorted(repr(tuple(row)) for row in rows if tuple(row)[0] != "schema")
            found.update(repr((table, lines)).encode())
    return found.hexdigest()


def version_of(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(text("SELECT value FROM meta WHERE name = 'schema'")).scalar_one()


def schema(engine: Engine) -> dict[str, object]:
    """Return what the tables are like: columns with their kinds, keys, indexes."""
    seen = inspect(engine)
    return {
        table: (
            sorted((c["name"], str(c["type"]), c["nullable"]) for c in seen.get_columns(table)),
            sorted(
                (i["name"], tuple(i["column_names"]), bool(i["unique"]))
                for i in seen.get_indexes(table)
            ),
            sorted(tuple(u["column_names"]) for u in seen.get_unique_constraints(table)),
            sorted(
                (tuple(f["constrained_columns"]), f["referred_table"])
                for f in seen.get_foreign_keys(table)
            ),
            seen.get_pk_constraint(table)["constrained_columns"],
        )
        for table in seen.get_table_names()
    }


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "version",
    [one if one in (1, PAST[-1]) else pytest.param(one, marks=pytest.mark.soak) for one in PAST],
)
def test_an_upgrade_killed_before_any_step_leaves_every_row(version, every, engine, opener):
    load(fixture(version), engine)
    kept = columns(engine)
    rows = digest(engine, kept)
    engine.dispose()
    for step in range(1, 2000, every):
        opener.stdin.write(f"{address(engine)} {step}\n")
        opener.stdin.flush()
        ended = int(opener.stdout.readline())
        assert digest(engine, kept) == rows, f"rows changed by a kill before step {step}"
        if ended == 0:
            break
        assert ended == -signal.SIGKILL, f"step {step}"
        assert version_of(engine) == version and columns(engine) == kept, (
            f"half an upgrade after step {step}"
        )
        engine.dispose()
    print(f"\nversion {version} on {engine.dialect.name}: {step // every} kills")
    upgrades = [
        statements for at in range(version, SCHEMA_VERSION) for statements in UPGRADES[at].values()
    ]
    steps = sum(map(len, upgrades)) + len(METADATA.tables.keys() - kept)
    assert step + every > steps, "every statement of an upgrade and every new table is a step"
    assert version_of(engine) == SCHEMA_VERSION


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        pytest.param(kind, version, marks=[] if version in kept else [pytest.mark.soak])
        for kind, kept in (
            ("sqlite", (1, 6, PAST[-1], SCHEMA_VERSION)),
            ("postgresql", (1, SCHEMA_VERSION)),
        )
        for version in (*PAST, SCHEMA_VERSION)
    ],
    indirect=["engine"],
)
def test_an_old_database_becomes_like_a_new_one(version, engine, tmp_path, request):
    """Also one of this version: whoever changes a table raises the version, and says how the old ones follow."""
    import_tables()
    load(fixture(version), engine)
    Database(address(engine)).close()
    if engine.dialect.name == "sqlite":
        fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    else:
        fresh = new_postgresql_database(request.getfixturevalue("postgresql"))
    Database(fresh).close()
    new = create_engine(fresh)
    assert schema(engine) == schema(new)
    new.dispose()


def test_counts_of_left_choices_are_those_of_the_votes(engine):
    """Version 1 did not count them: the upgrade does."""
    load(fixture(1), engine)
    Database(address(engine)).close()
    counted = text(
        "SELECT winner, loser, sum(left_n) FROM wins GROUP BY winner, loser ORDER BY 1, 2"
    )
    recounted = text(
        "SELECT vote.winner, vote.loser, sum(CASE WHEN vote.choice = 'a' THEN 1 ELSE 0 END) FROM vote "
        "LEFT JOIN undo ON undo.battle_id = vote.battle_id WHERE vote.attempt = 2 OR undo.battle_id IS NULL "
        "GROUP BY vote.winner, vote.loser ORDER BY 1, 2"
    )
    with engine.connect() as connection:
        left = [tuple(row) for row in connection.execute(counted)]
        assert (
            left == [tuple(row) for row in connection.execute(recounted)]
            and sum(row[2] for row in left) > 0
        )


# The copy that is made before.


def old_file(folder: Path) -> Engine:
    engine = create_engine(f"sqlite:///{folder / 'arena.db'}")
    load(fixture(1), engine)
    engine.dispose()
    return engine


def test_a_file_is_copied_before_it_is_upgraded(tmp_path):
    engine = old_file(tmp_path)
    kept = columns(engine)
    rows = digest(engine, kept)
    engine.dispose()
    Database(address(engine)).close()
    copy = create_engine(f"sqlite:///{tmp_path / 'arena.db.schema-1'}")
    assert (version_of(copy), columns(copy), digest(copy, kept)) == (1, kept, rows)
    copy.dispose()
    with closing(sqlite3.connect(tmp_path / "arena.db.schema-1")) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    before = (tmp_path / "arena.db.schema-1").stat()
    assert os.name == "nt" or before.st_mode & 0o777 == 0o600, "nobody else may read it"
    Database(address(engine)).close()
    assert (tmp_path / "arena.db.schema-1").stat() == before, (
        "a database of this version is not copied"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arena.db", "arena.db.schema-1"]


def test_what_cannot_be_copied_is_not_upgraded(tmp_path):
    engine = old_file(tmp_path)
    (tmp_path / "arena.db.schema-1.unfinished").mkdir()
    with pytest.raises(DatabaseError, match="arena.db cannot be copied to .*arena.db.schema-1: "):
        Database(address(engine))
    assert version_of(engine) == 1
    engine.dispose()
    (tmp_path / "arena.db.schema-1.unfinished").rmdir()
    (tmp_path / "arena.db.schema-1.unfinished").write_bytes(b"half a copy, left by a kill")
    Database(address(engine)).close()
    assert (
        version_of(engine) == SCHEMA_VERSION
        and not (tmp_path / "arena.db.schema-1.unfinished").exists()
    )
    engine.dispose()


def test_the_harness_sees_an_upgrade_in_pieces(tmp_path):
    """A statement that is committed by itself changes the columns that a kill leaves."""
    engine = old_file(tmp_path)
    kept = columns(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE wins ADD COLUMN left_n INTEGER DEFAULT 0 NOT NULL"))
    assert columns(engine) != kept
    with pytest.raises(DatabaseError, match="duplicate column"):
        Database(address(engine))
    engine.dispose()
