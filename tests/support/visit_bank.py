"""VisIT-Bench for the tests: a bank of the verified multi-image instances, models that answer, and a judge."""

import csv
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arena.database import Database
from arena.io.images import PictureStore
from arena.items.importers import ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank

SOURCE = "VisIT-Bench"
MODELS = ("m1", "m2")
NEW = "Newcomer-7B"
_CODES = re.compile(r"^(?:BEGIN|END) [0-9a-f]{16}$|^> ", re.MULTILINE)


def answer(model: str, instruction: str) -> str:
    """Return what a model says; better models say more."""
    return f"{model} thinks: " + "so it is. " * (
        2 + hashlib.sha256(f"{model} {instruction}".encode()).digest()[0] % 5
    )


def fill_bank(
    database: Database, data: Path, folder: Path, models: Sequence[str] = MODELS, most: int = 63
) -> ItemBank:
    """Import the first of the 63 verified multi-image instances and the answers of models."""
    ingest, items = Ingest(database), ItemBank(database)
    rows = instances(data)[:most]
    file = folder / "instances.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    ItemImporter(ingest, items, PictureStore(folder / "pictures")).import_visit_bench(file, SOURCE)
    known = items.known_items()
    for model in models:
        texts = {item.id: answer(model, item.instruction + item.key) for item in known}
        ingest.add_answers(model, f"{model}.csv", texts)
    return items


@cache
def _filled(data: Path, most: int) -> bytes:
    with TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/arena.db")
        fill_bank(database, data, Path(folder), most=most)
        database.close()
        return (Path(folder) / "arena.db").read_bytes()


def bank(folder: Path, data: Path, most: int = 63) -> None:
    """Put a filled database where the commands that compare and withdraw look for it."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "arena.db").write_bytes(_filled(data, most))


def instances(data: Path) -> list[dict[str, str]]:
    """Return the 63 verified rows of the authors' file."""
    with (data / "visit-bench" / "visit_bench_multi_images.csv").open(
        newline="", encoding="utf-8"
    ) as file:
        return [row for row in csv.DictReader(file) if row["human_ratings_gpt4_correct"] == "True"]


def predictions(
    path: Path, rows: Sequence[Mapping[str, Any]], model: str = NEW, **more: str
) -> Path:
    """Write a predictions.csv as the authors ask for it; `more` are further columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["instruction", "instruction_category", "images", f"{model} prediction", *more]
        )
        for row in rows:
            text = row.get("text", answer(model, row["instruction"] + row["images"]))
            writer.writerow(
                [
                    row["instruction"],
                    row["instruction_category"],
                    row["images"],
                    text,
                    *more.values(),
                ]
            )
    return path


def judge(body: Mapping[str, Any], _sample: int) -> str:
    """Judge steadily: by a hash of the texts, now and then by position, and now and then in the wrong words."""
    asked = str(body["messages"][-1]["content"])
    if asked.endswith("extract the final answer from the above text."):
        return "Final Answer: Response B, as said." if "prefer the second" in asked else "Unknown"
    if "\nResponse A:" not in asked:
        return '{"score": 1}'
    plain = _CODES.sub(
        "", asked[asked.index("\nResponse A:") : asked.rindex("\nThink step-by-step")]
    )
    first, second = (
        part.strip() for part in plain.removeprefix("\nResponse A:").split("\nResponse B:", 1)
    )
    digest = hashlib.sha256(json.dumps(sorted((first, second))).encode()).digest()
    if digest[0] < 20:
        return "Overall, Response A is better."
    if digest[0] < 30:
        return "Both say the same. I prefer the second."
    if digest[0] < 40:
        return "I cannot decide."
    better_first = (
        hashlib.sha256(first.encode()).digest() > hashlib.sha256(second.encode()).digest()
    )
    return f"Step 1: compare.\nOverall, Response {'A' if better_first else 'B'} is better."
