"""Files of readings and of extractors' choices, as other programs write them."""

from pathlib import Path

import pandas as pd
import pytest

from scoring.multiple_choice.downloads import audit_lines
from scoring.people.reading_files import align_files, read_extracted_files, read_readings
from scoring.people.readings import AnswerKey, PersonReading
from tests.support.open_answers import JUDGE, open_report


def audit(path: Path, prediction: str) -> Path:
    rows = open_report({}, answers=1).rows
    path.write_text("".join(audit_lines(rows)).replace(rows[0].prediction, prediction), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_round_is_a_number_too_where_another_row_has_none(tmp_path, kind):
    key = AnswerKey("5", "d" * 64)
    shared = {"item": 5, "answer_sha256": key.sha256, "option": "A"}
    frame = pd.DataFrame([{**shared, "reader": "ann", "round": 2}, {**shared, "reader": "bob"}])
    path = tmp_path / f"readings.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records")
    file = read_readings(path, {key: "AB"})
    assert file.problems == ()
    assert [(reading.reader, reading.round) for reading in file.readings] == [
        ("ann", 2),
        ("bob", 1),
    ]


def test_an_apostrophe_in_an_audit_is_the_answer_s_own(tmp_path):
    (file,) = read_extracted_files([audit(tmp_path / "m-audit.jsonl", "'-A'")])
    assert "'-A'" in file.answers.values()
    assert AnswerKey.from_answer("0", "'-A'") in file.options


def test_two_files_of_a_model_in_one_folder_stay_apart(tmp_path):
    paths = [
        audit(tmp_path / "m-audit.jsonl", "first"),
        audit(tmp_path / "partial_m-audit.jsonl", "second"),
    ]
    files = read_extracted_files(paths)
    assert len({file.extractor for file in files}) == 2
    keys = {key for file in files for key in file.options}
    readings = [PersonReading(key, "ann", "A") for key in keys]
    assert [alignment.answers for alignment in align_files(files, readings)] == [2, 2]


def test_an_audit_of_two_judges_names_both(tmp_path):
    """A stopped job may go on with another judge."""
    path = tmp_path / "m-audit.jsonl"
    lines = [*audit_lines(open_report({}, answers=4).rows)]
    lines[2:4] = [line.replace(JUDGE, "another-judge") for line in lines[2:4]]
    path.write_text("".join(lines), "utf-8")
    (file,) = read_extracted_files([path])
    assert file.extractor == f"{JUDGE} and another-judge"
