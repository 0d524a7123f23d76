"""ANLS: average normalised Levenshtein similarity (Biten et al. 2019), for answers that are read off a page."""

from typing import ClassVar, Literal

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
from scoring.rules.edits import edit_distance
from scoring.rules.short_answers import short_answer

_LEAST = 0.5
"""Similarity below which the score is 0."""
_LONGEST = 20_000
"""Characters above which an answer is not compared: the work grows with the square."""
_SHOWN = 200
"""Characters of an answer that are kept as read."""


class AnlsRule(RuleKind):
    """The similarity of the answer and the most similar truth."""

    heading: ClassVar[str] = "Text, by edit distance"
    kind: Literal["anls"] = "anls"

    @property
    def measure(self) -> str:
        return "ANLS"

    @property
    def example(self) -> RuleExample:
        return RuleExample("What is the street on the letter?", "Main Street", "Main Street")

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
        if len(answer) > _LONGEST:
            return unread_reading(protocol, f"longer than {_LONGEST:,} characters")
        best = max((similarity(answer, truth) for truth in truths), default=0.0)
        return Reading(best, read=answer[:_SHOWN], why="by edit distance")


def similarity(answer: str, truth: str) -> float:
    """1 - edits / length, or 0 below a half.

    Edits are counted in lower case with single blanks. The length is that of the longer text in upper case with all of
    its blanks, as in VLMEvalKit's `anls_compute`.
    """
    length = max(len(answer.upper()), len(truth.upper()))
    if length == 0:
        return 1.0
    plain_answer = " ".join(answer.lower().split())
    plain_truth = " ".join(truth.lower().split())
    # The distance is at least the difference in length, so here the score is below `_LEAST` without computing.
    if abs(len(plain_answer) - len(plain_truth)) > length * (1 - _LEAST):
        return 0.0
    score = 1 - edit_distance(plain_answer, plain_truth) / length
    return score if score >= _LEAST else 0.0
