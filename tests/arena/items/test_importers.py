"""Importers of items: VisIT-Bench's own files and folders; what is wrong is named, and nothing comes in by halves."""

import base64
import csv
import errno
import hashlib
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from arena.io.images import PictureStore
from arena.io.tables import RowsError
from arena.items.importers import ItemImporter, Rights, _row_rights, _visit_rights
from arena.items.ingest import Changes, IngestError
from arena.items.store import ItemBank
from arena.server.change_log import ChangeLog
from arena.types import DATASET_ANSWER, REFERENCE, item_key
from tests.support.bank_contents import contents
from tests.support.commands import run
from tests.support.import_bench import VISIT_HOST, Bench, on_sqlite


@pytest.fixture
def bench(database, tmp_path) -> Bench:
    made = Bench(database, tmp_path)
    made.picture("red.png")
    return made


# Folders


def test_a_folder_brings_items_pictures_captions_references_and_credit(bench):
    bench.picture("blue.jpg", "blue")
    folder = bench.items(
        {
            "instruction": "Which is warmer?",
            "images": ["red.png", "blue.jpg"],
            "captions": ["a red one", "a blue one"],
            "credit": "Ann",
            "licence": "CC0",
            "reference": "The red one.",
            "answers": {"m1": "red", "m2": "blue"},
        },
        {"images": ["./red.png"]},
    )
    report = bench.importer.import_folder(folder, "mine")
    assert report.changes == Changes(items_new=2, answers_new=3, pictures_new=3)
    assert (report.left_out, report.problems) == (0, ())
    item = bench.shown()[0]
    assert [(image.caption, image.credit, image.licence) for image in item.images] == [
        ("a red one", "Ann", "CC0"),
        ("a blue one", "Ann", "CC0"),
    ]
    assert bench.answers()["Which is warmer?"] == {
        "m1": "red",
        "m2": "blue",
        REFERENCE: "The red one.",
    }
    store = PictureStore(bench.kept)
    assert all(image.sha256 and store.has(image.sha256) for image in item.images)
    assert bench.shown()[1].images[0].sha256 == item.images[0].sha256


@on_sqlite
def test_an_image_is_known_by_its_bytes_not_by_its_name(bench):
    bench.importer.import_folder(bench.items({}), "mine")
    (bench.files / "red.png").rename(bench.files / "renamed.png")
    report = bench.importer.import_folder(bench.items({"images": ["renamed.png"]}), "mine")
    assert report.changes == Changes(items_known=1)


def test_the_same_folder_again_changes_nothing(bench):
    folder = bench.items(
        {"answers": {"m1": "one"}}, {"instruction": "And this?", "reference": "yes"}
    )
    bench.importer.import_folder(folder, "mine")
    before, kept = (
        contents(bench.database),
        {path: path.stat().st_mtime_ns for path in bench.kept.iterdir()},
    )
    assert bench.importer.import_folder(folder, "mine").changes == Changes(
        items_known=2, answers_known=2
    )
    assert contents(bench.database) == before
    assert {path: path.stat().st_mtime_ns for path in bench.kept.iterdir()} == kept


def test_a_corrected_folder_corrects_what_is_told_of_known_items(bench):
    told = {"captions": ["a blue one"], "credit": "Ann", "licence": "CC-BY-4.0"}
    bench.importer.import_folder(bench.items(told, {"instruction": "And this?", **told}), "mine")
    running = ItemBank(bench.database)
    running.CHECK_SECONDS = 0
    version = running.bank().version
    changes_of = ChangeLog(bench.database)
    changes_of.open()
    changes_of.acknowledge(changes_of.batch(1000))
    corrected = bench.items(
        {"captions": ["a red one"], "licence": "CC0"}, {"instruction": "And this?", **told}
    )
    assert bench.importer.import_folder(corrected, "mine").changes == Changes(
        items_known=2, items_corrected=1
    )
    images = [
        (one.caption, one.credit, one.licence)
        for item in running.bank().items.values()
        for one in item.images
    ]
    assert images == [("a red one", "Ann", "CC0"), ("a blue one", "Ann", "CC-BY-4.0")]
    assert running.bank().version > version
    copied = [json.loads(line) for line in changes_of.batch(1000).content.splitlines()[1:]]
    assert [(line["table"], line["row"]["caption"], line["row"]["licence"]) for line in copied] == [
        ("image", "a red one", "CC0")
    ]
    assert bench.importer.import_folder(corrected, "mine").changes == Changes(items_known=2)


