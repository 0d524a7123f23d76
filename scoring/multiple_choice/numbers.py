"""Numbers in answers and options, in one normal form: "−.5", "minus 0.50" and "-1/2" are one number.

A number has a value and a unit. Signs may be dashes or words, points may lack the zero before them, and thousands may
have separators. Percent, currencies and common units are read in any spelling. A dash that may be a minus or
punctuation, as in "Answer - 3", leaves two values; a number in a calculation or a comparison, as in "5 - 3" or "< 3",
has none.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from scoring.multiple_choice.formulas import FUNCTION, OPERATION, without_latex


class Number(NamedTuple):
    """A number at one place of a text."""

    values: frozenset[Fraction]
    """Its possible values; empty if it is not a value, such as a year or a bound."""
    unit: str
    """The unit in one spelling; "" without a known unit."""
    start: int
    """The start of its sign, or of its digits."""
    body: int
    """The start of its digits."""
    end: int
    """The end of its unit, or of its digits."""


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUPERSCRIPT = re.compile(r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,9}")
_DECIMAL_COMMA = re.compile(r",(?=\d)(?:(?<![\w.,],)|(?<=(?<![\w.,])0,))")
"""A comma that cannot separate thousands: "0,5" and ",5"."""
_CIRCLED = re.compile("[①-⑳]")
_BEFORE_FRACTION_SIGN = re.compile(r"(?<=\d)(?=[¼½¾⅐-⅞])")
_DASHES = str.maketrans(dict.fromkeys("−‐‑‒﹣－➖", "-"))
_LONG_DASH = re.compile(r"–(?=\s?[.$€£¥]?\d)|—(?=[.$€£¥]?\d)")


def normalized_text(text: str) -> str:
    """The text in NFKC with the signs of numbers in ASCII: 2³ becomes 2^3, ½ becomes 1/2, − becomes a dash."""
    if "," in text:
        text = _DECIMAL_COMMA.sub(".", text)
    has_latex = "\\" in text or "^{" in text
    if text.isascii() and not has_latex:
        return text
    text = _SUPERSCRIPT.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    text = _CIRCLED.sub(lambda match: "#" + unicodedata.normalize("NFKC", match[0]), text)
    text = unicodedata.normalize("NFKC", _BEFORE_FRACTION_SIGN.sub(" ", text)).replace("⁄", "/")
    text = _LONG_DASH.sub("-", text.translate(_DASHES))
    if has_latex:
        text = without_latex(text)
    return text


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_HAN_WORDS: Mapping[str, int] = {
    **{word: value for value, word in enumerate("零一二三四五六七八九十")},
    **{
        f"{tens}十{ones}": 10 * tens_value + ones_value
        for tens_value, tens in enumerate(("", *"二三四五六七八九"), 1)
        for ones_value, ones in enumerate(("", *"一二三四五六七八九"))
    },
    "一十": 10,
}
_DENOMINATORS: Mapping[str, int] = {
    "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10, "hundredth": 100,
    "thousandth": 1000,
}  # fmt: skip
_WORDS: Mapping[str, Fraction | int] = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{
        f"{tens}-{ones}": 10 * tens_value + ones_value
        for tens_value, tens in enumerate(_TENS, 2)
        for ones_value, ones in enumerate(_ONES[1:10], 1)
    },
    "hundred": 100,
    **_HAN_WORDS,
    "两": 2,
    "half": Fraction(1, 2),
}
_MULTIPLIERS: Mapping[str, Fraction | int] = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
    **{f"{part}{plural}": Fraction(1, below) for part, below in _DENOMINATORS.items() for plural in ("", "s")},
    "百": 100, "千": 1000, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8,
}  # fmt: skip
_SPELLINGS: Mapping[str, str] = {
    "%": "%,percent,per cent,pct",
    "¢": "¢,cents,cent",
    "$": "dollars,dollar,usd",
    "€": "€,euros,euro,eur",
    "£": "£,gbp",
    "¥": "¥,yuan,rmb,cny,yen,jpy,元,円",
    "°": "°,degrees,degree,deg,度",
    "°c": "°c,° c,degrees celsius,degree celsius,degrees c,celsius,摄氏度",
    "°f": "°f,° f,degrees fahrenheit,degrees f,fahrenheit,华氏度",
    "kg": "kg,kgs,kilograms,kilogram,kilos,kilo,公斤,千克",
    "g": "g,grams,gram,克",
    "mg": "mg,milligrams,milligram",
    "lb": "lb,lbs",
    "km": "km,kilometers,kilometres,kilometer,kilometre,公里,千米",
    "m": "m,meters,metres,meter,metre,米",
    "cm": "cm,centimeters,centimetres,centimeter,centimetre,厘米",
    "mm": "mm,millimeters,millimetres,millimeter,millimetre,毫米",
    "in": "inches,inch",
    "ft": "ft,feet,foot",
    "mi": "miles,mile",
    "l": "l,liters,litres,liter,litre,升",
    "ml": "ml,milliliters,millilitres,毫升",
    "s": "s,sec,secs,seconds,second,秒",
    "min": "min,mins,minutes,minute,分钟",
    "h": "h,hr,hrs,hours,hour,小时",
    "d": "days,day,天",
    "y": "years old,years,year,yrs,岁,年",
    "km/h": "km/h,kmh,kph",
    "m/s": "m/s,meters per second,metres per second",
    "mph": "mph,miles per hour",
    "cm^2": "cm^2,cm2,square centimeters,square centimetres",
    "m^2": "m^2,m2,square meters,square metres",
    "cm^3": "cm^3,cm3",
    "m^3": "m^3,m3",
    "hz": "hz,hertz", "khz": "khz", "mhz": "mhz", "ghz": "ghz", "v": "v,volts,volt", "w": "w,watts,watt", "kw": "kw",
    "mw": "mw", "n": "n,newtons,newton", "j": "j,joules,joule", "kj": "kj", "ev": "ev", "kev": "kev", "mev": "mev",
    "gev": "gev", "pa": "pa", "kpa": "kpa", "mol": "mol,moles", "ω": "ω,ohms,ohm", "px": "px,pixels", "kb": "kb",
    "mb": "mb", "gb": "gb", "tb": "tb", "ma": "ma", "um": "μm", "nm": "nm", "ms": "ms", "us": "μs", "ns": "ns",
    "": "个,只,条,人,张,本,名,位,辆,块",
}  # fmt: skip
_UNITS: Mapping[str, str] = {
    spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split(",")
}


def _one_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_IN_DIGITS = r"\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,40})?|\d{1,40}(?:\.\d{1,40})?|\.\d{1,40}"
_BODY = re.compile(
    rf"(?<![^\W\u3040-\u9fff\uac00-\ud7af])(?<![.,:/^_第图表])(?P<whole>\d{{1,9}}\s(?=\d{{1,9}}/\d))?(?P<digits>{_IN_DIGITS})"
    rf"(?:\s?/\s?(?P<below>\d{{1,20}}))?(?:\s?(?P<times>{_one_of(_MULTIPLIERS)})(?![a-z]))?"
    rf"(?P<unit>\s?(?:{_one_of(_UNITS)})(?![a-z0-9^/]))?"
    r"(?![^\W\u3040-\u9fff\uac00-\ud7af])(?![.,:/]\d|-\d|\^|[年月日号题步层楼:])"
)
"""A number in digits with its fraction, multiplier and unit.

