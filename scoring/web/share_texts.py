"""Share texts: a published report in READMEs, papers and frames, and its page's button for them, from one record.

Titles, models' and benchmarks' names are anybody's words: they are cut, and escaped for where they go. A score that
should not be trusted never appears without the reason. A record is in the language that is current when it is made;
texts to copy are made of an English one.
"""

from dataclasses import dataclass
from typing import NamedTuple

from arena.drawings import shortened
from arena.interval_text import bracketed, spanned
from arena.locale import ENGLISH, speaking, t, translated
from arena.sheets import latex_text, markdown_text
from arena.templates import macros
from scoring.jobs.stored_report import score_text
from scoring.publish.hub_files import is_open
from scoring.publish.refusals import Refusal, refusals, stopping_refusals
from scoring.registry import benchmark_of
from scoring.report import AnyReport, Report, ScoreLine

SHARE = macros("share.html")
TITLE_LETTERS = 80
EDITION_LETTERS = 60
"""Most letters of a model's name, and of a benchmark's or a judge's."""


@dataclass(frozen=True)
class ShareRecord:
    """A published report as others show it."""

    slug: str
    title: str
    """The model's name."""
    edition: str
    """The benchmark's name, with split and mode."""
    score: str
    interval: str
    """Its 95% interval in brackets, as in "[30.5, 42.0]"; "" for none."""
    protocol: str
    judge: tuple[str, ...]
    """The judge's name and number of runs; empty if rules alone decided."""
    n: str
    """Number of questions, and the bounds of the score if some are unscored."""
    sentence: str
    refused: tuple[Refusal, ...]
    """The reasons why it may not be shared for some uses, the gravest first."""
    base: str = ""
    """The server's address, without a slash at its end."""

    @property
    def address(self) -> str:
        return f"{self.base}/r/{self.slug}"

    @property
    def badge(self) -> str:
        return f"{self.base}/badge/{self.slug}.svg"

    @property
    def embed(self) -> str:
        return f"{self.base}/embed/{self.slug}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences that must accompany the score."""
        return tuple(refusal.reason for refusal in stopping_refusals(self.refused, "number"))

    @property
    def conditions(self) -> str:
        """The conditions of the score: "as in the paper; judge gpt-4, 3 runs; n 218"."""
        judge = t("share.judge", judge=t("names.comma").join(self.judge)) if self.judge else ""
        return t("share.and").join(filter(None, (self.protocol, judge, self.n)))

    @property
    def kind(self) -> str:
        """The gravest reason against the bare number, in a word or two for its place; "" if there is none."""
        grave = stopping_refusals(self.refused, "number")
        return grave[0].kind if grave else ""

    @property
    def value(self) -> str:
        """The score, or `kind` in its place."""
        return self.kind or self.score

    def reason(self, *stops: str) -> str:
        """Returns the first reason not to share a report for one of these uses; "" if there is none."""
        for refusal in self.refused:
            if refusal.stops & set(stops):
                return refusal.reason
        return ""


def share_record(report: AnyReport, slug: str) -> ShareRecord:
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    return ShareRecord(
        slug=slug,
        title=shortened(report.title, TITLE_LETTERS),
        edition=shortened(translated(benchmark.edition(report)), EDITION_LETTERS),
        score=score_text(report),
        interval=bracketed(head.low, head.high, head.form) if head else "",
        protocol=_protocol_text(report.protocol),
        judge=_judge(report),
        n=_questions_text(head) if head and head.mean is not None else "",
        sentence=benchmark.sentence(report),
        refused=tuple(refusals(report)),
    )


def _protocol_text(protocol: str) -> str:
    if protocol == "paper":
        return t("share.as_in_paper")
    return t("share.protocol", name=translated(protocol))


def _judge(report: AnyReport) -> tuple[str, ...]:
    """Returns the judge's name and, if the report has it, the number of runs; () if rules alone decided."""
    if report.judge is None:
        return ()
    name = shortened(report.judge.model, EDITION_LETTERS)
    if isinstance(report, Report):
        return name, t("share.runs", count=report.runs)
    return (name,)


def _questions_text(head: ScoreLine) -> str:
    if not head.unscored:
        return f"n {head.n}"
    ends = spanned(head.worst, head.best, head.form)
    return t("share.and").join((f"n {head.n}", t("report.with_unscored", span=ends)))


def markdown(record: ShareRecord) -> str:
    """Returns a sentence for a README or a model card."""
    before = "".join(f"{markdown_text(warning)} " for warning in record.warnings)
    interval = f" {record.interval}" if record.interval else ""
    return (
        f"{before}{markdown_text(record.title)}: **{markdown_text(record.score)}** on "
        f"{markdown_text(record.edition)}{interval} ({markdown_text(record.conditions)}). [Report]({record.address})"
    )


def badge_markdown(record: ShareRecord) -> str:
    """Returns the badge as a link to the report."""
    words = markdown_text(f"{record.edition} {record.value}")
    return f"[![{words}]({record.badge})]({record.address})"


def latex(record: ShareRecord) -> str:
    """Returns a row of a table, with its source in a comment."""
    model = latex_text(f"{record.title} ({record.kind})" if record.kind else record.title)
    interval = record.interval.replace(", ", ",\\,")
    number = f"{record.score}_{{\\,{interval}}}" if interval else record.score
    source = ", ".join((record.edition, record.protocol, *record.judge))
    if record.warnings:
        source = f"{source}. {' '.join(record.warnings)} {record.n}"
    return f"{model} & ${number}$ \\\\ % {source}, {record.address}"


class ShareTexts(NamedTuple):
    """Texts to copy."""

    markdown: str
    latex: str
    badge: str


def share_html(
    at: str, record: ShareRecord | None, is_owner: bool, is_own: bool, withdrawn: str | None
) -> str:
    """Returns the button with its sheet.

    `at`: path of the report; `record`: an English one, None for a private report; `is_owner`: whether the reader owns
    the report; `is_own`: whether the benchmark is the owner's too, so that the report stays private; `withdrawn`: why
    the operators made it private, for its owner to read.
    """
    if record is None:
        can_publish = is_owner and not is_own and withdrawn is None
        reason = withdrawn if is_owner else None
        return SHARE.sheet(
            at,
            None,
            is_owner,
            can_publish=can_publish,
            is_own=is_own,
            is_near=False,
            texts=None,
            withdrawn=reason,
        )
    with speaking(ENGLISH):
        texts = ShareTexts(markdown(record), latex(record), badge_markdown(record))
    return SHARE.sheet(
        at,
        record,
        is_owner,
        can_publish=False,
        is_own=is_own,
        is_near=not is_open(record.base),  # only this machine or network opens its addresses
        texts=texts,
    )
