"""Databases to measure on: an SQLite file, or a PostgreSQL server in a folder of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pgserver
from sqlalchemy import Connection, create_engine, text


def database_kind() -> str:
    """Returns the kind of database that the command line asks for, by default SQLite."""
    return sys.argv[1] if len(sys.argv) > 1 else "sqlite"


@contextmanager
def databases(kind: str, folder: Path, names: tuple[str, ...]) -> Iterator[list[str]]:
    """Yields the addresses of empty databases. No setting is changed, so their writes are as durable as in service."""
    if kind == "sqlite":
        yield [f"sqlite:///{folder / f'{name}.db'}" for name in names]
        return
    server_folder = folder / "postgresql"
    server = pgserver.get_server(server_folder, cleanup_mode="delete")  # pyright: ignore[reportPrivateImportUsage]
    engine = create_engine(server.get_uri(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in names:
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    try:
        yield [server.get_uri().replace("/postgres?", f"/{name}?") for name in names]
    finally:
        server.cleanup()


def insert_rows(connection: Connection, table: str, rows: pd.DataFrame) -> None:
    """Inserts many rows into a table with an `id`, the fastest way of each database."""
    columns = ", ".join(rows.columns)
    values = rows.astype(object).itertuples(index=False, name=None)
    if connection.dialect.name == "sqlite":
        places = ", ".join("?" * len(rows.columns))
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({columns}) VALUES ({places})", list(values)
        )
        return
    cursor = connection.connection.cursor()
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in values:
            copy.write_row(row)
    connection.exec_driver_sql(f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))")
    connection.exec_driver_sql(f"ANALYZE {table}")
