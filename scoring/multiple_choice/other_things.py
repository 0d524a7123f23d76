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
from scoring.multiple_choice.statements import is_letter_denied
from scoring.multiple_choice.types import Clue, Rule

_BOTH = re.compile(r"\bboth\b")
_FALL = re.compile(
    r"\b(?:fell|falls?|drop\w{0,4}|decreas\w{1,4}|declin\w{1,4}|loss|lost|down|reduc\w{1,5}|owe[sd]?|below|negative|minus"
    r"|opposite|absolute|magnitude|lower|less)\b"
)
_RISE = re.compile(
    r"\b(?:rose|rises?|risen|increas\w{1,4}|gain\w{0,3}|grew|grow\w{0,4}|up|positive|plus|higher)\b"
)
_STATEMENT_BEFORE = re.compile(r"(?:\b(?:is|was|are|were|equals|equal to|there are)|[=:≈])\s?\Z")
_FRONT_CHARACTERS = 16
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
_CLAUSE_END = re.compile(r"[.,;:!?\n。、–—(]+")
_CLAUSE_OPENING = re.compile(r"\A\s*(?:but|and|wait|well|actually|or|then|so|hmm)\s")

_PARTICLES = r"(?i:(?:van|von|de|da|di|du|del|della|der|den|la|le|ten|ter|dos)\s){0,2}"
_INITIAL_AND_SURNAME = re.compile(
    rf"\W{{0,3}}([A-Z])\.\s?({_PARTICLES}[^\W\d_][\w'’-]{{2,30}})[.\s*]{{0,4}}"
)
"""An initial and a surname, which may begin with particles: "A. Renoir", "V. van Gogh"."""


def is_taken_back_later(answer: AnswerText, letter: str) -> bool:
    """Whether a later sentence denies the option, its letter or its own statement: "It is red. Wait, no."."""
    last_end = max(mention.end for mention in answer.mentions if mention.letter == letter)
    is_common = answer.contents.texts[letter] in COMMON  # "No, it isn't" retracts nothing
    return (
        bool(CORRECTED.search(answer.text, last_end))
        or (not is_common and bool(CALLED_FALSE.search(answer.text, last_end)))
        or letter in answer.named_options.denied
        or is_letter_denied(answer, letter)
    )


def is_compound(answer: AnswerText, letter: str) -> bool:
    """Whether a second word changes the meaning of an option's only word: "dog food", "hot dog"."""
    text = ARTICLE.sub("", _IT_IS.sub("", answer.plain))
    content = answer.contents.texts[letter]
    answer_words = text.split(" ")
    if len(answer_words) != 2 or content not in answer_words or not content.isalpha():
        return False
    if not all(word.isascii() and word.isalpha() for word in answer_words):
        return False
    before, behind = answer_words
    if behind == content:
        return before in _ANOTHER_THING
    return behind not in _GENERIC and behind not in FILLERS


def has_another_option_as_clause(answer: AnswerText, letter: str) -> bool:
    """Whether another option is a whole clause of the answer: "No. Yes, it is"."""
    other_texts = {text for label, text in answer.contents.texts.items() if label != letter}
    clauses = _CLAUSE_END.split(answer.text.lower())
    return any(_CLAUSE_OPENING.sub("", clause).strip() in other_texts for clause in clauses)


def is_one_of_both(answer: AnswerText, letter: str) -> bool:
    """Whether the answer means two things, and another option means both: "both the man and the woman"."""
    texts = answer.contents.texts
    if not _BOTH.search(answer.lower) or not any(map(_BOTH.search, texts.values())):
        return False
    return not _BOTH.search(texts[letter])


def loses_sign(answer: AnswerText, mention: Mention) -> bool:
    """Whether words may mean the negative of a number, which is an option too: "It fell by 5" beside -5."""
    values = answer.contents.values
    if mention.letter not in values:
        return False
    # An option has only one value, unless it is a number behind a long dash, as in "—5".
    value = next(iter(values[mention.letter].values))
    if value <= 0 or not any(-value in other.values for other in values.values()):
        return False
    front = answer.lower[max(0, mention.start - _FRONT_CHARACTERS) : mention.start]
    is_positive = bool(_STATEMENT_BEFORE.search(front) or _RISE.search(answer.lower))
    may_be_negative = bool(_FALL.search(answer.lower))
    return may_be_negative or not is_positive


def initial_and_surname(answer: AnswerText) -> Clue | None:
    """The clue of an initial and a surname that ends an option: "A. Renoir" where C is Auguste Renoir.

    The option, if its own name has this initial; a conflict for another initial, or for several such options.
    """
    match = _INITIAL_AND_SURNAME.fullmatch(answer.text)
    if not match:
        return None
    initial = match[1]
    surname = plain_content(match[2])
    if answer.contents.texts.get(initial) == surname:
        return None  # "A. Bear" where A is bear: a label with its content, for other rules.
    letters = [
        letter for letter, text in answer.contents.texts.items() if text.endswith(f" {surname}")
    ]
    if not letters:
        return None
    if len(letters) > 1:
        return Clue(Rule.CONFLICT, None, answer.text)
    letter = letters[0]
    if answer.contents.texts[letter][:1].upper() == initial:
        return Clue(Rule.EXACT, letter, answer.text)
    if letter == initial:
        return None  # "B. Renoir" where B is Auguste Renoir: a label with its content, for other rules.
    return Clue(Rule.CONFLICT, None, answer.text)
