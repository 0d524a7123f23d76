"""Job service: reads an uploaded file, joins it to its questions, and quotes or reports it as a job.

For multiple choice, rules alone make a free report at once; a judge reads what they leave open as a separate job.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from arena.battles.lending import Lending, NotLentError
from arena.cache import Cache
from arena.inference.endpoint import Endpoint, EndpointError
from arena.io.aside import Aside
from arena.settings import JudgeSettings, SettingError
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.mm_vet import Options, OptionsError
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample, subset_of_file
from scoring.benchmarks.mm_vet_v2 import load_mm_vet_v2
from scoring.benchmarks.spec_benchmark import is_own
from scoring.jobs.file_roles import FileRoles, file_roles
from scoring.jobs.files import (
    FROM_FILE,
    LARGE,
    AskedJudge,
    DraftRecipe,
    FileChoice,
    FileReader,
    JobServiceError,
    Recognised,
    Source,
    has_rules,
)
from scoring.jobs.own_benchmarks import OwnCheck, OwnLook, own_look
from scoring.jobs.report_pictures import ReportPictures
from scoring.jobs.store import Job, Jobs
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.trials import TrialState
from scoring.jobs.uploads import StoredUpload, UploadStore
from scoring.jobs.worker import JobWorker, Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.client import JudgeError, probe
from scoring.judges.run import Quote, known_outcomes
from scoring.judges.spec import UNNAMED, JudgeSpec, Price, known_judges, with_price
from scoring.questions.library import QuestionLibrary, benchmarks_here
from scoring.registry import BENCHMARKS, benchmark_of
from scoring.report import Protocol, QuestionSet
from scoring.serialize import ReportError

T = TypeVar("T")

TRY_OUT = "Five or six short calls show which settings it accepts"

FIRST_GRADES = 5
"""Questions whose grades are shown while a job is judged."""


@dataclass(frozen=True)
class OwnJudge:
    """A user's own judge: its model, and its endpoint with the key."""

    model: str
    address: Endpoint
    may_be_tried_out: bool
    """Whether it may be tried out if it is unknown."""


class FirstGrade(NamedTuple):
    """A grade that a job's owner sees before the report."""

    question: str
    outcome: str


class _Judge(NamedTuple):
    """A judge that can be asked."""

    address: Endpoint
    spec: JudgeSpec


