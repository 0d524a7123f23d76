"""Answers of a letter with little beside it: the letter is a label, an option's initial, or unclear."""

import re
from collections.abc import Mapping
from unicodedata import is_normalized

from scoring.multiple_choice.phrases import ABBREVIATED
from scoring.multiple_choice.plain_answers import plain_content
from scoring.multiple_choice.types import USUAL_LETTERS, Clue, Rule, none_of

# Both patterns have text only behind a mark, which the lookbehind asks for. A label's text may begin on the next line.
_PLAIN_LABEL = re.compile(r"\(?([A-Z])[.:)]?(?:(?<=[.:)])\s+(\S.*))?", re.ASCII)
_PLAIN_STATEMENT = re.compile(
    r"[Tt]he (?:correct )?answer is:? \(?([A-Z])\)?[.:]?(?:(?<=[.:)]) (\S.*))?", re.ASCII
)
"""_PLAIN_LABEL, _PLAIN_STATEMENT: a letter (group 1), alone or with a mark and the text behind it (group 2)."""
_MAY_BE_LETTER = re.compile(r"\s*\w(?:\W{1,2})?\s*\Z")
"""An option of one letter or digit, with up to two marks or signs: a statement may mean it by its text."""
_SIGNED_LETTER = re.compile(r"\s*[A-Za-z]{1,2}[-+*#\u2212\u2013]{1,2}\s*\Z")
"""An option of one or two letters with a sign, such as B+ or AB-: a letter alone may be all that is left of it."""
_PAST_SIGNED = 8
"""Number of characters with which an option is too long for a letter with a sign, in any wrapping."""
_PAST_MARKED = 12
"""Number of characters with which an option is too long for a letter in emphasis and marks."""
_LETTERS_AS_LABELS = 6
"""Letters from A on that a model may use as labels, whatever the question's labels are."""


def common_answer(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The clue of the most common answers: "B.", "B. cat" or "The answer is B."; None for all other answers.

    The rules would read these answers alike, but for one case: a letter with its own option's text, which prompts ask
    for, is a label here even if the whole answer is another option's text.
    """
    statement = _PLAIN_STATEMENT.fullmatch(prediction)
    if statement:
        return _statement_clue(statement, options)
    label = _PLAIN_LABEL.fullmatch(prediction)
    if not label or label[1] not in options:
        return None
    if label[2]:
        is_own = _is_own_content(label, options)
        return Clue(Rule.LABEL, label[1], prediction) if is_own else None
    if any(map(_SIGNED_LETTER.match, _options_shorter_than(_PAST_SIGNED, options))):
        return None
    return letter_clue(label[1], prediction, options)


def _statement_clue(statement: re.Match[str], options: Mapping[str, str]) -> Clue | None:
    letter = statement[1]
    # Less bold than for a letter alone: in a sentence, B may also mean an option with the text B.
    may_mean_option = any(map(_MAY_BE_LETTER.match, _options_shorter_than(_PAST_SIGNED, options)))
    if letter not in options or may_mean_option:
        return None
    if statement[2] and not _is_own_content(statement, options):
        return None
    return Clue(Rule.STATEMENT, letter, statement.string)


def _options_shorter_than(length: int, options: Mapping[str, str]) -> list[str]:
    """The texts of the options with fewer characters: only they may be a letter with signs or marks."""
    return [text for text in options.values() if len(text) < length]


def _is_own_content(match: re.Match[str], options: Mapping[str, str]) -> bool:
    """Whether the text behind a matched letter is exactly its option's, and the answer is in NFKC.

    The rules would read any other answer after folding it.
    """
    is_own = options[match[1]].strip() == match[2]
    return is_own and is_normalized("NFKC", match.string)


def letter_clue(character: str, span: str, options: Mapping[str, str]) -> Clue | None:
    """The clue of a letter alone: a label, an option's initial, or unclear if it may be an option's content.

    None if it is only an option's content: the rules for contents read it.
    """
    if character in options:
        return Clue(Rule.ALONE, character, span)
    letter = character.upper()
    # A longer text is more than a letter in marks, and need not be read.
    markable_options = _options_shorter_than(_PAST_MARKED, options)
    is_content = any(plain_content(text) == character.lower() for text in markable_options)
    if is_content:
        return Clue(Rule.CONFLICT, None, span) if letter in options else None
    if letter in options:
        return Clue(Rule.ALONE, letter, span)
    return _initial(letter, span, options)


def _initial(letter: str, span: str, options: Mapping[str, str]) -> Clue:
    """The clue of a letter that is no label: the one option that starts with it, as T for True."""
    texts = {label: plain_content(text) for label, text in options.items()}
    initials = {label: text[:1].upper() for label, text in texts.items()}
    with_initial = [label for label, initial in initials.items() if initial == letter]
    is_abbreviation = any(texts[label] in ABBREVIATED for label in with_initial)
    # E after A to D is a fifth label, not an initial: an answer outside the options.
    next_label = USUAL_LETTERS[len(options) : len(options) + 1]  # "" after the last
    is_next_label = letter == next_label and not is_abbreviation
    if not with_initial or is_next_label:
        return Clue(Rule.OUTSIDE, none_of(options), span)
    # Any other of the first letters may be a label that a model uses, or an initial.
    may_be_label = letter in USUAL_LETTERS[:_LETTERS_AS_LABELS] and not is_abbreviation
    # Where an option begins with a label, letters can't be told from initials.
    are_labels_initials = bool(options.keys() & {*initials.values()})
    if len(with_initial) > 1 or may_be_label or are_labels_initials:
        return Clue(Rule.CONFLICT, None, span)
    return Clue(Rule.EXACT, with_initial[0], span)
