"""Adapters: LoRA weights of one task each, read from a folder as PEFT saves them; safetensors alone are opened.

A folder holds `tasks.csv` (task, folder, n) and the folders of the adapters, each with `adapter_config.json` and
`adapter_model.safetensors`. Adapters that cannot stand beside the others are left out, each with the reason.
"""

import json
import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from arena.io.rows import FileRow, cell, read_rows
from arena.io.tables import COMMAND_LINE, read_json
from scoring.task_map.published import task_key
from scoring.task_map.types import TaskMapError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
TASKS = "tasks.csv"
_A = ".lora_A.weight"
_B = ".lora_B.weight"
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_MOST_HEADER = 100_000_000
"""Bytes of a header, as in the format's own library."""
CHUNK = 250_000
"""Numbers of a tensor that are read at a time."""


class _Broken(ValueError):
    """An adapter cannot be used; the message says why, in a clause."""


class Tensor(NamedTuple):
    """Where a matrix lies in a file."""

    file: Path
    dtype: str
    shape: tuple[int, int]
    at: int

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def read(self, start: int = 0, count: int = -1) -> NDArray[np.floating]:
        """Numbers of the matrix, row by row, all without a count: float32, or float64 where they are stored so.

        bfloat16 is the upper half of a float32.
        """
        dtype = np.dtype(_DTYPES[self.dtype])
        count = self.size - start if count < 0 else min(count, self.size - start)
        raw = np.fromfile(self.file, dtype, count, offset=self.at + start * dtype.itemsize)
        if self.dtype == "BF16":
            return (raw.astype(np.uint32) << 16).view(np.float32)
        return raw if self.dtype == "F64" else raw.astype(np.float32, copy=False)


class Factors(NamedTuple):
    """The factors of one module's change: B (out, rank) times A (rank, in)."""

    a: Tensor
    b: Tensor


@dataclass(frozen=True)
class Adapter:
    """A task's adapter."""

    task: str
    n: str
    """Number of samples it learned from, as its list says."""
    settings: Mapping[str, str]
    """What must be the same in all, by what it is."""
    scale: float
    """Alpha by rank, or by its root for rank-stabilised LoRA."""
    modules: Mapping[str, Factors]


class _AdapterRow(FileRow):
    """A row of tasks.csv."""

    task: Annotated[str, AfterValidator(task_key), cell("a task's name", "write it there", bool)]
    folder: str
    n: str = ""


class Adapters(NamedTuple):
    """Adapters that can stand beside each other, and why the others cannot, by task."""

    chosen: tuple[Adapter, ...]
    left_out: Mapping[str, str]


def read_adapters(folder: Path) -> Adapters:
    """The adapters that a folder's tasks.csv names. Raises RowsError, and TaskMapError below three."""
    if not (folder / TASKS).is_file():
        raise TaskMapError(
            f"{folder}: expected {TASKS} in it, with the columns task, folder and n; add it"
        )
    found: dict[str, Adapter] = {}
    left_out: dict[str, str] = {}
    for _, row in read_rows(folder / TASKS, _AdapterRow, key=("task",), limits=COMMAND_LINE):
        try:
            found[row.task] = _adapter(row.task, folder, row.folder, row.n)
        except _Broken as error:
            left_out[row.task] = str(error)
    chosen, others = _alike(found.values())
    if len(chosen) < 3:
        told = "; ".join(f"{task}: {why}" for task, why in [*left_out.items(), *others.items()][:5])
        raise TaskMapError(
            f"{folder}: {len(chosen)} adapters can stand beside each other; a map needs three. {told}"
        )
    return Adapters(chosen, {**left_out, **others})


def _alike(found: Iterable[Adapter]) -> tuple[tuple[Adapter, ...], Mapping[str, str]]:
    """Those with the settings that most have, and what the others have in their place."""
    found = tuple(found)
    if not found:
        return (), {}
    usual = dict(Counter(tuple(one.settings.items()) for one in found).most_common(1)[0][0])
    others = {
        one.task: "; ".join(
            f"{name} {_short(value)}, the others {_short(usual.get(name, 'none'))}"
            for name, value in one.settings.items()
            if value != usual.get(name)
        )
        for one in found
        if one.settings != usual
    }
    return tuple(one for one in found if one.task not in others), others


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"


