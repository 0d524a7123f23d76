"""Job service: reads an uploaded file, joins it to its questions, and quotes or reports it as a job.

The owner starts a quoted job. For multiple choice, rules alone make a free report at once; the answers that they leave
open are then quoted as a separate job.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.inference.endpoint import Endpoint, EndpointError
from arena.settings import JudgeSettings, SettingError
from scoring.benchmarks.base import FileBenchmark, OpenedFile
from scoring.benchmarks.mm_vet import Options, draft
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample, subset
from scoring.benchmarks.predictions import UploadError, fill, notices, read_predictions
from scoring.jobs.store import Job, Jobs
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.uploads import StoredUpload, UploadStore
from scoring.jobs.worker import JobWorker, Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.client import JudgeError, probe
from scoring.judges.spec import JudgeSpec, Price, known_judges, with_price
from scoring.multiple_choice.reader import Problem
from scoring.registry import BENCHMARKS, open_upload, quote
from scoring.report import AnyReport, QuestionSet
from scoring.visit_bench.reader import is_submission, read_submission

TRY_OUT = "Six or seven calls of about 20 tokens find out what a judge takes"


class JobServiceError(ValueError):
    """Invalid request; the message says what to choose instead."""


@dataclass(frozen=True)
class OwnJudge:
    """A user's own judge: its model, and its endpoint with the key."""

    model: str
    address: Endpoint
    try_out: bool
    """Whether an unknown model may be probed with a few tiny questions, at the user's cost."""


@dataclass(frozen=True)
class ScoreRequest:
    """Request to score a file; without a user's own judge, the operator's judges it."""

    token: str
    """Token of the uploaded file."""
    questions: str
    options: Options
    title: str
    judge: OwnJudge | None


