"""Short answers without what models wrap around them: reasoning, special tokens, tags, boxes, bold, "Answer:"."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from arena.reasoning import answer_of, wrapped
from arena.types import folded
from scoring.no_answers import reason_for

_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt)\s?\{([^{}]*)\}")
_SIGN = re.compile(r"\\([%$&#_ ])")
_INTRODUCED = re.compile(
    r"(?:^|(?<=[.!?]\s))[*_#\s]*+(?:(?:so|thus|therefore|hence),?\s)?(?:(?:the|my)\s)?"
    r"(?:(?:final|short|correct)\s)?answer[*_]*+(?:\s?[:：][*_]*+|\sis\b(?:\s?[:：])?)(?=\s*+\S)",
    re.IGNORECASE,
)
"""Before an answer on its line: "Answer:", "Final answer:", "The answer is"."""
_EMPHASIS = re.compile(r"(\*{1,3}|`{1,3}|_{2,3})([^*`]{1,400})\1(\.?)")
_HOLDER = re.compile(r"<[a-z]|\\f?boxed|\\box", re.IGNORECASE)
_FORMULA = re.compile(r"\$([^$]{1,400})\$")


def unwrapped(prediction: str) -> str:
    """The short answer that a prediction gives, for a comparison with references.

    Of several boxes or tags the last one with text is the answer; else what follows "Answer:" or "The answer is" on the
    last line.
    """
    return _inner(answer_of(prediction).text)


def _inner(text: str) -> str:
    inner = [one for one in wrapped(text) if one.text]
    last = (text.splitlines() or [""])[-1]
    introductions = [*_INTRODUCED.finditer(last)]
    if inner:
        text = _plain_formula(inner[-1].text)
    elif introductions:
        said = last[introductions[-1].end() :].strip()
        text = said.rstrip("*") if "*" in introductions[-1][0] else said
    for pattern, group in ((_EMPHASIS, 2), (_FORMULA, 1)):
        found = pattern.fullmatch(text.strip())
        if found:
            text = found[group]
    return text.strip()


def _plain_formula(text: str) -> str:
    """The words and signs of LaTeX that writes a plain answer."""
    return _SIGN.sub(r"\1", _COMMAND.sub(r"\1", text))


TWO_ANSWERS = "two answers"


class ShortAnswer(NamedTuple):
    """A prediction as our own protocol compares it."""

    text: str
    problem: str
    """Why it can't be compared: it is no answer of a model, or has `TWO_ANSWERS`; "" if it can."""

    @property
    def is_open(self) -> bool:
        """Whether a judge may say what it means."""
        return self.problem == TWO_ANSWERS


def short_answer(prediction: str, references: Iterable[str]) -> ShortAnswer:
    """The answer that a prediction gives, unless it gives none, or states two: "\\boxed{5} or \\boxed{7}"."""
    answer = answer_of(prediction)
    text = _inner(answer.text)
    problem = reason_for(answer, references)
    if not problem and len({_bare(stated) for stated in _stated(answer.text)}) > 1:
        problem = TWO_ANSWERS
    return ShortAnswer(text, problem)


def _stated(text: str) -> Iterator[str]:
    """What an answer states: in boxes and tags, and behind "Answer:" or "The answer is"."""
    holders = [holder.text for holder in wrapped(text) if holder.text]
    yield from (_plain_formula(held) for held in holders if not _HOLDER.search(held))
    for line in text.splitlines():
        introductions = [found.span() for found in _INTRODUCED.finditer(line)]
        ends = [start for start, _ in introductions[1:]] + [len(line)]
        for (_, begin), end in zip(introductions, ends, strict=False):
            said = line[begin:end]
            if not (holders and _HOLDER.search(said)):
                yield said


def _bare(text: str) -> str:
    return folded(text).casefold().strip(" .*_`$")
