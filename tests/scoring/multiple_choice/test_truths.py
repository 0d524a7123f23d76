"""Right answers of a file: letters, texts and places, and what is refused since it can be meant in two ways."""

import pytest

from arena.io.tables import Record
from scoring.multiple_choice.reader import read_choices, read_questions
from scoring.multiple_choice.truths import TruthCell, read_truths

ANIMALS = {"A": "cat", "B": "dog", "C": "bird", "D": "cow"}
COUNTS = {"A": "2", "B": "3", "C": "4", "D": "5"}


def letters(*written, options=ANIMALS):
    found = read_truths([TruthCell(text, options) for text in written])
    return "".join(letter or "-" for letter in found.letters), found.ambiguous


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (("A", "b", "(C)", "D.", "[B]", "c)"), "ABCDBC"),
        (("B. dog", "(C) bird", "D: cow", "A) cat"), "BCDA"),
        (("cat", "Dog", "bird ", "cow"), "ABCD"),
        (("A", "dog", "C"), "ABC"),
        (("B. cat", "C", "horse", "E"), "-C--"),  # another option's text, none's, and no option
        (("0", "3", "1"), "ADB"),  # 0: counted from 0
        (("1", "4", "2"), "ADB"),  # 4 of 4: counted from 1
        (("1.0", "4.0"), "AD"),  # as pandas writes them
        (("0", "4"), "--"),  # neither way of counting fits
        (("1", "dog", "9"), "-B-"),
    ],
)
def test_truths_are_read_where_only_one_reading_fits_the_file(written, expected):
    assert letters(*written) == (expected, "")


def test_numbers_that_may_count_from_0_or_from_1_are_refused():
    found, why = letters("1", "2", "3")
    assert found == "---"
    assert "counted from 0 or counted from 1" in why and "Write the letters A, B, C" in why


def test_an_ambiguous_column_is_refused_with_all_its_numbers():
    _, why = letters(*["1"] * 300, "2", "3")
    assert "(1, 2, 3)" in why


def test_numbers_that_are_texts_of_options_are_read_if_no_place_fits():
    assert letters("5", "2", options=COUNTS) == ("DA", "")  # 5 is no place of four
    found, why = letters("2", "3", options=COUNTS)
    assert found == "--" and "the text of an option or counted from 0 or counted from 1" in why
    same = {"A": "1", "B": "2", "C": "3"}
    assert letters("1", "3", options=same) == ("AC", "")  # text and place from 1 agree


def test_a_letter_that_is_anothers_text_counts_in_a_column_of_letters_alone():
    swapped = {"A": "B", "B": "A", "C": "blue"}
    assert letters("A", "B", "C", options=swapped)[0] == "ABC"
    mixed = read_truths([TruthCell("A", swapped), TruthCell("blue", swapped)])
    assert mixed.letters == (None, "C") and mixed.doubtful == {0}


def test_a_letter_without_an_option_is_no_text_in_a_column_of_letters():
    cells = [TruthCell("B", ANIMALS), TruthCell("D", {"A": "C", "B": "D"})]
    assert read_truths(cells).letters == ("B", None)


def test_a_letter_that_is_an_options_text_counts_beside_a_cell_that_is_none():
    grades = {"A": "X", "B": "Y", "C": "Z"}
    assert letters("X", "unknown", "Z", options=grades)[0] == "A-C"


def row(index, answer, number=2, **more):
    values = {"index": str(index), "question": "Which?", "answer": answer, "prediction": "A"}
    return Record(number, {**values, **ANIMALS, **more})


def told(read):
    return " ".join(problem.text for problem in read.problems)


def test_a_file_of_ambiguous_numbers_is_not_scored_and_told_what_to_write():
    read = read_choices([row(0, "1"), row(1, "2")])
    assert not read.scorable and "Write the letters" in told(read)
    assert [one.question.answer for one in read_choices([row(0, "0"), row(1, "2")]).rows] == [
        "A",
        "C",
    ]


