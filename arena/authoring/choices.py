"""Choices: the options of a question as text, in an order drawn by lot, and which one a model's reply means."""

import random
import re
from collections.abc import Sequence
from string import ascii_uppercase

from arena.types import folded

MOST_OPTIONS = 6
MOST_OPTION = 300
"""Characters of an option."""
LETTERS = ascii_uppercase[:MOST_OPTIONS]
EMPTY_CELLS = frozenset(("nan", "NaN", "NA", "<NA>", "N/A", "None", "null", "NULL"))
"""What readers of tables take for a cell without an option."""
_COIN = random.SystemRandom()
_MOST_READ = 2000
"""Characters of a reply that are read: its letter is asked for alone."""
_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_LABEL = re.compile(r"[\W_]*([A-Z])[.:)\]*]")
_SAID = re.compile(r"\b(?i:answer|option|choice)(?: is)?:? ?[*_(\[\"']{0,3}([A-Z])\b")


def drawn(right: str, wrong: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The options in an order drawn by lot, so that no letter is right more often, and the letter of the right one."""
    options = [right, *wrong]
    _COIN.shuffle(options)
    return tuple(options), LETTERS[options.index(right)]


def options_text(options: Sequence[str]) -> str:
    """A line for each option, after its letter."""
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))


def letter_in(reply: str, options: Sequence[str]) -> str | None:
    """The letter of the option that a reply chooses, by rules that are sure; None where it names none, or several.

    `scoring` reads models' files by many more rules; here a model was asked for a letter and nothing else.
    """
    reply = reply[:_MOST_READ].strip()
    letters = LETTERS[: len(options)]
    texts = [_plain(option) for option in options]
    if found := _ALONE.fullmatch(reply):
        said = {found[1].upper()}
    elif _plain(reply) in texts:
        said = {letters[texts.index(_plain(reply))]}
    elif found := _LABEL.match(reply):
        said = {found[1]}
    else:
        said = set(_SAID.findall(reply))
    return next((letter for letter in said if letter in letters), None) if len(said) == 1 else None


def _plain(text: str) -> str:
    return folded(text).casefold().rstrip(".")
