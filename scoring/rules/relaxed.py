"""Relaxed accuracy: a number within 5% of the right number, or equal text (Methani et al. 2020, ChartQA)."""

import re
from typing import ClassVar, Literal

from scoring.multiple_choice.numbers import normalized_text
from scoring.rules.base import (
    Item,
    Reading,
    RuleExample,
    RuleKind,
    RuleProtocol,
    accepted_answers,
    compared_answers,
    reading_without_truths,
    unread_reading,
)
from scoring.rules.short_answers import short_answer

_MOST_CHANGE = 0.05
"""Largest difference as a share of the right number."""
_ROUNDING = 1e-12
"""What floating-point numbers may add to that share: 1.05 is within 5% of 1."""

_WRITTEN_NUMBER = re.compile(
    r"([-+]?)(?:[$€£¥]\s?)?(?=\.?\d)(\d{1,3}(?:,\d{3}){1,6}|\d{0,20})((?:\.\d{1,20})?%?)(?:\s?[$€£¥])?"
)
"""A number with a currency's sign on either side or commas between thousands, which Python's numbers don't have.

Its groups are the sign, the whole number, and the decimals with a percent sign.
"""


class RelaxedRule(RuleKind):
    """A number near the right number; for a truth that is 0, or text, an equal answer whatever its case."""

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
        truth = self.truth_of(item) or ""
        truths = accepted_answers(truth)
        if protocol == "strict":
            if not truths:
                return reading_without_truths()
            answer, problem = short_answer(answer, truths)
            if problem:
                return unread_reading(protocol, problem)
            truths = compared_answers(truth)
        text = answer if protocol == "lmms-eval" else answer.strip()
        near = any(is_near(text, truth, protocol) for truth in truths)
        return Reading(float(near), text[:200], "within 5%, or equal text")


def is_near(answer: str, truth: str, protocol: RuleProtocol) -> bool:
    """Whether an answer equals the truth or, for a number that is not 0, is within 5% of it.

    The toolkits don't allow for rounding, and compare two numbers only as such, so that "inf" isn't near "inf".
    """
    if protocol == "strict":  # A full stop at the end doesn't count, as in other short answers.
        answer = _plain_number_text(answer.rstrip(" ."))
        truth = _plain_number_text(truth.rstrip(" ."))
    is_equal = answer.lower() == truth.lower()
    number = _number(answer)
    right = _number(truth)
    if number is None or not right:
        return is_equal
    change = abs(number - right) / abs(right)
    if protocol == "strict":
        return is_equal or change <= _MOST_CHANGE + _ROUNDING
    return change <= _MOST_CHANGE


def _plain_number_text(text: str) -> str:
    """A written number as Python reads it: "$1,200" is "1200", "−0,5" is "-0.5"; any other text as it is."""
    match = _WRITTEN_NUMBER.fullmatch(normalized_text(text).strip())
    return match[1] + match[2].replace(",", "") + match[3] if match else text


def _number(text: str) -> float | None:
    """Python's number of a text; with a percent sign at the end, its hundredth."""
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
