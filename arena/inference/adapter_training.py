"""Adapter training process: trains LoRA adapters of one base, `python -m arena.inference.adapter_training`.

It reads JSON lines: the first has the settings, each other line an adapter's samples and folder. Every adapter starts
from the same weights, which the seed determines. The end of stdin ends the process. Code that comes with weights is
never run.
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
    MODEL_ERRORS,
    JsonObject,
    LoadError,
    LocalModel,
    first_line,
    line_to_parent,
)

_NO_LOSS = -100
"""The label of a token that is not learned."""


class Learner(LocalModel):
    """A base with an adapter, which is reset before each task."""

    def __init__(self, settings: JsonObject) -> None:
        """Loads the base and adds the adapter. Raises LoadError."""
        dtype = (
            "bfloat16" if settings["device"] != "cpu" and torch.cuda.is_available() else "float32"
        )
        super().__init__(settings["base"], settings["revision"], dtype, settings["device"])
        self._settings = settings
        self._peft = _with_adapter(self._model, settings)
        self._learned = {
            name: parameter
            for name, parameter in self._peft.named_parameters()
            if parameter.requires_grad
        }
        self._fresh = {
            name: parameter.detach().clone() for name, parameter in self._learned.items()
        }

    @property
    def parameter_count(self) -> int:
        """The number of parameters that the adapter learns, over all its layers."""
        return sum(parameter.numel() for parameter in self._learned.values())

    def learn(self, samples: Sequence[JsonObject], folder: Path) -> JsonObject:
        """Trains on samples and saves the adapter. Raises LoadError, or one of `MODEL_ERRORS`.

        Returns the number of `samples` that fit, and the mean losses of the `first` and the `last` epoch.
        """
        inputs = [fitting for fitting in map(self._inputs, samples) if fitting is not None]
        if not inputs:
            raise LoadError(
                f"none of its {len(samples)} samples fits into the model's {self._most_tokens} tokens"
            )
        with torch.no_grad():
            for name, parameter in self._learned.items():
                parameter.copy_(self._fresh[name])
        torch.manual_seed(self._settings["seed"])
        shuffler = random.Random(self._settings["seed"])
        losses = []
        optimizer = torch.optim.AdamW(self._learned.values(), lr=self._settings["rate"])
        self._peft.train()
        for _ in range(self._settings["epochs"]):
            shuffler.shuffle(inputs)
            losses.append(sum(self._step(sample, optimizer) for sample in inputs) / len(inputs))
            if not math.isfinite(losses[-1]):
                raise LoadError("its loss isn't finite. Choose a lower rate")
        self._peft.eval()
        self._peft.save_pretrained(str(folder), safe_serialization=True)
        return {"samples": len(inputs), "first": losses[0], "last": losses[-1]}

    def _step(self, inputs: Mapping[str, Any], optimizer: torch.optim.Optimizer) -> float:
        """Learns from one sample; returns its loss before the step."""
        optimizer.zero_grad()
        loss = self._peft(**{name: tensor.to(self._device) for name, tensor in inputs.items()}).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    def _inputs(self, sample: JsonObject) -> Mapping[str, Any] | None:
        """Returns a sample as the model takes it, with the answer's tokens as labels; None if it is too long."""
        parts = [*({"image": image} for image in sample["images"]), {"text": sample["text"]}]
        conversation = {"system": "", "turns": [{"role": "user", "parts": parts}]}
        question = self._apply_template(self._messages(conversation))
        tokens = self._tokenizer(sample["answer"], add_special_tokens=False).input_ids
        answer = torch.tensor([[*tokens, self._tokenizer.eos_token_id]])
        question_shape = question["input_ids"].shape
        answer_length = answer.shape[1]
        length = question_shape[1] + answer_length
        if self._most_tokens is not None and length > self._most_tokens:
            return None
        answer_inputs = {"input_ids": answer, "attention_mask": torch.ones_like(answer)}
        inputs = dict(question)
        for name, tensor in question.items():
            # A tensor with a number for each token goes on over the answer, with 0 where we know no better. The others
            # are pictures, and stay.
            if tensor.shape == question_shape:
                zeros = torch.zeros((1, answer_length), dtype=tensor.dtype)
                inputs[name] = torch.cat([tensor, answer_inputs.get(name, zeros)], dim=1)
        inputs["labels"] = torch.cat([torch.full(question_shape, _NO_LOSS), answer], dim=1)
        return inputs


def _with_adapter(model: Any, settings: JsonObject) -> Any:
    """Adds LoRA to the chosen linear layers of the text model. Raises LoadError."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise LoadError(
            "peft is not installed: pip install -r requirements-task-map.txt"
        ) from error
    decoder = model.get_decoder()
    prefixes = [name for name, module in model.named_modules() if module is decoder]
    path = prefixes[0] if prefixes else ""
    prefix = f"{path}." if path else ""  # the decoder may be the whole model
    layers = None if settings["layers"] is None else {str(number) for number in settings["layers"]}
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    chosen = []
    for name in linear:
        is_in_decoder = name.startswith(prefix)
        is_named = name.rpartition(".")[2] in settings["modules"]
        # The first number in a name is the layer's; a later one is an expert's, for example.
        layer = next(filter(str.isdigit, name.removeprefix(prefix).split(".")), None)
        is_in_layers = layers is None or layer in layers
        if is_in_decoder and is_named and is_in_layers:
            chosen.append(name)
    if not chosen:
        existing = {
            name.rpartition(".")[2]
            for name, module in decoder.named_modules()
            if isinstance(module, torch.nn.Linear)
        }
        names = ", ".join(sorted(existing))
        raise LoadError(f"the base has no such modules in these layers. Its text model has {names}")
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
        say(kind="loaded", numbers=learner.parameter_count)
    except LoadError as error:
        say(kind="failed", text=str(error))
        return
    for line in sys.stdin:
        request = json.loads(line)
        begun = time.monotonic()
        try:
            result = learner.learn(request["samples"], Path(request["folder"]))
            say(kind="learned", seconds=time.monotonic() - begun, **result)
        except LoadError as error:
            say(kind="failed", text=str(error))
        except MODEL_ERRORS as error:
            say(kind="failed", text=first_line(error))


if __name__ == "__main__":
    main()
