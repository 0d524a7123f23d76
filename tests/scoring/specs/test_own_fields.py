"""The fields of an own benchmark: guessed from a file's columns, and a spec or sentences in the fields' words."""

import random
from dataclasses import replace
from typing import Any

import pytest

from scoring.rules.rubric import RubricRule
from scoring.specs.own_fields import (
    JUDGE,
    NO_TRUTH_PROMPT,
    RULES,
    TRUTH_PROMPT,
    OwnFields,
    guess_fields,
    in_fields_words,
    spec_of_fields,
)
from scoring.specs.problems import SpecError
from scoring.specs.schema import read_spec

CLINIC = OwnFields(
    name="Refusals",
    rule=JUDGE,
    id="case",
    question="request",
    truth="expected",
    answer="reply",
    groups=("topic",),
    high=2.0,
)


def rows(*cells: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": str(number), **cell} for number, cell in enumerate(cells)]


ANSWERS = ["No, please ask.", "Yes, do."] * 3
LONG = "It should decline and name the nurse line"
GUESSES = [
    ({"question": "q", "answer": "A", "A": "a", "B": "b", "prediction": "B"}, "letter"),
    ({"question": "q", "answer": "B", "prediction": "I think (B)"}, "letter"),
    ({"question": "q", "answer": "red", "A": "lone", "prediction": "red"}, "equal"),
    ({"question": "q", "answer": "yes", "prediction": "Yes, it is"}, "yes or no"),
    ({"question": "q", "answer": 12, "prediction": "about 12"}, "number"),
    ({"question": "q", "answer": "red", "prediction": "red"}, "equal"),
    ({"question": "q", "answer": "red", "prediction": "It is red, as you can see."}, "contains"),
    ({"question": "q", "answer": LONG, "prediction": "No."}, JUDGE),
    ({"question": "q", "prediction": "No."}, JUDGE),
]


@pytest.mark.parametrize(("row", "rule"), GUESSES)
def test_a_rule_is_guessed_by_the_right_answers(row, rule):
    assert guess_fields("mine", rows(row, row)).rule == rule


def test_columns_are_guessed_by_a_word_in_their_names_if_no_other_has_one():
    named = {"nr": 1, "Patient asks": "q", "good answer": LONG, "VLM says": "a"}
    fields = guess_fields("mine", [named, named])
    roles = (fields.id, fields.question, fields.truth, fields.answer)
    assert roles == ("nr", "Patient asks", "good answer", "VLM says")
    fields = guess_fields("mine", [{**named, "nurse says": "b"}] * 2)
    assert (fields.question, fields.answer) == ("Patient asks", "")


def test_columns_are_guessed_by_what_files_call_them_and_groups_by_their_values():
    asked = [
        {"case": n, "request": f"q{n}", "topic": "ab"[n % 2], "expected": LONG, "reply": f"r{n}"}
        for n in range(6)
    ]
    fields = guess_fields("clinic_refusals", asked)
    assert [fields.id, fields.question] == ["case", "request"]
    assert [fields.truth, fields.answer] == ["expected", "reply"]
    assert [fields.name, fields.prompt] == ["clinic refusals", TRUTH_PROMPT]
    assert fields.groups == ("topic",)
    assert spec_of_fields(fields).columns.answer == "reply"


def test_answer_is_the_models_where_another_column_is_the_right_one():
    fields = guess_fields("x", rows({"question": "q", "answer": "said", "reference": "right"}))
    assert (fields.truth, fields.answer) == ("reference", "answer")


def test_answer_is_the_models_where_a_file_has_no_other():
    fields = guess_fields("x", rows(*[{"question": "q", "answer": "said"}] * 3))
    assert (fields.truth, fields.answer, fields.rule) == ("", "answer", JUDGE)
    fields = guess_fields("x", rows(*[{"question": "q", "answer": "right", "my model": "x"}] * 3))
    assert (fields.truth, fields.answer) == ("answer", "")


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_makes_a_spec_that_its_file_reads_back(rule):
    spec = spec_of_fields(replace(CLINIC, rule=rule))
    assert read_spec(spec.yaml.encode()).digest == spec.digest
    assert (spec.name, spec.groups, spec.columns.id) == ("Refusals", ("topic",), "case")


def test_a_judges_rule_has_the_prompt_and_the_grades():
    (case,) = spec_of_fields(replace(CLINIC, prompt="{answer}: how good?")).rule
    assert isinstance(case.rule, RubricRule)
    assert (case.rule.prompt, case.rule.grades) == ("{answer}: how good?", (0, 2))


def test_our_prompt_follows_whether_there_are_right_answers():
    without = replace(CLINIC, truth="", prompt=TRUTH_PROMPT)
    assert without.judge_prompt == NO_TRUTH_PROMPT
    assert replace(CLINIC, prompt=NO_TRUTH_PROMPT).judge_prompt == TRUTH_PROMPT
    assert replace(without, prompt="mine {answer}").judge_prompt == "mine {answer}"
    assert spec_of_fields(without).columns.truth is None


WRONG = [
    ({"name": " "}, ["Name: Give the benchmark a name"]),
    ({"answer": ""}, ["Model's answer: Choose the column with your model's answers"]),
    ({"rule": "letter", "truth": ""}, ["Right answer: Choose its column, or let"]),
    (
        {"question": "reply"},
        ["Model's answer: 'reply' is already the column of the question. Name another."],
    ),
    ({"low": 2.0}, ["Grades: Grades go from the lowest to the highest, and these are [2, 2]"]),
    ({"low": None}, ["Grades: Enter the lowest and the highest"]),
    ({"high": float("inf")}, ["Grades: "]),
    ({"prompt": "Grade it."}, ["Prompt: The prompt has no {answer}"]),
    ({"prompt": "mine.txt"}, ["Prompt: The file 'mine.txt' isn't beside the spec"]),
    ({"truth": "", "prompt": "{answer} {truth}"}, ["Prompt: It has {truth}, but no column"]),
    ({"groups": ("topic", "topic")}, ["Groups: 'topic' is there 2 times"]),
    ({"groups": ("reply",)}, ["Groups: 'reply' is the model's answer"]),
    ({"name": "", "answer": ""}, ["Name: ", "Model's answer: "]),
]


@pytest.mark.parametrize(("change", "told"), WRONG, ids=str)
def test_what_is_wrong_is_told_by_the_fields_names(change, told):
    with pytest.raises(SpecError) as error:
        spec_of_fields(replace(CLINIC, **change))
    problems = [str(problem) for problem in error.value.problems]
    assert len(problems) == len(told)
    for start in told:
        assert any(problem.startswith(start) for problem in problems), problems


def test_a_files_problems_name_fields_too():
    assert in_fields_words("columns.truth: The file has no 'x'").startswith("Right answer: The")
    assert in_fields_words("rule: The file has no column 'x'").startswith("Prompt: The file")
    assert in_fields_words("2 rows have the id 3") == "2 rows have the id 3"


ODD = [*("", " ", "x", "question", "{answer}", "a" * 300, "é\u2028", "\ud800", "../x.txt", "nan")]


def test_fields_that_anybody_sends_are_a_spec_or_sentences():
    luck = random.Random(7)
    made = 0
    for _ in range(500):
        fields = OwnFields(
            name=luck.choice(ODD),
            rule=luck.choice([*RULES, "no rule"]),
            id=luck.choice(ODD),
            question=luck.choice(ODD),
            truth=luck.choice(ODD),
            answer=luck.choice(ODD),
            groups=tuple(luck.choices(ODD, k=luck.randrange(4))),
            low=luck.choice([None, 0.0, 1e300, float("nan"), -5.0]),
            high=luck.choice([None, 10.0, float("inf"), 0.5]),
            prompt=luck.choice([*ODD, "{answer}" * 5_000]),
        )
        try:
            made += bool(spec_of_fields(fields).yaml.encode())
        except SpecError as error:
            assert error.problems and all(problem.text for problem in error.problems)
    assert made


@pytest.mark.parametrize("odd", ODD)
def test_any_file_fills_the_fields_in(odd):
    cells = [{odd: value, "reply": value} for value in (odd, None, 3, [odd], {"a": odd}, True)]
    assert guess_fields(odd, cells).name
    assert guess_fields(odd, []).rule == JUDGE
