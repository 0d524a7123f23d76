"""Job service: reads an uploaded file, joins it to its questions, and quotes or reports it as a job.

For multiple choice, rules alone make a free report at once; a judge reads what they leave open as a separate job.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.battles.lending import Lending, NotLentError
from arena.inference.endpoint import Endpoint, EndpointError
from arena.settings import JudgeSettings, SettingError
from scoring.benchmarks.base import FileBenchmark, OpenedFile
from scoring.benchmarks.mm_vet import MMVet, Options
from scoring.benchmarks.mm_vet_grades import graded_report, holds_grades, read_grades
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample, subset
from scoring.benchmarks.mm_vet_v2 import edition, load_mm_vet_v2
from scoring.benchmarks.predictions import UploadError, fill, notices, read_predictions
from scoring.jobs.store import Job, Jobs
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.uploads import StoredUpload, UploadStore
from scoring.jobs.worker import JobWorker, Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.client import JudgeError, probe
from scoring.judges.spec import JudgeSpec, Price, known_judges, with_price
from scoring.multiple_choice.reader import Problem
from scoring.registry import BENCHMARKS, file_benchmark, open_upload, quote
from scoring.report import AnyReport, QuestionSet
from scoring.visit_bench.reader import is_submission, read_submission

TRY_OUT = "Six or seven calls of about 20 tokens find out what a judge takes"

FREE_ANSWERS = {key for key, benchmark in BENCHMARKS.items() if benchmark.way == "questions first"}


class JobServiceError(ValueError):
    """Invalid request; the message says what to choose instead."""


@dataclass(frozen=True)
class OwnJudge:
    """A user's own judge: its model, and its endpoint with the key."""

    model: str
    address: Endpoint
    try_out: bool


@dataclass(frozen=True)
class Recognised:
    """Result of recognising an uploaded file."""

    benchmark: str
    """Key of `BENCHMARKS`; an edition of MM-Vet for free answers, whose questions are chosen beside the file."""
    title: str
    lines: tuple[str, ...]
    problems: tuple[Problem, ...]
    scorable: bool


