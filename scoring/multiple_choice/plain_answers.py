"""Answer cleaning: removes reasoning, chat tokens and wrappers around a model's answer.

Every cut is named, so that the trail of a decision shows it.
"""

import json
import re
from typing import NamedTuple

from scoring.multiple_choice.numbers import spelled
from scoring.reasoning import answer_of, wrapped


class Plain(NamedTuple):
    """An answer without its surroundings."""

    text: str
    cuts: tuple[str, ...]
    """Names of the removed parts, in order."""
    torn: bool = False
    """Whether reasoning that never ends is all there is."""


_NEXT_QUESTION = re.compile(
    r"(?<=\S)[^\S\n]*+\n\s*+(?:#++\s*+)?(?:question|q|user|human|问题)\s*+\d*+\s*+:", re.IGNORECASE
)
_MARKUP = re.compile(
    r"\*\*|__|`|\\(?:text|mathrm|mathbf|textbf|mathsf|textsf|rm|bf)\s*\{([^{}]*)\}|\\[()\[\]]|\$"
    r"|(?-i:</?(?:b|i|p|em|strong|span|div|u|br|center|font|h[1-6])\s*/?>)"
    r"|^#++\s+|\A\s*+#++\s+|((?<!\s)[^\S\n]*+\n)\s*+#++\s+|\A\s*+(?:assistant|助手)\s*:",
    re.MULTILINE | re.IGNORECASE,
)
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_PYTHON_PAIR = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")
_KEYS = (
    "final_answer answer choice option letter correct_answer correct_option selection 答案".split()
)
_RAW = re.compile(r"[<◁\[{]")
_RUNS = re.compile(r"([^\w\s])\1{3,}|\s{2,}")
_SPACES = re.compile(r"\s+")
_POINT_FIRST = re.compile(r"[\s\"'“”‘’«»()\[\]*$]*+\.\d")
_AROUND = " \t\r\n.,;:!?\"'“”‘’«»()[]*。、…"


def squeezed(text: str) -> str:
    """The text with runs of blanks and of one mark shortened, so that no pattern is slow; letters stay."""
    return _RUNS.sub(lambda run: run[1] * 3 if run[1] else "\n" if "\n" in run[0] else " ", text)


def plain_content(text: str) -> str:
    """An option's text as searched for in a plain answer: lower case, without emphasis and end marks."""
    bare = _SPACES.sub(" ", _MARKUP.sub(_kept, spelled(text)))
    inner = bare.strip(_AROUND)
    if _POINT_FIRST.match(bare) and inner[:1].isdigit():
        inner = f".{inner}"
    return lowered(inner) or lowered(bare.strip())


def lowered(text: str) -> str:
    """The text in lower case, every character in its place."""
    lower = text.lower()
    return (
        lower
        if len(lower) == len(text)
        else "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)
    )


def plain(answer: str) -> Plain:
    """The answer in NFKC without reasoning, special tokens, an invented next question, wrappers and emphasis."""
    text = squeezed(spelled(answer))
    left = answer_of(text)
    text = left.text
    cuts = [*left.cuts]
    if next_question := _NEXT_QUESTION.search(text):
        text = text[: next_question.start()]
        cuts.append("a question that it asks itself")
    inner = _unwrapped(text) if _RAW.search(text) else None
    if inner and inner.text.strip():
        text = inner.text
        cuts += inner.cuts
    return Plain(_MARKUP.sub(_kept, text).strip(), tuple(cuts), left.torn)


def _kept(mark: re.Match[str]) -> str:
    """What stays of a mark: the text that it wraps, or the line break before a heading's sign."""
    return mark[1] or mark[2] or ""


def _unwrapped(text: str) -> Plain | None:
    """Content of the last answer tag, box or JSON object; None if there is none."""
    holders = wrapped(text)
    tags = [holder for holder in holders if holder.name.startswith("<")]
    if holders:
        last = (tags or holders)[-1]
        return Plain(last.text, (last.name,))
    for found in reversed(_OBJECT.findall(text)):
        try:
            value = json.loads(found)
        except (ValueError, RecursionError):
            value = dict(_PYTHON_PAIR.findall(found))
        by_name = {
            str(key).strip().lower().replace(" ", "_"): inner for key, inner in value.items()
        }
        inner = next((by_name[key] for key in _KEYS if key in by_name), None)
        if isinstance(inner, str | int | float) and not isinstance(inner, bool):
            return Plain(str(inner), ("JSON",))
    return None
