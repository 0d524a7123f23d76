"""VQA report as HTML: exact match beside the judge's marks, MMBench's Table 3, and every answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, get_args

from scoring.benchmarks.choice_report import MarksReport
from scoring.benchmarks.vqa import Marks, VQAnswer, VQAReport, normal, published
from scoring.report import Grade
from scoring.web.audit_view import ROWS_A_PAGE, pages_of
from scoring.web.multiple_choice_view import Total, number, opening_html, total_html

Show = Literal["all answers", "exact match", "no exact match", "marked 1 or 2", "marked, no exact match", "not marked"]
SHOWS: Mapping[str, Show] = {show: show for show in get_args(Show)}


@dataclass(frozen=True)
class MarksFilter:
    """Filter of the audit."""

    show: Show = "all answers"
    page: int = 1


def marks_totals_html(found: VQAReport) -> str:
    """Return exact match, VQA accuracy and the mean mark, side by side."""
    marks = found.marks
    interval = "" if marks.low is None else f"95% interval {marks.low:.2f} to {marks.high:.2f}"
    mean = "–" if marks.mean is None else f"{marks.mean:.2f}"
    notes = (interval, f"{marks.n - marks.unscored:,} of {marks.n:,} marked")
    shares = (Total("Exact match", found.exact), Total("VQA accuracy", found.consensus))
    items = "".join(map(total_html, shares)) + opening_html("Mean mark, 1 to 5", mean, notes)
    return f'<dl class="totals">{items}</dl>'


def mark_counts_html(marks: Marks) -> str:
    """Return how often each mark was given."""
    total = sum(marks.times.values())
    if not total:
        return '<p class="empty">No marks yet: no judge was asked.</p>'
    most = max(marks.times.values())
    rows = "".join(
        f'<tr><th scope="row">{mark}</th><td class="predicted"><span style="--share:{times / most:.3f}"></span>'
        f"<b>{100 * times / total:.1f}%</b> <small>{times:,}</small></td></tr>"
        for mark, times in sorted(marks.times.items(), reverse=True)
    )
    return (
        '<div class="figures letters"><table><caption>Marks given</caption><thead><tr><th scope="col">Mark</th>'
        f'<th scope="col">Answers</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def table_3_html(title: str, found: VQAReport) -> str:
    """Return exact match and mean mark beside MMBench's Table 3."""
    mean = "–" if found.marks.mean is None else f"{found.marks.mean:.2f}"
    rows = [(title, number(found.exact.mean), mean, "own")]
    rows += [
        (f"{row.model} (published)", number(row.accuracy), f"{row.mark:.2f}", "")
        for row in published()
        if row.dataset == found.dataset
    ]
    body = "".join(
        f'<tr class="{kind}"><th scope="row" class="name">{escape(model)}</th><td>{accuracy}</td><td>{mark}</td></tr>'
        for model, accuracy, mark, kind in rows
    )
    return (
        f'<div class="figures numbers"><table><caption>{found.dataset}, beside MMBench\'s Table 3</caption><thead><tr>'
        '<th scope="col" class="name">Model</th><th scope="col">Exact match</th><th scope="col">Mean mark</th></tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
        '<p class="note">The paper had 1,000 random answers of each data set marked by GPT-3.5.</p>'
    )


def marks_audit_html(report: MarksReport, chosen: MarksFilter) -> str:
    """Return one page of the matching answers: references, answer, mark and replies."""
    grades = {grade.question: grade for grade in report.grades}
    fit = [row for row in report.rows if _fits(row, grades.get(row.id), chosen.show)]
    if not fit:
        return '<p class="empty">No answer fits.</p>'
    pages = pages_of(len(fit))
    page = min(max(chosen.page, 1), pages)
    shown = fit[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]
    head = f'<p class="note" role="status">{len(fit):,} of {len(report.rows):,} answers; page {page:,} of {pages:,}</p>'
    return f'{head}<ol class="audit choices">{"".join(_item(row, grades.get(row.id)) for row in shown)}</ol>'


def exact(row: VQAnswer) -> bool | None:
    """Tell whether an answer equals one of its references; None if it has none."""
    return normal(row.prediction) in map(normal, row.answers) if row.answers else None


def _fits(row: VQAnswer, grade: Grade | None, show: Show) -> bool:
    mark = grade.score if grade else None
    return {
        "all answers": True,
        "exact match": exact(row) is True,
        "no exact match": exact(row) is False,
        "marked 1 or 2": mark is not None and mark <= 2,
        "marked, no exact match": mark is not None and exact(row) is False,
        "not marked": mark is None,
    }[show]


def _item(row: VQAnswer, grade: Grade | None) -> str:
    same = exact(row)
    kind = {True: "right", False: "wrong", None: "open"}[same]
    words = {True: "exact match", False: "no exact match", None: "no references"}[same]
    mark = "" if grade is None else f" <small>{_marked(grade)}</small>"
    quiet = ' class="quiet"' if not row.prediction.strip() else ""
    return (
        f'<li><p class="about"><b>{escape(row.id)}</b><b class="verdict {kind}">{words}{mark}</b></p>'
        f"<dl><dt>Question</dt><dd>{escape(row.text)}</dd><dt>References</dt><dd>{_references(row.answers)}</dd>"
        f"<dt>Answer</dt><dd{quiet}>{escape(row.prediction) or '(empty)'}</dd></dl>{_replies(grade)}</li>"
    )


def _marked(grade: Grade) -> str:
    return "not marked" if grade.score is None else f"mark {grade.score:.0f}"


def _references(answers: Sequence[str]) -> str:
    """Return the distinct references, each with its number of annotators."""
    times = {answer: answers.count(answer) for answer in dict.fromkeys(answers)}
    return ", ".join(escape(one) + (f" <small>× {count}</small>" if count > 1 else "") for one, count in times.items())


def _replies(grade: Grade | None) -> str:
    if grade is None:
        return ""
    items = "".join(f"<li><q>{escape(reply) or '(empty)'}</q></li>" for reply in grade.replies)
    reason = f" ({escape(grade.reason)})" if grade.reason else ""
    return (
        f"<details><summary>Replies of {escape(grade.model or 'the judge')}{reason}</summary><ol>{items}</ol></details>"
    )
