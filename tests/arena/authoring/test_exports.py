"""Exports: into the bank, to the Hub and as VisIT-Bench's table, without what is sealed, unfinished or taken out."""

import csv
import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from arena.authoring.events import Credit, Reject
from arena.authoring.exports import ExportError, Exports, left_out_text
from arena.authoring.hub_dataset import PARQUET, CardError, CardWords
from arena.authoring.spec import KINDS
from arena.authoring.store import DraftStore, FinishedDraft
from arena.authoring.visit_csv import import_visit, read_visit
from arena.database import Database
from arena.formats.parquet import read_rows
from arena.io.images import PictureStore
from arena.io.strict_json import RowsError
from arena.items.importers import ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ANSWER, FAMILY, IMAGE, ITEM, MODEL, ItemBank
from arena.seats.campaigns import CampaignStore
from arena.types import REFERENCE
from tests.support.visitors import Visitor
from tests.support.writers import CAPTION, FREE, Project

WORDS = CardWords("en", "ada@example.org")
PEOPLE = ("ann", "bob", "cem", "dot")
OTHER = Credit(
    source="https://example.org/other",
    creator="Bo | b",
    licence="CC BY-SA",
    statement="cut | by hand",
)


def write(project: Project, pictures: int = 1, credit: Credit = FREE, text: str = "") -> int:
    """Have an item written and accepted by people of its own; return its draft."""
    draft = len(project.drafts) + 1
    seats = [project.seat(f"{name}{draft}") for name in PEOPLE]
    step = project.writing.next(seats[0])
    assert step
    offered = [
        project.offer(seats[0], step.claim.token, 10 * draft + n, (credit, OTHER)[n > 0])
        for n in range(pictures)
    ]
    text = text or f"How many balls lie near animal number {draft}?"
    made = project.writing.check_instruction(
        seats[0], step.claim.token, text, offered, "a word of the author's own"
    )
    project.writing.write(seats[0], step.claim.token, made)
    step = project.writing.next(seats[1])
    assert step
    project.writing.caption(
        seats[1], step.claim.token, [CAPTION.format(f"{draft}-{n}") for n in range(pictures)]
    )
    for seat in seats[2:]:
        project.do(seat)
    assert project.drafts[-1].state.step == "accepted"
    return project.drafts[-1].id


def exports(project: Project) -> Exports:
    return Exports(project.store, project.writing.pictures)


