"""Answer cleaning: the removal of reasoning, chat tokens and markup around a model's answer.

Every cut has a name, so that the trail of a decision shows it.
"""

import re
from typing import NamedTuple

from arena.reasoning import answer_of
from scoring.multiple_choice.numbers import spelled


class Plain(NamedTuple):
    """An answer without its surroundings."""

    text: str
    cuts: tuple[str, ...]
    """Names of the removed parts, in order."""
    torn: bool = False
    """Whether it is only reasoning without an end."""


_NEXT_QUESTION = re.compile(
    r"(?<=\S)[^\S\n]*+\n\s*+(?:#++\s*+)?(?:question|q|user|human|问题)\s*+\d*+\s*+:", re.IGNORECASE
)
_MARKUP = re.compile(
    r"(?<!\d)\*\*|\*\*(?!\d)|__|`|\\(?:text|mathrm|mathbf|textbf|mathsf|textsf|mathcal|mathbb|operatorname|boldsymbol|rm|bf)\s*\{([^{}]*)\}|\\[()\[\]]|\$(?!\.?\d[^$\n]*$)"
    r"|(?-i:</?(?:b|i|p|em|strong|span|div|u|br|center|font|h[1-6])\s*/?>)"
    r"|^#++\s+|\A\s*+#++\s+|((?<!\s)[^\S\n]*+\n)\s*+#++\s+|\A\s*+(?:assistant|助手)\s*:",
    re.MULTILINE | re.IGNORECASE,
)
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~")
_OPTION_NAME = re.compile(r"\b(option|choice|answer)_([A-Z])\b", re.IGNORECASE)
_MOST_COMMANDS = 3
"""Most levels of nested LaTeX commands."""
_MARKUP_SIGN = re.compile(r"[*_`\\$<#]")
_SPEAKER = re.compile(r"\s*+(?:assistant|助手)", re.IGNORECASE)
"""A character of a text, or its start, without which `_MARKUP` can't match."""
_MARKS = re.compile(r"([^\w\s])\1{3,}")
_BLANKS = re.compile(r"\s\s+")
_STARRED = re.compile(r"[A-Za-z]{1,2}\*")
_POINT_FIRST = re.compile(r"[\s\"'“”‘’«»()\[\]*$]*+\.\d")
_AROUND = " \t\r\n.,;:!?\"'“”‘’«»()[]*。、…"

_AROUND_BRACKETS = _AROUND.translate({ord(sign): None for sign in "()[]"})


def squeezed(text: str) -> str:
    """The text with runs of blanks and of a repeated mark shortened, so that no pattern is slow."""
    text = _MARKS.sub(r"\1\1\1", text)
    return _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text)


def plain_content(text: str) -> str:
    """An option's text in the form searched for in plain answers: lower case, without emphasis and end marks."""
    bare = _in_one_line(text)
    inner = bare if _STARRED.fullmatch(bare) else bare.strip(_AROUND)
    inner = _with_own_brackets(bare, inner)
    if _POINT_FIRST.match(bare) and inner[:1].isdigit():
        inner = f".{inner}"
    return lowered(inner) or lowered(bare)


def _with_own_brackets(bare: str, inner: str) -> str:
    """The text with the stripped bracket that closes one inside it: "f(x)"."""
    rest = bare[bare.find(inner) + len(inner) :]
    for opening, closing in ("()", "[]"):
        missing = inner.count(opening) - inner.count(closing)
        if missing > 0 and rest.startswith(closing * missing):
            return inner + closing * missing
    return inner


def with_brackets(text: str) -> str:
    """An option's text like `plain_content`, with all of its brackets."""
    return lowered(_in_one_line(text).strip(_AROUND_BRACKETS))


def _in_one_line(text: str) -> str:
    return " ".join(_without_markup(spelled(text)).split())


def lowered(text: str) -> str:
    """The text in lower case, with every character in its place; a character with a longer lower case stays."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def plain(answer: str) -> Plain:
    """The answer in NFKC without reasoning, special tokens, and an invented next question."""
    text = squeezed(spelled(answer).replace("_x000D_", "\n"))
    left = answer_of(text)
    text = _OPTION_NAME.sub(r"\1 \2", left.text) if "_" in left.text else left.text
    cuts = [*left.cuts]
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
        cuts.append("what is struck out")
    if "\n" in text and (next_question := _NEXT_QUESTION.search(text)):
        text = text[: next_question.start()]
        cuts.append("a question that it asks itself")
    return Plain(text, tuple(cuts), left.is_endless)


def bare_text(text: str) -> str:
    """The text without emphasis, headings' signs and the like."""
    for _ in range(1 if "\\" not in text else _MOST_COMMANDS):
        text = _without_markup(text)
    return text.strip()


def _without_markup(text: str) -> str:
    if not _MARKUP_SIGN.search(text) and not _SPEAKER.match(text):
        return text
    return _MARKUP.sub(_content, text)


def _content(markup: re.Match[str]) -> str:
    """The text inside markup, or the line break before a heading's sign."""
    return markup[1] or markup[2] or ""
