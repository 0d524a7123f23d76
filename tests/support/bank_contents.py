"""All that a bank's tables hold, for comparisons."""

from sqlalchemy import select

from arena.database import METADATA, Database


def contents(database: Database) -> dict[str, list]:
    """Return every row of every table but the bank's version, which may count up."""
    with database.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=str)
            for table in METADATA.sorted_tables
            if table.name != "meta"
        }
