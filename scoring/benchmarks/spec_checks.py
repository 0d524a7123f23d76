"""Checks of a report's judge: its points for answers that deserve nothing, and the stability of its verdicts."""

from collections.abc import Iterator

from scoring.benchmarks.article import Caveat
from scoring.rules.base import Reading
from scoring.rules.pairwise import ONE_VERDICT, TWO_VERDICTS
from scoring.specs.report import SpecReport, ruled_rows


def canary_notes(report: SpecReport) -> Iterator[str]:
    """Yields a sentence on the number of canaries that got more than the lowest grade."""
    readings = _graded_canaries(report)
    if readings:
        raised = sum(bool(reading.score) for reading in readings)
        total = len(readings)
        yield f"Canaries: the judge gave {raised:,} of {total:,} worthless answers more than the lowest grade."


def distrust_caveats(report: SpecReport) -> Iterator[Caveat]:
    """Yields a caveat if the judge gave canaries more than the lowest grade."""
    readings = _graded_canaries(report)
    grades = [reading.read for reading in readings if reading.score]
    if grades:
        total = len(readings)
        text = (
            f"don't trust this score: the judge gave {len(grades):,} of {total:,} worthless answers more than the "
            f"lowest grade: {', '.join(grades)}"
        )
        yield Caveat("Judge not trusted", text)


def _graded_canaries(report: SpecReport) -> list[Reading]:
    """Returns the readings of the canaries whose grade could be read."""
    readings = [canary.reading for canary in report.canaries]
    return [reading for reading in readings if reading.score is not None]


def picture_caveats(report: SpecReport) -> Iterator[Caveat]:
    """Yields a caveat with the number of questions that the judge read without the pictures it should see."""
    rows = [
        ruled.row for ruled in ruled_rows(report) if ruled.rule.shows_pictures and ruled.row.replies
    ]
    without = sum(not row.shown for row in rows)
    if without:
        total = len(rows)
        text = f"the judge saw no picture for {without:,} of {total:,} questions: the file has none"
        yield Caveat("Without pictures", text)


def order_notes(report: SpecReport) -> Iterator[str]:
    """Yields a sentence on how often the judge gave the same verdict in both orders."""
    reasons = [row.reading.why for row in report.rows]
    same = reasons.count(ONE_VERDICT)
    both = same + reasons.count(TWO_VERDICTS)
    if both:
        yield f"The judge gave the same verdict in both orders for {same:,} of {both:,} answers."
