"""Open questions with a short answer, a number or a few words, as in MMMU."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from scoring.multiple_choice.numbers import Number
from scoring.rules.base import (
    Item,
    Reading,
    RuleProtocol,
    accepted_answers,
    compared_answers,
    reading_without_truths,
    unread_reading,
)
from scoring.rules.judging import JudgedKind
from scoring.rules.number import decimal_places, is_equal, read_number
from scoring.rules.short_answers import short_answer
from scoring.rules.text import folded_case

NOT_EQUAL = "not equal"
"""The reason for no reading of an answer that may still say the same."""
_KEY_WORDS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
"""Words before an answer in MMMU's code; on the last line, an equals sign counts too."""
_MARKS = (":", ",", ".", "!", "?", ";", "'")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?(?<!\d)\d++(?:\.\d++)?[eE][+-]?\d++"),
    re.compile(
        r"-?(?:(?<!\d)\d++\.\d++|\.\d++|(?<!\d)\d++\b)(?![eE][+-]?\d)(?![,\d])",
    ),
)
"""Numbers with commas, with an exponent, and plain, in MMMU's order."""


class OpenRule(JudgedKind):
    """An equal number or equal text; other answers are left to a judge."""

    heading: ClassVar[str] = "Open questions"
    kind: Literal["open"] = "open"
    form: ClassVar[str] = (
        "the number or the few words that it gives, without a sentence around them,"
    )

    @property
    def truth_reasons(self) -> frozenset[str]:
        return frozenset((NOT_EQUAL,))

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "authors"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        truths = accepted_answers(truth)
        if protocol == "authors":
            answers = mmmu_answers(answer)
            score = float(is_mmmu_right(answers, truths))
            read = ", ".join(sorted(map(str, answers)))[:200]
            return Reading(score, read, "key phrases and numbers")
        if not truths:
            return reading_without_truths()
        short = short_answer(answer, truths)
        if short.problem:
            return unread_reading(protocol, short.problem, is_open=short.is_open)
        reading = self._strict_reading(short.text, truth)
        return reading or unread_reading(protocol, NOT_EQUAL, is_open=True)

    def copied_reading(self, item: Item, copied: str, protocol: RuleProtocol) -> Reading:
        reading = self._strict_reading(copied, self.truth_of(item) or "")
        return reading or Reading(0.0, copied, "judge")

    def _strict_reading(self, text: str, truth: str) -> Reading | None:
        """The reading of an answer that equals a truth, or that is a number if all truths are numbers; else None."""
        truths = compared_answers(truth)
        if any(folded_case(text) == folded_case(truth) for truth in truths):
            return Reading(1.0, text[:200], "equal text")
        number = read_number(text)
        if number is None or len(number.values) != 1:
            return None
        results = [_is_number_right(number, truth) for truth in truths]
        if True in results:
            return Reading(1.0, text[:200], "equal number")
        if None in results:
            return None
        return Reading(0.0, text[:200], "another number")


def _is_number_right(number: Number, truth: str) -> bool | None:
    """Whether a number is the right answer; None if that isn't a number, or if it may be a share."""
    right = read_number(truth)
    if right is None or len(right.values) != 1:
        return None
    return is_equal(number, right, decimal_places(truth))


def mmmu_answers(answer: str) -> set[str | float]:
    """The possible answers in a text by MMMU's code: phrases after key words, and the numbers in them, as floats."""
    phrases = _key_phrases(answer.strip().strip(".").lower())
    texts = [*phrases]
    for phrase in phrases:
        for pattern in _NUMBERS:
            texts += pattern.findall(phrase)
    return {normal for text in texts for normal in _normal_forms(text)}


def _key_phrases(answer: str) -> Sequence[str]:
    """The shortest text after a key word in each line; the whole answer if no line has a key word."""
    lines = answer.split("\n")
    phrases = []
    for number, line in enumerate(lines, 1):
        words = (*_KEY_WORDS, "=") if number == len(lines) else _KEY_WORDS
        shortest = ""
        for word in words:
            if word in line:
                phrase = line.rpartition(word)[2].strip()
                if not shortest or len(phrase) < len(shortest):
                    shortest = phrase
        if shortest and shortest not in _MARKS:
            phrases.append(shortest)
    return phrases or [answer]


def _normal_forms(text: str) -> Iterator[str | float]:
    """Yields a number rounded to two places, or a text. Two for a letter: with a blank before it, and after it."""
    text = text.strip()
    try:
        yield round(float(text.replace(",", "")), 2)
    except ValueError:
        lower = text.lower()
        if len(lower) == 1:
            yield from (f" {lower}", f"{lower} ")
        else:
            yield lower


def is_mmmu_right(answers: set[str | float], truths: Sequence[str]) -> bool:
    """Whether one of the numbers is a truth, or a truth that is text is part of a phrase."""
    right = {normal for truth in truths for normal in _normal_forms(truth)}
    right_texts = [text for text in right if isinstance(text, str)]
    numbers = {answer for answer in answers if not isinstance(answer, str)}
    phrases = [answer for answer in answers if isinstance(answer, str)]
    if numbers & right:
        return True
    return any(text in phrase for text in right_texts for phrase in phrases)