def test_of_rows_of_one_item_the_first_is_told_however_often_they_come(bench):
    folder = bench.items({"credit": "Ann"}, {"credit": "Bob", "family": "Taste"})
    for _ in range(2):
        assert bench.importer.import_folder(folder, "mine").changes.items_corrected == 0
        (item,) = bench.shown()
        assert (item.images[0].credit, item.family) == ("Ann", "Color")


def test_another_family_of_a_known_item_is_refused(bench):
    bench.importer.import_folder(bench.items({}), "mine")
    before = contents(bench.database)
    with pytest.raises(IngestError, match=r"'What\?'.* has votes under the family 'Color'"):
        bench.importer.import_folder(bench.items({"credit": "Ann", "family": "Taste"}), "mine")
    assert contents(bench.database) == before


@on_sqlite
def test_a_lost_picture_is_kept_again_by_importing_again(bench):
    folder = bench.items({})
    bench.importer.import_folder(folder, "mine")
    for path in bench.kept.iterdir():
        path.unlink()
    bench.importer.import_folder(folder, "mine")
    (image,) = bench.shown()[0].images
    assert image.sha256 and PictureStore(bench.kept).has(image.sha256)


def test_an_address_waits_for_its_host(bench):
    bench.importer.import_folder(
        bench.items({"images": ["https://images.example.org/a%20b.png?x=1"]}), "mine"
    )
    assert bench.shown() == []
    (item,) = bench.shown("images.example.org")
    assert item.key == item_key("What?", ["https://images.example.org/a%20b.png?x=1"])


@on_sqlite
def test_pictures_are_stripped_and_bounded(bench):
    bench.picture("wide.png", size=(4000, 3000))
    bench.importer.import_folder(bench.items({"images": ["wide.png"]}), "mine")
    (image,) = bench.shown()[0].images
    path = PictureStore(bench.kept).path(f"{image.sha256}.{image.suffix}")
    assert path
    with Image.open(path) as kept:
        assert kept.size == (1600, 1200)


@on_sqlite
def test_progress_is_shown_over_every_row(bench):
    seen = []

    def watch(members, title):
        for member in members:
            seen.append(title)
            yield member

    ItemImporter(
        bench.ingest, ItemBank(bench.database), PictureStore(bench.kept), watch
    ).import_folder(bench.items({}, {"instruction": "2"}, {"instruction": "3"}), "mine")
    assert seen == ["items"] * 3


WRONG_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "broken picture": ({"images": ["broken.png"]}, "broken.png.*broken or cut short"),
    "missing picture": ({"images": ["nowhere.png"]}, "nowhere.png"),
    "folder": ({"images": ["."]}, "'.'"),
    "outside": ({"images": ["../outside.png"]}, "outside the folder"),
    "outside, absolute": ({"images": ["/etc/hostname"]}, "outside the folder"),
    "outside by a link": ({"images": ["link.png"]}, "outside the folder"),
    "link to itself": ({"images": ["loop.png"]}, "loop.png"),
    "name too long": ({"images": ["x" * 300]}, "xxx"),
    "file address": ({"images": ["file:///etc/hostname"]}, "file:"),
    "broken address": ({"images": ["https://[images.example.org/1.png"]}, "images"),
    "address without host": ({"images": ["https:///1.png"]}, "images"),
    "no image": ({"images": []}, "'images': must be a list"),
    "image in no list": ({"images": "red.png"}, "'images': must be a list"),
    "image without name": ({"images": [""]}, "'images': must be a list"),
    "image is a number": ({"images": [1]}, "'images': must be a list"),
    "too many captions": (
        {"captions": ["one", "two"]},
        "'captions': has 2 captions for 1 images",
    ),
    "captions in no list": ({"captions": "one"}, "'captions': must be a list"),
    "no instruction": ({"instruction": None}, "'instruction': is missing"),
    "blank instruction": ({"instruction": " \n"}, "'instruction': is empty"),
    "instruction is a list": (
        {"instruction": ["a"]},
        "'instruction': is list, not text",
    ),
    "no family": ({"family": ""}, "'family': is empty"),
    "reference is a number": ({"reference": 7}, "'reference': is int, not text"),
    "answers in a list": ({"answers": ["a"]}, "'answers': must be an object"),
    "answer is null": ({"answers": {"m1": None}}, "'answers': must be an object"),
    "model without name": ({"answers": {" ": "text"}}, "'answers'"),
}


