"""Right answers in files: letters, options' texts, or the options' places, counted from 0 or from 1.

Only the whole column shows how it counts. An ambiguous column is refused, never guessed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LETTER = re.compile(r"[(\[（【]?([A-Za-z])[)\]）】]?[.:：、]?")
_LABELLED = re.compile(
    r"(?:[(\[（【]([A-Za-z])[)\]）】]|([A-Za-z])[).:：、])[.:：、]?\s*(\S.*)", re.DOTALL
)
_PLACE = re.compile(r"(\d{1,2})(?:\.0{1,9})?", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


class TruthCell(NamedTuple):
    """A right answer as it is in the file, with its question's options by letter."""

    written: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Truths:
    """The letters of a column of right answers, in its order."""

    letters: tuple[str | None, ...]
    """None for a cell that is none of the options, or ambiguous."""
    ambiguous: str = ""
    """The possible meanings of the whole column, and how to write it clearly; "" if it is clear."""
    doubtful: frozenset[int] = frozenset()
    """Positions of cells that are the letter of one option and the text of another."""
    way: str = ""
    """A notice on the reading of cells other than letters; "" if there are only letters."""
    misfit: tuple[int, str] | None = None
    """Position of the first number that fits no reading of the column, and the problem with it."""


def plain_option(text: str) -> str:
    """An option's text for comparison: tables may pad cells, and have a number as 2, 2.0 or 2.00."""
    plain = " ".join(text.split())
    return str(float(plain)) if _NUMBER.fullmatch(plain) else plain


def read_truths(cells: Sequence[TruthCell]) -> Truths:
    """The letters of a column's cells."""
    letters = [_by_letter(cell) for cell in cells]
    places = [_place(cell.written) for cell in cells]
    if cells and None not in places and not any(letters):
        return _numbered(cells, [place or 0 for place in places])
    texts = [_by_text(cell) for cell in cells]
    has_letters = any(letter and not text for letter, text in zip(letters, texts, strict=True))
    if (
        has_letters
    ):  # then a letter that is none of its row's options is not an option's text either
        for number, cell in enumerate(cells):
            if not letters[number] and _LETTER.fullmatch(cell.written.strip()):
                texts[number] = None
    pairs = [*zip(letters, texts, strict=True)]
    by_text = sum(bool(text) and not letter for letter, text in pairs)
    read: list[str | None] = []
    doubtful = set()
    for number, (letter, text) in enumerate(pairs):
        if by_text and letter and text and letter != text:
            doubtful.add(number)
            read.append(None)
        else:
            read.append(letter or text)
    return Truths(tuple(read), doubtful=frozenset(doubtful), way=_way(by_text, len(cells)))


def _way(by_text: int, total: int) -> str:
    """A notice on the number of right answers that were read by their text; "" if there are none."""
    if not by_text:
        return ""
    if by_text == 1:
        return f"1 of {total:,} right answers is the text of an option, read as its letter."
    return f"{by_text:,} of {total:,} right answers are texts of options, read as their letters."


def _numbered(cells: Sequence[TruthCell], places: Sequence[int]) -> Truths:
    """The letters of a column of whole numbers, if only one reading fits every row, or all that fit agree."""
    ways: Mapping[str, Callable[[TruthCell, int], str | None]] = {
        "the text of an option": lambda cell, place: _by_text(cell),
        "counted from 0": lambda cell, place: _at(cell, place),
        "counted from 1": lambda cell, place: _at(cell, place - 1),
    }
    readings: dict[str, tuple[str | None, ...]] = {
        name: tuple(way(cell, place) for cell, place in zip(cells, places, strict=True))
        for name, way in ways.items()
    }
    fitting = {name: read for name, read in readings.items() if None not in read}
    nothing = (None,) * len(cells)
    if len({*fitting.values()}) == 1:
        name, read = next(iter(fitting.items()))
        return Truths(read, way=f"The right answers are numbers, read as {name}.")
    if not fitting:
        name, read = min(readings.items(), key=lambda reading: reading[1].count(None))
        place = read.index(None)
        options = len(cells[place].options)
        most = 2 * read.count(None) < len(read)
        others = f", while most of the column fits as {name}" if most else ""
        problem = (
            f"The answer {cells[place].written.strip()[:40]!r} isn't one of the {options} options, by place or "
            f"text{others}. Correct it, or write the letters A, B, C in the column answer."
        )
        return Truths(nothing, misfit=(place, problem))
    values = ", ".join(dict.fromkeys(str(place) for place in sorted(places)[:200]))
    text = (
        f"The right answers are numbers ({values[:40]}), and they may be {' or '.join(fitting)}. "
        "Write the letters A, B, C in the column answer."
    )
    return Truths(nothing, text)


def _by_letter(cell: TruthCell) -> str | None:
    """The letter of a cell such as B, (B), B. or "B. cat" with the text of option B."""
    written = cell.written.strip()
    alone = _LETTER.fullmatch(written)
    if alone:
        letter = alone[1].upper()
        return letter if letter in cell.options else None
    labelled = _LABELLED.fullmatch(written)
    if not labelled:
        return None
    letter = (labelled[1] or labelled[2]).upper()
    same = plain_option(labelled[3]) == plain_option(cell.options.get(letter, ""))
    return letter if same else None


def _by_text(cell: TruthCell) -> str | None:
    """The letter of the only option with a cell's text; capitals count only if two options differ in them."""
    written = plain_option(cell.written)
    texts = {letter: plain_option(text) for letter, text in cell.options.items()}
    same = [letter for letter, text in texts.items() if text == written]
    if not same:
        folded = written.casefold()
        same = [letter for letter, text in texts.items() if text.casefold() == folded]
    return same[0] if len(same) == 1 else None


def _place(written: str) -> int | None:
    match = _PLACE.fullmatch(written.strip())
    return int(match[1]) if match else None


def _at(cell: TruthCell, place: int) -> str | None:
    """The letter of the option at a place, counted from 0."""
    letters = [*cell.options]
    return letters[place] if 0 <= place < len(letters) else None
