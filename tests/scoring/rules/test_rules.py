"""What each kind reads in answers of its own kind: traps of the toolkits, and what `strict` never does."""

import json
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from scoring.rules.base import TOOLKITS, Item, Reading, RuleProtocol
from scoring.rules.edits import edit_distance
from scoring.rules.formula_values import formula_value
from scoring.rules.kinds import KINDS

ANIMALS = {"A": "dog", "B": "cat", "C": "bird", "D": "fish"}
ALPHABET = {letter: f"thing {letter.lower()}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def read(kind, answer, truth, protocol="strict", there=ANIMALS, cells=None, /, **parameters):
    """The reading of an answer by a kind; the parameter `as_` is written `as`."""
    written = {name.removesuffix("_"): value for name, value in parameters.items()}
    rule = KINDS[kind].model_validate({"kind": kind, **written})
    item = Item("1", "What is it?", truth, there if kind == "letter" else {}, cells or {})
    return rule.reading(item, answer, protocol)


STRICT = [
    ("yes_no", {}, "Yes, there is one.", "yes", 1.0),
    ("yes_no", {}, "**No**", "Yes", 0.0),
    ("yes_no", {}, "_Yes_, there is one", "Yes", 1.0),
    ("yes_no", {}, "yes_no", "Yes", None),
    ("yes_no", {}, "<think>no</think>Yes", "Yes", 1.0),
    ("yes_no", {}, "Yes. Wait, no.", "Yes", None),
    ("yes_no", {}, "Nothing is there", "No", None),
    ("yes_no", {}, "Error code: 500", "No", None),
    ("number", {}, "The answer is 7.", "7", 1.0),
    ("number", {}, "7.0", "7", 1.0),
    ("number", {}, "seven", "7", 1.0),
    ("number", {}, "7.4", "7", 0.0),
    ("number", {}, "2.46", "2.5", 1.0),
    ("number", {}, "2.45", "2.5", 1.0),
    ("number", {}, "-2.45", "-2.5", 1.0),
    ("number", {}, "2.44", "2.5", 0.0),
    ("number", {}, "$1,250", "1250", 1.0),
    ("number", {}, "−3", "-3", 1.0),
    ("number", {}, "3/4", "0.75", 1.0),
    ("number", {}, "0.52", "0,5", 1.0),
    ("number", {}, "3.52", "３．５", 1.0),
    ("number", {}, "0.56", "0,5", 0.0),
    ("number", {}, "1.2 × 10^3", "1200", 1.0),
    ("number", {}, "0.0015", "1.5e-3", 1.0),
    ("number", {}, "0.04", "1.5e-3", 0.0),
    ("number", {}, "0", "2.5 × 10^-3", 0.0),
    ("number", {}, "1499.96", "1.5e3", 1.0),
    ("number", {}, "5%", "0.05", 1.0),
    ("number", {}, "5%", "5", None),
    ("number", {}, "5%", "5%", 1.0),
    ("number", {}, "0.05", "5%", 1.0),
    ("number", {}, "7 or 8", "7", None),
    ("number", {}, r"\boxed{7} or \boxed{8}", "8", None),
    ("number", {}, r"<answer>\boxed{7}</answer>", "7", 1.0),
    ("number", {}, "The answer is 5. The answer is 7.", "7", None),
    ("number", {"as_": "integer"}, "2.46", "2", 0.0),
    ("number", {"as_": "formula"}, "2√3", r"2\sqrt{3}", 1.0),
    ("number", {"as_": "formula"}, r"\sqrt{12}", r"2\sqrt{3}", 1.0),
    ("number", {"as_": "formula"}, "x = 9π.", r"9\pi", 1.0),
    ("number", {"as_": "formula"}, r"The answer is $\frac72$.", "3.5", 1.0),
    ("number", {"as_": "formula"}, r"1\frac{1}{2}", "1.5", 1.0),
    ("number", {"as_": "formula"}, "1½", "1.5", 1.0),
    ("number", {"as_": "formula"}, "½", "0.5", 1.0),
    ("number", {"as_": "formula"}, r"-1\frac12", "-1.5", 1.0),
    ("number", {"as_": "formula"}, "1,000½", "1000.5", 1.0),
    ("number", {"as_": "formula"}, "30°", "30", 1.0),
    ("number", {"as_": "formula"}, "31", "30", 0.0),
    ("number", {"as_": "formula"}, "abc", "ABC", 1.0),
    ("number", {"as_": "formula"}, "CBA", "ABC", None),
    ("number", {"as_": "formula"}, "2^3^2", "64", None),
    ("number", {"as_": "formula"}, "2√{2}½", r"\sqrt{2}", 1.0),
    ("number", {"as_": "formula"}, "√2½", r"\sqrt{2.5}", None),
    ("number", {"as_": "formula"}, r"\sqrt2\frac12", r"\sqrt{2.5}", None),
    ("number", {"as_": "formula"}, r"2^3\frac12", "2^3.5", None),
    ("number", {"as_": "formula"}, r"2^{3\frac12}", "2^3.5", 1.0),
    ("relaxed", {}, "**44**", "42", 1.0),
    ("relaxed", {}, "Answer: 45", "42", 0.0),
    ("relaxed", {}, "1.05", "1", 1.0),
    ("relaxed", {}, "1.0501", "1", 0.0),
    ("relaxed", {}, "inf", "Inf", 1.0),
    ("relaxed", {}, "42", "[]", None),
    ("anls", {}, "The answer is North Quay", "North Quay", 1.0),
    ("anls", {}, "", "North Quay", None),
    ("anls", {}, "North Quay", "[]", None),
    ("anls", {}, "North Quay" * 2_001, "North Quay" * 2_001, None),
    ("text", {}, "Red.", "red", 1.0),
    ("text", {}, "dark red", "red", 0.0),
    ("text", {}, "red", "[]", None),
    ("text", {}, ".5", "5", 0.0),
    ("text", {}, r"\boxed{red} or \boxed{blue}", "blue", None),
    ("text", {}, "Answer: .5\nAnswer: 5", "5", None),
    ("text", {}, "Answer: 5.\nAnswer: **5**", "5", 1.0),
    ("text", {}, "rouge", "['red', 'Rouge']", 1.0),
    ("text", {"fold": "vqa"}, "the two", "2", 1.0),
    ("text", {"fold": "none"}, "Red", "red", 0.0),
    ("text", {"compare": "contains"}, "It reads Harbour.", "harbour", 1.0),
    ("text", {"compare": "contains"}, "It was in 2014", "4", 0.0),
    ("text", {"compare": "contains"}, "44 and 4", "4", 1.0),
    ("text", {"compare": "contains"}, "答案是中国", "中国", 1.0),
    ("text", {"compare": "contains"}, "việt", "vi", 0.0),
    ("text", {"compare": "contains"}, "chào việt nam", "việt", 1.0),
    ("text", {"compare": "contains"}, "२०१४", "४", 0.0),
    ("text", {"compare": "contains"}, "साल ४ है", "४", 1.0),
    ("text", {"compare": "contains"}, "किताब", "क", 0.0),
    ("text", {"compare": "contains"}, "თბილისი", "ისი", 0.0),
    ("text", {"compare": "contains"}, "ᾠδεῖον", "ον", 0.0),
    ("text", {"compare": "contains"}, "２０１４", "４", 0.0),
    ("text", {"compare": "contains"}, "هذا كتابٌ", "كتاب", 1.0),
    ("text", {"compare": "contains"}, "Это кино\u0301", "кино", 1.0),
    ("text", {"compare": "contains"}, "Это кино\u0301шка", "кино", 0.0),
    ("text", {"compare": "contains"}, "الكتابة", "الكتاب", 0.0),
    ("text", {"compare": "contains"}, "答えは東京です", "東京", 1.0),
    ("text", {"compare": "contains"}, "서울입니다", "서울", 1.0),
    ("text", {"compare": "contains"}, "ประเทศไทยครับ", "ไทย", 1.0),
    ("text", {"compare": "contains"}, "有4只", "4", 1.0),
    ("text", {"compare": "contains", "fold": "spaces"}, "x ^ 2", "x^2", 1.0),
    ("text", {"compare": "contains", "fold": "spaces"}, "x ^ 2", " ", 0.0),
    ("text", {"compare": "consensus"}, "dog", "['dog']", 1.0),
    ("text", {"compare": "consensus"}, "dog", "[]", None),
    ("text", {"as_": "list"}, "[2007,2008.0]", "[2007, 2008]", 1.0),
    ("text", {"as_": "list"}, "[2008, 2007]", "[2007, 2008]", 0.0),
    ("text", {"as_": "list"}, "[2007]", "[]", 0.0),
    ("text", {"as_": "list"}, "2007 and 2008", "[2007, 2008]", None),
    ("open", {}, "Left ventricle.", "left ventricle", 1.0),
    ("open", {}, "1,250", "['1250', 'x']", 1.0),
    ("open", {}, "24", "12", 0.0),
    ("open", {}, ".5", "5", 0.0),
    ("open", {}, "24", "left ventricle", None),
    ("open", {}, "24", "[]", None),
    ("open", {}, "The answer is $24$.", "24", 1.0),
    ("relaxed", {}, '{"answer": "42"}', "42", 1.0),
    ("relaxed", {}, '```json\n{"reasoning": "7 + 35", "answer": 42}\n```', "42", 1.0),
    ("relaxed", {}, '{"answer": null}', "42", None),
    ("relaxed", {}, '{"answer": "42"}\n{"answer": "7"}', "42", None),
    ("relaxed", {}, "最终答案是42。", "42", 1.0),
    ("relaxed", {}, "**Answer:**\n42", "42", 1.0),
    ("relaxed", {}, "From the bars:\n\n### Final answer\n\n42", "42", 1.0),
    ("relaxed", {}, r"\(42\)", "42", 1.0),
    ("relaxed", {}, "$$42$$", "42", 1.0),
    ("relaxed", {}, "1,200", "1200", 1.0),
    ("relaxed", {}, "$1,200.50", "1200.5", 1.0),
    ("relaxed", {}, "1,20", "120", 0.0),
    ("relaxed", {}, "Yes.", "Yes", 1.0),
    ("relaxed", {}, "The answer is $1,200.", "1200", 1.0),
    ("relaxed", {}, "14%", "14", 0.0),
    ("relaxed", {}, "−3.2", "-3.2", 1.0),
    ("relaxed", {}, "The answer is –3.3.", "-3.2", 1.0),
    ("relaxed", {}, "−3.2", "3.2", 0.0),
    ("relaxed", {}, "5€", "5", 1.0),
    ("relaxed", {}, "€ 5", "5 €", 1.0),
    ("relaxed", {}, "-$1,200", "-1200", 1.0),
    ("relaxed", {}, "$.50", "0.5", 1.0),
    ("relaxed", {}, "0,5", "0.5", 1.0),
    ("relaxed", {}, "１２％", "12%", 1.0),
    ("relaxed", {}, "$", "€", 0.0),
    ("relaxed", {}, "A²", "A2", 0.0),
    ("number", {}, '{"reasoning": "There are 7.", "answer": 5}', "5", 1.0),
    ("number", {}, "答案：5", "5", 1.0),
    ("number", {"as_": "formula"}, r'{"answer": "\frac{1}{2}"}', "1/2", 1.0),
    ("yes_no", {}, '{"reasoning": "no cat at first", "answer": "yes"}', "yes", 1.0),
    ("anls", {}, '{"answer": "North Quay"}', "North Quay", 1.0),
    ("text", {}, '{"answer": "red car"}', "red car", 1.0),
    ("text", {}, '{"colour": "red"}', '{"colour": "red"}', 1.0),
    ("text", {}, "答案：红色", "红色", 1.0),
    ("text", {}, '"red car"', "red car", 1.0),
    ("text", {}, '"stop"', '"stop"', 1.0),
    ("text", {}, r"\text{red car}", "red car", 1.0),
    ("text", {}, r"\text{red}", r"\text{red}", 1.0),
    ("text", {}, "$x^2$", "$x^2$", 1.0),
    ("text", {}, '{"result": 3}', '{"result": 3}', 1.0),
    ("anls", {}, "__init__", "__init__", 1.0),
    ("text", {}, "$X^2$", "$x^2$", 1.0),
    ("text", {}, "The answer is $x^2$.", "$x^2$", 1.0),
    ("text", {}, "x^2", "$x^2$", 1.0),
    ("text", {}, "x^3", "$x^2$", 0.0),
    ("text", {}, 'It says: "stop". So the answer is "stop"', '"Stop"', 1.0),
    ("text", {"compare": "contains"}, "It is init", "__init__", 1.0),
    ("text", {"compare": "contains"}, "no cat", "The answer is no", 0.0),
    ("text", {"compare": "consensus"}, "The answer is $x$", "['$x$', '$x$', '$x$', '$x$']", 1.0),
    ("anls", {}, r"So the answer is \boxed{\text{red car}}", r"\text{red car}", 1.0),
    ("relaxed", {}, "The answer is 42", "**42**", 1.0),
    ("open", {}, r"\(x\)", r"\(x\)", 1.0),
    ("open", {}, r"The answer is \(x\)", r"\(X\)", 1.0),
    ("open", {}, "24", "$24$", 1.0),
    ("text", {"as_": "list"}, '{"answer": [1, 2]}', "[1, 2]", 1.0),
    ("text", {"compare": "consensus"}, '{"answer": "dog"}', "['dog']", 1.0),
    ("letter", {}, "cat", "B", 1.0),
    ("letter", {}, "B", "cat", 1.0),
    ("letter", {}, "A or B", "B", None),
    ("letter", {"final_line": "RESULT =>"}, "A or B\nRESULT => B", "B", 1.0),
    ("letter", {"final_line": "RESULT =>"}, "RESULT => A\nOr is it another one?", "A", None),
]


@pytest.mark.parametrize(("kind", "parameters", "answer", "truth", "score"), STRICT)
def test_strict_scores_what_an_answer_says(kind, parameters, answer, truth, score):
    assert read(kind, answer, truth, **parameters).score == score


def test_a_question_without_options_needs_a_right_answer():
    rule = KINDS["letter"].model_validate({"kind": "letter", "open": "Others"})
    reasons = [
        rule.wrong_truth(Item("1", "How many?", truth, {}, {})) for truth in ("[7]", "7", "[]")
    ]
    assert reasons == ["", "", "is an empty list"]


TRAPS = [
    ("yes_no", {}, "yes/no", "Yes", "vlmevalkit", ""),
    ("yes_no", {}, "yes-no", "Yes", "vlmevalkit", ""),
    ("yes_no", {}, "no.", "No", "vlmevalkit", "No"),
    ("yes_no", {}, "no 5.", "No", "vlmevalkit", "No"),
    ("yes_no", {}, "Yes.", "Yes", "lmms-eval", ""),
    ("yes_no", {"read": "start"}, "Nobody", "No", "lmms-eval", "No"),
    ("yes_no", {"read": "start"}, "y.", "Yes", "lmms-eval", "Yes"),
    ("yes_no", {"read": "start"}, "I'd say yes", "Yes", "lmms-eval", ""),
    ("yes_no", {"read": "first"}, "Hmm, no; yes.", "Yes", "vlmevalkit", "No"),
    ("letter", {}, "the answer is because of it, as everybody who has ever seen it knows", "B", "vlmevalkit", "B"),
    ("letter", {}, "B it is, and that is all there is", "B", "vlmevalkit", ""),
    ("letter", {}, "B it is indeed", "B", "vlmevalkit", "B"),
    ("letter", {}, "b", "B", "vlmevalkit", ""),
    ("letter", {}, "Z", "B", "vlmevalkit", "Z"),
    ("letter", {}, "Failed to obtain answer via API: B", "B", "vlmevalkit", ""),
    ("letter", {}, "a category", "B", "vlmevalkit", "B"),
    ("letter", {}, "Is it the cat of all those things that are shown here?", "B", "vlmevalkit", ""),
    ("letter", {"final_line": "Answer:"}, "Answer: $B\nAnswer: $C", "C", "vlmevalkit", "C"),
    ("letter", {"final_line": "Answer:"}, "Answer: I think a cat", "B", "vlmevalkit", ""),
    ("letter", {}, "A (B) C", "C", "lmms-eval", "A"),
    ("letter", {"read": "initial"}, "It is B", "B", "lmms-eval", "I"),
    ("letter", {"read": "sign"}, " b) the dog", "B", "lmms-eval", "B"),
    ("letter", {"read": "sign"}, "(B)", "B", "lmms-eval", "("),
    ("letter", {"read": "mmvp"}, "a closer look: B", "B", "lmms-eval", "A"),
    ("letter", {"read": "mmmu"}, "(A) or (B)", "B", "lmms-eval", "B"),
    ("letter", {"read": "mmmu"}, "unclear", "B", "lmms-eval", ""),
    ("letter", {"read": "llava"}, "B) cat", "B", "lmms-eval", ""),
    ("letter", {"read": "standing"}, "a cat, so B", "B", "vlmevalkit", "A"),
    ("letter", {"read": "nearest"}, "cat", "B", "lmms-eval", "B"),
    ("number", {}, "7.0", "7", "vlmevalkit", ""),
    ("number", {}, "07", "7", "vlmevalkit", "7"),
    ("number", {}, "0", "0", "vlmevalkit", ""),
    ("number", {"as_": "float"}, "2.46", "2.5", "vlmevalkit", ""),
    ("number", {"as_": "integer"}, "7.9", "7", "lmms-eval", ""),
    ("number", {"as_": "float"}, "7.9", "8", "lmms-eval", "8"),
    ("number", {"as_": "float"}, "inf", "8", "lmms-eval", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "answer", "truth", "protocol", "said"), TRAPS)
def test_toolkits_read_what_they_read(kind, parameters, answer, truth, protocol, said):
    reading = read(kind, answer, truth, protocol, **parameters)
    assert (reading.read, reading.score) == (said, float(said.casefold() == truth.casefold()))


@pytest.mark.parametrize("number", range(26))
def test_letters_are_read_to_the_last_of_the_alphabet(number):
    letter = [*ALPHABET][number]
    for protocol in ("strict", "vlmevalkit", "lmms-eval", "mmbench-paper", "mmt-paper"):
        for answer in (f"({letter})", f"{letter}."):
            assert read("letter", answer, letter, protocol, ALPHABET).score == 1.0


def test_columns_of_a_kinds_own_are_read():
    cells = {"choices": "['12 cm', '15 cm']", "right": "B", "precision": 1.0}
    columns = {"truth": "right", "options": "choices"}
    for protocol in ("strict", "vlmevalkit"):
        assert read("letter", "15 cm", "15", protocol, {}, cells, **columns).score == 1.0
    for protocol in ("strict", "lmms-eval"):
        number = read(
            "number", "2.4499", "2.4", protocol, {}, cells, as_="float", places="precision"
        )
        assert number.score == 1.0
    listed = {"choices": ["12 cm", "15 cm"], "right": ["x", "y"]}
    assert read("letter", "B", "B", "strict", {}, listed, options="choices").score == 1.0
    assert read("text", "y", None, "strict", {}, listed, truth="right").score == 1.0


def test_a_question_without_options_is_a_choice_of_the_truth_and_other_words():
    words = {"open": "Other Answers"}
    for protocol in ("vlmevalkit", "mmt-paper"):
        assert read("letter", "x = 24", "24", protocol, {}, **words).read == "A"
        assert read("letter", "B", "24", protocol, {}, **words).score == 0.0
    for protocol in ("strict", "authors"):
        assert read("letter", "24", "24", protocol, {}, **words).score == 1.0
    assert read("letter", "B", "B", "strict", {}).why == "the question has no options"


READ_BY_RULE = [kind for kind in KINDS if kind not in ("rubric", "pairwise")]


@pytest.mark.parametrize("kind", READ_BY_RULE)
def test_without_a_truth_nothing_is_scored(kind):
    for protocol in KINDS[kind].model_validate({"kind": kind}).protocols():
        assert read(kind, "B", None, protocol).score is None
    assert read("letter", "B", None).read == "B"


def test_parameters_are_closed_and_written_as_they_are_read():
    for wrong in ({"as": "hex"}, {"place": "x"}, {"kind": "letter"}):
        with pytest.raises(ValidationError):
            KINDS["number"].model_validate({"kind": "number", **wrong})
    rule = KINDS["number"].model_validate({"kind": "number", "as": "formula"})
    assert rule.model_dump(exclude_unset=True) == {"kind": "number", "as": "formula"}


def test_a_fraction_without_braces_has_no_value_in_vlmevalkit():
    assert formula_value(r"\frac{3}{4}", as_kit=True) == 0.75
    assert formula_value(r"\frac12{3}{4}", as_kit=True) is None


RULES = [
    *({"kind": kind} for kind in READ_BY_RULE),
    *({"kind": "letter", "read": read} for read in ("initial", "standing", "mmvp", "mmmu", "llava", "nearest", "sign")),
    {"kind": "letter", "open": "Other Answers", "final_line": "Answer:"},
    *({"kind": "yes_no", "read": read} for read in ("start", "first")),
    *({"kind": "number", "as": form} for form in ("integer", "float", "formula")),
    *({"kind": "text", "compare": compare} for compare in ("contains", "consensus")),
    *({"kind": "text", "fold": fold} for fold in ("spaces", "vqa", "none")),
    {"kind": "text", "as": "list"},
]  # fmt: skip
WORDS = st.sampled_from(
    "yes no A B C (B) cat dog 7 7.5 8 -3 5% 1/2 \\frac{1}{2} \\boxed{7} \\sqrt{2} answer is the Answer: = , . or "
    "not \n [7,8] 1e9 ^ inf nan ½ π".split(" ")
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=10).map(" ".join))