@pytest.mark.parametrize(("row", "problem"), WRONG_ROWS.values(), ids=WRONG_ROWS)
@on_sqlite
def test_a_wrong_last_row_is_named_and_nothing_comes_in(bench, row, problem):
    Image.effect_noise((99, 99), 50).save(bench.files / "whole.png")
    whole = (bench.files / "whole.png").read_bytes()
    (bench.files / "broken.png").write_bytes(whole[: len(whole) // 2])
    bench.picture("../outside.png")
    (bench.files / "link.png").symlink_to(bench.files.parent / "outside.png")
    (bench.files / "loop.png").symlink_to("loop.png")
    bench.importer.import_folder(bench.items({"answers": {"m1": "here before"}}), "mine")
    before = contents(bench.database)
    good = {"instruction": "A new one", "answers": {"m9": "text"}}
    with pytest.raises(RowsError, match=f"(?s)^items.jsonl, row 3.*{problem}") as caught:
        bench.importer.import_folder(bench.items({}, good, {"instruction": "Wrong"} | row), "mine")
    assert "\n" not in str(caught.value)
    assert contents(bench.database) == before


@on_sqlite
def test_every_wrong_row_is_named_at_once(bench):
    (bench.files / "page.png").write_bytes(b"<html>")
    bench.picture("long.png", size=(20, 30_000))
    wrong = [{"images": [name]} for name in ("page.png", "red.png", "long.png", "nowhere.png")]
    with pytest.raises(RowsError) as caught:
        bench.importer.import_folder(bench.items(*wrong), "mine")
    assert re.fullmatch(
        r"items.jsonl, row 1, column 'images': names the image 'page.png': This file is a web page.*; "
        r"row 3, column 'images': names the image 'long.png': .*20 x 30000 pixels. is too long .*; "
        r"row 4, column 'images': names the image 'nowhere.png': No such file or directory",
        str(caught.value),
    )
    with pytest.raises(RowsError) as caught:
        bench.importer.import_folder(bench.items(*wrong[:1] * 99), "mine")
    told = str(caught.value)
    assert told.count("'page.png'") == 10 and told.endswith("weren't checked")


def test_another_answer_than_the_items_brought_is_given_as_it_was_or_left_out(bench):
    bench.importer.import_folder(bench.items({"answers": {"m1": "one"}}), "mine")
    refused = r"\('What\?'\).*can't be withdrawn\. Put the earlier answer into the file, or leave the item out\.$"
    with pytest.raises(IngestError, match=refused):
        bench.importer.import_folder(
            bench.items({"answers": {"m1": "two"}}, {"instruction": "New"}), "mine"
        )
    new = {"instruction": "New"}
    assert bench.importer.import_folder(bench.items(new), "mine").changes.items_new == 1
    assert (
        bench.importer.import_folder(
            bench.items({"answers": {"m1": "one"}}, new), "mine"
        ).changes.answers_known
        == 1
    )


def test_another_answer_than_a_predictions_file_brought_comes_in_once_that_is_withdrawn(bench):
    bench.importer.import_folder(bench.items({}), "mine")
    bench.importer.import_answers(
        bench.csv("old.csv", ["instruction", "image", "m1 prediction"], ["What?", "red.png", "one"])
    )
    folder = bench.items({"answers": {"m1": "two"}})
    with pytest.raises(
        IngestError, match=r"`items withdraw old.csv`\), or put the earlier answer into the file"
    ):
        bench.importer.import_folder(folder, "mine")
    bench.ingest.withdraw("old.csv")
    assert bench.importer.import_folder(folder, "mine").changes == Changes(
        items_known=1, answers_new=1
    )


def test_rows_that_give_an_item_two_answers_of_one_model_are_told_so(bench):
    with pytest.raises(
        IngestError, match=r"rows have two different answers from 'm1' to the item .*Keep one"
    ):
        bench.importer.import_folder(
            bench.items({"answers": {"m1": "one"}}, {"answers": {"m1": "two"}}), "mine"
        )


@on_sqlite
def test_the_command_tells_how_many_items_were_corrected(bench, tmp_path):
    environ = {"DATA_DIR": str(tmp_path / "data")}
    two = [{"licence": "CC0"}, {"licence": "CC0", "instruction": "And this?"}]
    assert (
        "corrected" not in run("arena", "items", "folder", bench.items(*two), environ=environ).out
    )
    told = run(
        "arena",
        "items",
        "folder",
        bench.items(*(row | {"licence": "MIT"} for row in two)),
        environ=environ,
    ).out
    assert told.startswith("0 new items (2 known)") and told.endswith(", 2 items corrected.\n"), (
        told
    )


@on_sqlite
def test_the_command_tells_which_keys_are_not_read(bench, tmp_path):
    folder = bench.items(
        {"license": "CC0", "category": "Color"}, {"instruction": "And this?", "license": "CC0"}
    )
    told = run("arena", "items", "folder", folder, environ={"DATA_DIR": str(tmp_path / "data")}).out
    assert (
        "\nKeys that weren't read: 'license', 'category'. A line can have instruction, family, images, captions,"
        in told
    )
    assert bench.importer.import_demo().unread == (), "our own files have no others"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "can't be opened"),
        (b"", "file is empty"),
        (b'{"instruction": ', "row 1"),
        (b"[1]\n", "row 1"),
    ],
)
@on_sqlite
def test_a_folder_without_a_readable_list_is_named(bench, content, problem):
    if content is not None:
        (bench.files / "items.jsonl").write_bytes(content)
    with pytest.raises(RowsError, match=f"items.jsonl.*{problem}"):
        bench.importer.import_folder(bench.files, "mine")
    assert contents(bench.database)["item"] == []


