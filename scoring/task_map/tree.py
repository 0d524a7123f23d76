"""Trees of tasks: hierarchical clustering of a map, its cuts, Newick; two maps or two clusterings compared."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from scoring.task_map.types import Matrix, TaskMap, TaskMapError

Linkage = Literal["average", "complete", "ward"]
"""How far two clusters are; the paper does not say which it used. Ward takes the distances for Euclidean ones."""
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
    """It is a cluster of the cuts into so many clusters."""
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
        """The branches that are the clusters of this cut, in the tree's order."""
        return tuple(sorted(one for one in self.branches if one.fewest <= clusters <= one.most))

    def groups(self, clusters: int) -> list[tuple[str, ...]]:
        return [self.members(branch) for branch in self.cut(clusters)]

    def newick(self) -> str:
        """The tree as Newick text, whose lengths add up to half of a merge's height on each side."""
        texts: dict[tuple[int, int], str] = {}
        for branch in self.branches:
            parts = [
                f"{texts.pop((one.first, one.last))}:{(branch.height - one.height) / 2:.6g}"
                for one in branch.below
            ]
            label = f"({','.join(parts)})" if parts else _newick_name(self.tasks[branch.first])
            texts[branch.first, branch.last] = label
        return f"{texts[self.root.first, self.root.last]};\n"


def _newick_name(task: str) -> str:
    return task if _UNQUOTED.fullmatch(task) else "'" + task.replace("'", "''") + "'"


def task_tree(found: TaskMap, linkage: Linkage = "average") -> TaskTree:
    """Cluster a map's tasks, neighbours in the order being as near as the tree lets them."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    tasks = len(found.tasks)
    merges = hierarchy.linkage(
        squareform(found.distances, checks=False), linkage, optimal_ordering=True
    )
    order = hierarchy.leaves_list(merges).tolist()
    parents = {int(child): number for number, merge in enumerate(merges) for child in merge[:2]}

    def lives(number: int) -> tuple[int, int]:
        """The fewest and the most clusters of the cuts that it is one of; tasks have the numbers below their count."""
        parent = parents.get(number)
        return 1 if parent is None else tasks - parent, tasks - max(number - tasks + 1, 0)

    places = {leaf: place for place, leaf in enumerate(order)}
    nodes = {}
    for leaf in range(tasks):
        fewest, most = lives(leaf)
        nodes[leaf] = Branch(places[leaf], places[leaf], 0.0, fewest, most, ())
    for number, (left, right, height, _) in enumerate(merges, start=tasks):
        below = tuple(sorted((nodes[int(left)], nodes[int(right)])))
        fewest, most = lives(number)
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
        tuple(found.tasks[leaf] for leaf in order),
        (*(nodes[leaf] for leaf in order), *merged),
    )


class Mantel(NamedTuple):
    """Correlation of two maps over the tasks of both, and how often shuffled tasks correlate as much."""

    tasks: int
    r: float
    p: float


def mantel(first: TaskMap, second: TaskMap) -> Mantel:
    """Mantel's test, one-sided, by permutations of the tasks. Raises TaskMapError below four shared tasks."""
    shared = [task for task in first.tasks if task in second.tasks]
    if len(shared) < 4:
        raise TaskMapError(f"The maps share {len(shared)} tasks; to compare them takes four")
    one, other = (_between(found, shared) for found in (first, second))
    upper = np.triu_indices(len(shared), 1)
    draw = np.random.default_rng(0)
    r = _correlation(one[upper], other[upper])
    orders = (draw.permutation(len(shared)) for _ in range(PERMUTATIONS))
    as_high = sum(
        _correlation(one[np.ix_(order, order)][upper], other[upper]) >= r - 1e-12
        for order in orders
    )
    return Mantel(len(shared), r, (1 + as_high) / (1 + PERMUTATIONS))


def _between(found: TaskMap, tasks: Sequence[str]) -> Matrix:
    places = [found.tasks.index(task) for task in tasks]
    return found.distances[np.ix_(places, places)]


def _correlation(one: Matrix, other: Matrix) -> float:
    """Pearson's correlation; 0 where either does not vary."""
    one = one - one.mean()
    other = other - other.mean()
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread else 0.0


def adjusted_rand(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> float | None:
    """Adjusted Rand index (Hubert and Arabie 1985) of two clusterings over the tasks of both; None below two tasks."""
    here, there = (dict(_labels(groups)) for groups in (first, second))
    shared = [task for task in here if task in there]
    if len(shared) < 2:
        return None
    table = np.zeros((len(first), len(second)))
    np.add.at(table, ([here[task] for task in shared], [there[task] for task in shared]), 1)
    both, rows, columns = (
        float((one * (one - 1)).sum() / 2) for one in (table, table.sum(1), table.sum(0))
    )
    expected = rows * columns / (len(shared) * (len(shared) - 1) / 2)
    most = (rows + columns) / 2
    return (both - expected) / (most - expected) if most != expected else 1.0


def _labels(groups: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
    return ((task, number) for number, group in enumerate(groups) for task in group)
