"""The list of a spec report's answers: each with its reading, its rule and its score."""

from collections.abc import Callable, Mapping, Sequence

from arena.locale import t, translated
from arena.markdown import visible_name
from scoring.benchmarks.spec_benchmark import outcome_words, unit_score
from scoring.rules.base import Item
from scoring.specs.derived import cell_members, cell_text
from scoring.specs.reading import case_of
from scoring.specs.report import ReadRow, SpecReport, has_truth, report_items, spec_of_report
from scoring.specs.schema import Spec
from scoring.web.answer_list import AnswerList, Choice, Chosen
from scoring.web.report_parts import (
    CHOICE,
    REPORT,
    ListPage,
    OutcomeText,
    list_answers,
    replies_heading,
)

SHOWS: Mapping[str, Callable[[ReadRow, float | None], bool]] = {
    "all answers": lambda row, score: True,
    "right": lambda row, score: score == 1,
    "partly right": lambda row, score: score is not None and 0 < score < 1,
    "wrong": lambda row, score: score == 0,
    "not read": lambda row, score: not row.reading.read,
    "left to a judge": lambda row, score: row.reading.is_open or bool(row.replies),
}
"""Filters of an answer and its score from 0 to 1."""
_MOST_GROUPS = 300
"""Groups that the filter offers."""


def _list_page(report: SpecReport, chosen: Chosen) -> ListPage:
    spec = spec_of_report(report)
    column = _group_column(spec)
    fits = SHOWS.get(chosen.show, SHOWS["all answers"])

    def is_listed(row: ReadRow) -> bool:
        groups = cell_members(row.row.cells.get(column))
        is_in_group = not chosen.group or chosen.group in groups
        return is_in_group and fits(row, unit_score(spec, row))

    rows_with_items = zip(report.rows, report_items(report), strict=True)
    rows = [(row, item) for row, item in rows_with_items if is_listed(row)]
    return list_answers(
        rows, len(report.rows), chosen.page, lambda answer: _answer_html(report, *answer)
    )


def _answer_html(report: SpecReport, row: ReadRow, item: Item) -> str:
    spec = spec_of_report(report)
    names = [cell_text(row.row.cells.get(column)) for column in spec.groups]
    about = " · ".join(filter(None, map(visible_name, names)))
    replies = list(map(REPORT.quoted, row.replies))
    heading = replies_heading(row.model) if replies else ""
    case = case_of(spec, row.row.cells)
    baseline = case.rule.baseline_of(item) if case else None
    score = unit_score(spec, row)
    if baseline is not None and score is not None:
        outcome = _comparison_outcome(score)
    else:
        outcome = _outcome(row, has_truth(spec, item))
    words = translated(outcome_words(row.reading))
    return CHOICE.read_item(
        item, row.row.answer, baseline, about, outcome.kind, words, outcome.words, heading, replies
    )


def _comparison_outcome(score: float) -> OutcomeText:
    """The outcome of a comparison with a baseline; `score` is 0.5 for answers that are equally good."""
    if abs(score - 0.5) < 1e-9:
        return OutcomeText("open", t("report.as_good"))
    if score > 0.5:
        return OutcomeText("right", t("report.better"))
    return OutcomeText("wrong", t("report.worse"))


def _outcome(row: ReadRow, can_be_scored: bool) -> OutcomeText:
    score = row.reading.score
    if not can_be_scored:
        return OutcomeText("open", t("report.no_right_answer"))
    if score is None:
        return OutcomeText("open", t("report.unscored"))
    if score == 1:
        return OutcomeText("right", t("report.right"))
    if score == 0:
        return OutcomeText("wrong", t("report.wrong"))
    return OutcomeText("open", t("report.partly", score=score))


def _group_column(spec: Spec) -> str:
    """The column whose groups filter the list, the spec's first; "" if it has none."""
    return next(iter(spec.groups), "")


def _groups(report: SpecReport) -> Sequence[Choice]:
    column = _group_column(spec_of_report(report))
    names: set[str] = set()
    if column:
        for row in report.rows:
            names.update(cell_members(row.row.cells.get(column)))
    choices = [Choice(name, visible_name(name)) for name in sorted(names - {""})[:_MOST_GROUPS]]
    return [Choice("", t("report.every_group")), *choices]


READINGS = AnswerList("report.every_answer", SHOWS, _list_page, "report.group", _groups)
