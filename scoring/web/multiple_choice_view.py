"""The list of a multiple-choice report's answers, also as another protocol reads them."""

from collections.abc import Sequence

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

EVERY = "every ability"
MOST_CATEGORIES = 300

reread = remembered(under_protocol)


def file_notes(report: ChoiceReport) -> str:
    """Returns the problems of the file, folded."""
    tables = choice_benchmark(report).tabulated(report)
    return folded_problems_html((*tables.problems, *report.problems))


def _categories(report: ChoiceReport) -> list[Choice]:
    words = choice_benchmark(report).words
    names = {row.question.category for row in report.rows if row.question.category}
    choices = [(name, visible_name(words(name))) for name in sorted(names)[:MOST_CATEGORIES]]
    return [("", EVERY), *choices]


def _listed(report: ChoiceReport, chosen: Chosen) -> Listed:
    """Returns the list; answers that another protocol reads differently are listed with the effect on the score."""
    others: list[Protocol] = [
        protocol for protocol in PROTOCOL_WORDS if protocol != report.protocol
    ]
    by_name: dict[str, Protocol] = {other: other for other in others}
    protocol = by_name.get(chosen.protocol, others[0])
    there = reread(report, protocol) if chosen.show == DIFFERS else None
    listed = list_choices(
        report.rows,
        there.rows if there else (),
        protocol,
        chosen.show or ALL,
        chosen.group,
        chosen.page,
        choice_benchmark(report).words,
    )
    if there is None:
        return listed
    links = [
        (chosen.address(protocol=other), PROTOCOL_WORDS[other], other == protocol)
        for other in others
    ]
    changed = what_if_html(report, there, differences(report.rows, there.rows))
    return listed._replace(html=CHOICE.read_by(links, changed, listed.html))


CHOICES = AnswerList("Every answer", SHOWS, _listed, "Ability", _categories)


def what_if_html(here: ChoiceReport, there: ChoiceReport, parted: Sequence[Difference]) -> str:
    if not parted:
        return CHOICE.alike()
    read = sum(difference.row.decision.letter is None for difference in parted)
    lost = sum(difference.other.letter is None for difference in parted)
    benchmark = choice_benchmark(here)
    pairs = benchmark.pairs(here, there)
    head, moved = change_sheets(pairs, benchmark.words, here.protocol, there.protocol)
    return CHOICE.what_if(
        parted=len(parted),
        total=len(here.rows),
        read=read,
        lost=lost,
        judged=here.judge is not None,
        overall=sheet_html(head),
        moved=len(moved.frame),
        changes=sheet_html(moved),
    )
