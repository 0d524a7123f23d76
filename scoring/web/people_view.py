"""People's view: what marks say of a report, as its page of people shows it, and in a line on the report."""

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


def marks_line(found: MarkResults) -> str:
    """What marks say of a report's judge, in a line; empty without marks."""
    if not found.marked:
        return ""
    told = f"People marked {found.marked:,} of these {found.answers:,} answers"
    if found.calibration is None:
        return f"{told}; from {LEAST_MARKS} on this says how far the judge is from people."
    own = next(one for one in found.calibration.judges if one.name == found.judge)
    bias = own.measures.bias
    kinder = f"{abs(bias):.2f} too {'kind' if bias > 0 else 'strict'}"
    reach = own.measures.delta_interval
    sure = f"no interval below {LEAST_INTERVAL} answers"
    if reach:
        sure = interval_text(reach.low, reach.high, ".2f")
    told = f"{told}: the judge is {own.measures.delta:.2f} away on average ({sure}), {kinder}"
    if found.calibration.people:
        told = f"{told}; two people are {found.calibration.people.delta:.2f} apart"
    mean = f" {mean_text(own.mean)}" if own.mean and found.is_random else ""
    return f"{told}.{mean}"


def mean_text(mean: CorrectedMean) -> str:
    """What people would have given to all answers, in percent."""
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


def marks_html(found: MarkResults) -> str:
    """Everything that marks say."""
    sheets = [*mark_sheets(found), *published_sheets()]
    return HTML.results("Marks", list(_sentences(found)), sheets_html(sheets))


def _sentences(found: MarkResults) -> Iterator[str]:
    yield marks_line(found) or f"Nobody has marked any of these {found.answers:,} answers yet."
    if found.cannot:
        yield f"{plural(found.cannot, 'answer')} could not be judged: in no number below."
    if not found.is_random:
        yield "Some marks were brought from a file: nobody here knows how their answers were chosen."
    if found.calibration and not found.calibration.is_ranked:
        yield f"Below {LEAST_RANKED} marked answers judges are not put in an order."


def mark_sheets(found: MarkResults) -> list[Sheet]:
    """What marks say of a report's judge and of others, in tables."""
    sheets = []
    if found.calibration:
        rows = list(calibration_rows(found.calibration))
        whole = [row for row in rows if not row.capability]
        parts = [row for row in rows if row.capability]
        sheets.append(distance_sheet("distances", "How far from people", whole, found.dollars))
        if parts:
            title = "How far from people, by capability"
            sheets.append(distance_sheet("capabilities", title, parts, place="folded"))
        if found.calibration.panel:
            sheets.append(panel_sheet(found.calibration.panel))
        if found.is_random:
            sheets.append(mean_sheet(found.calibration.judges))
    if found.differences:
        sheets.append(difference_sheet(found.differences))
    if found.between:
        title = "Judge beside judge, over all answers, without marks"
        sheets.append(distance_sheet("judges", title, paired_rows(found.between)))
    return sheets
