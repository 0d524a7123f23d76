"""A database of this schema version as text: `python -m tests.support.schema_fixture > tests/golden/schema_N.jsonl`.

Run it before the schema's version is raised; the file then stands for every database of that version. Its lines: the
version; each table's and index's CREATE statement for both databases; rows of people who voted, undid and skipped.
"""

import importlib
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Engine, LargeBinary, create_engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import TypeDecorator, TypeEngine

from arena.database import METADATA, SCHEMA_VERSION, Database, DatabaseError

ROOT = Path(__file__).parents[2]
DIALECTS = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}


def import_tables() -> None:
    """Import every module that has a table."""
    for path in sorted(ROOT.glob("arena/**/*.py")) + sorted(ROOT.glob("scoring/**/*.py")):
        if "METADATA" in path.read_text("utf-8"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def use(url: str) -> None:
    """Fill a database: what people do, and a row in every table that this leaves empty and that stands alone."""
    from arena.items.ingest import Ingest
    from tests.support.servers import drafts
    from tests.support.visitors import Visitor

    database = Database(url)
    Ingest(database).add_items("test", "folder", drafts(items=6))
    for name in ("ada", "eve", "kim"):
        visitor = Visitor(database, name)
        for number in range(4):
            visitor.decide("ab"[(number + len(name)) % 2])
        visitor.undo(visitor.vote(visitor.serve()))
        visitor.vote(visitor.serve())
    for table in METADATA.sorted_tables:
        names = [column.name for column in table.c]
        row = {column.name: _some(column.type) for column in table.c}
        with database.read() as connection:
            empty = connection.execute(text(f'SELECT 1 FROM "{table.name}"')).first() is None
        bytes_too = any(isinstance(column.type, LargeBinary) for column in table.c)  # JSON has none
        if empty and not table.foreign_keys and not bytes_too:
            # some take chosen words only
            with suppress(DatabaseError), database.write() as connection:
                places = ", ".join(f":{name}" for name in names)
                connection.execute(text(f'INSERT INTO "{table.name}" VALUES ({places})'), row)
    database.close()


def _some(kind: TypeEngine) -> Any:
    kind = kind.impl_instance if isinstance(kind, TypeDecorator) else kind
    return {"BOOLEAN": True, "FLOAT": 0.5, "TEXT": "some: \u00e4'"}.get(str(kind), 7)


def lines(url: str) -> Iterator[dict[str, Any]]:
    """Yield a fixture's lines."""
    yield {"schema": SCHEMA_VERSION}
    for table in METADATA.sorted_tables:
        for made in (
            CreateTable(table),
            *(CreateIndex(index) for index in sorted(table.indexes, key=lambda i: i.name)),
        ):
            yield {
                name: str(made.compile(dialect=dialect)).strip()
                for name, dialect in DIALECTS.items()
            }
    engine = create_engine(url)
    with engine.connect() as connection:
        for table in METADATA.sorted_tables:
            flags = {column.name for column in table.c if isinstance(column.type, Boolean)}
            for row in connection.execute(text(f'SELECT * FROM "{table.name}"')).mappings():
                values = {
                    name: bool(value) if name in flags else value for name, value in row.items()
                }
                yield {"table": table.name, "row": values}
    engine.dispose()


def load(fixture: Path, engine: Engine) -> None:
    """Make the database that a fixture describes."""
    dialect = engine.dialect.name
    with engine.begin() as connection:
        for line in map(json.loads, fixture.read_text("utf-8").splitlines()):
            if dialect in line:
                connection.execute(text(line[dialect].replace(":", "\\:")))
            if "row" in line:
                names = ", ".join(f'"{name}"' for name in line["row"])
                places = ", ".join(f":{name}" for name in line["row"])
                connection.execute(
                    text(f'INSERT INTO "{line["table"]}" ({names}) VALUES ({places})'), line["row"]
                )


if __name__ == "__main__":
    import_tables()
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'arena.db'}"
        use(address)
        for line in lines(address):
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