@given(TEXTS, TEXTS, st.sampled_from(RULES), st.sampled_from(get_args(RuleProtocol)))
@example("9" * 5_000, "9" * 5_000, {"kind": "number"}, "vlmevalkit")
@example("9^9^9^9^9", "(" * 9_000, {"kind": "number", "as": "formula"}, "strict")
@example("1e-999", "1e999", {"kind": "number", "as": "float"}, "lmms-eval")
@example("", "", {"kind": "text", "compare": "consensus"}, "vlmevalkit")
@example("x", "[]", {"kind": "relaxed"}, "strict")
def test_no_text_is_an_error(answer, truth, written, protocol):
    rule = KINDS[written["kind"]].model_validate(written)
    if protocol not in rule.protocols():
        return
    item = Item("q", "What?", truth, ANIMALS, {"precision": truth})
    reading = rule.reading(item, answer, protocol)
    assert reading.score is None or 0 <= reading.score <= 1
    assert reading.score is not None or protocol not in TOOLKITS
    assert not (reading.is_open and reading.read)
    assert json.dumps(rule.model_dump())


BOTH = [
    ("yes_no", {}, "Yes", "No"),
    ("number", {}, "7", "8"),
    ("number", {"as_": "formula"}, "7", "2^3"),
    ("open", {}, "7", "8"),
    ("relaxed", {}, "7", "80"),
    ("anls", {}, "North Quay", "South Shore"),
    ("text", {}, "red", "blue"),
    ("letter", {}, "B", "C"),
]
JOINED = [
    "{0} or {1}",
    r"\boxed{{{0}}} or \boxed{{{1}}}",
    "The answer is {0}. Or the answer is {1}?",
]


@pytest.mark.parametrize(("kind", "parameters", "first", "second"), BOTH)
@pytest.mark.parametrize("joined", JOINED)
def test_strict_scores_no_answer_that_says_two_things(kind, parameters, first, second, joined):
    answer = joined.format(first, second)
    scores = [read(kind, answer, truth, **parameters).score for truth in (first, second)]
    assert 1.0 not in scores


@given(st.text("abAB 1", max_size=9), st.text("abAB 1", max_size=9))
def test_edits_are_the_fewest(first, second):
    assert edit_distance(first, second) == edit_distance(second, first) == fewest(first, second)


def fewest(first: str, second: str) -> int:
    """The edit distance by its definition."""
    row = [*range(len(second) + 1)]
    for place, sign in enumerate(first, 1):
        before, row[0] = row[0], place
        for column, other in enumerate(second, 1):
            cost = min(before + (sign != other), row[column] + 1, row[column - 1] + 1)
            before, row[column] = row[column], cost
    return row[-1]


def test_an_open_reading_has_no_text():
    assert read("yes_no", "maybe", "Yes") == Reading(
        None, "", "not exactly one of yes and no", True
    )
