"""Report of multiple-choice answers: rows with letters, under any protocol, and the check of two reports to compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from arena.types import folded
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.truths import plain_option
from scoring.multiple_choice.types import (
    Answered,
    ChoiceQuestion,
    ChosenBy,
    Clue,
    Decided,
    Decision,
    Protocol,
    Rule,
)
from scoring.report import JudgeStamp, QuestionStamp


@dataclass(frozen=True)
class ChoiceReport:
    """A file of multiple-choice answers with the extracted letters."""

    benchmark: str
    protocol: Protocol
    title: str
    file: str
    created: str
    judge: JudgeStamp | None
    """The judge of answers that rules left open; None if there was none."""
    rows: tuple[Decided, ...]
    problems: tuple[Problem, ...]
    """Problems of the file, for its owner."""
    missing: tuple[ChoiceQuestion, ...] | None = None
    """Rows of the question file without an answer; None if no question file was given."""
    mode: str = ""
    """The mode of the questions, from the file; "" if it names none."""
    chosen_by: ChosenBy = "text"
    questions: QuestionStamp | None = None
    """The question file; None if the file has its questions itself."""

    @property
    def left(self) -> int:
        """Answers that the rules leave to a judge."""
        return sum(row.decision.is_open for row in self.rows)


def decide_rows(
    rows: Iterable[Answered], protocol: Protocol, chosen_by: ChosenBy = "text"
) -> tuple[Decided, ...]:
    """The rows with their letters; letters chosen by likelihood are the same under every protocol."""
    return tuple(
        Decided(row.question, row.prediction, _decision(row, protocol, chosen_by)) for row in rows
    )


def _decision(row: Answered, protocol: Protocol, chosen_by: ChosenBy) -> Decision:
    """The letter of a row. By likelihood, an empty cell is a tie, and text without an option is read under `strict`."""
    if chosen_by == "text":
        return extract(row.prediction, row.question.options, protocol)
    letter = row.prediction.strip()
    if not letter:
        return Decision(None, (Clue(Rule.TIED, None, ""),))
    if letter in row.question.options:
        return Decision(letter, (Clue(Rule.LIKELIEST, letter, letter),))
    return extract(row.prediction, row.question.options, "strict")


def under_protocol(report: ChoiceReport, protocol: Protocol) -> ChoiceReport:
    """The file under another protocol, by its rules alone."""
    rows = decide_rows(report.rows, protocol, report.chosen_by)
    return replace(report, protocol=protocol, judge=None, rows=rows)


class ComparisonError(ValueError):
    """Two reports that cannot be compared; the message says why."""


def check_pairs(first: Sequence[Decided], second: Sequence[Decided], worded_alike: bool) -> None:
    """Raises ComparisonError for files without a shared question, or with different questions under the same index.

    Questions without a right answer in one of the files aren't compared. `worded_alike` is False for languages and
    modes, which word a question differently.
    """
    questions = {row.question.index: row.question for row in first if row.question.answer}
    shared = [
        row.question for row in second if row.question.index in questions and row.question.answer
    ]
    if not shared:
        raise ComparisonError(
            "The files have no question with a right answer in common. Choose two files of one question set."
        )
    other_answers = [
        question.index for question in shared if question.answer != questions[question.index].answer
    ]
    _refuse(other_answers, "different right answers")
    if worded_alike:
        other_contents = [
            question.index
            for question in shared
            if _content(question) != _content(questions[question.index])
        ]
        _refuse(other_contents, "different questions")


def _refuse(indices: Sequence[int], words: str) -> None:
    """Raises ComparisonError if there are any indices; `words` say what the files have at them."""
    if indices:
        more = f" and {len(indices) - 1:,} more" if len(indices) > 1 else ""
        raise ComparisonError(
            f"The files have {words} at index {indices[0]}{more}. Choose two files of one question set."
        )


def _content(question: ChoiceQuestion) -> tuple[str, Sequence[str]]:
    """A question's text and options, without padding and without the options' order."""
    return folded(question.text), sorted(map(plain_option, question.options.values()))