The lookarounds keep out what is part of a word, a ratio, a range, a power, a date or a place in an order, as 第3题.
"""
_WORD_BODY = re.compile(
    rf"(?P<digits>{_one_of(_WORDS)})(?:[\s-]?(?P<times>{_one_of(_MULTIPLIERS)})(?![a-z]))?"
    rf"(?P<unit>\s?(?:{_one_of(_UNITS)})(?![a-z0-9^/]))?(?![a-z-])"
    r"(?:(?<!half)|(?!\s(?:of|past|an?|the)\b))"
)
"""A number in words with its multiplier and unit; "half" only if it isn't half of something."""
_HAS_NUMBER = re.compile(rf"\d|{_one_of(_WORDS)}")
_SPACED_THOUSANDS = re.compile(r"-?\d{1,3}(?: \d{3}){1,5}")
"""Thousands with blanks between them."""
_ARTICLE_AS_ONE = re.compile(
    rf"\ban? (?=(?:{'|'.join(_DENOMINATORS)}|half|hundred|thousand|million)\b)"
)
_TENS_AND_ONES = re.compile(rf"\b({'|'.join(_TENS)}) ({'|'.join(_ONES[1:10])})\b")
_COMPOUNDS = [word for word in _WORDS if "-" in word]
_COUNT_WORD = re.compile(rf"(?<![\w'’-])(?:{_one_of([*_ONES, *_TENS, *_COMPOUNDS])})(?![\w'’-])")
_ONE_COUNTS = re.compile(
    r"\b(?:there is|there's|only|just|exactly|see|count|of|has|have|are|be)\s\Z"
)
_CLAUSE_START = re.compile(r"(?:\A|[.:,]\s?)\Z")
_OF_BEHIND = re.compile(r"\s(?:of|out)\b")
_BEHIND_PRONOUN_ONE = re.compile(
    r"\s(?:of|out|in|on|at|is|was|has|can|could|with|that|which|half|third|quarter)\b"
)
_CURRENCY = re.compile(r"([$€£¥])\s?\Z")
_MINUS = re.compile(
    r"(?:(?<![a-z])(?:minus|negative|минус|(?<!au )moins|(?<!al )(?<!lo )(?<! o )menos|meno)[\s-]"
    r"|负|負|零下|マイナス)\s?\Z"
)
_PLUS = re.compile(r"(?:(?<![a-z])(?:plus|positive)\s|\+\s?)\Z")
_DASH = re.compile(r"(?:-(\s?)|—\s?)\Z")
_OPERAND = re.compile(r"(?:\d|(?<![a-z'’])[j-zα-ω]|\w\))\s?\Z")
"""The end of a number, a symbol or a bracket. The letters a to i are left out: they may be labels of options."""
_EQUALS = re.compile(
    r"(?:^|[=:(≈~>]|(?<![a-z])(?:is|are|was|were|be|equals|equal|to|of|by|about|approximately))\s?\Z"
)
_COMPARISON_BEFORE = re.compile(
    r"(?:[<>≤≥≠]=?|(?<![a-z])(?:(?:less|more|fewer|greater|larger|smaller|higher|lower|other|rather) than|at least"
    r"|at most|up to|over|under|above|below|not|≠)|百分之|小于|大于|超过|不到|不是)\s?\Z"
)
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_CALCULATION_BEFORE = re.compile(
    # "May 3", "2x3"
    rf"(?:(?<![a-z]){_MONTH}\s?|\dx|\d\sx\s?)\Z"
    # "√2", "one in 3", "f(3"
    r"|(?:[×÷*/·^√±|]|\d choose|(?:\bone|\d) in|\d[a-z]\s?=|\^\s?\{|sqrt\s?[({]|√\s?\(|-\(|\#"
    r"|\\(?!boxed)[a-z]{2,12}\s?[({]?|[a-z0-9)}]\("
    # "sin 3", "log_2 3"
    rf"|(?<![a-z])(?:{FUNCTION}(?:_\{{?\w{{1,3}}\}}?)?|{OPERATION}))\s?\Z"
)
"""Text before a number that makes it a part of a formula, a product, a date or a name in code."""
_CALCULATION_BEHIND = re.compile(
    # "3 May", but not "3 may be"; "2 x 3"
    rf"\s(?!may\s(?:be|have|not|also|look|seem)\b){_MONTH}|\s?x\s?\d|\*\*"
    # "2 sin", "5 - 3", "2 \pi", "5 < 6"
    rf"|\s?{FUNCTION}(?![a-z])|\s?[×÷*/·+^]\s?[\w(]|\s-\s[\d(√]|\s-\s[a-zα-ω](?![a-z])|\s?√|\(\d|\s?\\[a-z]|\s?[<>≤≥≠]"
    # "3 of 4", "4 options", "2 n", "5-ish", "5-$6", "3 squared"
    r"|\s(?:minus|plus|times|choose)\s|\sof\s\d|\s(?:options|choices)\b|\s[k-z](?![\w'’.])|-ish\b|-[$€£¥]\d"
    r"|\s(?:squared|cubed|below)\b"
    # "2 and a half"
    r"|\sand (?:an?|one|three|\d{1,3}/)\s?(?:half|third|quarter|\d)"
    # "5+", "18 or more", "5 pm"
    r"|\+(?!\w)|\s?[‰億萬]|\s?(?:以下|以上|以内|多|under zero"
    r"|(?:or (?:more|less|fewer)|and (?:above|below|over)|[ap]\.?m)\b)"
)
"""Text behind a number that makes it a part of a formula, a date, a range or another number."""
_BEFORE_YEAR = re.compile(r"\b(?:before|after|since|until|till)\s\Z")
_BELOW_ZERO = re.compile(r"\s?(?:degrees?\s)?below (?:zero|freezing)\b")
_OTHER_UNIT = re.compile(
    r"\s?[a-zμω]{1,4}(?:[/·]\(?[a-zμω]{1,4}(?:\^?-?\d)?\)?|\^-?\d){1,4}(?![\w/^])"
)
"""A unit of units: "kg/m^3", "m/s^2"."""
_FRONT_CHARACTERS = 24
"""Characters before a number to search for its sign."""
_LONGEST_NUMBER = 60
"""Characters; a longer text is no number alone."""
_INTRODUCTION = re.compile(
    r"(?:(?:it is|it's|there (?:is|are)|about|approximately|around|roughly|exactly|[a-z]\s?=|=|≈|~)\s?)?"
)


