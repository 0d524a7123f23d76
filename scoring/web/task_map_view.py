"""Task map's view: a page's part, and the file that the command writes."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arena.drawing_png import pixels_png
from arena.drawings import lines_drawing, svg
from arena.io.tables import temporary_file
from arena.locale import t, translated
from arena.templates import macros, script
from arena.web import layout
from scoring.benchmarks.mmt_bench import MMTBenchScores, meta_task_words, subtasks
from scoring.task_map.files import FILES, map_files, read_distances
from scoring.task_map.groups import domain_of, group_scores, predict_order
from scoring.task_map.orders import performance_map, tau_curve
from scoring.task_map.published import (
    paper_accuracies,
    published_clusters,
    published_curve,
    tasks_by_cluster,
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
"""The folder of the arena's style sheets."""
_STYLE = (
    *(_SHARED / f"{name}.css" for name in ("tokens", "read", "drawing")),
    _HERE / "task_map.css",
)
"""The style sheets of a map's file."""
_STOPS = (0.0, 0.35, 0.7, 1.0)
"""Shares of the largest distance, from near to far."""
_RAMP = np.array([(49, 46, 129), (99, 102, 241), (199, 210, 254), (248, 250, 252)])
"""Colours (RGB) at these shares; `task_map.css` has them too."""
_GREY = (156, 163, 175)
"""Colour of pairs without a distance."""


class Menu(NamedTuple):
    """A menu of a form: its label, and the words of its options by value."""

    label: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class MapForm:
    """The form of a map: its menus, and the chosen values."""

    choices: Mapping[str, Menu]
    values: Mapping[str, object]


class BackLink(NamedTuple):
    """A link to the page that a map belongs to."""

    address: str
    words: str


@dataclass(frozen=True, eq=False)
class MapPage:
    """The parts of a map's page; without a map, the reason and the paper's clusters alone."""

    accuracies: Accuracies
    """The models' accuracies. The map is made of them, or of other distances, such as a visitor's."""
    task_map: TaskMap | None = None
    tree: TaskTree | None = None
    clusters: int = CLUSTERS
    """The number of clusters that the page opens with; at most that of the tasks."""
    sentences: Sequence[str] = ()
    """The sources of the accuracies, and the limits of the map."""
    problem: str = ""
    """Why there is no map; "" with one."""
    own: ModelAccuracies | None = None
    """The model of the report to which the page belongs."""
    task: str = ""
    """The task whose nearest tasks are listed; "" for none."""
    other: TaskMap | None = None
    """A map to compare with."""
    downloads: Mapping[str, str] = field(default_factory=dict)
    """Addresses by file name."""
    form: MapForm | None = None
    """None for a visitor's own map, and in a file."""
    back: BackLink | None = None
    """None in a file."""


def title_of(page: MapPage) -> str:
    return t("taskmap.title_of", model=page.own.model) if page.own else t("taskmap.title")


def linkage_name(linkage: Linkage) -> str:
    return t(f"taskmap.linkage_{linkage}")


def document_html(page: MapPage) -> str:
    """A map as one file, which needs no server."""
    styles = list(map(script, _STYLE))
    return MAP.document(title_of(page), styles, script(_HERE / "task_map.js"), body_html(page))


def body_html(page: MapPage) -> str:
    """Returns all of a page below its bar."""
    parts = [_head(title_of(page), page)]
    if page.problem:
        parts.append(PARTS.alert(page.problem))
    if page.form:
        parts.append(MAP.form(page.form.choices, page.form.values))
    if page.task_map and page.tree:
        parts += _map_parts(page, page.task_map, page.tree)
    parts.append(_published_clusters(page))
    if page.back:
        parts.append(MAP.own_map_form())
    if page.downloads:
        parts.append(MAP.downloads(page.downloads))
    parts.append(MAP.open_questions())
    return MAP.body(parts)


def map_html(page: MapPage, linkage: Linkage) -> str:
    """Returns the page with the map of its accuracies, or with the reason why there is none."""
    try:
        task_map = performance_map(page.accuracies)
        tree = task_tree(task_map, linkage)
    except TaskMapError as error:
        problem = t("taskmap.no_map", reason=translated(error))
        return body_html(replace(page, problem=problem, downloads={}))
    return body_html(replace(page, task_map=task_map, tree=tree))


def map_file(name: str, accuracies: Accuracies, linkage: Linkage, clusters: int) -> str:
    """A download of the map of accuracies. Raises TaskMapError."""
    task_map = performance_map(accuracies)
    tree = task_tree(task_map, linkage)
    return map_files(task_map, tree, min(clusters, len(tree.tasks)), accuracies)[name]


