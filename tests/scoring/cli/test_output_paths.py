"""What commands write: never over a file that they read, and nowhere that only shows after the work."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import Command, run
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_page import mmbench_rows, write_csv

TRIALS = 7
"""Calls that find out what a judge takes."""


@pytest.fixture
def command(tmp_path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def grades(data, tmp_path, monkeypatch) -> Path:
    """A grade file as the authors' script names it, on the published questions."""
    monkeypatch.setenv("MM_VET_PATH", str(data / "mm-vet"))
    real = data / "mm-vet" / "llava-v1.5-7b_gpt-4-0613-grade-1runs.json"
    entries = json.loads(real.read_text("utf-8"))
    path = tmp_path / real.name.replace("gpt-4-0613", "test-judge")
    path.write_text(
        json.dumps({id: {**entry, "model": ["test-judge"]} for id, entry in entries.items()})
    )
    return path


def refused(command: Command, read: Path, *words: object) -> None:
    before, files = read.read_bytes(), sorted(command.folder.glob("*.*"))
    done = command.run(*words)
    assert done.code == 2 and f"This command reads {read}, so it can't overwrite it" in done.err, (
        done
    )
    assert read.read_bytes() == before and sorted(command.folder.glob("*.*")) == files, (
        "nothing is written"
    )


@pytest.mark.parametrize("given", ["labels", "outputs", "proposals"])
def test_doubted_questions_go_over_no_file_of_the_same_command(given, command, tmp_path):
    outputs = write_csv(
        tmp_path / "outputs.csv", [{**row, "prediction": "D"} for row in mmbench_rows()]
    )
    labels = write_csv(tmp_path / "labels.csv", [{"item": "1", "main": "reasoning"}])
    proposals = write_csv(
        tmp_path / "proposals.csv", [{"item": "1", "main": "reasoning", "proposed_by": "rules"}]
    )
    words = ("errors", "shares", labels, outputs, "--proposals", proposals)
    refused(command, tmp_path / f"{given}.csv", *words, "--doubted", tmp_path / f"{given}.csv")


def test_a_table_goes_over_neither_marks_nor_an_audit(command, tmp_path):
    marks = write_csv(tmp_path / "marks.csv", [{"item": "v1_0", "marker": "anna", "score": "0.5"}])
    audit = tmp_path / "a-audit.jsonl"
    audit.write_text("{}\n")
    for read in (marks, audit):
        refused(command, read, "calibrate", audit, "--marks", marks, "--out", read)
    other = tmp_path / "same.csv"
    other.hardlink_to(marks)
    done = command.run("calibrate", audit, "--marks", marks, "--out", other)
    assert done.code == 2 and "so it can't overwrite it" in done.err, (
        "under another name it is the same file"
    )


def test_a_grade_file_stays_as_it_is_where_it_lies_in_the_folder_of_results(
    command, grades, tmp_path
):
    refused(command, grades, "score", "--benchmark=mm-vet", grades, "--out", tmp_path)
    assert (
        command.run("score", "--benchmark=mm-vet", grades, "--out", tmp_path / "results").code == 0
    )


def test_grades_to_compare_with_stay_and_nothing_is_asked_before(command, grades, data, tmp_path):
    outputs = shutil.copy(data / "mm-vet" / "llava-v1.5-7b.json", tmp_path)
    with OpenAIServer() as judge:
        words = (
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
            "-o",
            "runs=1",
            "--yes",
            "--against",
            grades,
        )
        refused(command, grades, "score", "--benchmark=mm-vet", outputs, *words, "--out", tmp_path)
        assert judge.counts.calls <= TRIALS, "no answer was judged"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("measures.csv", ("agreement", "votes.csv", "--scores")),
        ("board.tsv", ("visit-board",)),
        ("distances.csv", ("task-map", ".", "--beside")),
    ],
)
def test_a_table_or_a_map_goes_over_no_file_that_was_given(command, tmp_path, name, words):
    read = write_csv(tmp_path / name, [{"item": "1"}])
    refused(command, read, *words, read, "--out", tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("score", "o.csv", "--no-judge", "--out", "o.csv"), "o.csv is a file. Name a folder"),
        (("agreement", "o.csv", "--out", "o.csv/results"), "o.csv is a file. Name a folder"),
        (("errors", "draw", "o.csv", "--out", "."), ". is a folder. Name a file in it"),
        (
            ("errors", "draw", "o.csv", "--out", "none/d.csv"),
            "The folder none doesn't exist. Make it, or choose another place",
        ),
        (
            ("calibrate", "o.csv", "--out", "none/d.csv"),
            "The folder none doesn't exist. Make it, or choose another place",
        ),
        (
            ("answer", "mm-vet", "--model", "m", "--out", "none/d.json"),
            "The folder none doesn't exist. Make it, or choose another",
        ),
    ],
)
def test_a_place_where_nothing_can_be_written_is_told_before_the_work(
    words, told, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_csv(Path("o.csv"), mmbench_rows())
    done = run("scoring", *words)
    assert done.code == 2 and "Invalid value for '--out'" in done.err, done
    assert told in " ".join(done.err.split()) and done.out == ""