class OtherBank:
    """A bank of its own, into which a folder comes."""

    def __init__(self, database: Database, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.database, self.items = database, ItemBank(database)
        self._importer = ItemImporter(
            Ingest(database), self.items, PictureStore(folder / "pictures")
        )

    def bring(self, folder: Path, name: str = "pets"):
        return self._importer.import_folder(folder, name).changes

    def rows(self) -> list[tuple[Any, ...]]:
        """All that it knows of items, their images and answers."""
        item = select(ITEM.c.key, FAMILY.c.name, ITEM.c.instruction, ITEM.c.multi).join_from(
            ITEM, FAMILY
        )
        image = select(
            ITEM.c.key, *(one for one in IMAGE.c if one.name not in ("id", "item_id"))
        ).join_from(IMAGE, ITEM)
        answer = select(ITEM.c.key, MODEL.c.name, ANSWER.c.text).join_from(ANSWER, ITEM).join(MODEL)
        with self.database.read() as connection:
            return [
                sorted(map(tuple, connection.execute(query))) for query in (item, image, answer)
            ]


def test_what_people_wrote_is_voted_on(database, another, tmp_path):
    project = Project.on(database, tmp_path)
    write(project)
    write(project, 2, Credit(licence="own"))
    exported = exports(project).write(project.campaign, "bank", tmp_path / "out")
    assert (exported.items, left_out_text(exported)) == (2, "")
    bank = OtherBank(another(), tmp_path / "other")
    assert vars(bank.bring(tmp_path / "out")) == {
        "items_new": 2, "items_known": 0, "items_corrected": 0, "answers_new": 2, "answers_known": 0, "pictures_new": 3,
    }  # fmt: skip
    one, two = bank.items.bank().items.values()
    state = project.drafts[0].state
    assert (one.instruction, one.family, one.images[0].caption) == (
        state.instruction.text,
        "animals",
        CAPTION.format("1-0"),
    )
    assert [(image.credit, image.licence) for image in (*one.images, *two.images)] == [
        ("Ada, https://example.org/photo", "CC BY"),
        ("", "CC BY 4.0"),
        ("Bo | b, https://example.org/other, cut | by hand", "CC BY-SA"),
    ]
    assert {row[1:] for row in bank.rows()[2]} == {
        (REFERENCE, one.state.answer.text) for one in project.drafts
    }
    Ingest(bank.database).add_answers("m1", "m1.jsonl", {one.id: "No ball."})
    visitor = Visitor(bank.database, "eva")
    battle = visitor.serve()
    assert battle.item == one.id
    shown = bank.items.shown_answers([battle.answer_a, battle.answer_b])
    assert state.answer.text in [answer.text for answer in shown]
    visitor.vote(battle)
    assert bank.bring(tmp_path / "out").items_known == 2, "once"


def test_bank_and_hub_bring_the_same_keys_and_fields(database, another, tmp_path):
    project = Project.on(database, tmp_path)
    write(project)
    write(project, 3)
    exports(project).write(project.campaign, "bank", tmp_path / "bank")
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    one, other = OtherBank(another(), tmp_path / "one"), OtherBank(another(), tmp_path / "other")
    one.bring(tmp_path / "bank")
    other.bring(tmp_path / "hub")
    mine, theirs = one.rows(), other.rows()
    assert [[len(part) for part in rows] for rows in (mine, theirs)] == [[2, 4, 2], [2, 4, 2]]
    assert mine == theirs
    ids = {record.values["id"] for record in read_rows(tmp_path / "hub" / PARQUET)}
    assert ids == {row[0] for row in mine[0]}
    again = other.bring(tmp_path / "bank")
    assert (again.items_new, again.items_known, again.answers_known) == (0, 2, 2)


def test_the_hubs_library_shows_the_pictures(database, tmp_path):
    datasets = pytest.importorskip("datasets")
    project = Project.on(database, tmp_path)
    first, _ = write(project), write(project, 2)
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    loaded = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"] and loaded["test"].num_rows == 2
    one, two = loaded["test"]
    assert list(one) == [
        *(
            "id",
            "family",
            "instruction",
            "images",
            "captions",
            "reference",
            "credits",
            "verified_by",
            "created",
        )
    ]
    draft = project.store.find(project.campaign, first)
    assert [image.size for image in one["images"]] == [(90, 80)] and len(two["images"]) == 2
    kept = project.writing.pictures.path(draft.state.instruction.pictures[0].name)
    with datasets.Image().decode_example({"path": str(kept), "bytes": None}) as image:
        assert one["images"][0].tobytes() == image.tobytes()
    assert one["credits"] == [
        {
            "creator": "Ada",
            "source": "https://example.org/photo",
            "licence": "CC BY",
            "statement": "",
        }
    ]
    assert (one["reference"], one["captions"], one["verified_by"]) == (
        *(draft.state.answer.text, [CAPTION.format("1-0")], 1),
    )
    assert (
        one["created"] == draft.created_at.isoformat()
        and len(two["captions"]) == len(two["credits"]) == 2
    )
    assert not (tmp_path / "hub" / "imagefolder").exists(), "an item has two"


@pytest.mark.soak
def test_items_of_one_image_are_a_folder_of_images_too(database, tmp_path):
    datasets = pytest.importorskip("datasets")
    project = Project.on(database, tmp_path)
    write(project), write(project)
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    folder = str(tmp_path / "hub" / "imagefolder")
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=folder, cache_dir=str(tmp_path / "cache")
    )
    rows = list(loaded["test"])
    assert [row["image"].size for row in rows] == [(90, 80)] * 2
    assert {row["caption"] for row in rows} == {CAPTION.format(f"{n}-0") for n in (1, 2)}
    assert {(row["creator"], row["licence"], row["verified_by"]) for row in rows} == {
        ("Ada", "CC BY", 1)
    }


