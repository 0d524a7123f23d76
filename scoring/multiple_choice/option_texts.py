"""Options without their own columns: in a list, or in the question's text."""

import re
from collections.abc import Iterable, Mapping, Sequence

from arena.io.tables import JSON
from scoring.multiple_choice.types import LETTERS
from scoring.text_lists import listed_texts, named_texts

LIST_COLUMNS = ("options", "choices")
_LABEL = r"(?:\(([A-Z])\)|([A-Z])[.):：、])"
_LINE = re.compile(rf"\s*{_LABEL}\s*(.*)", re.DOTALL)
_WORDS = re.compile(r"[^A-Za-z]")
_HEADING = re.compile(r"(?:options|choices|选项|選項)\s{0,9}[:：]", re.IGNORECASE)
_IN_LINE = re.compile(rf"(?:(?<=^)|(?<=[\s,;，；]))(?:{_LABEL})(?=\s|$)")


def listed_options(cell: JSON) -> Sequence[str] | None:
    """The options in a list column, without labels: a list, a record by letter, or the text of one. None for others."""
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


def name_letters(options: Iterable[str]) -> bool:
    """Whether options name options ("both A and B", "C"), so that the public toolkit does not rotate them."""
    texts = [*options]
    letters = LETTERS[: len(texts)]
    if any(text in LETTERS for text in texts):
        return True
    for text in texts:
        names = {word for word in _WORDS.split(text) if word and word in letters}
        if len(names) > 1:
            return True
    return False


def _unlabelled(texts: Sequence[str]) -> Sequence[str]:
    """Texts without the letters before them, if each has its own: "A. cat", "(B) dog"."""
    bare = []
    for letter, text in zip(LETTERS, texts, strict=False):
        label = _LINE.fullmatch(text)
        if label is None or (label[1] or label[2]) != letter:
            return texts
        bare.append(label[3].strip())
    return bare


def options_in_text(question: str) -> Mapping[str, str]:
    """The options at the end of a question's text, by letter: on separate lines, or after "Options:".

    Empty unless labels run from A in order: options are never guessed.
    """
    return _on_lines(question) or _after_heading(question)


def _on_lines(question: str) -> Mapping[str, str]:
    """The last run of lines with the labels A, B, C in order."""
    best: dict[str, str] = {}
    run: dict[str, str] = {}
    for text in question.splitlines():
        label = _LINE.fullmatch(text)
        letter = (label[1] or label[2]) if label else ""
        if label and letter == "A":
            run = {"A": label[3].strip()}
        elif label and run and letter == LETTERS[len(run) : len(run) + 1]:
            run[letter] = label[3].strip()
        elif text.strip():
            run = {}
        if len(run) > 1 and all(run.values()):
            best = dict(run)
    return best


def _after_heading(question: str) -> Mapping[str, str]:
    """The labelled texts on the line of the last "Options:"."""
    headings = [*_HEADING.finditer(question)]
    if not headings:
        return {}
    line = next(iter(question[headings[-1].end() :].strip().splitlines()), "")
    labels = []
    for label in _IN_LINE.finditer(line):
        if (label[1] or label[2]) == LETTERS[len(labels) : len(labels) + 1]:
            labels.append(label)
    ends = [*(label.start() for label in labels[1:]), len(line)]
    texts = [
        line[label.end() : end].strip(" ,;，；") for label, end in zip(labels, ends, strict=True)
    ]
    if len(texts) < 2 or labels[0].start() or not all(texts):
        return {}
    return dict(zip(LETTERS, texts, strict=False))
