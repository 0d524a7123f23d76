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
_NO_GROUP = re.compile(r"\\[\\{}]")
"""A printed brace, which groups nothing, or a line break (two backslashes), which doesn't escape a brace after it."""
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
        "msub",
        "msup",
        "msubsup",
        "munder",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
    )
)
_LENGTH = re.compile(r"[0-3](?:\.[0-9]{1,4})?em")
_WORD = re.compile(r"[a-z-]{1,30}|[0-2]")
_LENGTH_ATTRIBUTES = ("width", "minsize", "maxsize")
_WORD_ATTRIBUTES = (
    "display",
    "displaystyle",
    "scriptlevel",
    "mathvariant",
    "stretchy",
    "fence",
    "form",
    "accent",
    "columnalign",
    "notation",
    "linethickness",
    "movablelimits",
)
ATTRIBUTES = {
    **dict.fromkeys(_LENGTH_ATTRIBUTES, _LENGTH),
    **dict.fromkeys(_WORD_ATTRIBUTES, _WORD),
}
"""Allowed attributes with patterns of their values; others, such as colours and addresses, are removed."""
_ENVIRONMENTS = (("{aligned}", "{align*}"), ("{align}", "{align*}"), ("{gathered}", "{gather*}"))


class _Marks(NamedTuple):
    """The marks around a formula."""

    opening: str
    closing: str
    display: bool


_MARKS = (
    _Marks("$$", "$$", display=True),
    _Marks("\\[", "\\]", display=True),
    _Marks("\\(", "\\)", display=False),
    _Marks("$", "$", display=False),
)


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
    for marks in _MARKS:
        if text.startswith(marks.opening, start):
            return _marked_formula(text, start, end, marks)
    return None


def _marked_formula(text: str, start: int, end: int, marks: _Marks) -> Formula | None:
    """Returns the formula between these marks; None if it is not closed, is blank, or is no formula but money."""
    begin = start + len(marks.opening)
    limit = min(end, begin + MOST_FORMULA)
    stop = text.find(marks.closing, begin, limit)
    while stop > 0 and marks.closing == "$" and text[stop - 1] == "\\":  # A dollar that is printed.
        stop = text.find(marks.closing, stop + 1, limit)
    if stop < 0:
        return None
    latex = text[begin:stop]
    if not latex.strip():
        return None
    if marks.closing == "$" and not _is_inline(text, start, stop):
        return None
    return Formula(latex, marks.display, stop + len(marks.closing))


def _is_inline(text: str, start: int, stop: int) -> bool:
    """Returns whether single dollars at `start` and `stop` mark a formula; see `formula_at`."""
    before = text[max(0, start - 1) : start]
    after = text[stop + 1 : stop + 2]
    if before.isalnum() or before == "\\" or after.isalnum():
        return False
    if text[start + 1].isspace() or text[stop - 1].isspace():
        return False
    return "\n" not in text[start:stop]


def mathml(formula: Formula) -> str | None:
    """Returns a formula as MathML, or None if it cannot be converted completely."""
    latex = formula.latex
    braces = _NO_GROUP.sub("", latex)
    if any(command in latex for command in _DEFINITIONS) or braces.count("{") != braces.count("}"):
        return None
    for name, known_name in _ENVIRONMENTS:
        latex = latex.replace(name, known_name)
    convert, failures = _converter()
    try:
        element = convert(latex, display="block" if formula.display else "inline")
        return ElementTree.tostring(_copy(element, 0), "unicode")
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
    raw_text = element.text or ""
    text = html.unescape(raw_text)
    # The converter keeps an unknown command as its name, and a column mark outside a table as "&". It escapes the same
    # signs where they are to be printed, which changes `raw_text`.
    is_unconverted = element.tag == "mi" and text == raw_text and text[:1] in ("\\", "&")
    if element.tag not in TAGS or depth > _MOST_DEPTH or is_unconverted:
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
