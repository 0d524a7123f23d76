"""Multiple-choice questions that people wrote here: their table is scored as any benchmark's, sealed keys too."""

import csv
from pathlib import Path

import pytest

import app  # noqa: F401 every table is there
from arena.authoring.exports import Exports
from scoring.__main__ import main
from tests.support.offline_answers import asked, catalogue, serve
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
    exports.write(project.campaign, "tsv", tmp_path / "kept", with_texts=True)
    public, kept = tmp_path / "public" / "pets.tsv", tmp_path / "kept" / "pets.tsv"
    predict(public, tmp_path / "model.tsv")
    told = ("--questions", kept) if visibility == "sealed" else ()
    words = ("score", tmp_path / "model.tsv", *told, "--no-judge", "--out", tmp_path / "report")
    assert main([*map(str, words)]) == 0
    out = capsys.readouterr().out
    assert "75.0" in out, out
    report = (tmp_path / "report").glob("*")
    assert list(report)


def one_ball(body, _) -> str:
    """The letter of the right option, wherever it stands."""
    return next(line[0] for line in asked(body).splitlines() if line.endswith(ANSWERS[0]))


def test_a_models_answers_in_circular_passes_are_scored_by_the_kept_table(
    database, tmp_path, monkeypatch, capsys
):
    """What docs/host.md says, of a sealed project: the model is asked passes that neither table has."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("MODELS", str(tmp_path / "models.toml"))
    project = written(database, tmp_path, "sealed")
    exports = Exports(project.store, project.writing.pictures)
    exports.write(project.campaign, "tsv", tmp_path / "public")
    exports.write(project.campaign, "tsv", tmp_path / "kept", with_texts=True)
    public, kept = tmp_path / "public" / "pets.tsv", tmp_path / "kept" / "pets.tsv"
    answers = tmp_path / "model.tsv"
    with serve(one_ball) as server:
        catalogue(tmp_path, server)
        words = ("answer", "mmbench", "--model", "Model X", "--questions", public, "--out", answers)
        assert main([*map(str, words)]) == 0
    score = ("--questions", kept, "--no-judge", "--out", tmp_path / "report")
    assert main(["score", *map(str, (answers, *score))]) == 0
    out = capsys.readouterr().out
    assert "4 questions with rotated passes; 16 can be scored" in out
    assert "model scores 100.0 on Multiple choice test (CircularEval" in out

    lines = answers.read_text("utf-8").splitlines(keepends=True)
    answers.write_text("".join(lines[:-1]), "utf-8")
    assert main(["score", *map(str, (answers, *score))]) == 0
    assert "lacks pass 3" in capsys.readouterr().out
    answers.write_text("".join(lines).replace(ANSWERS[1], "Nine balls", 1), "utf-8")
    assert main(["score", *map(str, (answers, *score))]) == 2
    assert "has other options or another answer in the question file" in capsys.readouterr().err
