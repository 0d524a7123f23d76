"""Adapters: LoRA weights of one task each, in a folder as PEFT saves them; only safetensors files are opened.

The folder has `tasks.csv` (task, folder, n) and a folder for each adapter, with `adapter_config.json` and
`adapter_model.safetensors`. Adapters that are not comparable with the others are left out, each with the reason.
"""

import json
import math
import operator
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator

from arena.io.rows import FileRow, cell, read_rows
from arena.io.tables import COMMAND_LINE, read_json
from arena.templates import plural
from scoring.task_map.published import task_key
from scoring.task_map.types import TaskMapError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
TASKS = "tasks.csv"
_A = ".lora_A.weight"
_B = ".lora_B.weight"
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""numpy's types by the format's; BF16 is read as its bits."""
_MOST_HEADER = 100_000_000
"""Most bytes of a header, as in the format's own library."""
CHUNK = 250_000
"""Numbers of a tensor read at a time."""
_STARTS_THAT_KEEP_THE_BASE = (None, True, False, "gaussian", "eva", "orthogonal", "mica")
"""The values of PEFT's `init_lora_weights` that leave the base as it is; all others may take a part out of it."""
_LARGEST = 1_000_000
"""The largest number of a factor: a sum of products of four such numbers still fits in single precision."""


class _UnusableAdapter(ValueError):
    """An adapter that cannot be used; the message says why, in a clause."""


class Tensor(NamedTuple):
    """The place of a matrix in a file."""

    file: Path
    dtype: str
    shape: tuple[int, int]
    offset: int
    """The place of its first byte in the file."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.shape[0] * self.shape[1]

    def read(self, start: int = 0, count: int = -1) -> NDArray[np.floating]:
        """`count` numbers of the matrix, row by row, from place `start` on; all of them from there if `count` is -1.

        float64 if they are stored as such, else float32.
        """
        dtype = np.dtype(_DTYPES[self.dtype])
        remaining = self.size - start
        count = remaining if count < 0 else min(count, remaining)
        raw = np.fromfile(self.file, dtype, count, offset=self.offset + start * dtype.itemsize)
        if self.dtype == "BF16":  # the upper half of a float32
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
    """Number of training samples, from tasks.csv."""
    settings: Mapping[str, str]
    """The settings that all adapters must share, by name."""
    scale: float
    """Alpha divided by the rank, or by its square root for rank-stabilised LoRA."""
    modules: Mapping[str, Factors]
    """The factors by the name of the module that they change."""


class _AdapterRow(FileRow):
    """A row of tasks.csv."""

    task: Annotated[str, AfterValidator(task_key), cell("a task's name", "Write one.", holds=bool)]
    folder: str
    n: str = ""


class Adapters(NamedTuple):
    """The comparable adapters, and the reasons why the others are left out, by task."""

    chosen: tuple[Adapter, ...]
    left_out: Mapping[str, str]


def read_adapters(folder: Path) -> Adapters:
    """The adapters in a folder's tasks.csv. Raises RowsError, and TaskMapError below three comparable adapters."""
    if not (folder / TASKS).is_file():
        raise TaskMapError(f"{folder} has no {TASKS}. Add it, with the columns task, folder and n.")
    adapters: dict[str, Adapter] = {}
    left_out: dict[str, str] = {}
    for _, row in read_rows(folder / TASKS, _AdapterRow, key=("task",), limits=COMMAND_LINE):
        try:
            adapters[row.task] = _adapter(row.task, folder, row.folder, row.n)
        except _UnusableAdapter as error:
            left_out[row.task] = str(error)
    comparable = _most_common_settings([*adapters.values()])
    left_out |= comparable.left_out
    if len(comparable.chosen) < 3:
        reasons = "; ".join(f"{task}: {reason}" for task, reason in [*left_out.items()][:5])
        remedy = f"Correct these: {reasons}." if left_out else f"Add some to {TASKS}."
        raise TaskMapError(
            f"{folder} has {plural(len(comparable.chosen), 'comparable adapter')}, and a map needs three. {remedy}"
        )
    return Adapters(comparable.chosen, left_out)


def _most_common_settings(adapters: Sequence[Adapter]) -> Adapters:
    """The adapters with the most common settings; the others are left out, each with its differences."""
    if not adapters:
        return Adapters((), {})
    counts = Counter(tuple(adapter.settings.items()) for adapter in adapters)
    most_common, _ = counts.most_common(1)[0]
    common_settings = dict(most_common)
    chosen = []
    left_out = {}
    for adapter in adapters:
        if adapter.settings == common_settings:
            chosen.append(adapter)
            continue
        left_out[adapter.task] = "; ".join(
            f"{name} {_short(value)}, the others {_short(common_settings.get(name, 'none'))}"
            for name, value in adapter.settings.items()
            if value != common_settings.get(name)
        )
    return Adapters(tuple(chosen), left_out)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text):,} characters)"


