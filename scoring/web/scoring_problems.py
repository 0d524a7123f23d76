"""Problems on "Score a model": the errors that its visitors read."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from arena.database import DatabaseError
from arena.inference.endpoint import EndpointError
from arena.io.aside import AsideError, while_waited
from arena.io.data_urls import without_data_urls
from arena.io.tables import RowsError
from arena.locale import t, translated
from arena.web.events import Updates, shows_errors, still_there
from arena.web.visitor_api import NoVisitorError
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.mm_vet import OptionsError
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.file_roles import FileRolesError
from scoring.jobs.files import JobServiceError
from scoring.jobs.store import JobError
from scoring.jobs.trials import TrialError
from scoring.jobs.uploads import UploadStoreError
from scoring.judges.client import JudgeError
from scoring.serialize import ReportError
from scoring.specs.problems import SpecError, SpecProblem
from scoring.web.report_parts import MOST_PROBLEMS, REPORT

FILE_ERRORS = (UploadError, ChoicesError, OptionsError, RowsError, FileRolesError, SpecError)
"""Errors in the visitor's files."""
ERRORS = (
    *FILE_ERRORS,
    NoVisitorError,
    DatabaseError,
    AsideError,
    UploadStoreError,
    JobServiceError,
    JobError,
    EndpointError,
    JudgeError,
    ReportError,
    TrialError,
)


def problem_html(error: Exception, *_: object) -> str:
    """Returns an error as HTML; `shows_errors` gives more arguments, which it does not need."""
    if isinstance(error, UploadError):
        title = t("score.not_scored", file=error.file)
        return _alert_html(title, [*map(translated, error.problems)])
    if isinstance(error, SpecError) and error.file:
        lines = [*map(problem_text, error.problems[:MOST_PROBLEMS])]
        more = len(error.problems) - MOST_PROBLEMS
        if more > 0:
            lines.append(t("score.more", count=more))
        return _alert_html(t("score.not_used", file=error.file), lines)
    text = error_text(error)
    if isinstance(error, EndpointError | JudgeError):
        # elsewhere it follows the place of the error, so it begins with a small letter
        text = f"{text[:1].upper()}{text[1:]}"
    return _alert_html(text)


def _alert_html(title: str, texts: Sequence[str] = ()) -> str:
    return REPORT.problems(kind="", role="alert", title=title, texts=texts)


def problem_text(problem: SpecProblem) -> str:
    """Returns a problem with its place, both in the current language."""
    text = translated(problem.text)
    if not problem.place:
        return text
    return t("score.placed", place=translated(problem.place), text=text)


def error_text(error: Exception) -> str:
    """Returns an error in the current language; an error in a file's row comes after its place."""
    if not isinstance(error, RowsError):
        return translated(error)
    text = translated(error.problem)
    place = [error.file]
    if error.row:
        place.append(t("score.row", number=error.row))
    if error.column:
        place.append(t("score.column", name=without_data_urls(error.column)[:80]))
    where = t("score.comma").join(filter(None, place))
    return t("score.placed", place=where, text=text) if where else text


def shows_problems(handler: Callable[..., Updates]) -> Any:
    """Decorates a handler: errors are shown, and its work in the helper process ends once its page is closed."""

    @wraps(handler)
    def run_while_waited(tab: Any, *values: Any) -> Updates:
        # the last value is the request
        with while_waited(still_there(values[-1])):
            return handler(tab, *values)

    return shows_errors(ERRORS, html=problem_html)(run_while_waited)
