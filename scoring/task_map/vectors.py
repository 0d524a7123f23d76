"""Task vectors: cosines between adapters, of the products B A or of the stacked factors, streamed in little memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.io.strict_json import RowsError
from arena.io.tables import read_json
from scoring.task_map.adapters import CHUNK, Adapter, Adapters, Factors, read_adapters
from scoring.task_map.types import Matrix, TaskMap, complete_map

Vector = Literal["product", "stacked"]
"""product: each module's change B A, scaled by alpha, which does not depend on the factors' basis. stacked: A and B as
stored, so that two vectors are near by their first A alone, unless it is another one. The paper does not say which."""
TRAINING = "training.json"
_TILE = 40_000_000
"""Numbers of a tile of adapters, of which two are in memory."""
_SAME_START = 0.5
"""Cosine of two trained A below which they did not start from one seed: fresh ones have about 0."""


def vector_map(folder: Path, vector: Vector = "product") -> TaskMap:
    """The map of a folder of adapters. Raises RowsError, and TaskMapError where fewer than three can be compared."""
    found = read_adapters(folder)
    notices = [*_told(found), *_seed_told(folder, vector)]
    gram = (
        product_gram(found.chosen)
        if vector == "product"
        else stacked_gram(found.chosen, ("a", "b"))
    )
    if vector == "stacked":
        notices += _starts_told(found.chosen, gram)
    first = found.chosen[0]
    told = (
        f"rank {first.settings['rank']}, {len(first.modules)} modules of {first.settings['base']}"
    )
    source = f"{len(found.chosen)} task vectors ({vector} of LoRA factors; {told})"
    tasks = (*(one.task for one in found.chosen), *found.left_out)
    distances = np.full((len(tasks), len(tasks)), np.nan)
    distances[: len(gram), : len(gram)] = 1 - cosines(gram)
    return complete_map(source, tasks, distances, notices=tuple(notices))


def cosines(gram: Matrix) -> Matrix:
    """NaN for a vector without length."""
    lengths = np.sqrt(np.diag(gram))
    by = np.outer(lengths, lengths)
    return np.clip(np.divide(gram, by, out=np.full_like(gram, np.nan), where=by > 0), -1, 1)


def product_gram(adapters: Sequence[Adapter]) -> Matrix:
    """Inner products of the changes, module by module: <B1 A1, B2 A2> is the sum of (B1' B2) times (A1 A2')."""
    gram = np.zeros((len(adapters),) * 2)
    for module, factors in adapters[0].modules.items():
        step = max(1, _TILE // (factors.a.size + factors.b.size))
        for start in range(0, len(adapters), step):
            here = _tile([one.modules[module] for one in adapters[start : start + step]])
            for other in range(start, len(adapters), step):
                there = here
                if other != start:
                    there = _tile([one.modules[module] for one in adapters[other : other + step]])
                block = _products(here, there, factors.a.shape[0])
                gram[start : start + step, other : other + step] += block
    gram = np.triu(gram) + np.triu(gram, 1).T
    scales = np.array([one.scale for one in adapters])
    return gram * np.outer(scales, scales)


_Tile: TypeAlias = tuple[NDArray[np.floating], NDArray[np.floating]]
"""A, and B turned, of one module: (tasks * rank, in) and (tasks * rank, out); float32, unless stored more finely."""


def _tile(factors: Sequence[Factors]) -> _Tile:
    rank, width = factors[0].a.shape
    height = factors[0].b.shape[0]
    kind = np.float64 if any(one.a.dtype == "F64" for one in factors) else np.float32
    a, b = (np.empty((len(factors), rank, size), kind) for size in (width, height))
    for place, one in enumerate(factors):
        a[place] = one.a.read().reshape(one.a.shape)
        b[place] = one.b.read().reshape(one.b.shape).T
    return a.reshape(-1, width), b.reshape(-1, height)


def _products(here: _Tile, there: _Tile, rank: int) -> Matrix:
    both = (here[0] @ there[0].T) * (here[1] @ there[1].T)
    return both.reshape(len(here[0]) // rank, rank, len(there[0]) // rank, rank).sum(
        axis=(1, 3), dtype=float
    )


def stacked_gram(adapters: Sequence[Adapter], letters: Sequence[Literal["a", "b"]]) -> Matrix:
    """Inner products of these factors as stored."""
    gram = np.zeros((len(adapters),) * 2)
    for module in adapters[0].modules:
        for letter in letters:
            tensors = [getattr(one.modules[module], letter) for one in adapters]
            for start in range(0, tensors[0].size, CHUNK):
                block = np.empty((len(tensors), min(CHUNK, tensors[0].size - start)))
                for row, tensor in zip(block, tensors, strict=True):
                    row[:] = tensor.read(start, CHUNK)
                gram += block @ block.T
    return gram


def _told(found: Adapters) -> Iterator[str]:
    if found.left_out:
        listed = "; ".join(f"{task}: {why}" for task, why in found.left_out.items())
        yield f"{len(found.left_out)} of {len(found.left_out) + len(found.chosen)} adapters are left out. {listed}"


def _seed_told(folder: Path, vector: Vector) -> Iterator[str]:
    """What the record of the training says of seeds, where there is one."""
    if vector == "product":
        return
    try:
        record = read_json(folder / TRAINING)
    except RowsError:
        record = None
    seed = record.get("seed") if isinstance(record, dict) else None
    if seed is None:
        yield f"No {TRAINING} says which seed the adapters started from"


def _starts_told(adapters: Sequence[Adapter], gram: Matrix) -> Iterator[str]:
    """How much of the stacked vectors is their first A, and which adapters have another."""
    of_a = stacked_gram(adapters, ("a",))
    share = float((np.diag(of_a) / np.diag(gram)).mean())
    near = cosines(of_a)
    yield (
        f"{share:.0%} of the stacked vectors' squared length is A, whose cosines alone are {np.median(near):.3f} in "
        "the median: that much of these distances says nothing of what was learned. The product does not depend on it"
    )
    usual = int(near.sum(axis=1).argmax())
    other = [
        one.task for one, cosine in zip(adapters, near[usual], strict=True) if cosine < _SAME_START
    ]
    if other:
        told = "did not start from the seed of the others, so that their distances say nothing"
        yield f"{len(other)} adapters {told}: {', '.join(other)}"