def test_a_folder_of_images_comes_back_as_the_same_items(database, another, tmp_path):
    project = Project.on(database, tmp_path)
    write(project), write(project)
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    one, other = OtherBank(another(), tmp_path / "one"), OtherBank(another(), tmp_path / "other")
    one.bring(tmp_path / "hub")
    assert other.bring(tmp_path / "hub" / "imagefolder").items_new == 2
    (items, images, answers), (mine, mine_images, mine_answers) = other.rows(), one.rows()
    assert (items, answers) == (mine, mine_answers)
    name = [column.name for column in IMAGE.c if column.name not in ("id", "item_id")].index("name")
    without_names = [
        [row[: name + 1] + row[name + 2 :] for row in rows] for rows in (images, mine_images)
    ]
    assert without_names[0] == without_names[1], "captions, credits and licences too"


def test_the_card_says_how_it_came_about(database, tmp_path):
    from huggingface_hub import DatasetCard

    families = [{"name": "dogs | cats", "wanted": 9}]
    project = Project.on(database, tmp_path, verifiers=3, licence="CC BY-SA 4.0", families=families)
    for person in ("ann", "bob", "cem", "dot", "eva", "fay"):
        project.do(project.seat(person))
    assert project.drafts[0].state.step == "accepted"
    exports(project).write(
        project.campaign, "hub", tmp_path / "hub", words=CardWords("no", "https://example.org/us")
    )
    card = DatasetCard.load(tmp_path / "hub" / "README.md")
    assert card.data.to_dict() == {
        "license": "cc-by-sa-4.0",
        "language": ["no"],
        "size_categories": ["n<1K"],
        "task_categories": ["visual-question-answering"],
        "pretty_name": "pets",
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": "test", "path": "data/test-*.parquet"}],
            }
        ],
    }
    for told in (
        "1 item with 1 image. Each item has",
        "| dogs \\| cats | 1 |",
        "3 other people said",
        "| verdict | 3 |",
        "| a person | 1 |",
        "Pay: 3 USD for up to 50 steps.",
        "Agreement of verifiers: 100.0% of pairs of verdicts.",
        "| correct | 100.0% (20.7% to 100.0%) of 1 |",
        "| CC BY | 1 |",
        "Withheld fields: none.",
        "https://example.org/us. Write here too",
        "imagefolder",
    ):
        assert told in card.text, told
    found = re.search(r"canary GUID (\S+)$", card.text)
    assert found and uuid.UUID(found[1])
    exports(project).write(project.campaign, "hub", tmp_path / "again", words=WORDS)
    assert found[1] in (tmp_path / "again" / "README.md").read_text(), "the same in each export"


@pytest.mark.parametrize("form", ["bank", "hub"])
def test_sealed_texts_leave_when_they_are_asked_for_alone(database, tmp_path, form):
    project = Project.on(database, tmp_path, visibility="sealed")
    write(project)
    state = project.drafts[0].state
    sealed = [
        text.encode() for text in (*state.captions, state.answer.text, "a word of the author's own")
    ]
    for with_texts, name in ((False, "without"), (True, "with")):
        exports(project).write(project.campaign, form, tmp_path / name, with_texts, WORDS)
        files = [path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()]
        assert any(state.instruction.text.encode() in data for data in files)
        there = [any(text in data for data in files) for text in sealed]
        assert there == [with_texts, with_texts, False], name
    if form == "hub":
        assert (
            "Withheld fields: captions and reference, to avoid"
            in (tmp_path / "without" / "README.md").read_text()
        )


def test_a_sealed_dataset_comes_into_the_bank_without_a_contestant(database, another, tmp_path):
    project = Project.on(database, tmp_path, visibility="sealed")
    write(project)
    bank = OtherBank(another(), tmp_path / "other")
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    assert bank.bring(tmp_path / "hub").answers_new == 0
    (item,) = bank.items.bank().items.values()
    assert (item.images[0].caption, item.contestants) == ("", ())


