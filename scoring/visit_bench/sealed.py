"""Sealed items: answers judged beside references that only the judge reads, as VisIT-Bench judges its held-out set.

A report has only counts by group. Captions and references travel as `Secret`, which cannot be stored or printed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

from pydantic import StrictInt

from arena.sheets import Sheet
from arena.types import REFERENCE, Secret, grouped
from scoring.benchmarks.article import Caveat
from scoring.benchmarks.base import Benchmark, LazyFiles
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.report import NO_SCORE, JudgeStamp, Protocol, ScoreLine, mostly_unread
from scoring.score_sheets import line_sheet, sheet_files
from scoring.small_groups import LEAST, shown_groups
from scoring.specs.figure_values import share_line
from scoring.specs.file_columns import FileColumn
from scoring.visit_bench.benchmark import VISIT_BENCH, family_words
from scoring.visit_bench.matches import (
    SAME_WINNER,
    Instance,
    Match,
    MatchReport,
    Response,
    Verdict,
    steadiness,
)

_HEADLINE = "% of decided matches won against the human-verified reference"
_TOO_FEW = f"{NO_SCORE}: fewer than {LEAST} items got a result, and smaller groups aren't shown"


@dataclass(frozen=True)
class SealedItem:
    """An item with captions and a reference for the judge alone."""

    key: str
    family: str
    instruction: str
    names: tuple[str, ...]
    """File names of its pictures."""
    captions: tuple[Secret, ...]
    reference: Secret


@dataclass(frozen=True)
class SealedAnswer:
    """A model's answer to a sealed item."""

    item: str
    family: str
    text: str


@dataclass(frozen=True)
class SealedCount:
    """The results of a group's matches; a match without a verdict in an order is unscored."""

    name: str
    won: StrictInt
    lost: StrictInt
    tied: StrictInt
    unscored: StrictInt

    @property
    def decided(self) -> int:
        return self.won + self.lost

    @property
    def items(self) -> int:
        """The number of items, each with one match."""
        return self.decided + self.tied + self.unscored

    @property
    def line(self) -> ScoreLine:
        """The share of decided matches that were won, ties left out (Table 4)."""
        outcomes = [True] * self.won + [False] * self.lost + [None] * self.unscored
        return share_line(self.name, outcomes)


@dataclass(frozen=True)
class SealedReport:
    """A model's answers to a project's sealed items before the judging, and counts by group after it."""

    benchmark: Literal["sealed-items"]
    protocol: Protocol
    title: str
    file: str
    created: str
    judge: JudgeStamp
    project: str
    digest: str
    """sha256 of the items and answers."""
    answers: tuple[SealedAnswer, ...]
    """Empty after the judging."""
    total: SealedCount
    groups: tuple[SealedCount, ...]
    """The groups large enough to be shown."""
    unread: StrictInt
    """Verdicts that could not be read, of `replies`."""
    replies: StrictInt
    """Verdicts for which the judge gave a reply."""
    steady: StrictInt
    """Matches with the same winner in both orders, of `both`."""
    both: StrictInt
    """Matches with a readable verdict in both orders."""


@dataclass(frozen=True)
class OpenedReport(SealedReport):
    """A draft with the captions and references for the judge; it cannot be stored."""

    items: Mapping[str, SealedItem]


