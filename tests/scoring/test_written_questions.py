"""Multiple-choice questions that people wrote here: their table is scored as any benchmark's, sealed keys too."""

import csv
from pathlib import Path

import pytest

import app  # noqa: F401 every table is there
from arena.authoring.exports import Exports
from scoring.__main__ import main
from scoring.benchmarks.offline_answers import choice_sheet
from tests.support.writers import ANSWERS, Project

FAMILIES = [{"name": "counting", "group": "perception", "wanted": 3}, {"name": "ocr", "wanted": 1}]


def written(database, folder: Path, visibility: str) -> Project:
    """Four questions whose answers two people agree on."""
    project = Project.on(
        database, folder, kind="multiple choice", families=FAMILIES, visibility=visibility
    )
    for person in ("ann", "bob"):
        while project.do(project.seat(person)):
            pass
    return project


def predict(questions: Path, out: Path) -> None:
    """A model that is right about counting, and says "Two balls" to all else."""
    csv.field_size_limit(10**7)
    with questions.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "prediction"], delimiter="\t")
        writer.writeheader()
        for row in rows:
            meant = ANSWERS[0] if row["category"] == "counting" else ANSWERS[1]
            letter = next(letter for letter in "ABCD" if row[letter] == meant)
            writer.writerow(row | {"prediction": f"The answer is {letter}."})


@pytest.mark.parametrize("visibility", ["open", "sealed"])
def test_a_project_is_scored_as_a_benchmark(database, tmp_path, monkeypatch, capsys, visibility):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    project = written(database, tmp_path, visibility)
    exports = Exports(project.store, project.writing.pictures)
    exports.write(project.campaign, "tsv", tmp_path / "public")
    exports.write(project.campaign, "tsv", tmp_path / "kept", texts=True)
    public, kept = tmp_path / "public" / "pets.tsv", tmp_path / "kept" / "pets.tsv"
    predict(public, tmp_path / "model.tsv")
    told = ("--questions", kept) if visibility == "sealed" else ()
    words = ("score", tmp_path / "model.tsv", *told, "--no-judge", "--out", tmp_path / "report")
    assert main([*map(str, words)]) == 0
    out = capsys.readouterr().out
    assert "75.0" in out, out
    report = (tmp_path / "report").glob("*")
    assert list(report)


def test_a_model_of_the_catalogue_can_be_asked_the_questions(database, tmp_path):
    project = written(database, tmp_path, "sealed")
    exports = Exports(project.store, project.writing.pictures)
    exports.write(project.campaign, "tsv", tmp_path / "out")
    sheet = choice_sheet(tmp_path / "out" / "pets.tsv")
    assert [question.group for question in sheet.questions].count("perception") == 3
    (task, *_) = sheet.tasks(None, {})
    assert task
