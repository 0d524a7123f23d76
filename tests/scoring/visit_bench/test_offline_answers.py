"""VisIT-Bench's instructions for a model: cells of any file type, and the image column of each row."""

import json

import pytest

from arena.io.strict_json import RowsError
from scoring.visit_bench.offline_answers import offline_visit_bench


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("empty", [None, " ", "[]", "[ ]", [], {}, False, 0])
def test_each_rows_first_image_column_that_is_not_empty_counts(tmp_path, empty):
    rows = [
        {
            "instruction": "One?",
            "images": ["a.png", "b.png"],
            "image": "",
            "instruction_category": None,
        },
        {"instruction": "Two?", "images": empty, "image": "c.png", "instruction_category": "cats"},
    ]
    benchmark = offline_visit_bench(written(tmp_path / "visit.jsonl", rows))
    keys = [task.key for task in benchmark.rounds[0]({})]
    lines = benchmark.write(dict.fromkeys(keys, "yes"), "X").decode().splitlines()
    assert lines == [
        "instruction,instruction_category,images,X prediction",
        'One?,,"[""a.png"", ""b.png""]",yes',
        "Two?,cats,c.png,yes",
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"instruction": None, "images": "a.png"}, "The cell is empty. Write an instruction"),
        ({"instruction": "One?", "images": None}, "The cell names no image"),
    ],
)
def test_a_null_is_an_empty_cell(tmp_path, row, problem):
    with pytest.raises(RowsError, match=problem):
        offline_visit_bench(written(tmp_path / "visit.jsonl", [row]))