@dataclass(frozen=True)
class FoundFile:
    """Contents of a file, in words."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Recognised:
    """Result of recognising an uploaded file."""

    benchmark: str
    """Key of `BENCHMARKS`; "mm-vet" for free answers, whose questions are chosen beside the file."""
    title: str
    lines: tuple[str, ...]
    """Contents, in words."""
    problems: tuple[Problem, ...]
    scorable: bool
    """Whether no problem prevents scoring."""


@dataclass(frozen=True)
class ChoiceRequest:
    """Request to score a file that holds its questions."""

    token: str
    benchmark: str
    protocol: str
    title: str


class JobService:
    """Scoring requests of users; an owner is the hash of a voter cookie."""

    def __init__(
        self,
        question_sets: Mapping[str, QuestionSet],
        upload_store: UploadStore,
        jobs: Jobs,
        worker: JobWorker,
        cache: ReplyCache,
        operator: Operator | None,
        prices: Mapping[str, Price],
        ceiling: int,
        submissions: Submissions,
    ) -> None:
        """Create the service; `ceiling` is the most one job may cost the operator, in millionths of a US dollar."""
        self.question_sets = question_sets
        self.jobs = jobs
        self.operator = operator
        self._upload_store = upload_store
        self._worker = worker
        self._cache = cache
        self._prices = prices
        self._submissions = submissions
        self.ceiling = ceiling / 1e6
        """In US dollars."""

    def look(self, owner: str, token: str, questions: str) -> FoundFile:
        """Return the contents of an uploaded file in words. Raises UploadStoreError and RowsError."""
        arrived = self._upload_store.find(owner, token)
        upload = read_predictions(arrived.path, self._questions(questions), name=arrived.name)
        count = len(upload.predictions)
        return FoundFile(upload.title, (f"{count:,} answers ({upload.layout})", *notices(upload)))

    def quote(self, owner: str, request: ScoreRequest) -> Job:
        """Join a file to its questions and store it as a quoted job.

        Raises UploadStoreError, RowsError, UploadError, OptionsError, JobError and, for an unknown judge, which is
        probed with a few tiny questions first, JudgeError.
        """
        arrived = self._upload_store.find(owner, request.token)
        questions = self._questions(request.questions)
        upload = read_predictions(arrived.path, questions, name=arrived.name)
        filled = fill(questions, upload, request.options.missing)
        address, spec = self._judge(request.judge)
        title = request.title.strip()[:120] or upload.title
        report = draft(filled, questions, request.options, spec, address.shown, arrived.name, title)
        return self._quoted(owner, report, address, spec, request.judge)

    def recognise(
        self, owner: str, token: str, benchmark: str | None = None, waits: Callable[[], bool] = lambda: True
    ) -> Recognised:
        """Recognise the benchmark of an uploaded file; a given `benchmark` is taken as is.

        Reading stops when the file is deleted or `waits` returns False. Raises UploadStoreError, RowsError and
        JobServiceError.
        """
        arrived = self._upload_store.find(owner, token)
        if benchmark == "visit-bench" or (benchmark is None and is_submission(arrived.path, arrived.name)):
            return self._submission(owner, token)
        found = None if benchmark == "mm-vet" else self._opened(arrived, benchmark, waits)
        if found is None:
            return Recognised("mm-vet", Path(arrived.name).stem, (), (), True)
        problems = found.problems
        scorable = not any(problem.blocks == "scoring" for problem in problems)
        return Recognised(found.benchmark.key, found.title, found.lines, problems, scorable)

    def compare(self, owner: str, token: str, request: SubmissionRequest, judge: OwnJudge | None) -> Job:
        """Draw the opponents of a submission and store the matches as a quoted job.

        Raises UploadStoreError, RowsError, UploadError, JobError, JobServiceError and, for an unknown judge, which is
        probed with a few tiny questions first, JudgeError.
        """
        arrived = self._upload_store.find(owner, token)
        address, spec = self._judge(judge)
        file = read_submission(arrived.path, name=arrived.name)
        report = self._submissions.draft(owner, file, request, spec.model, address.shown).report
        return self._quoted(owner, report, address, spec, judge)

    def stored(self) -> tuple[StoredModel, ...]:
        """Return the models whose answers are in the item bank."""
        return self._submissions.stored()

    def compare_stored(
        self, owner: str, stored: StoredModel, request: SubmissionRequest, judge: OwnJudge | None
    ) -> Job:
        """Like `compare`, for the answers of a model in the item bank."""
        address, spec = self._judge(judge)
        report = self._submissions.draft_stored(*stored, request, spec.model, address.shown).report
        return self._quoted(owner, report, address, spec, judge)

    def extract(self, owner: str, request: ChoiceRequest) -> Job:
        """Store the report that rules alone make of a file, as a finished job.

        Raises UploadStoreError, RowsError, ChoicesError, JobServiceError and JobError.
        """
        arrived = self._upload_store.find(owner, request.token)
        self._upload_store.check_disk()
        return self.jobs.add_done(owner, self._by_rules(arrived, request), arrived.network)

    def judge_file(self, owner: str, request: ChoiceRequest, judge: OwnJudge | None) -> Job:
        """Quote judging all that the rules leave open in a file. Raises what `extract` and `judge_rest` raise."""
        report = self._by_rules(self._upload_store.find(owner, request.token), request)
        return self._rest_quoted(owner, report, judge)

    def delete(self, owner: str, link: str) -> None:
        """Delete a job, its report and, if still in the upload store, its file. Raises JobError."""
        job = self.jobs.delete(owner, link)
        self._upload_store.drop(owner, job.file)

    def left(self, job: Job) -> int:
        """Return how many answers the rules left open, in a report that no judge has seen; else 0."""
        if job.model or job.state != "done":
            return 0
        ruled = isinstance(BENCHMARKS[job.benchmark], FileBenchmark)
        report: Any = self.jobs.report(job.link) if ruled else None
        return report.left if report else 0

    def judge_rest(self, owner: str, link: str, judge: OwnJudge | None) -> Job:
        """Quote judging the answers that the rules left open in an owner's report, as a separate job.

        Raises JobServiceError, JobError and, for an unknown judge, which is probed with a few tiny questions first,
        JudgeError.
        """
        job, report = self.jobs.find(link), self.jobs.report(link)
        ruled = job is not None and job.owner == owner and isinstance(BENCHMARKS[job.benchmark], FileBenchmark)
        if report is None or not ruled:
            raise JobServiceError("There is no such report of yours; upload the file again")
        return self._rest_quoted(owner, report, judge)

    def _rest_quoted(self, owner: str, report: Any, judge: OwnJudge | None) -> Job:
        if not report.left:
            raise JobServiceError(f"Nothing in {report.title!r} is left to a judge")
        address, spec = self._judge(judge)
        draft = _of_files(report.benchmark).stamped(report, spec, address.shown)
        return self._quoted(owner, draft, address, spec, judge)

    def _by_rules(self, arrived: StoredUpload, request: ChoiceRequest) -> AnyReport:
        found = self._opened(arrived, request.benchmark)
        assert found, "a benchmark that is given takes any file"
        return found.report(request.protocol, request.title)

    def _opened(
        self, arrived: StoredUpload, benchmark: str | None, waits: Callable[[], bool] = lambda: True
    ) -> OpenedFile | None:
        def wanted() -> bool:
            return arrived.path.exists() and waits()

        key = _of_files(benchmark).key if benchmark is not None else None
        return open_upload(arrived.path, name=arrived.name, benchmark=key, wanted=wanted)

    def _submission(self, owner: str, token: str) -> Recognised:
        """Describe a submission; its problems are listed only when its cost is asked for."""
        arrived = self._upload_store.find(owner, token)
        file = read_submission(arrived.path, name=arrived.name)
        lines: tuple[str, ...] = (f"{len(file.entries):,} answers",)
        try:
            lines = self._submissions.draft(owner, file, SubmissionRequest(), "", "").lines
        except UploadError as error:
            lines = (*lines, f"{len(error.problems)} problems, which are told when you check the file")
        return Recognised("visit-bench", file.model, lines, (), True)

    def _quoted(self, owner: str, report: AnyReport, address: Endpoint, spec: JudgeSpec, judge: OwnJudge | None) -> Job:
        self._upload_store.check_disk()
        cost = quote(report, spec, address.owner, self._cache)
        if judge is None and (cost.dollars or 0) > self.ceiling:
            raise JobServiceError(
                f"Judging this file costs about ${cost.dollars:,.2f}, and one job may cost ${self.ceiling:,.2f} here. "
                "Choose fewer runs or opponents, samples of one call, or your own key"
            )
        return self.jobs.create(owner, report, spec, cost, own_key=judge is not None)

    def start(self, owner: str, link: str, address: Endpoint | None) -> None:
        """Start or resume a job; a job with a user's own judge needs its endpoint and key. Raises JobError."""
        self._worker.begin(owner, link, address)

    def _questions(self, name: str) -> QuestionSet:
        if name not in self.question_sets:
            raise JobServiceError(f"Choose questions out of: {', '.join(self.question_sets)}")
        return self.question_sets[name]

    def _judge(self, own: OwnJudge | None) -> tuple[Endpoint, JudgeSpec]:
        if own is not None:
            spec = known(own.model, own.address, self.jobs)
            if spec is None and not own.try_out:
                raise JobServiceError(f"We do not know {own.model!r}. {TRY_OUT}: allow it, then check the file again")
            return own.address, with_price(spec or asyncio.run(probe(own.address, own.model)), self._prices)
        if self.operator is None:
            raise JobServiceError("No judge is lent here; choose your own key")
        return self.operator.address, self.operator.spec


