"""The list of a spec report's answers: each with its reading, its rule and its score."""

from collections.abc import Callable, Mapping, Sequence

from arena.locale import t, translated
from arena.markdown import visible_name
from scoring.benchmarks.spec_benchmark import outcome_words, unit_score
from scoring.rules.base import Item
from scoring.specs.derived import cell_members, cell_text
from scoring.specs.reading import case_of
from scoring.specs.report import ReadRow, SpecReport, has_truth, report_items, spec_of_report
from scoring.web.answer_list import AnswerList, Choice, Chosen
from scoring.web.report_parts import CHOICE, REPORT, Listed, listed_answers, replies_of

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


def _listed(report: SpecReport, chosen: Chosen) -> Listed:
    spec = spec_of_report(report)
    column = next(iter(spec.groups), "")
    fits = SHOWS.get(chosen.show, SHOWS["all answers"])

    def is_listed(row: ReadRow) -> bool:
        groups = cell_members(row.row.cells.get(column))
        is_in_group = not chosen.group or chosen.group in groups
        return is_in_group and fits(row, unit_score(spec, row))

    rows_with_items = zip(report.rows, report_items(report), strict=True)
    rows = [(row, item) for row, item in rows_with_items if is_listed(row)]
    return listed_answers(
        rows, len(report.rows), chosen.page, lambda pair: _item(report, pair[0], pair[1])
    )


def _item(report: SpecReport, row: ReadRow, item: Item) -> str:
    spec = spec_of_report(report)
    names = [cell_text(row.row.cells.get(column)) for column in spec.groups]
    about = " · ".join(filter(None, map(visible_name, names)))
    replies = list(map(REPORT.quoted, row.replies))
    heading = replies_of(row.model) if replies else ""
    case = case_of(spec, row.row.cells)
    baseline = case.rule.baseline_of(item) if case else None
    score = unit_score(spec, row)
    if baseline is not None and score is not None:
        kind, outcome = _against_baseline(score)
    else:
        kind, outcome = _outcome(row, has_truth(spec, item))
    words = translated(outcome_words(row.reading))
    return CHOICE.read_item(
        item, row.row.answer, baseline, about, kind, words, outcome, heading, replies
    )


def _against_baseline(score: float) -> tuple[str, str]:
    """The kind and words of a comparison; `score` is 0.5 for answers that are equally good."""
    if abs(score - 0.5) < 1e-9:
        return "open", t("report.as_good")
    if score > 0.5:
        return "right", t("report.better")
    return "wrong", t("report.worse")


def _outcome(row: ReadRow, can_be_scored: bool) -> tuple[str, str]:
    """The kind of an outcome, as its style names it, and its words."""
    score = row.reading.score
    if not can_be_scored:
        return "open", t("report.no_right_answer")
    if score is None:
        return "open", t("report.unscored")
    if score in (0, 1):
        return ("right", t("report.right")) if score else ("wrong", t("report.wrong"))
    return "open", t("report.partly", score=score)


def _groups(report: SpecReport) -> Sequence[Choice]:
    column = next(iter(spec_of_report(report).groups), "")
    cells = (row.row.cells.get(column) for row in report.rows) if column else ()
    names = dict.fromkeys(name for cell in cells for name in cell_members(cell) if name)
    listed = [(name, visible_name(name)) for name in sorted(names)[:_MOST_GROUPS]]
    return [("", t("report.every_group")), *listed]


READINGS = AnswerList("report.every_answer", SHOWS, _listed, "report.group", _groups)
