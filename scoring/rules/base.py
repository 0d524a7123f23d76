"""What a kind of rule is: it reads one answer to one question, and says the score, or that it can't read it."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from scoring.judges.spec import Ask, JudgeSpec, Reply

RuleProtocol = Literal["strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"]
"""Whose rule reads: ours, a toolkit's of August 2026, the authors' of a benchmark, or a paper's."""


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


@dataclass(frozen=True)
class Reading:
    """What a rule read in an answer."""

    score: float | None
    """From 0 to 1; None if nobody could read the answer, or there is no truth to compare it with."""
    read: str
    """What was read, such as "B", "Yes" or "12.5"; "" if nothing was."""
    why: str
    """The rule that decided, in a few words."""
    is_open: bool = False
    """Whether a judge may read it."""


@dataclass(frozen=True)
class Judged:
    """What a judge read in an answer that a rule left open."""

    reading: Reading
    replies: tuple[str, ...]
    model: str
    """Name that the server gave the judge."""


class RuleKind(BaseModel, ABC):
    """A kind of rule with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def protocols(self) -> frozenset[RuleProtocol]:
        """The protocols that this rule has."""

    @abstractmethod
    def reading(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """The score of an answer, for any text, without a judge.

        An answer that can't be read has no score under `strict` and the papers' protocols, and is wrong under the
        toolkits'.
        """

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec
    ) -> Generator[Ask, Reply, Judged]:
        """Asks a judge about an answer that the rule leaves open; most kinds leave none."""
        yield from ()
        return Judged(self.reading(item, answer, protocol), (), "")
