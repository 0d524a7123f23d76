"""Formulas in answers and options: LaTeX in plain signs, and whether an option's text is only part of a formula.

"\\frac{R}{2}" is "R/2", and names neither the option R nor 2.
"""

import re
from collections.abc import Mapping

from scoring.multiple_choice.phrases import CJK

_SIGNS: Mapping[str, str] = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "circ": "°", "degree": "°", "leq": "≤", "geq": "≥", "neq": "≠",
    "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "infty": "∞", "cup": "∪", "cap": "∩", "land": "∧", "wedge": "∧",
    "lor": "∨", "vee": "∨", "lnot": "¬", "neg": "¬", "to": "→", "rightarrow": "→", "Rightarrow": "⇒", "mid": "|",
    "setminus": "\\", "sum": "∑", "prod": "∏", "int": "∫", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ",
    "epsilon": "ε", "theta": "θ", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "omega": "ω", "Delta": "Δ", "Omega": "Ω", "Theta": "Θ", "%": "%", "$": "$",
    **{name: name for name in "sin cos tan cot sec csc log ln exp lim max min det gcd".split()},
}  # fmt: skip
_SIGN_NAMES = sorted(filter(str.isalpha, _SIGNS), key=len, reverse=True)
"""The names made of letters, the longest first: no name is cut short by another. The others, % and $, are signs."""
_COMMAND = re.compile(rf"\\(?:({'|'.join(_SIGN_NAMES)})(?![a-zA-Z])|([%$])|[,;!:])")
_FRACTION = re.compile(
    r"\\[dt]?frac\s?(?:\{\s?([^{}]{1,40}?)\s?\}\s?\{\s?([^{}]{1,40}?)\s?\}|(\d)\s?(\d)(?!\d))"
)
_ROOT = re.compile(r"\\sqrt\s?(?:\{\s?([^{}]{1,40}?)\s?\}|([0-9a-zA-Z]))")
_ONE_TERM = re.compile(r"-?\s?(?:[\w.√]|\\[a-zA-Z]{2,10})++")
_EXPONENT = re.compile(r"\^\s?\{\s?(-?\w{1,4})\s?\}")
_DEGREE_EXPONENT = re.compile(r"\^\s?(?:\{\s?°\s?\}|°)")
_SIZE_COMMAND = re.compile(r"\\(?:left|right|big|Big)(?=[()\[\]|])")
_TIMES_LETTER = re.compile(r"(?<=\d)\s?\\cdot\s?(?=[a-zA-Z])")
"""The dot of a product that people write without one: 2x."""
_MOST_LEVELS = 3
"""Most levels of nested fractions and roots."""


def without_latex(text: str) -> str:
    """The text with LaTeX's fractions, roots and signs written plainly: "a/b", "√2", "π"."""
    text = _TIMES_LETTER.sub("", _SIZE_COMMAND.sub("", text))
    for _ in range(_MOST_LEVELS):
        plainer = _FRACTION.sub(_fraction, _ROOT.sub(_root, text))
        if plainer == text:
            break
        text = plainer
    text = _COMMAND.sub(_sign_or_blank, text)
    return _EXPONENT.sub(r"^\1", _DEGREE_EXPONENT.sub("°", text))


def _term(text: str) -> str:
    return text if _ONE_TERM.fullmatch(text) else f"({text})"


def _fraction(match: re.Match[str]) -> str:
    return f"{_term(match[1] or match[3])}/{_term(match[2] or match[4])}"


def _root(match: re.Match[str]) -> str:
    return "√" + _term(match[1] or match[2])


def _sign_or_blank(match: re.Match[str]) -> str:
    """The plain sign of a command; a blank for the commands of spaces, which have no group."""
    name = match[1] or match[2]
    return _SIGNS[name] if name else " "


FUNCTION = r"(?:sin|cos|tan|cot|sec|csc|log|ln|exp|lim|max|min|det|gcd|mod|sqrt)"
"""Functions of formulas."""
OPERATION = (
    r"(?:twice|thrice|double|triple|times|plus|minus|negative|over|modulo|(?:half|third|quarter|fourth|fifth|tenth|percent|%"
    r"|square|cube|root|sum|product|inverse|reciprocal|negative|opposite|multiple|power|factorial|derivative|integral)"
    r" of)(?:\sthe)?"
)
"""Words of a calculation before its operand."""
_FUNCTIONS = re.compile(rf"(?<![a-z]){FUNCTION}(?![a-z])")
_WORD = re.compile(rf"[^\W\d_]{{3,}}|[{CJK}]")
"""A word. Chinese, Japanese and Korean words may have a single character."""
_SIGN = re.compile(r"[\\^_=+*/(){}|√∑∫∪∩∧∨¬≤≥<>]|\d[^\W\d]|[^\W\d]\d|\d,\s?-?\d|[α-ω]")
_BEFORE_OPERAND = re.compile(
    r"(?:[+*/×÷·^√±∑∫∏{\\_∪∩∧∨¬]\s?"  # an operator
    r"|[-)]"  # "-x", "(a)x"
    r"|(?:[\d)}α-ω]|(?<![a-z])[j-z])\s-\s"  # "2 - x"; letters before j may be options: "b - x"
    r"|\|"  # "|x|"
    r"|[\d)}]\s?"  # "2x"
    r"|[\w)}'’′]\("  # "f(x)"
    rf"|(?<![a-z]){FUNCTION}\s?\(?"  # "sin x"
    rf"|(?<![a-z])(?:{OPERATION})\s"  # "twice x"
    r"|\\[a-z]{2,12}\s?\(?"  # a command of LaTeX
    r")\Z"
)
"""Text that makes the text after it an operand."""
_LIST_LABEL = re.compile(r"(?:(?<![\w)])\([a-z]|(?<![\w(])(?:[a-z]|\d{1,2}))\)\s?\Z")
"""The label of a list's member, "(a)" or "2)", whose bracket isn't a formula's."""
_AFTER_OPERAND = re.compile(
    r"\s?[*/×÷·^√±∪∩∧∨<>≤≥≠=]|\s?\+"  # an operator
    r"|[({|!]"  # "f(x)", "|x|", "n!"
    r"|['’′]\s?[=(]"  # a derivative: "y' =", "f'(x)"
    r"|-[\w(\\√]|\s-\s?(?:[\d(√]|[a-zα-ω](?![a-z]))"  # "x-1", "x - y"; " - " before a word is a dash
    r"|\s?\\[a-z]"  # a command of LaTeX
    rf"|\s?{FUNCTION}(?![a-z])"  # "x sin"
    r"|\s(?:squared|cubed|choose|times|plus|minus|over|divided)\b"
    r"|(?<=\))\w"  # "(a)x"
)
"""Text that makes the text before it an operand."""
_WINDOW = 24
"""Characters before an operand that are looked at."""


def is_formula(content: str) -> bool:
    """Whether an option's text is a formula or a symbol without a word: "x", "2x", "mg", "P(A)"."""
    without_functions = _FUNCTIONS.sub("", content)
    if _WORD.search(without_functions):
        return False
    is_symbol = without_functions.isalpha() and len(without_functions) <= 2
    return is_symbol or bool(_SIGN.search(content))


def is_operand(lower: str, start: int, end: int) -> bool:
    """Whether a part of a lower-case text is only a part of a formula: "x" in "x + 1", "f(x)" and "|x|"."""
    if _AFTER_OPERAND.match(lower, end):
        return True
    front = lower[max(0, start - _WINDOW) : start]
    if _LIST_LABEL.search(front):
        return False
    return bool(_BEFORE_OPERAND.search(front))
