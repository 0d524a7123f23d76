"""Matches: two models' responses to one instance, a judge's verdicts in both orders, and the winner.

Sides are canonical: `a` is the model whose name sorts first.
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
"""The outcome of a match for one of its models; None without a result."""
Pair = tuple[Winner | None, Winner | None]
"""The winners of a match's two verdicts: with `a` shown first, then with `b` shown first."""
ReferenceUse = Literal["free", "backed"]
"""Whether the judge sees the human-verified reference: "backed" if it does."""
Context = Literal["captions", "images"]
"""The judge's view of the images: captions, as in the paper, or the images, which need a vision judge."""

NO_ANSWER = "(no answer)"
NOT_SHOWN = "(not shown)"
"""Replaces a text of the item bank while voters may see its item."""
ANOTHER = "another model"
"""Replaces the opponent's name while voters may see the item: the results of an uploaded copy would reveal it."""
REFERENCES = frozenset({REFERENCE, "human_verified_reference"})
"""The human-verified reference's names: ours, and the authors'."""
SAME_WINNER = "the same winner in both orders"
"""The label of a judge's agreement with itself."""


@dataclass(frozen=True)
class Instance:
    """An item as presented to a judge."""

    item: str
    family: str
    instruction: str
    captions: tuple[str, ...]
    pictures: tuple[ShownImage, ...]
    sources: tuple[str, ...]
    """The images' addresses, or the sha256 of a file."""
    reference: str | None

    @property
    def multi(self) -> bool:
        """Whether it has several images, which have a separate board."""
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
    """The reason for no winner, or for a tie by rule; else empty."""
    replies: tuple[str, ...] = ()
    """The judge's reply, then the reply to the extraction prompt, if it was sent."""
    model: str = ""


def winner_of_verdicts(first: Winner | None, second: Winner | None) -> Winner | None:
    """The model that won more of a match's two verdicts, else a tie; None if one is unscored (paper, 4.3)."""
    if first is None or second is None:
        return None
    wins_a = [first, second].count("a")
    wins_b = [first, second].count("b")
    if wins_a == wins_b:
        return "tie"
    return "a" if wins_a > wins_b else "b"


@dataclass(frozen=True)
class Match:
    """Two models on one item; the first verdict is with `a` shown first, the second with `b` first."""

    item: str
    a: str
    b: str
    verdicts: tuple[Verdict, ...] = ()

    @property
    def winner(self) -> Winner | None:
        """The winner by `winner_of_verdicts`; None before the judging."""
        if not self.verdicts:
            return None
        a_first, b_first = self.winners
        return winner_of_verdicts(a_first, b_first)

    @property
    def winners(self) -> Pair:
        first, second = self.verdicts
        return first.winner, second.winner

    def outcome(self, model: str) -> Outcome:
        """The outcome for one of the two models."""
        winner = self.winner
        if winner is None:
            return None
        if winner == "tie":
            return "tied"
        winning_model = self.a if winner == "a" else self.b
        return "won" if winning_model == model else "lost"


@dataclass(frozen=True)
class MatchReport:
    """A model's matches against others under one judge, with all that tables and files are computed from."""

    benchmark: Literal["visit-bench"]
    protocol: Protocol
    title: str
    file: str
    created: str
    judge: JudgeStamp
    reference: ReferenceUse
    context: Context
    source: str
    """The source of the items in the item bank."""
    complete: StrictBool
    """Whether the model answered every item of each kind (single, multiple images) of which it answered any."""
    stored: StrictBool
    """Whether the answers are the item bank's, or those of a whole board; otherwise the model's were uploaded."""
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
    """Returns a report without the other models' texts on these items, and without the judge's words about them.

    The report's own model keeps its text if it was uploaded, since nobody needs to keep it secret. Its opponents are
    then unnamed, except the reference, and matches are reordered so that their order does not name them.
    """
    own = None if report.stored else report.title
    nameless = [_nameless(match, own) for match in report.matches if match.item in items]
    nameless.sort(key=lambda match: (match.item, match.a, match.b, repr(match.verdicts)))
    matches = [match for match in report.matches if match.item not in items]
    played = {(match.item, model) for match in nameless for model in (match.a, match.b)}
    responses = [
        response
        for response in report.responses
        if response.item not in items or response.model == own
    ]
    responses += [
        Response(item, model, NOT_SHOWN) for item, model in sorted(played) if model != own
    ]
    instances = [
        _without_reference(instance) if instance.item in items else instance
        for instance in report.instances
    ]
    return replace(
        report,
        instances=tuple(instances),
        responses=tuple(responses),
        matches=(*matches, *nameless),
    )