def _adapter(task: str, root: Path, folder: str, n: str) -> Adapter:
    """The adapter in a folder below the root. Raises _UnusableAdapter."""
    place = (root / folder).resolve()
    if not folder or not place.is_relative_to(root.resolve()) or not place.is_dir():
        raise _UnusableAdapter(f"its folder {folder!r} doesn't exist")
    config = _config(place / CONFIG)
    modules = _modules(_tensors(place / WEIGHTS))
    rank = config["r"]
    alpha = config["lora_alpha"]
    alpha_text = f"{alpha:.15g}"  # the same for 8 and 8.0
    is_rank_stabilised = bool(config.get("use_rslora"))
    wrong = [
        name
        for name, factors in modules.items()
        if factors.a.shape[0] != rank or factors.b.shape[1] != rank
    ]
    if wrong:
        raise _UnusableAdapter(f"{wrong[0]} doesn't have the rank {rank} of {CONFIG}")
    settings = {
        "base": f"{config.get('base_model_name_or_path')}@{config.get('revision') or 'main'}",
        "rank": str(rank),
        "alpha": f"{alpha_text} by the root of the rank" if is_rank_stabilised else alpha_text,
        "modules": ", ".join(
            f"{name} {factors.b.shape[0]}x{factors.a.shape[1]}"
            for name, factors in sorted(modules.items())
        ),
    }
    scale = alpha / (math.sqrt(rank) if is_rank_stabilised else rank)
    _check_numbers(modules.values())
    return Adapter(task, n, settings, scale, modules)


def _config(file: Path) -> Mapping[str, Any]:
    """An adapter's settings as PEFT saves them. Raises _UnusableAdapter."""
    try:
        config = read_json(file, COMMAND_LINE)
    except ValueError as error:
        raise _UnusableAdapter(str(error).rstrip(".")) from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise _UnusableAdapter(f"{CONFIG} isn't of a LoRA")
    rank = config.get("r")
    alpha = config.get("lora_alpha")
    is_rank = isinstance(rank, int) and not isinstance(rank, bool) and rank > 0
    is_alpha = isinstance(alpha, int | float) and not isinstance(alpha, bool) and alpha > 0
    if not (is_rank and is_alpha):
        raise _UnusableAdapter(
            f"{CONFIG} has r {rank!r} and lora_alpha {alpha!r}, which must be numbers above 0"
        )
    for name in ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out"):
        if config.get(name):
            raise _UnusableAdapter(f"{CONFIG} has {name}, which changes more than B times A")
    start = config.get("init_lora_weights")
    if start not in _STARTS_THAT_KEEP_THE_BASE:
        raise _UnusableAdapter(
            f"{CONFIG} has init_lora_weights {start!r}, which changes the base too"
        )
    return config


def _modules(tensors: Mapping[str, Tensor]) -> Mapping[str, Factors]:
    """The factors by module. Raises _UnusableAdapter."""
    strange = [name for name in tensors if not name.endswith((_A, _B))]
    if strange:
        raise _UnusableAdapter(f"{WEIGHTS} has {strange[0]}, which is neither A nor B of a LoRA")
    names = sorted({name.removesuffix(_A).removesuffix(_B) for name in tensors})
    if not names:
        raise _UnusableAdapter(f"{WEIGHTS} is empty")
    modules = {}
    for name in names:
        a = tensors.get(f"{name}{_A}")
        b = tensors.get(f"{name}{_B}")
        if a is None or b is None:
            raise _UnusableAdapter(f"{WEIGHTS}: {name} has only one of A and B")
        modules[name] = Factors(a, b)
    return modules


def _tensors(file: Path) -> Mapping[str, Tensor]:
    """The matrices of a safetensors file, by its header. Raises _UnusableAdapter."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > _MOST_HEADER:
                raise _UnusableAdapter(f"{file.name} isn't a complete safetensors file")
            header = json.loads(opened.read(length))
        header.pop("__metadata__", None)
        start = 8 + length
        size = file.stat().st_size - start
        return {name: _tensor(file, name, entry, start, size) for name, entry in header.items()}
    except _UnusableAdapter:
        raise
    except OSError as error:
        raise _UnusableAdapter(f"{file.name} can't be opened: {error.strerror}") from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _UnusableAdapter(f"{file.name} isn't a complete safetensors file") from error


def _tensor(file: Path, name: str, entry: Any, start: int, size: int) -> Tensor:
    """A matrix by its entry in the header; the numbers are `size` bytes from `start` on. Raises _UnusableAdapter."""
    dtype = entry["dtype"]
    shape = entry["shape"]
    begin, end = map(operator.index, entry["data_offsets"])
    if dtype not in _DTYPES or len(shape) != 2:
        raise _UnusableAdapter(f"{name} is {dtype} {shape}, not a matrix of {', '.join(_DTYPES)}")
    tensor = Tensor(file, dtype, (int(shape[0]), int(shape[1])), start + begin)
    bytes_needed = tensor.size * np.dtype(_DTYPES[dtype]).itemsize
    is_inside = 0 <= begin < end <= size
    if not is_inside or end - begin != bytes_needed:
        raise _UnusableAdapter(f"{file.name}: {name} is cut off")
    return tensor


def _check_numbers(modules: Iterable[Factors]) -> None:
    """Raises _UnusableAdapter for numbers that are not finite, and for a zero factor, which has no direction."""
    largest = {"A": 0.0, "B": 0.0}
    for factors in modules:
        for letter, tensor in (("A", factors.a), ("B", factors.b)):
            for start in range(0, tensor.size, CHUNK):
                values = tensor.read(start, CHUNK)
                if not np.isfinite(values).all():
                    raise _UnusableAdapter("it has NaN or infinite numbers")
                largest[letter] = max(largest[letter], float(np.abs(values).max()))
    for letter, number in largest.items():
        if number == 0:
            raise _UnusableAdapter(f"its {letter} is zero, so nothing was learned")
        if number > _LARGEST:
            raise _UnusableAdapter(f"its {letter} has numbers above {_LARGEST:,}")
