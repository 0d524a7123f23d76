"""What "Score a model" says where something cannot be done: the errors that its visitors read."""

from arena.database import DatabaseError
from arena.inference.endpoint import EndpointError
from arena.io.tables import RowsError
from arena.web.events import shows_errors
from arena.web.visitor_api import NoVisitorError
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.mm_vet import OptionsError
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.service import JobServiceError
from scoring.jobs.store import JobError
from scoring.jobs.trials import TrialError
from scoring.jobs.uploads import UploadStoreError
from scoring.judges.client import JudgeError
from scoring.web.report_parts import REPORT

FILE_ERRORS = (UploadError, ChoicesError, OptionsError, RowsError)
ERRORS = (
    *FILE_ERRORS,
    NoVisitorError,
    DatabaseError,
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
    return REPORT.problems("", "alert", error, ())


shows_problems = shows_errors(ERRORS, html=problem_html)
