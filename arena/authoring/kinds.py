"""Kinds of items that people write, and the steps of each; a different person does each step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Step = Literal["instruction", "caption", "answer", "verify", "accepted", "rejected"]
STEPS: tuple[Step, ...] = ("instruction", "caption", "answer", "verify")
"""The steps that wait for somebody, in order."""
Kind = Literal["captions", "multiple choice"]
"""captions: an instruction with a verified answer, as in VisIT-Bench. multiple choice: a question with options, one of
them right, as in MMBench and MMT-Bench."""


@dataclass(frozen=True)
class ItemKind:
    """The way that items of a kind are written."""

    task: str
    """Its name as a campaign's task."""
    steps: tuple[Step, ...]
    """Its steps, out of `STEPS`: the last one verifies, the others write."""
    model_step: Step
    """The step at which the project's model acts before people do."""
    most_pictures: int
    """The most pictures of an item."""


ITEM_KINDS: Mapping[Kind, ItemKind] = {
    "captions": ItemKind("writing", STEPS, model_step="answer", most_pictures=10),
    "multiple choice": ItemKind(
        "writing choices", ("instruction", "verify"), model_step="verify", most_pictures=1
    ),
}
