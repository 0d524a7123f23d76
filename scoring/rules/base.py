"""What a rule is: one question and one answer in, a score or nothing out."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from scoring.judges.spec import Ask, JudgeSpec, Reply

RuleProtocol = Literal["strict", "vlmevalkit", "lmms-eval", "authors", "mmbench-paper", "mmt-paper"]


@dataclass(frozen=True)
class Item:
    """One question as a rule sees it."""

    id: str
    question: str
    truth: str | None
    options: Mapping[str, str]
    cells: Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """What a rule read of an answer."""

    score: float | None
    read: str
    why: str
    is_open: bool = False


@dataclass(frozen=True)
class Judged:
    """What a judge read of an answer, and its replies."""

    reading: Reading
    replies: tuple[str, ...]
    model: str


class RuleKind(BaseModel):
    """A kind of rule with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def reading(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        raise NotImplementedError

    def protocols(self) -> frozenset[RuleProtocol]:
        raise NotImplementedError

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec
    ) -> Generator[Ask, Reply, Judged]:
        raise NotImplementedError
