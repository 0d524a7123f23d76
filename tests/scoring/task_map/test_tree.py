"""Trees have the cuts that scipy and SciPy's tools find, Newick reads back, and maps compare as they should."""

import re

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from arena.io.strict_json import RowsError
from arena.locale import CHINESE
from scoring.task_map.files import map_files, read_distances
from scoring.task_map.tree import adjusted_rand, mantel, task_tree
from scoring.task_map.types import Accuracies, TaskMap, TaskMapError

TASKS = tuple(f"task {number}" for number in range(20))
NOBODY = Accuracies((), TASKS)


def task_map(seed: int, tasks=TASKS, noise: float = 0.3) -> TaskMap:
    """Distances of four groups, task by task."""
    draw = np.random.default_rng(seed)
    points = np.repeat(np.eye(4), 5, axis=0)[: len(tasks)] + noise * draw.normal(
        size=(len(tasks), 4)
    )
    unit = points / np.linalg.norm(points, axis=1)[:, None]
    distances = np.clip(1 - unit @ unit.T, 0, 2)
    np.fill_diagonal(distances, 0)
    return TaskMap("toy", tasks, (distances + distances.T) / 2)


@pytest.mark.parametrize("linkage", ["average", "complete", "ward"])
def test_cuts_are_those_of_scipy(linkage):
    found = task_map(1)
    tree = task_tree(found, linkage)
    merges = hierarchy.linkage(squareform(found.distances), linkage)
    for clusters in (1, 2, 4, 7, 20):
        labels = hierarchy.fcluster(merges, clusters, "maxclust")
        groups = [{TASKS[place] for place in np.flatnonzero(labels == one)} for one in set(labels)]
        mine = tree.groups(clusters)
        assert len(mine) == clusters and sorted(map(sorted, mine)) == sorted(map(sorted, groups))
    assert sorted(tree.tasks) == sorted(TASKS)


def test_newick_names_every_task_and_its_lengths_are_half_the_heights():
    tree = task_tree(task_map(2))
    text = tree.newick()
    assert text.count("(") == text.count(")") == 19 and text.endswith(";\n")
    assert sorted(re.findall(r"'([^']+)'", text)) == sorted(TASKS)
    first = tree.merges[0]
    assert f":{first.height / 2:.6g}" in text
    odd = TaskMap("", ("it's", "b(", "c"), task_map(0).distances[:3, :3])
    assert "'it''s'" in task_tree(odd).newick()
    plain = TaskMap("", ("spot_the_diff", "vqa2", "_"), task_map(0).distances[:3, :3])
    text = task_tree(plain).newick()
    assert "'spot_the_diff':" in text and "'_':" in text, "a bare _ is read as a blank"
    assert "vqa2:" in text and "'vqa2'" not in text


def test_a_map_is_read_back_from_its_file(tmp_path):
    found = task_map(3)
    tree = task_tree(found)
    files = map_files(found, tree, 4, NOBODY)
    path = tmp_path / "distances.csv"
    path.write_text(files["distances.csv"])
    back = read_distances(path)
    assert back.tasks == tree.tasks and mantel(found, back).r == pytest.approx(1, abs=1e-6)
    assert files["clusters.csv"].splitlines()[1] == f"1,{tree.tasks[0]},"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("task,a,b,c\na,0,1,1\nb,1,0,9\nc,1,9,0\n", "row 3, column 'c'.*from 0 to 2"),
        (
            "task,a,b,c\na,0,1,1\nb,0.5,0,1\nc,1,1,0\n",
            r"The distance is 1 one way and 0.5 the other\. Make them equal\.",
        ),
        ("task,a,b\na,0,1\nc,1,0\n", "a column task"),
        ("task,a,b,c\na,0,1,nan\nb,1,0,x\nc,1,1,0\n", "from 0 to 2"),
        ("name,a\na,0\n", "a column task"),
        ("hello", "a column task"),
        ("task,a,b,c\na,0,1,\nb,1,0,\nc,,,0\n", "needs three tasks"),
        (
            "task,a,b,c\na,,.2,.3\nb,.2,1,.5\nc,.3,.5,1\n",
            "row 3, column 'b': A task's distance to itself is 0, and here 1.",
        ),
    ],
)
def test_a_file_that_is_no_map_is_refused_by_its_place(tmp_path, text, told):
    path = tmp_path / "distances.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"(?s){told}") as raised:
        read_distances(path)
    error = raised.value
    problem = error.problem if isinstance(error, RowsError) else str(error)
    assert CHINESE.translated(problem) != problem, "the page shows it in Chinese"


def test_a_row_of_a_json_file_without_a_task_is_named(tmp_path):
    path = tmp_path / "distances.jsonl"
    path.write_text('{"task": "a", "a": 0, "b": 1}\n{"task": "b", "a": 1}\n')
    with pytest.raises(RowsError, match="distances.jsonl, row 2, column 'b': Expected this column"):
        read_distances(path)


def test_mantel_finds_the_same_map_and_not_another():
    same, other = (
        mantel(task_map(1), task_map(1)),
        mantel(task_map(1, noise=9), task_map(7, noise=9)),
    )
    assert same.r == pytest.approx(1) and same.p == 0.001 and same.tasks == 20
    assert abs(other.r) < 0.5 and other.p > 0.01
    with pytest.raises(TaskMapError, match="share 0 tasks"):
        mantel(task_map(1), task_map(1, tuple(f"x{number}" for number in range(20))))


def test_mantel_holds_its_level():
    """Of maps that have nothing in common, one in ten has a p of at most 0.1."""
    low = sum(
        mantel(task_map(seed, TASKS[:10], 9), task_map(seed + 500, TASKS[:10], 9)).p <= 0.1
        for seed in range(20)
    )
    assert low <= 6


def test_adjusted_rand_by_a_published_example():
    """Hubert and Arabie's index: 1 for the same groups under other names, about 0 for chance."""
    here, there = [["a", "b", "c"], ["d", "e", "f"]], [["d", "e", "f"], ["c", "a", "b"]]
    assert adjusted_rand(here, there) == 1
    assert adjusted_rand(here, [["a", "b"], ["c", "d"], ["e", "f"]]) == pytest.approx(
        0.242424, abs=1e-6
    )
    assert adjusted_rand([["a"], ["b"]], [["a"], ["c"]]) is None
    draw = np.random.default_rng(0)
    chance = [
        adjusted_rand(*(np.array_split(draw.permutation(TASKS), 4) for _ in "ab"))
        for _ in range(300)
    ]
    assert abs(np.mean(chance)) < 0.02
