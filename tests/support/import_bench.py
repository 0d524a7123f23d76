"""An item bank with an importer and a web server of pictures."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from arena.database import Database
from arena.io.images import PictureStore
from arena.items.importers import ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank

VISIT_HOST = "visit-instruction-tuning.s3.amazonaws.com"


on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what is decided before the database is asked."""


class Bench:
    """An importer on a database and a picture folder, and a folder of files to import."""

    def __init__(self, database: Database, place: Path) -> None:
        self.database, self.files, self.kept = database, place / "in", place / "pictures"
        self.files.mkdir()
        self.ingest = Ingest(database)
        self.importer = ItemImporter(self.ingest, ItemBank(database), PictureStore(self.kept))

    def picture(self, name: str, color: str = "red", size: tuple[int, int] = (20, 10)) -> Path:
        path = self.files / name
        Image.new("RGB", size, color).save(path)
        return path

    def items(self, *rows: dict[str, Any]) -> Path:
        """Write items.jsonl and return its folder."""
        lines = [
            json.dumps({"instruction": "What?", "family": "Color", "images": ["red.png"]} | row)
            for row in rows
        ]
        (self.files / "items.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        return self.files

    def csv(self, name: str, header: list[str], *rows: list[str]) -> Path:
        path = self.files / name
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    def shown(self, *hosts: str):
        return list(ItemBank(self.database, hosts).bank().items.values())

    def answers(self, *hosts: str) -> dict[str, dict[str, str]]:
        """Return the answers in use: {instruction: {model: text}}."""
        bank = ItemBank(self.database, hosts)
        names = {number: model.name for number, model in enumerate(bank.models(), 1)}
        return {
            item.instruction: {
                names[contestant.model]: bank.shown_answers([contestant.answer])[0].text
                for contestant in item.contestants
            }
            for item in bank.bank().items.values()
        }
