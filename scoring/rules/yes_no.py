"""Yes or no: the one of the two words in an answer."""

import re
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from scoring.rules.base import Item, Reading, RuleExample, RuleProtocol, unread_reading
from scoring.rules.judging import JudgedKind
from scoring.rules.short_answers import short_answer
from scoring.rules.vqa_accuracy import without_marks

YesNoReader = Literal["whole", "start", "first"]
"""Toolkits' readers by benchmark. `whole`, `start`: lmms-eval's for POPE and MME. `first`: lmms-eval's and VLMEvalKit's
for NaturalBench."""

_WORD = re.compile(r"[^\W_]+")
_FIRST = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_ANSWERS = {"yes": "Yes", "no": "No"}
_START = 4
"""Characters at the start of an answer that lmms-eval searches for MME's words."""


class YesNoRule(JudgedKind):
    """The one of yes and no that an answer has as a word."""

    heading: ClassVar[str] = "Yes or no"
    kind: Literal["yes_no"] = "yes_no"
    read: YesNoReader = "whole"
    """lmms-eval's reader for this benchmark; `first` is VLMEvalKit's too."""
    form: ClassVar[str] = "Yes or No"
    choices: ClassVar[tuple[str, ...]] = ("Yes", "No")

    @property
    def example(self) -> RuleExample:
        return RuleExample("Is there a cup on the table?", "Yes", "Yes")

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "vlmevalkit", "lmms-eval"))

    def can_yield(self, text: str) -> bool:
        return text.strip().casefold() in _ANSWERS

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        if protocol == "strict":
            short = short_answer(answer, (self.truth_of(item) or "",))
            if short.problem:
                return unread_reading(protocol, short.problem, is_open=short.is_open)
            return self._score_word(item, only_word(short.text), protocol)
        has_own_reader = self.read == "first" or protocol == "lmms-eval"
        reader = _READERS[self.read] if has_own_reader else kit_word
        return self._score_word(item, reader(answer), protocol)

    def read_truth(self, item: Item, protocol: RuleProtocol) -> str:
        return self._right_word(item) or super().read_truth(item, protocol)

    def wrong_truth(self, item: Item) -> str:
        return "" if self._right_word(item) else "is neither yes nor no"

    def copied_reading(self, item: Item, copied: str, protocol: RuleProtocol) -> Reading:
        return self._score_word(item, only_word(copied), protocol)

    def _score_word(self, item: Item, word: str, protocol: RuleProtocol) -> Reading:
        if not word:
            asks_judge = protocol != "lmms-eval"
            return unread_reading(protocol, "not exactly one of yes and no", is_open=asks_judge)
        right = self._right_word(item)
        if right is None and protocol == "strict":
            return Reading(None, word, "the right answer is neither yes nor no")
        # A toolkit counts every answer as wrong if the right answer is neither word.
        return Reading(float(word == right), word, "the word")

    def _right_word(self, item: Item) -> str | None:
        """Yes or No; None where the right answer is neither."""
        return _ANSWERS.get((self.truth_of(item) or "").strip().strip(".").lower())


def only_word(answer: str) -> str:
    """Yes or No if exactly one of the two is a word of the answer; else ""."""
    words = {word for word in _WORD.findall(answer.casefold()) if word in _ANSWERS}
    return _ANSWERS[words.pop()] if len(words) == 1 else ""


def kit_word(answer: str) -> str:
    """VLMEvalKit's `only_word`, with words split as in the VQA evaluation: "yes/no" is two words, "yes." is one."""
    words = {
        word for word in without_marks(answer.lower(), as_kit=True).split() if word in _ANSWERS
    }
    return _ANSWERS[words.pop()] if len(words) == 1 else ""


def whole_word(answer: str) -> str:
    """Yes or No if it is the whole answer (POPE in lmms-eval)."""
    return _ANSWERS.get(answer.lower().strip(), "")


def word_at_start(answer: str) -> str:
    """Yes or No in the first four characters, or a single y or n (MME in lmms-eval)."""
    text = answer.lower().strip().replace(".", "")
    if len(text) == 1:
        return {"y": "Yes", "n": "No"}.get(text, "")
    for word, name in _ANSWERS.items():
        if word in text[:_START]:
            return name
    return ""


def first_word(answer: str) -> str:
    """The first of the two words, whatever follows (NaturalBench)."""
    match = _FIRST.search(answer)
    return _ANSWERS[match[1].lower()] if match else ""


_READERS: Mapping[YesNoReader, Callable[[str], str]] = {
    "whole": whole_word,
    "start": word_at_start,
    "first": first_word,
}
