"""Files of a map: distances and clusters as CSV, the tree as Newick; distances can be read again."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from arena.io.csv_text import csv_text, plain_cell
from arena.io.strict_json import PAGE, FileLimits, RowsError
from arena.io.tables import read_records, require_columns
from arena.locale import t
from scoring.task_map.published import task_key
from scoring.task_map.tree import TaskTree
from scoring.task_map.types import Accuracies, TaskMap, TaskMapError, complete_map

FILES = ("distances.csv", "clusters.csv", "tree.nwk")
"""Names of a map's downloads."""
MOST_TASKS = 500
_DIGITS = 6
"""Digits after the point that a file keeps of a distance or an accuracy."""


def map_files(
    task_map: TaskMap, tree: TaskTree, clusters: int, accuracies: Accuracies
) -> Mapping[str, str]:
    """Every download by name; tasks are in the order of the tree."""
    order = [task_map.tasks.index(task) for task in tree.tasks]
    rounded = np.round(task_map.distances[np.ix_(order, order)], _DIGITS)
    distance_rows = [[task, *row] for task, row in zip(tree.tasks, rounded.tolist(), strict=True)]
    cluster_rows = []
    for number, group in enumerate(tree.groups(clusters), start=1):
        for task in group:
            cluster_rows.append([number, task, _mean(accuracies.means([task]))])
    return {
        "distances.csv": csv_text([["task", *tree.tasks], *distance_rows]),
        "clusters.csv": csv_text([["cluster", "task", "accuracy"], *cluster_rows]),
        "tree.nwk": tree.newick(),
    }


def _mean(values: np.ndarray) -> object:
    """The mean of the known values; "" without any."""
    known = values[~np.isnan(values)]
    return round(float(known.mean()), _DIGITS) if known.size else ""


def read_distances(path: Path, name: str | None = None, limits: FileLimits = PAGE) -> TaskMap:
    """The map in a distances.csv; tasks with empty cells are left out. Raises RowsError and TaskMapError."""
    records = list(read_records(path, limits, name=name))
    label = name or path.name
    if len(records) > MOST_TASKS:
        raise TaskMapError(f"{label} has {len(records):,} tasks. Keep {MOST_TASKS} at most.")
    tasks = [str(record.values.get("task") or "") for record in records]
    header = records[0].values if records else ()
    columns = sorted(column for column in header if column != "task")
    if not tasks or sorted(tasks) != columns:
        problem = "The columns don't match the tasks. Write a column task, then one for each of its tasks."
        raise RowsError(problem, label, 1)
    for record in records:
        require_columns(record, tasks, label)
    distances = np.array(
        [
            [_distance(record.values[task], label, record.row, task) for task in tasks]
            for record in records
        ]
    )
    rows = [record.row for record in records]
    _check_diagonal(distances, tasks, rows, label)
    _check_symmetry(distances, tasks, rows, label)
    keys = [task_key(plain_cell(task)) for task in tasks]
    if len(set(keys)) < len(keys):
        raise TaskMapError(f"{label} has two rows for one task. Name each task once.")
    np.fill_diagonal(distances, 0)
    return complete_map(t("taskmap.source_file", file=label), keys, distances)


def _check_diagonal(
    distances: np.ndarray, tasks: Sequence[str], rows: Sequence[int], label: str
) -> None:
    """Raises RowsError if a task isn't at 0 from itself, as in a table of similarities."""
    for task, row, distance in zip(tasks, rows, np.diag(distances).tolist(), strict=True):
        if distance > 10**-_DIGITS:
            problem = f"A task's distance to itself is 0, and here {distance:g}. Write distances, not similarities."
            raise RowsError(problem, label, row, column=task)


def _check_symmetry(
    distances: np.ndarray, tasks: Sequence[str], rows: Sequence[int], label: str
) -> None:
    """Raises RowsError if a distance isn't the same both ways; `rows` are the tasks' rows in the file."""
    gaps = np.abs(distances - distances.T)
    if np.nanmax(gaps, initial=0) > 10**-_DIGITS * 2:  # both ways may be rounded
        row, column = divmod(int(np.nanargmax(gaps)), len(tasks))
        one_way = distances[row, column]
        other_way = distances[column, row]
        problem = (
            f"The distance is {one_way:g} one way and {other_way:g} the other. Make them equal."
        )
        raise RowsError(problem, label, rows[row], column=tasks[column])


def _distance(cell: object, name: str, row: int, task: str) -> float:
    """A cell as a number; NaN if it is empty. Raises RowsError."""
    if cell in ("", None):
        return np.nan
    try:
        value = float(str(cell))
    except ValueError:
        value = np.nan
    if not 0 <= value <= 2:
        raise RowsError(
            "This isn't a distance. Write a number from 0 to 2, or leave the cell empty.",
            name,
            row,
            column=task,
        )
    return value
