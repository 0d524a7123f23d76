"""VQA answers as their report lists them: exact match beside the judge's marks."""

from collections import Counter
from collections.abc import Callable, Mapping

from scoring.benchmarks.vqa import MarksReport, outcome_words, same_as_reference
from scoring.benchmarks.vqa_answers import VQAnswer
from scoring.report import Grade
from scoring.web.answer_list import AnswerList
from scoring.web.report_parts import CHOICE, REPORT, Listed, listed_answers

SHOWS: Mapping[str, Callable[[bool | None, float | None], bool]] = {
    "all answers": lambda same, mark: True,
    "exact match": lambda same, mark: same is True,
    "no exact match": lambda same, mark: same is False,
    "marked 1 or 2": lambda same, mark: mark is not None and mark <= 2,
    "marked, no exact match": lambda same, mark: mark is not None and same is False,
    "not marked": lambda same, mark: mark is None,
}
_KINDS = {True: "right", False: "wrong", None: "open"}


def list_marks(report: MarksReport, show: str = "all answers", page: int = 1) -> Listed:
    """Return one page of the matching answers: references, answer, mark and replies; a filter must exist to count."""
    grades = {grade.question: grade for grade in report.grades}
    marks = {grade.question: grade.score for grade in report.grades}
    fits = SHOWS.get(show, SHOWS["all answers"])
    rows = [row for row in report.rows if fits(same_as_reference(report, row), marks.get(row.id))]
    return listed_answers(
        rows, len(report.rows), page, lambda row: _item(report, row, grades.get(row.id))
    )


MARKS = AnswerList(
    "Every answer", SHOWS, lambda report, chosen: list_marks(report, chosen.show, chosen.page)
)


def _item(report: MarksReport, row: VQAnswer, grade: Grade | None) -> str:
    kind = _KINDS[same_as_reference(report, row)]
    words = outcome_words(report, row)
    references = Counter(row.answers)
    if grade is None:
        return CHOICE.marked_item(row, kind, words, "", references, "", [])
    mark = "not marked" if grade.score is None else f"mark {grade.score:.0f}"
    asked = f"Replies of {grade.model or 'the judge'}{f' ({grade.reason})' if grade.reason else ''}"
    return CHOICE.marked_item(
        row, kind, words, mark, references, asked, list(map(REPORT.quoted, grade.replies))
    )