@dataclass(frozen=True, eq=False)
class JobService:
    """Scoring requests of users, by the hash of a voter cookie; raises the errors of the stores and readers it calls.

    The operator's judge is asked unless a user brings one. A user's unknown judge is tried out first, which raises
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
    library: QuestionLibrary = field(default_factory=QuestionLibrary)
    aside: Aside | None = None
    """The process that reads large files; None: this one."""
    page_cache: Cache[Any] = field(default_factory=lambda: Cache(2_000))
    """Prices, and all else that each look at the page needs again."""

    @property
    def reader(self) -> FileReader:
        return FileReader(self.question_sets, self.library, self.jobs, self.submissions, self.cache)

    def _read(self, source: Source, method: Callable[..., T], *arguments: Any) -> T:
        """Calls a method of the reader, aside where the source is large."""
        if self.aside is None or not source.is_large:
            return method(*arguments)
        return self.aside.run(method, *arguments, network=source.network)

    def _upload(self, owner: str, token: str) -> StoredUpload:
        """An owner's upload, led by its answers. Raises FileRolesError, SpecError and RowsError."""
        upload = self.upload_store.find(owner, token)
        if len(upload.files) < 2:
            return upload
        return upload.led_by(self._roles(upload).name)

    def _roles(self, upload: StoredUpload) -> FileRoles:
        paths = [file.path for file in upload.files]
        read = partial(self._read, Source.from_upload(upload), file_roles, upload)
        return self.page_cache.get(("roles", paths), read)

    def brings_spec(self, owner: str, token: str) -> bool:
        """Whether an upload has a spec. Raises FileRolesError, SpecError and RowsError."""
        return self._roles(self.upload_store.find(owner, token)).spec is not None

    def chosen_benchmark(self, owner: str, token: str, chosen: FileChoice) -> Benchmark[Any]:
        """Returns the chosen benchmark; a user's own is made from its spec. Raises FileRolesError and SpecError."""
        if not is_own(chosen.benchmark):
            return BENCHMARKS[chosen.benchmark]
        roles = self._roles(self.upload_store.find(owner, token))
        own = roles.users_benchmark(chosen.benchmark, chosen.spec)
        assert own, "an own benchmark without a spec is an error"
        return own

    def _stored_source(self, link: str) -> Source:
        return Source(self.jobs.size(link))

    def describe_answers(
        self, owner: str, token: str, benchmark: str, questions: object = None
    ) -> Recognised:
        """Describes a file of free answers to the question set of this name, or to the first set that it answers."""
        upload = self._upload(owner, token)
        return self._read(
            Source.from_upload(upload), self.reader.describe_answers, upload, benchmark, questions
        )

    def benchmarks_here(self) -> frozenset[str]:
        return benchmarks_here(self.question_sets.values(), self.library)

    def sets_of(self, benchmark: str) -> list[str]:
        return self.reader.sets_of(benchmark)

    def chosen_questions(self, questions: str, only: str) -> QuestionSet:
        """A question set, or the part of it that a list of ids names. Raises RowsError."""
        return self.reader.chosen_questions(questions, only)

    def recognise(
        self,
        owner: str,
        token: str,
        chosen: FileChoice = FROM_FILE,
        waits: Callable[[], bool] = lambda: True,
    ) -> Recognised:
        """Recognises a file's benchmark, unless one is chosen; stops when the file is gone or nobody `waits`.

        A large file, which another process reads, is read to its end, since `waits` can't be asked there.
        """
        upload = self._upload(owner, token)
        source = Source.from_upload(upload)
        if self.aside is not None and source.is_large:
            return self._read(source, self.reader.recognise, owner, upload, chosen)
        return self.reader.recognise(owner, upload, chosen, waits)

    def own_look(self, owner: str, token: str) -> OwnLook | None:
        """Returns an upload's columns, with the fields of an own benchmark guessed from them; None if it has a spec."""
        upload = self._upload(owner, token)
        read = partial(self._read, Source.from_upload(upload), own_look, self._roles(upload))
        return self.page_cache.get(("own look", [file.path for file in upload.files]), read)

    def own_check(
        self, owner: str, token: str, chosen: FileChoice, judge: OwnJudge | None
    ) -> OwnCheck:
        """Checks a file by its owner's spec before it is scored, with the prompt and price of a judge."""
        upload = self._upload(owner, token)
        asked_judge = self._asked_judge(owner, judge)
        read = partial(
            self._read,
            Source.from_upload(upload),
            self.reader.own_check,
            upload,
            chosen,
            asked_judge,
        )
        return self.page_cache.get(("own check", upload.token, chosen, asked_judge), read)

    def has_grades(self, owner: str, token: str) -> bool:
        """Whether a file holds grades already, so that its report is free."""
        upload = self._upload(owner, token)
        return self.page_cache.get(
            ("graded", owner, token),
            lambda: self._read(Source.from_upload(upload), self.reader.has_grades, upload),
        )

    def report_grades(
        self, owner: str, token: str, questions: str, options: Options, title: str
    ) -> Job:
        """Stores the report of a file of grades, as a finished job."""
        upload = self._upload(owner, token)
        make_report = self.reader.graded_report
        report = self._read(
            Source.from_upload(upload), make_report, upload, questions, options, title
        )
        return self.jobs.add_done(owner, report, upload.network)

    def draft_answers(
        self, owner: str, token: str, questions: str, options: Options, title: str
    ) -> DraftRecipe:
        """Draft of a file of answers to a question set."""
        upload = self._upload(owner, token)
        make_report = partial(self.reader.draft_answers, upload, questions, options, title)
        return DraftRecipe(make_report, lambda: Source.from_upload(upload))

    def draft_comparison(self, owner: str, token: str, request: SubmissionRequest) -> DraftRecipe:
        """Draft of a file's matches with the models of the item bank."""
        upload = self._upload(owner, token)
        make_report = partial(self.reader.draft_comparison, owner, upload, request)
        return DraftRecipe(make_report, lambda: Source.from_upload(upload))

    def draft_stored_comparison(
        self, stored: StoredModel, request: SubmissionRequest
    ) -> DraftRecipe:
        return DraftRecipe(partial(self.reader.draft_stored_comparison, stored, request))

    def draft_sealed(self, owner: str, token: str, protocol: Protocol, title: str) -> DraftRecipe:
        """Draft of a file's matches with references that only the judge reads."""
        upload = self._upload(owner, token)
        make_report = partial(self.reader.draft_sealed, upload, protocol, title)
        return DraftRecipe(make_report, lambda: Source.from_upload(upload))

    def report_by_rules(
        self, owner: str, token: str, chosen: FileChoice, protocol: str, title: str
    ) -> Job:
        """Stores the report that rules alone make of a file, as a finished job."""
        upload = self._upload(owner, token)
        self.upload_store.check_disk()
        make_report = self.reader.report_by_rules
        report = self._read(
            Source.from_upload(upload), make_report, upload, chosen, protocol, title
        )
        job = self.jobs.add_done(owner, report, upload.network)
        self.pictures.keep_soon(job)
        return job

    def draft_file(
        self, owner: str, token: str, chosen: FileChoice, protocol: str, title: str
    ) -> DraftRecipe:
        """Draft of all that the rules leave open in a file."""
        upload = self._upload(owner, token)
        make_report = partial(self.reader.draft_file, upload, chosen, protocol, title)
        return DraftRecipe(make_report, lambda: Source.from_upload(upload))

    def delete(self, owner: str, link: str) -> None:
        """Deletes a job and its file, but no newer file of the same name. Raises JobError."""
        job = self.jobs.delete(owner, link)
        # A judged job finishes long after its file was read. A free report finishes at once, and anew when its file is
        # scored again.
        finished_at = job.finished or job.created
        file_read_at = job.created if job.address else finished_at
        self.upload_store.drop(owner, job.file, before=file_read_at.timestamp())

    def count_left(self, job: Job) -> int:
        """Returns the number of answers that the rules left open in a report without a judge; else 0."""
        if job.model or job.state != "done" or not has_rules(job):
            return 0
        try:
            return self.page_cache.get(
                ("left", job.link),
                lambda: self._read(self._stored_source(job.link), self.reader.count_left, job.link),
            )
        except ReportError:  # It can't be read any more.
            return 0

    def draft_rest(self, owner: str, link: str) -> DraftRecipe:
        """Draft of the answers that the rules left open in a report."""
        return DraftRecipe(
            partial(self.reader.draft_rest, owner, link), lambda: self._stored_source(link)
        )

    def first_grades(self, job: Job) -> list[FirstGrade]:
        """Returns the outcomes of a job's first questions, as far as they are judged.

        Empty for a large job, for one whose draft can't be read any more, and for one with secret texts, since a single
        outcome would reveal something of them.
        """
        try:
            stored = self.jobs.draft(job.link) if self.jobs.size(job.link) <= LARGE else None
        except ReportError:
            return []
        if stored is None or self.submissions.is_blind(stored.report):
            return []
        benchmark = benchmark_of(stored.report)
        tasks = benchmark.tasks(stored.report, stored.spec)[:FIRST_GRADES]
        outcomes = known_outcomes(tasks, stored.spec, job.address, job.asker, self.cache)
        return [FirstGrade(name, benchmark.outcome_text(outcome)) for name, outcome in outcomes]

    def price(self, owner: str, draft: DraftRecipe, judge: OwnJudge | None) -> Quote:
        """Returns the cost of judging a draft, without a price for an unknown judge. Raises OptionsError."""
        cost = self.costs(owner, [draft], judge)[0]
        if isinstance(cost, OptionsError):
            raise cost
        return cost

    def costs(
        self, owner: str, drafts: Sequence[DraftRecipe], judge: OwnJudge | None
    ) -> Sequence[Quote | OptionsError]:
        """Returns the cost of judging each draft of a file, or what its options lack."""
        asked_judge = self._asked_judge(owner, judge)
        report_makers = [draft.make_report for draft in drafts]
        return self.page_cache.get(
            ([draft.cache_key for draft in drafts], asked_judge),
            lambda: self._read(
                drafts[0].source(), self.reader.price_drafts, report_makers, asked_judge
            ),
        )

    def _asked_judge(self, owner: str, judge: OwnJudge | None) -> AskedJudge:
        """Returns the judge that a price is for; its name or price may be unknown."""
        if judge is not None:
            judge_spec = known_spec(judge.model, judge.address, self.jobs)
            spec = with_price(judge_spec or replace(UNNAMED, model=judge.model), self.prices)
            judge_owner = owner if judge.address.address else ""
            return AskedJudge(spec, judge.address.address, judge_owner, is_own=True)
        if self.operator is not None:
            return AskedJudge(
                self.operator.spec, self.operator.endpoint.address, None, is_own=False
            )
        return AskedJudge(UNNAMED, "", "", is_own=False)

    def quote(
        self, owner: str, draft: DraftRecipe, judge: OwnJudge | None, network: str | None = None
    ) -> Job:
        """Keeps a draft with its cost as a job that its owner may start."""
        address, spec = self._judge(owner, judge, network)
        self.upload_store.check_disk()
        is_own = judge is not None
        asked_judge = AskedJudge(spec, address.address, address.owner, is_own)
        costed = self._read(
            draft.source(), self.reader.draft_with_cost, draft.make_report, asked_judge
        )
        cost = costed.cost
        if not is_own and self.exceeds_ceiling(cost):
            raise JobServiceError(
                f"Judging this file costs about ${cost.dollars:,.2f}, and this site pays ${self.ceiling:,.2f} per job. "
                "Choose fewer runs or opponents, samples from one call, or your own key."
            )
        return self.jobs.create(owner, costed.draft, spec, cost, own_key=is_own, network=network)

    def with_another_judge(
        self, owner: str, link: str, judge: OwnJudge | None, network: str | None = None
    ) -> Job:
        """Quotes a stopped job's draft for another judge, as a new job; the stopped one stays."""
        draft = DraftRecipe(
            partial(self.reader.redraft_stopped, owner, link), lambda: self._stored_source(link)
        )
        return self.quote(owner, draft, judge, network)

    def trial_state(self, owner: str, judge: OwnJudge) -> TrialState:
        return self.worker.trials.state(owner, judge.address, judge.model)

    def exceeds_ceiling(self, cost: Quote) -> bool:
        """Whether a job costs more than the operator pays for one."""
        return (cost.dollars or 0) > self.ceiling

    def why_not_lent(self, owner: str) -> str:
        """Returns why the operator's judge is not lent to an owner; "" if it is lent."""
        try:
            self._judge(owner, None)
        except JobServiceError as error:
            return str(error)
        return ""

    def start(
        self, owner: str, link: str, address: Endpoint | None, network: str | None = None
    ) -> None:
        """Starts or resumes a job from a network; a job with a user's own judge needs its endpoint and key."""
        self.page_cache.clear()  # replies that are known cost nothing
        paying_network = None if address else self._lend(owner, network)
        self.worker.begin(owner, link, address, paying_network)

    def _lend(self, owner: str, network: str | None = None) -> str | None:
        """Returns the code of the network that shares an owner's daily limit; None for a person.

        Raises JobServiceError if nothing is lent.
        """
        try:
            return self.lending.to_cookie(owner, network)
        except NotLentError as error:
            raise JobServiceError(f"{error} Or use your own key.") from error

    def check_judge(self, owner: str, judge: OwnJudge | None, network: str | None) -> None:
        """Checks that a judge can be asked, before a file is read for it. Raises JobServiceError."""
        self._judge(owner, judge, network)

    def _judge(self, owner: str, own: OwnJudge | None, network: str | None = None) -> _Judge:
        """Returns a user's own judge, else the operator's. Raises JobServiceError, and as `Trials.spec`."""
        if own is not None:
            return self._own_judge(owner, own, network)
        if self.operator is None:
            raise JobServiceError("This site has no judge of its own. Use your own key.")
        self._lend(owner)  # for its error
        return _Judge(self.operator.endpoint, self.operator.spec)

    def _own_judge(self, owner: str, own: OwnJudge, network: str | None) -> _Judge:
        """Returns a user's own judge, after a trial if it is unknown. Raises as `_judge` does."""
        if not own.model:
            raise JobServiceError(
                "Your judge needs a name and a key. Enter the model as its server calls it and the key above, then "
                "press again."
            )
        if not own.address.key.reveal():
            raise JobServiceError("Your judge needs a key. Enter it above, then press again.")
        spec = known_spec(own.model, own.address, self.jobs)
        if spec is None and not own.may_be_tried_out:
            raise JobServiceError(
                f"We don't know {own.model!r}. {TRY_OUT}. Tick “Test this judge first”, then press again."
            )
        spec = spec or self.worker.trials.spec(owner, own.address, own.model, network)
        return _Judge(own.address, with_price(spec, self.prices))