def numbers_in_digits(lower: str) -> list[Number]:
    """Every number in digits of a lower-case text, in order."""
    numbers = [_number(lower, match) for match in _BODY.finditer(lower)]
    return [number for number in numbers if number is not None]


def numbers_in_words(lower: str) -> list[Number]:
    """Every number in English words of a lower-case text, in order.

    "one" alone is one only if it counts, as in "there is one"; "one hundred" always is.
    """
    lower = _TENS_AND_ONES.sub(r"\1-\2", lower)
    numbers = []
    for word in _COUNT_WORD.finditer(lower):
        body = _WORD_BODY.match(lower, word.start())
        number = _number(lower, body) if body else None
        is_one_alone = word[0] == "one" and body is not None and not body["times"]
        if number and is_one_alone:
            number = _counting_one(lower, number)
        if number:
            numbers.append(number)
    return numbers


def _counting_one(lower: str, number: Number) -> Number | None:
    """The number of "there is one"; without a value in "only one of", and None for "the one", which is no number."""
    front = lower[max(0, number.start - _FRONT_CHARACTERS) : number.start]
    if not _ONE_COUNTS.search(front):
        may_stand_alone = _CLAUSE_START.search(front)
        if not may_stand_alone or _BEHIND_PRONOUN_ONE.match(lower, number.end):
            return None
    if _OF_BEHIND.match(lower, number.end):
        return number._replace(values=frozenset())
    return number


