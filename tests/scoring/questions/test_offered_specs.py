"""Specs in the folder of question files are benchmarks of everybody, as an operator wants it."""

import logging
from pathlib import Path

import pytest

from scoring.questions import library
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file
from scoring.registry import BENCHMARKS, OWN_BENCHMARK, benchmark_named
from tests.support.choice_tables import ChoiceCommand, table_file
from tests.support.question_files import answers, short_answers

ANIMALS = """
name: Animals
about: Which animal a picture shows.
rule: text
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "_OFFERED", set())
    before = {**BENCHMARKS}
    folder = tmp_path / "questions"
    folder.mkdir()
    yield folder
    for key in BENCHMARKS.keys() - before.keys():
        del BENCHMARKS[key]


def test_a_spec_beside_its_questions_scores_answers_alone(folder, tmp_path):
    (folder / "animals.yaml").write_text(ANIMALS)
    short_answers(folder, "animals.tsv", 3)
    (known,) = QuestionLibrary(folder).files()
    assert known.benchmark == "animals"
    command = ChoiceCommand(tmp_path)
    listed = command.run("benchmarks", QUESTIONS_PATH=str(folder))
    assert "animals" in listed.out and "Animals" in listed.out
    said = answers(tmp_path, {"0": "seven", "1": "six", "2": "seven"}, "vlm_animals.json")
    done = command("score", said, QUESTIONS_PATH=str(folder))
    assert done.code == 0, done.err
    assert "questions: animals.tsv" in done.out and "66.7" in done.out


CLINIC = """
name: Clinic
about: Whether an answer declines.
columns: {id: case, question: request, truth: expected, answer: reply}
rule: text
"""
SAID = {"c1": "no", "c2": "yes", "c3": "no"}


def clinic_answers(folder, form: str) -> Path:
    """A model's answers: a table, a record by case, or plain texts by case."""
    if form == "table":
        rows = [{"case": case, "reply": text} for case, text in SAID.items()]
        return table_file(folder / "model.csv", rows, ["case", "reply"])
    records = {case: {"reply": text} for case, text in SAID.items()}
    return answers(folder, records if form == "records" else SAID)


@pytest.mark.parametrize("asked", ["table", "records"])
@pytest.mark.parametrize("form", ["table", "records", "texts"])
def test_the_columns_of_a_spec_tell_which_questions_are_answered(folder, tmp_path, form, asked):
    (folder / "clinic.yaml").write_text(CLINIC)
    rows = [{"case": case, "request": f"May I, {case}?", "expected": "no"} for case in SAID]
    if asked == "table":
        table_file(folder / "clinic.csv", rows, ["case", "request", "expected"])
    else:
        by_case = {row["case"]: {"request": row["request"], "expected": "no"} for row in rows}
        answers(folder, by_case, "clinic.json")
    short_answers(folder, "OCRBench.tsv", 3)
    opened = open_joined_file(QuestionLibrary(folder), clinic_answers(tmp_path, form)).file
    assert opened is not None and opened.benchmark.key == "clinic"
    assert opened.lines[0] == "Clinic: 3 answers; 3 can be scored"
    (figure,) = opened.benchmark.scores(opened.report("strict"))
    assert round(figure.mean, 1) == 66.7


def test_what_cannot_be_offered_is_told_and_takes_no_other_ones_place(folder, caplog):
    ours = BENCHMARKS["pope"]
    (folder / "pope.yaml").write_text(ANIMALS)
    (folder / "own.yaml").write_text(ANIMALS)
    (folder / "A B.yaml").write_text(ANIMALS)
    (folder / "broken.yaml").write_text("name: Broken")
    table_file(folder / "x.tsv", [])
    (folder / "x.tsv.yaml").write_text("benchmark: pope")
    before = {*BENCHMARKS}
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            library.offer_specs(folder)
    assert {*BENCHMARKS} == before and BENCHMARKS["pope"] is ours
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 4
    assert any("pope.yaml is left out: 'pope' is already a benchmark" in one for one in told)
    assert any("broken.yaml" in one and "about" in one for one in told)


def test_a_job_of_a_spec_that_is_gone_is_still_a_jobs(folder):
    assert benchmark_named("gone-since") is OWN_BENCHMARK
