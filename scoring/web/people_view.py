"""People's view: the results of marks, on a report's page of people and in a line on the report."""

from collections.abc import Iterator

from arena.interval_text import interval_text
from arena.locale import t
from arena.sheets import Sheet
from arena.templates import macros
from scoring.people.corrected_mean import CorrectedMean
from scoring.people.mark_sheets import (
    calibration_rows,
    difference_sheet,
    distance_sheet,
    mean_sheet,
    paired_rows,
    panel_sheet,
    published_sheets,
)
from scoring.people.marks import MarkResults
from scoring.people.measures import LEAST_INTERVAL, LEAST_MARKS, LEAST_RANKED, Interval
from scoring.web.report_parts import sheets_html

HTML = macros("people.html")


def marks_line(results: MarkResults) -> str:
    """Returns a line on how far a report's judge is from people's marks; "" without marks."""
    if not results.marked:
        return ""
    marked = t("people.marked", marked=results.marked, count=results.answers)
    if results.calibration is None:
        return _joined([marked, t("people.too_few", least=LEAST_MARKS)])
    # The report's own judge is always among those calibrated.
    own = next(judge for judge in results.calibration.judges if judge.name == results.judge)
    bias = own.measures.bias
    delta_interval = own.measures.delta_interval
    interval = t("people.no_interval", least=LEAST_INTERVAL)
    if delta_interval:
        interval = interval_text(delta_interval.low, delta_interval.high, ".2f")
    lean = "people.kind" if bias > 0 else "people.strict"
    if round(bias, 2) == 0:
        lean = "people.unbiased"
    sentences = [
        marked,
        t(
            lean,
            delta=own.measures.delta,
            interval=interval,
            bias=abs(bias),
        ),
    ]
    if results.calibration.people:
        sentences.append(t("people.apart", delta=results.calibration.people.delta))
    if own.mean and results.is_random:
        sentences.append(mean_text(own.mean))
    return _joined(sentences)


def mean_text(mean: CorrectedMean) -> str:
    """Returns a sentence on the mean grade that people would have given to all answers, in percent."""
    judge = 100 * mean.judge
    if mean.is_whole:
        return t("people.mean_whole", people=100 * mean.alone.value, judge=judge)
    return t(
        "people.mean",
        people=_percent(mean.corrected),
        judge=judge,
        count=mean.marks,
        alone=_percent(mean.alone),
        worth=mean.worth,
    )


def _joined(sentences: list[str]) -> str:
    return t("pages.gap").join(sentences)


def _percent(mean: Interval) -> str:
    """Returns a mean from 0 to 1 in percent, with its interval."""
    interval = interval_text(100 * mean.low, 100 * mean.high)
    return t("people.with_interval", value=100 * mean.value, interval=interval)


def marks_html(results: MarkResults) -> str:
    """Returns all results of marks."""
    sheets = [*mark_sheets(results), *published_sheets()]
    return HTML.results(t("people.marks"), list(_sentences(results)), sheets_html(sheets))


def _sentences(results: MarkResults) -> Iterator[str]:
    yield marks_line(results) or t("people.unmarked", count=results.answers)
    if results.cannot:
        yield t("people.cannot", count=results.cannot)
    if not results.is_random:
        yield t("people.brought")
    if results.calibration and not results.calibration.is_ranked:
        yield t("people.unranked", least=LEAST_RANKED)


def mark_sheets(results: MarkResults) -> list[Sheet]:
    """Returns the tables that compare a report's judge, and others, with people's marks."""
    sheets = []
    if results.calibration:
        rows = list(calibration_rows(results.calibration))
        over_all = [row for row in rows if not row.capability]
        by_capability = [row for row in rows if row.capability]
        sheets.append(distance_sheet("distances", "How far from people", over_all, results.dollars))
        if by_capability:
            title = "How far from people, by capability"
            sheets.append(distance_sheet("capabilities", title, by_capability, place="folded"))
        if results.calibration.panel:
            sheets.append(panel_sheet(results.calibration.panel))
        if results.is_random:
            sheets.append(mean_sheet(results.calibration.judges))
    if results.differences:
        sheets.append(difference_sheet(results.differences))
    if results.judge_pairs:
        title = "Judges compared with each other, over all answers"
        sheets.append(distance_sheet("judges", title, paired_rows(results.judge_pairs)))
    return sheets
