"""Options without their own columns: in a list, or in the question's text."""

import re
from collections.abc import Iterable, Mapping, Sequence

from arena.io.tables import JSON
from scoring.multiple_choice.types import LETTERS, ChoiceQuestion
from scoring.report import EMPTY_CELLS
from scoring.text_lists import listed_texts, named_texts

LIST_COLUMNS = ("options", "choices")
_LABEL = r"(?:\(([A-Z])\)|([A-Z])[.):：、])"
_LABELLED = re.compile(rf"\s*{_LABEL}\s*(.*)", re.DOTALL)
_NOT_A_LETTER = re.compile(r"[^A-Za-z]")
_HEADING = re.compile(r"(?:options|choices|选项|選項)\s{0,9}[:：]", re.IGNORECASE)
_LABEL_IN_LINE = re.compile(rf"(?:^|(?<=[\s,;，；])){_LABEL}(?=\s|$)")


def listed_options(cell: JSON) -> Sequence[str] | None:
    """The options in a cell of a list column, without labels; None if the cell has no list of options.

    The cell is a list, a record of texts by letter, or either of them as text.
    """
    if isinstance(cell, dict):
        return _by_letter(cell)
    if isinstance(cell, list):
        return _unlabelled([str(option) for option in cell]) if _are_plain(cell) else None
    if not isinstance(cell, str):
        return None
    texts = listed_texts(cell)
    if texts is not None:
        return _unlabelled(texts)
    texts_by_letter = named_texts(cell)
    return _by_letter(texts_by_letter) if texts_by_letter else None


def _by_letter(options: Mapping[str, object]) -> Sequence[str] | None:
    """The texts of a record {"A": "cat", "B": "dog"}, in the order of its letters, which begin with A."""
    letters = sorted(options)
    if letters != [*LETTERS[: len(letters)]] or not _are_plain(options.values()):
        return None
    return [str(options[letter]) for letter in letters]


def _are_plain(cells: Iterable[object]) -> bool:
    return all(isinstance(cell, str | int | float) for cell in cells)


def do_name_letters(options: Iterable[str]) -> bool:
    """Whether options name options ("both A and B", "C"), so that the public toolkit does not rotate them.

    As in the toolkit, a text names options if it is a part of the alphabet, such as "C", "AB" or nothing.
    """
    texts = [*options]
    letters = {*LETTERS[: len(texts)]}
    if any(text in LETTERS for text in texts):
        return True
    for text in texts:
        names = {word for word in _NOT_A_LETTER.split(text) if word in letters}
        if len(names) > 1:
            return True
    return False


def _unlabelled(texts: Sequence[str]) -> Sequence[str]:
    """Texts without the letters before them, if each has its own: "A. cat", "(B) dog"."""
    bare = []
    for place, text in enumerate(texts):
        label = _LABELLED.fullmatch(text)
        if label is None or _letter(label) != _next_letter(place):
            return texts
        bare.append(label[3].strip())
    return bare


def _letter(label: re.Match[str]) -> str:
    """The letter of a label, in either of its forms: "(A)" or "A."."""
    return label[1] or label[2]


def _next_letter(count: int) -> str:
    """The letter that follows this many; "" after Z."""
    return LETTERS[count : count + 1]


def options_in_text(question: str) -> Mapping[str, str]:
    """The options at the end of a question's text, by letter: on separate lines, or after "Options:".

    Empty unless labels run from A in order: options are never guessed.
    """
    return _on_lines(question) or _after_heading(question)


def _on_lines(question: str) -> Mapping[str, str]:
    """The last run of lines with the labels A, B, C in order; empty if one of them has no text."""
    best: dict[str, str] = {}
    run: dict[str, str] = {}
    for text in question.splitlines():
        label = _LABELLED.fullmatch(text)
        if label and _letter(label) == "A":
            run = {"A": label[3].strip()}
        elif label and run and _letter(label) == _next_letter(len(run)):
            run[_letter(label)] = label[3].strip()
        elif text.strip():
            run = {}
        if len(run) > 1:
            best = dict(run) if all(run.values()) else {}
    return best


def _after_heading(question: str) -> Mapping[str, str]:
    """The labelled texts on the line of the last "Options:"."""
    headings = [*_HEADING.finditer(question)]
    if not headings:
        return {}
    line = next(iter(question[headings[-1].end() :].strip().splitlines()), "")
    labels = []
    for label in _LABEL_IN_LINE.finditer(line):
        if _letter(label) == _next_letter(len(labels)):
            labels.append(label)
    has_text_before = bool(labels) and labels[0].start() > 0
    if len(labels) < 2 or has_text_before:
        return {}
    ends = [*(label.start() for label in labels[1:]), len(line)]
    texts = [
        line[label.end() : end].strip(" ,;，；") for label, end in zip(labels, ends, strict=True)
    ]
    return dict(zip(LETTERS, texts, strict=False)) if all(texts) else {}


def is_reworded(
    known: ChoiceQuestion, texts: Mapping[str, str], options: Mapping[str, str]
) -> bool:
    """Whether a row of answers shows another question or hint than the question file, or fewer options.

    `texts` are the row's cells "question" and "hint". An empty one shows nothing.
    """
    published = {"question": known.text, "hint": known.hint}
    for column, text in texts.items():
        words = text.split()
        is_empty = not words or text.strip() in EMPTY_CELLS
        if not is_empty and words != published[column].split():
            return True
    return bool(options) and len(options) < len(known.options)
