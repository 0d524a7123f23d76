"""Cosines of adapters are those of the dense changes, and what cannot be compared is left out by name."""

import json
import re
import struct

import numpy as np
import pytest

from arena.io.strict_json import RowsError
from scoring.task_map.adapters import read_adapters
from scoring.task_map.files import map_files, read_distances
from scoring.task_map.tree import adjusted_rand, mantel, task_tree
from scoring.task_map.types import Accuracies, TaskMapError
from scoring.task_map.vectors import cosines, product_gram, stacked_gram, vector_map
from tests.support.adapters import SHAPES, list_tasks, random_factors, write_adapter, write_adapters

TASKS = {f"task{number}": random_factors(number) for number in range(6)}


def dense(factors) -> np.ndarray:
    return np.concatenate(
        [(b.astype(float) @ a.astype(float)).ravel() for a, b in factors.values()]
    )


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_products_are_the_dense_changes(tmp_path):
    found = read_adapters(write_adapters(tmp_path / "them", TASKS))
    gram = product_gram(found.chosen)
    changes = np.stack([2 * dense(factors) for factors in TASKS.values()])  # alpha 8, rank 4
    assert gram == pytest.approx(changes @ changes.T, rel=1e-5)
    assert np.abs(cosines(gram) - cosines(changes @ changes.T)).max() < 1e-6


def test_products_do_not_depend_on_the_basis_of_the_factors_and_stacked_factors_do(tmp_path):
    draw = np.random.default_rng(5)
    turned = {}
    for task, factors in TASKS.items():
        basis = {name: draw.normal(size=(4, 4)) + 2 * np.eye(4) for name in factors}
        turned[task] = {
            name: (np.linalg.solve(basis[name], a), b @ basis[name])
            for name, (a, b) in factors.items()
        }
    here, there = (read_adapters(write_adapters(tmp_path / name, them)).chosen for name, them in
                   (("here", TASKS), ("there", turned)))  # fmt: skip
    assert np.abs(cosines(product_gram(here)) - cosines(product_gram(there))).max() < 1e-6
    both = [cosines(stacked_gram(them, ("a", "b"))) for them in (here, there)]
    assert np.abs(both[0] - both[1]).max() > 0.01


def test_stacked_factors_are_the_flat_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("scoring.task_map.vectors.CHUNK", 50)
    found = read_adapters(write_adapters(tmp_path / "them", TASKS))
    flat = [
        np.concatenate([np.concatenate([a.ravel(), b.ravel()]) for a, b in one.values()])
        for one in TASKS.values()
    ]
    gram = cosines(stacked_gram(found.chosen, ("a", "b")))
    assert gram[1, 4] == pytest.approx(
        cosine(flat[1].astype(float), flat[4].astype(float)), abs=1e-6
    )


def test_tiles_of_a_few_adapters_give_what_one_gives(tmp_path, monkeypatch):
    chosen = read_adapters(write_adapters(tmp_path / "them", TASKS)).chosen
    whole = product_gram(chosen)
    monkeypatch.setattr("scoring.task_map.vectors._TILE", 500)
    assert product_gram(chosen) == pytest.approx(whole, rel=1e-5)


def as_bfloat16(folder) -> None:
    """Write a folder's weights anew, each number the upper half of its bits."""
    file = folder / "adapter_model.safetensors"
    raw = file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    halved = (np.frombuffer(body, "<u4") >> 16).astype("<u2").tobytes()
    for about in header.values():
        about |= {
            "dtype": "BF16",
            "data_offsets": [offset // 2 for offset in about["data_offsets"]],
        }
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + halved)


def test_bfloat16_is_read_as_what_it_is(tmp_path):
    root = write_adapters(tmp_path / "them", TASKS)
    whole = vector_map(root)
    for task in TASKS:
        as_bfloat16(root / task)
    assert vector_map(root).distances == pytest.approx(whole.distances, abs=0.01)
    assert vector_map(root).distances[0, 1] != whole.distances[0, 1]


def changed(factors, place: str, value: float):
    """Factors with another number: all of B, or one of A."""
    found = {name: (a.copy(), b.copy()) for name, (a, b) in factors.items()}
    for a, b in found.values():
        if place == "B":
            b[:] = value
        else:
            a[0, 0] = value
    return found


