"""Mutated specs: whatever stands in one, it is a spec or a sentence; nothing else is opened, and nothing is sent."""

from pathlib import Path

import pytest

from arena.io.tables import RowsError
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.registry import open_upload
from scoring.specs.other_forms import load_benchmarks
from scoring.specs.problems import SpecError
from tests.support.mutations import mutated_spec, outside, watching
from tests.support.other_forms import TEMPLATE

TABLE = """index,question,A,B,answer,category,l2-category,split,image_path,prediction
1_a_2_0_0_1,Is it?,Yes,No,A,"x,y",z,dev,1.jpg,A
2,"Say 7","['a']",,7,x,z,test,1.jpg,"It is 7, or B"
3,,,,,,,,,
"""


def check(folder: Path, seeds: range) -> tuple[int, int]:
    """How many mutated specs are read, and how many are refused in sentences."""
    path = folder / "spec.yaml"
    table = folder / "m.csv"
    table.write_text(TABLE)
    (folder / "_zoo_template_yaml").write_text(TEMPLATE)
    read = refused = 0
    for seed in seeds:
        path.write_bytes(mutated_spec(seed))
        try:
            found = load_benchmarks(path)
        except SpecError as error:
            assert error.problems and all(problem.text for problem in error.problems), seed
            assert "\x00" not in str(error) and len(str(error)) < 20_000, seed
            refused += 1
            continue
        read += 1
        spec = found[0].spec
        benchmark = spec_benchmark(OWN, spec)
        try:
            opened = open_upload(table, benchmark=benchmark)
            assert opened
            for protocol in spec.protocols:
                report = opened.report(protocol)
                assert benchmark.sheets(report) and benchmark.sentence(report), seed
        except (ChoicesError, RowsError) as error:
            assert str(error), seed
    return read, refused


def test_mutated_specs_give_sentences(tmp_path):
    with watching() as opened:
        read, refused = check(tmp_path, range(40))
    assert read > 2 and refused > 10
    assert outside(opened, tmp_path) == set()


@pytest.mark.soak
def test_two_thousand_mutated_specs_give_sentences(tmp_path):
    with watching() as opened:
        read, refused = check(tmp_path, range(1_000, 3_000))
    assert read > 100 and refused > 500
    assert outside(opened, tmp_path) == set()
