"""Formulas: LaTeX becomes MathML of ours, money stays money, and nothing that runs, hides or covers comes through."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.formulas import ATTRIBUTES, MOST_FORMULA, TAGS, Formula, mathml
from arena.markdown import MOST_FORMULAS, answer_html
from tests.support.examples import examples
from tests.support.markup import read
from tests.support.timing import work_seconds


def formulas(text: str) -> list[str]:
    """Return the visible characters of each formula that an answer shows."""
    return [
        re.sub("<[^>]*>", "", found) for found in re.findall("<math.*?</math>", answer_html(text))
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("so $E=mc^2$.", ["E=mc2"]),
        ("$x$ and $y$", ["x", "y"]),
        (r"a \(x_1\), b \[y\] c", ["x1", "y"]),
        ("$$x = 1$$", ["x=1"]),
        ("$$\nx = 1\n- 2\n===\n$$", ["x=1−2==="]),
        ("- a\n\n  $$\n  x\n  $$\n\n> \\[y\\]", ["x", "y"]),
        ("|a|\n|-|\n|$x$|", ["x"]),
        (r"$\begin{aligned}a&=b\\c&=d\end{aligned}$", ["a=bc=d"]),
        (r"$\frac{1}{2}$ cup for $\text{<b>}$", ["12", "&lt;b&gt;"]),
    ],
)
def test_a_formula_is_shown_as_one(text, shown):
    assert formulas(text) == shown
    assert read(answer_html(text)).wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $6",
        "$5 and $ 6",
        "from $5-$10 to US$5",
        "**$5** or ($6)",
        "$ x $",
        "a$x$",
        "$x$y",
        "$HOME/$USER",
        "`$x$`",
        "$x\ny$",
    ]
    + [
        "```\n$$x$$\n```",
        "$$",
        "$$ $$",
        "$x",
        "\\\\(x\\\\)",
        "$$\n\nx$$",
        "\\$5 and 6\\$",
        "pay $100/$200 a month",
    ],
)
def test_money_code_and_loose_marks_stay_text(text):
    assert formulas(text) == []


@pytest.mark.parametrize(
    "latex", [r"\unknown{x}", r"\frac", "{", "x^", r"\left(", "a & b", r"\phantom{x}"]
)
def test_what_cannot_be_converted_stays_as_it_was_written(latex):
    assert f"${latex}$" in "".join(read(answer_html(f"a ${latex}$ b")).text)


@pytest.mark.parametrize(
    "latex",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\color{white}x",
        r"\style{position:fixed}{x}",
        r"\class{dock}{x}",
    ]
    + [
        r"\hspace{1000cm}x",
        r"\rule{100cm}{100cm}x",
        r"\hspace{-9em}x",
        r"\text{</math><script>alert(1)</script>}x",
    ],
)
def test_nothing_runs_hides_or_covers(latex):
    shown = answer_html(f"${latex}$")
    assert not re.search("href|white|style=|position|dock|1000|100cm|-9em|<script", shown)
    assert read(shown).wrong == []


PIECES = [
    *"{}^_&\\$ax1 (",
    r"\frac",
    r"\sqrt",
    r"\left",
    r"\text{",
    r"\begin{",
    "matrix}",
    r"\color{",
    r"\hspace{",
]
LATEX = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(max_examples=examples(150), deadline=None)
@given(LATEX)
def test_only_known_elements_and_attributes_come_of_anything(latex):
    made = mathml(Formula(latex, False, 0)) or ""
    assert set(re.findall(r"<(\w+)", made)) <= TAGS
    assert {
        name for tag in re.findall("<[^>]*>", made) for name in re.findall(r' (\w+)="', tag)
    } <= ATTRIBUTES.keys()
    assert answer_html(f"a ${latex}$ b") == answer_html(f"a ${latex}$ b")


def test_a_stranger_cannot_name_a_formulas_place():
    text = "formula0123456789abcdefn0e and $x$"
    assert "formula0123456789abcdefn0e and " in answer_html(text)
    assert formulas(text) == ["x"]


def test_formulas_are_bounded_in_length_and_number():
    assert formulas("$" + "x" * (MOST_FORMULA - 2) + "$") and not formulas(
        "$" + "x" * MOST_FORMULA + "$"
    )
    assert len(formulas("$x$ " * 300)) == MOST_FORMULAS


@pytest.mark.soak
def test_formulas_take_no_long():
    for bomb in (
        "$x$ " * 5_000,
        "$" * 20_000,
        "\\(" * 10_000,
        "\\[\n" * 6_600,
        "$$\n" * 6_600,
        "$" + r"\$" * 9_000,
    ):
        assert work_seconds(lambda bomb=bomb: answer_html(bomb)) < 1
    assert work_seconds(lambda: answer_html(("$" + "x " * 490 + "x$ ") * 20)) < 2


@pytest.mark.parametrize(
    "latex",
    [
        r"\def\z#1{{#1}{#1}}\z{\z{\z{x}}}",
        r"\newcommand{\za}{xx}\za",
        r"\newenvironment{z}{x}{x}\begin{z}\end{z}",
        r"\DeclareMathOperator{\za}{zz}\za",
        r"\frac{1",
        r"x}",
    ],
)
def test_a_formula_that_defines_commands_or_does_not_close_its_braces_stays_text(latex):
    assert mathml(Formula(latex, False, 0)) is None


def test_braces_that_are_shown_group_nothing():
    assert mathml(Formula(r"\{x\}", False, 0))


def test_braces_behind_a_line_break_group():
    assert mathml(Formula(r"\begin{matrix}1\\{2}\end{matrix}", False, 0))
    assert mathml(Formula(r"a\\{b", False, 0)) is None


@pytest.mark.parametrize(("latex", "shown"), [(r"A \& B", "&amp;"), (r"A \backslash B", "\\")])
def test_a_printed_ampersand_or_backslash_is_no_command(latex, shown):
    assert f"<mi>{shown}</mi>" in (mathml(Formula(latex, False, 0)) or "")


def test_invisible_signs_do_not_come_back_through_a_formula():
    html = str(answer_html("$\\text{a&#x3164;b" + "&#x301;" * 30 + "}$"))
    assert "\u3164" not in html and html.count("\u0301") < 10
