"""The list of a multiple-choice report's answers, also as another protocol reads them."""

from collections.abc import Sequence

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
from scoring.web.report_parts import CHOICE, Listed, folded_problems_html, sheet_html

MOST_CATEGORIES = 300

reread = remembered(under_protocol)


def file_notes(report: ChoiceReport) -> str:
    """Returns the problems of the file, folded."""
    tables = choice_benchmark(report).choice_tables(report)
    return folded_problems_html((*tables.problems, *report.problems))


def _categories(report: ChoiceReport) -> list[Choice]:
    words = choice_benchmark(report).words
    names = {row.question.category for row in report.rows if row.question.category}
    choices = [
        (name, visible_name(translated(words(name)))) for name in sorted(names)[:MOST_CATEGORIES]
    ]
    return [("", t("report.every_ability")), *choices]


def _listed(report: ChoiceReport, chosen: Chosen) -> Listed:
    """Returns the list; answers that another protocol reads differently are listed with the effect on the score."""
    others: list[Protocol] = [
        protocol for protocol in PROTOCOL_WORDS if protocol != report.protocol
    ]
    protocol = chosen.protocol if chosen.protocol in others else others[0]
    other_report = reread(report, protocol) if chosen.show == DIFFERS else None
    listed = list_choices(
        report.rows,
        other_report.rows if other_report else (),
        protocol,
        chosen.show or ALL,
        chosen.group,
        chosen.page,
        lambda name: translated(choice_benchmark(report).words(name)),
    )
    if other_report is None:
        return listed
    links = [
        (chosen.address(protocol=other), translated(PROTOCOL_WORDS[other]), other == protocol)
        for other in others
    ]
    changed = what_if_html(report, other_report, differences(report.rows, other_report.rows))
    return listed._replace(html=CHOICE.read_by(links, changed, listed.html))


CHOICES = AnswerList("report.every_answer", SHOWS, _listed, "report.ability", _categories)


def what_if_html(here: ChoiceReport, there: ChoiceReport, differing: Sequence[Difference]) -> str:
    """Returns the answers that another protocol reads differently, in numbers, and the changes of means."""
    if not differing:
        return CHOICE.alike()
    read_there = sum(difference.row.decision.letter is None for difference in differing)
    read_here = sum(difference.other.letter is None for difference in differing)
    benchmark = choice_benchmark(here)
    pairs = benchmark.line_pairs(here, there)
    sheets = change_sheets(pairs, benchmark.words, here.protocol, there.protocol)
    return CHOICE.what_if(
        differing=len(differing),
        total=len(here.rows),
        read_there=read_there,
        read_here=read_here,
        judged=here.judge is not None,
        overall=sheet_html(sheets.overall),
        moved=len(sheets.changed.frame),
        changes=sheet_html(sheets.changed),
    )
