"""Trees of tasks: hierarchical clustering of a map, its cuts, Newick; comparisons of two maps or two clusterings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from scoring.task_map.types import Matrix, TaskMap, TaskMapError

Linkage = Literal["average", "complete", "ward"]
"""The distance between clusters; the paper does not say which it used. Ward treats the distances as Euclidean."""
CLUSTERS = 12
"""The paper's number of clusters."""
MOST_CLUSTERS = 40
PERMUTATIONS = 999
_UNQUOTED = re.compile(r"\w+", re.ASCII)


class Branch(NamedTuple):
    """A cluster of some cuts of a tree: a task alone, or a merge."""

    first: int
    last: int
    """Places of its first and its last task in the tree's order."""
    height: float
    fewest: int
    most: int
    """The fewest and most clusters of the cuts with this cluster."""
    below: tuple["Branch", ...]


@dataclass(frozen=True, eq=False)
class TaskTree:
    """A map's tasks in the order of its leaves, with the merges of scipy's linkage matrix, lowest first."""

    linkage: Linkage
    tasks: tuple[str, ...]
    branches: tuple[Branch, ...]
    """The tasks in their order, then the merges."""

    @property
    def root(self) -> Branch:
        return self.branches[-1]

    @cached_property
    def merges(self) -> tuple[Branch, ...]:
        return self.branches[len(self.tasks) :]

    def members(self, branch: Branch) -> tuple[str, ...]:
        return self.tasks[branch.first : branch.last + 1]

    def cut(self, clusters: int) -> tuple[Branch, ...]:
        """The clusters of the cut into so many clusters, in the tree's order."""
        return tuple(
            sorted(branch for branch in self.branches if branch.fewest <= clusters <= branch.most)
        )

    def groups(self, clusters: int) -> list[tuple[str, ...]]:
        return [self.members(branch) for branch in self.cut(clusters)]

    def newick(self) -> str:
        """The tree as Newick text; lengths add up to half of a merge's height on each side."""
        texts: dict[tuple[int, int], str] = {}
        for branch in self.branches:
            parts = [
                f"{texts.pop((child.first, child.last))}:{(branch.height - child.height) / 2:.6g}"
                for child in branch.below
            ]
            label = f"({','.join(parts)})" if parts else _newick_name(self.tasks[branch.first])
            texts[branch.first, branch.last] = label
        return f"{texts[self.root.first, self.root.last]};\n"


def _newick_name(task: str) -> str:
    return task if _UNQUOTED.fullmatch(task) else "'" + task.replace("'", "''") + "'"


def task_tree(task_map: TaskMap, linkage: Linkage = "average") -> TaskTree:
    """The tree of a map's tasks, with the order of leaves in which neighbours are as near as the tree allows."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    tasks = len(task_map.tasks)
    merges = hierarchy.linkage(
        squareform(task_map.distances, checks=False), linkage, optimal_ordering=True
    )
    order = hierarchy.leaves_list(merges).tolist()
    parents = {int(child): number for number, merge in enumerate(merges) for child in merge[:2]}

    def cuts_with(number: int) -> tuple[int, int]:
        """The fewest and most clusters of the cuts with a node; the first nodes are the tasks."""
        parent = parents.get(number)
        fewest = 1 if parent is None else tasks - parent
        merges_before = max(number - tasks + 1, 0)
        return fewest, tasks - merges_before

    places = {leaf: place for place, leaf in enumerate(order)}
    nodes = {}
    for leaf in range(tasks):
        fewest, most = cuts_with(leaf)
        nodes[leaf] = Branch(places[leaf], places[leaf], 0.0, fewest, most, ())
    for number, (left, right, height, _) in enumerate(merges, start=tasks):
        below = tuple(sorted((nodes[int(left)], nodes[int(right)])))
        fewest, most = cuts_with(number)
        nodes[number] = Branch(
            first=below[0].first,
            last=below[1].last,
            height=float(height),
            fewest=fewest,
            most=most,
            below=below,
        )
    merged = (nodes[number] for number in range(tasks, 2 * tasks - 1))
    return TaskTree(
        linkage,
        tuple(task_map.tasks[leaf] for leaf in order),
        (*(nodes[leaf] for leaf in order), *merged),
    )


class Mantel(NamedTuple):
    """The correlation of two maps over the tasks of both, with the share of shuffles that correlate as much."""

    tasks: int
    r: float
    p: float


def mantel(first: TaskMap, second: TaskMap) -> Mantel:
    """Mantel's test, one-sided, by permutations of the tasks. Raises TaskMapError below four shared tasks."""
    shared = [task for task in first.tasks if task in second.tasks]
    if len(shared) < 4:
        raise TaskMapError(f"The maps share {len(shared)} tasks. Comparing them takes four.")
    first_distances = _between(first, shared)
    second_distances = _between(second, shared)
    upper = np.triu_indices(len(shared), 1)
    draw = np.random.default_rng(0)
    r = _correlation(first_distances[upper], second_distances[upper])
    as_high = 0
    for _ in range(PERMUTATIONS):
        order = draw.permutation(len(shared))
        shuffled = first_distances[np.ix_(order, order)]
        as_high += _correlation(shuffled[upper], second_distances[upper]) >= r - 1e-12
    return Mantel(len(shared), r, (1 + as_high) / (1 + PERMUTATIONS))


def _between(task_map: TaskMap, tasks: Sequence[str]) -> Matrix:
    places = [task_map.tasks.index(task) for task in tasks]
    return task_map.distances[np.ix_(places, places)]


def _correlation(first: Matrix, second: Matrix) -> float:
    """Pearson's correlation; 0 if either side is constant."""
    first = first - first.mean()
    second = second - second.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread else 0.0


def adjusted_rand(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> float | None:
    """Adjusted Rand index (Hubert and Arabie 1985) of two clusterings over the tasks of both; None below two tasks."""
    first_numbers = _numbers(first)
    second_numbers = _numbers(second)
    shared = [task for task in first_numbers if task in second_numbers]
    if len(shared) < 2:
        return None
    table = np.zeros((len(first), len(second)))
    for task in shared:
        table[first_numbers[task], second_numbers[task]] += 1
    both = _pair_count(table)
    rows = _pair_count(table.sum(1))
    columns = _pair_count(table.sum(0))
    expected = rows * columns / (len(shared) * (len(shared) - 1) / 2)
    most = (rows + columns) / 2
    return (both - expected) / (most - expected) if most != expected else 1.0


def _numbers(groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """The number of each task's group."""
    return {task: number for number, group in enumerate(groups) for task in group}


def _pair_count(sizes: Matrix) -> float:
    """The number of pairs inside groups of these sizes."""
    return float((sizes * (sizes - 1)).sum() / 2)
