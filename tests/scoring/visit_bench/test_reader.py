"""Submission files: how the cells of an answer's item and images are read."""

import json

import pytest

from scoring.visit_bench.reader import ItemIndex, read_submission


def entry(path, **cells):
    """The only entry of a file."""
    path.write_text(json.dumps({"instruction": "What?", "m prediction": "A cat.", **cells}) + "\n")
    file = read_submission(path)
    assert file.problems == ()
    (only,) = file.entries
    return only


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("cat.jpg ", ("cat.jpg",)),
        (' ["cat.jpg", " dog.jpg"] ', ("cat.jpg", "dog.jpg")),
        (["cat.jpg ", "dog.jpg"], ("cat.jpg", "dog.jpg")),
        ("[1].jpg", ("[1].jpg",)),
        ("[1] cat.jpg", ("[1] cat.jpg",)),
    ],
)
def test_names_of_images_have_no_blanks_around_them_and_may_begin_with_a_bracket(
    tmp_path, cell, names
):
    assert entry(tmp_path / "m.jsonl", images=cell).images == names


@pytest.mark.parametrize("cell", ["[1]", '["a.png"', "[]x]", '["a.png", " "]', '["a.png", 5]'])
def test_a_list_that_names_no_images_is_a_problem(tmp_path, cell):
    path = tmp_path / "m.jsonl"
    row = {"instruction": "What?", "images": cell, "m prediction": "A cat."}
    path.write_text(json.dumps(row) + "\n")
    assert (len(read_submission(path).problems) == 1) == cell.endswith("]")


@pytest.mark.parametrize(("cell", "item"), [(5, "5"), ("5", "5"), (" k ", "k"), (None, None)])
def test_an_items_key_may_be_a_number(tmp_path, cell, item):
    assert entry(tmp_path / "m.jsonl", item=cell).item == item


@pytest.mark.parametrize("name", ["cat.jpg", " cat.jpg ", "https://a.example/cat.jpg "])
def test_an_item_whose_image_has_blanks_around_its_name_is_known(tmp_path, name):
    index = ItemIndex({"k": ("What?", ("cat.jpg ",))})
    texts: dict[str, str] = {}
    assert index.add_answer(entry(tmp_path / "m.jsonl", images=name), texts) is None
    assert texts == {"k": "A cat."}
