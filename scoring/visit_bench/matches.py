"""Matches: two models' responses to one instance, a judge's verdicts in both orders, and the winner.

Sides are canonical: `a` is the model whose name sorts first, so it does not matter who was named first.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from pydantic import StrictBool

from arena.types import REFERENCE
from scoring.judges.spec import ShownImage
from scoring.report import JudgeStamp, Protocol, mostly_unread

Winner = Literal["a", "b", "tie"]
Outcome = Literal["won", "lost", "tied"] | None
"""Of a match, for one of its models; None without a result."""
Pair = tuple[Winner | None, Winner | None]
"""Winners of a match's two verdicts: `a` shown first, then `b` shown first."""
ReferenceUse = Literal["free", "backed"]
"""Whether the judge sees the human-verified reference."""
Context = Literal["captions", "images"]
"""How the judge sees the images: as captions, as in the paper, or as images, which needs a vision judge."""

NO_ANSWER = "(no answer)"
NOT_SHOWN = "(not shown)"
"""Stands for a text of the bank while voters may be asked about its item."""
ANOTHER = "another model"
"""Stands for a model that uploaded answers met on such an item: a copy of its answer is told apart by how it fares."""
REFERENCES = frozenset({REFERENCE, "human_verified_reference"})
"""Names of the human-verified reference: ours, and the authors'."""


@dataclass(frozen=True)
class Instance:
    """An item as presented to a judge."""

    item: str
    family: str
    instruction: str
    captions: tuple[str, ...]
    pictures: tuple[ShownImage, ...]
    sources: tuple[str, ...]
    """Where the images come from: addresses, or the sha256 of a file."""
    reference: str | None

    @property
    def multi(self) -> bool:
        """Whether it has several images: its board is separate."""
        return len(self.captions) > 1


@dataclass(frozen=True)
class Response:
    """A model's response to an item."""

    item: str
    model: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """The judge's verdict on a match in one order."""

    winner: Winner | None
    reason: str = ""
    """Why it is unscored, or why it counts as a tie; else empty."""
    replies: tuple[str, ...] = ()
    """The judge's reply, then the reply to the extraction prompt, if that was asked."""
    model: str = ""


def decided(first: Winner | None, second: Winner | None) -> Winner | None:
    """The winner of more of a match's two verdicts, else a tie; None if one is unscored (paper, 4.3)."""
    if first is None or second is None:
        return None
    lead = [first, second].count("a") - [first, second].count("b")
    return "tie" if lead == 0 else "a" if lead > 0 else "b"


@dataclass(frozen=True)
class Match:
    """Two models on one item; the first verdict saw `a` first, the second `b` first."""

    item: str
    a: str
    b: str
    verdicts: tuple[Verdict, ...] = ()

    @property
    def winner(self) -> Winner | None:
        """The winner, as `decided` finds it; None before the judging."""
        if not self.verdicts:
            return None
        a_first, b_first = self.winners
        return decided(a_first, b_first)

    @property
    def winners(self) -> Pair:
        first, second = self.verdicts
        return first.winner, second.winner

    def outcome(self, model: str) -> Outcome:
        winner = self.winner
        if winner is None or winner == "tie":
            return winner and "tied"
        return "won" if (self.a if winner == "a" else self.b) == model else "lost"


@dataclass(frozen=True)
class MatchReport:
    """A model's matches against others under one judge, complete: every table and file is computed from it."""

    benchmark: Literal["visit-bench"]
    protocol: Protocol
    title: str
    file: str
    created: str
    judge: JudgeStamp
    reference: ReferenceUse
    context: Context
    source: str
    complete: StrictBool
    """Whether the model answered every item of each kind (single, multiple images) of which it answered any."""
    stored: StrictBool
    instances: tuple[Instance, ...]
    responses: tuple[Response, ...]
    matches: tuple[Match, ...]

    @cached_property
    def by_item(self) -> Mapping[str, Instance]:
        return {instance.item: instance for instance in self.instances}

    @cached_property
    def texts(self) -> Mapping[tuple[str, str], str]:
        """The responses by item and model."""
        return {(response.item, response.model): response.text for response in self.responses}


