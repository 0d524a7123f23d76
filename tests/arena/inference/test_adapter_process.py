"""Adapter trainer: what its process doesn't say to the end is a failure."""

import subprocess
import sys

import pytest

from arena.inference import adapter_process
from arena.inference.adapter_process import AdapterTrainer, TrainingError, TrainingSettings

SETTINGS = TrainingSettings(
    base="base",
    revision=None,
    rank=4,
    alpha=8,
    dropout=0.0,
    modules=("q_proj",),
    layers=None,
    rate=1e-4,
    epochs=1,
    seed=0,
    device="cpu",
)


@pytest.mark.parametrize("reply", ["", '{"kind": "ready", "numb'])
def test_a_process_that_dies_within_a_line_has_ended(reply, monkeypatch):
    def dying(_: str) -> subprocess.Popen[str]:
        code = f"input(); print({reply!r}, end='')"
        return subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    monkeypatch.setattr(adapter_process, "line_process", dying)
    with pytest.raises(TrainingError, match="its process ended"):
        AdapterTrainer(SETTINGS)