@dataclass(frozen=True, eq=False)
class JobService:
    """Scoring requests of users, by the hash of a voter cookie; raises what the stores and readers that it calls raise.

    The operator's judge is asked unless a user brings an own one; an unknown one is probed, which raises JudgeError.
    """

    question_sets: Mapping[str, QuestionSet]
    upload_store: UploadStore
    jobs: Jobs
    worker: JobWorker
    cache: ReplyCache
    operator: Operator | None
    prices: Mapping[str, Price]
    ceiling: float
    """The most that one job may cost the operator, in US dollars."""
    submissions: Submissions
    lending: Lending

    def look(self, owner: str, token: str, questions: str) -> tuple[str, Sequence[str], bool]:
        """A file's title, what to say of it, and whether it holds grades. Raises RowsError, UploadError."""
        arrived, chosen = self.upload_store.find(owner, token), self._questions(questions)
        if holds_grades(arrived.path):
            file = read_grades(arrived.path, name=arrived.name)
            told = f"grades of {', '.join(file.judges)} for {len(file.grades):,} questions, runs: {file.runs}"
            return file.upload.title, (f"{told}; their report is free and needs no judge",), True
        upload = read_predictions(arrived.path, chosen, name=arrived.name)
        return upload.title, (f"{len(upload.predictions):,} answers ({upload.layout})", *notices(upload, chosen)), False

    def sets_of(self, benchmark: str) -> list[str]:
        """The names of a benchmark's question sets. Raises JobServiceError without any."""
        names = [name for name, questions in self.question_sets.items() if questions.benchmark == benchmark]
        if not names:
            raise JobServiceError(
                f"These are answers to {BENCHMARKS[benchmark].name}, whose questions are not on this server: score "
                f"them with python -m scoring {benchmark} FILE --questions PATH"
            )
        return names

    def quote(
        self, owner: str, token: str, questions: str, options: Options, title: str, judge: OwnJudge | None
    ) -> Job:
        """Quote judging a file of answers; a file of grades is a report at once, stored as a finished job."""
        arrived = self.upload_store.find(owner, token)
        chosen = self._questions(questions)
        if holds_grades(arrived.path):
            file = read_grades(arrived.path, name=arrived.name)
            report = graded_report(file, chosen, options.missing, title)
            return self.jobs.add_done(owner, report, arrived.network)
        upload = read_predictions(arrived.path, chosen, name=arrived.name)
        filled = fill(chosen, upload, options.missing)
        address, spec = self._judge(owner, judge)
        mm_vet, shown = BENCHMARKS[chosen.benchmark], title.strip()[:120] or upload.title
        assert isinstance(mm_vet, MMVet)
        report = mm_vet.draft(filled, chosen, options, spec, address.shown, arrived.name, shown)
        return self._quoted(owner, report, address, spec, judge)

    def recognise(
        self, owner: str, token: str, benchmark: str | None = None, waits: Callable[[], bool] = lambda: True
    ) -> Recognised:
        """Recognise a file's benchmark, or take the given one; it stops when the file is gone or nobody `waits`."""
        arrived = self.upload_store.find(owner, token)
        if benchmark == "visit-bench" or (benchmark is None and is_submission(arrived.path, arrived.name)):
            return self._submission(owner, token)
        found = None
        if benchmark not in FREE_ANSWERS:
            found = open_upload(
                arrived.path, name=arrived.name, benchmark=benchmark, wanted=lambda: arrived.path.exists() and waits()
            )
        if found is None:
            return Recognised(benchmark or edition(arrived.path), Path(arrived.name).stem, (), (), True)
        problems = found.problems
        scorable = not any(problem.blocks == "scoring" for problem in problems)
        return Recognised(found.benchmark.key, found.title, found.lines, problems, scorable)

    def compare(self, owner: str, token: str, request: SubmissionRequest, judge: OwnJudge | None) -> Job:
        arrived = self.upload_store.find(owner, token)
        address, spec = self._judge(owner, judge)
        file = read_submission(arrived.path, name=arrived.name)
        report = self.submissions.draft(owner, file, request, spec.model, address.shown).report
        return self._quoted(owner, report, address, spec, judge)

    def compare_stored(
        self, owner: str, stored: StoredModel, request: SubmissionRequest, judge: OwnJudge | None
    ) -> Job:
        address, spec = self._judge(owner, judge)
        report = self.submissions.draft_stored(*stored, request, spec.model, address.shown).report
        return self._quoted(owner, report, address, spec, judge)

    def extract(self, owner: str, token: str, benchmark: str, protocol: str, title: str) -> Job:
        """Store the report that rules alone make of a file, as a finished job."""
        arrived = self.upload_store.find(owner, token)
        self.upload_store.check_disk()
        return self.jobs.add_done(owner, self._opened(arrived, benchmark).report(protocol, title), arrived.network)

    def judge_file(
        self, owner: str, token: str, benchmark: str, protocol: str, title: str, judge: OwnJudge | None
    ) -> Job:
        """Quote judging all that the rules leave open in a file."""
        found = self._opened(self.upload_store.find(owner, token), benchmark)
        return self._rest_quoted(owner, found.report(protocol, title), judge)

    def delete(self, owner: str, link: str) -> None:
        job = self.jobs.delete(owner, link)
        self.upload_store.drop(owner, job.file)

    def left(self, job: Job) -> int:
        """Return how many answers the rules left open, in a report that no judge has seen; else 0."""
        if job.model or job.state != "done":
            return 0
        ruled = isinstance(BENCHMARKS[job.benchmark], FileBenchmark)
        report: Any = self.jobs.report(job.link) if ruled else None
        return report.left if report else 0

    def judge_rest(self, owner: str, link: str, judge: OwnJudge | None) -> Job:
        job, report = self.jobs.find(link), self.jobs.report(link)
        ruled = job is not None and job.owner == owner and isinstance(BENCHMARKS[job.benchmark], FileBenchmark)
        if report is None or not ruled:
            raise JobServiceError("There is no such report of yours; upload the file again")
        return self._rest_quoted(owner, report, judge)

    def _rest_quoted(self, owner: str, report: Any, judge: OwnJudge | None) -> Job:
        if not report.left:
            raise JobServiceError(f"Nothing in {report.title!r} is left to a judge")
        address, spec = self._judge(owner, judge)
        draft = file_benchmark(report.benchmark).stamped(report, spec, address.shown)
        return self._quoted(owner, draft, address, spec, judge)

    def _opened(self, arrived: StoredUpload, benchmark: str) -> OpenedFile:
        found = open_upload(arrived.path, name=arrived.name, benchmark=benchmark, wanted=arrived.path.exists)
        assert found, "a benchmark that is given takes any file"
        return found

    def _submission(self, owner: str, token: str) -> Recognised:
        """Describe a submission; its problems are listed only when its cost is asked for."""
        arrived = self.upload_store.find(owner, token)
        file = read_submission(arrived.path, name=arrived.name)
        lines: tuple[str, ...] = (f"{len(file.entries):,} answers",)
        try:
            lines = self.submissions.draft(owner, file, SubmissionRequest(), "", "").lines
        except UploadError as error:
            lines = (*lines, f"{len(error.problems)} problems, which are told when you check the file")
        return Recognised("visit-bench", file.model, lines, (), True)

    def _quoted(self, owner: str, report: AnyReport, address: Endpoint, spec: JudgeSpec, judge: OwnJudge | None) -> Job:
        self.upload_store.check_disk()
        cost = quote(report, spec, address.owner, self.cache)
        if judge is None and (cost.dollars or 0) > self.ceiling:
            raise JobServiceError(
                f"Judging this file costs about ${cost.dollars:,.2f}, and one job may cost ${self.ceiling:,.2f} here. "
                "Choose fewer runs or opponents, samples of one call, or your own key"
            )
        return self.jobs.create(owner, report, spec, cost, own_key=judge is not None)

    def start(self, owner: str, link: str, address: Endpoint | None, network: str | None = None) -> None:
        """Start or resume a job from a network; a job with a user's own judge needs its endpoint and key."""
        self.worker.begin(owner, link, address, None if address else self._lent(owner, network))

    def _lent(self, owner: str, network: str | None = None) -> str | None:
        """Return the code of the network that pays beside an owner. Raises JobServiceError if nothing is lent."""
        try:
            return self.lending.to_cookie(owner, network)
        except NotLentError as error:
            raise JobServiceError(f"{error}, or use a key of your own") from error

    def _questions(self, name: str) -> QuestionSet:
        if name not in self.question_sets:
            raise JobServiceError(f"Choose questions out of: {', '.join(self.question_sets)}")
        return self.question_sets[name]

    def _judge(self, owner: str, own: OwnJudge | None) -> tuple[Endpoint, JudgeSpec]:
        if own is not None:
            spec = known(own.model, own.address, self.jobs)
            if spec is None and not own.try_out:
                raise JobServiceError(f"We do not know {own.model!r}. {TRY_OUT}: allow it, then check the file again")
            return own.address, with_price(spec or asyncio.run(probe(own.address, own.model)), self.prices)
        if self.operator is None:
            raise JobServiceError("No judge is lent here; choose your own key")
        self._lent(owner)
        return self.operator.address, self.operator.spec


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


def question_sets(mm_vet: Path | None, mm_vet_v2: Path | None) -> Mapping[str, QuestionSet]:
    """MM-Vet, its Bard subset and v2, if present, and our own sample, by name. Raises QuestionsError and RowsError."""
    sets = [*([load_mm_vet_v2(mm_vet_v2)] if mm_vet_v2 else []), own_sample()]
    if mm_vet is not None:
        whole = load_mm_vet(mm_vet)
        bard = mm_vet / "bard_set.json"
        sets = [whole, *([subset(whole, bard)] if bard.is_file() else []), *sets]
    return {questions.name: questions for questions in sets}
