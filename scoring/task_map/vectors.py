"""Task vectors: cosines between adapters, of the products B A or of the stacked factors, in bounded memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

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
    products = np.outer(lengths, lengths)
    undefined = np.full_like(gram, np.nan)
    return np.clip(np.divide(gram, products, out=undefined, where=products > 0), -1, 1)


def product_gram(adapters: Sequence[Adapter]) -> Matrix:
    """Inner products of the changes, one row and one column an adapter.

    In each module, <B1 A1, B2 A2> is the sum over the elements of (B1' B2) times those of (A1 A2').
    """
    gram = np.zeros((len(adapters), len(adapters)))
    for module, factors in adapters[0].modules.items():
        per_tile = max(1, _TILE // (factors.a.size + factors.b.size))
        ranges = [slice(start, start + per_tile) for start in range(0, len(adapters), per_tile)]
        for number, rows in enumerate(ranges):
            tile = _tile([adapter.modules[module] for adapter in adapters[rows]])
            for columns in ranges[number:]:
                other_tile = tile
                if columns != rows:
                    other_tile = _tile([adapter.modules[module] for adapter in adapters[columns]])
                gram[rows, columns] += _products(tile, other_tile, factors.a.shape[0])
    gram = np.triu(gram) + np.triu(gram, 1).T
    scales = np.array([adapter.scale for adapter in adapters])
    return gram * np.outer(scales, scales)


class _Tile(NamedTuple):
    """The factors of one module in several adapters; float32, or float64 as stored."""

    a: NDArray[np.floating]
    """(adapters * rank, in)."""
    transposed_b: NDArray[np.floating]
    """(adapters * rank, out)."""


def _tile(factors: Sequence[Factors]) -> _Tile:
    """Reads the factors of one module in several adapters."""
    rank, width = factors[0].a.shape
    height = factors[0].b.shape[0]
    dtype = np.float64 if any(module.a.dtype == "F64" for module in factors) else np.float32
    a = np.empty((len(factors), rank, width), dtype)
    b = np.empty((len(factors), rank, height), dtype)
    for place, module in enumerate(factors):
        a[place] = module.a.read().reshape(module.a.shape)
        b[place] = module.b.read().reshape(module.b.shape).T
    return _Tile(a.reshape(-1, width), b.reshape(-1, height))


def _products(first: _Tile, second: _Tile, rank: int) -> Matrix:
    """Unscaled inner products of one module's changes, of shape (adapters in first, adapters in second)."""
    element_products = (first.a @ second.a.T) * (first.transposed_b @ second.transposed_b.T)
    squares = element_products.reshape(len(first.a) // rank, rank, len(second.a) // rank, rank)
    return squares.sum(axis=(1, 3), dtype=float)  # each pair of adapters has a square, rank by rank


def stacked_gram(adapters: Sequence[Adapter], letters: Sequence[Literal["a", "b"]]) -> Matrix:
    """Inner products of these factors, as stored."""
    gram = np.zeros((len(adapters), len(adapters)))
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
    """Yields a notice if no record of the training has a seed, on which only stacked vectors depend."""
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
    gram_of_a = stacked_gram(adapters, ("a",))
    has_a = np.flatnonzero(np.diag(gram_of_a) > 0)  # an A of zeros has no direction
    if len(has_a) < 2:
        return
    share = float((np.diag(gram_of_a)[has_a] / np.diag(gram)[has_a]).mean())
    cosines_of_a = cosines(gram_of_a[np.ix_(has_a, has_a)])
    median = np.median(cosines_of_a[np.triu_indices(len(has_a), 1)])
    yield (
        f"{share:.0%} of the stacked vectors' squared length is A, whose cosines alone are {median:.3f} in "
        "the median: that much of these distances says nothing of what was learned. The product does not depend on it"
    )
    most_alike = int(cosines_of_a.sum(axis=1).argmax())  # it started as most of them did
    others = [
        adapters[place].task
        for place, cosine in zip(has_a.tolist(), cosines_of_a[most_alike], strict=True)
        if cosine < _SAME_START
    ]
    if others:
        problem = "did not start from the seed of the others, so that their distances say nothing"
        yield f"{len(others)} adapters {problem}: {', '.join(others)}"
