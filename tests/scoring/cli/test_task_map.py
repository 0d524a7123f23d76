"""`task-vectors` makes an adapter for each task on a tiny real model, and goes on where it stopped; `task-map` maps."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from arena.inference.adapter_process import TrainingSettings
from arena.io.csv_text import csv_text
from scoring.benchmarks.mmt_bench import subtasks
from scoring.cli import task_map
from scoring.task_map.adapters import read_adapters
from scoring.task_map.tree import adjusted_rand
from scoring.task_map.vectors import vector_map
from tests.support.adapters import list_tasks, random_factors, write_adapter, write_adapters
from tests.support.commands import Command
from tests.support.planted_tasks import groups, planted_tsv
from tests.support.tiny_vlm import build

LEARNING = ("--rate", "0.05", "--epochs", "2", "--device", "cpu", "--layers", "1")
FEW_THREADS = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="module")
def planted(tmp_path_factory, base) -> tuple[Command, Path, Path, str]:
    """The command, the question file, its adapters, and what was said while they were made."""
    folder = tmp_path_factory.mktemp("planted")
    questions, out = planted_tsv(folder / "planted.tsv"), folder / "adapters"
    command = Command(folder, **FEW_THREADS)
    words = ("task-vectors", "--base", base, "--questions", questions, *LEARNING)
    done = command.run(*words, "--out", out)
    assert done.code == 0, done.err
    return command, questions, out, done.out


@pytest.mark.soak
def test_planted_groups_come_out_of_adapters_that_really_learned(planted, tmp_path):
    command, _, out, said = planted
    assert "12 adapters are in" in said and "numbers an adapter" in said
    done = command.run("task-map", out, "--out", tmp_path / "map", "--clusters", "3")
    assert done.code == 0 and "12 task vectors (product of LoRA factors; rank 2" in done.out
    with (tmp_path / "map" / "clusters.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [[row["task"] for row in rows if row["cluster"] == number] for number in "123"]
    assert adjusted_rand(found, groups()) == 1
    page = (tmp_path / "map" / "task-map.html").read_text()
    assert "no tau here" in page and "task_11" in page
    assert (tmp_path / "map" / "tree.nwk").read_text().count("task_") == 12


@pytest.mark.soak
def test_adapters_start_from_one_seed_and_say_it(planted, base):
    _, _, out, _ = planted
    notices = " ".join(vector_map(out, "stacked").notices)
    assert "which seed" not in notices and "did not start" not in notices
    record = json.loads((out / "training.json").read_text())
    assert record["seed"] == 0 and record["base"] == str(base) and record["rank"] == 2
    adapter = read_adapters(out).chosen[0]
    assert adapter.settings["base"] == f"{base}@main" and adapter.n == "2"
    assert {name.rpartition(".")[2] for name in adapter.modules} == {
        *("q_proj", "k_proj", "v_proj", "o_proj"),
        *("gate_proj", "up_proj"),
    }
    assert all("language_model.layers.1." in name for name in adapter.modules)


@pytest.mark.soak
def test_a_stopped_run_makes_what_is_missing_alone(planted, base):
    command, questions, out, _ = planted
    kept = (out / "task_0" / "adapter_model.safetensors").stat().st_mtime_ns
    before = (out / "task_7" / "adapter_model.safetensors").read_bytes()
    shutil.rmtree(out / "task_7")
    (out / "task_7.part").mkdir()
    words = ("task-vectors", "--base", base, "--questions", questions, "--out", out)
    done = command.run(*words, *LEARNING)
    assert "11 of 12 tasks are there already." in done.out and "task_7: 2 samples" in done.out
    assert (
        "task_6:" not in done.out
        and (out / "task_0" / "adapter_model.safetensors").stat().st_mtime_ns == kept
    )
    assert (out / "task_7" / "adapter_model.safetensors").read_bytes() == before
    other = command.run(*words, *LEARNING, "--seed", "1")
    assert other.code == 2 and "other settings: seed." in other.err


@pytest.mark.soak
def test_two_seeds_of_the_same_tasks_are_compared(planted, base, tmp_path):
    command, questions, out, _ = planted
    words = ("task-vectors", "--base", base, "--questions", questions, *LEARNING)
    assert command.run(*words, "--seed", "1", "--out", tmp_path / "again").code == 0
    first = command.run("task-map", out, "--out", tmp_path / "first")
    done = command.run(
        *("task-map", tmp_path / "again", "--out", tmp_path / "map", "--clusters", "3"),
        *("--beside", tmp_path / "first" / "distances.csv"),
    )
    print(done.out)
    assert (
        first.code == done.code == 0
        and "Mantel r" in done.out
        and "adjusted Rand index of both cuts: 1.00" in done.out
    )


def test_a_base_without_its_commit_is_refused(tmp_path):
    words = ("--base", "some/model", "--questions", planted_tsv(tmp_path / "planted.tsv"))
    done = Command(tmp_path).run("task-vectors", *words, "--out", tmp_path / "new")
    assert done.code == 2 and "add its commit with --revision" in done.err


@pytest.mark.soak
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--modules", "nothing"),
            "the base has no such modules in these layers. Its text model has",
        ),
        (("--layers", "first"), "'first' isn't a list of layers"),
        (("--device", "tpu"), "'tpu' is not one of 'auto', 'cpu', 'cuda'"),
    ],
)
def test_what_cannot_be_trained_is_said(planted, base, tmp_path, words, told):
    command, questions, _, _ = planted
    given = ("--base", base, "--questions", questions, "--out", tmp_path / "new")
    done = command.run("task-vectors", *given, "--device", "cpu", *words)
    assert done.code == 2 and told in done.err


def test_a_map_of_mmt_bench_names_what_is_left_out_and_has_tau(tmp_path):
    command, root = Command(tmp_path), tmp_path / "adapters"
    keys = list(subtasks())[:20]
    write_adapters(root, {key: random_factors(place) for place, key in enumerate(keys)})
    write_adapter(root / "strange", random_factors(1), base_model_name_or_path="toys/other")
    list_tasks(root, [*keys, "strange"])
    done = command.run(
        "task-map", root, "--out", tmp_path / "map", "--vector", "stacked", "--linkage", "ward"
    )
    assert done.code == 0, done.err
    assert "1 of 21 adapters are left out: strange: base toys/other@main" in done.out
    assert (
        "tau at delta 1/8" in done.out
        and "adjusted Rand index with the paper's clusters" in done.out
    )
    page = (tmp_path / "map" / "task-map.html").read_text()
    assert "strange" in page and 'href="distances.csv"' in page and "Circular" not in page
    absent = command.run("task-map", tmp_path, "--out", tmp_path / "none")
    assert (
        absent.code == 2 and "has no tasks.csv" in absent.err and not (tmp_path / "none").exists()
    )


def test_modules_may_have_blanks_around_them(tmp_path, monkeypatch):
    settings: list[TrainingSettings] = []
    monkeypatch.setattr(
        task_map, "make_vectors", lambda *values: settings.append(values[2]) or iter(())
    )
    list(
        task_map.task_vectors(
            base=str(tmp_path),
            questions=tmp_path / "planted.tsv",
            out=tmp_path,
            modules="q_proj, k_proj",
        )
    )
    assert settings[0].modules == ("q_proj", "k_proj")


@pytest.mark.parametrize("shared", [0, 3])
def test_a_map_beside_one_of_other_tasks_is_written_and_says_so(tmp_path, shared):
    root = write_adapters(
        tmp_path / "adapters", {f"task_{place}": random_factors(place) for place in range(5)}
    )
    others = [f"task_{place}" for place in range(shared)] + ["other_1", "other_2", "other_3"]
    distances = 1 - np.eye(len(others))
    rows = [["task", *others]]
    rows += [[task, *row] for task, row in zip(others, distances.tolist(), strict=True)]
    beside = tmp_path / "other.csv"
    beside.write_text(csv_text(rows), "utf-8")
    out = tmp_path / "map"
    lines = list(task_map.task_map(adapters=root, out=out, beside=beside))
    assert any(
        line.startswith("beside ")
        and line.endswith(f"The maps share {shared} tasks. Comparing them takes four.")
        for line in lines
    )
    assert (out / "distances.csv").is_file()
    assert f"The maps share {shared} tasks." in (out / "task-map.html").read_text("utf-8")
