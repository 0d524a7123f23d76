"""People's view: the results of marks, on a report's page of people and in a line on the report."""

from collections.abc import Iterator

from arena.interval_text import interval_text
from arena.sheets import Sheet
from arena.templates import macros, plural
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
    """Returns a line on a report's judge by people's marks; empty without marks."""
    if not results.marked:
        return ""
    line = f"People marked {results.marked:,} of these {results.answers:,} answers"
    if results.calibration is None:
        return f"{line}; from {LEAST_MARKS} on this says how far the judge is from people."
    own = next(judge for judge in results.calibration.judges if judge.name == results.judge)
    bias = own.measures.bias
    kinder = f"{abs(bias):.2f} too {'kind' if bias > 0 else 'strict'}"
    reach = own.measures.delta_interval
    sure = f"no interval below {LEAST_INTERVAL} answers"
    if reach:
        sure = interval_text(reach.low, reach.high, ".2f")
    line = f"{line}: the judge is {own.measures.delta:.2f} away on average ({sure}), {kinder}"
    if results.calibration.people:
        line = f"{line}; two people are {results.calibration.people.delta:.2f} apart"
    mean = f" {mean_text(own.mean)}" if own.mean and results.is_random else ""
    return f"{line}.{mean}"


def mean_text(mean: CorrectedMean) -> str:
    """Returns a sentence on the mean grade that people would have given to all answers, in percent."""
    if mean.is_whole:
        people = f"{100 * mean.alone.value:.1f}"
        return (
            f"Every answer is marked: people give {people}, the judge gave {100 * mean.judge:.1f}."
        )
    marks = plural(mean.marks, "mark")
    return (
        f"People would have given {_percent(mean.corrected)} on average, the judge gave {100 * mean.judge:.1f}; "
        f"{marks} alone say {_percent(mean.alone)}, with the judge's scores they were worth {mean.worth:,.0f}."
    )


def _percent(mean: Interval) -> str:
    return f"{100 * mean.value:.1f} ({interval_text(100 * mean.low, 100 * mean.high)})"


def marks_html(results: MarkResults) -> str:
    """Returns all results of marks."""
    sheets = [*mark_sheets(results), *published_sheets()]
    return HTML.results("Marks", list(_sentences(results)), sheets_html(sheets))


def _sentences(results: MarkResults) -> Iterator[str]:
    yield marks_line(results) or f"Nobody has marked any of these {results.answers:,} answers yet."
    if results.cannot:
        yield f"{plural(results.cannot, 'answer')} could not be judged: in no number below."
    if not results.is_random:
        yield "Some marks were brought from a file: nobody here knows how their answers were chosen."
    if results.calibration and not results.calibration.is_ranked:
        yield f"Below {LEAST_RANKED} marked answers judges are not put in an order."


def mark_sheets(results: MarkResults) -> list[Sheet]:
    """Returns the tables on a report's judge and on others by people's marks."""
    sheets = []
    if results.calibration:
        rows = list(calibration_rows(results.calibration))
        whole = [row for row in rows if not row.capability]
        parts = [row for row in rows if row.capability]
        sheets.append(distance_sheet("distances", "How far from people", whole, results.dollars))
        if parts:
            title = "How far from people, by capability"
            sheets.append(distance_sheet("capabilities", title, parts, place="folded"))
        if results.calibration.panel:
            sheets.append(panel_sheet(results.calibration.panel))
        if results.is_random:
            sheets.append(mean_sheet(results.calibration.judges))
    if results.differences:
        sheets.append(difference_sheet(results.differences))
    if results.between:
        title = "Judge beside judge, over all answers, without marks"
        sheets.append(distance_sheet("judges", title, paired_rows(results.between)))
    return sheets
