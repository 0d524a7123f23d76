"""Answer cleaning: the removal of reasoning, chat tokens and markup around a model's answer.

Every cut has a name, so that the trail of a decision shows it.
"""

import re
from typing import NamedTuple

from arena.reasoning import answer_of
from scoring.multiple_choice.numbers import normalized_text


class PlainAnswer(NamedTuple):
    """An answer without its surroundings."""

    text: str
    cuts: tuple[str, ...]
    """Names of the removed parts, in order."""
    is_endless: bool = False
    """Whether the text is empty because it was only reasoning without an end."""


_NEXT_QUESTION = re.compile(
    r"(?<=\S)[^\S\n]*+\n\s*+(?:#++\s*+)?(?:question|q|user|human|问题)\s*+\d*+\s*+:", re.IGNORECASE
)
_MARKUP = re.compile(
    r"(?<!\d)\*\*|\*\*(?!\d)|__|`|\\(?:text|mathrm|mathbf|textbf|mathsf|textsf|mathcal|mathbb|operatorname|boldsymbol|rm|bf)\s*\{([^{}]*)\}|\\[()\[\]]|\$(?!\.?\d[^$\n]*$)"
    r"|(?-i:</?(?:b|i|p|em|strong|span|div|u|br|center|font|h[1-6])\s*/?>)"
    r"|^#++\s+|\A\s*+#++\s+|((?<!\s)[^\S\n]*+\n)\s*+#++\s+|\A\s*+(?:assistant|助手)\s*:",
    re.MULTILINE | re.IGNORECASE,
)
"""Emphasis and code; LaTeX commands, with their text as group 1; dollar signs but those of a price; HTML tags; signs of
headings, with the line break before them as group 2; a speaker at the start."""
_STRUCK_OUT = re.compile(r"~~[^~\n]{1,400}~~")
_OPTION_NAME = re.compile(r"\b(option|choice|answer)_([A-Z])\b", re.IGNORECASE)
_MOST_COMMANDS = 3
"""Most levels of nested LaTeX commands."""
_MARKUP_SIGN = re.compile(r"[*_`\\$<#]")
"""`_MARKUP` matches only in a text that has one of these characters, or begins with a `_SPEAKER`."""
_SPEAKER = re.compile(r"\s*+(?:assistant|助手)", re.IGNORECASE)
_REPEATED_MARK = re.compile(r"([^\w\s])\1{3,}")
_RUN_OF_BLANKS = re.compile(r"\s\s+")
_STARRED = re.compile(r"[A-Za-z]{1,2}\*")
"""A name that ends in a star, as the search A*; it keeps the star."""
_LEADING_POINT = re.compile(r"[\s\"'“”‘’«»()\[\]*$]*+\.\d")
_MARKS_AROUND = " \t\r\n.,;:!?\"'“”‘’«»()[]*。、…"
_MARKS_BUT_BRACKETS = _MARKS_AROUND.translate({ord(sign): None for sign in "()[]"})


def without_long_runs(text: str) -> str:
    """The text with runs of blanks and of a repeated mark shortened, so that no pattern is slow."""
    with_short_marks = _REPEATED_MARK.sub(r"\1\1\1", text)
    return _RUN_OF_BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", with_short_marks)


def plain_content(text: str) -> str:
    """An option's text in the form searched for in plain answers: lower case, without emphasis and end marks."""
    bare = _in_one_line(text)
    inner = bare if _STARRED.fullmatch(bare) else bare.strip(_MARKS_AROUND)
    inner = _with_own_brackets(bare, inner)
    # The point of ".5" was cut off as a mark.
    if _LEADING_POINT.match(bare) and inner[:1].isdigit():
        inner = f".{inner}"
    return lower_in_place(inner) or lower_in_place(bare)


def _with_own_brackets(bare: str, inner: str) -> str:
    """`inner`, which was cut out of `bare`, with the closing brackets that it lost: "f(x)" instead of "f(x"."""
    rest = bare[bare.find(inner) + len(inner) :]
    for opening, closing in (("(", ")"), ("[", "]")):
        missing = inner.count(opening) - inner.count(closing)
        if missing > 0 and rest.startswith(closing * missing):
            return inner + closing * missing
    return inner


def with_brackets(text: str) -> str:
    """An option's text like `plain_content`, with all of its brackets."""
    return lower_in_place(_in_one_line(text).strip(_MARKS_BUT_BRACKETS))


def _in_one_line(text: str) -> str:
    return " ".join(_without_markup(normalized_text(text)).split())


def lower_in_place(text: str) -> str:
    """The text in lower case, with every character in its place; a character with a longer lower case stays."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    characters = []
    for character in text:
        lower = character.lower()
        characters.append(lower if len(lower) == 1 else character)
    return "".join(characters)


def plain_answer(answer: str) -> PlainAnswer:
    """The answer in NFKC without reasoning, special tokens, text struck out, and an invented next question."""
    with_line_breaks = normalized_text(answer).replace("_x000D_", "\n")  # Excel's carriage return
    final_part = answer_of(without_long_runs(with_line_breaks))
    cuts = [*final_part.cuts]
    text = final_part.text
    if "_" in text:
        text = _OPTION_NAME.sub(r"\1 \2", text)
    if "~~" in text and _STRUCK_OUT.search(text):
        text = _STRUCK_OUT.sub(" ", text)
        cuts.append("what is struck out")
    if "\n" in text and (next_question := _NEXT_QUESTION.search(text)):
        text = text[: next_question.start()]
        cuts.append("a question that it asks itself")
    return PlainAnswer(text, tuple(cuts), final_part.is_endless)


def bare_text(text: str) -> str:
    """The text without emphasis, headings' signs and the like."""
    levels = _MOST_COMMANDS if "\\" in text else 1
    for _ in range(levels):
        text = _without_markup(text)
    return text.strip()


def _without_markup(text: str) -> str:
    if not _MARKUP_SIGN.search(text) and not _SPEAKER.match(text):
        return text
    return _MARKUP.sub(_content, text)


def _content(markup: re.Match[str]) -> str:
    """The text inside markup, or the line break before a heading's sign."""
    return markup[1] or markup[2] or ""
