"""Attack rules: families of phrases by which an answer may try to sway its judge.

They are in the phrase file, and `families` returns those that a text in lower case fits.
A rule that begins with a word is tried only at words with the same first letters, which few words have.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from string import digits
from typing import NamedTuple

from arena.io.tables import read_records
from scoring.report import DATA

_PHRASES = DATA / "attack_phrases.tsv"
"""Attack patterns in lower case: rules by family; <NAME> is replaced by the rule of that word."""
COLUMN_SIGNS = "|¦｜│┃∣ǀ❘❙❚⎮￨"
"""Signs that look like the line between two columns of a table."""
_AS_COLUMN = str.maketrans(dict.fromkeys(COLUMN_SIGNS, "|"))
_TOGETHER = "run together"
"""The family whose rules are searched in texts without blanks and signs."""
_BEGINNING_LETTERS = 2
"""Letters by which rules are looked up."""
_GAPS = re.compile(r"[\W_]+")
_NAME = re.compile(r"<([A-Z]+)>")
_WORD_START = re.compile(r"\b\w")
_AT_WORD = r"\b"
"""The beginning of a rule that begins with a word."""
_ANYTHING = "."
"""The piece that fits any character."""
_PIECE = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\]){0,80}\]|.", re.DOTALL)
"""An escape, a class of signs, or a sign of a pattern."""
_QUANTIFIER = re.compile(r"(?:(?P<maybe>[?*]|\{0,?\d*\})|\+|\{[\d,]+\})[?+]?")
"""A quantifier of the piece or group before it; `maybe` is one that allows none, such as ?, * or {0,3}."""
_DEPTH_CHANGES = {"(": 1, ")": -1}
"""The pieces that open and close groups."""


class _Rule(NamedTuple):
    """A rule of a family, or one of its parts."""

    family: str
    pattern: re.Pattern[str]


class _Rules(NamedTuple):
    """Compiled rules of the phrase file."""

    families: Sequence[str]
    by_beginning: Mapping[str, Sequence[_Rule]]
    """Rules that begin with a word, by each of their possible first letters, two or one."""
    in_ascii: Sequence[_Rule]
    """Other rules whose pattern begins with a character in ASCII."""
    in_other_letters: Sequence[_Rule]
    """Other rules, which no text in ASCII can fit, since they begin with another letter."""
    together: re.Pattern[str]
    """Fits texts without blanks and signs, whose words run together."""
    nothing: re.Pattern[str]
    """Fits texts that say nothing."""


def families(text: str) -> list[str]:
    """The families that a text in lower case fits, in the file's order."""
    rules = _rules()
    with_plain_columns = text.translate(_AS_COLUMN)
    fitting = {rule.family for rule in _matching_rules(rules, with_plain_columns)}
    names = [family for family in rules.families if family in fitting]
    if rules.together.search(_GAPS.sub("", text)):
        names.append(_TOGETHER)
    if rules.nothing.fullmatch(text):
        names.append("says nothing")
    return names


def _matching_rules(rules: _Rules, text: str) -> Iterator[_Rule]:
    """Yields the rules that match a text, possibly several times."""
    for word in _WORD_START.finditer(text):
        place = word.start()
        for beginning in (text[place : place + _BEGINNING_LETTERS], word[0]):
            for rule in rules.by_beginning.get(beginning, ()):
                if rule.pattern.match(text, place):
                    yield rule
    yield from (rule for rule in rules.in_ascii if rule.pattern.search(text))
    if not text.isascii():
        yield from (rule for rule in rules.in_other_letters if rule.pattern.search(text))


@cache
def _rules() -> _Rules:
    """Reads the phrase file. Its words, of the family "word", come before the rules that name them."""
    words: dict[str, str] = {}
    by_family: dict[str, list[str]] = {}
    for record in read_records(_PHRASES):
        family = str(record.values["family"])
        name = str(record.values["name"])
        rule = _NAME.sub(lambda word: words[word[1]], str(record.values["rule"]))
        if family == "word":
            words[name] = rule
        else:
            by_family.setdefault(family, []).extend(_parts(rule))
    together = re.compile("|".join(by_family.pop(_TOGETHER)))
    by_beginning: dict[str, list[_Rule]] = {}
    in_ascii: list[_Rule] = []
    in_other_letters: list[_Rule] = []
    for family, parts in by_family.items():
        for part in parts:
            rule = _Rule(family, re.compile(part, re.MULTILINE))
            beginnings = _beginnings(part.removeprefix(_AT_WORD), _BEGINNING_LETTERS)
            begins_with_word = part.startswith(_AT_WORD) and "" not in beginnings
            if begins_with_word:
                for beginning in beginnings:
                    by_beginning.setdefault(beginning, []).append(rule)
            elif part[0].isascii():
                in_ascii.append(rule)
            else:
                in_other_letters.append(rule)
    nothing = re.compile(rf"[\W_]*(?:{words['OPENERS']}[\W_]*)?")
    return _Rules([*by_family], by_beginning, in_ascii, in_other_letters, together, nothing)


def _parts(rule: str) -> list[str]:
    """The alternatives of a rule, split at "|" outside groups."""
    parts = [""]
    depth = 0
    for piece in _PIECE.findall(rule):
        depth += _DEPTH_CHANGES.get(piece, 0)
        if piece == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _beginnings(part: str, most: int) -> set[str]:
    """The beginnings of a match, of up to `most` characters; "" stands for any beginning."""
    if not most:
        return {""}
    is_group = part.startswith("(?:")
    first = _group(part) if is_group else _first_piece(part)
    rest = part[len(first) :]
    quantifier = _QUANTIFIER.match(rest)
    after = rest[quantifier.end() :] if quantifier else rest
    # A piece that may repeat is followed by itself or by the rest, so that anything may follow.
    following = _ANYTHING if quantifier else after
    if is_group:
        beginnings = _beginnings_of_group(first, following, most)
    else:
        beginnings = _beginnings_of_piece(first, following, most)
    if quantifier and quantifier["maybe"]:
        beginnings |= _beginnings(after, most)
    return beginnings


def _beginnings_of_group(group: str, following: str, most: int) -> set[str]:
    beginnings: set[str] = set()
    for alternative in _parts(group[len("(?:") : -1]):
        beginnings |= _beginnings(alternative + following, most)
    return beginnings


def _beginnings_of_piece(piece: str, following: str, most: int) -> set[str]:
    letters = digits if piece == r"\d" else piece
    if not letters.isalnum():  # such as an escape or a class, which may fit many characters
        return {""}
    next_beginnings = _beginnings(following, most - 1)
    return {letter + beginning for letter in letters for beginning in next_beginnings}


def _first_piece(part: str) -> str:
    """The piece at the start of a part; "" if the part is empty."""
    piece = _PIECE.match(part)
    return piece[0] if piece else ""


def _group(part: str) -> str:
    """The group at the start of a part."""
    depth = 0
    end = 0
    for piece in _PIECE.findall(part):
        depth += _DEPTH_CHANGES.get(piece, 0)
        end += len(piece)
        if not depth:
            break
    return part[:end]
