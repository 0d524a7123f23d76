"""The measurements: each program loads, all of them run, and what is timed does what it will be timed at."""

import asyncio
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from perf import __main__ as all_of_them
from perf import attacks, page, ratings
from tests.support.servers import ROOT

PROGRAMS = sorted(path.stem for path in (ROOT / "perf").glob("[!_]*.py"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_measurement_loads(program):
    import_module(f"perf.{program}")


def test_all_are_run_and_one_that_fails_does_not_stop_the_others(capfd):
    assert {*all_of_them.BENCHMARKS, "rating_sides"} == set(PROGRAMS)
    assert all_of_them.main(("not_there", "not_there_either")) == 1
    told = capfd.readouterr()
    assert told.err.count("No module named") == 2
    assert "failed, or missed a target: not_there, not_there_either" in told.out
    assert all_of_them.main(()) == 0


def test_a_table_of_pages_has_lines_for_a_revision_of_any_name():
    visit = page.Visit()
    assert page.visit_line("390, cold", visit, "main") == page.visit_line("main 390, cold", visit)
    assert page.visit_line("390, cold", visit, "f" * 40).startswith(f"{'f' * 40} 390, cold  0.00 s")


def test_our_side_of_the_ratings_runs_each_of_its_tasks(tmp_path):
    ratings.write_votes(tmp_path / "votes.npz", models=6, votes=400, seed=1)
    side = ratings.Side("ours", Path(sys.executable), tmp_path / "votes.npz")
    try:
        assert {comparison.ours for comparison in ratings.COMPARISONS} == set(side.tasks)
        for task in side.tasks:
            rated = side.run(task).ratings
            assert rated is None or len(rated) == 6, task
    finally:
        side.stop()


@pytest.mark.soak
def test_people_vote_and_upload_beside_an_attacker():
    line = [
        sys.executable,
        "-c",
        "from perf import attacks; attacks.main(('small uploads',), 3, 300)",
    ]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert " 200: " in done.stdout and ", 0 failed\n" in done.stdout, done.stdout


def test_an_attack_that_does_not_exist_is_no_attack_that_was_held(capsys):
    assert attacks.main(["small uploads", "small_uploads"]) == 2
    assert capsys.readouterr().out.startswith("There is no attack small_uploads. There are: nobody")


@pytest.mark.soak
def test_voters_are_counted_who_think_and_who_do_not():
    line = [sys.executable, "-c", "from perf import voters; voters.main('sqlite', 0.05, 300)"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" votes taken, 0 failed") == 3, done.stdout


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_attack_keeps_honest_people_waiting():
    done = subprocess.run(
        [sys.executable, "-m", "perf.attacks"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("attack", "parameters"),
    [
        (attacks.dated_files, ("family=&", "family=family+3")),
        (attacks.task_maps, ("paper=20", "paper=32")),
        (attacks.model_pages, ("family+1", "before=50000")),
    ],
)
def test_an_attack_asks_for_even_and_odd_numbers(attack, parameters):
    paths: list[str] = []

    class Client:
        async def get(self, path: str, headers: dict[str, str]) -> httpx.Response:
            paths.append(f"{path}&")
            if len(paths) == 8:
                raise EOFError
            return httpx.Response(200)

    page = SimpleNamespace(client=Client())
    attacker = attacks.Attacker(page, 0, Counter())  # type: ignore[arg-type]
    with pytest.raises(EOFError):
        asyncio.run(attack(attacker))
    for parameter in parameters:
        assert any(parameter in path for path in paths), (parameter, paths)