def test_what_is_taken_out_or_unfinished_stays_and_is_counted(database, tmp_path):
    project = Project.on(database, tmp_path)
    _, second = write(project), write(project)
    project.projects.reject(project.campaign, second, "picture", "its licence was withdrawn")
    project.do(project.seat("gil"))
    exported = exports(project).write(project.campaign, "bank", tmp_path / "out")
    assert (exported.items, left_out_text(exported)) == (1, "Left out: 1 rejected, 1 not finished.")
    assert len((tmp_path / "out" / "items.jsonl").read_text().splitlines()) == 1
    assert len(list((tmp_path / "out" / "images").iterdir())) == 1, "nor its picture"
    exported = exports(project).write(project.campaign, "visit", tmp_path / "visit")
    assert left_out_text(exported).startswith(
        "Left out: 1 removed, or with a fault that the table has no column for, 1 not"
    )
    project.projects.reject(project.campaign, 1, "caption", "its verifier erred")
    for form, why in (
        ("bank", "2 rejected"),
        ("visit", "2 removed, or with a fault that the table has no column for"),
    ):
        with pytest.raises(
            ExportError,
            match=rf"pets has no items to export yet\. Left out: {why}, 1 not finished\.",
        ):
            exports(project).write(project.campaign, form, tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        "out",
        "visit",
        "pictures",
    }


