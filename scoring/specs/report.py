"""A report of a spec: the spec itself, every answer with its reading, and the figures computed from them."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from pydantic import StrictInt

from arena.types import grouped
from scoring.intervals import UNIT, Ends
from scoring.judges.spec import ShownImage
from scoring.multiple_choice.reader import Problem
from scoring.no_answers import no_answer, unscored_because
from scoring.report import JudgeStamp, QuestionStamp, ScoreLine, line, mostly_unread, remembered
from scoring.rules.base import (
    TOOLKITS,
    Item,
    Judged,
    Reading,
    RuleKind,
    RuleProtocol,
    accepted_answers,
)
from scoring.rules.judging import is_reply_read
from scoring.specs.derived import cell_members
from scoring.specs.figure_values import figure_line
from scoring.specs.figures import Figure
from scoring.specs.reading import SpecRow, case_of, derived_rows, items_of, with_id
from scoring.specs.schema import Spec, spec_from_json
from scoring.specs.scored_rows import ScoredRows, scored_rows

NO_GROUP = "(none)"
NO_CASE = "no case of the rule fits"
NO_TRUTH = "no right answer to grade it by"
_LOST = Reading(None, "", "most of the judge's replies could not be read")
MOST_GROUPS = 500
"""The most groups of a column for which each group has its figures."""


@dataclass(frozen=True, slots=True)
class ReadRow:
    """An answer with its reading."""

    row: SpecRow
    reading: Reading
    no_answer: str = ""
    """Why the prediction is no answer of a model; "" for an answer."""
    replies: tuple[str, ...] = ()
    """The judge's replies, in order."""
    model: str = ""
    """Name the server gave the judge that replied last."""
    shown: tuple[ShownImage, ...] = ()
    """The question's pictures, where the judge was shown them."""


@dataclass(frozen=True)
class SpecReport:
    """A file of answers scored by a spec, which it carries."""

    benchmark: str
    protocol: RuleProtocol
    title: str
    file: str
    created: str
    judge: JudgeStamp | None
    spec: str
    """The spec in normal form, as JSON."""
    rows: tuple[ReadRow, ...]
    problems: tuple[Problem, ...]
    missing: StrictInt = 0
    """Questions of the question file without an answer; 0 too without such a file."""
    canary_seed: str = ""
    """The seed of the draw of questions that get canaries as answers; "" if no canary tests the judge."""
    canaries: tuple[Judged, ...] = ()
    """The judge's outcomes for canaries: answers that deserve nothing."""
    questions: QuestionStamp | None = None
    """The question file; None where the file itself holds its questions."""

    @property
    def left(self) -> int:
        """Number of answers that a judge still has to read."""
        return sum(row.reading.is_open for row in self.rows)


@remembered
def spec_of_report(report: SpecReport) -> Spec:
    return spec_from_json(report.spec)


def read_rows(
    spec: Spec,
    rows: Sequence[SpecRow],
    protocol: RuleProtocol,
    watch: Callable[[Iterable[Item]], Iterable[Item]] = iter,
) -> tuple[ReadRow, ...]:
    """Reads the answers by the spec's rule.

    `watch` passes the questions on, each just before its answer is read. It may raise to stop the reading.
    """
    items = watch(items_of(spec, rows, protocol))
    return tuple(read_row(spec, row, item, protocol) for row, item in zip(rows, items, strict=True))


def read_row(spec: Spec, row: SpecRow, item: Item, protocol: RuleProtocol) -> ReadRow:
    """Reads an answer by the spec's rule. Under `strict`, text that is no answer of a model is unscored."""
    reason = no_answer(row.answer, reference_texts(spec, item))
    if reason and protocol == "strict":
        return ReadRow(row, _no_answer_reading(reason), reason)
    case = case_of(spec, row.cells)
    if case is None:
        return ReadRow(row, Reading(None, "", NO_CASE), reason)
    # A rule that compares reads the answer even without a truth, and gives it no score.
    if not (case.rule.is_compared or has_truth(spec, item)):
        return ReadRow(row, Reading(None, "", NO_TRUTH), reason)
    return ReadRow(row, case.rule.reading(item, row.answer, protocol), reason)


@remembered
def under_protocol(report: SpecReport, protocol: RuleProtocol) -> SpecReport:
    """The same file under another protocol, by its rules alone."""
    rows = [row.row for row in report.rows]
    read = read_rows(spec_of_report(report), rows, protocol)
    return replace(report, protocol=protocol, judge=None, rows=read)


