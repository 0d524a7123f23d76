"""Rows of a folder's tables as lines of `items.jsonl`."""

import csv

from arena.items.folder_rows import read_folder


def test_a_text_that_reads_like_data_stays_a_text(tmp_path):
    texts = {
        "instruction": "[1]",
        "family": "[2]",
        "reference": "[3, 4]",
        "caption": '["a cat"]',
    }
    with (tmp_path / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["file_names", *texts])
        writer.writeheader()
        writer.writerow({"file_names": '["red.png"]', **texts})
    (rows_file,) = read_folder(tmp_path)
    (record,) = rows_file.records
    assert record.values == {
        "file_names": ["red.png"],
        "instruction": "[1]",
        "family": "[2]",
        "reference": "[3, 4]",
        "captions": ['["a cat"]'],
    }
