"""Numbers: integers, decimals that are rounded to the places of the right one, and formulas that have a value."""

import re
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from scoring.multiple_choice.numbers import Number, spelled, whole
from scoring.rules.base import Item, Reading, RuleProtocol, cell_of, unread
from scoring.rules.formula_values import value
from scoring.rules.judging import JudgedKind
from scoring.rules.short_answers import short_answer

NumberForm = Literal["integer", "float", "formula"]

_NEAR = 1e-6
"""Values of formulas that differ by less are equal; for one below 1, by this share of it."""
_ROUNDING = 1e-12
_SCIENTIFIC = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})e[+-]?\d{1,2}")
_TIMES_TEN = re.compile(r"\s?(?:×|\*|\\times|x)\s?10\s?\^\s?\{?\s?(-?\d{1,2})\s?\}?")
_DECIMALS = re.compile(r"\.(\d{1,40})(?!\d)")
_ASSIGNED = re.compile(r"\A\s*+[a-z]\s?=(?!=)")
_MOST_PLACES = 40
_LONGEST = 80
"""Characters of a text above which it is no number."""


class NumberRule(JudgedKind):
    """The number that an answer is."""

    kind: Literal["number"] = "number"
    as_: NumberForm | None = Field(default=None, alias="as")
    """None: an integer if the truth is one, else a float."""
    places: str | None = None
    """Column of the decimal places that count; without one, those of the truth do."""
    form: ClassVar[str] = "the number or formula that it gives, without words,"

    def protocols(self) -> frozenset[RuleProtocol]:
        if self.as_ == "formula":
            return frozenset(("strict", "vlmevalkit"))
        return frozenset(("strict", "vlmevalkit", "lmms-eval"))

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "strict":
            said = short_answer(answer, (truth,))
            if said.problem:
                return unread(protocol, said.problem, said.is_open)
            return self._strict(item, said.text, truth)
        if protocol == "lmms-eval":
            return self._before_lmms_judge(item, answer, truth)
        reading = self._kit(answer, truth)
        nothing = ("",) if self.as_ == "formula" else _NOTHING
        if reading.score == 0 or reading.read in nothing:
            return unread(protocol, "not equal to the truth", True)
        return reading

    def wrong_truth(self, item: Item) -> str:
        is_fit = self.as_ == "formula" or _one_number(self.truth_of(item) or "") is not None
        return "" if is_fit else "is no number"

    def replied(self, item: Item, said: str, protocol: RuleProtocol) -> Reading:
        truth = self.truth_of(item) or ""
        if protocol == "strict":
            return self._strict(item, said, truth)
        return self._lmms(item, said, truth) if protocol == "lmms-eval" else self._kit(said, truth)

    def _strict(self, item: Item, text: str, truth: str) -> Reading:
        if self.as_ == "formula":
            return _formula(text, truth)
        right = _one_number(truth)
        if right is None:
            return Reading(None, "", "the right answer is no number")
        said = _one_number(text)
        if said is None:
            return unread("strict", "not one number", True)
        places = 0 if self.as_ == "integer" else self._places(item, truth)
        is_right = is_same(said, right, places)
        if is_right is None:
            return unread("strict", "a number in percent that may be a share", True)
        return Reading(float(is_right), text.strip()[:200], "the number")

    def _places(self, item: Item, truth: str) -> int:
        """Decimal places that count: the column's, else those of the truth."""
        places = self._places_in_cell(item)
        return decimals(truth) if places is None else places

    def _places_in_cell(self, item: Item) -> int | None:
        cell = cell_of(item, self.places) if self.places else None
        places = plain_number(cell) if cell else None
        is_fit = places is not None and places.denominator == 1 and 0 <= places <= _MOST_PLACES
        return int(places) if places is not None and is_fit else None

    def _kit(self, text: str, truth: str) -> Reading:
        """VLMEvalKit's comparison: Python's number of the text must be that of the truth; formulas may be text."""
        if self.as_ == "formula":
            is_equal = kit_equal(text, truth)
            return Reading(float(is_equal), text.strip()[:200], "equal text or value")
        number = _python_number(text, self._form(truth))
        if number is None:
            return unread("vlmevalkit", "no number of this form")
        return Reading(
            float(number == _python_number(truth, self._form(truth))), str(number), "the number"
        )

    def _before_lmms_judge(self, item: Item, answer: str, truth: str) -> Reading:
        """lmms-eval's two shortcuts; all else goes to its judge."""
        if not answer:
            return unread("lmms-eval", "empty answer")
        number = _python_number(answer, self._form(truth))
        if number is None:
            return unread("lmms-eval", "no number of this form", True)
        return self._lmms(item, str(number), truth)

    def _lmms(self, item: Item, text: str, truth: str) -> Reading:
        """lmms-eval's comparison: the text of the number, cut or rounded, is that of the truth."""
        number = _python_number(text, "float")
        if number is None:
            return unread("lmms-eval", "no number")
        try:
            if self._form(truth) == "integer":
                said = str(int(number))
            else:
                said = str(round(number, self._places_in_cell(item)))
        except (ValueError, OverflowError):  # infinity has no integer
            return unread("lmms-eval", "no finite number")
        return Reading(float(said == truth.strip()), said, "the number as text")

    def _form(self, truth: str) -> NumberForm:
        return self.as_ or ("float" if _python_number(truth, "integer") is None else "integer")