# Datasets as the Hub's library reads them

ROW = {"instruction": "What?", "family": "Color"}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps({**ROW, **row}) + "\n" for row in rows)


BOTH = ("red.png", "blue.png")
DATASETS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "metadata.jsonl": ({"metadata.jsonl": lines({"file_name": "red.png"})}, BOTH[:1]),
    "metadata.csv": (
        {"metadata.csv": "file_name,instruction,family\nred.png,What?,Color\n"},
        BOTH[:1],
    ),
    "of a split": ({"train/metadata.jsonl": lines({"file_name": "red.png"})}, BOTH[:1]),
    "deep": ({"a/b/metadata.csv": "file_name,instruction\nred.png,What?\n"}, BOTH[:1]),
    "empty cells": (
        {
            "metadata.csv": "file_name,instruction,captions,answers,credits,images\nred.png,What?,,,,\n"
        },
        BOTH[:1],
    ),
    "nulls": (
        {"metadata.jsonl": lines({"file_name": "red.png", "captions": None, "images": None})},
        BOTH[:1],
    ),
    "file_names": ({"metadata.jsonl": lines({"file_names": list(BOTH)})}, BOTH),
    "file_name, a list": ({"metadata.jsonl": lines({"file_name": list(BOTH)})}, BOTH),
    "lists in cells": (
        {"metadata.csv": 'file_names,instruction\n"[""red.png"", ""blue.png""]",What?\n'},
        BOTH,
    ),
    "several columns": (
        {"metadata.csv": "left_file_name,right_file_name,instruction\nred.png,blue.png,What?\n"},
        BOTH,
    ),
    "items.jsonl, one image": ({"items.jsonl": lines({"image": "red.png"})}, BOTH[:1]),
    "items.jsonl, image a list": ({"items.jsonl": lines({"image": list(BOTH)})}, BOTH),
    "items.jsonl, file_name": ({"items.jsonl": lines({"file_name": "red.png"})}, BOTH[:1]),
    "items.jsonl comes first": (
        {
            "items.jsonl": lines({"images": ["red.png"]}),
            "metadata.csv": "file_name,instruction\nblue.png,Other?\n",
        },
        BOTH[:1],
    ),
}


@pytest.mark.parametrize(("files", "pictures"), DATASETS.values(), ids=DATASETS)
@on_sqlite
def test_a_folder_of_images_is_read_as_items(bench, files, pictures):
    bench.picture("red.png")
    for name, content in files.items():
        path = bench.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
        for picture, colour in zip(BOTH, ("red", "blue"), strict=True):
            bench.picture(path.parent.relative_to(bench.files) / picture, colour)
    assert bench.importer.import_folder(bench.files, "mine").changes.items_new == 1
    (item,) = bench.shown()
    keys = [hashlib.sha256((path.parent / name).read_bytes()).hexdigest() for name in pictures]
    assert (item.instruction, item.key) == ("What?", item_key("What?", keys))
    assert item.family == ("Color" if "Color" in "".join(files.values()) else "mine")


