"""What a kind of rule is: it reads one answer to one question, and says the score, or that it can't read it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from scoring.intervals import UNIT, Ends
from scoring.judges.spec import Ask, JudgeSpec, Reply, ShownImage
from scoring.rules.short_answers import unwrapped
from scoring.text_lists import listed_texts

RuleProtocol = Literal["strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"]
"""Whose rule reads: ours, a toolkit's of August 2026, the authors' of a benchmark, or a paper's."""
TOOLKITS: frozenset[RuleProtocol] = frozenset(("vlmevalkit", "lmms-eval", "authors"))
"""Protocols under which an answer that nobody could read is wrong."""


@dataclass(frozen=True)
class Item:
    """One question as a rule sees it."""

    id: str
    question: str
    truth: str | None
    """The cell as text; None without one."""
    options: Mapping[str, str]
    """Texts by letter; empty without options."""
    cells: Mapping[str, Any]
    """Every column of the row."""
    pictures: tuple[ShownImage, ...] = ()
    """What a judge may be shown."""


@dataclass(frozen=True)
class Reading:
    """What a rule read in an answer."""

    score: float | None
    """Between the rule's `ends`, which are 0 and 1 but for verdicts; None if nobody could read the answer, or there is
    no truth to compare it with."""
    read: str
    """What was read, such as "B", "Yes" or "12.5"; "" if nothing was."""
    why: str
    """The rule that decided, in a few words."""
    is_open: bool = False
    """Whether a judge may read it."""
    marks: tuple[float, ...] = ()
    """The grades that a judge gave, of two the baseline's first; () under all other rules."""


@dataclass(frozen=True)
class Judged:
    """What a judge read in an answer that a rule left open."""

    reading: Reading
    replies: tuple[str, ...]
    model: str
    """Name that the server gave the judge."""


class RuleKind(BaseModel, ABC):
    """A kind of rule with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    is_compared: ClassVar[bool] = True
    """Whether an answer is compared with a right one; what a judge grades needs none."""
    has_canaries: ClassVar[bool] = False
    """Whether a judge is tested with worthless answers among those that it reads."""

    unread_as: ClassVar[str] = "wrong"
    """What the toolkits count an answer as that nobody could read."""
    notes: ClassVar[Mapping[RuleProtocol, str]] = {}
    """What protocols do, where the kind has a way of its own."""

    truth: str | None = None
    """Column of the right answer, where it isn't the benchmark's own."""

    @abstractmethod
    def protocols(self) -> frozenset[RuleProtocol]:
        """The protocols that this rule has."""

    @property
    def shows_pictures(self) -> bool:
        """Whether a judge is shown the questions' pictures."""
        return False

    @property
    def ends(self) -> Ends:
        """The lowest and the highest score."""
        return UNIT

    @property
    def mark_ends(self) -> Ends | None:
        """The lowest and the highest mark; None where answers get none."""
        return None

    def reads(self, answer: str) -> bool:
        """Whether it can read this answer in what a model said."""
        return self.is_compared

    @property
    def mark_count(self) -> int:
        """How many marks an answer gets."""
        return 0

    @property
    def needed(self) -> Sequence[str]:
        """What no file may lack: roles such as `truth`, or columns."""
        return ("truth",)

    @property
    def mentioned(self) -> Sequence[str]:
        """Columns that a prompt names, which are empty there where a file lacks them."""
        return ()

    def reading(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """The score of an answer, for any text, without a judge.

        An answer that can't be read has no score under `strict` and the papers' protocols, and is wrong under the
        toolkits'. Without a truth nothing has a score.
        """
        return self._checked(item, self._read(item, answer, protocol))

    def _checked(self, item: Item, reading: Reading) -> Reading:
        """The reading, without a score where there is no truth."""
        if not self.is_compared or self.truth_of(item) is not None:
            return reading
        return replace(reading, score=None)

    @abstractmethod
    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """The reading of an answer; its score does not count where there is no truth."""

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        """Asks a judge about an answer that the rule leaves open; most kinds leave none."""
        yield from ()
        return Judged(self.reading(item, answer, protocol), (), "")

    def turns(self, protocol: RuleProtocol) -> int:
        """How many times a judge is asked about an answer, each time with it at another place."""
        return 1

    def joined(self, turns: Sequence[Judged]) -> Judged:
        """What the turns of one answer come to."""
        return turns[0]

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        """The fixed part of what a judge is asked about a question; "" if no judge is asked."""
        return ""

    def shown_options(self, item: Item) -> Mapping[str, str]:
        """The options that a model is shown, by letter."""
        return item.options

    def wrong_truth(self, item: Item) -> str:
        """Why `strict` can't score a question by its right answer, as the end of a sentence; "" if it can."""
        return ""

    def submitted(self, item: Item, answer: str, read: str) -> str:
        """What a submission has of an answer in which `read` was read: its words, without what is around them."""
        return unwrapped(answer)

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


def accepted(truth: str) -> tuple[str, ...]:
    """The right answers of a cell: the members of a list, or the one text that it holds."""
    members = listed_texts(truth)
    return (truth,) if members is None else members


def unread(protocol: RuleProtocol, why: str, is_open: bool = False) -> Reading:
    """The reading of an answer in which nothing could be read: wrong to all protocols but ours."""
    return Reading(None if protocol == "strict" else 0.0, "", why, is_open)
