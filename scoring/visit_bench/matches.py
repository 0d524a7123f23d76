"""Matches: two models' responses to one instance, what a judge said of them in both orders, and who won.

A verdict is a judge's vote. Sides are canonical: `a` is the model whose name sorts first, so that it does not matter
who was named first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scoring.judges.spec import ShownImage
from scoring.report import JudgeStamp, Protocol

Winner = Literal["a", "b", "tie"]
Pair = tuple[Winner | None, Winner | None]
"""The winners of a match's two verdicts: `a` first, then `b` first."""
ReferenceUse = Literal["free", "backed"]
"""Whether the judge is shown the human-verified reference."""
Context = Literal["captions", "images"]
"""What the judge knows the pictures by: their captions, as in the paper, or themselves, which takes a vision judge."""

NO_ANSWER = "(no answer)"
"""What stands for an empty response."""


@dataclass(frozen=True)
class Instance:
    """An item as a judge is told of it."""

    item: str
    """The item's key."""
    family: str
    instruction: str
    captions: tuple[str, ...]
    """One a picture; empty where there is none."""
    pictures: tuple[ShownImage, ...]
    """Those that are kept; the judge can be shown them where they are as many as the captions."""
    sources: tuple[str, ...]
    """Where the pictures came from: addresses, or the sha256 of a file."""
    reference: str | None

    @property
    def multi(self) -> bool:
        """Tell whether it has several pictures: boards are apart."""
        return len(self.captions) > 1


@dataclass(frozen=True)
class Response:
    """What a model said to an item."""

    item: str
    model: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """What the judge said of a match in one order."""

    winner: Winner | None
    """None: unscored."""
    reason: str = ""
    """Why it is unscored, or why it counts as a tie; else empty."""
    replies: tuple[str, ...] = ()
    """What the judge said, and then what the extraction made of it where that was asked."""
    model: str = ""
    """What the server called the model that replied."""


def decided(first: Winner | None, second: Winner | None) -> Winner | None:
    """Return who won more of a match's two verdicts, else a tie; None where one is unscored (paper, 4.3)."""
    if first is None or second is None:
        return None
    lead = [first, second].count("a") - [first, second].count("b")
    return "tie" if lead == 0 else "a" if lead > 0 else "b"


@dataclass(frozen=True)
class Match:
    """Two models on one item; the first verdict saw `a` first, the second saw `b` first."""

    item: str
    a: str
    b: str
    verdicts: tuple[Verdict, ...] = ()

    @property
    def winner(self) -> Winner | None:
        """Return who won, as `decided` says; None before the judging."""
        return decided(*self.winners) if self.verdicts else None

    @property
    def winners(self) -> Pair:
        """Return the winner of either verdict."""
        first, second = self.verdicts
        return first.winner, second.winner


@dataclass(frozen=True)
class MatchReport:
    """One model's matches against others under one judge, whole: every table and file is computed from it."""

    benchmark: Literal["visit-bench"]
    protocol: Protocol
    title: str
    """The model that was submitted."""
    file: str
    created: str
    """ISO time of its making, UTC."""
    judge: JudgeStamp
    reference: ReferenceUse
    context: Context
    source: str
    """Whose items these are."""
    complete: bool
    """Whether the model answered every item of the kinds (single, multiple images) that it answered any of."""
    stored: bool
    """Whether the model's answers are those of the item bank."""
    instances: tuple[Instance, ...]
    responses: tuple[Response, ...]
    matches: tuple[Match, ...]


def ungraded(report: MatchReport) -> str:
    """Return the sentence that says that no verdict was read of any match, and why; "" where any was."""
    verdicts = [verdict for match in report.matches for verdict in match.verdicts]
    if any(verdict.winner is not None and not verdict.reason for verdict in verdicts):
        return ""
    why = next((verdict.reason for verdict in verdicts), "there are no matches")
    return f"Nothing was graded: the judge gave none of {len(verdicts):,} verdicts ({why})"


class Part(NamedTuple):
    """How many of how many."""

    part: int
    of: int

    @property
    def share(self) -> float | None:
        """Return the share; None of nothing."""
        return self.part / self.of if self.of else None


@dataclass(frozen=True)
class Steadiness:
    """How far the judge's verdicts can be trusted, whoever won."""

    consistent: Part
    """Matches whose verdict did not change when the sides were swapped, of those with two verdicts."""
    ties: Part
    """Matches that ended in a tie, of those with two verdicts."""
    first: Part
    """Verdicts for the response that was shown first, of those for either."""
    unscored: Part
    """Matches without a result, of all."""

    @property
    def named(self) -> Mapping[str, Part]:
        """Return each by what a person reads."""
        return {
            "the same winner in both orders": self.consistent,
            "ties": self.ties,
            "verdicts for the response shown first": self.first,
            "matches without a result": self.unscored,
        }


def steadiness(verdicts: Iterable[Pair]) -> Steadiness:
    """Return how steady a judge is, from each match's two verdicts."""
    pairs = list(verdicts)
    read = [pair for pair in pairs if None not in pair]
    for_first = sum(first == "a" for first, _ in pairs) + sum(second == "b" for _, second in pairs)
    for_either = sum(winner in ("a", "b") for pair in pairs for winner in pair)
    return Steadiness(
        consistent=Part(sum(first == second for first, second in read), len(read)),
        ties=Part(sum(decided(*pair) == "tie" for pair in read), len(read)),
        first=Part(for_first, for_either),
        unscored=Part(len(pairs) - len(read), len(pairs)),
    )
