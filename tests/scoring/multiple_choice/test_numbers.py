"""Numbers in one normal form, and where a dash, a unit or a calculation makes another number of them."""

from fractions import Fraction

import pytest

from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.numbers import (
    equal_options,
    normalized_text,
    numbers_in_digits,
    numbers_in_words,
    text_as_number,
)

WHOLE = {
    "−.5": (-0.5, ""), "minus 0.50": (-0.5, ""), "-1/2": (-0.5, ""), "½": (0.5, ""), "2½": (2.5, ""),
    r"\frac{1}{2}": (0.5, ""), "–3": (-3, ""), "- 3": (-3, ""), "＋３": (3, ""), "－３": (-3, ""), "x = −3": (-3, ""),
    "= − 3": (-3, ""), "负3": (-3, ""), "零下3度": (-3, "°"), "负三": (-3, ""), "negative five": (-5, ""),
    "3 below zero": (-3, ""), "twenty percent": (20, "%"), "twenty five": (25, ""), "1,000": (1000, ""),
    "10 000": (10000, ""), "5 million": (5_000_000, ""), "-$5": (-5, "$"), "$.50": (0.5, "$"), "5 euros": (5, "€"),
    ".25 kg": (0.25, "kg"), "5cm": (5, "cm"), "5 metres": (5, "m"), "5 m²": (5, "m^2"), "-10 °C": (-10, "°c"),
    "0,5": (0.5, ""), ",5": (0.5, ""), "half": (0.5, ""), "a quarter": (0.25, ""), "two thirds": (2 / 3, ""),
    "5 tenths": (0.5, ""), r"\frac12": (0.5, ""), "三十": (30, ""), "二十五": (25, ""), "一百万": (1_000_000, ""),
    "5 cents": (5, "¢"), "3 degrees below freezing": (-3, "°"), "a hundred": (100, ""),
    "about 30 %": (30, "%"), "3.0": (3, ""), "+3": (3, ""), "0.5s": (0.5, "s"), "12.5s": (12.5, "s"),
}  # fmt: skip
NONE = (
    "2³ 2^3 10,5 1.2.3 3:15 x-3 10-20 3/0 5th 1e5 3k <3 ±3 |3| 2+3 3×4 covid-19 1/2/2020 7:30pm 1990s √3 -a".split()
    + "² ③ #3 2**3 √(9) 3-ish 百分之50 3x5".split()
    + ["5 x 5", "January 1/2", "5 May", "3 squared", "5 and a half", "3 below", "before 1995", "$5-$6", "half of 3"]
    + ["less than 3", "5 - 3", "5 minus 3", "3 or more", "not 3", "3 × 10^5", "3以下", "第3题"]
)  # fmt: skip


def values(text):
    number = text_as_number(normalized_text(text).lower())
    return number and (sorted(map(float, number.values)), number.unit)


@pytest.mark.parametrize(("text", "number"), WHOLE.items())
def test_a_number_has_one_normal_form(text, number):
    value, unit = number
    assert values(text) == ([value], unit)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number_has_no_value(text):
    number = text_as_number(normalized_text(text).lower())
    assert number is None or not number.values
    assert all(
        not number.values
        for number in numbers_in_digits(normalized_text(text).lower())
        if "第" not in text
    )


def test_a_dash_that_may_be_a_mark_leaves_two_values():
    (number,) = numbers_in_digits("answer - 3")
    assert number.values == {Fraction(3), Fraction(-3)}
    (number,) = numbers_in_digits("the answer is - 3")
    assert number.values == {Fraction(-3)}
    assert [sorted(number.values) for number in numbers_in_digits("- 3 dogs\n- 4 cats")] == [
        [-3, 3],
        [-4, 4],
    ]


@pytest.mark.parametrize(
    ("lower", "value"), [("it shows one hundred", 100), ("it shows one of two hundred", 200)]
)
def test_one_hundred_is_a_number_wherever_it_stands(lower, value):
    (number,) = numbers_in_words(lower)
    assert number.values == {value}


@pytest.mark.parametrize(
    ("text", "letters"),
    [("30 degrees", []), ("30 °c", ["C"]), ("30 kg", ["B"]), ("30", ["A", "B", "C"])],
)
def test_degrees_without_a_kind_equal_degrees_and_nothing_else(text, letters):
    options = {"A": "30 km", "B": "30 kg"}
    if letters:
        options["C"] = "30 °"
    numbers = {letter: text_as_number(option) for letter, option in options.items()}
    assert equal_options(text_as_number(text), numbers) == letters


