"""Readings' view: agreement of extractors with people, on a report's page of people."""

from collections.abc import Iterator

from arena.interval_text import interval_text
from arena.sheets import Sheet
from arena.templates import plural
from scoring.people.reading_results import ReadingResults
from scoring.people.reading_sheets import alignment_sheet
from scoring.people.readings import NO_OPTION, PairedChoice
from scoring.web.choice_audit import choice_html
from scoring.web.people_view import HTML
from scoring.web.report_parts import REPORT, sheets_html

MOST_APART = 25
"""Most answers that are listed where people and the extractor differ."""


def readings_line(results: ReadingResults | None) -> str:
    """Returns a line on the results of readings; empty without readings."""
    if results is None:
        return ""
    line = f"People matched {results.read:,} of {plural(results.open, 'answer')} that rules leave open to an option"
    if not results.alignments:
        return f"{line}. No judge has read these answers here."
    own = results.alignments[0]
    if own.same.value is None:
        return f"{line}. {own.extractor} could read none of these."
    sure = interval_text(own.same.low, own.same.high, ".1%")
    return f"{line}. {own.extractor} chose the same in {own.same.value:.1%} of {own.answers:,} ({sure})."


def readings_html(results: ReadingResults) -> str:
    """Returns all results of readings."""
    differing = sorted(results.apart, key=lambda reading: reading.pair.outcome != "other option")[
        :MOST_APART
    ]
    tables = sheets_html(reading_sheets(results))
    if differing:
        items = [
            choice_html(reading.row, "", _read(reading.pair), "open", _people(reading.pair))
            for reading in differing
        ]
        status = f"{len(differing):,} of {plural(len(results.apart), 'answer')}, case II first"
        listed = REPORT.answers("audit", status, items)
        tables += REPORT.folded("Where people and the extractor differ", listed)
    return HTML.results("Answers matched to options", list(_sentences(results)), tables)


def reading_sheets(results: ReadingResults) -> list[Sheet]:
    """Returns the tables on extractors by people's readings."""
    return [alignment_sheet([*results.alignments, *results.people])]


def _sentences(results: ReadingResults) -> Iterator[str]:
    yield readings_line(results)
    if results.cannot:
        yield f"{plural(results.cannot, 'answer')} could not be judged: in no number below."


def _read(pair: PairedChoice) -> str:
    return f"read {_words(pair.other)}"


def _people(pair: PairedChoice) -> str:
    return f"people: {_words(pair.people)}"


def _words(option: str | None) -> str:
    return "none of the options" if option == NO_OPTION else str(option)