def own_map_html(content: bytes, name: str, page: MapPage) -> str:
    """Returns the page of a visitor's own distances, beside its accuracies. Raises RowsError, TaskMapError."""
    with temporary_file(content, "distances.csv") as path:
        task_map = read_distances(path, name)
    tree = task_tree(task_map)
    cut = min(CLUSTERS, len(tree.tasks))
    files = map_files(task_map, tree, cut, page.accuracies)
    downloads = {}
    for file_name in FILES[1:]:  # the first, the distances, came from the visitor
        content_base64 = base64.b64encode(files[file_name].encode()).decode()
        downloads[file_name] = f"data:text/plain;base64,{content_base64}"
    map_page = replace(
        page,
        task_map=task_map,
        tree=tree,
        clusters=cut,
        other=performance_map(page.accuracies),
        downloads=downloads,
    )
    return body_html(map_page)


def warm() -> None:
    """Reads the tables that every map needs."""
    map_html(MapPage(paper_accuracies()), "average")


def clusters_html(scores: MMTBenchScores, link: str) -> str:
    """The paper's clusters in a report."""
    return REPORT.together([sheet_html(cluster_sheet(scores)), MAP.map_link(link)])


def _head(title: str, page: MapPage) -> str:
    task_map = page.task_map
    source = t("taskmap.tasks_alone")
    if task_map:
        source = t("taskmap.source", source=task_map.source)
    notes = []
    if task_map is None or task_map.of_accuracies:
        notes.append(t("taskmap.no_substitute"))
    notes += page.sentences
    if task_map:
        notes += task_map.notices
    left_out = _task_names(task_map.left_out if task_map else ())
    return MAP.head(title, page.back, source, left_out, notes)


def _map_parts(page: MapPage, task_map: TaskMap, tree: TaskTree) -> Iterator[str]:
    cut = min(page.clusters, len(tree.tasks))
    own = page.own.accuracies if page.own else {}
    yield _heat_map(task_map, tree, cut)
    yield _subtask_table(page, tree)
    rows = []
    for branch in _cut_branches(tree):
        tasks = tree.members(branch)
        scores = group_scores(tasks, page.accuracies)
        rows.append((branch, scores, _own_mean(own, tasks), _task_names(tasks)))
    yield MAP.clusters(rows, cut, page.own.model if page.own else "")
    yield _tau_curve(page.accuracies, task_map)
    if page.task in task_map.tasks:
        yield _nearest_tasks(page, task_map)
    if page.other:
        yield _comparison(task_map, tree, page.other, cut)


def _cut_branches(tree: TaskTree) -> Sequence[Branch]:
    """The branches that a cut on the page can have, in the tree's order."""
    most_clusters = _most_clusters(tree)
    # the slider goes from 2 to this number
    return sorted(
        branch for branch in tree.branches if branch.fewest <= most_clusters and branch.most >= 2
    )


def _most_clusters(tree: TaskTree) -> int:
    """The most clusters that the page's slider can choose."""
    return min(MOST_CLUSTERS, len(tree.tasks))


def _heat_map(task_map: TaskMap, tree: TaskTree, cut: int) -> str:
    """Draws the distances in the tree's order beside the tree; tasks without distances come last, in grey."""
    size = len(tree.tasks) + len(task_map.left_out)
    order = [task_map.tasks.index(task) for task in tree.tasks]
    distances = np.full((size, size), np.nan)
    distances[: len(order), : len(order)] = task_map.distances[np.ix_(order, order)]
    largest = float(np.nanmax(distances)) or 1.0
    png = base64.b64encode(pixels_png(_pixels(distances / largest), size, size)).decode()
    pairs = distances[np.tril_indices(size, -1)].tolist()
    # task_map.js shows the distance, in thousandths, of the pair under the pointer
    data = {
        "names": _task_names([*tree.tasks, *task_map.left_out]),
        "far": [None if np.isnan(distance) else round(1000 * distance) for distance in pairs],
        "pair": t("taskmap.pair"),
        "none": t("taskmap.no_distance"),
    }
    # by rank, the root's 1 first: a cut into n clusters undoes the merges with a rank below n
    lines = [(_path(branch, tree), branch.most) for branch in reversed(tree.merges)]
    return MAP.heat(
        png=png,
        size=size,
        tasks=len(tree.tasks),
        lines=lines,
        boxes=_cut_branches(tree),
        clusters=cut,
        most=_most_clusters(tree),
        linkage=linkage_name(tree.linkage),
        least="0",
        far=f"{largest:.2f}",
        data=data,
    )


def _pixels(shares: np.ndarray) -> bytes:
    """Returns RGB bytes of distances as shares of the largest; NaN is grey."""
    channels = [np.interp(np.nan_to_num(shares), _STOPS, channel) for channel in _RAMP.T]
    pixels = np.where(np.isnan(shares)[..., None], _GREY, np.stack(channels, axis=-1).round())
    return pixels.astype(np.uint8).tobytes()


def _path(branch: Branch, tree: TaskTree) -> str:
    """A merge as an SVG path: its root at 0, tasks at 100, a unit down for each task."""
    highest = tree.root.height or 1.0
    first, second = branch.below
    x = 100 * (1 - branch.height / highest)
    first_end = 100 * (1 - first.height / highest)
    second_end = 100 * (1 - second.height / highest)
    return f"M{first_end:.4g} {_middle(first):.5g}H{x:.4g}V{_middle(second):.5g}H{second_end:.4g}"