def text_as_number(lower: str) -> Number | None:
    """The number that is the whole text, in digits or words, perhaps after "it is" or "x ="; None for another text."""
    if len(lower) > _LONGEST_NUMBER:
        return None
    lower = _ARTICLE_AS_ONE.sub("one ", lower).replace("one half", "half")
    if not _HAS_NUMBER.search(lower):
        return None
    lower = _TENS_AND_ONES.sub(r"\1-\2", lower)
    if _SPACED_THOUSANDS.fullmatch(lower):
        lower = lower.replace(" ", "")
    introduction = _INTRODUCTION.match(lower)
    start = introduction.end() if introduction else 0
    for pattern in (_BODY, _WORD_BODY):
        for match in pattern.finditer(lower, start):
            number = _number(lower, match)
            if number and number.start <= start and number.end == len(lower):
                return number
    return None


def number_at(lower: str, place: int) -> Number | None:
    """The number with its sign or digits starting at this place, in digits or words."""
    window_start = max(0, place - _FRONT_CHARACTERS)
    window = lower[window_start : place + 2 * _FRONT_CHARACTERS]
    window_place = place - window_start
    for pattern in (_BODY, _WORD_BODY):
        match = pattern.search(window, window_place)
        number = _number(window, match) if match else None
        if number and number.start <= window_place <= number.body:
            return number._replace(
                start=number.start + window_start,
                body=number.body + window_start,
                end=number.end + window_start,
            )
    return None