def without_texts(report: MatchReport, items: Collection[str]) -> MatchReport:
    """Return a report without the other models' texts on these items, and without what the judge said about them.

    The text of the report's own model stays if it was uploaded: it is nobody's secret. Whom it met is then not told
    but for the reference, nor by the order of matches.
    """
    own = None if report.stored else report.title
    blind = [_nameless(one, own) for one in report.matches if one.item in items]
    matches = [one for one in report.matches if one.item not in items]
    matches += sorted(blind, key=lambda one: (one.item, one.a, one.b, repr(one.verdicts)))
    met = {(one.item, model) for one in blind for model in (one.a, one.b)}
    responses = [one for one in report.responses if one.item not in items or one.model == own]
    responses += [Response(*one, NOT_SHOWN) for one in sorted(met) if one[1] != own]
    return replace(
        report,
        instances=tuple(
            replace(one, reference=one.reference and NOT_SHOWN) if one.item in items else one
            for one in report.instances
        ),
        responses=tuple(responses),
        matches=tuple(matches),
    )


def listed(report: MatchReport) -> MatchReport:
    """Return a report with the matches that may be told one by one.

    Of stored answers that are not shown, how each fared on an item would name the copy that fares alike there.
    """
    if not report.stored:
        return report
    secret = {one.item for one in report.responses if one.text == NOT_SHOWN}
    return replace(
        report,
        instances=tuple(one for one in report.instances if one.item not in secret),
        responses=tuple(one for one in report.responses if one.item not in secret),
        matches=tuple(one for one in report.matches if one.item not in secret),
    )


def _nameless(match: Match, own: str | None) -> Match:
    """Return a match without words and, of the `own` uploaded answers, without whose the other one is."""
    match = replace(match, verdicts=tuple(map(_wordless, match.verdicts)))
    if own is None or REFERENCES & {match.a, match.b}:
        return match
    named = replace(match, b=ANOTHER) if match.a == own else replace(match, a=ANOTHER)
    return named if named.a < named.b else _turned(named)


def _turned(match: Match) -> Match:
    """Return a match with its sides swapped."""
    other: Mapping[Winner | None, Winner | None] = {"a": "b", "b": "a"}
    turned = (replace(one, winner=other.get(one.winner, one.winner)) for one in match.verdicts)
    return Match(match.item, match.b, match.a, tuple(turned)[::-1])


def _wordless(verdict: Verdict) -> Verdict:
    """Return a verdict without words, which may quote an answer."""
    replies = tuple(NOT_SHOWN for _ in verdict.replies)
    return replace(verdict, reason=verdict.reason and NOT_SHOWN, replies=replies)


def ungraded(report: MatchReport) -> str:
    """A sentence saying that no verdict of any match could be read, and why, or that most could not; else ""."""
    verdicts = [verdict for match in report.matches for verdict in match.verdicts]
    if any(verdict.winner is not None and not verdict.reason for verdict in verdicts):
        judged = [verdict for verdict in verdicts if verdict.replies]
        missed = sum(bool(verdict.reason) for verdict in judged)
        return mostly_unread(missed, len(judged), "verdict")
    why = next((verdict.reason for verdict in verdicts), "there are no matches")
    return f"Nothing was graded: the judge gave none of {len(verdicts):,} verdicts ({why})"


class Part(NamedTuple):
    """A count out of a total."""

    part: int
    of: int

    @property
    def share(self) -> float | None:
        return self.part / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.part:,} of {self.of:,}" + (
            "" if self.share is None else f" ({self.share:.1%})"
        )


def steadiness(verdicts: Iterable[Pair]) -> Mapping[str, Part]:
    """How reliable a judge's verdicts are, whoever won, by label; of matches with two verdicts, of verdicts, of all."""
    pairs = list(verdicts)
    read = [pair for pair in pairs if None not in pair]
    for_first = sum(first == "a" for first, _ in pairs) + sum(second == "b" for _, second in pairs)
    for_either = sum(winner in ("a", "b") for pair in pairs for winner in pair)
    return {
        "the same winner in both orders": Part(
            sum(first == second for first, second in read), len(read)
        ),
        "ties": Part(sum(decided(first, second) == "tie" for first, second in read), len(read)),
        "verdicts for the response shown first": Part(for_first, for_either),
        "matches without a result": Part(len(pairs) - len(read), len(pairs)),
    }
