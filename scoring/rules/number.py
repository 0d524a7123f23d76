"""Numbers: integers, decimals rounded to the places of the right answer, and formulas with a value."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from scoring.multiple_choice.numbers import Number, normalized_text, text_as_number
from scoring.rules.base import (
    Item,
    NamedColumn,
    Reading,
    RuleExample,
    RuleProtocol,
    cell_of,
    unread_reading,
)
from scoring.rules.formula_values import formula_value
from scoring.rules.judging import JudgedKind
from scoring.rules.short_answers import short_answer

NumberForm = Literal["integer", "float", "formula"]

_NEAR = 1e-6
"""The difference below which values of formulas are equal; for a value below 1, this share of it."""
_ROUNDING = 1e-12
"""The difference below which all values are equal, as floating-point numbers are inexact."""
_SCIENTIFIC = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})e[+-]?\d{1,2}")
_TIMES_TEN = re.compile(r"\s?(?:×|\*|\\times|x)\s?10\s?\^\s?\{?\s?(-?\d{1,2})\s?\}?")
_DECIMALS = re.compile(r"\.(\d{1,40})(?!\d)")
_NAME_BEFORE = re.compile(r"\A\s*+[a-z]\s?=(?!=)")
_MOST_PLACES = 40
_UNREAD_IN_KIT = ("", "0", "0.0", "-0.0")
"""Numbers that VLMEvalKit treats as no reading, and leaves to its judge."""
_MAYBE_SHARE = "a number in percent that may be a share"
_NO_VALUE = "no formula that has a value"
"""_MAYBE_SHARE, _NO_VALUE: reasons why a reading has no score."""
_LONGEST = 80
"""Characters of the longest text that is read as a number."""


class NumberRule(JudgedKind):
    """An answer that is a number."""

    heading: ClassVar[str] = "Numbers"
    kind: Literal["number"] = "number"
    as_: NumberForm | None = Field(default=None, alias="as")
    """None: an integer if the truth is one, else a float."""
    places: str | None = None
    """Column of the decimal places that count; None: those of the truth."""
    form: ClassVar[str] = "the number or formula that it gives, without words,"

    @property
    def example(self) -> RuleExample:
        if self.as_ == "formula":
            return RuleExample("What is the area of the triangle?", "\\frac{1}{2}", "1/2")
        if self.as_ == "float":
            return RuleExample("How many litres does the jug hold?", "1.5", "1.5")
        return RuleExample("How many cups are on the table?", "3", "3")

    @property
    def named_columns(self) -> Sequence[NamedColumn]:
        if self.places is None:
            return super().named_columns
        places = NamedColumn(self.places, "How many decimal places count", "1")
        return [*super().named_columns, places]

    @property
    def truth_reasons(self) -> frozenset[str]:
        reason = _NO_VALUE if self.as_ == "formula" else _MAYBE_SHARE
        return frozenset((reason,))

    def protocols(self) -> frozenset[RuleProtocol]:
        if self.as_ == "formula":
            return frozenset(("strict", "vlmevalkit"))
        return frozenset(("strict", "vlmevalkit", "lmms-eval"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "strict":
            short = short_answer(answer, (truth,))
            if short.problem:
                return unread_reading(protocol, short.problem, is_open=short.is_open)
            return self._strict_reading(item, short.text, truth)
        if protocol == "lmms-eval":
            return self._lmms_reading_without_judge(item, answer, truth)
        # VLMEvalKit's judge gets what its rule doesn't find equal, and every 0, which its rule treats as no reading.
        reading = self._kit_reading(answer, truth)
        unread_texts = ("",) if self.as_ == "formula" else _UNREAD_IN_KIT
        if reading.score == 0 or reading.read in unread_texts:
            return unread_reading(protocol, "not equal to the truth", is_open=True)
        return reading

    def wrong_truth(self, item: Item) -> str:
        if self.as_ == "formula":
            return ""
        right = _one_number(self.truth_of(item) or "")
        return "isn't a number" if right is None else ""

    def copied_reading(self, item: Item, copied: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "strict":
            return self._strict_reading(item, copied, truth)
        if protocol == "lmms-eval":
            return self._lmms_reading(item, copied, truth)
        return self._kit_reading(copied, truth)

    def _strict_reading(self, item: Item, text: str, truth: str) -> Reading:
        if self.as_ == "formula":
            return _formula_reading(text, truth)
        right = _one_number(truth)
        if right is None:
            return Reading(None, "", "the right answer isn't a number")
        number = _one_number(text)
        if number is None:
            return unread_reading("strict", "not one number", is_open=True)
        places = 0 if self.as_ == "integer" else self._counted_places(item, truth)
        is_right = is_equal(number, right, places)
        if is_right is None:
            return unread_reading("strict", _MAYBE_SHARE, is_open=True)
        return Reading(float(is_right), text.strip()[:200], "the number")

    def _counted_places(self, item: Item, truth: str) -> int:
        """The decimal places that count: the column's, else those of the truth."""
        places = self._places_in_cell(item)
        return decimal_places(truth) if places is None else places

    def _places_in_cell(self, item: Item) -> int | None:
        """The decimal places that the column of places has for a question; None if it has none."""
        cell = cell_of(item, self.places) if self.places else None
        places = plain_number(cell) if cell else None
        if places is None or places.denominator != 1 or not 0 <= places <= _MOST_PLACES:
            return None
        return int(places)

    def _kit_reading(self, text: str, truth: str) -> Reading:
        """VLMEvalKit's comparison of two formulas, or of Python's numbers of text and truth, which must be equal."""
        if self.as_ == "formula":
            is_right = is_equal_in_kit(text, truth)
            return Reading(float(is_right), text.strip()[:200], "equal text or value")
        number = _python_number(text, self._number_form(truth))
        if number is None:
            return unread_reading("vlmevalkit", "no number of this form")
        is_right = number == _python_number(truth, self._number_form(truth))
        return Reading(float(is_right), str(number), "the number")

    def _lmms_reading_without_judge(self, item: Item, answer: str, truth: str) -> Reading:
        """lmms-eval's reading of an empty answer, and of a number; all other answers go to its judge."""
        if not answer:
            return unread_reading("lmms-eval", "empty answer")
        number = _python_number(answer, self._number_form(truth))
        if number is None:
            return unread_reading("lmms-eval", "no number of this form", is_open=True)
        return self._lmms_reading(item, str(number), truth)

    def _lmms_reading(self, item: Item, text: str, truth: str) -> Reading:
        """lmms-eval's comparison: the number, cut or rounded, must have the same text as the truth."""
        number = _python_number(text, "float")
        if number is None:
            return unread_reading("lmms-eval", "no number")
        try:
            if self._number_form(truth) == "integer":
                number_text = str(int(number))
            else:
                # Without places, None rounds to a whole number, as it does in lmms-eval.
                number_text = str(round(number, self._places_in_cell(item)))
        except (ValueError, OverflowError):  # infinity has no integer
            return unread_reading("lmms-eval", "no finite number")
        return Reading(float(number_text == truth.strip()), number_text, "the number as text")

    def _number_form(self, truth: str) -> NumberForm:
        """The form of the number: the rule's, else that of the truth."""
        if self.as_:
            return self.as_
        return "float" if _python_number(truth, "integer") is None else "integer"