class _Unit(NamedTuple):
    """The unit behind a number's digits."""

    name: str
    """In one spelling; "" without a known unit."""
    end: int


class _SignedValues(NamedTuple):
    """A number with the sign before its digits."""

    values: frozenset[Fraction]
    """Its possible values; empty if the sign is an operator."""
    sign_length: int


def _number(lower: str, match: re.Match[str]) -> Number | None:
    """The number of these digits with its sign.

    None for a part of a word, as in "covid-19", for a decade, as in "the 1990s", and for a division by 0.
    """
    value = _value(match)
    if value is None:
        return None
    start = match.start()
    may_be_decade = len(match["digits"]) >= len("100") and "." not in match["digits"]
    if match["unit"] == "s" and may_be_decade:
        return None  # "the 1990s"
    unit, end = _unit(lower, match)
    front = lower[max(0, start - _FRONT_CHARACTERS) : start]
    if currency := _CURRENCY.search(front):
        unit = unit or currency[1]
        front = front[: currency.start()]
        start -= len(currency[0])
    signed = _read_sign(value, front, has_lines="\n" in lower)
    if signed is None:
        return None
    values = signed.values
    start -= signed.sign_length
    front = front[: len(front) - signed.sign_length]
    if below_zero := _BELOW_ZERO.match(lower, end):
        values = frozenset(-abs(number) for number in values)
        end = below_zero.end()
    is_year = not unit and 1000 <= value <= 2100
    if is_year and _BEFORE_YEAR.search(front):
        values = frozenset()
    if (
        _COMPARISON_BEFORE.search(front)
        or _CALCULATION_BEFORE.search(front)
        or _CALCULATION_BEHIND.match(lower, end)
    ):
        values = frozenset()
    return Number(values, unit, start, match.start(), end)


def _unit(lower: str, match: re.Match[str]) -> _Unit:
    known_unit = _UNITS.get((match["unit"] or "").strip(), "")
    if not known_unit:
        unit_of_units = _OTHER_UNIT.match(lower, match.end())
        if unit_of_units:
            return _Unit(unit_of_units[0].strip(), unit_of_units.end())
    return _Unit(known_unit, match.end())


def _read_sign(value: Fraction, front: str, has_lines: bool) -> _SignedValues | None:
    """The number with the sign at the end of the text before it; None if it is part of a word."""
    positive = frozenset((value,))
    negative = frozenset((-value,))
    if minus := _MINUS.search(front):
        values = frozenset() if _has_operand(front, minus) else negative
        return _SignedValues(values, len(minus[0]))
    if plus := _PLUS.search(front):
        before = front[: plus.start()]
        if before[-1:].isalnum():
            return None
        values = frozenset() if _has_operand(front, plus) else positive
        return _SignedValues(values, len(plus[0]))
    if dash := _DASH.search(front):
        return _read_dash(value, front, dash, has_lines)
    return _SignedValues(positive, 0)