def test_what_counts_for_an_unread_truth_is_told_as_it_is():
    alone = read_choices([row(0, "horse"), row(1, "B")])
    assert "It isn't scored until you correct it" in told(alone)
    questions, problems = read_questions([row(0, "C"), row(1, "B")])
    assert not problems and questions[0].answer == "C"
    beside = read_choices([row(0, "horse"), row(1, "B")], questions)
    assert "C counts, as in the question file" in told(beside)
    assert "not scored" not in told(beside) and beside.rows[0].question.answer == "C"
    numbers = read_choices([row(0, "1"), row(1, "2")], questions)
    assert numbers.scorable, "the question file says what is right"
    other = read_choices([row(0, "bird"), row(1, "(A)", 7)], questions)
    (problem,) = [problem for problem in other.problems if "another answer" in problem.text]
    assert problem.text.startswith("Index 1 has other options") and problem.row == 7


@pytest.mark.parametrize(
    ("written", "notice"),
    [
        ("0 3", "The right answers are numbers, read as counted from 0."),
        ("1 4", "The right answers are numbers, read as counted from 1."),
        ("cat cow", "2 of 2 right answers are texts of options, read as their letters."),
        ("cat B", "1 of 2 right answers is the text of an option, read as its letter."),
        ("A B", None),
    ],
)
def test_how_truths_other_than_letters_are_read_is_told_once(written, notice):
    read = read_choices([row(at, cell) for at, cell in enumerate(written.split())])
    assert read.scorable
    told_ways = [one.text for one in read.problems if "right answers" in one.text]
    assert told_ways == ([notice] if notice else [])


@pytest.mark.parametrize(
    ("written", "found_row", "cell"),
    [("0 1 2 7", 5, "7"), ("1 2 4 5", 5, "5"), ("0 1 4", 4, "4"), ("40 50", 2, "40")],
)
def test_a_number_that_fits_no_way_of_counting_is_named_with_its_row(written, found_row, cell):
    rows = [row(at, text, at + 2) for at, text in enumerate(written.split())]
    read = read_choices(rows)
    (problem,) = [one for one in read.problems if one.blocks == "scoring"]
    assert problem.row == found_row
    assert problem.text.startswith(
        f"The answer '{cell}' isn't one of the 4 options, by place or text"
    )
    assert ("most of the column fits as counted from" in problem.text) == (cell != "40")
    questions, _ = read_questions([row(at, "A") for at, _ in enumerate(rows)])
    assert read_choices(rows, questions).scorable, "the question file says what is right"


@pytest.mark.parametrize(
    "cell",
    [
        {"A": "cat", "B": "dog", "C": "bird", "D": "cow"},
        '{"B": "dog", "A": "cat", "C": "bird", "D": "cow"}',
        "{'A': 'cat', 'B': 'dog', 'C': 'bird', 'D': 'cow'}",
        "['cat' 'dog' 'bird'\n 'cow']",
        ["cat", "dog", "bird", "cow"],
        '["cat", "dog", "bird", "cow"]',
        "['cat', 'dog', 'bird', 'cow']",
        "['A. cat', 'B. dog', 'C. bird', 'D. cow']",
    ],
)
@pytest.mark.parametrize("column", ["options", "choices", "Options"])
def test_options_in_one_list_column_are_read(column, cell):
    values = {"index": 0, "question": "Which?", column: cell, "answer": 0, "prediction": "A"}
    read = read_choices([Record(1, values)])
    assert dict(read.rows[0].question.options) == ANIMALS and read.rows[0].question.answer == "A"
    values = {**values, "answer": "dog"}
    assert read_choices([Record(1, values)]).rows[0].question.answer == "B"


def test_numbers_in_a_list_of_options_and_texts_with_signs():
    values = {"index": 0, "question": "?", "answer": "B", "prediction": "A"}
    read = read_choices([Record(1, {**values, "options": "[1, 2.5, -3]"})])
    assert [*read.rows[0].question.options.values()] == ["1", "2.5", "-3"]
    read = read_choices([Record(1, {**values, "options": "['it\\'s', \"a, b\", 'c']"})])
    assert [*read.rows[0].question.options.values()] == ["it's", "a, b", "c"]
    for unread in (
        "[cat, dog]",
        '{"A": "cat", "C": "dog"}',
        '{"x": "cat"}',
        "['cat' 'dog', 'cow']",
    ):
        assert not read_choices([Record(1, {**values, "options": unread})]).scorable
