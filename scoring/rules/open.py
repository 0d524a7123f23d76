"""Open questions with a short answer, a number or a few words, as MMMU has them."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from scoring.rules.base import Item, Reading, RuleProtocol, accepted, unread
from scoring.rules.judging import JudgedKind
from scoring.rules.number import decimals, is_same, read_number
from scoring.rules.short_answers import short_answer
from scoring.rules.text import folded_case

_KEYS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
"""Words before an answer in MMMU's code; in the last line, an equals sign is one too."""
_NO_PHRASES = (":", ",", ".", "!", "?", ";", "'")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?(?<!\d)\d++(?:\.\d++)?[eE][+-]?\d++"),
    re.compile(
        r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])",
    ),
)
"""With commas, with an exponent, and plain, in MMMU's order."""


class OpenRule(JudgedKind):
    """An equal number or equal text; what else an answer says is left to a judge."""

    kind: Literal["open"] = "open"
    form: ClassVar[str] = (
        "the number or the few words that it gives, without a sentence around them,"
    )

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "authors"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truths = accepted(self.truth_of(item) or "")
        if protocol == "authors":
            said = mmmu_answers(answer)
            score = float(is_mmmu_right(said, truths))
            return Reading(
                score, ", ".join(sorted(map(str, said)))[:200], "key phrases and numbers"
            )
        said = short_answer(answer, truths)
        if said.problem:
            return unread(protocol, said.problem, said.is_open)
        return self._strict(said.text, truths) or unread(protocol, "not equal", True)

    def replied(self, item: Item, said: str, protocol: RuleProtocol) -> Reading:
        truths = accepted(self.truth_of(item) or "")
        return self._strict(said, truths) or Reading(0.0, said, "judge")

    def _strict(self, text: str, truths: Sequence[str]) -> Reading | None:
        """The reading of an answer that equals a truth, or is a number where all truths are; else None."""
        if any(folded_case(text) == folded_case(truth) for truth in truths):
            return Reading(1.0, text[:200], "equal text")
        number = read_number(text)
        numbers = [(read_number(truth), decimals(truth)) for truth in truths]
        if number is None or len(number.values) != 1:
            return None
        same = [
            is_same(number, right, places) if right and len(right.values) == 1 else None
            for right, places in numbers
        ]
        if True in same:
            return Reading(1.0, text[:200], "equal number")
        return None if None in same else Reading(0.0, text[:200], "another number")


def mmmu_answers(answer: str) -> set[str | float]:
    """All that MMMU's code takes for an answer's answer: phrases behind key words, and the numbers in them."""
    phrases = _key_phrases(answer.strip().strip(".").lower())
    numbers = [
        number for phrase in phrases for pattern in _NUMBERS for number in pattern.findall(phrase)
    ]
    return {said for text in (*phrases, *numbers) for said in _normal(text)}


def _key_phrases(answer: str) -> Sequence[str]:
    """The shortest text behind a key word in each line; the whole answer where no line has one."""
    lines = answer.split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        keys = (*_KEYS, "=") if number == len(lines) else _KEYS
        shortest = ""
        for key in keys:
            if key in line:
                phrase = line.rpartition(key)[2].strip()
                if not shortest or len(phrase) < len(shortest):
                    shortest = phrase
        if shortest and shortest not in _NO_PHRASES:
            found.append(shortest)
    return found or [answer]


def _normal(text: str) -> Iterator[str | float]:
    """A number rounded to two places, or the text; a single letter only beside a blank."""
    text = text.strip()
    try:
        yield round(float(text.replace(",", "")), 2)
    except ValueError:
        lower = text.lower()
        if len(lower) == 1:
            yield from (f" {lower}", f"{lower} ")
        else:
            yield lower


def is_mmmu_right(said: set[str | float], truths: Sequence[str]) -> bool:
    """Whether a number is one of the truths, or a truth that is text is part of a phrase."""
    right = {one for truth in truths for one in _normal(truth)}
    numbers = {one for one in said if not isinstance(one, str)}
    words = [one for one in right if isinstance(one, str)]
    phrases = [one for one in said if isinstance(one, str)]
    return bool(numbers & right) or any(word in phrase for word in words for phrase in phrases)