def _read_dash(
    value: Fraction, front: str, dash: re.Match[str], has_lines: bool
) -> _SignedValues | None:
    """The result of `_read_sign` for a number after a dash, which may be a minus, punctuation or an operator."""
    before = front[: dash.start()]
    if before[-1:].isalnum() or before[-1:] in ("_", ")", "]"):
        return None
    negative = frozenset((-value,))
    either = frozenset((value, -value))
    is_long = dash[1] is None
    has_blank = bool(dash[1])
    if is_long:
        values = either
    elif not has_blank:
        values = negative
    elif _EQUALS.search(before):
        # On lines of their own, dashes are a list's bullets.
        values = either if has_lines else negative
    else:
        values = frozenset() if _OPERAND.search(before) else either
    return _SignedValues(values, len(dash[0]))


def _has_operand(front: str, sign: re.Match[str]) -> bool:
    """Whether a number or a symbol stands before the sign, as in "5 minus 3" and "x + 1"."""
    return bool(_OPERAND.search(front[: sign.start()]))


def _value(match: re.Match[str]) -> Fraction | None:
    """The value of a number's digits or words without its sign; None for a division by 0."""
    digits = match["digits"].replace(",", "")
    value = Fraction(_WORDS[digits]) if digits in _WORDS else Fraction(digits)
    groups = match.groupdict()  # Numbers in words have no "below" and no "whole".
    if below := groups.get("below"):
        if int(below) == 0:
            return None
        value /= int(below)
    if ones := groups.get("whole"):
        value += int(ones)
    if times := groups.get("times"):
        value *= _MULTIPLIERS[times]
    return value


_HUNDREDTHS = ("%", "¢")


def equal_options(number: Number, options: Mapping[str, Number]) -> list[str]:
    """Letters of the options that equal this number: those with its unit, or else those where one side has no unit."""
    equal = {letter: option for letter, option in options.items() if number.values & option.values}
    in_same_unit = [letter for letter, option in equal.items() if option.unit == number.unit]
    if in_same_unit:
        return in_same_unit
    if number.unit in _HUNDREDTHS:
        share_letters = _options_as_shares(number, options)
        if share_letters is not None:
            return share_letters
    if not number.unit and _may_be_a_share(number, options):
        return []  # 0.5 among 50% and 0.5%
    return [letter for letter, option in equal.items() if _do_units_agree(number, option)]


def _may_be_a_share(number: Number, options: Mapping[str, Number]) -> bool:
    """Whether a number without a unit equals an option in percent or cents as a share: 0.5 and 50%."""
    hundredfold = {100 * value for value in number.values if value}
    hundredths = [option for option in options.values() if option.unit in _HUNDREDTHS]
    return any(hundredfold & option.values for option in hundredths)


def _do_units_agree(number: Number, option: Number) -> bool:
    """Whether units that differ may mean the same: one is left out, or says degrees without their kind."""
    if not option.unit or not number.unit:
        return True
    are_degrees = number.unit.startswith("°") and option.unit.startswith("°")
    return are_degrees and "°" in (option.unit, number.unit)


def _options_as_shares(number: Number, options: Mapping[str, Number]) -> list[str] | None:
    """Letters of the options that equal a number in percent or cents as a share; None if no option is a share.

    If an option is below 1, "5%" does not mean 5, and "0.5%" does not mean 0.5.
    """
    whole_unit = "" if number.unit == "%" else "$"
    candidates = {
        letter: option for letter, option in options.items() if option.unit in ("", whole_unit)
    }
    is_money = whole_unit and any(option.unit == whole_unit for option in candidates.values())
    values = [value for option in candidates.values() for value in option.values]
    has_share = any(0 < abs(value) < 1 for value in values)
    if not is_money and not has_share:
        return None
    shares = {value / 100 for value in number.values}
    equal_as_shares = [letter for letter, option in candidates.items() if shares & option.values]
    rivals = [
        letter
        for letter, option in candidates.items()
        if number.values & option.values and letter not in equal_as_shares
    ]
    if rivals and not is_money:
        return []  # 5% among 0.05 and 5
    return equal_as_shares
