"""Sources of votes with and without a majority, planted for the agreement page and command."""

import csv
import itertools
import random
from pathlib import Path

from arena.database import Database
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.types import REFERENCE
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

MODELS = ("otter", "puffin", "quail")


def votes_on(item: int, one: str, other: str, ones: int, others: int) -> list[Planted]:
    """Return votes of so many voters for either model, on alternating sides."""
    chosen = [(one, other)] * ones + [(other, one)] * others
    return [
        Planted(item, *pair, left=bool(place % 2), voter=place)
        for place, pair in enumerate(chosen, 1)
    ]


def plant_source(database: Database) -> None:
    """Fill a bank "test" with five votes on each of many pairs, and leave a bank "later" with one vote."""
    ingest, coins = Ingest(database), random.Random(3)
    ingest.add_items("test", "folder", drafts(20, (*MODELS, REFERENCE)))
    ingest.add_items("later", "folder", drafts(21, MODELS)[20:])
    items = [item.id for item in ItemBank(database).bank().items.values()]
    votes = [Planted(items[20], "otter", "puffin")]
    for item in items[:20]:
        for one, other in (*itertools.combinations(MODELS, 2), ("otter", REFERENCE)):
            ones = coins.choice((5, 5, 4, 4, 3, 2, 1, 0))
            votes += votes_on(item, one, other, ones, 5 - ones)
    plant(database, votes)


def scores_file(folder: Path, *rows: tuple[object, ...]) -> Path:
    """Write the scores of a visitor's own metric: item, model, metric, score."""
    path = folder / "scores.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("item", "model", "metric", "score"), *rows])
    return path
