"""VisIT-Bench's bank for the commands that compare and withdraw."""

from pathlib import Path

from arena.database import Database
from tests.support.visit_bank import fill_bank


def bank(folder: Path, data: Path) -> None:
    (folder / "data").mkdir(parents=True)
    database = Database(f"sqlite:///{folder / 'data' / 'arena.db'}")
    fill_bank(database, data, folder)
    database.close()