def _middle(branch: Branch) -> float:
    """Returns where a branch is drawn, in rows: between its two branches, or for a task the middle of its row."""
    if not branch.below:
        return branch.first + 0.5
    return sum(map(_middle, branch.below)) / 2


def _subtask_table(page: MapPage, tree: TaskTree) -> str:
    """The tree's tasks by name, with the accuracy of the page's own model, else with the mean of all."""
    means = page.own.accuracies if page.own else _mean_accuracies(page.accuracies, tree.tasks)
    source = t("taskmap.mean_accuracy")
    if page.own:
        source = t("taskmap.accuracy_of", model=page.own.model)
    paper_tasks = subtasks()
    rows = []
    for task, name in zip(tree.tasks, _task_names(tree.tasks), strict=True):
        meta_task = meta_task_words(paper_tasks[task].meta_task) if task in paper_tasks else ""
        rows.append((name, meta_task, domain_of(task), means.get(task)))
    return MAP.subtasks(len(rows), rows, source)


def _mean_accuracies(accuracies: Accuracies, tasks: Sequence[str]) -> Mapping[str, float]:
    """The mean accuracy of the models on each task, in percent; without tasks that no model has."""
    means = {task: group_scores([task], accuracies).accuracy for task in tasks}
    return {task: mean for task, mean in means.items() if mean is not None}


def _own_mean(own: Mapping[str, float], tasks: Sequence[str]) -> float | None:
    """The mean of a model's accuracies on these tasks; None if it has none of them."""
    accuracies = [own[task] for task in tasks if task in own]
    return sum(accuracies) / len(accuracies) if accuracies else None


def _tau_curve(accuracies: Accuracies, task_map: TaskMap) -> str:
    """Tau by the distance of tasks, beside the paper's; a note if there is none."""
    values = tau_curve(task_map, accuracies)
    if all(value is None for value in values):
        if accuracies.are_enough:
            return MAP.note_lines([t("taskmap.no_tau_tasks")])
        return MAP.note_lines([t("taskmap.no_tau_models", count=len(accuracies.models))])
    paper = published_curve()
    deltas: list[Fraction] = list(paper)
    rows = list(zip(deltas, values, paper.values(), strict=True))
    values_text = t("headline.and").join(
        t("taskmap.tau_at", delta=delta, own=number(own, 3), paper=paper_tau)
        for delta, own, paper_tau in rows
    )
    lines = {t("taskmap.this_map"): values, t("taskmap.papers_table"): list(paper.values())}
    drawing = lines_drawing(
        t("taskmap.curve_title"),
        values_text,
        [f"delta {delta}" for delta in deltas],
        lines,
        least=0.1,
        decimals=3,
    )
    return MAP.curve(svg(drawing, "tau-delta"), rows, task_map.of_accuracies)


def _nearest_tasks(page: MapPage, task_map: TaskMap) -> str:
    """The nearest tasks to the chosen one, and the models' order that they predict."""
    prediction = predict_order(task_map, page.task, page.accuracies)
    nearest = [(_task_name(task), distance) for task, distance in prediction.nearest]
    own_place = next((place for place in prediction.places if place.model is page.own), None)
    name = _task_name(page.task)
    return MAP.nearest(name, nearest, prediction, own_place, task_map.of_accuracies)


def _comparison(task_map: TaskMap, tree: TaskTree, other: TaskMap, cut: int) -> str:
    """How alike two maps are, in their distances and in their clusters."""
    try:
        other_tree = task_tree(other, tree.linkage)
        other_groups = other_tree.groups(min(cut, len(other_tree.tasks)))
        agreement = adjusted_rand(tree.groups(cut), other_groups)
        return MAP.compared(other.source, mantel(task_map, other), agreement, cut)
    except TaskMapError as error:
        return MAP.note_lines([translated(error)])


def _published_clusters(page: MapPage) -> str:
    """The paper's clusters, with the models' scores in each."""
    own = page.own.accuracies if page.own else {}
    rows = []
    for cluster in published_clusters():
        tasks = tasks_by_cluster()[cluster.number]
        scores = group_scores(tasks, page.accuracies)
        rows.append((cluster, scores, _own_mean(own, tasks), _task_names(tasks)))
    agreement = None
    if page.tree:
        cut = min(page.clusters, len(page.tree.tasks))
        agreement = adjusted_rand(page.tree.groups(cut), list(tasks_by_cluster().values()))
    return MAP.published(rows, page.own.model if page.own else "", page.accuracies, agreement)


def _task_name(task: str) -> str:
    """The paper's name of a task; the task itself if it has none."""
    paper_task = subtasks().get(task)
    return paper_task.name if paper_task else task


def _task_names(tasks: Sequence[str]) -> list[str]:
    return list(map(_task_name, tasks))
