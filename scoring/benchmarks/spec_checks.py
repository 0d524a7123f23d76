"""Checks of a report's judge: its points for answers that deserve nothing, and the stability of its verdicts."""

from collections.abc import Iterator

from scoring.benchmarks.article import Caveat
from scoring.rules.pairwise import ONE_VERDICT, TWO_VERDICTS
from scoring.specs.report import SpecReport, ruled_rows


def canary_notes(report: SpecReport) -> Iterator[str]:
    """Yield how many canaries got more than the lowest grade."""
    scored = [
        canary.reading.score for canary in report.canaries if canary.reading.score is not None
    ]
    if scored:
        raised = sum(score > 0 for score in scored)
        total = len(scored)
        yield f"Canaries: the judge gave {raised:,} of {total:,} worthless answers more than the lowest grade."


def distrust_caveats(report: SpecReport) -> Iterator[Caveat]:
    """Yield why the judge is not trusted: it gave more than the lowest grade to canaries."""
    raised = [canary.reading.read for canary in report.canaries if canary.reading.score]
    if raised:
        grades = ", ".join(raised)
        total = len(report.canaries)
        text = (
            f"don't trust this score: the judge gave {len(raised):,} of {total:,} worthless answers more than the "
            f"lowest grade: {grades}"
        )
        yield Caveat("Judge not trusted", text)


def picture_caveats(report: SpecReport) -> Iterator[Caveat]:
    """Yield how many questions the judge read without the pictures that it should see."""
    rows = [
        ruled.row for ruled in ruled_rows(report) if ruled.rule.shows_pictures and ruled.row.replies
    ]
    without = sum(not row.shown for row in rows)
    if without:
        total = len(rows)
        text = f"the judge saw no picture for {without:,} of {total:,} questions: the file has none"
        yield Caveat("Without pictures", text)


def order_notes(report: SpecReport) -> Iterator[str]:
    """Yield how often the judge gave one verdict in both orders."""
    verdicts = [row.reading.why for row in report.rows]
    same = verdicts.count(ONE_VERDICT)
    both = same + verdicts.count(TWO_VERDICTS)
    if both:
        yield f"The judge gave the same verdict in both orders for {same:,} of {both:,} answers."