def _of_files(key: str) -> FileBenchmark[Any]:
    benchmark = BENCHMARKS.get(key)
    if isinstance(benchmark, FileBenchmark):
        return benchmark
    known = (one.key for one in BENCHMARKS.values() if isinstance(one, FileBenchmark))
    raise JobServiceError(f"Choose a benchmark out of: {', '.join(known)}")


def known(model: str, address: Endpoint, jobs: Jobs) -> JudgeSpec | None:
    """Return a judge's spec from the judges' file or from an earlier job; None if neither has it."""
    return known_judges().get(model) or jobs.spec(address.shown, model, address.owner)


def operators_judge(settings: JudgeSettings, jobs: Jobs, prices: Mapping[str, Price]) -> Operator | None:
    """Return the operator's judge, None if none is set. Raises SettingError."""
    if not settings.model:
        return None
    try:
        address = Endpoint(settings.base_url, settings.key)
        spec = known(settings.model, address, jobs) or asyncio.run(probe(address, settings.model))
        spec = with_price(spec, prices)
    except (EndpointError, JudgeError) as error:
        raise SettingError(f"JUDGE_MODEL {settings.model!r} at JUDGE_URL cannot be asked: {error}") from error
    if spec.price is None:
        raise SettingError(
            f"the price of JUDGE_MODEL {settings.model!r} is not known; add it to a CSV and name it in JUDGE_PRICES"
        )
    return Operator(address, spec)


def question_sets(mm_vet: Path | None) -> Mapping[str, QuestionSet]:
    """Return the question sets by name: MM-Vet and its Bard subset, if present, and our own sample.

    Raises QuestionsError and RowsError for a folder that lacks them.
    """
    sets = [own_sample()]
    if mm_vet is not None:
        whole = load_mm_vet(mm_vet)
        bard = mm_vet / "bard_set.json"
        sets = [whole, *([subset(whole, bard)] if bard.is_file() else []), *sets]
    return {questions.name: questions for questions in sets}