def truth_of(spec: Spec, item: Item) -> str | None:
    """The right answer that a question's rule compares with; None without one."""
    case = case_of(spec, item.cells)
    return case.rule.truth_of(item) if case else item.truth


def reference_texts(spec: Spec, item: Item) -> list[str]:
    """The texts that are answers whatever they look like: each right answer, and the options that a model is shown."""
    case = case_of(spec, item.cells)
    options = case.rule.shown_options(item) if case else item.options
    return [*accepted_answers(truth_of(spec, item) or ""), *options.values()]


def has_truth(spec: Spec, item: Item) -> bool:
    """Whether a question can be scored: it has a truth, or its spec or rule needs none."""
    case = case_of(spec, item.cells)
    column = spec.columns.truth
    if case and case.rule.truth is not None:
        column = case.rule.truth
    if column is None or (case and "truth" not in case.rule.required):
        return True
    return truth_of(spec, item) is not None


def wrong_truth(spec: Spec, item: Item) -> str:
    """Returns why `strict` can't score a question by its right answer, as the end of a sentence; "" if it can."""
    case = case_of(spec, item.cells)
    return case.rule.wrong_truth(item) if case else ""


@remembered
def report_items(report: SpecReport) -> Sequence[Item]:
    """The questions of a report's rows."""
    rows = [row.row for row in report.rows]
    return items_of(spec_of_report(report), rows, report.protocol)


class RuledRow(NamedTuple):
    """An answer with its question and the rule that reads it."""

    row: ReadRow
    item: Item
    rule: RuleKind


def ruled_rows(report: SpecReport) -> Iterator[RuledRow]:
    """Yields the answers that a case of the spec's rule fits."""
    spec = spec_of_report(report)
    for row, item in zip(report.rows, report_items(report), strict=True):
        case = case_of(spec, row.row.cells)
        if case is not None:
            yield RuledRow(row, item, case.rule)


def final_report(report: SpecReport) -> SpecReport:
    """The report if no judge will complete it, for readers who must not learn the right answers.

    Under `strict`, whether an answer has a score can depend on the right answer. Here it can't. An answer that is
    unread because it is unlike the right one counts as wrong. A text that looks like no answer of a model has no score,
    even if the right answer is the same text.
    """
    if report.protocol != "strict":
        return report
    spec = spec_of_report(report)
    rows = [
        _final_row(spec, row, item)
        for row, item in zip(report.rows, report_items(report), strict=True)
    ]
    return replace(report, rows=tuple(rows))


def _final_row(spec: Spec, row: ReadRow, item: Item) -> ReadRow:
    case = case_of(spec, row.row.cells)
    if case is None or not has_truth(spec, item):
        return row
    reason = no_answer(row.row.answer, case.rule.shown_options(item).values())
    if reason:
        return replace(row, reading=_no_answer_reading(reason), no_answer=reason)
    if row.reading.score is None and row.reading.why in case.rule.truth_reasons:
        return replace(row, reading=replace(row.reading, score=0.0, is_open=False))
    return row


def _no_answer_reading(reason: str) -> Reading:
    return Reading(None, "", unscored_because(reason))


def lost_judging(report: SpecReport, unit: str = "answer") -> str:
    """A sentence saying that most of the judge's replies could not be read; "" if they could."""
    judged_rows = [row for row in report.rows if row.replies]
    unread = sum(not is_reply_read(row.reading) for row in judged_rows)
    return mostly_unread(unread, len(judged_rows), unit)


@remembered
def scored_rows_of_report(report: SpecReport) -> ScoredRows:
    """The rows that can be scored, with the columns that figures, groups and splits name.

    An answer has a row for each member of a cell that is split. If most of the judge's replies could not be read, those
    that could don't count either, except under the toolkits' protocols.
    """
    spec = spec_of_report(report)
    rows = [*_scorable_rows(report)]
    cell_lists = {
        column: [_group_cell(row.cells.get(column)) for row in rows]
        for column in _cell_columns(spec)
        if any(column in row.cells for row in rows)
    }
    mark_fields = _mark_fields(spec, [row.reading.marks for row in rows])
    return scored_rows(
        scores=[row.reading.score for row in rows],
        reads=[row.reading.read for row in rows],
        truths=[row.truth for row in rows],
        pictures=_picture_names(rows),
        cells=cell_lists,
        answers=[row.answer_number for row in rows],
        options=[row.option_count for row in rows],
        ends=score_ends(spec),
        is_unread_no=report.protocol == "vlmevalkit",
        **mark_fields,
    )


