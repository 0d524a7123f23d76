"""Answers to multiple-choice questions as people read them, and the reasons why some are no answers of a model."""

from collections.abc import Iterable, Mapping, Sequence

from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer
from scoring.failures import ENDLESS, SERVER
from scoring.multiple_choice.metrics import undecided_is_wrong
from scoring.multiple_choice.types import NONE, PASS, Answered, Decided, Protocol, Rule
from scoring.no_answers import EMPTY, no_answer
from scoring.report import ScoreLine, remembered
from scoring.specs.figure_values import share_line

RULE_FAILURES: Mapping[Rule, str] = {
    Rule.FAILED: SERVER,
    Rule.EMPTY: EMPTY,
    Rule.TORN: ENDLESS,
    Rule.TIED: Rule.TIED.value,
}
"""The failure behind a rule's decision."""


def no_answers_by_text(rows: Iterable[Answered]) -> Mapping[str, str]:
    """The reasons that the texts alone give why predictions are no answers, by index; "" for an answer.

    An option's own text is an answer, even one that reads like a failure.
    """
    return {
        str(row.question.index): no_answer(row.prediction, row.question.options.values())
        for row in rows
    }


@remembered
def failures(rows: Sequence[Decided], protocol: Protocol) -> Mapping[str, str]:
    """The reasons that a protocol gives why predictions are no answers of a model, by index; "" for an answer.

    Under `strict` they come from the decisions, under a paper's protocol from the texts. A tie of likelihoods always
    comes from the decision: its text is empty, which would be another reason.
    """
    by_rule = {str(row.question.index): RULE_FAILURES.get(row.decision.rule, "") for row in rows}
    if protocol == "strict":
        return by_rule
    ties = {index: reason for index, reason in by_rule.items() if reason == Rule.TIED.value}
    return {**no_answers_by_text(rows), **ties}


def failure_lines(rows: Sequence[Decided], protocol: Protocol) -> list[ScoreLine]:
    """The scores of predictions that are no answers, by the reason; the papers count undecided ones as wrong."""
    reasons = failures(rows, protocol)
    failed = grouped((reasons[str(row.question.index)], row) for row in rows)
    is_undecided_wrong = undecided_is_wrong(protocol)
    lines = []
    for reason, failed_rows in failed.items():
        if reason:
            outcomes = [row.right for row in failed_rows]
            if is_undecided_wrong:
                outcomes = [bool(outcome) for outcome in outcomes]
            pictures = [row.question.picture for row in failed_rows]
            lines.append(share_line(reason, outcomes, pictures))
    return lines


def scored_answer(
    base: Decided, answered: Decided, right: bool | None, groups: tuple[str, ...]
) -> ScoredAnswer:
    """A question as in the row `base`, with the answer of the row `answered`: the same row, or another pass of it."""
    question = base.question
    letter = answered.decision.letter
    truth = question.answer
    options = "".join(f"\n{name}. {text}" for name, text in question.options.items())
    if letter is None:
        is_failed = answered.decision.step == "failed"
        read = "no answer of the model" if is_failed else "undecided"
    elif letter in answered.question.options:
        read = f"{letter}. {answered.question.options[letter]}"
    elif letter == NONE and NONE not in question.options:
        read = "none of the options"
    else:
        read = letter
    grade = f"read as {read}"
    if answered is not base:
        number = answered.question.index // PASS + 1
        grade = f"read as {read} in pass {number}"
    return ScoredAnswer(
        id=str(question.index % PASS),
        question=question.text + options,
        truth=f"{truth}. {question.options[truth]}" if truth else "",
        answer=answered.prediction,
        grade=grade,
        score=None if right is None else float(right),
        groups=groups,
        row=question.row,
        subtask=question.named_category,
        assigned=answered.decision.step == "fallback",
        picture=question.picture,
    )
