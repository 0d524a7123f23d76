"""Short answers without the wrapping of models: reasoning, special tokens, tags, boxes, bold, "Answer:"."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from arena.reasoning import answer_of, wrapped_answers
from arena.types import folded
from scoring.multiple_choice.json_answers import answers_in_objects, starts_with_object
from scoring.no_answers import EMPTY, no_answer_reason

_TWO_ANSWERS = "two answers"
_STYLE = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt)\s?\{([^{}]*)\}")
_ESCAPED = re.compile(r"\\([%$&#_ ])")
_ANSWER_WORD = (
    r"(?:(?:the|my)\s)?(?:(?:final|short|correct)\s)?answer"
    r"|(?:最终|正确|最后)?(?:的)?答案|答(?=[:：])"
)
_INTRODUCED = re.compile(
    r"(?:^|(?<=[.!?]\s)|(?<=[。！？，]))[*_#\s]*+"  # at the beginning of a line or sentence
    rf"(?:(?:so|thus|therefore|hence),?\s|(?:所以|因此)[，,]?)?(?:{_ANSWER_WORD})[*_]*+"
    r"(?:\s?[:：][*_]*+|\sis\b(?:\s?[:：])?|(?<=[案*_])[是为](?:\s?[:：])?)"  # ":", "is", "is:", "是"
    r"(?=\s*+\S)",
    re.IGNORECASE,
)
"""An introduction before an answer on its line: "Answer:", "Final answer:", "The answer is", "答案是"."""
_HEADING = re.compile(rf"[*_#\s]*+(?:{_ANSWER_WORD})[*_]*+\s?[:：]?[*_]*+\s*+", re.IGNORECASE)
"""An introduction on the line before the answer: "**Answer:**", "### Final answer"."""
_EMPHASIS = re.compile(r"(\*{1,3}|`{1,3}|_{2,3})(?P<words>[^*`]{1,400})\1\.?")
_WRAPPING = re.compile(r"<[a-z]|\\f?boxed|\\box", re.IGNORECASE)
_FORMULA = re.compile(r"(?:\${1,2}|\\[(\[])(?P<words>[^$]{1,400}?)(?:\${1,2}|\\[)\]])\.?")
_QUOTED = re.compile(r"(?:\"(?P<straight>[^\"]{1,400})\"|[“”](?P<curly>[^“”]{1,400})[“”])\.?")


def unwrap_answer(prediction: str) -> str:
    """The short answer in a prediction, for a comparison with references.

    The answer is the last box or tag with text; else the text after "Answer:" or "The answer is" on the last line.
    """
    return _unwrap(answer_of(prediction).text)


def _unwrap(text: str) -> str:
    return _without_marks(_last_statement(text))


def _without_marks(text: str) -> str:
    """A text without the marks around all of it: bold, code, a formula's dollars, LaTeX's styles."""
    short = text.strip()
    for pattern in (_EMPHASIS, _FORMULA):
        match = pattern.fullmatch(short)
        if match:
            short = match["words"].strip()
    return _plain_formula(short) if _STYLE.fullmatch(short) else short


def _last_statement(text: str) -> str:
    """The last box or tag with text, else the text after the last line's last introduction, else the whole text.

    A last line under a heading such as "**Answer:**" is the answer as a whole.
    """
    wrapped = _last_wrapped(text)
    if wrapped is not None:
        return wrapped
    lines = text.splitlines()
    introductions = [*_INTRODUCED.finditer(lines[-1])] if lines else []
    if not introductions:
        before = next((line for line in reversed(lines[:-1]) if line.strip()), "")
        return lines[-1] if _HEADING.fullmatch(before) else text
    rest = lines[-1][introductions[-1].end() :].strip().removesuffix("。")
    # "**Answer: 5**" has the end of its bold behind the answer.
    is_in_bold = "*" in introductions[-1][0]
    return rest.rstrip("*") if is_in_bold else rest


def _last_wrapped(text: str) -> str | None:
    """The plain text in the last box or tag that has one; None without any."""
    wrapped = [answer.text for answer in wrapped_answers(text) if answer.text]
    return _plain_formula(wrapped[-1]) if wrapped else None


def _plain_formula(text: str) -> str:
    """The plain text of an answer in LaTeX."""
    return _ESCAPED.sub(r"\1", _STYLE.sub(r"\1", text))


class ShortAnswer(NamedTuple):
    """A prediction in the form in which our own protocol compares it."""

    text: str
    problem: str
    """The reason why it can't be compared: it is no answer of a model, or has `_TWO_ANSWERS`; "" if it can."""

    @property
    def is_open(self) -> bool:
        """Whether a judge may read it."""
        return self.problem == _TWO_ANSWERS


def short_answer(prediction: str, references: Iterable[str]) -> ShortAnswer:
    """The answer in a prediction, with a problem if it gives none, or states two: "\\boxed{5} or \\boxed{7}".

    A text that equals one of the `references` as a whole is the answer, whatever it looks like.
    """
    answer = answer_of(prediction)
    references = [*references]
    problem = no_answer_reason(answer, references)
    whole = answer.text.strip()
    if _folded(whole) in map(_folded, references):
        return ShortAnswer(whole, problem)
    written = _answer_in_object(answer.text)
    text = _unquote(_unwrap(written))
    if not problem and not text:
        problem = EMPTY
    if not problem and len({_comparable(statement) for statement in _statements(written)}) > 1:
        problem = _TWO_ANSWERS
    return ShortAnswer(text, problem)


def plain_reference(reference: str) -> str:
    """A reference unwrapped as an answer is, so that the two can be equal: "$x^2$" is "x^2"."""
    return _unquote(_without_marks(_last_wrapped(reference) or reference))


def _folded(text: str) -> str:
    return folded(text).casefold()


def _unquote(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return (quoted["straight"] or quoted["curly"]) if quoted else text


def _answer_in_object(text: str) -> str:
    """The answer in a text that is a JSON object, of several each on a line after "Answer:"; else the text."""
    answers = answers_in_objects(text) if starts_with_object(text) else ()
    if len(answers) > 1:
        return "\n".join(f"Answer: {answer}" for answer in answers)
    return answers[0] if answers else text


def _statements(text: str) -> Iterator[str]:
    """Yields an answer's statements: in boxes and tags, and after "Answer:" or "The answer is"."""
    wrapped = [answer.text for answer in wrapped_answers(text) if answer.text]
    for wrapped_text in wrapped:
        # A tag around a box isn't a statement of its own: the box is in `wrapped` too.
        if not _WRAPPING.search(wrapped_text):
            yield _plain_formula(wrapped_text)
    for line in text.splitlines():
        introductions = [*_INTRODUCED.finditer(line)]
        if not introductions:
            continue
        ends = [introduction.start() for introduction in introductions[1:]] + [len(line)]
        for introduction, end in zip(introductions, ends, strict=True):
            statement = line[introduction.end() : end]
            is_wrapped = bool(wrapped) and _WRAPPING.search(statement) is not None
            if not is_wrapped:
                yield statement


def _comparable(text: str) -> str:
    """A statement in one case, without the marks and blanks around it or full stops after it; ".5" keeps its own."""
    return _folded(text).lstrip(" *_`$").rstrip(" .*_`$")
