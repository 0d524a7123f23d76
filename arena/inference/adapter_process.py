"""Adapter trainer: a process that trains LoRA adapters, one task after the other."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from arena.inference.local_process import line_process
from arena.types import Device


class TrainingError(RuntimeError):
    """An adapter cannot be trained; the message says why."""


@dataclass(frozen=True)
class TrainingSettings:
    """The settings that all adapters of a task map share."""

    base: str
    """A folder, or a model of the Hub."""
    revision: str | None
    """Commit on the Hub; None for a folder."""
    rank: int
    """LoRA's rank."""
    alpha: int
    """LoRA's alpha, by which its changes are scaled."""
    dropout: float
    modules: tuple[str, ...]
    """The last parts of the names of linear layers in the text model, such as "q_proj"."""
    layers: tuple[int, ...] | None
    """None: all."""
    rate: float
    """The learning rate."""
    epochs: int
    seed: int
    device: Device


class Sample(NamedTuple):
    """A question about pictures, and the answer to learn."""

    text: str
    images: tuple[bytes, ...]
    answer: str


class TrainingResult(NamedTuple):
    """The outcome of training on a task."""

    samples: int
    """The number of samples that fitted into the model."""
    first: float
    """The mean loss of the first epoch."""
    last: float
    """The mean loss of the last epoch."""
    seconds: float


_RESULT: TypeAdapter[TrainingResult] = TypeAdapter(TrainingResult)


class AdapterTrainer:
    """A process with the base in memory; leaving the context ends it."""

    def __init__(self, settings: TrainingSettings) -> None:
        """Raises TrainingError if the base cannot be loaded, or peft is missing."""
        self._process = line_process("arena.inference.adapter_training")
        try:
            self.parameter_count: int = self._ask(asdict(settings))["numbers"]
            """The number of parameters that an adapter learns."""
        except TrainingError:
            self.close()
            raise

    def __enter__(self) -> "AdapterTrainer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def train(self, samples: Sequence[Sample], folder: Path) -> TrainingResult:
        """Trains an adapter on these samples, from the same start as all others, and saves it. Raises TrainingError."""
        encoded = [
            {
                "text": sample.text,
                "images": [base64.b64encode(image).decode() for image in sample.images],
                "answer": sample.answer,
            }
            for sample in samples
        ]
        reply = self._ask({"samples": encoded, "folder": str(folder.resolve())})
        return _RESULT.validate_python(reply)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the reply. Raises TrainingError for a failure."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):
            raise TrainingError("its process ended, maybe for lack of memory")
        message = json.loads(line)
        if message.pop("kind") == "failed":
            raise TrainingError(message["text"])
        return message