class _ScorableRow(NamedTuple):
    """An answer, or one of the rows that it becomes where its question's cells are split."""

    answer_number: int
    picture: str
    reading: Reading
    item: Item
    cells: Mapping[str, Any]
    """With the derived columns."""
    truth: str
    """In the words of the rule's readings."""
    option_count: int


def _scorable_rows(report: SpecReport) -> Iterator[_ScorableRow]:
    spec = spec_of_report(report)
    is_lost = report.protocol not in TOOLKITS and bool(lost_judging(report))
    for number, (row, item) in enumerate(zip(report.rows, report_items(report), strict=True)):
        if not has_truth(spec, item):
            continue
        reading = _LOST if is_lost and row.replies else row.reading
        case = case_of(spec, item.cells)
        truth = case.rule.read_truth(item, report.protocol) if case else item.truth or ""
        options = case.rule.shown_options(item) if case else item.options
        for cells in derived_rows(spec, with_id(spec, row.row), report.protocol):
            yield _ScorableRow(
                answer_number=number,
                picture=row.row.picture,
                reading=reading,
                item=item,
                cells=cells,
                truth=truth,
                option_count=len(options),
            )


def _picture_names(rows: Sequence[_ScorableRow]) -> list[str]:
    """The rows' pictures. A split answer without a picture gets a made-up name, so that its rows vary together."""
    answers = {row.answer_number for row in rows}
    if len(rows) == len(answers):
        return [row.picture for row in rows]
    return [row.picture or f"row {row.item.id}" for row in rows]


def score_ends(spec: Spec) -> Ends:
    """The lowest and the highest score that a spec's rules give."""
    ends = [case.rule.ends for case in spec.rule]
    return Ends(min(end.low for end in ends), max(end.high for end in ends))


def _mark_fields(spec: Spec, marks: Sequence[tuple[float, ...]]) -> Mapping[str, Any]:
    """The fields of `ScoredRows` on marks: NaN where a judge gave none; no fields if the rules give no marks."""
    mark_ends = _mark_ends(spec)
    if mark_ends is None:
        return {}
    count = max(case.rule.mark_count for case in spec.rule)
    no_marks = (math.nan,) * count
    filled = [row_marks if len(row_marks) == count else no_marks for row_marks in marks]
    return {"marks": np.array(filled).reshape(-1, count), "mark_ends": mark_ends}


def _mark_ends(spec: Spec) -> Ends | None:
    """The lowest and the highest mark that a spec's rules give; None if they give none."""
    ends = [case.rule.mark_ends for case in spec.rule if case.rule.mark_ends]
    if not ends:
        return None
    return Ends(min(end.low for end in ends), max(end.high for end in ends))


def _cell_columns(spec: Spec) -> list[str]:
    """The columns that figures, groups and splits name."""
    names = [*spec.groups]
    if spec.splits:
        names.append(spec.splits)
    for figure in spec.figures.values():
        names += [*figure.columns, *figure.condition_columns]
    return list(dict.fromkeys(names))


def _group_cell(cell: object) -> str | tuple[str, ...]:
    """The group that a cell puts its row in, or its several groups."""
    names = [*dict.fromkeys(name.strip() for name in cell_members(cell))]
    return tuple(names) if len(names) > 1 else names[0]


class GroupLines(NamedTuple):
    """The figures of a group of rows, by their names."""

    name: str
    lines: Mapping[str, ScoreLine]


@remembered
def figure_lines(report: SpecReport) -> Mapping[str, ScoreLine]:
    """Every figure of the protocol, over all rows that can be scored."""
    return lines_of(report, scored_rows_of_report(report))


def lines_of(report: SpecReport, rows: ScoredRows) -> Mapping[str, ScoreLine]:
    """Every figure of the protocol, over these of a report's rows."""
    figures = spec_of_report(report).figures
    return {name: figure_line(name, rows, figures) for name in figures_with_columns(report)}


def figures_with_columns(report: SpecReport) -> Mapping[str, Figure]:
    """The figures of the protocol that the file has the columns for."""
    spec = spec_of_report(report)
    columns = scored_rows_of_report(report).cells
    return {
        name: figure
        for name, figure in spec.figures_under(report.protocol).items()
        if all(column in columns for column in spec.needed_columns(name))
    }


