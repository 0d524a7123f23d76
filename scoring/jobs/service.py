"""Job service: reads an uploaded file, joins it to its questions, and quotes or reports it as a job.

For multiple choice, rules alone make a free report at once; a judge reads what they leave open as a separate job.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from arena.battles.lending import Lending, NotLentError
from arena.inference.endpoint import Endpoint, EndpointError
from arena.settings import JudgeSettings, SettingError
from arena.templates import plural
from scoring.benchmarks.base import AnswerLook, FileBenchmark, OpenedFile
from scoring.benchmarks.mm_vet import MMVet, Options, OptionsError
from scoring.benchmarks.mm_vet_grades import graded_report, grades_for, holds_grades
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample, subset, truth_words
from scoring.benchmarks.mm_vet_tables import told_zeros
from scoring.benchmarks.mm_vet_v2 import edition, load_mm_vet_v2
from scoring.benchmarks.predictions import (
    Layout,
    Upload,
    UploadError,
    fill,
    notices,
    read_predictions,
)
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.store import STOPPED, Job, Jobs
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.trials import TrialState
from scoring.jobs.uploads import StoredUpload, UploadStore
from scoring.jobs.worker import JobWorker, Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.client import JudgeError, probe
from scoring.judges.run import Quote, known_outcomes
from scoring.judges.spec import JudgeSpec, Price, known_judges, with_price
from scoring.multiple_choice.reader import Problem
from scoring.registry import (
    BENCHMARKS,
    asks_unknown,
    file_benchmark,
    open_upload,
    quote,
    unrecognised,
)
from scoring.report import AnyReport, QuestionSet
from scoring.visit_bench.reader import is_submission, read_submission

TRY_OUT = "Six or seven calls of about 20 tokens find out what a judge takes"

LOOKED_AT = 3
"""Rows of a file that its owner sees before scoring."""
FIRST_GRADES = 5
LAYOUTS: Mapping[Layout, str] = {
    "id: text": "the authors' format",
    "id: record": "a record for each id",
    "records": "a record for each answer",
    "LLaVA answers": "LLaVA's format",
    "lmms-eval samples": "lmms-eval's format",
    "VLMEvalKit table": "VLMEvalKit's format",
    "question texts": "joined by the questions' texts",
}
Draft = Callable[[JudgeSpec, str], AnyReport]
"""Makes the report to judge, for a judge at an address as it may be shown. Raises OptionsError and UploadError."""
_UNNAMED = JudgeSpec("", True, "max_tokens", True, True, False, 0, None)
"""Stands for a judge that is not named yet or not known, so that a file is checked and its calls are counted."""

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
    """What an uploaded file is."""

    benchmark: str
    """Key of `BENCHMARKS`; an edition of MM-Vet for free answers, whose questions are chosen beside the file."""
    title: str
    lines: tuple[str, ...]
    problems: tuple[Problem, ...]
    scorable: bool
    rows: tuple[AnswerLook, ...] = ()
    questions: str = ""
    """Name of the question set that it answers; empty for a file that holds its questions."""


@dataclass(frozen=True, eq=False)
class JobService:
    """Scoring requests of users, by the hash of a voter cookie; raises what the stores and readers that it calls raise.

    The operator's judge is asked unless a user brings an own one; an unknown one is tried out first, which raises
    TrialRuns until it is through, TrialError and JudgeError.
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
    pictures: ReportPictures

    def look(self, owner: str, token: str, benchmark: str, questions: object = None) -> Recognised:
        """A file of free answers beside the questions of a name, else the first that it answers any of."""
        arrived = self.upload_store.find(owner, token)
        names = self.sets_of(benchmark)
        names = [str(questions)] if questions in names else names
        if holds_grades(arrived.path, name=arrived.name):
            return self._grades_of(benchmark, names, arrived)
        uploads = (
            (name, read_predictions(arrived.path, self._questions(name), name=arrived.name))
            for name in names
        )
        found = [self._answers_to(benchmark, name, upload) for name, upload in uploads]
        return next((one for one in found if one.scorable), found[0])

    def _grades_of(self, benchmark: str, names: Sequence[str], arrived: StoredUpload) -> Recognised:
        """A file of grades, beside the first question set that it holds grades of."""
        for name in names:
            chosen = self._questions(name)
            file = grades_for(arrived.path, chosen, name=arrived.name)
            if file.grades.keys() & {question.id for question in chosen.questions}:
                break
        else:
            name = names[0]
            file = grades_for(arrived.path, self._questions(name), name=arrived.name)
        whose = f"{file.toolkit}'s result file: " if file.toolkit else ""
        judges = ", ".join(file.judges)
        graded = plural(len(file.grades), "question")
        told = f"{whose}grades of {judges} for {graded}, runs: {file.runs}; needs no judge"
        zeros = told_zeros(grade for given in file.grades.values() for grade in given)
        lines = (told, f"{zeros}.") if zeros else (told,)
        return Recognised(benchmark, file.upload.title, lines, (), True, questions=name)

    def _answers_to(self, benchmark: str, name: str, upload: Upload) -> Recognised:
        chosen = self._questions(name)
        asked = {question.id: question for question in chosen.questions}
        known = [one for one in upload.predictions if one.id in asked]
        count = plural(len(asked if known else upload.predictions), "answer")
        count = f"{len(known):,} of {count}" if known else count
        lines = (f"{name}: {count}, {LAYOUTS[upload.layout]}", *notices(upload, chosen))
        looked = [(asked[one.id], one.text) for one in known[:LOOKED_AT]]
        rows = [AnswerLook(one.id, one.text, said, truth_words(one.truth)) for one, said in looked]
        rows = rows or [AnswerLook(one.id, "", one.text) for one in upload.predictions[:LOOKED_AT]]
        others = "; ".join(one.name for one in BENCHMARKS.values() if one.key != benchmark)
        text = (
            f"none of its ids is a question of {name}: it is a file of another benchmark, or its ids were changed. "
            f"Choose its benchmark under Details ({others}), or give it the ids of {name}"
        )
        problems = () if known else (Problem(0, None, text, "scoring"),)
        return Recognised(benchmark, upload.title, lines, problems, bool(known), tuple(rows), name)

    def sets_of(self, benchmark: str) -> list[str]:
        """The names of a benchmark's question sets. Raises JobServiceError without any."""
        names = [
            name
            for name, questions in self.question_sets.items()
            if questions.benchmark == benchmark
        ]
        if not names:
            raise JobServiceError(
                f"These are answers to {BENCHMARKS[benchmark].name}, whose questions are not on this server. Ask its "
                f"host to add them, or score the file on your own machine: python -m scoring {benchmark} FILE "
                "--questions PATH"
            )
        return names

    def graded(self, owner: str, token: str) -> bool:
        """Whether a file holds grades already, whose report is free."""
        arrived = self.upload_store.find(owner, token)
        return holds_grades(arrived.path, name=arrived.name)

    def report_grades(
        self, owner: str, token: str, questions: str, options: Options, title: str
    ) -> Job:
        """Store the report of a file of grades, as a finished job."""
        arrived = self.upload_store.find(owner, token)
        chosen = self._questions(questions)
        file = grades_for(arrived.path, chosen, name=arrived.name)
        return self.jobs.add_done(
            owner, graded_report(file, chosen, options.missing, title), arrived.network
        )

    def answers(
        self, owner: str, token: str, questions: str, options: Options, title: str
    ) -> Draft:
        """Draft of a file of answers to a question set."""
        arrived = self.upload_store.find(owner, token)
        chosen = self._questions(questions)
        upload = read_predictions(arrived.path, chosen, name=arrived.name)
        filled = fill(chosen, upload, options.missing)
        mm_vet = BENCHMARKS[chosen.benchmark]
        shown = title.strip()[:120] or upload.title
        assert isinstance(mm_vet, MMVet)
        return lambda spec, address: mm_vet.draft(
            filled, chosen, options, spec, address, arrived.name, shown
        )

    def recognise(
        self,
        owner: str,
        token: str,
        benchmark: str | None = None,
        waits: Callable[[], bool] = lambda: True,
    ) -> Recognised:
        """Recognise a file's benchmark, or take the given one; it stops when the file is gone or nobody `waits`."""
        arrived = self.upload_store.find(owner, token)
        if benchmark == "visit-bench" or (
            benchmark is None and is_submission(arrived.path, arrived.name)
        ):
            return self._submission(owner, token)
        found = None
        if benchmark not in FREE_ANSWERS:
            found = open_upload(
                arrived.path,
                name=arrived.name,
                benchmark=benchmark,
                wanted=lambda: arrived.path.exists() and waits(),
            )
        if found is None:
            sets = [one for one in self.question_sets.values() if one.benchmark in FREE_ANSWERS]
            if benchmark is None and asks_unknown(arrived.path, arrived.name, sets):
                raise unrecognised(arrived.path, "below, under Details,", arrived.name)
            return Recognised(
                benchmark or edition(arrived.path), Path(arrived.name).stem, (), (), True
            )
        problems = found.problems
        kept = islice(found.file.rows, LOOKED_AT)
        scorable = not any(problem.blocks == "scoring" for problem in problems)
        rows = tuple(map(found.benchmark.look, kept))
        return Recognised(found.benchmark.key, found.title, found.lines, problems, scorable, rows)

    def comparison(self, owner: str, token: str, request: SubmissionRequest) -> Draft:
        """Draft of a file's matches with the models of the item bank."""
        arrived = self.upload_store.find(owner, token)
        file = read_submission(arrived.path, name=arrived.name)
        return lambda spec, address: (
            self.submissions.draft(owner, file, request, spec.model, address).report
        )

    def stored_comparison(self, stored: StoredModel, request: SubmissionRequest) -> Draft:
        return lambda spec, address: (
            self.submissions.draft_stored(
                stored.model, stored.source, request, spec.model, address
            ).report
        )

    def extract(self, owner: str, token: str, benchmark: str, protocol: str, title: str) -> Job:
        """Store the report that rules alone make of a file, as a finished job."""
        arrived = self.upload_store.find(owner, token)
        self.upload_store.check_disk()
        report = self._opened(arrived, benchmark).report(protocol, title)
        job = self.jobs.add_done(owner, report, arrived.network)
        self.pictures.soon(job)
        return job

    def whole_file(
        self, owner: str, token: str, benchmark: str, protocol: str, title: str
    ) -> Draft:
        """Draft of all that the rules leave open in a file."""
        return self._rest(
            self._opened(self.upload_store.find(owner, token), benchmark).report(protocol, title)
        )

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

    def rest(self, owner: str, link: str) -> Draft:
        """Draft of what the rules left open in a report."""
        job = self.jobs.find(link)
        report = self.jobs.report(link)
        ruled = (
            job is not None
            and job.owner == owner
            and isinstance(BENCHMARKS[job.benchmark], FileBenchmark)
        )
        if report is None or not ruled:
            raise JobServiceError("There is no such report of yours; upload the file again")
        return self._rest(report)

    def _rest(self, report: Any) -> Draft:
        if not report.left:
            raise JobServiceError(f"Nothing in {report.title!r} is left to a judge")
        return lambda spec, address: file_benchmark(report.benchmark).stamped(report, spec, address)

    def first_grades(self, job: Job) -> list[tuple[str, str]]:
        """What the judge said to the first questions of a job, as far as it is under way: names and outcomes."""
        found = self.jobs.draft(job.link)
        if found is None:
            return []
        (draft, spec) = found
        benchmark = BENCHMARKS[job.benchmark]
        tasks = benchmark.tasks(draft, spec)[:FIRST_GRADES]
        whose = job.owner if job.own_key else None
        known = known_outcomes(tasks, spec, job.address, whose, self.cache)
        return [(name, benchmark.outcome_text(outcome)) for name, outcome in known]

    def _opened(self, arrived: StoredUpload, benchmark: str) -> OpenedFile:
        found = open_upload(
            arrived.path, name=arrived.name, benchmark=benchmark, wanted=arrived.path.exists
        )
        assert found, "a benchmark that is given takes any file"
        return found

    def _submission(self, owner: str, token: str) -> Recognised:
        """Describe a submission; its problems are told with its price."""
        arrived = self.upload_store.find(owner, token)
        file = read_submission(arrived.path, name=arrived.name)
        lines: tuple[str, ...] = (f"VisIT-Bench: {len(file.entries):,} answers",)
        with suppress(UploadError):
            lines += self.submissions.draft(owner, file, SubmissionRequest(), "", "").lines
        kept = file.entries[:LOOKED_AT]
        rows = tuple(
            AnswerLook(one.item or f"row {one.row}", one.instruction, one.text) for one in kept
        )
        return Recognised("visit-bench", file.model, lines, (), True, rows)

    def price(self, owner: str, draft: Draft, judge: OwnJudge | None) -> Quote:
        """What judging a draft costs; no price where the judge is not known."""
        spec = _UNNAMED
        shown = ""
        whose = owner
        if judge is not None:
            found = known(judge.model, judge.address, self.jobs) or replace(
                _UNNAMED, model=judge.model
            )
            spec = with_price(found, self.prices)
            shown = judge.address.shown
        elif self.operator is not None:
            spec = self.operator.spec
            shown = self.operator.address.shown
            whose = None
        report = draft(spec, shown)
        self._check_judge(report, judge)
        return self._quoted(report, spec, shown and whose)

    def quote(
        self, owner: str, draft: Draft, judge: OwnJudge | None, network: str | None = None
    ) -> Job:
        """Keep a draft with its cost as a job that its owner may start."""
        address, spec = self._judge(owner, judge, network)
        report = draft(spec, address.shown)
        self._check_judge(report, judge)
        self.upload_store.check_disk()
        cost = self._quoted(report, spec, address.owner)
        if judge is None and self.over(cost):
            raise JobServiceError(
                f"Judging this file costs about ${cost.dollars:,.2f}, and one job may cost ${self.ceiling:,.2f} here. "
                "Choose fewer runs or opponents, samples of one call, or your own key"
            )
        return self.jobs.create(
            owner, report, spec, cost, own_key=judge is not None, network=network
        )

    def _quoted(self, report: AnyReport, spec: JudgeSpec, owner: str | None) -> Quote:
        """What judging costs; of voters' secrets as if all were new: what is known would tell who said the same."""
        is_blind = self.submissions.is_blind(report)
        return quote(report, spec, owner, None if is_blind else self.cache)

    def _check_judge(self, report: AnyReport, own: OwnJudge | None) -> None:
        """Raise JobServiceError where a user's own judge would be sent answers whose models are voters' secret."""
        if own is None or not self.submissions.is_blind(report):
            return
        lent = "Choose it under Details" if self.operator else "It has none: ask its host for one"
        raise JobServiceError(
            "Answers that voters are still asked to choose between are sent to this site's own judge alone: whoever "
            f"runs another one could learn which model gave which. {lent}"
        )

    def with_another_judge(
        self, owner: str, link: str, judge: OwnJudge | None, network: str | None = None
    ) -> Job:
        """Quote what a stopped job judges for another judge, as a job of its own; the stopped one stays."""
        job = self.jobs.find(link)
        drafted = self.jobs.draft(link)
        if job is None or drafted is None or job.owner != owner or job.state not in STOPPED:
            raise JobServiceError("There is no such stopped job of yours; upload the file again")
        draft: Any = drafted[0]

        def stamped(spec: JudgeSpec, address: str) -> AnyReport:
            if getattr(draft, "sampled", False) and not spec.samples:
                raise OptionsError(
                    f"{spec.model} gives one reply a call; upload the file again for separate runs"
                )
            return replace(draft, judge=replace(draft.judge, model=spec.model, address=address))

        return self.quote(owner, stamped, judge, network)

    def trial(self, owner: str, judge: OwnJudge) -> TrialState:
        return self.worker.trials.state(owner, judge.address, judge.model)

    def over(self, cost: Quote) -> bool:
        """Whether a job costs more than the operator pays for one."""
        return (cost.dollars or 0) > self.ceiling

    def unlent(self, owner: str) -> str:
        """Why the operator's judge is not lent to an owner; "" if it is."""
        try:
            self._judge(owner, None)
        except JobServiceError as error:
            return str(error)
        return ""

    def start(
        self, owner: str, link: str, address: Endpoint | None, network: str | None = None
    ) -> None:
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

    def check_judge(self, owner: str, judge: OwnJudge | None, network: str | None) -> None:
        """Raise what keeps a judge from being asked, before a file is read for it."""
        self._judge(owner, judge, network)

    def _judge(
        self, owner: str, own: OwnJudge | None, network: str | None = None
    ) -> tuple[Endpoint, JudgeSpec]:
        if own is not None:
            if not own.model or not own.address.key.reveal():
                lacks = "key" if own.model else "model, as its server calls it, and its key"
                raise JobServiceError(f"Give your judge's {lacks}, above, and press again")
            spec = known(own.model, own.address, self.jobs)
            if spec is None and not own.try_out:
                raise JobServiceError(
                    f"We do not know {own.model!r}. {TRY_OUT}: allow it, then press again"
                )
            spec = spec or self.worker.trials.spec(owner, own.address, own.model, network)
            return own.address, with_price(spec, self.prices)
        if self.operator is None:
            raise JobServiceError("No judge is lent here; choose your own key")
        self._lent(owner)
        return self.operator.address, self.operator.spec


def known(model: str, address: Endpoint, jobs: Jobs) -> JudgeSpec | None:
    """Return a judge's spec from the judges' file or from an earlier job; None if neither has it."""
    return known_judges().get(model) or jobs.spec(address.shown, model, address.owner)


def operators_judge(
    settings: JudgeSettings, jobs: Jobs, prices: Mapping[str, Price]
) -> Operator | None:
    """Return the operator's judge, None if none is set. Raises SettingError."""
    if not settings.model:
        return None
    try:
        address = Endpoint(settings.base_url, settings.key)
        spec = known(settings.model, address, jobs) or asyncio.run(probe(address, settings.model))
        spec = with_price(spec, prices)
    except (EndpointError, JudgeError) as error:
        raise SettingError(
            f"JUDGE_MODEL {settings.model!r} at JUDGE_URL cannot be asked: {error}"
        ) from error
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
