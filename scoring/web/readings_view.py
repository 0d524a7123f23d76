"""Readings' view: agreement of extractors with people, on a report's page of people."""

from collections.abc import Iterator

from arena.interval_text import interval_text
from arena.locale import t
from arena.sheets import Sheet
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
    matched = t("report.matched", matched=results.read, count=results.open)
    return f"{matched}{t('pages.gap')}{_judges_result(results)}"


def _judges_result(results: ReadingResults) -> str:
    if not results.alignments:
        return t("report.nobody_read")
    own = results.alignments[0]
    if own.same.value is None:
        return t("report.judge_read_none", judge=own.extractor)
    interval = interval_text(own.same.low, own.same.high, ".1%")
    return t(
        "report.judge_agrees",
        judge=own.extractor,
        share=own.same.value,
        count=own.answers,
        interval=interval,
    )


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
        status = t("report.apart_listed", shown=len(differing), count=len(results.apart))
        listed = REPORT.answers("audit", status, items)
        tables += REPORT.folded(t("report.where_apart"), listed)
    return HTML.results(t("report.readings"), list(_sentences(results)), tables)


def reading_sheets(results: ReadingResults) -> list[Sheet]:
    """Returns the tables on extractors by people's readings."""
    return [alignment_sheet([*results.alignments, *results.people])]


def _sentences(results: ReadingResults) -> Iterator[str]:
    yield readings_line(results)
    if results.cannot:
        yield t("report.not_judged", count=results.cannot)


def _read(pair: PairedChoice) -> str:
    return t("report.read_as", option=_words(pair.other))


def _people(pair: PairedChoice) -> str:
    return t("report.people_chose", option=_words(pair.people))


def _words(option: str | None) -> str:
    return t("report.none_of_options") if option == NO_OPTION else str(option)
