"""The list of a multiple-choice report's answers, also as another protocol reads them."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.locale import t, translated
from arena.markdown import visible_name
from scoring.benchmarks.choice_report import ChoiceReport, under_protocol
from scoring.benchmarks.choice_sheets import change_sheets
from scoring.multiple_choice.metrics import Difference, differences
from scoring.multiple_choice.types import PROTOCOL_WORDS, Protocol
from scoring.registry import choice_benchmark
from scoring.report import remembered
from scoring.web.answer_list import AnswerList, Choice, Chosen
from scoring.web.choice_audit import ALL, DIFFERS, SHOWS, list_choices
from scoring.web.report_parts import CHOICE, ListPage, folded_problems_html, sheet_html

MOST_CATEGORIES = 300
"""The most categories that the filter offers; the page calls them abilities."""

reread = remembered(under_protocol)
"""Reads a report's answers under another protocol; remembered, since every page of the list needs them all."""


class _ProtocolLink(NamedTuple):
    """A link to the list as another protocol reads it."""

    address: str
    words: str
    is_chosen: bool


def file_notes(report: ChoiceReport) -> str:
    """Returns the problems of the file, folded."""
    tables = choice_benchmark(report).choice_tables(report)
    return folded_problems_html((*tables.problems, *report.problems))


def _categories(report: ChoiceReport) -> list[Choice]:
    words = choice_benchmark(report).words
    names = {row.question.category for row in report.rows if row.question.category}
    choices = [
        Choice(name, visible_name(translated(words(name))))
        for name in sorted(names)[:MOST_CATEGORIES]
    ]
    return [Choice("", t("report.every_ability")), *choices]


def _list_page(report: ChoiceReport, chosen: Chosen) -> ListPage:
    """Returns the list; answers that another protocol reads differently are listed with the effect on the score."""
    other_protocols: list[Protocol] = [
        protocol for protocol in PROTOCOL_WORDS if protocol != report.protocol
    ]
    other_protocol = other_protocols[0]
    if chosen.protocol in other_protocols:
        other_protocol = chosen.protocol
    other_report = reread(report, other_protocol) if chosen.show == DIFFERS else None
    list_page = list_choices(
        report.rows,
        other_rows=other_report.rows if other_report else (),
        other_protocol=other_protocol,
        show=chosen.show or ALL,
        category=chosen.group,
        page=chosen.page,
        ability_name=lambda name: translated(choice_benchmark(report).words(name)),
    )
    if other_report is None:
        return list_page
    links = [
        _ProtocolLink(
            address=chosen.address(protocol=protocol),
            words=translated(PROTOCOL_WORDS[protocol]),
            is_chosen=protocol == other_protocol,
        )
        for protocol in other_protocols
    ]
    changes = what_if_html(report, other_report, differences(report.rows, other_report.rows))
    return list_page._replace(html=CHOICE.read_by(links, changes, list_page.html))


CHOICES = AnswerList(
    title="report.every_answer",
    shows=SHOWS,
    list_page=_list_page,
    group="report.ability",
    groups=_categories,
)


def what_if_html(
    report: ChoiceReport, other_report: ChoiceReport, differing: Sequence[Difference]
) -> str:
    """Returns the number of answers that another protocol reads differently, and the changes of means.

    `report` is "here" in the names below, and `other_report`, under the other protocol, "there".
    """
    if not differing:
        return CHOICE.alike()
    # Of two different letters only one can be None: an answer without a letter here was read there, and vice versa.
    read_there = sum(difference.row.decision.letter is None for difference in differing)
    read_here = sum(difference.other.letter is None for difference in differing)
    benchmark = choice_benchmark(report)
    pairs = benchmark.line_pairs(report, other_report)
    sheets = change_sheets(pairs, benchmark.words, report.protocol, other_report.protocol)
    return CHOICE.what_if(
        differing=len(differing),
        total=len(report.rows),
        read_there=read_there,
        read_here=read_here,
        judged=report.judge is not None,
        overall=sheet_html(sheets.overall),
        moved=len(sheets.changed.frame),
        changes=sheet_html(sheets.changed),
    )
