"""Readings' view: agreement of extractors with people, on a report's page of people."""

from collections.abc import Iterator

from arena.interval_text import interval_text
from arena.locale import t
from arena.sheets import Sheet
from scoring.people.reading_results import MatchedAnswer, ReadingResults
from scoring.people.reading_sheets import alignment_sheet
from scoring.people.readings import NO_OPTION
from scoring.web.choice_audit import choice_html
from scoring.web.people_view import HTML
from scoring.web.report_parts import REPORT, OutcomeText, sheets_html

MOST_DIFFERING = 25
"""The most answers that are listed of those where people and the extractor differ."""


def readings_line(results: ReadingResults | None) -> str:
    """Returns a line on the results of readings; "" without readings."""
    if results is None:
        return ""
    matched = t("report.matched", matched=results.read, count=results.open)
    return f"{matched}{t('pages.gap')}{_judges_result(results)}"


def _judges_result(results: ReadingResults) -> str:
    """Returns how often the report's own judge chose as people did, in a sentence."""
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
    other_options = [
        answer for answer in results.differing if answer.pair.outcome == "other option"
    ]
    with_one_none = [
        answer for answer in results.differing if answer.pair.outcome != "other option"
    ]
    listed_answers = [*other_options, *with_one_none][:MOST_DIFFERING]
    tables = sheets_html(reading_sheets(results))
    if listed_answers:
        items = [_answer_html(answer) for answer in listed_answers]
        status = t("report.apart_listed", shown=len(items), count=len(results.differing))
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


def _answer_html(answer: MatchedAnswer) -> str:
    pair = answer.pair
    reading = t("report.read_as", option=_option_text(pair.other))
    chosen = OutcomeText("open", t("report.people_chose", option=_option_text(pair.people)))
    return choice_html(answer.row, "", reading, chosen)


def _option_text(option: str | None) -> str:
    return t("report.none_of_options") if option == NO_OPTION else str(option)
