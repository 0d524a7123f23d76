"""Base of the kinds of rule: a rule reads an answer to a question and gives its score, or None if it can't read it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from scoring.intervals import UNIT, Ends
from scoring.judges.spec import Ask, JudgeSpec, Reply, ShownImage
from scoring.multiple_choice.truths import TruthCell
from scoring.rules.short_answers import plain_reference, short_answer
from scoring.text_lists import listed_texts

RuleProtocol = Literal["strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"]
"""The origin of a rule: ours, a toolkit of August 2026, the authors of a benchmark, or a paper."""
TOOLKITS: frozenset[RuleProtocol] = frozenset(("vlmevalkit", "lmms-eval", "authors"))
"""The toolkits' protocols, and the authors' own: an unreadable answer is wrong. Under a paper's the kind decides."""
NO_TRUTHS = "is an empty list"
"""The end of a sentence on a cell of right answers that has none."""


@dataclass(frozen=True)
class Item:
    """A question with all that a rule may read of it."""

    id: str
    question: str
    truth: str | None
    """The cell as text; None without one."""
    options: Mapping[str, str]
    """Texts by letter; empty without options."""
    cells: Mapping[str, Any]
    """Every column of the row."""
    pictures: tuple[ShownImage, ...] = ()
    """Pictures for a judge."""
    letter: str | None = None
    """The letter of the right option, if the whole column of right answers shows it."""


@dataclass(frozen=True)
class Reading:
    """A rule's reading of an answer."""

    score: float | None
    """Between the rule's `ends`, which are 0 and 1 except for verdicts; None for an unreadable answer, or without a
    truth."""
    read: str
    """The text that was read, such as "B", "Yes" or "12.5"; "" if nothing was."""
    why: str
    """The rule that decided, in a few words."""
    is_open: bool = False
    """Whether a judge may read it."""
    marks: tuple[float, ...] = ()
    """The judge's grades, which specs call marks; of two answers, the baseline's comes first. () under rules without
    grades."""


@dataclass(frozen=True)
class Judged:
    """A judge's reading of an answer that a rule left open."""

    reading: Reading
    replies: tuple[str, ...]
    model: str
    """The judge's name, from the server."""


class RuleExample(NamedTuple):
    """A made-up question with its right answer and a model's."""

    question: str
    truth: str
    answer: str


class NamedColumn(NamedTuple):
    """A column that a rule's parameter names, with a made-up cell."""

    name: str
    holds: str
    """What its cells are, in words."""
    cell: str