def _adapter(task: str, root: Path, folder: str, n: str) -> Adapter:
    """Raises _Broken."""
    place = (root / folder).resolve()
    if not folder or not place.is_relative_to(root.resolve()) or not place.is_dir():
        raise _Broken(f"its folder {folder!r} is not there")
    config = _config(place / CONFIG)
    modules = _modules(_tensors(place / WEIGHTS))
    rank = config["r"]
    alpha = config["lora_alpha"]
    wrong = [
        name for name, one in modules.items() if one.a.shape[0] != rank or one.b.shape[1] != rank
    ]
    if wrong:
        raise _Broken(f"{wrong[0]} has not the rank {rank} that {CONFIG} says")
    settings = {
        "base": f"{config['base_model_name_or_path']}@{config.get('revision') or 'main'}",
        "rank": str(rank),
        "alpha": f"{alpha}{' by the root of the rank' if config.get('use_rslora') else ''}",
        "modules": ", ".join(
            f"{name} {one.b.shape[0]}x{one.a.shape[1]}" for name, one in sorted(modules.items())
        ),
    }
    scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
    _check_numbers(modules.values())
    return Adapter(task, n, settings, scale, modules)


def _config(file: Path) -> Mapping[str, Any]:
    try:
        config = read_json(file, COMMAND_LINE)
    except ValueError as error:
        raise _Broken(str(error)) from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise _Broken(f"{CONFIG} is of no LoRA")
    rank = config.get("r")
    alpha = config.get("lora_alpha")
    if not (type(rank) is int and rank > 0 and isinstance(alpha, int | float) and alpha > 0):
        raise _Broken(
            f"{CONFIG}: expected a rank r and a lora_alpha above 0, found {rank!r} and {alpha!r}"
        )
    for name in ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out"):
        if config.get(name):
            raise _Broken(f"{CONFIG} has {name}, which changes more than B times A says")
    return config


def _modules(tensors: Mapping[str, Tensor]) -> Mapping[str, Factors]:
    strange = [name for name in tensors if not name.endswith((_A, _B))]
    if strange:
        raise _Broken(f"{WEIGHTS} has {strange[0]}, which is neither A nor B of LoRA")
    names = sorted({name.removesuffix(_A).removesuffix(_B) for name in tensors})
    alone = [name for name in names if f"{name}{_A}" not in tensors or f"{name}{_B}" not in tensors]
    if alone or not names:
        raise _Broken(
            f"{WEIGHTS}: {alone[0]} has only one of A and B"
            if alone
            else f"{WEIGHTS} holds nothing"
        )
    return {name: Factors(tensors[f"{name}{_A}"], tensors[f"{name}{_B}"]) for name in names}


def _tensors(file: Path) -> Mapping[str, Tensor]:
    """The matrices of a safetensors file, by its header. Raises _Broken."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > _MOST_HEADER:
                raise _Broken(f"{file.name} is no whole safetensors file")
            header = json.loads(opened.read(length))
        header.pop("__metadata__", None)
        start = 8 + length
        end = file.stat().st_size - 8 - length
        return {name: _tensor(file, name, about, start, end) for name, about in header.items()}
    except _Broken:
        raise
    except OSError as error:
        raise _Broken(f"{file.name} cannot be opened ({error.strerror})") from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _Broken(f"{file.name} is no whole safetensors file") from error


def _tensor(file: Path, name: str, about: Any, start: int, end: int) -> Tensor:
    dtype = about["dtype"]
    shape = about["shape"]
    (first, last) = about["data_offsets"]
    if dtype not in _DTYPES or len(shape) != 2:
        raise _Broken(f"{name} is {dtype} {shape}; expected a matrix of {', '.join(_DTYPES)}")
    tensor = Tensor(file, dtype, (int(shape[0]), int(shape[1])), start + first)
    if (
        not 0 <= first < last <= end
        or last - first != tensor.size * np.dtype(_DTYPES[dtype]).itemsize
    ):
        raise _Broken(f"{file.name}: {name} is cut off")
    return tensor


def _check_numbers(modules: Iterable[Factors]) -> None:
    """Refuse what is not finite, and what changes nothing: it has no direction. Raises _Broken."""
    sizes = {"A": 0.0, "B": 0.0}
    for factors in modules:
        for letter, tensor in (("A", factors.a), ("B", factors.b)):
            for start in range(0, tensor.size, CHUNK):
                values = tensor.read(start, CHUNK)
                sizes[letter] = max(sizes[letter], float(np.abs(values).max()))
                if not np.isfinite(sizes[letter]) or np.isnan(values).any():
                    raise _Broken("it holds NaN or infinite numbers")
    zero = [letter for letter, size in sizes.items() if size == 0]
    if zero:
        raise _Broken(f"its {zero[0]} is zero: nothing was learned, so it has no direction")
