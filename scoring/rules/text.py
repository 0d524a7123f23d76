"""Short texts: equal to a right answer, containing one, or scored by the consensus of ten people's answers."""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from arena.types import folded
from scoring.rules.base import (
    TOOLKITS,
    Item,
    Reading,
    RuleExample,
    RuleProtocol,
    accepted_answers,
    reading_without_truths,
    unread_reading,
)
from scoring.rules.judging import JudgedKind
from scoring.rules.number import plain_number
from scoring.rules.short_answers import plain_reference, short_answer
from scoring.rules.vqa_accuracy import consensus_accuracy, normal_answer
from scoring.text_lists import listed_texts

Compare = Literal["equal", "contains", "consensus"]
Fold = Literal["case", "spaces", "vqa", "none"]

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
"""Full-width characters, with their ASCII characters."""
_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u318f\u31f0-\u31ff\u3400-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\ufe00-\ufe0f\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
"""Signs of Thai, Lao, Tibetan, Burmese, Khmer, Han, kana and bopomofo, which have no blanks between words; of Hangul,
whose particles follow a word without one; and signs that choose another sign's form."""
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u064b-\u0652\u0670]{0,4}")
"""Accents on a letter, and the vowel signs of Hebrew and Arabic, which may be left out."""


class TextRule(JudgedKind):
    """Text that is folded and compared; only lists may be left to a judge."""

    heading: ClassVar[str] = "Short answers"
    kind: Literal["text"] = "text"
    compare: Compare = "equal"
    fold: Fold = "case"
    """Ignored differences: capitals and outer blanks (`case`), all blanks (`spaces`), those of the VQA evaluation
    (`vqa`), or only outer blanks (`none`). Outside the toolkits, `case` also ignores full stops at the end."""
    as_: Literal["text", "list"] = Field(default="text", alias="as")
    """Whether a list in the column of truths is several right answers, or a right answer that is a list (MathVista)."""
    notes: ClassVar[Mapping[RuleProtocol, str]] = {
        "mmbench-paper": "MMBench's protocol: the whole answer is compared as it is"
    }
    form: ClassVar[str] = 'the list that it gives, such as [1, 2] or ["a", "b"],'

    @property
    def measure(self) -> str:
        return "VQA accuracy" if self.compare == "consensus" else "accuracy"

    @property
    def example(self) -> RuleExample:
        if self.compare == "consensus":
            return RuleExample("What animal is this?", json.dumps(["cat"] * 10), "cat")
        if self.as_ == "list":
            return RuleExample("Which numbers are even?", "[2, 4]", "[2, 4]")
        return super().example

    def protocols(self) -> frozenset[RuleProtocol]:
        if self.compare == "consensus":
            return frozenset(("strict", "vlmevalkit", "mmbench-paper"))
        return frozenset(("strict", "vlmevalkit", "mmbench-paper", "lmms-eval"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "strict":
            truths = accepted_answers(truth)
            if not truths and self.as_ != "list":
                return reading_without_truths()
            short = short_answer(answer, truths)
            if short.problem:
                is_open = short.is_open and self.as_ == "list"
                return unread_reading(protocol, short.problem, is_open=is_open)
            answer = short.text
        if self.as_ == "list":
            return self._list_reading(answer, truth, protocol)
        truths = accepted_answers(truth)
        score = self._score(answer, truths, protocol)
        if protocol == "strict":
            plain_truths = tuple(map(plain_reference, truths))
            score = max(score, self._score(answer, plain_truths, protocol))
        return Reading(score, answer.strip()[:200], _REASONS[self.compare])

    def _score(self, text: str, truths: tuple[str, ...], protocol: RuleProtocol) -> float:
        if self.compare == "consensus":
            if not truths:
                return 0.0
            return consensus_accuracy(text, truths, as_kit=protocol in TOOLKITS)
        folded_text = self._folded(text, protocol)
        if protocol == "lmms-eval" and self.compare == "equal":
            folded_text = folded_text.rstrip(".")
        right = [self._folded(truth, protocol) for truth in truths]
        if self.compare == "equal":
            return float(folded_text in right)
        if protocol in TOOLKITS:
            return float(any(truth in folded_text for truth in right))
        # An empty text is part of any text, and a text without blanks has no words.
        if self.fold == "spaces":
            return float(any(truth and truth in folded_text for truth in right))
        return float(any(truth and has_words(folded_text, truth) for truth in right))

    def _folded(self, text: str, protocol: RuleProtocol) -> str:
        if protocol not in TOOLKITS:
            return _FOLDS[self.fold](text)
        # As the toolkits compare OCRBench's texts.
        if self.compare == "contains":
            if protocol == "lmms-eval" and self.fold == "case":
                text = text.translate(_WIDE)
            text = text.strip().replace("\n", " ")
        return _TOOLKIT_FOLDS[self.fold](text)

    def _list_reading(self, answer: str, truth: str, protocol: RuleProtocol) -> Reading:
        """The reading of an answer if the truth is a list; VLMEvalKit matches none, lmms-eval leaves all to a judge."""
        if protocol == "vlmevalkit":
            return unread_reading(protocol, "the toolkit matches no list")
        if protocol == "lmms-eval":
            return unread_reading(protocol, "left to the judge", is_open=bool(answer))
        members = listed_texts(answer)
        if members is None:
            return unread_reading(protocol, "no list", is_open=True)
        comparable = [_comparable_member(member) for member in members]
        right = [_comparable_member(member) for member in accepted_answers(truth)]
        is_equal = comparable == right
        return Reading(float(is_equal), answer[:200], "the list")

    def wrong_truth(self, item: Item) -> str:
        # A right answer that is a list may have no members.
        return "" if self.as_ == "list" else super().wrong_truth(item)

    def copied_reading(self, item: Item, copied: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "lmms-eval":
            return Reading(float(copied.strip() == truth.strip()), copied, "judge")
        return self._list_reading(copied, truth, protocol)


def has_words(text: str, words: str) -> bool:
    """Whether a text contains these words, but not as part of a longer word or number: "2014" does not contain "4".

    In scripts without blanks between words, any part counts: in "有4只" it is "4". `words` isn't empty.
    """
    place = text.find(words)
    while place >= 0:
        end = _end_of_accents(text, place + len(words))
        before = text[place - 1 : place]
        after = text[end : end + 1]
        # At either end of the text, the neighbour is empty and joins nothing.
        starts_inside = _is_joined(before, words[0])
        ends_inside = _is_joined(words[-1], after)
        if not starts_inside and not ends_inside:
            return True
        place = text.find(words, place + 1)
    return False


def _end_of_accents(text: str, place: int) -> int:
    """The place behind the accents on the letter before a place: the last letter of "كتابٌ" is that of "كتاب"."""
    accents = _ACCENTS.match(text, place)
    return accents.end() if accents else place


def _is_joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters are letters or digits of the same word."""
    return _is_word_sign(left) and _is_word_sign(right)


def _is_word_sign(sign: str) -> bool:
    """Whether a character is a letter, vowel sign or digit of a script that separates words by blanks."""
    if not sign or _WITHOUT_BLANKS.match(sign):
        return False
    return sign.isalnum() or unicodedata.category(sign) in ("Mn", "Mc")


def _comparable_member(text: str) -> object:
    """A list's member as a number if it is one, else as folded text."""
    number = plain_number(text)
    return number if number is not None else folded_case(text)


def folded_case(text: str) -> str:
    """A text without capitals, runs of blanks, and full stops at its end, which don't count in a short answer."""
    return folded(text).casefold().rstrip(" .")


_FOLDS: Mapping[Fold, Callable[[str], str]] = {
    "case": folded_case,
    "spaces": lambda text: "".join(text.split()),
    "vqa": normal_answer,
    "none": str.strip,
}
_TOOLKIT_FOLDS: Mapping[Fold, Callable[[str], str]] = {
    "case": lambda text: text.strip().lower(),
    "spaces": lambda text: text.replace(" ", ""),
    "vqa": lambda text: normal_answer(text, as_kit=True),
    "none": str.strip,
}
_REASONS: Mapping[Compare, str] = {
    "equal": "equal text",
    "contains": "a right answer is part of the text",
    "consensus": "consensus of the references",
}
