"""Task map's view: a page's part, and the file that the command writes."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from arena.drawing_png import pixels_png
from arena.drawings import lines_drawing, svg
from arena.io.tables import temporary_file
from arena.templates import macros, script
from arena.web import layout
from scoring.benchmarks.mmt_bench import MMTBenchScores, meta_task_words, subtasks
from scoring.task_map.files import FILES, map_files, read_distances
from scoring.task_map.groups import domain_of, group_scores, predicted
from scoring.task_map.orders import performance_map, tau_curve
from scoring.task_map.published import (
    clusters,
    paper_accuracies,
    published_clusters,
    published_curve,
)
from scoring.task_map.sheets import cluster_sheet
from scoring.task_map.tree import (
    CLUSTERS,
    MOST_CLUSTERS,
    Branch,
    Linkage,
    TaskTree,
    adjusted_rand,
    mantel,
    task_tree,
)
from scoring.task_map.types import Accuracies, ModelAccuracies, TaskMap, TaskMapError
from scoring.web.report_parts import PARTS, REPORT, number, sheet_html

MAP = macros("task_map.html")
_HERE = Path(__file__).parent
_SHARED = Path(layout.__file__).parent
_STYLE = (
    *(_SHARED / f"{name}.css" for name in ("tokens", "read", "drawing")),
    _HERE / "task_map.css",
)
"""What a file of a map needs of the pages' style."""
TITLE = "Task map"
_NO_SUBSTITUTE = (
    "Two tasks are near where they rank models alike. A map of accuracies is no substitute for the paper's, which is "
    "of task vectors: its clusters have little in common with the published ones."
)
_STOPS = (0.0, 0.35, 0.7, 1.0)
_RAMP = np.array([(49, 46, 129), (99, 102, 241), (199, 210, 254), (248, 250, 252)])
"""Colours at these shares of the largest distance; `task_map.css` has them too."""
_GREY = (156, 163, 175)
LINKAGES: Mapping[Linkage, str] = {"average": "average", "ward": "Ward", "complete": "complete"}


@dataclass(frozen=True)
class MapForm:
    """What a visitor may choose: of each select its label and its options by value, and what is chosen."""

    choices: Mapping[str, tuple[str, Mapping[str, str]]]
    values: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class MapPage:
    """What a page shows of a map; without one, why, and the paper's clusters alone."""

    accuracies: Accuracies
    found: TaskMap | None = None
    tree: TaskTree | None = None
    clusters: int = CLUSTERS
    sentences: Sequence[str] = ()
    """Whose the accuracies are, and what limits the map."""
    problem: str = ""
    own: ModelAccuracies | None = None
    task: str = ""
    other: TaskMap | None = None
    """A map to compare with."""
    downloads: Mapping[str, str] = field(default_factory=dict)
    """Addresses by file name."""
    form: MapForm | None = None
    back: tuple[str, str] | None = None


def title_of(page: MapPage) -> str:
    return f"{TITLE}: {page.own.model}" if page.own else TITLE


def document_html(page: MapPage) -> str:
    """A map as one file, which needs no server."""
    styles = list(map(script, _STYLE))
    return MAP.document(title_of(page), styles, script(_HERE / "task_map.js"), body_html(page))


def body_html(page: MapPage) -> str:
    parts = [_head(title_of(page), page)]
    if page.problem:
        parts.append(PARTS.alert(page.problem))
    if page.form:
        parts.append(MAP.form(page.form.choices, page.form.values))
    if page.found and page.tree:
        parts += _of_map(page, page.found, page.tree)
    parts.append(_published(page))
    if page.back:
        parts.append(MAP.brings())
    if page.downloads:
        parts.append(MAP.downloads(page.downloads))
    parts.append(MAP.open())
    return MAP.body(parts)


def map_html(page: MapPage, linkage: Linkage) -> str:
    """The page of the map of its accuracies, or why there is none."""
    try:
        found = performance_map(page.accuracies)
        tree = task_tree(found, linkage)
    except TaskMapError as error:
        return body_html(replace(page, problem=f"There is no map: {error}.", downloads={}))
    return body_html(replace(page, found=found, tree=tree))


