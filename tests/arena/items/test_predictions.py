"""Importing predictions files: whose answers they are, which items they mean, and what is wrong with them."""

import csv
import json
from pathlib import Path

import pytest
from openpyxl import Workbook

from arena.io.tables import RowsError
from arena.items.ingest import Changes, ImageDraft, IngestError, ItemDraft
from arena.items.store import ItemBank
from tests.support.bank_contents import contents
from tests.support.import_bench import VISIT_HOST, Bench, on_sqlite

HOST = "images.example.org"
HEADER = ["instruction", "instruction_category", "image", "m1 prediction"]


def item(instruction: str, *urls: str) -> ItemDraft:
    images = tuple(ImageDraft(url, url.rpartition("/")[2], url=url) for url in urls)
    return ItemDraft(instruction, "Counting", images, {"m0": f"m0 on {instruction}"})


ITEMS = [
    item("How many?", f"https://{HOST}/a/1.png"),
    item("What color?", f"https://{HOST}/a/2.png"),
    item("Which differs?", f"https://{HOST}/a/3.png", f"https://{HOST}/a/4.png"),
    item("Twice?", f"https://{HOST}/a/5.png"),
    item("Twice?", f"https://{HOST}/b/5.png"),
]


@pytest.fixture
def bench(database, tmp_path) -> Bench:
    made = Bench(database, tmp_path)
    made.ingest.add_items("test", "visit", ITEMS)
    return made


def given(bench: Bench, model: str = "m1") -> dict[str, str]:
    """Return a model's answers in use by instruction."""
    return {name: texts[model] for name, texts in bench.answers(HOST).items() if model in texts}


def lines(bench: Bench, name: str, *rows: dict[str, object]) -> Path:
    path = bench.files / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


# Which item


@pytest.mark.parametrize(
    ("column", "images"),
    [
        ("image", f"https://{HOST}/a/1.png"),
        ("image_url", f"https://{HOST}/a/1.png"),
        ("images", f'["https://{HOST}/a/1.png"]'),
        ("image", "1.png"),
        ("image", "some/where/1.png"),
        ("images", '["1.png"]'),
    ],
)
@pytest.mark.parametrize("instruction", ["How many?", " How\n many? "])
@on_sqlite
def test_a_row_means_its_item_by_instruction_and_image(bench, column, images, instruction):
    file = bench.csv(
        "m1.csv", ["instruction", column, "m1 prediction"], [instruction, images, "Three."]
    )
    report = bench.importer.import_answers(file)
    assert (report.changes, report.left_out) == (Changes(answers_new=1), 0)
    assert given(bench) == {"How many?": "Three."}


@pytest.mark.parametrize(
    "images", [[f"https://{HOST}/a/3.png", f"https://{HOST}/a/4.png"], ["3.png", "4.png"]]
)
@on_sqlite
def test_several_images_are_a_list_in_their_order(bench, images):
    header = ["instruction", "images", "m1 prediction"]
    assert bench.importer.import_answers(
        bench.csv("m1.csv", header, ["Which differs?", json.dumps(images), "The left."])
    ).changes == Changes(answers_new=1)
    with pytest.raises(RowsError, match="no row is about"):
        bench.importer.import_answers(
            bench.csv("m2.csv", header, ["Which differs?", json.dumps(images[::-1]), "The left."])
        )


def test_item_keys_name_items_in_jsonl(bench):
    rows = [{"item": draft.key, "prediction": f"m1 on {draft.instruction}"} for draft in ITEMS[:3]]
    report = bench.importer.import_answers(
        lines(bench, "m1.jsonl", *rows, {"item": "0" * 16, "prediction": "?"}), "m1"
    )
    assert (report.changes, report.left_out) == (Changes(answers_new=3), 1)
    assert given(bench) == {draft.instruction: f"m1 on {draft.instruction}" for draft in ITEMS[:3]}


def test_a_file_name_that_two_items_share_means_neither(bench):
    rows = [["Twice?", "", "5.png", "unclear"], ["How many?", "", "1.png", "clear"]]
    report = bench.importer.import_answers(bench.csv("m1.csv", HEADER, *rows))
    assert (report.changes.answers_new, report.left_out) == (1, 1)
    file = bench.csv("m2.csv", HEADER, ["Twice?", "", f"https://{HOST}/b/5.png", "by address"])
    assert bench.importer.import_answers(file).changes.answers_new == 1


def test_items_that_wait_for_images_take_answers(bench):
    bench.importer.import_answers(bench.csv("m1.csv", HEADER, ["How many?", "", "1.png", "Three."]))
    assert ItemBank(bench.database).bank().items == {}
    assert given(bench) == {"How many?": "Three."}


