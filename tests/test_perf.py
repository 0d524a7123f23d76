"""The measurements: each program loads, and our side of the ratings' does what it will be timed at."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

from perf import ratings
from tests.conftest import ROOT

PROGRAMS = sorted(path.stem for path in (ROOT / "perf").glob("[!_]*.py"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_measurement_loads(program):
    import_module(f"perf.{program}")


def test_our_side_of_the_ratings_runs_each_of_its_tasks(tmp_path):
    ratings.write_votes(tmp_path / "votes.npz", models=6, votes=400, seed=1)
    side = ratings.Side("ours", Path(sys.executable), tmp_path / "votes.npz")
    try:
        assert {bar.ours for bar in ratings.BARS} == set(side.tasks)
        for task in side.tasks:
            rated = side.run(task).ratings
            assert rated is None or len(rated) == 6, task
    finally:
        side.stop()
