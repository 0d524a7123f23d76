"""Right answers in files: letters, options' texts, or the options' places, counted from 0 or from 1.

Only the whole column shows how it counts. An ambiguous column is refused, never guessed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_LETTER = re.compile(r"[(\[（【]?([A-Za-z])[)\]）】]?[.:：、]?")
_LABELLED = re.compile(
    r"(?:[(\[（【]([A-Za-z])[)\]）】]|([A-Za-z])[).:：、])[.:：、]?\s*(\S.*)", re.DOTALL
)
"""A letter before its option's text: group 1 is the letter in "(B) cat", group 2 that in "B. cat", group 3 the text."""
_WHOLE_NUMBER = re.compile(r"(\d{1,2})(?:\.0{1,9})?", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


class TruthCell(NamedTuple):
    """A right answer as it is written in the file, with its question's options by letter."""

    written: str
    options: Mapping[str, str]


class Misfit(NamedTuple):
    """A number that fits no reading of a column of right answers."""

    position: int
    """In the column, from 0."""
    problem: str


@dataclass(frozen=True)
class Truths:
    """The letters of a column of right answers, in its order."""

    letters: tuple[str | None, ...]
    """None for a cell that is none of the options, or ambiguous."""
    ambiguous: str = ""
    """The possible meanings of the whole column, and how to write it clearly; "" if it is clear."""
    doubtful: frozenset[int] = frozenset()
    """Positions of cells that are the letter of one option and the text of another."""
    notice: str = ""
    """The way in which cells other than letters were read; "" if there are only letters."""
    misfit: Misfit | None = None
    """The first number that fits no reading of the column; None if there is none."""


def plain_option(text: str) -> str:
    """An option's text for comparison: tables may pad cells, and have a number as 2, 2.0 or 2.00."""
    plain = " ".join(text.split())
    return str(float(plain)) if _NUMBER.fullmatch(plain) else plain


def read_truths(cells: Sequence[TruthCell]) -> Truths:
    """The letters of a column's cells."""
    numbers = [_whole_number(cell.written) for cell in cells]
    whole_numbers = [number for number in numbers if number is not None]
    if cells and len(whole_numbers) == len(cells):
        return _read_numbers(cells, whole_numbers)
    by_letter = [_letter_of_cell(cell) for cell in cells]
    by_text = [_letter_of_text(cell) for cell in cells]
    if _has_letters(by_letter, by_text):
        # In a column with letters, a letter that no option of its row has isn't the text of another option.
        for position, cell in enumerate(cells):
            if not by_letter[position] and _LETTER.fullmatch(cell.written.strip()):
                by_text[position] = None
    both_readings = [*zip(by_letter, by_text, strict=True)]
    text_count = sum(1 for letter, letter_of_text in both_readings if letter_of_text and not letter)
    letters: list[str | None] = []
    doubtful = set()
    for position, (letter, letter_of_text) in enumerate(both_readings):
        do_differ = letter and letter_of_text and letter != letter_of_text
        if text_count and do_differ:  # In a column without texts, it is the letter.
            doubtful.add(position)
            letters.append(None)
        else:
            letters.append(letter or letter_of_text)
    return Truths(
        tuple(letters), doubtful=frozenset(doubtful), notice=_text_notice(text_count, len(cells))
    )


def _has_letters(by_letter: Sequence[str | None], by_text: Sequence[str | None]) -> bool:
    """Whether a cell is an option's letter and no option's text."""
    pairs = zip(by_letter, by_text, strict=True)
    return any(letter and not letter_of_text for letter, letter_of_text in pairs)


def _text_notice(texts: int, total: int) -> str:
    """A notice on the number of right answers that were read by their text; "" if there are none."""
    if not texts:
        return ""
    if texts == 1:
        return f"1 of {total:,} right answers is the text of an option, read as its letter."
    return f"{texts:,} of {total:,} right answers are texts of options, read as their letters."


class _NumberReading(NamedTuple):
    """The letters of a column of whole numbers by one of its possible meanings."""

    meaning: str
    letters: tuple[str | None, ...]
    """None for a number that is none of its row's options."""


def _read_numbers(cells: Sequence[TruthCell], numbers: Sequence[int]) -> Truths:
    """The letters of a column of whole numbers, if only one reading fits every row, or all that fit agree."""
    pairs = [*zip(cells, numbers, strict=True)]
    readings = [
        _NumberReading("the text of an option", tuple(_letter_of_text(cell) for cell in cells)),
        _NumberReading("counted from 0", tuple(_letter_at(cell, number) for cell, number in pairs)),
        _NumberReading(
            "counted from 1", tuple(_letter_at(cell, number - 1) for cell, number in pairs)
        ),
    ]
    fitting = [reading for reading in readings if None not in reading.letters]
    no_letters = (None,) * len(cells)
    if not fitting:
        return Truths(no_letters, misfit=_misfit(cells, readings))
    if len({reading.letters for reading in fitting}) == 1:
        notice = f"The right answers are numbers, read as {fitting[0].meaning}."
        return Truths(fitting[0].letters, notice=notice)
    values = ", ".join(str(number) for number in sorted(set(numbers)))
    meanings = " or ".join(reading.meaning for reading in fitting)
    ambiguous = (
        f"The right answers are numbers ({values[:40]}), and they may be {meanings}. "
        "Write the letters A, B, C in the column answer."
    )
    return Truths(no_letters, ambiguous=ambiguous)


def _misfit(cells: Sequence[TruthCell], readings: Sequence[_NumberReading]) -> Misfit:
    """The first number that the reading with the most letters leaves without a letter."""
    best = min(readings, key=lambda reading: reading.letters.count(None))
    position = best.letters.index(None)
    options = len(cells[position].options)
    fits_most = 2 * best.letters.count(None) < len(cells)
    others = f", while most of the column fits as {best.meaning}" if fits_most else ""
    problem = (
        f"The answer {cells[position].written.strip()[:40]!r} isn't one of the {options} options, by place or "
        f"text{others}. Correct it, or write the letters A, B, C in the column answer."
    )
    return Misfit(position, problem)


def _letter_of_cell(cell: TruthCell) -> str | None:
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
    is_its_text = plain_option(labelled[3]) == plain_option(cell.options.get(letter, ""))
    return letter if is_its_text else None


def _letter_of_text(cell: TruthCell) -> str | None:
    """The letter of the only option with a cell's text; capitals count only if two options differ in them."""
    written = plain_option(cell.written)
    texts = {letter: plain_option(text) for letter, text in cell.options.items()}
    equal = [letter for letter, text in texts.items() if text == written]
    if not equal:
        folded = written.casefold()
        equal = [letter for letter, text in texts.items() if text.casefold() == folded]
    return equal[0] if len(equal) == 1 else None


def _whole_number(written: str) -> int | None:
    match = _WHOLE_NUMBER.fullmatch(written.strip())
    return int(match[1]) if match else None


def _letter_at(cell: TruthCell, place: int) -> str | None:
    """The letter of the option at a place, counted from 0; None if there is none."""
    letters = [*cell.options]
    return letters[place] if 0 <= place < len(letters) else None