class SealedItems(Benchmark[SealedReport]):
    """The benchmark: one match with the reference for each item, in both orders."""

    @property
    def kinds(self) -> Sequence[str]:
        return VISIT_BENCH.kinds

    @property
    def measure(self) -> str:
        return "wins over the reference"

    def columns(self) -> Sequence[FileColumn]:
        return (
            FileColumn("item", "The item's key", "item-1"),
            FileColumn("prediction", "The model's answer", "A cat on a sofa."),
        )

    def tasks(self, report: SealedReport, spec: JudgeSpec) -> Sequence[Task[Verdict]]:
        return VISIT_BENCH.tasks(_with_matches(report), spec)

    def with_outcomes(self, report: SealedReport, outcomes: Sequence[Verdict]) -> SealedReport:
        judged = VISIT_BENCH.with_outcomes(_with_matches(report), outcomes)
        families = grouped((judged.by_item[match.item].family, match) for match in judged.matches)
        counts = [
            _count_outcomes(family_words(family), matches, report.title)
            for family, matches in families.items()
        ]
        verdicts_with_reply = [verdict for verdict in outcomes if verdict.replies]
        steady = steadiness(match.winners for match in judged.matches)[SAME_WINNER]
        return SealedReport(
            benchmark="sealed-items",
            protocol=report.protocol,
            title=report.title,
            file=report.file,
            created=report.created,
            judge=judged.judge,
            project=report.project,
            digest=report.digest,
            answers=(),
            total=_count_outcomes(_HEADLINE, judged.matches, report.title),
            groups=tuple(shown_groups(counts, attrgetter("decided"), attrgetter("items"))),
            unread=sum(bool(verdict.reason) for verdict in verdicts_with_reply),
            replies=len(verdicts_with_reply),
            steady=steady.part,
            both=steady.total,
        )

    def ungraded_note(self, report: SealedReport) -> str:
        unread = mostly_unread(report.unread, report.replies, "verdict")
        if unread:
            return unread
        return _TOO_FEW if report.total.decided < LEAST else ""

    def edition(self, report: SealedReport) -> str:
        return f"{report.project}, sealed items"

    def headline(self, report: SealedReport) -> ScoreLine:
        line = report.total.line
        if self.ungraded_note(report):
            return replace(line, mean=None, low=None, high=None)
        return line

    def groups(self, report: SealedReport) -> Sequence[ScoreLine]:
        return () if self.ungraded_note(report) else [group.line for group in report.groups]

    def scores(self, report: SealedReport) -> Sequence[ScoreLine]:
        if self.ungraded_note(report):
            return ()
        return [replace(report.total.line, name="All items"), *self.groups(report)]

    def sheets(self, report: SealedReport) -> Sequence[Sheet]:
        lines = self.scores(report)
        if not lines:
            return ()
        return (line_sheet("scores", _HEADLINE, lines, "Kind of item"),)

    def caveats(self, report: SealedReport) -> Sequence[Caveat]:
        caveats = list(super().caveats(report))
        hidden = report.total.items - sum(group.items for group in report.groups)
        if hidden and not self.ungraded_note(report):
            text = (
                f"Kinds with fewer than {LEAST} results aren't shown by themselves, so that they give away no single "
                f"item. Their items, {hidden:,}, count in the score."
            )
            caveats.append(Caveat("", text))
        return caveats

    def checks(self, report: SealedReport) -> Sequence[str]:
        if self.ungraded_note(report):
            return ()
        steady = f"The same winner in both orders: {report.steady:,} of {report.both:,} matches."
        return [steady, f"Ties: {report.total.tied:,}."]

    def methods(self, report: SealedReport) -> Mapping[str, str]:
        return {
            "Items": report.project,
            "The judge read": "sealed captions of the pictures",
            "Reference": "sealed, the other side of each match",
            "Shown": f"counts of groups with {LEAST} results or more; no answer, item or judge's reply",
            "Answers (sha256)": report.digest,
        }

    def files(self, report: SealedReport) -> Mapping[str, bytes]:
        return LazyFiles(sheet_files("sealed-items", self.sheets(report)))


SEALED_ITEMS = SealedItems(
    key="sealed-items",
    cited=VISIT_BENCH.cited,
    name="Sealed items",
    about="Held-out questions on this site. A judge compares each answer with a reference that nobody else sees.",
    holds="a table or JSONL with item and prediction",
    report=SealedReport,
    way="sealed",
    protocols=VISIT_BENCH.protocols,
    start=VISIT_BENCH.start,
    unit=VISIT_BENCH.unit,
    notes=VISIT_BENCH.notes,
)


def _count_outcomes(name: str, matches: Iterable[Match], title: str) -> SealedCount:
    outcomes = Counter(match.outcome(title) for match in matches)
    return SealedCount(
        name=name,
        won=outcomes["won"],
        lost=outcomes["lost"],
        tied=outcomes["tied"],
        unscored=outcomes[None],
    )


def _with_matches(report: SealedReport) -> MatchReport:
    """The matches with the references in clear text, for the judge's tasks only."""
    assert isinstance(report, OpenedReport), "a judge reads a report that was opened"
    title = report.title
    instances = []
    responses = []
    for answer in report.answers:
        item = report.items[answer.item]
        reference = item.reference.reveal()
        instances.append(
            Instance(
                item=item.key,
                family=answer.family,
                instruction=item.instruction,
                captions=tuple(caption.reveal() for caption in item.captions),
                pictures=(),
                sources=(),
                reference=reference,
            )
        )
        responses.append(Response(item.key, title, answer.text))
        responses.append(Response(item.key, REFERENCE, reference))
    return MatchReport(
        benchmark="visit-bench",
        protocol=report.protocol,
        title=title,
        file=report.file,
        created=report.created,
        judge=report.judge,
        reference="free",
        context="captions",
        source=report.project,
        complete=True,
        stored=False,
        instances=tuple(instances),
        responses=tuple(responses),
        matches=tuple(
            Match(answer.item, min(title, REFERENCE), max(title, REFERENCE))
            for answer in report.answers
        ),
    )