def test_what_cannot_be_compared_is_left_out_by_name(tmp_path):
    root = write_adapters(tmp_path / "them", TASKS)
    write_adapter(root / "zero", changed(TASKS["task0"], "B", 0.0))
    write_adapter(root / "nan", changed(TASKS["task0"], "A", np.nan))
    write_adapter(root / "infinite", changed(TASKS["task0"], "A", np.inf))
    write_adapter(root / "other base", TASKS["task0"], base_model_name_or_path="toys/other")
    write_adapter(root / "other rank", random_factors(1, rank=2))
    write_adapter(root / "fewer", random_factors(1, shapes=dict(list(SHAPES.items())[:2])))
    write_adapter(root / "dora", TASKS["task0"], use_dora=True)
    write_adapter(root / "cut", TASKS["task0"])
    weights = root / "cut" / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    names = [
        "zero",
        "nan",
        "infinite",
        "other base",
        "other rank",
        "fewer",
        "dora",
        "cut",
        "absent",
    ]
    list_tasks(root, [*TASKS, *names])
    found = vector_map(root)
    assert found.tasks == tuple(TASKS) and sorted(found.left_out) == sorted(names)
    (told,) = found.notices
    assert told.startswith("9 of 15 adapters are left out: ")
    for part in (
        "zero: its B is zero",
        "nan: it has NaN",
        "infinite: it has NaN or infinite",
        "other base: base toys/other@main, the others toys/base@main",
        "other rank: rank 2, the others 4",
        "fewer: modules",
        "dora: adapter_config.json has use_dora",
        "cut: adapter_model.safetensors",
        "absent: its folder 'absent' doesn't exist",
    ):
        assert part in told, part


def test_a_category_that_a_spreadsheet_would_run_keeps_its_name_and_its_adapter(tmp_path):
    named = {"-angle": random_factors(7), "@home": random_factors(8), **TASKS}
    made = vector_map(write_adapters(tmp_path / "them", named))
    assert set(made.tasks) == {*named} and not made.left_out
    path = tmp_path / "distances.csv"
    path.write_text(map_files(made, task_tree(made), 2, Accuracies((), ()))[path.name])
    assert set(read_distances(path).tasks) == {*named}


def test_an_adapter_outside_the_folder_is_not_opened(tmp_path):
    root = write_adapters(tmp_path / "them", TASKS)
    write_adapter(tmp_path / "outside", TASKS["task0"])
    (root / "tasks.csv").write_text((root / "tasks.csv").read_text() + "x,../outside,1\n")
    assert vector_map(root).left_out == ("x",)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff" * 8,
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 9) + b'{"a":{}}x',
        struct.pack("<Q", 2) + b"{}",
    ],
)
def test_a_file_that_is_no_safetensors_is_left_out(tmp_path, header):
    root = write_adapters(tmp_path / "them", TASKS)
    (root / "task2" / "adapter_model.safetensors").write_bytes(header)
    assert vector_map(root).left_out == ("task2",)


def test_places_that_are_no_whole_numbers_are_left_out(tmp_path):
    root = write_adapters(tmp_path / "them", TASKS)
    file = root / "task2" / "adapter_model.safetensors"
    raw = file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    for tensor in header.values():
        tensor["data_offsets"] = [float(offset) for offset in tensor["data_offsets"]]
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])
    assert vector_map(root).left_out == ("task2",)


def test_a_folder_without_a_list_or_with_too_few_is_told_so(tmp_path):
    with pytest.raises(TaskMapError, match="has no tasks.csv"):
        read_adapters(tmp_path)
    root = write_adapters(tmp_path / "them", dict(list(TASKS.items())[:2]))
    with pytest.raises(
        TaskMapError, match=r"has 2 comparable adapters, .* needs three\. Add some to tasks"
    ):
        read_adapters(root)


def change_config(folder, **changes) -> None:
    """Writes a folder's settings anew; a setting that becomes None is left out."""
    file = folder / "adapter_config.json"
    settings = json.loads(file.read_text()) | changes
    named = {name: value for name, value in settings.items() if value is not None}
    file.write_text(json.dumps(named))