def _without_reference(instance: Instance) -> Instance:
    return replace(instance, reference=_not_shown(instance.reference))


def _not_shown(text: str | None) -> str | None:
    """Returns what replaces a text; no text, or an empty one, stays as it is."""
    return NOT_SHOWN if text else text


def _nameless(match: Match, own: str | None) -> Match:
    """Returns a match without the judge's words, and without the name of `own`'s opponent, except the reference.

    `own` is the model whose answers were uploaded. If it is None, no name is left out.
    """
    match = replace(match, verdicts=tuple(map(_wordless, match.verdicts)))
    if own is None or REFERENCES & {match.a, match.b}:
        return match
    return renamed(match, match.b if match.a == own else match.a, ANOTHER)


def renamed(match: Match, model: str, name: str) -> Match:
    """Returns a match with another name for one of its models, and its sides in canonical order."""
    a = name if match.a == model else match.a
    b = name if match.b == model else match.b
    if a < b:
        return replace(match, a=a, b=b)
    opposite: Mapping[Winner | None, Winner | None] = {"a": "b", "b": "a"}
    verdicts = tuple(
        replace(verdict, winner=opposite.get(verdict.winner, verdict.winner))
        for verdict in reversed(match.verdicts)
    )
    return Match(match.item, b, a, verdicts)


def _wordless(verdict: Verdict) -> Verdict:
    """Returns a verdict without words, which may quote an answer."""
    replies = tuple(NOT_SHOWN for _ in verdict.replies)
    return replace(verdict, reason=NOT_SHOWN if verdict.reason else "", replies=replies)


def with_listable_matches(report: MatchReport) -> MatchReport:
    """Returns a report with the matches that may be listed one by one.

    Matches of a stored answer that is not shown are left out: its results on an item would identify an uploaded copy
    of it.
    """
    if not report.stored:
        return report
    secret = {response.item for response in report.responses if response.text == NOT_SHOWN}
    return replace(
        report,
        instances=tuple(instance for instance in report.instances if instance.item not in secret),
        responses=tuple(response for response in report.responses if response.item not in secret),
        matches=tuple(match for match in report.matches if match.item not in secret),
    )


def ungraded_note(report: MatchReport) -> str:
    """Why a report has no score: none of its verdicts is readable, or most aren't. "" if it has one."""
    verdicts = [verdict for match in report.matches for verdict in match.verdicts]
    if any(verdict.winner is not None and not verdict.reason for verdict in verdicts):
        replied = [verdict for verdict in verdicts if verdict.replies]
        unread = sum(bool(verdict.reason) for verdict in replied)
        return mostly_unread(unread, len(replied), "verdict")
    reason = verdicts[0].reason if verdicts else "there are no matches"
    return f"Nothing was graded: the judge gave none of {len(verdicts):,} verdicts ({reason})"


class Part(NamedTuple):
    """A count out of a total."""

    part: int
    total: int

    @property
    def share(self) -> float | None:
        return self.part / self.total if self.total else None

    def __str__(self) -> str:
        counts = f"{self.part:,} of {self.total:,}"
        return counts if self.share is None else f"{counts} ({self.share:.1%})"


def steadiness(winners: Iterable[Pair]) -> Mapping[str, Part]:
    """Measures of a judge's reliability by label.

    The same winner and ties are shares of the matches with two verdicts, the response shown first is a share of the
    verdicts for either response, and matches without a result are a share of all matches.
    """
    pairs = list(winners)
    read = [pair for pair in pairs if None not in pair]
    same = sum(first == second for first, second in read)
    ties = sum(winner_of_verdicts(first, second) == "tie" for first, second in read)
    # `a` is shown first in the first verdict, `b` in the second.
    for_first = sum(first == "a" for first, _ in pairs) + sum(second == "b" for _, second in pairs)
    for_either = sum(winner in ("a", "b") for pair in pairs for winner in pair)
    return {
        SAME_WINNER: Part(same, len(read)),
        "ties": Part(ties, len(read)),
        "verdicts for the response shown first": Part(for_first, for_either),
        "matches without a result": Part(len(pairs) - len(read), len(pairs)),
    }
