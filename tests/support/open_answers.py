"""Multiple-choice reports with answers that rules leave open, and what a judge chose for them."""

from collections.abc import Mapping
from dataclasses import replace
from zlib import crc32

from scoring.benchmarks.choice_report import ChoiceReport, decide_rows
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import Clue, Decision, Rule
from scoring.report import JudgeStamp
from tests.support.circular_passes import records, row

JUDGE = "judge-of-letters"
OPEN = "It may be a cat, or a dog, but hardly a bird, number {}."
"""No rule reads it."""


def open_report(
    chosen: Mapping[int, str | None] | None = None,
    title: str = "Model of letters",
    answers: int = 12,
    judge: str = JUDGE,
    protocol: str = "strict",
) -> ChoiceReport:
    """A report of answers that rules leave open, and a last one that they read.

    `chosen`: the letter that the judge gave, by index, None where no reply was a letter; "B" for others; without it
    no judge was asked.
    """
    model = crc32(title.encode())  # another model says something else, and does not name itself
    texts = [OPEN.format(f"{index}-{model}") for index in range(answers)]
    rows = [row(index, text) for index, text in enumerate([*texts, "B"])]
    read = decide_rows(read_choices(records(rows)).rows, protocol)
    if chosen is not None:
        read = tuple(
            replace(one, decision=_judged(one.decision, chosen.get(one.question.index, "B")))
            if one.decision.is_open
            else one
            for one in read
        )
    return ChoiceReport(
        benchmark="mmbench",
        protocol=protocol,
        title=title,
        file=f"{title}.tsv",
        created="2026-11-01T00:00:00+00:00",
        judge=None if chosen is None else JudgeStamp(judge, (), "", "", ""),
        rows=read,
        problems=(),
    )


def _judged(decision: Decision, letter: str | None) -> Decision:
    reply = letter or "I cannot say."
    clue = Clue(Rule.JUDGE if letter else Rule.UNREAD, letter, reply)
    return Decision(letter, (*decision.trail, clue), (reply,), JUDGE)
