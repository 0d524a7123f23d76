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
from arena.locale import t, translated
from arena.templates import macros, script
from arena.web import layout
from scoring.benchmarks.mmt_bench import MMTBenchScores, meta_task_words, subtasks
from scoring.task_map.files import FILES, map_files, read_distances
from scoring.task_map.groups import domain_of, group_scores, predict_order
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
"""The style sheets of a map's file."""
_STOPS = (0.0, 0.35, 0.7, 1.0)
_RAMP = np.array([(49, 46, 129), (99, 102, 241), (199, 210, 254), (248, 250, 252)])
"""Colours at these shares of the largest distance; `task_map.css` has them too."""
_GREY = (156, 163, 175)


@dataclass(frozen=True)
class MapForm:
    """The form of a map: each select's label and options by value, and the chosen values."""

    choices: Mapping[str, tuple[str, Mapping[str, str]]]
    values: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class MapPage:
    """The parts of a map's page; without a map, the reason and the paper's clusters alone."""

    accuracies: Accuracies
    task_map: TaskMap | None = None
    tree: TaskTree | None = None
    clusters: int = CLUSTERS
    sentences: Sequence[str] = ()
    """The sources of the accuracies, and the limits of the map."""
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
    return t("taskmap.title_of", model=page.own.model) if page.own else t("taskmap.title")


def linkage_name(linkage: Linkage) -> str:
    return t(f"taskmap.linkage_{linkage}")


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
    if page.task_map and page.tree:
        parts += _map_parts(page, page.task_map, page.tree)
    parts.append(_published(page))
    if page.back:
        parts.append(MAP.brings())
    if page.downloads:
        parts.append(MAP.downloads(page.downloads))
    parts.append(MAP.open())
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


def brought_html(content: bytes, name: str, page: MapPage) -> str:
    """Returns the page of a visitor's own distances, beside its accuracies. Raises RowsError, TaskMapError."""
    with temporary_file(content, "distances.csv") as path:
        task_map = read_distances(path, name)
    tree = task_tree(task_map)
    cut = min(CLUSTERS, len(tree.tasks))
    files = map_files(task_map, tree, cut, page.accuracies)
    downloads = {
        file_name: f"data:text/plain;base64,{base64.b64encode(files[file_name].encode()).decode()}"
        for file_name in FILES[1:]
    }
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
    return REPORT.together([sheet_html(cluster_sheet(scores)), MAP.leads(link)])


def _head(title: str, page: MapPage) -> str:
    source = t("taskmap.tasks_alone")
    if page.task_map:
        source = t("taskmap.source", source=page.task_map.source)
    is_of_accuracies = page.task_map is None or page.task_map.of_accuracies
    notes = [t("taskmap.no_substitute")] if is_of_accuracies else []
    sentences = [*notes, *page.sentences, *(page.task_map.notices if page.task_map else ())]
    return MAP.head(
        title, page.back, source, _names(page.task_map.left_out if page.task_map else ()), sentences
    )


def _map_parts(page: MapPage, task_map: TaskMap, tree: TaskTree) -> Iterator[str]:
    cut = min(page.clusters, len(tree.tasks))
    own = page.own.accuracies if page.own else {}
    yield _heat(task_map, tree, cut)
    yield _subtask_table(page, tree)
    scored = [(branch, tree.members(branch)) for branch in _of_cuts(tree)]
    rows = [
        (branch, group_scores(tasks, page.accuracies), _mean(own, tasks), _names(tasks))
        for branch, tasks in scored
    ]
    yield MAP.clusters(rows, cut, page.own.model if page.own else "")
    yield _curve(page.accuracies, task_map)
    if page.task in task_map.tasks:
        yield _nearest(page, task_map)
    if page.other:
        yield _compared(task_map, tree, page.other, cut)


def _of_cuts(tree: TaskTree) -> Sequence[Branch]:
    """The branches that a cut on the page can have, in the tree's order."""
    most = _most(tree)
    return sorted(branch for branch in tree.branches if branch.fewest <= most and branch.most >= 2)


def _most(tree: TaskTree) -> int:
    return min(MOST_CLUSTERS, len(tree.tasks))


