"""Formulas: converts LaTeX in answers to a new MathML tree, in which nothing loads, runs, hides or covers.

`$...$` and `\\(...\\)` are inline formulas, `$$...$$` and `\\[...\\]` display formulas. A formula that cannot be
converted stays text.
"""

import html
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple
from xml.etree import ElementTree

MOST_FORMULA = 1_000
"""Most characters of a formula."""
_MOST_DEPTH = 40
_DEFINITIONS = ("\\def", "\\newcommand", "\\newenvironment", "\\DeclareMathOperator")
"""Commands that define others and could grow exponentially; formulas with them stay text."""
_BRACE = re.compile(r"\\[{}]")
"""Braces that are printed and group nothing."""
_MARKS = (("$$", "$$", True), ("\\[", "\\]", True), ("\\(", "\\)", False), ("$", "$", False))
TAGS = frozenset(
    (
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mstyle",
        "mfrac",
        "msqrt",
        "mroot",
        "menclose",
        "mover",
    )
    + ("msub", "msup", "msubsup", "munder", "munderover", "mtable", "mtr", "mtd")
)
_LENGTH = re.compile(r"[0-3](?:\.[0-9]{1,4})?em")
_WORD = re.compile(r"[a-z-]{1,30}|[0-2]")
ATTRIBUTES = {
    **dict.fromkeys(("width", "minsize", "maxsize"), _LENGTH),
    **dict.fromkeys(
        ("display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form"),
        _WORD,
    ),
    **dict.fromkeys(("accent", "columnalign", "notation", "linethickness", "movablelimits"), _WORD),
}
"""Allowed attributes with patterns of their values; others, such as colours and addresses, are removed."""
_ENVIRONMENTS = (("{aligned}", "{align*}"), ("{align}", "{align*}"), ("{gathered}", "{gather*}"))


class Formula(NamedTuple):
    """A formula found in a text."""

    latex: str
    display: bool
    end: int
    """The place at which the text continues."""


def formula_at(text: str, start: int, end: int) -> Formula | None:
    """Returns the formula that begins at a place of a text, if any.

    A single dollar begins a formula if no blank follows it and no letter or digit precedes it, and if the next dollar
    is in the same line, without a blank before it or a letter or digit after it: "$5 and $6" is money.
    """
    marks = next((marks for marks in _MARKS if text.startswith(marks[0], start)), None)
    if marks is None:
        return None
    opening, closing, display = marks
    begin = start + len(opening)
    stop = text.find(closing, begin, min(end, begin + MOST_FORMULA))
    while stop > 0 and closing == "$" and text[stop - 1] == "\\":
        stop = text.find(closing, stop + 1, min(end, begin + MOST_FORMULA))
    latex = text[begin : max(stop, begin)]
    if not latex.strip() or (closing == "$" and not _is_inline(text, start, stop)):
        return None
    return Formula(latex, display, stop + len(closing))


def _is_inline(text: str, start: int, stop: int) -> bool:
    before = text[max(0, start - 1) : start]
    after = text[stop + 1 : stop + 2]
    outside = not (before.isalnum() or before == "\\" or after.isalnum())
    return outside and not (
        text[start + 1].isspace() or text[stop - 1].isspace() or "\n" in text[start:stop]
    )


def mathml(formula: Formula) -> str | None:
    """Returns a formula as MathML, or None if it cannot be converted completely."""
    latex = formula.latex
    braces = _BRACE.sub("", latex)
    if any(command in latex for command in _DEFINITIONS) or braces.count("{") != braces.count("}"):
        return None
    for name, known in _ENVIRONMENTS:
        latex = latex.replace(name, known)
    convert, failures = _converter()
    try:
        made = convert(latex, display="block" if formula.display else "inline")
        return ElementTree.tostring(_copy(made, 0), "unicode")
    except failures:
        return None


@cache
def _converter() -> tuple[Callable[..., ElementTree.Element], tuple[type[Exception], ...]]:
    """Returns the converter and the errors that it raises; it is loaded late, since that takes 60 ms."""
    from latex2mathml import converter, exceptions

    own = (
        kind
        for kind in vars(exceptions).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    )
    builtin = (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RuntimeError,
    )
    return converter.convert_to_element, (*own, *builtin, StopIteration)


def _copy(element: ElementTree.Element, depth: int) -> ElementTree.Element:
    """Returns a copy of an element with allowed content alone. Raises ValueError for unknown elements."""
    text = html.unescape(element.text or "")
    if (
        element.tag not in TAGS
        or depth > _MOST_DEPTH
        or (element.tag == "mi" and text[:1] in ("\\", "&"))
    ):
        raise ValueError(element.tag)
    copy = ElementTree.Element(element.tag, dict(_allowed_attributes(element)))
    copy.text = "".join(
        character for character in text if character.isprintable() or character == "\xa0"
    )
    copy.extend(_copy(child, depth + 1) for child in element)
    return copy


def _allowed_attributes(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for name, value in element.items():
        if name in ATTRIBUTES and ATTRIBUTES[name].fullmatch(value):
            yield name, value
