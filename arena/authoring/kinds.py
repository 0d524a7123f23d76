"""Kinds of items that people write: the steps of each, every one done by somebody else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Step = Literal["instruction", "caption", "answer", "verify", "accepted", "rejected"]
STEPS: tuple[Step, ...] = ("instruction", "caption", "answer", "verify")
"""Those at which somebody has to act, in order."""
Kind = Literal["captions", "multiple choice"]
"""captions: an instruction whose answer is verified, as VisIT-Bench has them. multiple choice: a question with
options, one of them right, as MMBench and MMT-Bench have them."""


@dataclass(frozen=True)
class ItemKind:
    """How items of a kind are written."""

    task: str
    """What campaigns call it."""
    steps: tuple[Step, ...]
    """Those of `STEPS` that it has: somebody writes, the last one verifies."""
    model_step: Step
    """At which the project's model acts first, before people do."""
    most_pictures: int
    """Of an item."""


ITEM_KINDS: Mapping[Kind, ItemKind] = {
    "captions": ItemKind("writing", STEPS, model_step="answer", most_pictures=10),
    "multiple choice": ItemKind(
        "writing choices", ("instruction", "verify"), model_step="verify", most_pictures=1
    ),
}