def map_file(name: str, accuracies: Accuracies, linkage: Linkage, clusters: int) -> str:
    """A download of the map of accuracies. Raises TaskMapError."""
    found = performance_map(accuracies)
    tree = task_tree(found, linkage)
    return map_files(found, tree, min(clusters, len(tree.tasks)), accuracies)[name]


def brought_html(content: bytes, name: str, page: MapPage) -> str:
    """The page of a visitor's own distances, beside its accuracies. Raises RowsError, TaskMapError."""
    with temporary_file(content, "distances.csv") as path:
        found = read_distances(path, name)
    tree = task_tree(found)
    cut = min(CLUSTERS, len(tree.tasks))
    files = map_files(found, tree, cut, page.accuracies)
    inside = {one: base64.b64encode(files[one].encode()).decode() for one in FILES[1:]}
    shown = replace(
        page,
        found=found,
        tree=tree,
        clusters=cut,
        other=performance_map(page.accuracies),
        downloads={one: f"data:text/plain;base64,{text}" for one, text in inside.items()},
    )
    return body_html(shown)


def warm() -> None:
    """Read the tables that every map needs."""
    map_html(MapPage(paper_accuracies()), "average")


def clusters_html(scores: MMTBenchScores, link: str) -> str:
    """The paper's clusters in a report."""
    return REPORT.together([sheet_html(cluster_sheet(scores)), MAP.leads(link)])


def _head(title: str, page: MapPage) -> str:
    source = (
        f"Distances between tasks, made of {page.found.source}."
        if page.found
        else "Tasks and their clusters."
    )
    notes = [_NO_SUBSTITUTE] if page.found is None or page.found.of_accuracies else []
    sentences = [*notes, *page.sentences, *(page.found.notices if page.found else ())]
    return MAP.head(
        title, page.back, source, _names(page.found.left_out if page.found else ()), sentences
    )


def _of_map(page: MapPage, found: TaskMap, tree: TaskTree) -> Iterator[str]:
    cut = min(page.clusters, len(tree.tasks))
    own = page.own.accuracies if page.own else {}
    yield _heat(found, tree, cut)
    yield _named(page, tree)
    scored = [(branch, tree.members(branch)) for branch in _of_cuts(tree)]
    rows = [
        (branch, group_scores(tasks, page.accuracies), _mean(own, tasks), _names(tasks))
        for branch, tasks in scored
    ]
    yield MAP.clusters(rows, cut, page.own.model if page.own else "")
    yield _curve(page.accuracies, found)
    if page.task in found.tasks:
        yield _nearest(page, found)
    if page.other:
        yield _compared(found, tree, page.other, cut)


def _of_cuts(tree: TaskTree) -> Sequence[Branch]:
    """The branches that a cut on the page can have, in the tree's order."""
    most = _most(tree)
    return sorted(branch for branch in tree.branches if branch.fewest <= most and branch.most >= 2)


def _most(tree: TaskTree) -> int:
    return min(MOST_CLUSTERS, len(tree.tasks))


def _heat(found: TaskMap, tree: TaskTree, cut: int) -> str:
    size = len(tree.tasks) + len(found.left_out)
    order = [found.tasks.index(task) for task in tree.tasks]
    distances = np.full((size, size), np.nan)
    distances[: len(order), : len(order)] = found.distances[np.ix_(order, order)]
    most = float(np.nanmax(distances)) or 1.0
    png = base64.b64encode(pixels_png(_pixels(distances / most), size, size)).decode()
    below = distances[np.tril_indices(size, -1)]
    far = [None if np.isnan(value) else round(1000 * value) for value in below.tolist()]
    data = {"names": _names([*tree.tasks, *found.left_out]), "far": far}
    lines = [(_path(branch, tree), branch.most) for branch in reversed(tree.merges)]
    return MAP.heat(
        png=png,
        size=size,
        tasks=len(tree.tasks),
        lines=lines,
        boxes=_of_cuts(tree),
        clusters=cut,
        most=_most(tree),
        linkage=LINKAGES[tree.linkage],
        least="0",
        far=f"{most:.2f}",
        data=data,
    )


def _pixels(shares: np.ndarray) -> bytes:
    channels = [np.interp(np.nan_to_num(shares), _STOPS, channel) for channel in _RAMP.T]
    pixels = np.where(np.isnan(shares)[..., None], _GREY, np.stack(channels, axis=-1).round())
    return pixels.astype(np.uint8).tobytes()