def known_spec(model: str, address: Endpoint, jobs: Jobs) -> JudgeSpec | None:
    """Returns a judge's spec from the judges' file or from an earlier job; None if neither has it.

    An earlier job's price is left out, since the price lists may have changed.
    """
    spec = known_judges().get(model)
    if spec is None and (earlier := jobs.spec(address.address, model, address.owner)):
        spec = replace(earlier, price=None)
    return spec


def operators_judge(
    settings: JudgeSettings, jobs: Jobs, prices: Mapping[str, Price]
) -> Operator | None:
    """Returns the operator's judge, None if none is set. Raises SettingError."""
    if not settings.model:
        return None
    try:
        address = Endpoint(settings.base_url, settings.key)
        spec = known_spec(settings.model, address, jobs)
        if spec is None:
            spec = asyncio.run(probe(address, settings.model))
        spec = with_price(spec, prices)
    except (EndpointError, JudgeError) as error:
        raise SettingError(
            f"JUDGE_MODEL {settings.model!r} at JUDGE_URL can't be asked: {error}"
        ) from error
    if spec.price is None:
        raise SettingError(
            f"The price of JUDGE_MODEL {settings.model!r} isn't known. Add it to a CSV, and set JUDGE_PRICES to that."
        )
    return Operator(address, spec)


def question_sets(mm_vet: Path | None, mm_vet_v2: Path | None) -> Mapping[str, QuestionSet]:
    """MM-Vet, its Bard subset and v2, if present, and our own sample, by name. Raises QuestionsError and RowsError."""
    sets = []
    if mm_vet is not None:
        full_set = load_mm_vet(mm_vet)
        sets.append(full_set)
        folder = mm_vet if mm_vet.is_dir() else mm_vet.parent
        bard_ids = folder / "bard_set.json"
        if bard_ids.is_file():
            sets.append(subset_of_file(full_set, bard_ids))
    if mm_vet_v2 is not None:
        sets.append(load_mm_vet_v2(mm_vet_v2))
    sets.append(own_sample())
    return {questions.name: questions for questions in sets}