def test_the_public_table_leaves_as_it_came(database, data, tmp_path):
    table = data / "visit-bench" / "visit_bench_multi_images.csv"
    store = DraftStore(database)
    project, _ = import_visit(CampaignStore(database, KINDS), store, table, "visit")
    out = Exports(store, PictureStore(tmp_path / "pictures"))
    exported = out.write(project, "visit", tmp_path / "out")
    assert (exported.items, left_out_text(exported)) == (100, "")
    rows = []
    for path in (table, tmp_path / "out" / "visit.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows.append(list(csv.DictReader(file)))
    assert rows[0] == rows[1]
    for form in ("bank", "hub"):
        with pytest.raises(ExportError) as caught:
            out.write(project, form, tmp_path / form, words=WORDS)
        assert "Left out: 37 rejected, 63 with a picture that isn't stored here. Items 1, " in str(
            caught.value
        )
        assert "items visit FILE --fetch-images" in str(caught.value)


def test_written_items_are_a_table_that_comes_back(database, tmp_path):
    project = Project.on(database, tmp_path)
    write(project, 2)
    exports(project).write(project.campaign, "visit", tmp_path / "out")
    (read,) = read_visit(tmp_path / "out" / "pets.csv")
    state = project.drafts[0].state
    assert (read.values[0].text, read.values[1].texts) == (
        state.instruction.text,
        state.captions,
    )
    bank = OtherBank(database, tmp_path / "bank")
    assert (
        bank._importer.import_visit_bench(
            tmp_path / "out" / "pets.csv", "table"
        ).changes.pictures_new
        == 2
    )
    (item,) = bank.items.bank().items.values()
    assert [image.licence for image in item.images] == ["CC BY", "CC BY-SA"]
    assert item.images[0].credit == "Ada"


def test_a_picture_of_ones_own_is_under_the_projects_licence_in_a_table(database, tmp_path):
    project = Project.on(database, tmp_path, licence="CC BY-SA 4.0")
    write(project, 1, credit=Credit(licence="own"))
    exports(project).write(project.campaign, "visit", tmp_path / "out")
    (read,) = read_visit(tmp_path / "out" / "pets.csv")
    (rights,) = json.loads(read.values[0].columns["public_images_metadata"])
    assert rights["license"] == "CC BY-SA 4.0"


def test_an_error_names_project_item_and_field_and_leaves_no_folder(database, tmp_path):
    project = Project.on(database, tmp_path)
    first = write(project)
    out = exports(project)
    for words, told in (
        (CardWords("english", "ada@example.org"), "--language is"),
        (CardWords("en", ""), "--contact"),
    ):
        with pytest.raises(CardError, match=told):
            out.write(project.campaign, "hub", tmp_path / "out", words=words)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    with pytest.raises(ExportError, match="full isn't empty. Choose a new folder"):
        out.write(project.campaign, "bank", tmp_path / "full")
    kept = project.writing.pictures.path(project.drafts[0].state.instruction.pictures[0].name)
    data = kept.read_bytes()
    kept.unlink()
    for form in ("bank", "hub", "visit"):
        with pytest.raises(
            ExportError, match=f"pets, item {first}: the picture {kept.name} is missing"
        ):
            out.write(project.campaign, form, tmp_path / "out", words=WORDS)
        assert not (tmp_path / "out").exists()
    kept.write_bytes(data)
    twin = project.drafts[0]
    values = [event.value for event in twin.events]
    project.store.add_finished(project.campaign, [FinishedDraft("twin", "animals", values)])
    with pytest.raises(
        ExportError,
        match=rf"pets: items {first} and 2 have the same instruction .* reject pets 2 --fault instruction",
    ):
        out.write(project.campaign, "bank", tmp_path / "out")
    project.store.append(2, Reject(fault="instruction"))
    assert out.write(project.campaign, "bank", tmp_path / "out").items == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_sealed_project_is_no_table_until_it_is_asked_for(database, tmp_path):
    project = Project.on(database, tmp_path, visibility="sealed")
    write(project)
    with pytest.raises(
        ExportError, match="pets is sealed, and VisIT-Bench's table has captions and answers"
    ):
        exports(project).write(project.campaign, "visit", tmp_path / "out")
    assert (
        exports(project).write(project.campaign, "visit", tmp_path / "out", with_texts=True).items
        == 1
    )


@pytest.mark.parametrize(
    "change, told",
    [
        (
            {"images": [{"bytes": None, "path": "https://example.org/x.png"}]},
            "has images without their bytes",
        ),
        (
            {"images": [{"bytes": b"<html>", "path": "x.png"}]},
            "names the image 'x.png': This file is a web page",
        ),
        ({"credits": []}, "must be a list of 1 credits"),
        ({"captions": ["one", "two"]}, "has 2 captions for 1 images"),
        ({"instruction": "a\0b"}, "NUL"),
    ],
)
def test_a_dataset_that_cannot_be_read_is_told_with_its_row(database, tmp_path, change, told):
    import pyarrow
    from pyarrow import parquet

    project = Project.on(database, tmp_path)
    write(project)
    exports(project).write(project.campaign, "hub", tmp_path / "hub", words=WORDS)
    (path,) = (tmp_path / "hub" / "data").iterdir()
    table = parquet.read_table(path)
    parquet.write_table(
        pyarrow.Table.from_pylist([table.to_pylist()[0] | change], table.schema), path
    )
    bank = OtherBank(database, tmp_path / "other")
    with pytest.raises(RowsError, match=r"test-00000-of-00001\.parquet, row 1") as caught:
        bank.bring(tmp_path / "hub")
    assert told in str(caught.value) and not bank.items.known_items()


def test_rights_are_one_for_all_images_or_one_each(database, tmp_path):
    bank = OtherBank(database, tmp_path / "other")
    project = Project.on(database, tmp_path)
    write(project, 2)
    exports(project).write(project.campaign, "bank", tmp_path / "out")
    file = tmp_path / "out" / "items.jsonl"
    row = json.loads(file.read_text())
    file.write_text(json.dumps(row | {"credit": "All", "licence": ["CC0"]}))
    with pytest.raises(
        RowsError,
        match="row 1, column 'licence': has 1 texts for 2 images. Give one text, or one",
    ):
        bank.bring(tmp_path / "out")
    file.write_text(json.dumps(row | {"credit": "All", "licence": ["CC0", "PD"]}))
    bank.bring(tmp_path / "out")
    (item,) = bank.items.bank().items.values()
    assert [(image.credit, image.licence) for image in item.images] == [
        ("All", "CC0"),
        ("All", "PD"),
    ]
