"""The list of a spec report's answers: each with its reading, its rule and its score."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from arena.locale import t, translated
from arena.markdown import visible_name
from scoring.benchmarks.spec_benchmark import outcome_words, unit_score
from scoring.rules.base import Item
from scoring.specs.derived import cell_members
from scoring.specs.reading import case_of, derived_rows, with_id
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
    "all answers": lambda read_row, score: True,
    "right": lambda read_row, score: score == 1,
    "partly right": lambda read_row, score: score is not None and 0 < score < 1,
    "wrong": lambda read_row, score: score == 0,
    "not read": lambda read_row, score: not read_row.reading.read,
    "left to a judge": lambda read_row, score: read_row.reading.is_open or bool(read_row.replies),
}
"""Filters of an answer and its score from 0 to 1 (`unit_score`)."""
_MOST_GROUPS = 300
"""Groups that the filter offers."""


class _ListedRow(NamedTuple):
    """An answer that fits the filters, with its question."""

    read_row: ReadRow
    item: Item


def _list_page(report: SpecReport, chosen: Chosen) -> ListPage:
    spec = spec_of_report(report)
    column = _group_column(spec)
    fits = SHOWS.get(chosen.show, SHOWS["all answers"])

    def is_listed(read_row: ReadRow) -> bool:
        if chosen.group and chosen.group not in _groups_of_row(report, read_row, column):
            return False
        return fits(read_row, unit_score(case_of(spec, read_row.row.cells), read_row))

    rows_with_items = zip(report.rows, report_items(report), strict=True)
    listed_rows = [
        _ListedRow(read_row, item) for read_row, item in rows_with_items if is_listed(read_row)
    ]
    return list_answers(
        listed_rows, len(report.rows), chosen.page, lambda listed: _answer_html(report, listed)
    )


def _answer_html(report: SpecReport, listed: _ListedRow) -> str:
    spec = spec_of_report(report)
    item = listed.item
    read_row = listed.read_row
    file_row = read_row.row
    names = [", ".join(_groups_of_row(report, read_row, column)) for column in spec.groups]
    about = " · ".join(filter(None, map(visible_name, names)))
    replies = list(map(REPORT.quoted, read_row.replies))
    case = case_of(spec, file_row.cells)
    baseline = case.rule.baseline_of(item) if case else None
    score = unit_score(case, read_row)
    if baseline is not None and score is not None:
        outcome = _comparison_outcome(score)
    else:
        outcome = _outcome(score, has_truth(spec, item))
    return CHOICE.read_item(
        item=item,
        prediction=file_row.answer,
        baseline=baseline,
        about=about,
        kind=outcome.kind,
        reading=translated(outcome_words(read_row.reading)),
        outcome=outcome.words,
        replies_heading=replies_heading(read_row.model) if replies else "",
        replies=replies,
    )


def _comparison_outcome(score: float) -> OutcomeText:
    """The outcome of a comparison with a baseline; `score` is 0.5 for answers that are equally good."""
    if abs(score - 0.5) < 1e-9:
        return OutcomeText("open", t("report.as_good"))
    if score > 0.5:
        return OutcomeText("right", t("report.better"))
    return OutcomeText("wrong", t("report.worse"))


def _outcome(score: float | None, can_be_scored: bool) -> OutcomeText:
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


def _groups_of_row(report: SpecReport, read_row: ReadRow, column: str) -> Sequence[str]:
    """The groups of a column, which may be derived, that an answer counts in."""
    spec = spec_of_report(report)
    rows: Sequence[Mapping[str, Any]] = [read_row.row.cells]
    if column in spec.derive:
        rows = derived_rows(spec, with_id(spec, read_row.row), report.protocol)
    names = [name.strip() for cells in rows for name in cell_members(cells.get(column))]
    return [*dict.fromkeys(names)]


def _groups(report: SpecReport) -> Sequence[Choice]:
    column = _group_column(spec_of_report(report))
    names: set[str] = set()
    if column:
        for read_row in report.rows:
            names.update(_groups_of_row(report, read_row, column))
    choices = [Choice(name, visible_name(name)) for name in sorted(names - {""})[:_MOST_GROUPS]]
    return [Choice("", t("report.every_group")), *choices]


READINGS = AnswerList(
    title="report.every_answer",
    shows=SHOWS,
    list_page=_list_page,
    group="report.group",
    groups=_groups,
)
