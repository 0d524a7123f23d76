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
_UNQUOTED = re.compile(r"[A-Za-z0-9]+")


class Branch(NamedTuple):
    """A cluster of some cuts of a tree: a task alone, or a merge."""

    first: int
    last: int
    """Places of its first and its last task in the tree's order."""
    height: float
    """The distance at which its two parts are merged; 0 for a task."""
    fewest: int
    most: int
    """The cuts into `fewest` to `most` clusters have this cluster."""
    below: tuple["Branch", ...]
    """The two parts of a merge; () for a task."""


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
        """The tree cut into this number of clusters, in the tree's order."""
        branches = [branch for branch in self.branches if branch.fewest <= clusters <= branch.most]
        return tuple(sorted(branches, key=_first_place))

    def groups(self, clusters: int) -> list[tuple[str, ...]]:
        return [self.members(branch) for branch in self.cut(clusters)]

    def newick(self) -> str:
        """The tree as Newick text. From a merge down to any of its tasks, branch lengths add up to half its height."""
        texts: dict[tuple[int, int], str] = {}
        """The text of each branch, by its first and last place, until its merge takes it."""
        for branch in self.branches:
            if not branch.below:
                texts[branch.first, branch.last] = _newick_name(self.tasks[branch.first])
                continue
            parts = []
            for child in branch.below:
                length = (branch.height - child.height) / 2
                parts.append(f"{texts.pop((child.first, child.last))}:{length:.6g}")
            texts[branch.first, branch.last] = f"({','.join(parts)})"
        return f"{texts[self.root.first, self.root.last]};\n"


def _first_place(branch: Branch) -> int:
    return branch.first


def _newick_name(task: str) -> str:
    """A task's name, in quotes if it has other characters than letters and digits: an unquoted _ is a blank."""
    if _UNQUOTED.fullmatch(task):
        return task
    doubled = task.replace("'", "''")
    return f"'{doubled}'"


def task_tree(task_map: TaskMap, linkage: Linkage = "average") -> TaskTree:
    """The tree of a map's tasks, with the order of leaves in which neighbours are as near as the tree allows."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    task_count = len(task_map.tasks)
    merges = hierarchy.linkage(
        squareform(task_map.distances, checks=False), linkage, optimal_ordering=True
    )
    order = hierarchy.leaves_list(merges).tolist()
    # In scipy's numbers the first nodes are the tasks, and the others the merges in their order. A merge has its two
    # parts, their distance and the number of its tasks.
    merge_above = {}
    for index, (left, right, *_) in enumerate(merges):
        merge_above[int(left)] = index
        merge_above[int(right)] = index

    def fewest_clusters(node: int) -> int:
        """The number of clusters just before a node is merged, after `merge_above` merges; 1 for the root."""
        return task_count - merge_above[node] if node in merge_above else 1

    places = {leaf: place for place, leaf in enumerate(order)}
    nodes = {}
    for leaf in range(task_count):
        place = places[leaf]
        nodes[leaf] = Branch(place, place, 0.0, fewest_clusters(leaf), task_count, ())
    for index, (left, right, height, _) in enumerate(merges):
        node = task_count + index
        below = tuple(sorted((nodes[int(left)], nodes[int(right)]), key=_first_place))
        nodes[node] = Branch(
            first=below[0].first,
            last=below[1].last,
            height=float(height),
            fewest=fewest_clusters(node),
            most=task_count - index - 1,
            below=below,
        )
    leaf_branches = [nodes[leaf] for leaf in order]
    merge_branches = [nodes[node] for node in range(task_count, 2 * task_count - 1)]
    return TaskTree(
        linkage=linkage,
        tasks=tuple(task_map.tasks[leaf] for leaf in order),
        branches=(*leaf_branches, *merge_branches),
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
    first_distances = _distances_between(first, shared)
    second_distances = _distances_between(second, shared)
    upper = np.triu_indices(len(shared), 1)
    generator = np.random.default_rng(0)
    r = _correlation(first_distances[upper], second_distances[upper])
    as_high = 0
    for _ in range(PERMUTATIONS):
        order = generator.permutation(len(shared))
        shuffled = first_distances[np.ix_(order, order)]
        shuffled_r = _correlation(shuffled[upper], second_distances[upper])
        if shuffled_r >= r - 1e-12:  # also the same order, which rounding may put just below
            as_high += 1
    return Mantel(len(shared), r, (1 + as_high) / (1 + PERMUTATIONS))


def _distances_between(task_map: TaskMap, tasks: Sequence[str]) -> Matrix:
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
    first_groups = _group_indices(first)
    second_groups = _group_indices(second)
    shared = [task for task in first_groups if task in second_groups]
    if len(shared) < 2:
        return None
    counts = np.zeros((len(first), len(second)))
    for task in shared:
        counts[first_groups[task], second_groups[task]] += 1
    pairs_in_both = _pair_count(counts)
    first_pairs = _pair_count(counts.sum(axis=1))
    second_pairs = _pair_count(counts.sum(axis=0))
    all_pairs = len(shared) * (len(shared) - 1) / 2
    expected = first_pairs * second_pairs / all_pairs
    most = (first_pairs + second_pairs) / 2
    if most == expected:
        return 1.0
    return (pairs_in_both - expected) / (most - expected)


def _group_indices(groups: Sequence[Sequence[str]]) -> dict[str, int]:
    """The index of each task's group."""
    return {task: index for index, group in enumerate(groups) for task in group}


def _pair_count(sizes: Matrix) -> float:
    """The number of pairs inside groups of these sizes."""
    return float((sizes * (sizes - 1)).sum() / 2)