@on_sqlite
def test_what_a_table_tells_of_its_images_is_read(bench):
    bench.picture("blue.png", "blue")
    answers = json.dumps({"m1": "one", "m2": "two"})
    header = ["file_names", "instruction", "captions", "licence", "answers", "reference", "creator"]
    row = [json.dumps(BOTH), "Which?", '["a red one", "a blue one"]', "CC0", answers, "Red.", "Ann"]
    one = ['["red.png"]', "[What?", '["red"]', "[CC0]", "", "", ""]
    bench.csv("metadata.csv", [*header, "split"], [*row, "train"], [*one, "train"])
    report = bench.importer.import_folder(bench.files, "mine")
    assert report.changes == Changes(items_new=2, answers_new=3, pictures_new=3)
    assert report.unread == ("split",)
    first, second = bench.shown()
    assert [(image.caption, image.credit, image.licence) for image in first.images] == [
        ("a red one", "Ann", "CC0"),
        ("a blue one", "Ann", "CC0"),
    ]
    assert (second.instruction, second.images[0].licence) == ("[What?", "[CC0]")
    assert bench.answers()["Which?"] == {"m1": "one", "m2": "two", REFERENCE: "Red."}


@pytest.mark.parametrize("place", ["data/train-00000.parquet", "train.parquet", "v1/0.parquet"])
@pytest.mark.parametrize("kind", ["struct", "bytes", "list"])
@on_sqlite
def test_a_single_image_column_of_a_parquet_file_is_read(bench, place, kind):
    import pyarrow
    from pyarrow import parquet

    data = (bench.files / "red.png").read_bytes()
    struct = {"bytes": data, "path": "red.png"}
    cell = {"struct": struct, "bytes": data, "list": [struct]}[kind]
    path = bench.files / place
    path.parent.mkdir(exist_ok=True)
    row = {"image": cell, **ROW, "captions": None, "split": "train"}
    parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    report = bench.importer.import_folder(bench.files, "mine")
    assert (report.changes.items_new, report.unread) == (1, ("split",))
    (item,) = bench.shown()
    assert item.key == item_key("What?", [hashlib.sha256(data).hexdigest()])


COMPOSED = unicodedata.normalize("NFC", "Žluťoučký kůň/café 한국.png")
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
MIXED = f"{Path(DECOMPOSED).parent}/{Path(COMPOSED).name}"


@pytest.mark.parametrize(
    ("on_disk", "in_file"),
    [
        (COMPOSED, DECOMPOSED),
        (DECOMPOSED, COMPOSED),
        (COMPOSED, COMPOSED),
        (DECOMPOSED, DECOMPOSED),
        (MIXED, COMPOSED),
        (DECOMPOSED, MIXED),
    ],
)
@on_sqlite
def test_a_file_is_found_in_either_form_of_its_name(bench, on_disk, in_file):
    assert on_disk != in_file or COMPOSED != DECOMPOSED
    (bench.files / on_disk).parent.mkdir()
    bench.picture(on_disk)
    bench.importer.import_folder(bench.items({"images": [in_file]}), "mine")
    for number, name in enumerate((COMPOSED, DECOMPOSED)):
        answers = bench.csv(
            f"{number}.csv", ["instruction", "image", f"m{number} prediction"], ["What?", name, "x"]
        )
        assert bench.importer.import_answers(answers).changes.answers_new == 1
    assert bench.answers() == {"What?": {"m0": "x", "m1": "x"}}


def data_url(content: bytes, head: str = "data:image/png;base64") -> str:
    return f"{head},{base64.b64encode(content).decode()}"


@on_sqlite
def test_a_data_url_is_the_picture_that_it_holds(bench):
    data = (bench.files / "red.png").read_bytes()
    rows = ({"image": data_url(data)}, {"instruction": "And?", "images": [data_url(data)]})
    bench.importer.import_folder(bench.items(*({"images": None, **row} for row in rows)), "mine")
    assert {item.key for item in bench.shown()} == {
        item_key(text, [hashlib.sha256(data).hexdigest()]) for text in ("What?", "And?")
    }


LONG_DATA = bytes(range(256)) * 36
DATA_URLS = {
    "no picture": (data_url(LONG_DATA), "not a picture that we recognise"),
    "cut short": (data_url(b"\x89PNG\r\n\x1a\n" + LONG_DATA), "broken or cut short"),
    "no base64": (data_url(LONG_DATA)[:-3] + "***", "expected base64"),
    "as text": ("data:image/svg+xml," + "%3Csvg" * 2000, "expected base64"),
    "upper case": (data_url(LONG_DATA, "DATA:image/PNG;charset=utf-8;BASE64"), "not a picture"),
    "no comma": (data_url(LONG_DATA).replace(",", ""), "File name too long"),
    "in quotes, cut": ("'" + data_url(LONG_DATA).replace(",", ";"), "File name too long"),
}


