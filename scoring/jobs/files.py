"""File reader: recognises an uploaded file, makes its reports and drafts, and prices its judging.

A server reads large files aside (`arena/io/aside.py`), so a reader can be pickled, and its results are small.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from arena.io.strict_json import row_errors
from arena.templates import plural
from scoring.benchmarks.base import AnswerLook, Benchmark, ChoicesError, FileBenchmark, OpenedFile
from scoring.benchmarks.hidden import report_of
from scoring.benchmarks.mm_vet import MMVet, Options, OptionsError
from scoring.benchmarks.mm_vet_grades import graded_report, grades_for, holds_grades
from scoring.benchmarks.mm_vet_questions import subset_of_ids, truth_words
from scoring.benchmarks.mm_vet_tables import zeros_sentence
from scoring.benchmarks.predictions import (
    Layout,
    Upload,
    UploadError,
    fill,
    notices,
    read_predictions,
)
from scoring.jobs.file_roles import FileRolesError, file_roles, open_with_questions
from scoring.jobs.own_benchmarks import OwnCheck, own_check
from scoring.jobs.store import Jobs
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.uploads import StoredUpload
from scoring.jobs.written import Written, written
from scoring.judges.cache import ReplyCache
from scoring.judges.run import Quote
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.reader import Problem
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import QuestionMatch
from scoring.questions.opening import NO_FILE, JoinedFile, open_joined_file, whole_file
from scoring.registry import (
    BENCHMARKS,
    benchmark_of,
    file_benchmark,
    open_upload,
    quote,
    recognised,
)
from scoring.report import AnyReport, Protocol, Question, QuestionSet
from scoring.visit_bench.reader import read_submission
from scoring.visit_bench.sealed import SEALED_ITEMS, SealedReport

LARGE = 20_000
"""Bytes of a file or report above which it is read aside: rules look at a thousand letters for 20 ms."""
LOOKED_AT = 3
"""Rows of a file that its owner sees before scoring."""
_PACKED = (".xlsx", ".parquet")
_BLIND_TO_OWN = (
    "Voters are still comparing these answers, so only this site's judge may see them: another judge's operator could "
    "learn which model gave which. Choose this site's judge under Details, or ask the people who run this site for one."
)
_SEALED_FROM_OWN = (
    "Only this site's judge may see sealed captions and references. Choose it under Details. If you can't, log in "
    "above, or ask the people who run this site."
)
_HIDDEN_FROM_JUDGES = (
    "The right answers are hidden, so only rules may score this file: a judge's replies would be stored. Choose Score "
    "by rules."
)
LAYOUTS: Mapping[Layout, str] = {
    "id: text": "the authors' format",
    "id: record": "one record per id",
    "records": "one record per answer",
    "LLaVA answers": "LLaVA's format",
    "lmms-eval samples": "lmms-eval's format",
    "VLMEvalKit table": "VLMEvalKit's format",
    "question texts": "rows that quote their question",
}


class JobServiceError(ValueError):
    """An invalid request; the message says what to choose instead."""


class FileChoice(NamedTuple):
    """A user's choice of how to score a file; "" leaves it to the file."""

    benchmark: str = ""
    """Key of `BENCHMARKS`, or `OWN`."""
    questions: str = ""
    """Name of a question file of this server."""
    spec: str = ""
    """JSON of the spec of a user's own benchmark; "" for the upload's spec."""


FROM_FILE = FileChoice()


@dataclass(frozen=True)
class Recognised:
    """The description of an uploaded file."""

    benchmark: str
    """Its key; an edition of MM-Vet for free answers, whose questions are chosen beside the file."""
    title: str
    lines: tuple[str, ...]
    problems: tuple[Problem, ...]
    scorable: bool
    rows: tuple[AnswerLook, ...] = ()
    questions: str = ""
    """Name of the question set or file that it answers; "" for a file that holds its questions."""
    sets: Sequence[str] = ()
    """Names of the question files that it may belong to."""


class Source(NamedTuple):
    """The source of a draft: the bytes of its file or report, and the network that sent it."""

    size: int = 0
    network: str | None = None

    @classmethod
    def from_upload(cls, arrived: StoredUpload) -> "Source":
        """The source of an upload's draft; a packed upload counts as large, since it unpacks to more."""
        with suppress(FileNotFoundError):
            is_packed = any(file.path.suffix in _PACKED for file in arrived.files)
            size = max(arrived.size, LARGE + 1) if is_packed else arrived.size
            return cls(size, arrived.network)
        return cls(0, arrived.network)

    @property
    def is_large(self) -> bool:
        return self.size > LARGE