def whole_ends(report: SpecReport) -> Ends | None:
    """The lowest and the highest value of the headline once every question has an answer.

    None if `why_unbounded` has a reason.
    """
    if why_unbounded(report):
        return None
    spec = spec_of_report(report)
    name = head_figure(report)
    figure = spec.figures[name]
    head_line = figure_lines(report)[name]
    ends = _row_ends(spec, figure)
    least = figure.factor * ends.low
    most = figure.factor * ends.high
    if figure.count is not None:  # a sum over the questions, not a mean
        return Ends(
            head_line.worst + report.missing * least,
            head_line.best + report.missing * most,
        )
    questions = head_line.n + report.missing
    return Ends(
        (head_line.n * head_line.worst + report.missing * least) / questions,
        (head_line.n * head_line.best + report.missing * most) / questions,
    )


def _row_ends(spec: Spec, figure: Figure) -> Ends:
    """The lowest and the highest score that a figure counts for a row."""
    if figure.above is not None:
        return UNIT
    mark_ends = _mark_ends(spec)
    if figure.mark is not None and mark_ends is not None:
        return mark_ends
    return score_ends(spec)


def why_unbounded(report: SpecReport) -> str:
    """Why the headline has no bounds over all questions, as the end of a sentence; "" if it has some.

    A report keeps no cell of the questions without an answer.
    """
    spec = spec_of_report(report)
    figure = spec.figures[head_figure(report)]
    if figure.positive is not None:
        return f"it also depends on how many of the other right answers are {figure.positive}"
    if figure.all is not None:
        return "a question without an answer can undo others that it counts together with"
    if figure.parts or figure.group_columns:
        return "it's made of scores of groups, and the others' groups aren't known"
    if figure.condition_columns:
        return "it counts only some questions, and it isn't known which of the others"
    if any(derived.split for derived in spec.derive.values()):
        return "a question counts once in each of its groups, and the others' groups aren't known"
    if figure.ratio is not None:
        return "it also depends on the baseline's marks for the others"
    return ""


@remembered
def grouped_lines(report: SpecReport, column: str, split: str) -> Sequence[GroupLines]:
    """The figures of each of a column's groups; of one split's rows alone, or of all ("").

    Empty if the file has no such column, or if it has more than `MOST_GROUPS` groups.
    """
    spec = spec_of_report(report)
    rows = scored_rows_of_report(report)
    if column not in rows.cells or len(rows.groups(column)) > MOST_GROUPS:
        return ()
    split_mask = rows.groups(spec.splits)[split] if split and spec.splits else rows.all_rows
    lines = []
    for name, mask in rows.groups(column).items():
        group_mask = split_mask & mask
        if group_mask.any():
            group_rows = rows.within(group_mask)
            lines.append(GroupLines(name or NO_GROUP, lines_of(report, group_rows)))
    return lines


@remembered
def splits_of(report: SpecReport) -> Sequence[str]:
    """The splits that the rows are of; none where the spec or the file has no such column."""
    column = spec_of_report(report).splits
    rows = scored_rows_of_report(report)
    return [*rows.groups(column)] if column and column in rows.cells else []


@remembered
def no_answer_lines(report: SpecReport) -> Sequence[ScoreLine]:
    """Returns the scores of predictions that are no answer of a model, by the reason."""
    reasons = grouped((row.no_answer, row.reading.score) for row in report.rows if row.no_answer)
    ends = score_ends(spec_of_report(report))
    lines = []
    for reason, scores in reasons.items():
        values = np.array([[np.nan if score is None else score] for score in scores])
        lines.append(line(reason, values, scale=ends))
    return lines


def head_figure(report: SpecReport) -> str:
    """Returns the name of the headline figure: the spec's, or the first with a value if the spec's has no value."""
    figures = figures_with_columns(report)
    score_lines = {
        name: score_line
        for name, score_line in figure_lines(report).items()
        if not figures[name].is_guess
    }
    headline = spec_of_report(report).headline_under(report.protocol)
    names_with_value = [
        name for name, score_line in score_lines.items() if score_line.mean is not None
    ]
    names = names_with_value or [*score_lines]
    return headline if headline in names else names[0]


class PartialSum(NamedTuple):
    """A figure that sums over groups of which the file has only some."""

    figure: str
    groups_present: int
    groups: int


def partial_sums(report: SpecReport) -> Iterator[PartialSum]:
    rows = scored_rows_of_report(report)
    for name, figure in figures_with_columns(report).items():
        if figure.over is None or figure.among is None or figure.over not in rows.cells:
            continue
        present = {*figure.among} & rows.groups(figure.over).keys()
        if 0 < len(present) < len(figure.among):
            yield PartialSum(name, len(present), len(figure.among))
