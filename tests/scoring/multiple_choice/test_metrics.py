"""The tables of a multiple-choice report: letters and steps, as they are downloaded."""

from arena.sheets import as_csv
from scoring.benchmarks.choice_sheets import letter_sheet, steps_sheet
from scoring.multiple_choice.metrics import count_steps, letter_counts
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


def test_letters_are_counted_as_predicted_and_as_right():
    assert letter_counts(rows()) == (("A", 1, 2), ("B", 2, 2), (NONE, 1, 0))
    shares = letter_sheet(letter_counts(rows())).frame
    assert shares["predicted_share"].tolist() == [0.25, 0.5, 0.25]
    assert shares["right_share"].tolist() == [0.5, 0.5, 0.0]


def test_steps_are_counted_with_their_share():
    found = count_steps(row.decision for row in rows())
    assert (found.n, found.refused) == (5, 20.0)
    assert as_csv(steps_sheet(found)).splitlines() == [
        "step,answers,share",
        "letter,2,0.4",
        "content,1,0.2",
        "none,1,0.2",
        "undecided,1,0.2",
    ]
