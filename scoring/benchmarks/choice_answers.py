"""Answers to multiple-choice questions as people read them, and those that are no answers of a model."""

from collections.abc import Iterable, Mapping, Sequence

from arena.types import grouped
from scoring.benchmarks.article import ScoredAnswer
from scoring.failures import ENDLESS, SERVER
from scoring.multiple_choice.metrics import share, undecided_is_wrong
from scoring.multiple_choice.types import NONE, PASS, Answered, Decided, Protocol, Rule
from scoring.no_answers import EMPTY, no_answer
from scoring.report import ScoreLine, remembered

RULE_FAILURES: Mapping[Rule, str] = {
    Rule.FAILED: SERVER,
    Rule.EMPTY: EMPTY,
    Rule.TORN: ENDLESS,
    Rule.TIED: Rule.TIED.value,
}
"""The failure that a rule has found."""


def no_answers(rows: Iterable[Answered]) -> Mapping[str, str]:
    """Why each answer is none of a model, by its index; "" for an answer, and for what an option says too."""
    return {
        str(row.question.index): no_answer(row.prediction, row.question.options.values())
        for row in rows
    }


@remembered
def failures(rows: Sequence[Decided], protocol: Protocol) -> Mapping[str, str]:
    """Why each answer is none of a model, by its index; "" for an answer.

    Under `strict` its rules say so, and under a paper's protocol it is what they would say.
    """
    by_rule = {str(row.question.index): RULE_FAILURES.get(row.decision.rule, "") for row in rows}
    if protocol == "strict":
        return by_rule
    ties = {index: reason for index, reason in by_rule.items() if reason == Rule.TIED}
    return {**no_answers(rows), **ties}


def failure_lines(rows: Sequence[Decided], protocol: Protocol) -> list[ScoreLine]:
    """How those that are no answers score, by the reason; the papers take what is undecided for wrong."""
    reasons = failures(rows, protocol)
    failed = grouped((reasons[str(row.question.index)], row) for row in rows)
    wrong = undecided_is_wrong(protocol)
    lines = []
    for reason, given in failed.items():
        if reason:
            rights = [False if row.right is None and wrong else row.right for row in given]
            lines.append(share(reason, rights, pictures=[row.question.picture for row in given]))
    return lines


def scored_answer(
    base: Decided, shown: Decided, right: bool | None, groups: tuple[str, ...]
) -> ScoredAnswer:
    """A question by its first row, with the answer of the row that is `shown`."""
    question = base.question
    letter = shown.decision.letter
    truth = base.question.answer
    options = "".join(f"\n{name}. {text}" for name, text in question.options.items())
    is_none = letter == NONE and NONE not in question.options
    read = "none of the options" if is_none else letter
    if letter is None:
        failed = shown.decision.step == "failed"
        read = "no answer of the model" if failed else "undecided"
    chosen = (
        f"{read}. {shown.question.options[letter]}"
        if letter and letter in shown.question.options
        else read
    )
    rotated = f" in pass {shown.question.index // PASS + 1}" if shown is not base else ""
    return ScoredAnswer(
        id=str(question.index % PASS),
        question=question.text + options,
        truth=f"{truth}. {question.options[truth]}" if truth else "",
        answer=shown.prediction,
        grade=f"read{rotated} as {chosen}",
        score=None if right is None else float(right),
        groups=groups,
        row=question.row,
        subtask=question.named_category,
        assigned=shown.decision.step == "fallback",
        picture=question.picture,
    )