def test_rows_of_other_items_are_counted_and_if_all_are_named(bench):
    rows = [
        ["How many?", "", "1.png", "Three."],
        ["How many?", "", "9.png", "x"],
        ["Else?", "", "1.png", "x"],
    ]
    assert bench.importer.import_answers(bench.csv("m1.csv", HEADER, *rows)).left_out == 2
    before = contents(bench.database)
    with pytest.raises(
        RowsError, match="m2.csv: no row is about an imported item. Import the items first"
    ):
        bench.importer.import_answers(bench.csv("m2.csv", HEADER, *rows[1:]))
    assert contents(bench.database) == before


def test_a_real_submission_file(bench, data, tmp_path):
    source = data / "visit-bench" / "visit_bench_multi_images.csv"
    bench.importer.import_visit_bench(source, "VisIT-Bench")
    with source.open(encoding="utf-8", newline="") as opened:
        rows = [
            [row["instruction"], row["instruction_category"], row["images"], f"answer {number}"]
            for number, row in enumerate(csv.DictReader(opened))
        ]
    file = bench.csv(
        "predictions.csv",
        ["instruction", "instruction_category", "images", "Otter v1 prediction"],
        *rows,
    )
    report = bench.importer.import_answers(file)
    assert (report.changes.answers_new, report.left_out) == (63, 37)
    otter = [model.name for model in ItemBank(bench.database).models()].index("Otter v1") + 1
    assert all(
        otter in {one.model for one in shown.contestants} for shown in bench.shown(VISIT_HOST)
    )


@pytest.mark.parametrize(
    "address", ["https://mirror.example.net/1.png", "https://[x/1.png", "https:///1.png"]
)
@on_sqlite
def test_another_or_broken_address_counts_by_its_file_name(bench, address):
    report = bench.importer.import_answers(
        bench.csv("m1.csv", HEADER, ["How many?", "", address, "Three."])
    )
    assert (report.changes.answers_new, report.left_out) == (1, 0)


# Whose answers


def test_the_column_names_the_model(bench):
    file = bench.csv(
        "p.csv", [*HEADER[:3], "LLaVA (13B) prediction"], ["How many?", "", "1.png", "Three."]
    )
    bench.importer.import_answers(file)
    assert given(bench, "LLaVA (13B)") == {"How many?": "Three."}
    (contribution,) = ItemBank(bench.database).contributions()
    assert (contribution.file, contribution.model, contribution.answers) == (
        "p.csv",
        "LLaVA (13B)",
        1,
    )


TWO = ["instruction", "image", "m1 prediction", "m2 prediction"]


def test_of_two_prediction_columns_the_caller_chooses(bench):
    file = bench.csv("p.csv", TWO, ["How many?", "1.png", "one", "two"])
    with pytest.raises(
        RowsError,
        match="p.csv, row 1: the columns are .*m1 prediction, m2 prediction. It needs one column",
    ):
        bench.importer.import_answers(file)
    with pytest.raises(RowsError, match="It needs one column"):
        bench.importer.import_answers(file, "m3")
    bench.importer.import_answers(file, "m2")
    bench.importer.import_answers(file, "m1")
    assert (given(bench), given(bench, "m2")) == ({"How many?": "one"}, {"How many?": "two"})


@pytest.mark.parametrize(
    ("column", "model", "named"),
    [
        ("answer", None, "answer"),
        ("answer", "m1", "answer"),
        ("prediction", None, "--model"),
        (" prediction", None, "prediction"),
        ("m1 Prediction", None, "m1 Prediction"),
        ("prediction", "", "model"),
        ("prediction", "  ", "model"),
    ],
)
@on_sqlite
def test_a_file_without_a_model_is_refused(bench, column, model, named):
    before = contents(bench.database)
    file = bench.csv("p.csv", ["instruction", "image", column], ["How many?", "1.png", "Three."])
    with pytest.raises(RowsError, match=f"p.csv, row 1.*{named}"):
        bench.importer.import_answers(file, model)
    assert contents(bench.database) == before


# How often


def test_the_same_answer_twice_is_one_and_another_is_refused(bench):
    rows = [
        ["What color?", "", "2.png", "Red."],
        ["How many?", "", "1.png", "3"],
        ["How many?", "", "1.png", "3"],
    ]
    before = contents(bench.database)
    with pytest.raises(
        RowsError, match="m1.csv, row 5, column 'm1 prediction': is a second, different answer"
    ):
        bench.importer.import_answers(
            bench.csv("m1.csv", HEADER, *rows, ["How many?", "", f"https://{HOST}/a/1.png", "4"])
        )
    assert contents(bench.database) == before
    assert bench.importer.import_answers(bench.csv("m1.csv", HEADER, *rows)).changes == Changes(
        answers_new=2
    )


