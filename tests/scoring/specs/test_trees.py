"""Trees of a spec's figures: no figure minus another gives away a few answers."""

from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.registry import open_upload
from scoring.report import csv_bytes
from scoring.specs.schema import read_spec
from scoring.specs.trees import whole_figures

PARTS = b"""
name: Parts
about: Questions whose cell may name several parts, each a row.
derive:
  part: {from: parts, split: ";"}
rule: letter
figures:
  Accuracy: mean
  Of a: {mean_of: part, where: {kind: a}}
headline: Accuracy
"""


def test_figures_that_leave_few_answers_of_many_rows_are_left_out(tmp_path):
    cells = {"question": "What is it?", "A": "a dog", "B": "a cat", "answer": "A"}
    answers = [{**cells, "prediction": "A", "kind": "a", "parts": "x"} for _ in range(100)]
    answers += [{**cells, "prediction": "A", "kind": "b", "parts": "x;y"} for _ in range(10)]
    path = tmp_path / "m.csv"
    path.write_bytes(csv_bytes(list(answers[0]), [list(answer.values()) for answer in answers]))
    opened = open_upload(path, benchmark=spec_benchmark(OWN, read_spec(PARTS)))
    assert [line.name for line in whole_figures(opened.report("strict"))] == ["Accuracy"]