THREES = {"A": "-3", "B": "3", "C": "0", "D": "30"}
WEIGHTS = {"A": "5 kg", "B": "50 kg", "C": "0.5 kg", "D": "-5 kg"}
LENGTHS = {"A": "10 cm", "B": "20 cm", "C": "100 cm", "D": "1 m"}
TENTHS = {"A": "0.5", "B": "5", "C": "50", "D": "0.05"}
MONEY = {"A": "$5", "B": "$50", "C": "$0.50", "D": "$500"}
PARTS = {"A": "1/2", "B": "1/3", "C": "1/4", "D": "2"}
APPLES = {"A": "3 apples", "B": "4 apples", "C": "5 apples", "D": "6 apples"}
POWERS = {"A": "23", "B": "8", "C": "2", "D": "3"}
SHARES = {"A": "0.25", "B": "25", "C": "2.5", "D": "-25"}


@pytest.mark.parametrize(
    ("prediction", "options", "letter"),
    [
        ("−3", THREES, "A"),
        ("The temperature is – 3 degrees", THREES, "A"),
        (r"\boxed{−3}", THREES, "A"),
        ("(−3)", THREES, "A"),
        ("The answer is minus 3.", THREES, "A"),
        ("The answer is A (−3)", THREES, "A"),
        ("B) -3", THREES, None),
        ("The answer is B (−3).", THREES, None),
        ("Answer - 3", THREES, None),
        ("−3.5", THREES, None),
        ("-30", THREES, None),
        ("The answer is 3,000", THREES, None),
        ("The answer is 3²", THREES, None),
        ("The answer is 3 thousand", THREES, None),
        ("The answer is more than 3", THREES, None),
        ("0 - 3 = −3", THREES, None),
        ("It says 3/30", THREES, None),
        ("14", THREES, None),
        ("thirty", THREES, "D"),
        ("The answer is thirty-three.", THREES, None),
        (".5 kg", WEIGHTS, "C"),
        ("−5 kg", WEIGHTS, "D"),
        ("5 kilograms", WEIGHTS, "A"),
        ("5 g", WEIGHTS, None),
        ("100cm", LENGTHS, "C"),
        ("1 metre", LENGTHS, "D"),
        ("10 m", LENGTHS, None),
        ("10 cm²", LENGTHS, None),
        ("10-20 cm", LENGTHS, None),
        (".25", SHARES, "A"),
        ("1/4", SHARES, "A"),
        ("-.25", SHARES, None),
        ("25%", SHARES, None),
        ("50", {"A": "50%", "B": "50"}, "B"),
        ("50%", {"A": "50%", "B": "50"}, "A"),
        ("2³", {"A": "2^3", "B": "23"}, "A"),
        ("-7 °C", {"A": "−7°C", "B": "7°C"}, "A"),
        ("-3 dogs", {"A": "3 dogs", "B": "-3 dogs"}, "B"),
        ("y = −2x", {"A": "y=2x", "B": "y=-2x"}, "B"),
        ("5%", TENTHS, None),
        ("0.5%", TENTHS, None),
        ("5 cents", TENTHS, None),
        ("5 x 5", TENTHS, None),
        ("0,5", TENTHS, "A"),
        ("50%", PARTS, "A"),
        ("0%", {"A": "0", "B": "0.5", "C": "1"}, "A"),
        ("one third", PARTS, "B"),
        ("January 1/2", PARTS, None),
        ("50 cents", MONEY, "C"),
        ("€5", MONEY, None),
        ("5 dollars", MONEY, "A"),
        ("2**3", POWERS, None),
        ("²", POWERS, None),
        ("②", POWERS, None),
        ("four", APPLES, "B"),
        ("4", APPLES, "B"),
        ("4 pears", APPLES, None),
        ("at least 4 apples", APPLES, None),
        ("1 : 2", {"A": "1:2", "B": "2:1"}, "A"),
        ("7:30 pm", {"A": "7:30", "B": "19:30"}, None),
    ],
)
def test_an_option_is_named_by_its_number_alone(prediction, options, letter):
    decision = extract(prediction, options)
    assert decision.letter == letter, decision.trail
