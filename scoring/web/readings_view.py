"""Readings' view: how often extractors choose what people choose, as a report's page of people shows it."""

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
"""Answers that are shown because people and the extractor differ."""


def readings_line(found: ReadingResults | None) -> str:
    """What readings say, in a line; empty without readings."""
    if found is None:
        return ""
    told = f"People matched {found.read:,} of {plural(found.open, 'answer')} that rules leave open to an option"
    if not found.alignments:
        return f"{told}. No judge has read these answers here."
    own = found.alignments[0]
    if own.same.value is None:
        return f"{told}. {own.extractor} could read none of these."
    sure = interval_text(own.same.low, own.same.high, ".1%")
    return f"{told}. {own.extractor} chose the same in {own.same.value:.1%} of {own.answers:,} ({sure})."


def readings_html(found: ReadingResults) -> str:
    """Everything that readings say."""
    shown = sorted(found.apart, key=lambda one: one.pair.outcome != "other option")[:MOST_APART]
    tables = sheets_html(reading_sheets(found))
    if shown:
        items = [
            choice_html(one.row, "", _read(one.pair), "open", _people(one.pair)) for one in shown
        ]
        status = f"{len(shown):,} of {plural(len(found.apart), 'answer')}, case II first"
        listed = REPORT.answers("audit", status, items)
        tables += REPORT.folded("Where people and the extractor differ", listed)
    return HTML.results("Answers matched to options", list(_sentences(found)), tables)


def reading_sheets(found: ReadingResults) -> list[Sheet]:
    """What readings say of extractors, in tables."""
    return [alignment_sheet([*found.alignments, *found.people])]


def _sentences(found: ReadingResults) -> Iterator[str]:
    yield readings_line(found)
    if found.cannot:
        yield f"{plural(found.cannot, 'answer')} could not be judged: in no number below."


def _read(pair: PairedChoice) -> str:
    return f"read {_words(pair.other)}"


def _people(pair: PairedChoice) -> str:
    return f"people: {_words(pair.people)}"


def _words(option: str | None) -> str:
    return "none of the options" if option == NO_OPTION else str(option)
