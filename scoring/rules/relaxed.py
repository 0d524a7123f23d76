"""Relaxed accuracy: a number within 5% of the right number, or equal text (Methani et al. 2020, ChartQA)."""

from typing import ClassVar, Literal

from scoring.rules.base import (
    Item,
    Reading,
    RuleExample,
    RuleKind,
    RuleProtocol,
    accepted_answers,
    unread_reading,
)
from scoring.rules.short_answers import short_answer

_MOST_CHANGE = 0.05
"""Largest difference as a share of the right number."""


class RelaxedRule(RuleKind):
    """A number near the right number; for a truth that is 0, or text, the answer must be equal in any case."""

    heading: ClassVar[str] = "Numbers within 5%"
    kind: Literal["relaxed"] = "relaxed"

    @property
    def measure(self) -> str:
        return "relaxed accuracy"

    @property
    def example(self) -> RuleExample:
        return RuleExample("What was the share in 2020?", "42", "41.5")

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "vlmevalkit", "lmms-eval"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truths = accepted_answers(self.truth_of(item) or "")
        if protocol == "strict":
            answer, problem = short_answer(answer, truths)
            if problem:
                return unread_reading(protocol, problem)
        text = answer if protocol == "lmms-eval" else answer.strip()
        near = any(is_near(text, truth) for truth in truths)
        return Reading(float(near), text[:200], "within 5%, or equal text")


def is_near(answer: str, truth: str) -> bool:
    """Whether an answer equals the truth or, for a number that is not 0, is within 5% of it."""
    number = _number(answer)
    right = _number(truth)
    if number is not None and right:
        return abs(number - right) / abs(right) <= _MOST_CHANGE
    return answer.lower() == truth.lower()


def _number(text: str) -> float | None:
    """Python's number of a text; with a percent sign at the end, its hundredth."""
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
