"""ANLS: average normalised Levenshtein similarity (Biten et al. 2019), for answers that are read off a page."""

from typing import Literal

from scoring.rules.base import Item, Reading, RuleKind, RuleProtocol, accepted, unread
from scoring.rules.edits import edit_distance
from scoring.rules.short_answers import short_answer

_LEAST = 0.5
"""A smaller similarity counts nothing."""
_LONGEST = 20_000
"""Characters of an answer above which none is compared: the work grows with the square."""


class AnlsRule(RuleKind):
    """The similarity of the answer and the best of the truths."""

    kind: Literal["anls"] = "anls"

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "vlmevalkit", "lmms-eval"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truths = accepted(self.truth_of(item) or "")
        if protocol == "strict":
            answer, problem = short_answer(answer, truths)
            if problem:
                return unread(protocol, problem)
        if len(answer) > _LONGEST:
            return unread(protocol, f"longer than {_LONGEST:,} characters")
        best = max((similarity(answer, truth) for truth in truths), default=0.0)
        return Reading(best, answer[:200], "by edit distance")


def similarity(said: str, truth: str) -> float:
    """1 - edits / length, or 0 below a half.

    Edits are counted in lower case with single blanks; the length is that of the longer text as it is.
    """
    length = max(len(said.upper()), len(truth.upper()))
    if length == 0:
        return 1.0
    plain = [" ".join(text.lower().split()) for text in (said, truth)]
    if abs(len(plain[0]) - len(plain[1])) > length * (1 - _LEAST):
        return 0.0
    score = 1 - edit_distance(*plain) / length
    return score if score >= _LEAST else 0.0