def test_equal_numbers_are_equal_settings(tmp_path):
    root = write_adapters(tmp_path / "them", TASKS)
    change_config(root / "task2", lora_alpha=8.0)
    assert vector_map(root).tasks == tuple(TASKS)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"base_model_name_or_path": None}, "base None@main, the others toys/base@main"),
        ({"lora_alpha": True}, "lora_alpha True, which must be numbers"),
    ],
)
def test_settings_of_another_kind_are_left_out_by_name(tmp_path, changes, reason):
    root = write_adapters(tmp_path / "them", TASKS)
    change_config(root / "task2", **changes)
    found = read_adapters(root)
    assert len(found.chosen) == 5 and reason in found.left_out["task2"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("task\ntask1\n", "row 2, column 'folder': Expected this column, found 'task'"),
        ("task,folder\n ,task1\n", "row 2, column 'task': Expected a task's name, found an empty"),
        ("task,folder\nx,y\nx,z\n", "row 3, column 'task': 'x' is in row 2 too. Delete one"),
    ],
)
def test_a_list_that_names_no_task_or_one_twice_is_refused(tmp_path, rows, told):
    (tmp_path / "tasks.csv").write_text(rows, "utf-8")
    with pytest.raises(RowsError, match=f"^tasks.csv, {told}"):
        read_adapters(tmp_path)


def test_stacked_factors_of_another_seed_are_told(tmp_path):
    root = write_adapters(tmp_path / "them", {**TASKS, "stranger": random_factors(9, start=1)})
    told = " ".join(vector_map(root, "stacked").notices)
    assert (
        "No training.json says which seed" in told
        and "1 adapters did not start from the seed" in told
    )
    assert told.endswith("stranger")
    (root / "training.json").write_text('{"seed": 0}')
    assert "training.json" not in " ".join(vector_map(root, "stacked").notices)
    assert vector_map(root).notices == ()


def test_the_median_of_cosines_is_that_of_pairs_and_of_adapters_with_an_a(tmp_path):
    """Of three adapters the cosines with themselves would decide; one of zeros has none."""
    zeros = {
        name: (np.zeros((4, width), np.float32), np.zeros((height, 4), np.float32))
        for name, (width, height) in SHAPES.items()
    }
    tasks = {"a": random_factors(1), "b": random_factors(2), "c": random_factors(3, start=1)}
    root = write_adapters(tmp_path / "them", {**tasks, "zeros": zeros})
    told = " ".join(vector_map(root, "stacked").notices)
    median = float(re.search(r"alone are (-?[0-9.]+) in the median", told)[1])
    assert abs(median) < 0.5
    assert "nan" not in told
    assert told.endswith("1 adapters did not start from the seed of the others, so that their "
                         "distances say nothing: c")  # fmt: skip


def planted(seed: int, noise: float):
    """Twelve tasks in three groups: B of a group is alike."""
    groups = [random_factors(100 + group) for group in range(3)]
    draw, tasks = np.random.default_rng(seed), {}
    for number in range(12):
        factors = groups[number % 3]
        tasks[f"t{number}"] = {
            name: (a, (b + noise * draw.normal(size=b.shape)).astype(np.float32))
            for name, (a, b) in factors.items()
        }
    return tasks


def test_planted_groups_are_found_and_two_runs_agree(tmp_path):
    first, second = (
        vector_map(write_adapters(tmp_path / str(seed), planted(seed, 1.0))) for seed in (1, 2)
    )
    truth = [[f"t{number}" for number in range(12) if number % 3 == group] for group in range(3)]
    assert adjusted_rand(task_tree(first).groups(3), truth) == 1
    assert mantel(first, second).r > 0.7


@pytest.mark.parametrize("start", ["pissa", "pissa_niter_4", "olora", "corda", "loftq"])
def test_adapters_that_began_by_changing_the_base_are_left_out(tmp_path, start):
    """Their product has what was taken from the base, which is nearly the same in all."""
    root = write_adapters(tmp_path / "them", TASKS)
    write_adapter(root / "other", TASKS["task0"], init_lora_weights=start)
    starts = (True, False, None, "gaussian", "eva", "orthogonal", "mica")
    for place, known in enumerate(starts):
        write_adapter(root / f"same{place}", TASKS["task0"], init_lora_weights=known)
    list_tasks(root, [*TASKS, "other", *(f"same{place}" for place in range(len(starts)))])
    found = vector_map(root)
    assert found.left_out == ("other",)
    assert f"has init_lora_weights '{start}'" in found.notices[0]


@pytest.mark.parametrize("place", ["A", "B"])
def test_an_adapter_of_numbers_too_large_to_multiply_is_left_out_by_name(tmp_path, place):
    root = write_adapters(tmp_path / "them", TASKS)
    write_adapter(root / "huge", changed(TASKS["task0"], place, -1e30))
    list_tasks(root, [*TASKS, "huge"])
    found = vector_map(root)
    assert found.left_out == ("huge",) and np.isfinite(found.distances).all()
    assert f"huge: its {place} has numbers above 1,000,000" in found.notices[0]