def _path(branch: Branch, tree: TaskTree) -> str:
    """A merge as an SVG path: its root at 0, tasks at 100, a unit down for each task."""
    highest = tree.root.height or 1.0
    one, other = branch.below
    x = 100 * (1 - branch.height / highest)
    ends = [100 * (1 - below.height / highest) for below in (one, other)]
    return f"M{ends[0]:.4g} {_middle(one):.5g}H{x:.4g}V{_middle(other):.5g}H{ends[1]:.4g}"


def _middle(branch: Branch) -> float:
    """Where a branch stands in the order: between its two, a task in the middle of its row."""
    return sum(map(_middle, branch.below)) / 2 if branch.below else branch.first + 0.5


def _named(page: MapPage, tree: TaskTree) -> str:
    means = page.own.accuracies if page.own else _means(page.accuracies, tree.tasks)
    whose = f"the accuracy of {page.own.model}" if page.own else "the models' mean accuracy"
    known = subtasks()
    rows = [
        (
            name,
            meta_task_words(known[task].meta_task) if task in known else "",
            domain_of(task),
            means.get(task),
        )
        for task, name in zip(tree.tasks, _names(tree.tasks), strict=True)
    ]
    return MAP.named(len(rows), rows, whose)


def _means(accuracies: Accuracies, tasks: Sequence[str]) -> Mapping[str, float]:
    scored = ((task, group_scores([task], accuracies).accuracy) for task in tasks)
    return {task: mean for task, mean in scored if mean is not None}


def _mean(own: Mapping[str, float], tasks: Sequence[str]) -> float | None:
    known = [own[task] for task in tasks if task in own]
    return sum(known) / len(known) if known else None


def _curve(accuracies: Accuracies, found: TaskMap) -> str:
    values = tau_curve(found, accuracies)
    if all(value is None for value in values):
        why = (
            "no accuracies of these tasks"
            if accuracies.are_enough
            else f"{len(accuracies.models)} models, not five"
        )
        return MAP.said([f"There is no tau here: {why}."])
    paper = published_curve()
    deltas: list[Fraction] = list(paper)
    rows = list(zip(deltas, values, paper.values(), strict=True))
    title = "Kendall's tau of tasks within delta of each other"
    told = "; ".join(
        f"delta {delta}: {number(own, 3)} here, {there:.2f} in the paper"
        for delta, own, there in rows
    )
    lines = {"This map": values, "The paper's Table 3": list(paper.values())}
    drawing = lines_drawing(
        title, told, [f"delta {delta}" for delta in deltas], lines, least=0.1, decimals=3
    )
    return MAP.curve(svg(drawing, "tau-delta"), rows, found.of_accuracies)


def _nearest(page: MapPage, found: TaskMap) -> str:
    prediction = predicted(found, page.task, page.accuracies)
    names = _names([task for task, _ in prediction.nearest])
    near = [(name, distance) for name, (_, distance) in zip(names, prediction.nearest, strict=True)]
    mine = next((one for one in prediction.places if one[0] is page.own), None)
    return MAP.nearest(_names([page.task])[0], near, prediction, mine, found.of_accuracies)


def _compared(found: TaskMap, tree: TaskTree, other: TaskMap, cut: int) -> str:
    try:
        there = task_tree(other, tree.linkage)
        agreement = adjusted_rand(tree.groups(cut), there.groups(min(cut, len(there.tasks))))
        return MAP.compared(other.source, mantel(found, other), agreement, cut)
    except TaskMapError as error:
        return MAP.said([f"{error}."])


def _published(page: MapPage) -> str:
    own = page.own.accuracies if page.own else {}
    rows = [
        (one, group_scores(tasks, page.accuracies), _mean(own, tasks), _names(tasks))
        for one in published_clusters()
        for tasks in [clusters()[one.number]]
    ]
    agreement = None
    if page.tree:
        agreement = adjusted_rand(
            page.tree.groups(min(page.clusters, len(page.tree.tasks))), list(clusters().values())
        )
    return MAP.published(rows, page.own.model if page.own else "", page.accuracies, agreement)


def _names(tasks: Sequence[str]) -> list[str]:
    return [subtasks()[task].name if task in subtasks() else task for task in tasks]