class RuleKind(BaseModel, ABC):
    """A kind of rule with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    heading: ClassVar[str]
    """The kind in words, above a list of benchmarks."""
    is_compared: ClassVar[bool] = True
    """Whether an answer is compared with a right answer; a judge's grade needs none."""
    has_canaries: ClassVar[bool] = False
    """Whether a judge is tested with worthless answers among the others."""

    unread_as: ClassVar[str] = "wrong"
    """The toolkits' treatment of an unreadable answer, in words."""
    notes: ClassVar[Mapping[RuleProtocol, str]] = {}
    """Sentences on protocols that are particular to this kind."""

    truth: str | None = None
    """Column of the right answer, if it isn't the benchmark's own."""

    @abstractmethod
    def protocols(self) -> frozenset[RuleProtocol]:
        """The protocols that this rule has."""

    @property
    def measure(self) -> str:
        """The name of the mean of its scores."""
        return "accuracy"

    @property
    def example(self) -> RuleExample:
        """A made-up question that it can score."""
        return RuleExample("What animal is this?", "cat", "cat")

    @property
    def named_columns(self) -> Sequence[NamedColumn]:
        """The columns that its parameters name, with made-up cells."""
        truth = self.truth
        return [NamedColumn(truth, "The right answer", self.example.truth)] if truth else []

    @property
    def shows_pictures(self) -> bool:
        """Whether a judge sees the questions' pictures."""
        return False

    @property
    def ends(self) -> Ends:
        """The lowest and the highest score."""
        return UNIT

    @property
    def mark_ends(self) -> Ends | None:
        """The lowest and the highest of a judge's marks; None if answers get no marks."""
        return None

    @property
    def mark_count(self) -> int:
        """The number of a judge's marks of an answer."""
        return 0

    def can_yield(self, text: str) -> bool:
        """Whether a reading of this rule can have this text, such as "Yes", so that a figure may count it."""
        return self.is_compared

    @property
    def required(self) -> Sequence[str]:
        """The roles, such as `truth`, and columns that every file of answers must have."""
        return ("truth",)

    @property
    def prompt_columns(self) -> Sequence[str]:
        """Columns named in a prompt; a column that a file lacks is empty there."""
        return ()

    def reading(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """The reading of any text without a judge.

        An unreadable answer has no score under `strict`, and is wrong under the toolkits' protocols. Under a paper's
        protocol the kind decides. Without a truth no answer has a score.
        """
        return self._unscored_without_truth(item, self._read(item, answer, protocol))

    def _unscored_without_truth(self, item: Item, reading: Reading) -> Reading:
        """The reading, without its score if there is no truth."""
        if not self.is_compared or self.truth_of(item) is not None:
            return reading
        return replace(reading, score=None)

    @abstractmethod
    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """The reading of an answer; its score does not count without a truth."""

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        """Asks a judge about an answer that the rule leaves open; most kinds leave none.

        `turn` is the number, from 0, among the `turns` of this answer.
        """
        yield from ()  # nothing, but it makes this a generator
        return Judged(self.reading(item, answer, protocol), (), "")

    def turns(self, protocol: RuleProtocol) -> int:
        """The number of times that a judge is asked about an answer, each time with the answer at another place."""
        return 1

    def combine_turns(self, turns: Sequence[Judged]) -> Judged:
        """The combined reading of an answer's turns."""
        return turns[0]

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        """The fixed part of the judge's prompt for a question; "" if no judge is asked."""
        return ""

    def shown_options(self, item: Item) -> Mapping[str, str]:
        """The options that a model is shown, by letter."""
        return item.options

    def read_truth(self, item: Item, protocol: RuleProtocol) -> str:
        """The right answer in the words of this rule's readings, for figures that compare the two; "" without one."""
        return self.truth_of(item) or ""

    def truth_cell(self, item: Item) -> TruthCell | None:
        """The right answer as a cell of a column of letters, texts or places of options; None for other kinds."""
        return None

    def wrong_truth(self, item: Item) -> str:
        """Reason why `strict` can't score a question by its right answer, to end a sentence; "" if it can."""
        has_truths = not self.is_compared or accepted_answers(self.truth_of(item) or "")
        return "" if has_truths else NO_TRUTHS

    def submission_text(self, item: Item, answer: str, read: str) -> str:
        """The part of an answer to submit, without the words around it; `read` is the text that the rule read."""
        return short_answer(answer, ()).text

    @property
    def truth_reasons(self) -> frozenset[str]:
        """Reasons (`Reading.why`) why `strict` can't read an answer against this truth, but could against another."""
        return frozenset()

    def baseline_of(self, item: Item) -> str | None:
        """The answer that a judge compares the model's with; None for no comparison."""
        return None

    def truth_of(self, item: Item) -> str | None:
        """The right answer as text; None without one."""
        if self.truth is None:
            return item.truth
        return cell_of(item, self.truth)


def cell_of(item: Item, column: str) -> str | None:
    """A cell as text; None if it is missing or empty."""
    cell = item.cells.get(column)
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False)
    return None if cell is None or cell == "" else str(cell)


def accepted_answers(truth: str) -> tuple[str, ...]:
    """The right answers in a cell: the members of a list, or its text."""
    members = listed_texts(truth)
    return (truth,) if members is None else members


def compared_answers(truth: str) -> tuple[str, ...]:
    """The right answers in a cell as `strict` compares them: as they are written, and without their wrapping."""
    answers = accepted_answers(truth)
    return tuple(dict.fromkeys((*answers, *map(plain_reference, answers))))


def reading_without_truths() -> Reading:
    """The reading under `strict` where the right answers are an empty list."""
    return Reading(None, "", f"the right answer {NO_TRUTHS}")


def unread_reading(protocol: RuleProtocol, why: str, is_open: bool = False) -> Reading:
    """The reading of an unreadable answer: without a score under `strict`, and wrong under every other protocol."""
    return Reading(None if protocol == "strict" else 0.0, "", why, is_open)