@pytest.mark.parametrize(("url", "why"), DATA_URLS.values(), ids=DATA_URLS)
@pytest.mark.parametrize("reads", ["folder", "visit"])
@on_sqlite
def test_an_error_tells_a_data_url_by_its_length(bench, url, why, reads):
    with pytest.raises(RowsError) as caught:
        if reads == "folder":
            bench.importer.import_folder(bench.items({"images": None, "image": url}), "mine")
        else:
            bench.importer.import_visit_bench(
                bench.csv("v.csv", SINGLE, [url, "Color", "What?", "Red."]), "v"
            )
    told = str(caught.value)
    assert re.search(f" a data URL of {len(url):,} characters: .*{why}", told), told
    assert len(told) < 300 and url[-200:-100] not in told


@on_sqlite
def test_an_error_of_the_disk_tells_no_path_of_the_server(bench, monkeypatch):
    def full(_self: PictureStore, _picture: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/srv/pictures/.part-1")

    monkeypatch.setattr(PictureStore, "keep", full)
    with pytest.raises(RowsError, match=r"names the image 'red.png': No space left on device$"):
        bench.importer.import_folder(bench.items({"images": ["red.png"]}), "mine")


@on_sqlite
def test_a_long_name_is_cut_in_an_error(bench):
    with pytest.raises(RowsError) as caught:
        bench.importer.import_folder(bench.items({"images": ["x" * 9000]}), "mine")
    assert len(str(caught.value)) < 400


def test_the_demo_bank_comes_in_whole_and_once(database, tmp_path):
    bench = Bench(database, tmp_path)
    report = bench.importer.import_demo()
    assert report.changes.items_new >= 16
    items = bench.shown()
    assert len(items) == report.changes.items_new, "every picture is there"
    assert len({item.family for item in items}) >= 10
    assert sum(item.multi for item in items) >= 4
    assert all(2 <= len(item.images) <= 4 for item in items if item.multi)
    for answers in bench.answers().values():
        assert answers.get(REFERENCE)
        assert sum(name.startswith("demo-") for name in answers) >= 4
    again = bench.importer.import_demo().changes
    assert (again.items_new, again.answers_new, again.pictures_new) == (0, 0, 0)


# VisIT-Bench's own files


def captions_of(row: dict[str, str]) -> list[str]:
    """Return a row's captions: the file fills its lists up to ten with NaN."""
    captions = json.loads(row["images_dense_captions"])
    number = len(json.loads(row["images"]))
    assert all(caption != caption for caption in captions[number:])
    return captions[:number]


def test_the_real_multi_image_file(bench, data):
    file = data / "visit-bench" / "visit_bench_multi_images.csv"
    report = bench.importer.import_visit_bench(file, "VisIT-Bench")
    assert (report.changes.items_new, report.left_out, report.problems) == (63, 37, ())
    bank = ItemBank(bench.database).bank()
    assert (len(bank.items), bank.items_without_picture) == (0, 63), "its images wait"
    assert [(source.name, source.kind) for source in bank.sources] == [("VisIT-Bench", "visit")]
    items = bench.shown(VISIT_HOST)
    assert len(items) == 63
    assert all(item.multi for item in items)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [
            row for row in csv.DictReader(opened) if row["human_ratings_gpt4_correct"] == "True"
        ]
    for item, row in zip(items, rows, strict=True):
        assert item.instruction == row["instruction"]
        assert item.family == row["instruction_category"]
        assert [image.url for image in item.images] == json.loads(row["images"])
        assert [image.caption for image in item.images] == captions_of(row)
        assert item.key == item_key(row["instruction"], json.loads(row["images"]))
    bank = ItemBank(bench.database, [VISIT_HOST])
    names = [model.name for model in bank.models()]
    given = {name: [] for name in names}
    for item in items:
        for contestant in item.contestants:
            (answer,) = bank.shown_answers([contestant.answer])
            given[names[contestant.model - 1]].append(answer.text)
    assert given[REFERENCE] == [row["gpt4_prediction"] for row in rows]
    assert given[DATASET_ANSWER] == [
        row["reference_output"] for row in rows if row["reference_output"].strip()
    ]
    assert len(given[DATASET_ANSWER]) == 42
    assert bench.importer.import_visit_bench(file, "VisIT-Bench").changes == Changes(
        items_known=63, answers_known=105
    )


def test_the_real_single_image_file(bench, data):
    report = bench.importer.import_visit_bench(
        data / "visit-bench" / "visit_fully_annotated_example.csv", "VisIT-Bench"
    )
    assert (report.changes.items_new, report.changes.answers_new, report.left_out) == (10, 10, 0)
    items = bench.shown(VISIT_HOST)
    assert len(items) == 10
    assert not any(item.multi for item in items)
    assert all(item.images[0].caption for item in items)
    assert {tuple(answers) for answers in bench.answers(VISIT_HOST).values()} == {(REFERENCE,)}


SINGLE = ["image_url", "instruction_category", "instruction", "output_human_annotated"]
MULTI = [
    "images",
    "instruction_category",
    "instruction",
    "gpt4_prediction",
    "human_ratings_gpt4_correct",
]


@pytest.mark.parametrize("column", ["image", "image_url"])
@on_sqlite
def test_optional_columns_may_be_absent(bench, column):
    file = bench.csv(
        "v.csv", [column, *SINGLE[1:]], ["https://h.example.org/1.png", "Color", "What?", "Red."]
    )
    assert bench.importer.import_visit_bench(file, "v").changes == Changes(
        items_new=1, answers_new=1
    )
    assert bench.answers("h.example.org") == {"What?": {REFERENCE: "Red."}}


@pytest.mark.parametrize("rating", ["True", "true", " TRUE "])
@on_sqlite
def test_instances_rated_incorrect_are_left_out_and_counted(bench, rating):
    rows = [
        [f'["https://h.example.org/{n}.png"]', "Color", f"{n}?", "Red.", r]
        for n, r in enumerate([rating, "False"])
    ]
    report = bench.importer.import_visit_bench(bench.csv("v.csv", MULTI, *rows), "v")
    assert (report.changes.items_new, report.left_out) == (1, 1)
    assert list(bench.answers("h.example.org")) == ["0?"]


GOOD = {
    "images": '["https://h.org/0.png"]',
    "image_url": "https://h.org/0.png",
    "human_ratings_gpt4_correct": "True",
    "images_dense_captions": "",
}
CAPTIONED = [*MULTI, "images_dense_captions"]


@pytest.mark.parametrize(
    ("header", "wrong", "problem"),
    [
        *((SINGLE, {name: " "}, f"'{name}': is empty") for name in SINGLE),
        (
            MULTI,
            {"human_ratings_gpt4_correct": "maybe"},
            "'human_ratings_gpt4_correct': is 'maybe'",
        ),
        (MULTI, {"images": '["https://h.org/1.png"'}, "'images': The JSON ends in the middle"),
        (MULTI, {"images": "[]"}, "'images': must be a list"),
        (
            CAPTIONED,
            {"images_dense_captions": '["a", "b"]'},
            "'images_dense_captions': must be a list of 1",
        ),
        (
            CAPTIONED,
            {"images_dense_captions": "[]"},
            "'images_dense_captions': must be a list of 1",
        ),
        (
            CAPTIONED,
            {"images_dense_captions": "a caption"},
            "'images_dense_captions': This isn't JSON",
        ),
    ],
)
@on_sqlite
def test_a_wrong_instance_is_named_with_file_row_and_column(bench, header, wrong, problem):
    good = {name: GOOD.get(name, "text") for name in header}
    file = bench.csv("v.csv", header, list(good.values()), list((good | wrong).values()))
    with pytest.raises(RowsError, match=f"^v.csv, row 3, column {problem}"):
        bench.importer.import_visit_bench(file, "v")
    assert contents(bench.database)["item"] == []


@pytest.mark.parametrize("cut", SINGLE)
@on_sqlite
def test_a_missing_column_is_named(bench, cut):
    header = [name for name in SINGLE if name != cut]
    file = bench.csv(
        "v.csv",
        header,
        ["https://h.org/0.png" if name == "image_url" else "text" for name in header],
    )
    with pytest.raises(RowsError, match=f"v.csv.*{cut}"):
        bench.importer.import_visit_bench(file, "v")


@pytest.mark.parametrize(
    "url", ["http://images.example.org/1.png", "https://127.0.0.1/1.png", "https://[::1]/1.png"]
)
@on_sqlite
def test_what_may_not_be_fetched_is_reported_and_its_item_waits(bench, url):
    report = bench.importer.import_visit_bench(
        bench.csv("v.csv", SINGLE, [url, "Color", "What?", "Red."]), "v", fetch=True
    )
    (problem,) = report.problems
    assert url in problem
    assert report.changes == Changes(items_new=1, answers_new=1)
    assert ItemBank(bench.database).bank().items_without_picture == 1


@on_sqlite
@pytest.mark.parametrize(
    ("columns", "caption", "reference", "rights"),
    [
        (
            {"image": "red.png", "image_dense_caption": "a", "gpt4_prediction": "R"},
            "a",
            "R",
            ("", ""),
        ),
        (
            {
                "file_name": "red.png",
                "instruction_conditioned_caption": "b",
                "reference_output": "R",
            },
            "b",
            "R",
            ("Ann", "by 2.0"),
        ),
        (
            {"image_url": "", "file_name": "red.png", "visual": "c", "output_human_annotated": "R"},
            "c",
            "R",
            ("Ann", "by 2.0"),
        ),
        (
            {
                "images": '["red.png"]',
                "images_dense_captions": '["d", NaN]',
                "gpt4_prediction": "R",
            },
            "d",
            "R",
            ("", ""),
        ),
        (
            {
                "image": "red.png",
                "visual": "[A] dog",
                "gpt4_prediction": "",
                "output_human_annotated": "R",
            },
            "[A] dog",
            "R",
            ("", ""),
        ),
    ],
)
def test_every_name_that_the_authors_used_is_read(bench, columns, caption, reference, rights):
    told = "{'creator': 'Ann', 'License': 'by 2.0', 'title': None}" if rights[0] else "{}"
    row = {
        "instruction": "What?",
        "instruction_category": "Color",
        "public_images_metadata": told,
        **columns,
    }
    report = bench.importer.import_visit_bench(
        bench.csv("metadata.csv", list(row), list(row.values())), "v"
    )
    assert report.changes == Changes(items_new=1, answers_new=1, pictures_new=1)
    (item,) = bench.shown()
    assert [(one.caption, one.credit, one.licence) for one in item.images] == [(caption, *rights)]
    assert bench.answers()["What?"] == {REFERENCE: reference}


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            '[{"author": "A", "licence": "CC0"}, {"author": "B", "rights": "PD"}]',
            [("A", "CC0"), ("B", "PD")],
        ),
        (
            "{'u/1': {'creator': 'A', 'license': null}, 'u/2': {'creator': 'B'}}",
            [("A", ""), ("B", "")],
        ),
        ("{'creator': 'A', 'license': 'by'}", [("A", "by")] * 2),
        ("not an object", [("", "")] * 2),
        ("[" * 9_000, [("", "")] * 2),
        ("__import__('os')", [("", "")] * 2),
        ("{[1]: 2}", [("", "")] * 2),
        (r"{'creator': 'A\x00', 'license': '\ud800', 'rights': 'PD'}", [("", "PD")] * 2),
        ("{'creator': 7, 'author': 'A'}", [("A", "")] * 2),
        (r"{'creator': 'A\nB\xa0C', 'license': 'by'}", [("A B C", "by")] * 2),
        ('{"creator": "A", "shared": true, "edited": false}', [("A", "")] * 2),
    ],
)
def test_credit_and_licence_of_each_picture_are_read_as_written(told, found):
    assert _visit_rights({"public_images_metadata": told}, 2) == found


def test_a_picture_without_a_licence_in_a_list_has_none():
    row = {"credit": ["Ann", None], "licence": [None, "CC0"]}
    assert _row_rights(row, 2) == [Rights("Ann", ""), Rights("", "CC0")]


@on_sqlite
def test_answers_find_an_item_whose_file_has_a_percent_sign_in_its_name(bench):
    bench.picture("a%20b.png", "blue")
    bench.importer.import_folder(bench.items({"images": ["a%20b.png"]}), "mine")
    rows = ["What?", "a%20b.png", "x"], ["What?", "a b.png", "x"]
    file = bench.csv("p.csv", ["instruction", "image", "m1 prediction"], *rows)
    assert bench.importer.import_answers(file).left_out == 0


@on_sqlite
def test_answers_of_a_model_without_a_name_are_refused(bench):
    file = bench.csv("p.csv", ["instruction", "image", "  prediction"], ["What?", "red.png", "x"])
    with pytest.raises(RowsError, match='It needs one column "<model name> prediction"'):
        bench.importer.import_answers(file)
