"""Task vectors: cosines between adapters, of the products B A or of the stacked factors, in bounded memory."""

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
stored, so that two vectors with the same initial A are near by that alone. The paper does not say which it used."""
TRAINING = "training.json"
_TILE = 40_000_000
"""Numbers in a tile of adapters; two tiles are in memory at a time."""
_SAME_START = 0.5
"""Cosine of two trained A below which they started from different seeds, which give about 0."""


def vector_map(folder: Path, vector: Vector = "product") -> TaskMap:
    """The map of a folder of adapters. Raises RowsError, and TaskMapError below three comparable adapters."""
    adapters = read_adapters(folder)
    notices = [*_left_out_notice(adapters), *_seed_notice(folder, vector)]
    if vector == "product":
        gram = product_gram(adapters.chosen)
    else:
        gram = stacked_gram(adapters.chosen, ("a", "b"))
        notices += _start_notices(adapters.chosen, gram)
    first = adapters.chosen[0]
    modules = (
        f"rank {first.settings['rank']}, {len(first.modules)} modules of {first.settings['base']}"
    )
    source = f"{len(adapters.chosen)} task vectors ({vector} of LoRA factors; {modules})"
    tasks = (*(adapter.task for adapter in adapters.chosen), *adapters.left_out)
    distances = np.full((len(tasks), len(tasks)), np.nan)
    distances[: len(gram), : len(gram)] = 1 - cosines(gram)
    return complete_map(source, tasks, distances, notices=tuple(notices))


def cosines(gram: Matrix) -> Matrix:
    """Cosines from inner products; NaN for a vector without length."""
    lengths = np.sqrt(np.diag(gram))
    by = np.outer(lengths, lengths)
    return np.clip(np.divide(gram, by, out=np.full_like(gram, np.nan), where=by > 0), -1, 1)


def product_gram(adapters: Sequence[Adapter]) -> Matrix:
    """Inner products of the changes, module by module: <B1 A1, B2 A2> is the sum of (B1' B2) times (A1 A2')."""
    gram = np.zeros((len(adapters),) * 2)
    for module, factors in adapters[0].modules.items():
        step = max(1, _TILE // (factors.a.size + factors.b.size))
        for start in range(0, len(adapters), step):
            tile = _tile([adapter.modules[module] for adapter in adapters[start : start + step]])
            for other in range(start, len(adapters), step):
                other_tile = tile
                if other != start:
                    other_tile = _tile(
                        [adapter.modules[module] for adapter in adapters[other : other + step]]
                    )
                block = _products(tile, other_tile, factors.a.shape[0])
                gram[start : start + step, other : other + step] += block
    gram = np.triu(gram) + np.triu(gram, 1).T
    scales = np.array([adapter.scale for adapter in adapters])
    return gram * np.outer(scales, scales)


_Tile: TypeAlias = tuple[NDArray[np.floating], NDArray[np.floating]]
"""A and the transposed B of one module: (tasks * rank, in) and (tasks * rank, out); float32, or float64 as stored."""


def _tile(factors: Sequence[Factors]) -> _Tile:
    """The factors of one module in several adapters."""
    rank, width = factors[0].a.shape
    height = factors[0].b.shape[0]
    dtype = np.float64 if any(module.a.dtype == "F64" for module in factors) else np.float32
    a = np.empty((len(factors), rank, width), dtype)
    b = np.empty((len(factors), rank, height), dtype)
    for place, module in enumerate(factors):
        a[place] = module.a.read().reshape(module.a.shape)
        b[place] = module.b.read().reshape(module.b.shape).T
    return a.reshape(-1, width), b.reshape(-1, height)


def _products(first: _Tile, second: _Tile, rank: int) -> Matrix:
    """Inner products of the changes of one module, tasks by tasks."""
    both = (first[0] @ second[0].T) * (first[1] @ second[1].T)
    return both.reshape(len(first[0]) // rank, rank, len(second[0]) // rank, rank).sum(
        axis=(1, 3), dtype=float
    )


def stacked_gram(adapters: Sequence[Adapter], letters: Sequence[Literal["a", "b"]]) -> Matrix:
    """Inner products of these factors, as stored."""
    gram = np.zeros((len(adapters),) * 2)
    for module in adapters[0].modules:
        for letter in letters:
            tensors = [getattr(adapter.modules[module], letter) for adapter in adapters]
            for start in range(0, tensors[0].size, CHUNK):
                block = np.empty((len(tensors), min(CHUNK, tensors[0].size - start)))
                for row, tensor in zip(block, tensors, strict=True):
                    row[:] = tensor.read(start, CHUNK)
                gram += block @ block.T
    return gram


def _left_out_notice(adapters: Adapters) -> Iterator[str]:
    if adapters.left_out:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in adapters.left_out.items())
        left_out = len(adapters.left_out)
        total = left_out + len(adapters.chosen)
        yield f"{left_out} of {total} adapters are left out: {reasons}"


def _seed_notice(folder: Path, vector: Vector) -> Iterator[str]:
    """Yields a notice if no record of the training has a seed."""
    if vector == "product":
        return
    try:
        record = read_json(folder / TRAINING)
    except RowsError:
        record = None
    seed = record.get("seed") if isinstance(record, dict) else None
    if seed is None:
        yield f"No {TRAINING} says which seed the adapters started from"


def _start_notices(adapters: Sequence[Adapter], gram: Matrix) -> Iterator[str]:
    """Yields notices on the share of A in the stacked vectors, and on adapters that started from another seed."""
    of_a = stacked_gram(adapters, ("a",))
    share = float((np.diag(of_a) / np.diag(gram)).mean())
    near = cosines(of_a)
    yield (
        f"{share:.0%} of the stacked vectors' squared length is A, whose cosines alone are {np.median(near):.3f} in "
        "the median: that much of these distances says nothing of what was learned. The product does not depend on it"
    )
    usual = int(near.sum(axis=1).argmax())
    others = [
        adapter.task
        for adapter, cosine in zip(adapters, near[usual], strict=True)
        if cosine < _SAME_START
    ]
    if others:
        problem = "did not start from the seed of the others, so that their distances say nothing"
        yield f"{len(others)} adapters {problem}: {', '.join(others)}"
