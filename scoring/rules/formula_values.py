"""Values of formulas: a closed grammar of numbers, + - * / ^, fractions, roots, pi and brackets, without `eval`.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed | power)*     a root, pi, fraction or "(" after a number is a factor
    signed   = ("+" | "-")* power
    power    = percent ("^" ("+" | "-")* percent)?      a second "^" is ambiguous, a mixed exponent such as 3½ too
    percent  = single "%"?
    single   = number | number fraction | fraction | root | pi | bracket; "number fraction" is a mixed number
    root     = "\\sqrt" ("[" sum "]")? (digit | bracket)

Numbers are floating-point numbers, so that no power is slow.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_SIGNS = 300
"""Characters of the longest formula that is read."""
_MOST_BRACKETS = 24
"""Brackets of a formula that are open at once."""
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("−‐‑‒–", "-"),
        **dict.fromkeys("×·⋅∗", "*"),
        "÷": "/",
        "π": "\\pi ",
        "√": "\\sqrt ",
        "²": "^2",
        "³": "^3",
        "½": "(1/2)",
        "¼": "(1/4)",
        "¾": "(3/4)",
    }
)
_SIGN_OF_MIXED = re.compile(r"(?<=\d)\s?([½¼¾])")
"""The sign of a fraction behind a number, which is added to it: 1½ is 1.5."""
_FRACTIONS = {"½": "\\frac12", "¼": "\\frac14", "¾": "\\frac34"}
_LAYOUT = re.compile(
    r"\\(?:left|right|boxed|fbox|text|mathrm|displaystyle)(?![a-z])|\\[,!;: ()$]|\$"
    r"|\^\s?\{?\s?\\circ(?![a-z])(?:\s?\})?"
)
"""Commands of LaTeX, and degrees, that don't change a value."""
_SPELLINGS = (
    (re.compile(r"\\[dtc]frac(?![a-z])"), r"\\frac"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\\(?:times|cdot)(?![a-z])"), "*"),
    (re.compile(r"\\div(?![a-z])"), "/"),
    (re.compile(r"\\%|\bpercent\b"), "%"),
    (re.compile(r"(?<![a-z\\])(?=(?:sqrt|pi)(?![a-z]))"), r"\\"),  # pi is \pi
)
"""Other ways to write a token of the grammar, and that token."""
_TOKEN = re.compile(
    r"\s*+("
    r"(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d*+)?(?:e[+-]?\d{1,3})?(?![a-z\d])"  # 3, 1,200.5, 2e-3
    r"|\.\d++(?:e[+-]?\d{1,3})?(?![a-z\d])"  # .5
    r"|\\frac(?:\s?\d\s?\d(?!\d))?"  # \frac, or a whole fraction such as \frac12
    r"|\\sqrt(?![a-z])|\\pi(?![a-z])|[-+*/^%:(){}\[\]]"
    r")\s*+"
)
_CLOSING = {"(": ")", "{": "}", "[": "]"}


class _UnreadError(ValueError):
    """A text that is not a formula of the grammar."""


def formula_value(text: str, as_kit: bool = False) -> float | None:
    """The value of a formula; None for another text, and for a value that is not finite.

    `as_kit` reads only what VLMEvalKit reads: ":" as "/" too, but no square root, pi, factor without a sign, or
    fraction without braces.
    """
    text = text.strip()
    if len(text) > MOST_SIGNS:
        return None
    text = text.lower()
    if not as_kit:
        text = text.replace("°", "")
        text = _SIGN_OF_MIXED.sub(lambda match: _FRACTIONS[match[1]], text)
    try:
        number = _Parser(_tokens(text), as_kit).whole()
    except (_UnreadError, ArithmeticError):
        return None
    return number if math.isfinite(number) else None


def _tokens(text: str) -> Sequence[str]:
    """The tokens of a formula in lower case. Raises _UnreadError for another text."""
    text = _LAYOUT.sub(" ", text.translate(_SIGNS))
    for pattern, token in _SPELLINGS:
        text = pattern.sub(token, text)
    tokens: list[str] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            if not text[place:].strip():
                break
            raise _UnreadError
        tokens.append(match[1])
        place = match.end()
    return tokens


@dataclass
class _Parser:
    """A parser of the grammar above, with a method for each of its lines.

    Methods return a value. They raise _UnreadError for other texts, and ArithmeticError where there is no value.
    """

    tokens: Sequence[str]
    as_kit: bool
    place: int = 0
    """The place of the next token."""
    depth: int = 0
    """The number of open brackets."""

    @property
    def next(self) -> str:
        """The next token; "" at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *signs: str) -> str:
        """Goes past the next token and returns it if it is one of these; else ""."""
        sign = self.next
        if sign == "" or sign not in signs:
            return ""
        self.place += 1
        return sign

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise _UnreadError

    def whole(self) -> float:
        number = self.sum()
        if self.next:
            raise _UnreadError
        return number

    def sum(self) -> float:
        number = self.product()
        while sign := self.take("+", "-"):
            term = self.product()
            number += term if sign == "+" else -term
        return number

    def product(self) -> float:
        number = self.signed()
        while True:
            if self.take("*"):
                number *= self.signed()
            elif self.take("/") or (self.as_kit and self.take(":")):
                number /= self.signed()
            elif not self.as_kit and self.next.startswith(("\\sqrt", "\\pi", "\\frac", "(")):
                number *= self.power()
            else:
                return number

    def sign(self) -> int:
        factor = 1
        while sign := self.take("+", "-"):
            factor *= -1 if sign == "-" else 1
        return factor

    def signed(self) -> float:
        return self.sign() * self.power()

    def power(self) -> float:
        base = self.percent()
        if not self.take("^"):
            return base
        exponent = self.sign() * self.percent(may_be_mixed=self.as_kit)
        result = base**exponent
        if isinstance(result, complex) or self.next == "^":
            raise _UnreadError
        return result

    def percent(self, may_be_mixed: bool = True) -> float:
        number = self.single(may_be_mixed)
        return number / 100 if self.take("%") else number

    def single(self, may_be_mixed: bool = True) -> float:
        token = self.next
        self.place += 1
        if token[:1].isdigit() or token[:1] == ".":
            number = float(token.replace(",", ""))
            # To VLMEvalKit a number with commas is no whole part of a mixed number.
            whole = token if self.as_kit else token.replace(",", "")
            if whole.isdigit() and self.is_mixed():
                if not may_be_mixed:
                    raise _UnreadError
                return number + self.single()
            return number
        if token in _CLOSING:
            return self.inside(token)
        if token.startswith("\\frac"):
            return self.fraction(token)
        if token == "\\pi" and not self.as_kit:
            return math.pi
        if token == "\\sqrt":
            return self.root()
        raise _UnreadError

    def is_mixed(self) -> bool:
        """Whether a fraction of two whole numbers follows: then a whole number before it is added to it."""
        if not self.as_kit and self.next.startswith("\\frac") and self.next != "\\frac":
            return True  # without braces, such as \frac12
        # Any whole number counts as 0 here.
        fraction = ["\\frac", "{", "0", "}", "{", "0", "}"]
        following = self.tokens[self.place : self.place + len(fraction)]
        return ["0" if token.isdigit() else token for token in following] == fraction

    def inside(self, opening: str) -> float:
        self.depth += 1
        if self.depth > _MOST_BRACKETS:
            raise _UnreadError
        number = self.sum()
        self.expect(_CLOSING[opening])
        self.depth -= 1
        return number

    def fraction(self, token: str) -> float:
        digits = [character for character in token if character.isdigit()]
        if digits and self.as_kit:
            raise _UnreadError
        if digits:
            return int(digits[0]) / int(digits[1])
        numerator = self.braced()
        return numerator / self.braced()

    def braced(self) -> float:
        self.expect("{")
        return self.inside("{")

    def root(self) -> float:
        index = self.inside("[") if self.take("[") else 2.0
        if self.as_kit and index == 2:
            raise _UnreadError
        is_digit = len(self.next) == 1 and self.next.isdigit()
        if not (is_digit or self.next in ("(", "{")):
            raise _UnreadError
        # In \sqrt2\frac12 the fraction is a factor of the root, in √2½ it may be below it.
        radicand = self.single(may_be_mixed=self.as_kit)
        if radicand < 0:
            raise _UnreadError
        return radicand ** (1 / index)
