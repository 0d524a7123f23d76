"""Options that an answer names but does not mean: "dog" in "dog food", one of two, or an option retracted later."""

import re

from scoring.multiple_choice.named_options import AnswerText, Mention
from scoring.multiple_choice.phrases import (
    ARTICLE,
    CALLED_FALSE,
    COMMON,
    CORRECTED,
    FILLERS,
    ORDINALS,
    words,
)
from scoring.multiple_choice.plain_answers import plain_content
from scoring.multiple_choice.statements import denied_letter
from scoring.multiple_choice.types import Clue, Rule

_BOTH = re.compile(r"\bboth\b")
_FALLS = re.compile(
    r"\b(?:fell|falls?|drop\w{0,4}|decreas\w{1,4}|declin\w{1,4}|loss|lost|down|reduc\w{1,5}|owe[sd]?|below|negative|minus"
    r"|opposite|absolute|magnitude|lower|less)\b"
)
_RISES = re.compile(
    r"\b(?:rose|rises?|risen|increas\w{1,4}|gain\w{0,3}|grew|grow\w{0,4}|up|positive|plus|higher)\b"
)
_STATED = re.compile(r"(?:\b(?:is|was|are|were|equals|equal to|there are)|[=:≈])\s?\Z")
_BEFORE = 16
"""Characters before a number to search for its statement."""
_IT_IS = re.compile(
    r"\A(?:it|this|that|there|the\s(?:correct\s)?answer)(?:['’]s|\sis)\s", re.IGNORECASE
)
_GENERIC = words(
    """color colour side direction lane arrow weather day room season style kind type shape city country state material
    one ones ahead turn"""
)
"""Words that don't change the meaning of the word before them: "red color", "left side"."""
_ANOTHER_THING = words(
    """hot sea guinea prairie teddy toy stuffed fake jelly star non infra ultra less more too half almost nearly barely
    supposedly allegedly formerly never other another last next"""
) | {*ORDINALS}
"""Words that change the meaning of the word after them, or leave it unsure."""
_CLAUSES = re.compile(r"[.,;:!?\n。,;:、–—(]+")
_THEN = re.compile(r"\A\s*(?:but|and|wait|well|actually|or|then|so|hmm)\s")

_NAME = re.compile(r"\W{0,3}([A-Z])\.\s?([^\W\d_][\w'’-]{2,30})[.\s*]{0,4}")


def is_taken_back_later(answer: AnswerText, letter: str) -> bool:
    """Whether a later sentence denies the option, its letter or its own statement: "It is red. Wait, no."."""
    last = max(mention.end for mention in answer.mentions if mention.letter == letter)
    is_common = answer.contents.texts[letter] in COMMON  # "No, it isn't" retracts nothing
    return (
        bool(CORRECTED.search(answer.text, last))
        or (not is_common and bool(CALLED_FALSE.search(answer.text, last)))
        or letter in answer.named_options.denied
        or denied_letter(answer, letter)
    )


def is_compound(answer: AnswerText, letter: str) -> bool:
    """Whether a second word changes the meaning of an option's only word: "dog food", "hot dog"."""
    text = ARTICLE.sub("", _IT_IS.sub("", answer.plain))
    content = answer.contents.texts[letter]
    pair = text.split(" ")
    if len(pair) != 2 or content not in pair or not content.isalpha():
        return False
    if not all(word.isascii() and word.isalpha() for word in pair):
        return False
    if pair[1] == content:
        return pair[0] in _ANOTHER_THING
    return pair[1] not in _GENERIC and pair[1] not in FILLERS


def is_another_word(answer: AnswerText, letter: str) -> bool:
    """Whether another option is a whole clause of the answer: "No. Yes, it is"."""
    others = {text for label, text in answer.contents.texts.items() if label != letter}
    clauses = _CLAUSES.split(answer.text.lower())
    return any(_THEN.sub("", clause).strip() in others for clause in clauses)


def is_half(answer: AnswerText, letter: str) -> bool:
    """Whether the option is one of two that the answer means: "both the man and the woman"."""
    texts = answer.contents.texts
    if not _BOTH.search(answer.lower) or not any(map(_BOTH.search, texts.values())):
        return False
    return not _BOTH.search(texts[letter])


def loses_sign(answer: AnswerText, mention: Mention) -> bool:
    """Whether words may mean the negative of a number, which is an option too: "It fell by 5" beside -5."""
    values = answer.contents.values
    if mention.letter not in values:
        return False
    value = next(iter(values[mention.letter].values))
    if value <= 0 or not any(-value in other.values for other in values.values()):
        return False
    front = answer.lower[max(0, mention.start - _BEFORE) : mention.start]
    is_positive = _STATED.search(front) or _RISES.search(answer.lower)
    return not is_positive or bool(_FALLS.search(answer.lower))


def surname(answer: AnswerText) -> Clue | None:
    """An initial and a surname that is an option's last word: "A. Renoir" where C is Auguste Renoir."""
    match = _NAME.fullmatch(answer.text)
    if not match:
        return None
    initial = match[1]
    last_word = plain_content(match[2])
    letters = [
        letter for letter, text in answer.contents.texts.items() if text.endswith(f" {last_word}")
    ]
    if not letters:
        return None
    if len(letters) > 1:
        return Clue(Rule.CONFLICT, None, answer.text)
    letter = letters[0]
    if answer.contents.texts[letter][:1].upper() == initial:
        return Clue(Rule.EXACT, letter, answer.text)
    return None if letter == initial else Clue(Rule.CONFLICT, None, answer.text)
