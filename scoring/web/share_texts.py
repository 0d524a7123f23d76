"""Share texts: what a published report says of itself in READMEs, papers and frames, all built from one record.

Titles, models' and benchmarks' names are anybody's words: they are cut, and escaped for where they go. A score that
should not be trusted never stands without the reason.
"""

from dataclasses import dataclass

from arena.drawings import shortened
from arena.interval_text import bracketed, spanned
from arena.sheets import latex_text, markdown_text
from arena.templates import plural
from scoring.jobs.written import score_text
from scoring.publish.refusals import Refusal, refusals, stopped
from scoring.registry import benchmark_of
from scoring.report import AnyReport, Report, ScoreLine

TITLE_LETTERS = 80
EDITION_LETTERS = 60
"""Most letters of a model's and of a benchmark's name."""


@dataclass(frozen=True)
class Shared:
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
    """Its name, and how often it graded; none where rules alone decided."""
    n: str
    """Number of questions, and what the score may be with those that are unscored."""
    sentence: str
    refused: tuple[Refusal, ...]
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
        """Sentences without which the score may not be read."""
        return tuple(one.reason for one in stopped(self.refused, "number"))

    @property
    def how(self) -> str:
        """What makes the score comparable: "as in the paper; judge gpt-4, 3 runs; n 218"."""
        judge = f"judge {', '.join(self.judge)}" if self.judge else ""
        return "; ".join(filter(None, (self.protocol, judge, self.n)))

    @property
    def kind(self) -> str:
        """What stands in place of the bare number, the gravest reason; "" where nothing does."""
        return next((one.kind for one in stopped(self.refused, "number")), "")

    @property
    def value(self) -> str:
        """The score, or what stands in its place."""
        return self.kind or self.score

    def reason(self, *stops: str) -> str:
        """Return the first reason why something may not be shared; "" if it may."""
        reasons = (one.reason for one in self.refused if one.stops & set(stops))
        return next(reasons, "")


def shared(report: AnyReport, slug: str) -> Shared:
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    return Shared(
        slug=slug,
        title=shortened(report.title, TITLE_LETTERS),
        edition=shortened(benchmark.edition(report), EDITION_LETTERS),
        score=score_text(report),
        interval=bracketed(head.low, head.high, head.form) if head else "",
        protocol="as in the paper" if report.protocol == "paper" else f"{report.protocol} protocol",
        judge=_judge(report),
        n=_n(head) if head and head.mean is not None else "",
        sentence=benchmark.sentence(report),
        refused=tuple(refusals(report)),
    )


def _judge(report: AnyReport) -> tuple[str, ...]:
    if report.judge is None:
        return ()
    name = shortened(report.judge.model, EDITION_LETTERS)
    return (name, plural(report.runs, "run")) if isinstance(report, Report) else (name,)


def _n(head: ScoreLine) -> str:
    ends = spanned(head.worst, head.best, head.form)
    return f"n {head.n}" + (f"; {ends} with what is unscored" if head.unscored else "")


def markdown(shown: Shared) -> str:
    """Return a sentence for a README or a model card."""
    before = "".join(f"{markdown_text(warning)} " for warning in shown.warnings)
    interval = f" {shown.interval}" if shown.interval else ""
    return (
        f"{before}{markdown_text(shown.title)}: **{markdown_text(shown.score)}** on "
        f"{markdown_text(shown.edition)}{interval} ({markdown_text(shown.how)}). [Report]({shown.address})"
    )


def badge_markdown(shown: Shared) -> str:
    """Return the badge as a link to the report."""
    words = markdown_text(f"{shown.edition} {shown.value}")
    return f"[![{words}]({shown.badge})]({shown.address})"


def latex(shown: Shared) -> str:
    """Return a row of a table with a comment that says where it is from."""
    model = latex_text(f"{shown.title} ({shown.kind})" if shown.kind else shown.title)
    interval = shown.interval.replace(", ", ",\\,")
    number = f"{shown.score}_{{\\,{interval}}}" if interval else shown.score
    about = ", ".join((shown.edition, shown.protocol, *shown.judge))
    if shown.warnings:
        about = f"{about}. {' '.join(shown.warnings)} {shown.n}"
    return f"{model} & ${number}$ \\\\ % {about}, {shown.address}"