def _python_number(text: str, form: NumberForm) -> int | float | None:
    """Python's number of a text; None if it is not a number of this form, an integer or a float."""
    try:
        return int(text) if form == "integer" else float(text)
    except ValueError:
        return None


def is_equal_in_kit(text: str, truth: str) -> bool:
    """Whether VLMEvalKit counts two formulas as equal: the same text, or values that differ by less than 1e-6."""
    plain = text.lower().strip()
    plain_truth = truth.lower().strip()
    if plain == plain_truth:
        return True
    number = formula_value(plain, as_kit=True)
    right = formula_value(plain_truth, as_kit=True)
    return number is not None and right is not None and abs(number - right) < _NEAR


def _formula_reading(text: str, truth: str) -> Reading:
    """Our reading of a formula: equal text or equal values; a formula without a value is left to a judge."""
    formula = _without_name(text)
    true_formula = _without_name(truth)
    if _without_blanks(formula) == _without_blanks(true_formula):
        return Reading(1.0, formula[:200], "equal text")
    computed = formula_value(formula)
    expected = formula_value(true_formula)
    if computed is None or expected is None:
        return unread_reading("strict", _NO_VALUE, is_open=True)
    is_near = abs(computed - expected) <= max(_NEAR * min(1.0, abs(expected)), _ROUNDING)
    return Reading(float(is_near), formula[:200], "the value of the formula")


