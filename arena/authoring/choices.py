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
EMPTY_CELLS = frozenset(("nan", "NaN", "NA", "<NA>", "N/A", "None", "null", "NULL"))
"""Texts that readers of tables take for an empty cell."""
_COIN = random.SystemRandom()
_READ_CHARACTERS = 2000
"""The first characters of a reply, which are read. The model was asked for a letter alone, so more is never needed."""
_LETTER_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_LETTER_FIRST = re.compile(r"[\W_]*([A-Z])[.:)\]*](?!\w\.)")  # not "E.g."
_MARKED_LETTER = re.compile(r"(?<![\w'’])([A-Z])[.:)\]*]")
_ANNOUNCED_LETTER = re.compile(r"\b(?i:answer|option|choice)(?: is)?:? ?[*_(\[\"']{0,3}([A-Z])\b")
_LETTER_BESIDE = re.compile(
    rf"[\W_]{{0,6}}(?:\b(?:or|and)[\W_]{{1,6}}|[,/&][\W_]{{0,6}}(?!A [a-z]))([{LETTERS}])\b"
)
"""Another letter directly behind one, as in "A or B", but not the article in "B, A dog"."""


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
    texts = [_plain(option) for option in options]
    if match := _LETTER_ALONE.fullmatch(reply):
        chosen = {match[1].upper()}
    elif _plain(reply) in texts:
        chosen = {letters[texts.index(_plain(reply))]}
    elif match := _LETTER_FIRST.match(reply):
        chosen = _letters_at(match)
        rest = reply[match.end() :]
        if _plain(rest) not in texts:
            chosen |= set(_MARKED_LETTER.findall(rest)) & set(letters)
    else:
        chosen = set[str]().union(*map(_letters_at, _ANNOUNCED_LETTER.finditer(reply)))
    if len(chosen) != 1:
        return None
    letter = chosen.pop()
    return letter if letter in letters else None


def _letters_at(match: re.Match[str]) -> set[str]:
    """Returns the letter of a match, with another one directly behind it."""
    beside = _LETTER_BESIDE.match(match.string, match.end(1))
    return {match[1], beside[1]} if beside else {match[1]}


def _plain(text: str) -> str:
    return folded(text).casefold().rstrip(".")