def test_another_answer_than_the_items_brought_wants_another_model(bench):
    file = bench.csv("other.csv", HEADER, ["How many?", "", "1.png", "Other."])
    with pytest.raises(IngestError, match=r"can't be withdrawn. Choose another --model\.$"):
        bench.importer.import_answers(file, "m0")
    assert bench.importer.import_answers(file, "unheard").changes == Changes(answers_new=1)


# What is written


@pytest.mark.parametrize(
    "text",
    ["", "  ", "=1+1", "NA", "nan", "001", 'He said "x, y"\nand left', "<script>1</script>", "ä🙂"],
)
def test_an_answer_arrives_as_it_is_written(bench, text):
    bench.importer.import_answers(bench.csv("m1.csv", HEADER, ["How many?", "", "1.png", text]))
    assert given(bench) == {"How many?": text}


@pytest.mark.parametrize("suffix", ["tsv", "json", "xlsx"])
@on_sqlite
def test_other_layouts_of_the_same_rows(bench, suffix):
    path, row = bench.files / f"m1.{suffix}", ["How many?", "", "1.png", "Three."]
    if suffix == "tsv":
        path.write_text("\t".join(HEADER) + "\n" + "\t".join(row) + "\n")
    elif suffix == "json":
        path.write_text(json.dumps([dict(zip(HEADER, row, strict=True))]))
    else:
        store = Workbook()
        for cells in (HEADER, row):
            store.active.append(cells)
        store.save(path)
    assert bench.importer.import_answers(path).changes == Changes(answers_new=1)
    assert given(bench) == {"How many?": "Three."}


ROW = b"How many?,c,1.png,Three.\n"
TOP = b"instruction,instruction_category,image,m1 prediction\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (TOP, "has no rows"),
        (TOP + ROW + b'What color?,c,2.png,"torn\n', "row 3.*quote"),
        (TOP + ROW + b"What color?,c,," + b"x\n", "row 3, column 'image'"),
        (TOP + ROW + b",c,2.png,x\n", "row 3, column 'instruction'"),
        (b"instruction,m1 prediction\nHow many?,Three.\n", "row 2, column 'image'"),
        (b"image,m1 prediction\n1.png,Three.\n", "row 2, column 'instruction'"),
        (TOP + ROW + b'What color?,c,"[""2.png""",x\n', "row 3, column 'image'"),
    ],
)  # fmt: skip
@on_sqlite
def test_a_file_that_cannot_be_read_is_named_and_nothing_comes_in(bench, content, problem):
    before = contents(bench.database)
    (bench.files / "m1.csv").write_bytes(content)
    with pytest.raises(RowsError, match=f"^m1.csv.*{problem}"):
        bench.importer.import_answers(bench.files / "m1.csv")
    assert contents(bench.database) == before


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"item": ITEMS[1].key}, "'prediction': is missing"),
        ({"item": ITEMS[1].key, "prediction": 7}, "'prediction': is int, not text"),
        ({"item": 12, "prediction": "x"}, "'item': is int, not text"),
        ({"item": "", "prediction": "x"}, "'item': is empty"),
        ({"instruction": "How many?", "prediction": "x"}, "'image'"),
        (
            {"instruction": "How many?", "images": [], "prediction": "x"},
            "'images': must be a list",
        ),
        (
            {"instruction": "How many?", "images": [1], "prediction": "x"},
            "'images': must be a list",
        ),
    ],
)
@on_sqlite
def test_a_wrong_line_of_jsonl_is_named_and_nothing_comes_in(bench, row, problem):
    before = contents(bench.database)
    file = lines(bench, "m1.jsonl", {"item": ITEMS[0].key, "prediction": "good"}, row)
    with pytest.raises(RowsError, match=f"^m1.jsonl, row 2, column {problem}"):
        bench.importer.import_answers(file, "m1")
    assert contents(bench.database) == before


@on_sqlite
def test_a_file_that_is_not_there_is_named(bench):
    with pytest.raises(RowsError, match="nowhere.csv: The file can't be opened"):
        bench.importer.import_answers(bench.files / "nowhere.csv")


def test_blanks_around_a_models_name_make_no_second_model(bench):
    rows = [{"item": draft.key, "prediction": f"m1 on {draft.instruction}"} for draft in ITEMS[:3]]
    bench.importer.import_answers(lines(bench, "m1.jsonl", *rows), " m1 ")
    assert len(given(bench, "m1")) == 3
