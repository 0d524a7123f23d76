"""Made-up rows of benchmarks' files: each is read without a complaint about columns."""

from dataclasses import replace
from pathlib import Path

import pytest

from scoring.benchmarks.base import FileBenchmark
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.benchmarks.predictions import read_predictions
from scoring.benchmarks.spec_benchmark import own_benchmark
from scoring.registry import offered_benchmarks, open_upload
from scoring.specs.files import load_spec
from scoring.specs.schema import spec_of
from scoring.visit_bench.reader import is_submission, read_submission
from tests.support.choice_tables import table_file

OWN = {
    "renamed": {
        "columns": {"id": "nr", "question": "frage", "truth": "wahr", "answer": "sagt"},
        "rule": "yes_no",
    },
    "options in one list": {
        "columns": {"options": "choices"},
        "groups": ["level"],
        "rule": "letter",
    },
    "named options": {"columns": {"options": ["first", "second", "third"]}, "rule": "letter"},
    "numbers with places": {"rule": {"kind": "number", "as": "float", "places": "digits"}},
    "figures of derived columns": {
        "derive": {
            "scene": {"from": "code", "part": 3, "by": "-"},
            "pair": {"from": "number", "less": 1, "div": 2},
        },
        "groups": ["scene"],
        "rule": "text",
        "figures": {"pairs": {"all": ["pair"]}, "few": {"mean": "rows", "where": {"set": "b"}}},
    },
    "cases by a derived column": {
        "derive": {"form": {"from": "code", "part": 2, "by": "-"}},
        "rule": [{"when": {"form": "count"}, "rule": "number"}, {"rule": "yes_no"}],
    },
    "cases": {
        "rule": [
            {"when": {"form": ""}, "rule": "text"},
            {"when": {"form": "count"}, "rule": {"kind": "number", "truth": "total"}},
        ],
    },
}


def row_file(folder: Path, benchmark) -> Path:
    """A file of a benchmark's made-up row alone."""
    columns = benchmark.columns()
    row = {column.name: column.cell for column in columns}
    return table_file(folder / "vlm-7b.csv", [row], [column.name for column in columns])


def file_benchmarks() -> dict[str, FileBenchmark]:
    shipped = {
        key: one for key, one in offered_benchmarks().items() if isinstance(one, FileBenchmark)
    }
    own = {
        name: own_benchmark(spec_of({"name": name, "about": "A toy.", **fields}))
        for name, fields in OWN.items()
    }
    return {**shipped, **own}


@pytest.mark.parametrize("name", file_benchmarks())
def test_the_made_up_row_of_a_benchmark_is_read_and_right(name, tmp_path):
    benchmark = file_benchmarks()[name]
    opened = open_upload(row_file(tmp_path, benchmark), benchmark=benchmark)
    assert opened
    whole = [problem for problem in opened.problems if problem.blocks != "whole"]
    assert [problem.text for problem in whole if "column" in problem.text] == []
    assert opened.file.scorable
    report = opened.report(next(iter(benchmark.protocols.values())))
    (answer,) = benchmark.scored_answers(report)
    assert report.left or answer.score == 1


def test_a_made_up_cell_has_a_named_part_at_its_place():
    derive = {
        "scene": {"from": "code", "part": 2, "by": "-", "names": {"in": "Indoors"}},
        "light": {"from": "code", "part": 3, "by": "-"},
    }
    spec = {"name": "Parts", "about": "A toy.", "derive": derive, "groups": ["scene", "light"]}
    columns = own_benchmark(spec_of({**spec, "rule": "text"})).columns()
    assert {column.name: column.cell for column in columns}["code"] == "1-in-1"


def test_an_own_rubric_has_a_row_too(data, tmp_path):
    benchmark = own_benchmark(load_spec(data / "specs" / "own_rubric.yaml"))
    opened = open_upload(row_file(tmp_path, benchmark), benchmark=benchmark)
    assert [column.name for column in benchmark.columns()] == [
        "case",
        "request",
        "expected",
        "topic",
        "reply",
    ]
    assert opened.problems == ()
    assert opened.report("strict").left == 1


@pytest.mark.parametrize("key", ["mm-vet", "mm-vet-v2"])
def test_mm_vets_row_is_an_answer(key, tmp_path):
    benchmark = offered_benchmarks()[key]
    id = benchmark.columns()[0].cell
    sample = own_sample()
    questions = replace(sample, questions=(replace(sample.questions[0], id=id),))
    upload = read_predictions(row_file(tmp_path, benchmark), questions)
    answers = [(prediction.id, prediction.text) for prediction in upload.predictions]
    assert answers == [(id, "A cat on a sofa.")]


@pytest.mark.parametrize("key", ["visit-bench", "sealed-items"])
def test_rows_of_compared_answers_are_a_submission(key, tmp_path):
    path = row_file(tmp_path, offered_benchmarks()[key])
    assert is_submission(path, path.name)
    file = read_submission(path)
    assert (len(file.entries), file.problems) == (1, ())


@pytest.mark.parametrize("empty", ["", " ", "[]", " [ ] "])
def test_an_empty_cell_of_images_leaves_the_next_column_to_count(empty, tmp_path):
    path = tmp_path / "predictions.csv"
    path.write_text(f"instruction,images,image,prediction\nWhat?,{empty},a.png,A cat.\n")
    file = read_submission(path)
    assert file.problems == ()
    assert [entry.images for entry in file.entries] == [("a.png",)]