_NOTHING = ("", "0", "0.0", "-0.0")
"""Numbers that VLMEvalKit takes for nothing: it asks its judge."""


def _python_number(text: str, form: NumberForm) -> int | float | None:
    """What Python makes of a text; None if it is no number of this form."""
    try:
        return int(text) if form == "integer" else float(text)
    except ValueError:
        return None


def kit_equal(text: str, truth: str) -> bool:
    """Whether VLMEvalKit takes two formulas for equal: the same text, or values that differ by less than 1e-6."""
    said = text.lower().strip()
    right = truth.lower().strip()
    if said == right:
        return True
    values = [value(formula, plainly=True) for formula in (said, right)]
    return values[0] is not None and values[1] is not None and abs(values[0] - values[1]) < _NEAR


def _formula(text: str, truth: str) -> Reading:
    """Our reading of a formula: equal values, else equal text; what has no value is left to a judge."""
    said = _without_name(text)
    right = _without_name(truth)
    if _squeezed(said) == _squeezed(right):
        return Reading(1.0, said[:200], "equal text")
    number = value(said)
    expected = value(right)
    if number is None or expected is None:
        return unread("strict", "no formula that has a value", True)
    is_near = abs(number - expected) <= max(_NEAR * min(1.0, abs(expected)), _ROUNDING)
    return Reading(float(is_near), said[:200], "the value of the formula")


def _without_name(text: str) -> str:
    """A formula without the name that it is given, and a full stop: "x = 3." is "3"."""
    return _ASSIGNED.sub("", text.lower()).strip().removesuffix(".").strip(" $")


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _one_number(text: str) -> Number | None:
    """The number that a text is; None for none and for several."""
    found = read_number(text)
    return found if found is not None and len(found.values) == 1 else None


def read_number(text: str) -> Number | None:
    """The number that is all of a text, in digits or words, with a unit or none; None for another text."""
    if len(text) > _LONGEST:
        return None
    plain = spelled(text).lower().strip().removesuffix(".")
    if power := _TIMES_TEN.search(plain):
        plain = plain[: power.start()] + f"e{power[1]}" + plain[power.end() :]
    if _SCIENTIFIC.fullmatch(plain):
        return Number(frozenset((Fraction(plain),)), "", 0, 0, len(plain))
    return whole(plain)


def plain_number(text: str) -> Fraction | None:
    """The one value of a text that is a number without a unit; None for another text."""
    number = read_number(text)
    if number is None or number.unit or len(number.values) != 1:
        return None
    return next(iter(number.values))


def decimals(truth: str) -> int:
    """The decimal places that a number is written with."""
    found = _DECIMALS.search(truth)
    return len(found[1]) if found else 0


def is_same(said: Number, right: Number, places: int) -> bool | None:
    """Whether a number is the right one after rounding; None for "5%" where 5 is right, which 0.05 is not.

    A unit counts only where both numbers have one.
    """
    value_said = next(iter(said.values))
    value_right = next(iter(right.values))
    same = _rounds_to(value_said, value_right, places)
    if said.unit == "%" and right.unit != "%":
        if _rounds_to(value_said / 100, value_right, places):
            return True
        return None if same else False
    if right.unit == "%" and said.unit != "%":
        return same or _rounds_to(100 * value_said, value_right, places)
    return same and (said.unit == right.unit or not said.unit or not right.unit)


def _rounds_to(number: Fraction, right: Fraction, places: int) -> bool:
    """Whether a number is the right one when rounded to its places, halves away from 0; an integer must be equal."""
    if places == 0:
        return number == right
    return _rounded(number, places) == _rounded(right, places)


def _rounded(number: Fraction, places: int) -> int:
    """A number in units of its last place, halves away from 0."""
    size = abs(number) * 10**places + Fraction(1, 2)
    return int(size) if number >= 0 else -int(size)
