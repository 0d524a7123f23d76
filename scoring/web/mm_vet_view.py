"""MM-Vet's questions as its report lists them."""

from collections.abc import Callable, Mapping
from statistics import fmean

from arena.locale import t, translated
from arena.templates import macros
from scoring.benchmarks.mm_vet_questions import ALL_CAPABILITIES, truth_words
from scoring.benchmarks.mm_vet_tables import capability_words, score_tables
from scoring.report import Grade, Report, Row
from scoring.web.answer_list import AnswerList, Choice
from scoring.web.report_parts import ListPage, list_answers

TEMPLATE = macros("mm_vet.html")
DISAGREEMENT = 0.2
"""Runs disagree when a question's best and worst scores differ by at least this."""
SHOWS: Mapping[str, Callable[[Row], bool]] = {
    "all questions": lambda row: True,
    "unscored": lambda row: row.answered and len(_scores(row)) < len(row.grades),
    "flagged": lambda row: bool(flags_of(row)),
    "runs disagree": lambda row: _spread(row) >= DISAGREEMENT,
    "below 0.5": lambda row: bool(_scores(row)) and fmean(_scores(row)) < 0.5,
    "not from the model": lambda row: bool(row.no_answer),
    "no prediction": lambda row: not row.answered,
}
"""Filters by name, with their conditions."""


def list_questions(
    report: Report, show: str = "all questions", group: str = "", page: int = 1
) -> ListPage:
    """Returns one page of the matching questions; `group`: a capability. An unknown filter counts as not chosen."""
    fits = SHOWS.get(show, SHOWS["all questions"])
    rows = [
        row
        for row in report.rows
        if fits(row) and (group not in ALL_CAPABILITIES or group in row.question.groups)
    ]
    return list_answers(rows, len(report.rows), page, _question_html, "questions")


def _capabilities(report: Report) -> list[Choice]:
    capabilities = score_tables(report).capabilities
    lines = capabilities.lines[:-1]  # without the total
    choices = [Choice(line.name, translated(capability_words(line.name))) for line in lines]
    return [Choice("", t("report.every_capability")), *choices]


QUESTIONS = AnswerList(
    title="report.every_question",
    shows=SHOWS,
    list_page=lambda report, chosen: list_questions(report, chosen.show, chosen.group, chosen.page),
    group="report.capability",
    groups=_capabilities,
)


def flags_of(row: Row) -> tuple[str, ...]:
    """Returns the flags of an answer and of its grades, each once."""
    flags = [*row.flags]
    for grade in row.grades:
        flags += grade.flags
    return tuple(dict.fromkeys(flags))


def _scores(row: Row) -> list[float]:
    return [grade.score for grade in row.grades if grade.score is not None]


def _spread(row: Row) -> float:
    """Returns the difference between the best and the worst score; 0 without scores."""
    scores = _scores(row)
    difference = max(scores, default=0.0) - min(scores, default=0.0)
    # 0.7 - 0.5 is a little less than 0.2.
    return round(difference, 9)


def _question_html(row: Row) -> str:
    scores_text = " ".join(_score_text(grade, "–") for grade in row.grades) or "–"
    grades_html = [
        TEMPLATE.grade(_score_text(grade, t("report.unscored")), grade.reason, grade.replies)
        for grade in row.grades
    ]
    group_words = [translated(capability_words(group)) for group in row.question.groups]
    return TEMPLATE.item(
        row,
        truth_words(row.question.truth),
        group_words,
        flags_of(row),
        scores_text,
        grades_html,
    )


def _score_text(grade: Grade, unscored: str) -> str:
    if grade.score is None:
        return unscored
    has_one_place = round(grade.score, 1) == grade.score
    return f"{grade.score:.1f}" if has_one_place else f"{grade.score:g}"