def _without_name(text: str) -> str:
    """A formula in lower case, without the name before it, dollars and a full stop after it: "X = $3$." is "3"."""
    return _NAME_BEFORE.sub("", text.lower()).strip().removesuffix(".").strip(" $")


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _one_number(text: str) -> Number | None:
    """The number that is all of a text; None for no number and for several."""
    number = read_number(text)
    return number if number is not None and len(number.values) == 1 else None


def read_number(text: str) -> Number | None:
    """The number that is the whole text, in digits or words, with or without a unit; None for another text."""
    if len(text) > _LONGEST:
        return None
    plain = _plain_text(text)
    if _SCIENTIFIC.fullmatch(plain):
        values = frozenset((Fraction(plain),))
        return Number(values=values, unit="", start=0, body=0, end=len(plain))
    return text_as_number(plain)


def _plain_text(text: str) -> str:
    """A text in lower case, with an exponent as in "1.5e-3"."""
    plain = normalized_text(text).lower().strip().removesuffix(".")
    return _TIMES_TEN.sub(r"e\1", plain, count=1)


def plain_number(text: str) -> Fraction | None:
    """The only value of a text that is a number without a unit; None for another text."""
    number = read_number(text)
    if number is None or number.unit or len(number.values) != 1:
        return None
    [value] = number.values
    return value


def decimal_places(truth: str) -> int:
    """The number of decimal places in a text; "1.5e-3" has the four of 0.0015."""
    plain = _plain_text(truth)
    match = _DECIMALS.search(plain)
    places = len(match[1]) if match else 0
    if not _SCIENTIFIC.fullmatch(plain):
        return places
    _, _, exponent = plain.partition("e")
    return places + max(0, -int(exponent))


def is_equal(number: Number, right: Number, places: int) -> bool | None:
    """Whether a number is right after rounding; None for "5%" if 5 is right: it may be the share 0.05.

    Both have one value. Units that differ make it wrong, but a number without a unit may have any. A percent sign
    counts even if the other number has none.
    """
    [value] = number.values
    [right_value] = right.values
    is_equal_value = _rounds_to(value, right_value, places)
    if number.unit == "%" and right.unit != "%":
        if _rounds_to(value / 100, right_value, places):
            return True
        return None if is_equal_value else False
    if right.unit == "%" and number.unit != "%":
        return is_equal_value or _rounds_to(100 * value, right_value, places)
    units_differ = bool(number.unit and right.unit) and number.unit != right.unit
    return is_equal_value and not units_differ


def _rounds_to(number: Fraction, right: Fraction, places: int) -> bool:
    """Whether two numbers are equal when rounded to these places, halves away from 0; for 0 places, as they are."""
    if places == 0:
        return number == right
    return _rounded(number, places) == _rounded(right, places)


def _rounded(number: Fraction, places: int) -> int:
    """A number in units of its last place, halves away from 0."""
    size = int(abs(number) * 10**places + Fraction(1, 2))
    return size if number >= 0 else -size
