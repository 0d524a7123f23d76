"""The submission of a spec's report: answers to questions whose right answers are with their authors."""

from collections.abc import Iterator, Mapping

from scoring.benchmarks.submission import Form, ServerSubmission, SubmittedAnswer
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.multiple_choice.types import NONE
from scoring.report import file_stem
from scoring.rules.base import Item
from scoring.specs.derived import cell_text
from scoring.specs.reading import case_of, split_of
from scoring.specs.report import ReadRow, SpecReport, has_truth, report_items, spec_of_report
from scoring.specs.schema import Spec
from scoring.specs.trees import truth_columns

_IDS: Mapping[Form, str] = {"json map": "id", "json list": "questionId"}
"""The columns with the server's ids of questions; without one, the ids of the question file are used."""


def spec_submission(report: SpecReport) -> ServerSubmission | None:
    """Returns the answers of splits without right answers, in the spec's form; None without such answers or a form."""
    spec = spec_of_report(report)
    if spec.submission is None:
        return None
    rows = [*zip(report.rows, report_items(report), strict=True)]
    scored_splits = {split_of(spec, item.cells) for _, item in rows if has_truth(spec, item)}
    hidden_rows = [
        (row, item) for row, item in rows if split_of(spec, item.cells) not in scored_splits
    ]
    if not hidden_rows:
        return None
    splits = tuple(dict.fromkeys(split_of(spec, item.cells) for _, item in hidden_rows))
    answers = [_submitted_answer(spec, spec.submission, row, item) for row, item in hidden_rows]
    return ServerSubmission(spec.submission, file_stem(report.file), splits, answers)


def _submitted_answer(spec: Spec, form: Form, row: ReadRow, item: Item) -> SubmittedAnswer:
    """Returns the answer to a question as its rule submits it; the model's own words without a rule for it."""
    case = case_of(spec, item.cells)
    answer = row.row.answer
    if case:
        answer = case.rule.submission_text(item, answer, row.reading.read)
    id_column = _IDS.get(form)
    server_id = cell_text(item.cells.get(id_column)).strip() if id_column else ""
    return SubmittedAnswer(server_id or item.id, answer, dict(_cells(spec, row, item)))


def _cells(spec: Spec, row: ReadRow, item: Item) -> Iterator[tuple[str, object]]:
    """Yields the cells of VLMEvalKit's table: the question's without its pictures, then the model's answer."""
    left_out = {*IMAGE_COLUMNS, *(spec.columns.images or ()), *truth_columns(spec)}
    yield "index", item.id
    for name, cell in item.cells.items():
        if name not in left_out and name != spec.columns.id:
            yield name, cell_text(cell)
    yield "prediction", row.row.answer
    if "letter" in spec.kinds:
        yield "opt", row.reading.read or NONE
