"""The demo bank: enough to compare, in every respect, and nothing that tells a model."""

import pytest

from arena.io.tables import read_records
from arena.items.importers import DEMO_FOLDER

ITEMS = [record.values for record in read_records(DEMO_FOLDER / "items.jsonl")]


def test_there_are_sixteen_items_of_ten_families_and_four_with_several_images():
    assert len(ITEMS) >= 16
    assert len({item["family"] for item in ITEMS}) >= 10
    several = [len(item["images"]) for item in ITEMS if len(item["images"]) > 1]
    assert len(several) >= 4
    assert set(several) <= {2, 3, 4}


def test_families_are_visit_bench_families(data):
    paper = data.parent / "papers" / "visit-bench.txt"
    if not paper.exists():
        pytest.skip("the paper's text is not beside the data")
    known = " ".join(paper.read_text("utf-8").lower().replace("_", " ").split())
    for item in ITEMS:
        assert item["family"].lower().replace("_", " ") in known


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["images"][0])
def test_every_item_is_complete_and_names_no_model(item):
    models = sorted(item["answers"])
    assert len(models) >= 4
    assert all(name.startswith("demo-") for name in models)
    assert len(item["captions"]) == len(item["images"])
    assert item["reference"] and item["credit"] and item["licence"]
    told = " ".join([item["instruction"], *item["answers"].values(), item["reference"]]).lower()
    for name in models:
        assert name not in told and name.removeprefix("demo-") not in told
    assert len(set(item["answers"].values())) == len(models), "no two models say the same"


def test_pictures_are_small_and_used():
    pictures = set((DEMO_FOLDER / "pictures").iterdir())
    assert {DEMO_FOLDER / str(name) for item in ITEMS for name in item["images"]} == pictures
    assert all(path.stat().st_size < 150_000 for path in pictures)