def _heat(task_map: TaskMap, tree: TaskTree, cut: int) -> str:
    size = len(tree.tasks) + len(task_map.left_out)
    order = [task_map.tasks.index(task) for task in tree.tasks]
    distances = np.full((size, size), np.nan)
    distances[: len(order), : len(order)] = task_map.distances[np.ix_(order, order)]
    most = float(np.nanmax(distances)) or 1.0
    png = base64.b64encode(pixels_png(_pixels(distances / most), size, size)).decode()
    below = distances[np.tril_indices(size, -1)]
    far = [None if np.isnan(value) else round(1000 * value) for value in below.tolist()]
    names = _names([*tree.tasks, *task_map.left_out])
    words = {"pair": t("taskmap.pair"), "none": t("taskmap.no_distance")}
    data = {"names": names, "far": far, **words}
    lines = [(_path(branch, tree), branch.most) for branch in reversed(tree.merges)]
    return MAP.heat(
        png=png,
        size=size,
        tasks=len(tree.tasks),
        lines=lines,
        boxes=_of_cuts(tree),
        clusters=cut,
        most=_most(tree),
        linkage=linkage_name(tree.linkage),
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
    first, second = branch.below
    x = 100 * (1 - branch.height / highest)
    first_end = 100 * (1 - first.height / highest)
    second_end = 100 * (1 - second.height / highest)
    return f"M{first_end:.4g} {_middle(first):.5g}H{x:.4g}V{_middle(second):.5g}H{second_end:.4g}"


def _middle(branch: Branch) -> float:
    """Returns the height of a branch in the order: between its two, or for a task the middle of its row."""
    return sum(map(_middle, branch.below)) / 2 if branch.below else branch.first + 0.5


def _subtask_table(page: MapPage, tree: TaskTree) -> str:
    means = page.own.accuracies if page.own else _means(page.accuracies, tree.tasks)
    source = t("taskmap.mean_accuracy")
    if page.own:
        source = t("taskmap.accuracy_of", model=page.own.model)
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
    return MAP.subtasks(len(rows), rows, source)


def _means(accuracies: Accuracies, tasks: Sequence[str]) -> Mapping[str, float]:
    scored = ((task, group_scores([task], accuracies).accuracy) for task in tasks)
    return {task: mean for task, mean in scored if mean is not None}


def _mean(own: Mapping[str, float], tasks: Sequence[str]) -> float | None:
    known = [own[task] for task in tasks if task in own]
    return sum(known) / len(known) if known else None


def _curve(accuracies: Accuracies, task_map: TaskMap) -> str:
    values = tau_curve(task_map, accuracies)
    if all(value is None for value in values):
        if accuracies.are_enough:
            return MAP.note_lines([t("taskmap.no_tau_tasks")])
        return MAP.note_lines([t("taskmap.no_tau_models", count=len(accuracies.models))])
    paper = published_curve()
    deltas: list[Fraction] = list(paper)
    rows = list(zip(deltas, values, paper.values(), strict=True))
    values_text = t("headline.and").join(
        t("taskmap.tau_at", delta=delta, own=number(own, 3), paper=there)
        for delta, own, there in rows
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


def _nearest(page: MapPage, task_map: TaskMap) -> str:
    prediction = predict_order(task_map, page.task, page.accuracies)
    names = _names([task for task, _ in prediction.nearest])
    near = [(name, distance) for name, (_, distance) in zip(names, prediction.nearest, strict=True)]
    mine = next((place for place in prediction.places if place[0] is page.own), None)
    return MAP.nearest(_names([page.task])[0], near, prediction, mine, task_map.of_accuracies)


def _compared(task_map: TaskMap, tree: TaskTree, other: TaskMap, cut: int) -> str:
    try:
        there = task_tree(other, tree.linkage)
        agreement = adjusted_rand(tree.groups(cut), there.groups(min(cut, len(there.tasks))))
        return MAP.compared(other.source, mantel(task_map, other), agreement, cut)
    except TaskMapError as error:
        return MAP.note_lines([translated(error)])


def _published(page: MapPage) -> str:
    own = page.own.accuracies if page.own else {}
    rows = []
    for cluster in published_clusters():
        tasks = clusters()[cluster.number]
        scores = group_scores(tasks, page.accuracies)
        rows.append((cluster, scores, _mean(own, tasks), _names(tasks)))
    agreement = None
    if page.tree:
        agreement = adjusted_rand(
            page.tree.groups(min(page.clusters, len(page.tree.tasks))), list(clusters().values())
        )
    return MAP.published(rows, page.own.model if page.own else "", page.accuracies, agreement)


def _names(tasks: Sequence[str]) -> list[str]:
    return [subtasks()[task].name if task in subtasks() else task for task in tasks]
