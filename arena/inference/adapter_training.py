"""Adapter training process: LoRA adapters of one base over JSON lines, `python -m arena.inference.adapter_training`.

The first line has the settings, each other line one adapter's samples and folder. Every adapter starts from the same
numbers, by the seed. The end of stdin ends the process. Code that comes with weights is never run.
"""

import json
import math
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from arena.inference.local_model import (
    BROKEN,
    JSON_LINE,
    LoadError,
    LocalModel,
    first_line,
    line_to_parent,
)

_NO_LOSS = -100
"""Label of a token that is not learned."""


class Learner(LocalModel):
    """A base with one adapter, which is set back before each task."""

    def __init__(self, settings: JSON_LINE) -> None:
        """Loads the base and adds the adapter. Raises LoadError."""
        dtype = (
            "bfloat16" if settings["device"] != "cpu" and torch.cuda.is_available() else "float32"
        )
        super().__init__(settings["base"], settings["revision"], dtype, settings["device"])
        self._settings = settings
        self._peft = _with_adapter(self._model, settings)
        self._learned = {
            name: one for name, one in self._peft.named_parameters() if one.requires_grad
        }
        self._fresh = {name: one.detach().clone() for name, one in self._learned.items()}

    @property
    def numbers(self) -> int:
        """Length of a task vector of stacked factors."""
        return sum(one.numel() for one in self._learned.values())

    def learn(self, samples: Sequence[JSON_LINE], folder: Path) -> JSON_LINE:
        """Train on samples and save the adapter. Raises LoadError, or one of `BROKEN`."""
        inputs = [one for one in map(self._inputs, samples) if one is not None]
        if not inputs:
            raise LoadError(
                f"none of its {len(samples)} samples fits into the model's {self._room} tokens"
            )
        with torch.no_grad():
            for name, one in self._learned.items():
                one.copy_(self._fresh[name])
        torch.manual_seed(self._settings["seed"])
        order = random.Random(self._settings["seed"])
        losses = []
        optimizer = torch.optim.AdamW(self._learned.values(), lr=self._settings["rate"])
        self._peft.train()
        for _ in range(self._settings["epochs"]):
            order.shuffle(inputs)
            losses.append(sum(self._step(one, optimizer) for one in inputs) / len(inputs))
            if not math.isfinite(losses[-1]):
                raise LoadError("its loss is not finite; choose a lower rate")
        self._peft.eval()
        self._peft.save_pretrained(str(folder), safe_serialization=True)
        return {"samples": len(inputs), "first": losses[0], "last": losses[-1]}

    def _step(self, inputs: Mapping[str, Any], optimizer: torch.optim.Optimizer) -> float:
        optimizer.zero_grad()
        loss = self._peft(**{name: one.to(self._device) for name, one in inputs.items()}).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    def _inputs(self, sample: JSON_LINE) -> Mapping[str, Any] | None:
        """A sample as the model takes it, with the answer's tokens as labels; None if it is too long."""
        parts = [*({"image": image} for image in sample["images"]), {"text": sample["text"]}]
        asked = {"system": "", "turns": [{"role": "user", "parts": parts}]}
        found = self._templated(self._messages(asked))
        said = self._tokenizer(sample["answer"], add_special_tokens=False).input_ids
        answer = torch.tensor([[*said, self._tokenizer.eos_token_id]])
        asked_shape = found["input_ids"].shape
        more = answer.shape[1]
        if self._room is not None and asked_shape[1] + more > self._room:
            return None
        added = {"input_ids": answer, "attention_mask": torch.ones_like(answer)}
        longer = {
            name: torch.cat([one, added.get(name, torch.zeros((1, more), dtype=one.dtype))], dim=1)
            for name, one in found.items()
            if one.shape == asked_shape
        }
        return {
            **found,
            **longer,
            "labels": torch.cat([torch.full(asked_shape, _NO_LOSS), answer], dim=1),
        }


def _with_adapter(model: Any, settings: JSON_LINE) -> Any:
    """Adds LoRA to the linear layers of these names in the text model, of these layers or of all. Raises LoadError."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise LoadError(
            "peft is not installed: pip install -r requirements-task-map.txt"
        ) from error
    decoder = model.get_decoder()
    prefix = next((name for name, one in model.named_modules() if one is decoder), "")
    layers = None if settings["layers"] is None else {str(number) for number in settings["layers"]}
    chosen = [
        name
        for name, one in model.named_modules()
        if isinstance(one, torch.nn.Linear) and name.startswith(f"{prefix}.")
        if name.rpartition(".")[2] in settings["modules"]
        and (layers is None or layers & set(name.split(".")))
    ]
    if not chosen:
        names = sorted(
            {
                n.rpartition(".")[2]
                for n, one in decoder.named_modules()
                if isinstance(one, torch.nn.Linear)
            }
        )
        raise LoadError(
            f"the base has no such modules in these layers; its text model has {', '.join(names)}"
        )
    torch.manual_seed(settings["seed"])
    config = LoraConfig(
        r=settings["rank"],
        lora_alpha=settings["alpha"],
        lora_dropout=settings["dropout"],
        target_modules=chosen,
        revision=settings["revision"],
    )
    return get_peft_model(model, config)


def main() -> None:
    """Serves the parent process."""
    say = line_to_parent()
    try:
        learner = Learner(json.loads(sys.stdin.readline()))
        say(kind="loaded", numbers=learner.numbers)
    except LoadError as error:
        say(kind="failed", text=str(error))
        return
    for line in sys.stdin:
        request = json.loads(line)
        begun = time.monotonic()
        try:
            said = learner.learn(request["samples"], Path(request["folder"]))
            say(kind="learned", seconds=time.monotonic() - begun, **said)
        except LoadError as error:
            say(kind="failed", text=str(error))
        except BROKEN as error:
            say(kind="failed", text=first_line(error))


if __name__ == "__main__":
    main()
