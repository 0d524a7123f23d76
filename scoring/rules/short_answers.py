"""Short answers without the wrapping of models: reasoning, special tokens, tags, boxes, bold, "Answer:"."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from arena.reasoning import answer_of, wrapped_answers
from arena.types import folded
from scoring.no_answers import reason_for

_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt)\s?\{([^{}]*)\}")
_SIGN = re.compile(r"\\([%$&#_ ])")
_INTRODUCED = re.compile(
    r"(?:^|(?<=[.!?]\s))[*_#\s]*+(?:(?:so|thus|therefore|hence),?\s)?(?:(?:the|my)\s)?"
    r"(?:(?:final|short|correct)\s)?answer[*_]*+(?:\s?[:：][*_]*+|\sis\b(?:\s?[:：])?)(?=\s*+\S)",
    re.IGNORECASE,
)
"""An introduction before an answer on its line: "Answer:", "Final answer:", "The answer is"."""
_EMPHASIS = re.compile(r"(\*{1,3}|`{1,3}|_{2,3})([^*`]{1,400})\1(\.?)")
_HOLDER = re.compile(r"<[a-z]|\\f?boxed|\\box", re.IGNORECASE)
_FORMULA = re.compile(r"\$([^$]{1,400})\$")


def unwrapped(prediction: str) -> str:
    """The short answer in a prediction, for a comparison with references.

    The answer is the last box or tag with text; else the text after "Answer:" or "The answer is" on the last line.
    """
    return _inner(answer_of(prediction).text)


def _inner(text: str) -> str:
    holders = [holder for holder in wrapped_answers(text) if holder.text]
    last = (text.splitlines() or [""])[-1]
    introductions = [*_INTRODUCED.finditer(last)]
    if holders:
        text = _plain_formula(holders[-1].text)
    elif introductions:
        rest = last[introductions[-1].end() :].strip()
        text = rest.rstrip("*") if "*" in introductions[-1][0] else rest
    for pattern, group in ((_EMPHASIS, 2), (_FORMULA, 1)):
        match = pattern.fullmatch(text.strip())
        if match:
            text = match[group]
    return text.strip()


def _plain_formula(text: str) -> str:
    """The plain text of an answer in LaTeX."""
    return _SIGN.sub(r"\1", _COMMAND.sub(r"\1", text))


TWO_ANSWERS = "two answers"


class ShortAnswer(NamedTuple):
    """A prediction in the form in which our own protocol compares it."""

    text: str
    problem: str
    """The reason why it can't be compared: it is no answer of a model, or has `TWO_ANSWERS`; "" if it can."""

    @property
    def is_open(self) -> bool:
        """Whether a judge may read it."""
        return self.problem == TWO_ANSWERS


def short_answer(prediction: str, references: Iterable[str]) -> ShortAnswer:
    """The answer in a prediction, with a problem if it gives none, or states two: "\\boxed{5} or \\boxed{7}"."""
    answer = answer_of(prediction)
    text = _inner(answer.text)
    problem = reason_for(answer, references)
    if not problem and len({_bare(stated) for stated in _stated(answer.text)}) > 1:
        problem = TWO_ANSWERS
    return ShortAnswer(text, problem)


def _stated(text: str) -> Iterator[str]:
    """Yields an answer's statements: in boxes and tags, and after "Answer:" or "The answer is"."""
    holders = [holder.text for holder in wrapped_answers(text) if holder.text]
    yield from (
        _plain_formula(holder_text) for holder_text in holders if not _HOLDER.search(holder_text)
    )
    for line in text.splitlines():
        introductions = [match.span() for match in _INTRODUCED.finditer(line)]
        ends = [start for start, _ in introductions[1:]] + [len(line)]
        for (_, begin), end in zip(introductions, ends, strict=False):
            part = line[begin:end]
            if not (holders and _HOLDER.search(part)):
                yield part


def _bare(text: str) -> str:
    return folded(text).casefold().strip(" .*_`$")