class Asking(NamedTuple):
    """The judge that is asked."""

    spec: JudgeSpec
    address: str
    """As it may be shown; empty if it is not known."""
    owner: str | None
    """The judge's owner; None for the operator's judge."""
    is_own: bool
    """Whether it is a user's own."""


@dataclass(frozen=True)
class Draft:
    """Recipe of a report to judge, for a judge and its address as shown. It raises OptionsError and UploadError."""

    make: partial[AnyReport]
    """A method of a FileReader with all arguments but the judge's."""
    source: Callable[[], Source] = Source

    @property
    def cache_key(self) -> tuple[object, ...]:
        """The file and all settings."""
        return (self.make.func.__name__, *self.make.args)


@dataclass(frozen=True, eq=False)
class FileReader:
    """Reads uploads and their reports; raises the errors of the stores and readers that it calls."""

    question_sets: Mapping[str, QuestionSet]
    library: QuestionLibrary
    jobs: Jobs
    submissions: Submissions
    cache: ReplyCache

    def look(self, arrived: StoredUpload, benchmark: str, questions: object = None) -> Recognised:
        """Describes a file of free answers to the question set of this name, or to the first set that it answers."""
        names = self.sets_of(benchmark)
        names = [str(questions)] if questions in names else names
        if holds_grades(arrived.path, name=arrived.name):
            return self._grades_of(benchmark, names, arrived)
        uploads = (
            (name, read_predictions(arrived.path, self.questions(name), name=arrived.name))
            for name in names
        )
        looks = [self._answers_to(benchmark, name, upload) for name, upload in uploads]
        return next((look for look in looks if look.scorable), looks[0])

    def _grades_of(self, benchmark: str, names: Sequence[str], arrived: StoredUpload) -> Recognised:
        """Describes a file of grades, beside the first question set that it holds grades for."""
        for name in names:
            chosen = self.questions(name)
            file = grades_for(arrived.path, chosen, name=arrived.name)
            if file.grades.keys() & {question.id for question in chosen.questions}:
                break
        else:
            name = names[0]
            file = grades_for(arrived.path, self.questions(name), name=arrived.name)
        origin = f"{file.toolkit}'s result file: " if file.toolkit else ""
        judges = ", ".join(file.judges)
        graded = plural(len(file.grades), "question")
        summary = f"{origin}grades by {judges} for {graded}, runs: {file.runs}. No judge is needed."
        zeros = zeros_sentence(grade for grades in file.grades.values() for grade in grades)
        lines = (summary, zeros) if zeros else (summary,)
        return Recognised(benchmark, file.upload.title, lines, (), True, questions=name)

    def _answers_to(self, benchmark: str, name: str, upload: Upload) -> Recognised:
        chosen = self.questions(name)
        questions = {question.id: question for question in chosen.questions}
        known = [prediction for prediction in upload.predictions if prediction.id in questions]
        layout = LAYOUTS[upload.layout]
        line = f"{name}: {len(known):,} of {len(questions):,} answers in {layout}"
        lines = (line, *notices(upload, chosen))
        rows = [
            _known_row(questions[prediction.id], prediction.text)
            for prediction in known[:LOOKED_AT]
        ] or [
            AnswerLook(prediction.id, "", prediction.text)
            for prediction in upload.predictions[:LOOKED_AT]
        ]
        text = (
            f"None of the file's ids belongs to {name}. If the file is for another benchmark, choose that under "
            "Details. Otherwise correct the ids."
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
                f"These are answers to {BENCHMARKS[benchmark].name}, and this server doesn't have its questions. Ask "
                f"the people who run it to add them, or score the file on your own machine: python -m scoring score "
                f"FILE --benchmark {benchmark} --questions PATH."
            )
        return names

    def questions(self, name: str) -> QuestionSet:
        if name not in self.question_sets:
            raise JobServiceError(
                f"Choose one of these questions: {', '.join(self.question_sets)}."
            )
        return self.question_sets[name]

    def chosen(self, name: str, only: str) -> QuestionSet:
        """A question set, or the part of it that a list of ids names. Raises RowsError."""
        whole = self.questions(name)
        with row_errors("The list of questions"):
            return subset_of_ids(whole, only) if only.strip() else whole

    def recognise(
        self,
        owner: str,
        arrived: StoredUpload,
        chosen: FileChoice = FROM_FILE,
        waits: Callable[[], bool] | None = None,
    ) -> Recognised:
        """Recognises a file's benchmark, unless one is chosen; stops when the file is gone or nobody `waits`."""

        def wanted() -> bool:
            return arrived.path.exists() and (waits is None or waits())

        key = chosen.benchmark
        if key in BENCHMARKS and not isinstance(BENCHMARKS[key], FileBenchmark):
            return self._of_no_file(owner, arrived, BENCHMARKS[key], key)
        beside = self._joined(arrived, chosen, wanted)
        if beside.file is not None:
            recognised_file = _described(beside.file, beside.match)
            name = beside.file.benchmark.name
            allowance = (self.jobs.hidden.allowance(owner, name),) if beside.file.is_hidden else ()
            return replace(recognised_file, lines=(*recognised_file.lines, *allowance))
        if beside.match.unclear:
            return self._unclear(arrived, beside.match, key, wanted)
        if key:
            return _described(_opened(arrived, key, wanted), beside.match)
        place = "below, under Details"
        sets = self.question_sets.values
        recognised_file = recognised(arrived.path, sets, place, name=arrived.name, wanted=wanted)
        if isinstance(recognised_file, OpenedFile):
            return _described(recognised_file, beside.match)
        return self._of_no_file(owner, arrived, recognised_file)

    def _unclear(
        self, arrived: StoredUpload, match: QuestionMatch, key: str, wanted: Callable[[], bool]
    ) -> Recognised:
        """Describes a file that fits several question files: by its own questions, else with the choice to make.

        Raises RowsError, and ChoicesError where the question files are of several benchmarks.
        """
        whole = whole_file(arrived.path, name=arrived.name, wanted=wanted)
        if whole is not None and key in ("", whole.benchmark.key):
            return _described(whole, match)
        keys = {file.benchmark for file in match.fits}
        if len(keys) > 1:
            text = f"{match.unclear} Choose its benchmark below, under Details."
            raise ChoicesError(f"{arrived.name}: {text}")
        (key,) = keys
        problem = Problem(0, None, f"{match.unclear} Choose it below, under Questions.", "scoring")
        return Recognised(
            key,
            Path(arrived.name).stem,
            (f"answers to {BENCHMARKS[key].name}",),
            (problem,),
            scorable=False,
            sets=[file.name for file in match.fits],
        )

    def _of_no_file(
        self, owner: str, arrived: StoredUpload, form: Benchmark[Any], chosen: str = ""
    ) -> Recognised:
        """Describes a file of a benchmark whose questions are here. Raises FileRolesError beside a question file."""
        roles = file_roles(arrived)
        if roles.questions is not None:
            raise FileRolesError(
                f"{roles.name} has answers to {form.name}, and this server has its questions already. Drop it without "
                f"{roles.questions_name}."
            )
        if form.way in ("compare", "sealed"):
            return self._submission(owner, arrived, chosen or None)
        return Recognised(form.key, Path(arrived.name).stem, (), (), True)

    def _joined(
        self, arrived: StoredUpload, chosen: FileChoice, wanted: Callable[[], bool] | None = None
    ) -> JoinedFile:
        """Opens a file by its own spec, with questions uploaded beside it, or with a question file of the library."""
        roles = file_roles(arrived)
        goes_on = wanted or arrived.path.exists
        own = roles.own(chosen.benchmark, chosen.spec)
        if roles.questions is not None:
            benchmark = own or (file_benchmark(chosen.benchmark) if chosen.benchmark else None)
            return JoinedFile(
                open_with_questions(roles, roles.questions, benchmark, goes_on), QuestionMatch()
            )
        if own is not None:
            return JoinedFile(_opened(arrived, own, goes_on), QuestionMatch())
        return open_joined_file(
            self.library,
            arrived.path,
            name=arrived.name,
            benchmark=chosen.benchmark or None,
            questions=chosen.questions,
            wanted=goes_on,
        )

    def _open(self, arrived: StoredUpload, chosen: FileChoice) -> OpenedFile:
        """Opens a file as its chosen benchmark. Raises RowsError and ChoicesError."""
        return self._joined(arrived, chosen).file or _opened(arrived, chosen.benchmark)

    def _submission(
        self, owner: str, arrived: StoredUpload, benchmark: str | None = None
    ) -> Recognised:
        """Describes a submission, to sealed items if it answers any. Its problems are reported with its price."""
        file = read_submission(arrived.path, name=arrived.name)
        first_entries = file.entries[:LOOKED_AT]
        rows = tuple(
            AnswerLook(entry.item or "", entry.instruction, entry.text) for entry in first_entries
        )
        sealed = SEALED_ITEMS.key
        sealed_lines = (
            self.submissions.sealed.described(owner, file) if benchmark in (None, sealed) else ()
        )
        if sealed_lines or benchmark == sealed:
            lines = sealed_lines or (f"{SEALED_ITEMS.name}: {len(file.entries):,} answers",)
            return Recognised(sealed, file.model, lines, (), True, rows)
        lines = (f"VisIT-Bench: {len(file.entries):,} answers",)
        with suppress(UploadError):
            lines += self.submissions.draft(owner, file, SubmissionRequest(), "", "").lines
        return Recognised("visit-bench", file.model, lines, (), True, rows)

    def own_check(self, arrived: StoredUpload, chosen: FileChoice, asking: Asking) -> OwnCheck:
        """Checks a file by its owner's spec, with the prompt and price of the judge that would be asked."""
        return own_check(self._open(arrived, chosen), asking.spec)

    # Reports that need no judge.
    def graded(self, arrived: StoredUpload) -> bool:
        """Whether a file holds grades already, so that its report is free."""
        return holds_grades(arrived.path, name=arrived.name)

    def graded_report(
        self, arrived: StoredUpload, questions: str, options: Options, title: str
    ) -> Written:
        chosen = self.chosen(questions, options.only)
        file = grades_for(arrived.path, chosen, name=arrived.name)
        return written(graded_report(file, chosen, options.missing, title), is_done=True)

    def extracted(
        self, arrived: StoredUpload, chosen: FileChoice, protocol: str, title: str
    ) -> Written:
        """The report that rules alone make of a file."""
        return written(report_of(self._open(arrived, chosen), protocol, title), is_done=True)

    def left(self, link: str) -> int:
        """Returns the number of answers that the rules left open in a report."""
        report: Any = self.jobs.report(link)
        return report.left if report else 0

    # Drafts, for a judge at an address.
    def answers(
        self,
        arrived: StoredUpload,
        questions: str,
        options: Options,
        title: str,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of a file of answers to a question set."""
        chosen = self.chosen(questions, options.only)
        upload = read_predictions(arrived.path, chosen, name=arrived.name)
        filled = fill(chosen, upload, options.missing)
        mm_vet = BENCHMARKS[chosen.benchmark]
        model_title = title.strip()[:120] or upload.title
        assert isinstance(mm_vet, MMVet)
        draft = mm_vet.draft(filled, chosen, options, spec, address, arrived.name, model_title)
        return replace(draft, asked=upload.asked)

    def comparison(
        self,
        owner: str,
        arrived: StoredUpload,
        request: SubmissionRequest,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of a file's matches with the models of the item bank."""
        file = read_submission(arrived.path, name=arrived.name)
        return self.submissions.draft(owner, file, request, spec.model, address).report

    def stored_comparison(
        self, stored: StoredModel, request: SubmissionRequest, spec: JudgeSpec, address: str
    ) -> AnyReport:
        return self.submissions.draft_stored(
            stored.model, stored.source, request, spec.model, address
        ).report

    def sealed(
        self, arrived: StoredUpload, protocol: Protocol, title: str, spec: JudgeSpec, address: str
    ) -> AnyReport:
        """Drafts the report of a file's matches with references that only the judge reads."""
        file = read_submission(arrived.path, name=arrived.name)
        return self.submissions.sealed.draft(file, protocol, title, spec.model, address)

    def whole_file(
        self,
        arrived: StoredUpload,
        chosen: FileChoice,
        protocol: str,
        title: str,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of all answers that the rules leave open in a file."""
        opened = self._open(arrived, chosen)
        if opened.is_hidden:
            raise JobServiceError(_HIDDEN_FROM_JUDGES)
        return _rest(opened.report(protocol, title), spec, address)

    def rest(self, owner: str, link: str, spec: JudgeSpec, address: str) -> AnyReport:
        """Drafts the judging of the answers that the rules left open in a report."""
        job = self.jobs.find(link)
        report = self.jobs.report(link)
        ruled = (
            job is not None and job.owner == owner and isinstance(benchmark_of(job), FileBenchmark)
        )
        if report is None or not ruled:
            raise JobServiceError("You have no such report. Upload the file again.")
        return _rest(report, spec, address)

    def stopped(self, owner: str, link: str, spec: JudgeSpec, address: str) -> AnyReport:
        """Drafts a stopped job's report anew, for another judge."""
        job = self.jobs.find(link)
        drafted = self.jobs.draft(link)
        if job is None or drafted is None or job.owner != owner or not job.is_stopped:
            raise JobServiceError("You have no such stopped job. Upload the file again.")
        draft: Any = drafted[0]
        if getattr(draft, "sampled", False) and not spec.samples:
            raise OptionsError(
                f"{spec.model} gives one reply per call. Upload the file again for separate runs."
            )
        return replace(draft, judge=replace(draft.judge, model=spec.model, address=address))

    def prices(
        self, makes: Sequence[partial[AnyReport]], asking: Asking
    ) -> list[Quote | OptionsError]:
        """Returns the cost of judging each draft, or what its options lack. Raises JobServiceError."""

        def price(make: partial[AnyReport]) -> Quote | OptionsError:
            try:
                return self._quoted(make(asking.spec, asking.address), asking)
            except OptionsError as error:
                return error

        return [price(make) for make in makes]

    def drafted(self, make: partial[AnyReport], asking: Asking) -> tuple[Written, Quote]:
        """Returns a draft as a job keeps it, and the cost of judging it. Raises JobServiceError."""
        report = make(asking.spec, asking.address)
        return written(report), self._quoted(report, asking)

    def _quoted(self, report: AnyReport, asking: Asking) -> Quote:
        """Returns the cost of judging. Secret texts cost as if all were new and equally long, so no price reveals one.

        Raises JobServiceError where a user's own judge would be sent a secret.
        """
        is_blind = self.submissions.is_blind(report)
        if is_blind and asking.is_own:
            raise JobServiceError(
                _SEALED_FROM_OWN if isinstance(report, SealedReport) else _BLIND_TO_OWN
            )
        opened = self.submissions.opened(report)
        cost = quote(opened, asking.spec, asking.owner, None if is_blind else self.cache)
        if not is_blind:
            return cost
        shown_cost = quote(self.submissions.priced(report), asking.spec, asking.owner, None)
        # the run still stops at its real cost, which nobody is shown
        return replace(shown_cost, most=cost.most)


def _known_row(question: Question, answer: str) -> AnswerLook:
    return AnswerLook(question.id, question.text, answer, truth_words(question.truth))


def _described(opened: OpenedFile, match: QuestionMatch) -> Recognised:
    """Describes a file of answers, with the question files that it may belong to."""
    problems = opened.problems
    scorable = not any(problem.blocks == "scoring" for problem in problems)
    sets = [file.name for file in match.fits]
    return Recognised(
        opened.benchmark.key,
        opened.title,
        opened.lines,
        problems,
        scorable,
        tuple(map(opened.benchmark.look, islice(opened.file.rows, LOOKED_AT))),
        opened.stamp.name if opened.stamp else "",
        [*sets, NO_FILE] if sets else (),
    )


def _opened(
    arrived: StoredUpload,
    benchmark: str | FileBenchmark[Any],
    wanted: Callable[[], bool] | None = None,
) -> OpenedFile:
    opened = open_upload(
        arrived.path,
        name=arrived.name,
        benchmark=benchmark,
        wanted=wanted or arrived.path.exists,
    )
    assert opened, "a benchmark that is given takes any file"
    return opened


def _rest(report: Any, spec: JudgeSpec, address: str) -> AnyReport:
    if not report.left:
        raise JobServiceError(f"Nothing in {report.title!r} is left for a judge.")
    benchmark = benchmark_of(report)
    assert isinstance(benchmark, FileBenchmark)
    if benchmark.answers_with_pictures(report):
        raise JobServiceError(
            f"The judge of {benchmark.name} needs the pictures, and this page can't send them. Score the file with "
            "python -m scoring score."
        )
    return benchmark.draft(report, spec, address)
