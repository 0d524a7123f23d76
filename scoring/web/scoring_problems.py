"""Problems on "Score a model": the errors that its visitors read."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from arena.database import DatabaseError
from arena.inference.endpoint import EndpointError
from arena.io.aside import AsideError, while_waited
from arena.io.tables import RowsError
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
from scoring.specs.problems import SpecError
from scoring.web.report_parts import MOST_PROBLEMS, REPORT

FILE_ERRORS = (UploadError, ChoicesError, OptionsError, RowsError, FileRolesError, SpecError)
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
    TrialError,
)


def problem_html(error: Exception, *_: object) -> str:
    if isinstance(error, UploadError):
        return REPORT.problems("", "alert", f"{error.file} cannot be scored yet:", error.problems)
    if isinstance(error, SpecError) and error.file:
        lines = [str(problem) for problem in error.problems[:MOST_PROBLEMS]]
        if error.problems[MOST_PROBLEMS:]:
            lines.append(f"and {len(error.problems) - MOST_PROBLEMS:,} more")
        return REPORT.problems("", "alert", f"{error.file} cannot be used yet:", lines)
    return REPORT.problems("", "alert", error, ())


def shows_problems(handler: Callable[..., Updates]) -> Any:
    """Decorates a handler to show errors, and to end its work aside once its page has left."""

    @wraps(handler)
    def waited(tab: Any, *values: Any) -> Updates:
        with while_waited(still_there(values[-1])):
            return handler(tab, *values)

    return shows_errors(ERRORS, html=problem_html)(waited)
