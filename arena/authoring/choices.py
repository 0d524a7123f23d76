"""Choices: the options of a question as text, in a drawn order, and the option that a reply chooses."""

import random
import re
from collections.abc import Sequence
from string import ascii_uppercase
from typing import NamedTuple

from arena.types import folded

MOST_OPTIONS = 6
MOST_OPTION = 300
"""The most characters of an option."""
LETTERS = ascii_uppercase[:MOST_OPTIONS]
EMPTY_CELLS = frozenset(
    "nan NaN -nan -NaN NA <NA> N/A n/a #N/A #NA None null NULL 1.#IND -1.#IND 1.#QNAN -1.#QNAN".split()
) | {"#N/A N/A"}
"""Texts that readers of tables take for an empty cell: those of pandas, which VLMEvalKit reads with."""
_COIN = random.SystemRandom()
_READ_CHARACTERS = 2000
"""The first characters of a reply, which are read. The model was asked for a letter alone, so more is never needed."""
_LETTER_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")  # "(b)."
_LETTER_FIRST = re.compile(r"[\W_]*([A-Z])[.:)\]*](?!\w\.)")  # "B. A dog", but not "E.g."
_ANNOUNCED_LETTER = re.compile(r"\b(?i:answer|option|choice)(?: is)?:? ?[*_(\[\"']{0,3}([A-Z])\b")
"""A letter announced as the choice: "the answer is (B)", "Option: B"."""
_MARKED_LETTER = re.compile(r"(?<![\w'’])([A-Z])[.:)\]*]{1,3} ?")
"""A letter in front of its option: "B. ", "B)"."""
_OTHER_LETTER = re.compile(
    rf"(?<![\w'’])(?:(?<= or )|(?<= and )|(?!A [a-z]))([{LETTERS}])(?![\w'’])(?!\.\w\.)"
)
"""Any letter alone, such as both in "B or A is right"; but not "E.g.", and not the article in "B, A dog"."""
_NOT = (
    r"(?i:\w{0,6}n['’]t"  # isn't, can't
    r"|not|cannot|never|neither|nor|wrong|incorrect|false|unlikely|impossible"
    r"|(?:exclud|eliminat|reject)\w{1,6}"  # excludes, eliminated, rejecting
    r"|rul\w{1,3} out)\b"  # rule out, ruled out, ruling out
)
_NOT_BEFORE = re.compile(rf"\b{_NOT}(?: \w{{1,15}}){{0,2}} $")
"""A rejection in front of a named letter, with up to two words between: "It can't be the" in front of "option B"."""
_NOT_BEHIND = re.compile(
    rf"[\W_]{{0,6}}(?:(?:is|was|seems|looks|does|can|could|would|must) )?(?:no\b|No\b|{_NOT})"
)
"""A rejection behind the letter: " is wrong" behind "B", "): no" behind "(B"."""
_BESIDE = 60
"""The number of characters in front of a named letter that are searched for a rejection."""


class ShuffledOptions(NamedTuple):
    """Options in a drawn order, which favours no letter."""

    options: tuple[str, ...]
    right_letter: str


def shuffle_options(right: str, wrong: Sequence[str]) -> ShuffledOptions:
    options = [right, *wrong]
    _COIN.shuffle(options)
    return ShuffledOptions(tuple(options), LETTERS[options.index(right)])


def options_text(options: Sequence[str]) -> str:
    """Returns a line for each option, after its letter."""
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))


def letter_in(reply: str, options: Sequence[str]) -> str | None:
    """Returns the letter of the option that a reply chooses; None if it names none or several.

    The rules are few and safe, since the model was asked for a letter alone. `scoring` reads models' files by many
    more.
    """
    reply = reply[:_READ_CHARACTERS].strip()
    letters = LETTERS[: len(options)]
    if match := _LETTER_ALONE.fullmatch(reply):
        chosen = {match[1].upper()}
    elif same := _same_options(reply, options):  # "A dog", the text of option B
        chosen = same
    elif (first := _LETTER_FIRST.match(reply)) and (
        same := _same_options(reply[first.end() :], options)
    ):
        chosen = {first[1]} & same  # "B. A dog": the letter and the text must agree.
    else:
        chosen = _named_letters(_without_options(reply, options), letters)
    if len(chosen) != 1:
        return None
    letter = chosen.pop()
    return letter if letter in letters else None


def _same_options(text: str, options: Sequence[str]) -> set[str]:
    """Returns the letters of the options that equal a text, except for case."""
    plain_text = _plain(text)
    pairs = zip(LETTERS, options, strict=False)
    return {letter for letter, option in pairs if _plain(option) == plain_text}


def _without_options(reply: str, options: Sequence[str]) -> str:
    """Returns a reply with "x" for each option behind its letter, since it may have a letter or a "no" itself."""
    option_of = dict(zip(LETTERS, options, strict=False))
    for match in reversed(list(_MARKED_LETTER.finditer(reply))):
        option = option_of.get(match[1], "")
        end = match.end() + len(option)
        is_whole = not reply[end : end + 1].isalnum()
        if is_whole and reply[match.end() : end].casefold() == option.casefold():
            reply = f"{reply[: match.end()]}x{reply[end:]}"
    return reply


def _named_letters(reply: str, letters: str) -> set[str]:
    """Returns the letters that a reply chooses or mentions; empty if it chooses none, or rejects one that it chose."""
    choices = [*_ANNOUNCED_LETTER.finditer(reply)]
    if first := _LETTER_FIRST.match(reply):
        choices.append(first)
    if not choices or any(map(_is_rejected, choices)):
        return set()
    mentioned = set(_OTHER_LETTER.findall(reply)) & set(letters)
    return {match[1] for match in choices} | mentioned


def _is_rejected(match: re.Match[str]) -> bool:
    """Whether the words beside the letter of a match reject it."""
    reply = match.string
    before = reply[max(0, match.start() - _BESIDE) : match.start()]
    return bool(_NOT_BEFORE.search(before) or _NOT_BEHIND.match(reply, match.end(1)))


def _plain(text: str) -> str:
    return folded(text).casefold().rstrip(".")
