"""Folders of LoRA adapters as PEFT saves them, of random numbers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from arena.io.csv_text import csv_text

BASE = "toys/base"
Factors = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""A (rank, in) and B (out, rank), by module."""
SHAPES = {"layers.0.q_proj": (24, 16), "layers.0.up_proj": (24, 40), "layers.1.q_proj": (24, 16)}
"""(in, out) of each module."""


def random_factors(
    seed: int, rank: int = 4, shapes: Mapping[str, tuple[int, int]] = SHAPES, start: int = 0
) -> Factors:
    """Random factors. Those of one `start` have nearly the same A, as from one seed."""
    first, draw = np.random.default_rng(start), np.random.default_rng((start, seed))
    return {
        name: (
            (first.normal(size=(rank, width)) + 0.1 * draw.normal(size=(rank, width))).astype(
                np.float32
            ),
            draw.normal(size=(height, rank)).astype(np.float32),
        )
        for name, (width, height) in shapes.items()
    }


def write_adapter(folder: Path, factors: Factors, **config: object) -> None:
    rank = next(iter(factors.values()))[0].shape[0]
    settings = {
        "peft_type": "LORA",
        "base_model_name_or_path": BASE,
        "r": rank,
        "lora_alpha": 8,
        **config,
    }
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    tensors = {}
    for name, (a, b) in factors.items():
        tensors[f"base_model.model.{name}.lora_A.weight"] = a
        tensors[f"base_model.model.{name}.lora_B.weight"] = b
    save_file(tensors, folder / "adapter_model.safetensors")


def list_tasks(root: Path, tasks: Sequence[str]) -> None:
    """List tasks as training does."""
    rows = [["task", "folder", "n"], *([task, task, 20] for task in tasks)]
    (root / "tasks.csv").write_text(csv_text(rows), "utf-8")


def write_adapters(root: Path, tasks: Mapping[str, Factors]) -> Path:
    for task, factors in tasks.items():
        write_adapter(root / task, factors)
    list_tasks(root, list(tasks))
    return root
