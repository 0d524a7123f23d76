"""Commands `task-map` and `task-vectors`: map of LoRA adapters that learned a task each, and their training."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from arena.cli.output_paths import refuse_overwriting
from arena.inference.adapter_process import TrainingSettings
from arena.io.tables import COMMAND_LINE
from arena.types import Device
from scoring.cli import progress
from scoring.task_map.files import FILES, map_files, read_distances
from scoring.task_map.orders import tau_curve
from scoring.task_map.published import paper_accuracies, published_curve, tasks_by_cluster
from scoring.task_map.training import make_vectors
from scoring.task_map.tree import CLUSTERS, Linkage, TaskTree, adjusted_rand, mantel, task_tree
from scoring.task_map.types import TaskMap, TaskMapError
from scoring.task_map.vectors import Vector, vector_map
from scoring.web.task_map_view import MapPage, document_html

MODULES = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj"
app = Typer(rich_markup_mode=None)


@app.command("task-map")
def task_map(
    adapters: Annotated[
        Path,
        Argument(
            metavar="ADAPTERS", help="a folder with tasks.csv (task, folder, n) and the adapters"
        ),
    ],
    out: progress.Out,
    vector: Annotated[
        Vector, Option(help="product: cosines of B times A; stacked: of both as stored")
    ] = "product",
    linkage: Annotated[Linkage, Option(help="the distance between two clusters")] = "average",
    clusters: Annotated[int, Option(min=2, max=500, help="the number of clusters")] = CLUSTERS,
    beside: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="distances.csv of another map to compare with; by default the accuracies' map",
        ),
    ] = None,
) -> Iterator[str]:
    """Map the adapters' tasks: distances, clusters, Newick, and a page that shows them."""
    refuse_overwriting((out / name for name in FILES), beside)
    other = read_distances(beside, limits=COMMAND_LINE) if beside else None
    new_map = vector_map(adapters, vector)
    tree = task_tree(new_map, linkage)
    accuracies = paper_accuracies()
    cut = min(clusters, len(tree.tasks))
    files = map_files(new_map, tree, cut, accuracies)
    addresses = {name: name for name in files}  # They are in the page's folder.
    page = MapPage(
        accuracies=accuracies,
        task_map=new_map,
        tree=tree,
        clusters=cut,
        sentences=("Accuracies: the paper's 20.",),
        other=other,
        downloads=addresses,
    )
    yield f"{new_map.source[0].upper()}{new_map.source[1:]}."
    yield from (f"{notice}." for notice in new_map.notices)
    yield from _cluster_lines(tree, cut)
    published = published_curve()
    taus = tau_curve(new_map, accuracies)
    for delta, tau in zip(published, taus, strict=True):
        if tau is not None:
            yield f"tau at delta {delta}: {tau:.3f} (Table 3: {published[delta]:.2f})"
    if other:
        yield from _comparison_lines(new_map, tree, other, cut)
    pages = {**files, "task-map.html": document_html(page)}
    yield progress.write_files({name: text.encode() for name, text in pages.items()}, out)


def _cluster_lines(tree: TaskTree, cut: int) -> Iterator[str]:
    yield f"{len(tree.tasks)} tasks in {cut} clusters, {tree.linkage} linkage:"
    for number, group in enumerate(tree.groups(cut), start=1):
        yield f"{number}: {len(group)} ({', '.join(group[:5])}{', ...' if group[5:] else ''})"
    agreement = adjusted_rand(tree.groups(cut), list(tasks_by_cluster().values()))
    if agreement is not None:
        yield f"adjusted Rand index with the paper's clusters: {agreement:.2f}"


def _comparison_lines(new_map: TaskMap, tree: TaskTree, other: TaskMap, cut: int) -> Iterator[str]:
    try:
        correlation = mantel(new_map, other)
    except TaskMapError as error:
        yield f"beside {other.source}: {error}"
        return
    yield f"beside {other.source}: Mantel r {correlation.r:.3f} over {correlation.tasks} tasks, p {correlation.p:.3f}"
    other_tree = task_tree(other, tree.linkage)
    other_cut = min(cut, len(other_tree.tasks))
    agreement = adjusted_rand(tree.groups(cut), other_tree.groups(other_cut))
    if agreement is not None:
        yield f"adjusted Rand index of both cuts: {agreement:.2f}"


def _check_layers(text: str) -> str:
    """Returns the text of --layers. Raises BadParameter if it has anything but numbers."""
    if text and not all(part.isascii() and part.isdigit() for part in text.split(",")):
        raise BadParameter(f"{text!r} isn't a list of layers. Write numbers, such as 0,1,2.")
    return text


@app.command("task-vectors")
def task_vectors(
    base: Annotated[
        str,
        Option(metavar="HUB", help="a model of images and text: a folder, or a name on the Hub"),
    ],
    questions: Annotated[
        Path, Option(metavar="FILE", help="TSV with pictures and right answers: MMT-Bench_VAL.tsv")
    ],
    out: progress.Out,
    revision: Annotated[
        str | None, Option(metavar="COMMIT", help="the commit, required for a name on the Hub")
    ] = None,
    rank: Annotated[int, Option(min=1, max=512)] = 2,
    alpha: Annotated[int, Option(min=1)] = 4,
    dropout: Annotated[float, Option(min=0, max=0.9)] = 0.05,
    modules: Annotated[
        str, Option(help="linear layers of the text model, separated by commas")
    ] = MODULES,
    layers: Annotated[
        str, Option(callback=_check_layers, help="numbers of its layers; by default all")
    ] = "",
    rate: Annotated[float, Option(min=0)] = 1e-4,
    epochs: Annotated[int, Option(min=1, max=100)] = 3,
    samples: Annotated[
        int | None, Option(min=1, help="at most this many samples of each task; by default all")
    ] = None,
    seed: Annotated[
        int, Option(help="seed of the adapters' shared first numbers, and of the order")
    ] = 0,
    device: Device = "auto",
) -> Iterator[str]:
    """Train a LoRA adapter for each category of a question file. A stopped run goes on where it stopped."""
    if revision is None and not Path(base).is_dir():
        raise BadParameter(
            f"{base} isn't a folder. For a name on the Hub, add its commit with --revision."
        )
    settings = TrainingSettings(
        base=str(Path(base).resolve()) if revision is None else base,
        revision=revision,
        rank=rank,
        alpha=alpha,
        dropout=dropout,
        modules=tuple(module.strip() for module in modules.split(",")),
        layers=tuple(map(int, layers.split(","))) if layers else None,
        rate=rate,
        epochs=epochs,
        seed=seed,
        device=device,
    )
    yield from make_vectors(questions, out, settings, samples)
