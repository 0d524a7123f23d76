"""The tables of a multiple-choice report: letters and steps, as they are downloaded."""

import csv
import io

from scoring.multiple_choice.metrics import ChoiceTables, letter_counts, success
from scoring.multiple_choice.types import NONE, ChoiceQuestion, Clue, Decided, Decision, Rule

READ = {
    "A": Decision("A", (Clue(Rule.ALONE, "A", "A"),)),
    "B": Decision("B", (Clue(Rule.ALONE, "B", "B"),)),
    "cat": Decision("B", (Clue(Rule.EXACT, "B", "cat"),)),
    "I can't say": Decision(NONE, (Clue(Rule.REFUSAL, NONE, "I can't say"),)),
    "A or B": Decision(None, (Clue(Rule.CONFLICT, None, "A or B"),)),
}


def rows() -> list[Decided]:
    """Five answers; the last question has no right answer in its file."""
    options = {"A": "dog", "B": "cat"}
    right = ["A", "A", "B", "B", None]
    return [
        Decided(ChoiceQuestion(index, "What is it?", options, answer, "", "", ""), said, decision)
        for index, (answer, (said, decision)) in enumerate(zip(right, READ.items(), strict=True))
    ]


def table(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode())))


def tables() -> ChoiceTables:
    decided = rows()
    read = success(row.decision for row in decided)
    return ChoiceTables("strict", (), (), read, letter_counts(decided), 1, (), False)


def test_letters_are_counted_as_predicted_and_as_right():
    assert letter_counts(rows()) == (("A", 1, 2), ("B", 2, 2), (NONE, 1, 0))
    assert table(tables().letters_csv()) == [
        ["letter", "predicted", "right"],
        ["A", "1", "2"],
        ["B", "2", "2"],
        [NONE, "1", "0"],
    ]


def test_steps_are_counted_with_their_share():
    found = tables()
    assert (found.success.n, found.success.refused) == (5, 20.0)
    assert table(found.steps_csv()) == [
        ["step", "answers", "percent"],
        ["letter", "2", "40.0"],
        ["content", "1", "20.0"],
        ["none", "1", "20.0"],
        ["undecided", "1", "20.0"],
    ]
