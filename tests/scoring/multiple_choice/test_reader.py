"""Files of many options and of predictions that hold no answer."""

from string import ascii_uppercase

import pytest

from arena.io.tables import Record
from scoring.benchmarks.base import OpenedFile
from scoring.benchmarks.choice_blind import submitted_answers
from scoring.benchmarks.mmbench import MMBENCH
from scoring.multiple_choice.circular_eval import PASS, circles, rotation_problems
from scoring.multiple_choice.columns import has_options
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.reader import read_choices, read_questions
from scoring.multiple_choice.types import Decided


def record(number, options, prediction, answer="A", index=1):
    cells = dict(zip(ascii_uppercase, options, strict=False))
    values = {"index": str(index), "question": "What?", **cells}
    return Record(number, {**values, "answer": answer, "prediction": prediction})


@pytest.mark.parametrize("many", [10, 12, 26])
def test_columns_up_to_z_are_options(many):
    options = [f"thing {number}" for number in range(many)]
    last = ascii_uppercase[many - 1]
    read = read_choices([record(2, options, last, last)])
    (row,) = read.rows
    assert (list(row.question.options), read.problems) == (list(ascii_uppercase[:many]), ())
    assert row.question.answer == extract(row.prediction, row.question.options).letter == last


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("['dog', 'cat'", "options has \"['dog', 'cat'\" instead of a list of options"),
        ({"x": "dog"}, """options has '{"x": "dog"}' instead of a list of options"""),
        (
            str([f"o{number}" for number in range(27)]),
            "options has 27 options, and 26 is the most",
        ),
    ],
)
def test_a_list_of_options_that_cannot_be_read_is_shown(cell, told):
    values = {"index": "1", "question": "What?", "options": cell, "answer": "A", "prediction": "A"}
    problems = read_choices([Record(2, values)]).problems
    assert any(one.row == 2 and one.text.startswith(told) for one in problems)


def test_a_late_column_alone_is_no_option():
    columns = {"A": "cat", "B": "dog", "X": "12", "Y": "7"}
    values = {"index": "1", "question": "What?", "answer": "A", "prediction": "A", **columns}
    (row,) = read_choices([Record(2, values)]).rows
    assert list(row.question.options) == ["A", "B"]
    assert not has_options(Record(2, {"X": "1", "Y": "2", "prediction": "cat"}))


@pytest.mark.parametrize("names", [("A ", " B"), ("G-Index",), ("g index",), (" Choices ",)])
def test_columns_of_options_have_one_spelling(names):
    cells = dict.fromkeys(names, '["cat", "dog"]')
    assert has_options(Record(2, {"prediction": "cat", **cells}))


def test_options_are_read_from_columns_with_blanks():
    columns = {" A": "cat", "B ": "dog", " C": "nan"}
    values = {"index": "1", " question": "What?", " answer": "B", "prediction": "B", **columns}
    read = read_choices([Record(2, values)])
    (row,) = read.rows
    assert (row.question.options, row.question.answer) == ({"A": "cat", "B": "dog"}, "B")
    assert [problem.text[:14] for problem in read.problems] == ["1 option cells"]


def test_ten_options_make_a_circle_of_ten_passes():
    options = [f"thing {number}" for number in range(10)]
    rows = []
    for turn in range(10):
        moved = options[turn:] + options[:turn]
        letter = ascii_uppercase[(10 - turn) % 10]
        rows.append(record(turn + 2, moved, letter, letter, 1 + turn * PASS))
    read = read_choices(rows)
    assert (read.problems, rotation_problems(row.question for row in read.rows)) == ((), ())
    decided = [
        Decided(row.question, row.prediction, extract(row.prediction, row.question.options))
        for row in read.rows
    ]
    (circle,) = circles(decided)
    assert (circle.outcome, len(circle.passes)) == ("right", 10)
    (shorter,) = circles(decided[:9])
    assert (shorter.outcome, shorter.missing) == ("incomplete", (9,))
    first = next(submitted_answers(decided))
    assert [*first.cells][2:12] == list(ascii_uppercase[:10])


def test_a_question_that_the_file_does_not_have_is_named_with_its_row():
    questions, _ = read_questions([record(2, ["cat", "dog"], "A")])
    rows = [Record(4, {"question": "What?", "prediction": "A"})]
    rows += [Record(5, {"question": "Who?", "prediction": "A"})]
    (problem,) = read_choices(rows, questions).problems
    assert (
        problem.row,
        "0 questions have this text, and one is needed. Add a column index" in problem.text,
    ) == (5, True)


def test_a_pass_with_other_options_is_named_with_its_row():
    rows = [record(2, ["cat", "dog"], "A"), record(5, ["cat", "cow"], "A", index=1 + PASS)]
    (problem,) = rotation_problems(row.question for row in read_choices(rows).rows)
    assert (problem.row, problem.blocks) == (5, "circular")
    assert "aren't the base row's" in problem.text


def test_predictions_that_hold_no_answer_are_named_before_anything_is_paid():
    options = ["dog", "Error: 429"]
    said = [
        "A",
        "Error: 429 Too Many Requests",
        "Request timed out.",
        "",
        "<think>hm",
        "Error: 429",
    ]
    rows = [record(number, options, text, "A", number) for number, text in enumerate(said, 2)]
    told = OpenedFile(MMBENCH, read_choices(rows), "a.csv").lines[-3:]
    assert [text.partition(". ")[0] for text in told] == [
        "2 of the 6 answers aren't from the model (a server error)",
        "1 of the 6 answers isn't from the model (empty)",
        "1 of the 6 answers isn't from the model (reasoning without an end)",
    ]
