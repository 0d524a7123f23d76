"""Questions on one picture: how files tell which share one, and that their intervals count pictures."""

import base64
import json

import numpy as np
import pytest

from scoring.benchmarks.mmbench import MMBENCH
from scoring.multiple_choice.pictures import picture_cell, picture_digests
from scoring.registry import open_upload
from tests.support.choice_tables import COLUMNS, choice_tables, row, table_file

DIGEST = "sha256:1"


@pytest.mark.parametrize(
    ("cells", "shared"),
    [
        (["a.png", "b.png", "a.png"], "aba"),
        ([DIGEST, "0", "sha256:2"], "aab"),
        (["7", "0", "7"], "aba"),
        (["a.png", "", "a.png"], "..."),
        (["a.png", "", "b.png"], "a.b"),
        (["a.png", "a.png", "a.png"], "..."),
        ([DIGEST, DIGEST, "2"], "aab"),
    ],
    ids=["names", "reference", "numbers", "one alone", "unknown", "the same in all", "no loop"],
)
def test_pictures_are_told_by_digests_names_and_references(cells, shared):
    found = picture_digests(cells, ["0", "1", "2"])
    names = {picture: "abc"[at] for at, picture in enumerate(dict.fromkeys(filter(None, found)))}
    assert "".join(names.get(picture, ".") for picture in found) == shared


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ({"image": DIGEST, "image_id": "5"}, DIGEST),
        ({"image": "", "image_id": 5}, "5"),
        ({"image": "<image>", "image_name": " a.png "}, "a.png"),
        ({"image": "nan", "question": "a.png"}, ""),
        ({"image_id": 5.0}, "5"),
        ({"image_id": float("nan")}, ""),
        ({"image_id": ["a", "b"]}, ""),
        ({"imageid": "n1"}, "n1"),
    ],
)
def test_the_first_column_that_tells_counts(values, cell):
    assert picture_cell({name: name for name in values}, values) == cell


def encoded(number: int) -> str:
    return base64.b64encode(bytes([number]) * 90).decode()


def asked(pictures: int, each: int) -> list[dict]:
    """Questions on pictures; all of a picture are right or all wrong."""
    coin = np.random.default_rng(2)
    right = coin.random(pictures) < 0.6
    return [
        row(index, "B" if right[index // each] else "A", question=f"What is {index}?")
        for index in range(pictures * each)
    ]


def told(file, **options):
    report = open_upload(file, benchmark="mmbench", **options).report("strict")
    overall = choice_tables(report).splits[-1].tree.line
    return overall.high - overall.low, [problem.text for problem in report.problems]


@pytest.mark.parametrize("column", ["image", "image_path", "image_id", "references"])
def test_the_interval_of_a_file_counts_pictures(tmp_path, column):
    rows = asked(20, 8)
    plain, said = told(table_file(tmp_path / "plain.tsv", rows))
    assert not said
    cells = {
        "image": lambda index: encoded(index // 8),
        "image_path": lambda index: f"pictures/{index // 8}.jpg",
        "image_id": lambda index: str(index // 8),
        "references": lambda index: str(index - index % 8) if index % 8 else encoded(index // 8),
    }[column]
    name = "image" if column == "references" else column
    for one in rows:
        one[name] = cells(int(one["index"]))
    wide, said = told(table_file(tmp_path / "m.tsv", rows, [*COLUMNS, name]))
    assert wide > 2.3 * plain
    assert said == ["160 questions are about 20 pictures: intervals take those about one together"]


def test_the_question_file_tells_pictures_of_answers_without_any(tmp_path):
    rows = asked(20, 8)
    answers = [{"index": one["index"], "prediction": one["prediction"]} for one in rows]
    questions = [{**one, "image": encoded(int(one["index"]) // 8)} for one in rows]
    given = MMBENCH.own_questions(table_file(tmp_path / "q.tsv", questions, [*COLUMNS, "image"]))
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    wide, said = told(path, questions=given)
    assert wide > 2.3 * told(table_file(tmp_path / "plain.tsv", rows))[0]
    assert said[-1].startswith("160 questions are about 20 pictures")


def test_questions_that_may_share_a_picture_are_counted(tmp_path):
    rows = [row(index, "B", question=f"Is it {index // 3}?") for index in range(7)]
    _, said = told(table_file(tmp_path / "m.tsv", rows))
    (text,) = said
    assert text.startswith("6 of 7 questions have the text, options and answer of another")
    assert "intervals are too narrow. Add a column image_id." in text
    for number, one in enumerate(rows):
        one["image_id"] = f"{number}.png"
    assert told(table_file(tmp_path / "m.tsv", rows, [*COLUMNS, "image_id"]))[1] == []
