"""Options that stand in the question's text, and the public toolkit's circular files, which have g_index."""

import pytest

from arena.io.tables import Record
from scoring.benchmarks import choice, mmbench
from scoring.multiple_choice.columns import has_options
from scoring.multiple_choice.option_texts import (
    do_name_letters,
    listed_options,
    options_in_text,
)
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import LETTERS, PASS
from tests.support.choice_reports import choice_report

TEXTS = ("left", "right", "front", "back")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Where?\nA. left\nB. right", "left|right"),
        ("Where?\n(A) left\n\n(B) right\nAnswer with the letter.", "left|right"),
        ("Where?\nOptions: A: left, B: right, C: front", "left|right|front"),
        ("Where?\nOptions: (A) left (B) right\nAnswer with the letter.", "left|right"),
        ("Where? Choices: A. left; B. up to 3, or more; C. right", "left|up to 3, or more|right"),
        ("在哪里？\n选项：A. 左 B. 右", "左|右"),
        ("Plan A. then?\nA. left\nB. right", "left|right"),
        ("Where does plan A. lead, and plan B. too?", ""),
        ("Where?\nA. left\nC. right", ""),
        ("Where?\nA.\nB. right", ""),
        ("Where?\nA. left\nB. right\nC.\nD. back", ""),
        ("Options: see A. and B. below", ""),
        ("Is it a cat? Options: yes or no", ""),
        ("Options: A. left", ""),
        ("Options:", ""),
    ],
)
def test_options_are_read_out_of_a_text_only_where_their_labels_run_in_order(text, options):
    assert "|".join(options_in_text(text).values()) == options


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["cat", "dog"], False),
        (["both A and B", "neither"], True),
        (["a cat", "C"], True),
        (["AB CD", "x", "y", "z"], False),
        (["A, or E", "x", "y", "z"], False),
    ],
)
def test_options_that_name_two_letters_or_are_one_are_not_rotated(texts, names):
    assert do_name_letters(texts) == names


def test_a_list_of_options_loses_its_labels_only_if_every_text_has_its_own():
    labelled = [f"{letter}. text {letter}" for letter in LETTERS]
    assert listed_options(labelled) == [f"text {letter}" for letter in LETTERS]
    assert listed_options([*labelled, "one more"]) == [*labelled, "one more"]


def toolkit(base, letters, step=PASS, texts=TEXTS, columns=False):
    """Passes as the public toolkit's CIRCULAR writes them: the right one, "left", moves on with the options."""
    rows = []
    for number, letter in enumerate(letters):
        moved = texts[-number:] + texts[:-number]
        named = dict(zip(LETTERS, moved, strict=False))
        right = LETTERS[moved.index(texts[0])]
        index = base + number * step
        values = {
            "index": str(index), "question": f"Where?\nOptions: {', '.join(f'{k}: {v}' for k, v in named.items())}",
            "answer": right, "g_index": str(base), "prediction": right if letter == "right" else letter,
        }  # fmt: skip
        if letter is not None:
            rows.append({**values, **named} if columns else values)
    return rows


def tables(rows):
    read = read_choices(Record(place, values) for place, values in enumerate(rows, start=2))
    assert read.scorable, read.problems
    return mmbench.MMBENCH.tabulate(choice_report(choice.decide_rows(read.rows, "strict")))


@pytest.mark.parametrize("step", [PASS, 10 * PASS])
@pytest.mark.parametrize("columns", [True, False])
def test_the_toolkits_circular_files_give_circular_eval(step, columns):
    wrong = ["right", "right", "D", "right"]
    rows = [
        *toolkit(0, ["right"] * 4, step, columns=columns),
        *toolkit(1, wrong, step, columns=columns),
    ]
    (scores,) = tables(rows).splits
    assert scores.circular.line.mean == 50.0 and scores.vanilla.line.mean == 100.0
    first = Record(2, rows[0])
    assert mmbench.MMBENCH.fits(first) and has_options(first)


@pytest.mark.parametrize("columns", [True, False])
def test_a_question_of_eleven_options_has_a_tenth_pass_of_its_own(columns):
    texts = tuple(f"{number} cats" for number in range(11))
    (scores,) = tables(toolkit(3, ["right"] * 11, texts=texts, columns=columns)).splits
    assert scores.circular.line.mean == 100.0 and scores.circular.line.n == 1


def test_a_question_that_the_toolkit_does_not_rotate_is_whole_and_a_torn_one_is_not():
    fixed = ("A and B", "neither", "C", "back")
    whole = toolkit(0, ["right"] * 4, columns=True)
    alone = toolkit(1, ["right"], texts=fixed, columns=True)
    (scores,) = tables([*whole, *alone]).splits
    assert scores.circular.line.mean == 100.0 and scores.circular.line.n == 2
    torn = toolkit(2, ["right", "right", "right"], columns=True)
    found = tables([*whole, *torn])
    assert found.splits[0].circular is None
    assert "Question 2 lacks pass 3" in found.problems[-1].text


def test_an_index_that_is_no_pass_of_its_question_is_told():
    rows = toolkit(0, ["right"] * 2)
    rows[1]["index"] = "17"
    read = read_choices(Record(place, values) for place, values in enumerate(rows, start=2))
    assert "as 0, 1000000 and 2000000 are" in read.problems[0].text and not read.scorable


def test_passes_whose_right_answers_cannot_be_used_are_told_as_what_they_are():
    rows = toolkit(0, ["right"] * 4, columns=True)
    spoilt = [rows[0], *({**values, "answer": "?"} for values in rows[1:])]
    told = " ".join(problem.text for problem in tables(spoilt).problems)
    assert "None of the 3 rotated passes has a usable right answer" in told
    assert "no rotated passes" not in told
    half = [*rows[:3], {**rows[3], "answer": "?"}]
    told = " ".join(problem.text for problem in tables(half).problems)
    assert "has no usable right answer in pass 3" in told and "lacks" not in told
