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
from scoring.benchmarks.mm_vet_grades import GradeFile, graded_report, grades_for, holds_grades
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
from scoring.jobs.store import Job, Jobs
from scoring.jobs.stored_report import StoredReport, stored_draft, stored_report
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.uploads import StoredUpload
from scoring.judges.cache import ReplyCache
from scoring.judges.run import Quote
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.reader import Problem
from scoring.questions.library import QuestionLibrary
from scoring.questions.matching import QuestionMatch
from scoring.questions.opening import NO_FILE, JoinedFile, open_joined_file, whole_file
from scoring.registry import BENCHMARKS, benchmark_of, file_benchmark, open_upload, quote, recognise
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
    """Its benchmark's key. For free answers it is an edition of MM-Vet, and the page offers a choice of questions."""
    title: str
    lines: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    scorable: bool = True
    rows: tuple[AnswerLook, ...] = ()
    questions: str = ""
    """Name of the question set or file that it answers; "" for a file that holds its questions."""
    question_files: Sequence[str] = ()
    """Names of the question files that it may belong to."""


class Source(NamedTuple):
    """The source of a draft: the bytes of its file or report, and the network that sent it."""

    size: int = 0
    network: str | None = None

    @classmethod
    def from_upload(cls, upload: StoredUpload) -> "Source":
        """The source of an upload's draft; a packed upload counts as large, since it unpacks to more."""
        try:
            size = upload.size
        except FileNotFoundError:  # The upload was deleted.
            return cls(0, upload.network)
        if any(file.path.suffix in _PACKED for file in upload.files):
            size = max(size, LARGE + 1)
        return cls(size, upload.network)

    @property
    def is_large(self) -> bool:
        return self.size > LARGE


class AskedJudge(NamedTuple):
    """The judge that is asked, or that a price is for."""

    spec: JudgeSpec
    address: str
    """As it may be shown; empty if it is not known."""
    owner: str | None
    """The user whose judge it is; None for the operator's judge, "" for a judge without an address."""
    is_own: bool
    """Whether it is a user's own, with or without an address."""


class CostedDraft(NamedTuple):
    """A draft (a report that waits for its judge) as a job keeps it, and the cost of judging it."""

    draft: StoredReport
    cost: Quote


@dataclass(frozen=True)
class DraftRecipe:
    """A draft to make once its judge is chosen. Making it raises OptionsError and UploadError."""

    make_report: partial[AnyReport]
    """A method of a FileReader that still needs the judge's spec, and its address as it may be shown."""
    source: Callable[[], Source] = Source  # By default of no size, from no network.

    @property
    def cache_key(self) -> tuple[object, ...]:
        """The file and all settings."""
        return (self.make_report.func.__name__, *self.make_report.args)


@dataclass(frozen=True, eq=False)
class FileReader:
    """Reads uploads and their reports; raises the errors of the stores and readers that it calls."""

    question_sets: Mapping[str, QuestionSet]
    library: QuestionLibrary
    jobs: Jobs
    submissions: Submissions
    cache: ReplyCache

    def describe_answers(
        self, upload: StoredUpload, benchmark: str, questions: object = None
    ) -> Recognised:
        """Describes a file of free answers to the question set of this name, or to the first set that it answers."""
        names = self.sets_of(benchmark)
        if questions in names:  # The page's value, which may be anything.
            names = [str(questions)]
        if holds_grades(upload.path, name=upload.name):
            return self._describe_grades(benchmark, names, upload)
        descriptions = []
        for name in names:
            answers = read_predictions(upload.path, self.questions(name), name=upload.name)
            descriptions.append(self._describe_predictions(benchmark, name, answers))
        scorable = [description for description in descriptions if description.scorable]
        return scorable[0] if scorable else descriptions[0]

    def _describe_grades(
        self, benchmark: str, names: Sequence[str], upload: StoredUpload
    ) -> Recognised:
        """Describes a file of grades, beside the first question set that it holds grades for."""
        for name in names:
            chosen = self.questions(name)
            file = grades_for(upload.path, chosen, name=upload.name)
            if file.grades.keys() & {question.id for question in chosen.questions}:
                return _describe_grades_for(benchmark, name, file)
        file = grades_for(upload.path, self.questions(names[0]), name=upload.name)
        return _describe_grades_for(benchmark, names[0], file)

    def _describe_predictions(self, benchmark: str, name: str, answers: Upload) -> Recognised:
        """Describes a file of answers beside the question set of this name."""
        chosen = self.questions(name)
        questions = {question.id: question for question in chosen.questions}
        known = [prediction for prediction in answers.predictions if prediction.id in questions]
        layout = LAYOUTS[answers.layout]
        line = f"{name}: {len(known):,} of {len(questions):,} answers in {layout}"
        lines = (line, *notices(answers, chosen))
        if known:
            rows = tuple(_known_row(questions[shown.id], shown.text) for shown in known[:LOOKED_AT])
            return Recognised(benchmark, answers.title, lines, rows=rows, questions=name)
        rows = tuple(
            AnswerLook(shown.id, "", shown.text) for shown in answers.predictions[:LOOKED_AT]
        )
        text = (
            f"None of the file's ids belongs to {name}. If the file is for another benchmark, choose that under "
            "Details. Otherwise correct the ids."
        )
        problems = (Problem(0, None, text, "scoring"),)
        return Recognised(
            benchmark, answers.title, lines, problems, scorable=False, rows=rows, questions=name
        )

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
        """The question set of this name. Raises JobServiceError without it."""
        if name not in self.question_sets:
            raise JobServiceError(
                f"Choose one of these questions: {', '.join(self.question_sets)}."
            )
        return self.question_sets[name]

    def chosen_questions(self, name: str, only: str) -> QuestionSet:
        """A question set, or the part of it that a list of ids names. Raises RowsError."""
        question_set = self.questions(name)
        if not only.strip():
            return question_set
        with row_errors("The list of questions"):
            return subset_of_ids(question_set, only)

    def recognise(
        self,
        owner: str,
        upload: StoredUpload,
        chosen: FileChoice = FROM_FILE,
        waits: Callable[[], bool] | None = None,
    ) -> Recognised:
        """Recognises a file's benchmark, unless one is chosen; stops when the file is gone or nobody `waits`."""

        def wanted() -> bool:
            return upload.path.exists() and (waits is None or waits())

        key = chosen.benchmark
        if key in BENCHMARKS and not isinstance(BENCHMARKS[key], FileBenchmark):
            return self._describe_with_questions_here(owner, upload, BENCHMARKS[key], key)
        # Other benchmarks' questions are uploaded beside the answers, or in the library, or in the file itself.
        joined = self._open_with_questions(upload, chosen, wanted)
        if joined.file is not None:
            description = _describe_file(joined.file, joined.match)
            if not joined.file.is_hidden:
                return description
            allowance = self.jobs.hidden_days.allowance(owner, joined.file.benchmark.name)
            return replace(description, lines=(*description.lines, allowance))
        if joined.match.unclear:
            return self._describe_unclear(upload, joined.match, key, wanted)
        if key:  # Chosen, and its questions are in the file.
            return _describe_file(_open_alone(upload, key, wanted), joined.match)
        place = "below, under Details"
        sets = self.question_sets.values  # Called only for a file without questions.
        file_or_benchmark = recognise(upload.path, sets, place, name=upload.name, wanted=wanted)
        if isinstance(file_or_benchmark, OpenedFile):
            return _describe_file(file_or_benchmark, joined.match)
        return self._describe_with_questions_here(owner, upload, file_or_benchmark)

    def _describe_unclear(
        self, upload: StoredUpload, match: QuestionMatch, key: str, wanted: Callable[[], bool]
    ) -> Recognised:
        """Describes a file that fits several question files: by its own questions, else with the choice to make.

        Raises RowsError, and ChoicesError where the question files are of several benchmarks.
        """
        whole = whole_file(upload.path, name=upload.name, wanted=wanted)
        if whole is not None and key in ("", whole.benchmark.key):
            return _describe_file(whole, match)
        keys = {file.benchmark for file in match.fits}
        if len(keys) > 1:
            text = f"{match.unclear} Choose its benchmark below, under Details."
            raise ChoicesError(f"{upload.name}: {text}")
        (only_key,) = keys
        problem = Problem(0, None, f"{match.unclear} Choose it below, under Questions.", "scoring")
        return Recognised(
            only_key,
            Path(upload.name).stem,
            lines=(f"answers to {BENCHMARKS[only_key].name}",),
            problems=(problem,),
            scorable=False,
            question_files=[file.name for file in match.fits],
        )

    def _describe_with_questions_here(
        self, owner: str, upload: StoredUpload, benchmark: Benchmark[Any], chosen: str = ""
    ) -> Recognised:
        """Describes a file of a benchmark whose questions are here; `chosen` is its key if the user chose it.

        Raises FileRolesError beside a question file.
        """
        roles = file_roles(upload)
        if roles.questions is not None:
            raise FileRolesError(
                f"{roles.name} has answers to {benchmark.name}, and this server has its questions already. Drop it "
                f"without {roles.questions_name}."
            )
        if benchmark.way in ("compare", "sealed"):
            return self._describe_submission(owner, upload, chosen or None)
        return Recognised(benchmark.key, Path(upload.name).stem)

    def _open_with_questions(
        self, upload: StoredUpload, chosen: FileChoice, wanted: Callable[[], bool] | None = None
    ) -> JoinedFile:
        """Opens a file by its own spec, with questions uploaded beside it, or with a question file of the library."""
        roles = file_roles(upload)
        is_wanted = wanted or upload.path.exists
        own = roles.users_benchmark(chosen.benchmark, chosen.spec)
        if roles.questions is not None:
            benchmark: FileBenchmark[Any] | None = own
            if own is None and chosen.benchmark:
                benchmark = file_benchmark(chosen.benchmark)
            opened = open_with_questions(roles, roles.questions, benchmark, is_wanted)
            return JoinedFile(opened, QuestionMatch())
        if own is not None:
            return JoinedFile(_open_alone(upload, own, is_wanted), QuestionMatch())
        return open_joined_file(
            self.library,
            upload.path,
            name=upload.name,
            benchmark=chosen.benchmark or None,
            questions=chosen.questions,
            wanted=is_wanted,
        )

    def _open_file(self, upload: StoredUpload, chosen: FileChoice) -> OpenedFile:
        """Opens a file as its chosen benchmark. Raises RowsError and ChoicesError."""
        opened = self._open_with_questions(upload, chosen).file
        return opened or _open_alone(upload, chosen.benchmark)

    def _describe_submission(
        self, owner: str, upload: StoredUpload, benchmark: str | None = None
    ) -> Recognised:
        """Describes a submission; without a chosen `benchmark` it is one to sealed items if it answers any.

        Its problems are reported with its price.
        """
        file = read_submission(upload.path, name=upload.name)
        first_entries = file.entries[:LOOKED_AT]
        rows = tuple(
            AnswerLook(entry.item or "", entry.instruction, entry.text) for entry in first_entries
        )
        sealed = SEALED_ITEMS.key
        sealed_lines: tuple[str, ...] = ()
        if benchmark in (None, sealed):
            sealed_lines = self.submissions.sealed.describe(owner, file)
        if sealed_lines or benchmark == sealed:  # Sealed by its answers, or by the user's choice.
            lines = sealed_lines or (f"{SEALED_ITEMS.name}: {len(file.entries):,} answers",)
            return Recognised(sealed, file.model, lines, rows=rows)
        lines = (f"VisIT-Bench: {len(file.entries):,} answers",)
        with suppress(UploadError):
            draft = self.submissions.draft(owner, file, SubmissionRequest(), judge="", address="")
            lines += draft.lines
        return Recognised("visit-bench", file.model, lines, rows=rows)

    def own_check(self, upload: StoredUpload, chosen: FileChoice, judge: AskedJudge) -> OwnCheck:
        """Checks a file by its owner's spec, with the prompt and price of the judge that would be asked."""
        return own_check(self._open_file(upload, chosen), judge.spec)

    # Reports that need no judge.
    def has_grades(self, upload: StoredUpload) -> bool:
        """Whether a file holds grades already, so that its report is free."""
        return holds_grades(upload.path, name=upload.name)

    def graded_report(
        self, upload: StoredUpload, questions: str, options: Options, title: str
    ) -> StoredReport:
        """The report of a file of grades for a question set."""
        chosen = self.chosen_questions(questions, options.only)
        file = grades_for(upload.path, chosen, name=upload.name)
        return stored_report(graded_report(file, chosen, options.missing, title))

    def report_by_rules(
        self, upload: StoredUpload, chosen: FileChoice, protocol: str, title: str
    ) -> StoredReport:
        """The report that rules alone make of a file."""
        return stored_report(report_of(self._open_file(upload, chosen), protocol, title))

    def count_left(self, link: str) -> int:
        """Returns the number of answers that the rules left open in a report."""
        report: Any = self.jobs.report(link)
        return report.left if report else 0

    # Drafts, for a judge at an address.
    def draft_answers(
        self,
        upload: StoredUpload,
        questions: str,
        options: Options,
        title: str,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of a file of answers to a question set."""
        chosen = self.chosen_questions(questions, options.only)
        answers = read_predictions(upload.path, chosen, name=upload.name)
        filled = fill(chosen, answers, options.missing)
        mm_vet = BENCHMARKS[chosen.benchmark]
        model_title = title.strip()[:120] or answers.title
        assert isinstance(mm_vet, MMVet)
        draft = mm_vet.draft(filled, chosen, options, spec, address, upload.name, model_title)
        return replace(draft, asked=answers.asked)  # The text before each question, by the file.

    def draft_comparison(
        self,
        owner: str,
        upload: StoredUpload,
        request: SubmissionRequest,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of a file's matches with the models of the item bank."""
        file = read_submission(upload.path, name=upload.name)
        return self.submissions.draft(owner, file, request, spec.model, address).report

    def draft_stored_comparison(
        self, stored: StoredModel, request: SubmissionRequest, spec: JudgeSpec, address: str
    ) -> AnyReport:
        """Drafts the report of a stored model's matches."""
        return self.submissions.draft_stored(
            stored.model, stored.source, request, spec.model, address
        ).report

    def draft_sealed(
        self, upload: StoredUpload, protocol: Protocol, title: str, spec: JudgeSpec, address: str
    ) -> AnyReport:
        """Drafts the report of a file's matches with references that only the judge reads."""
        file = read_submission(upload.path, name=upload.name)
        return self.submissions.sealed.draft(file, protocol, title, spec.model, address)

    def draft_file(
        self,
        upload: StoredUpload,
        chosen: FileChoice,
        protocol: str,
        title: str,
        spec: JudgeSpec,
        address: str,
    ) -> AnyReport:
        """Drafts the report of all answers that the rules leave open in a file."""
        opened = self._open_file(upload, chosen)
        if opened.is_hidden:
            raise JobServiceError(_HIDDEN_FROM_JUDGES)
        return _draft_rest_of(opened.report(protocol, title), spec, address)

    def draft_rest(self, owner: str, link: str, spec: JudgeSpec, address: str) -> AnyReport:
        """Drafts the judging of the answers that the rules left open in a report."""
        job = self.jobs.find(link)
        report = self.jobs.report(link)
        if job is None or job.owner != owner or report is None or not has_rules(job):
            raise JobServiceError("You have no such report. Upload the file again.")
        return _draft_rest_of(report, spec, address)

    def redraft_stopped(self, owner: str, link: str, spec: JudgeSpec, address: str) -> AnyReport:
        """Drafts a stopped job's report anew, for another judge."""
        job = self.jobs.find(link)
        stored = self.jobs.draft(link)
        if job is None or stored is None or job.owner != owner or not job.is_stopped:
            raise JobServiceError("You have no such stopped job. Upload the file again.")
        draft: Any = stored.report
        if getattr(draft, "sampled", False) and not spec.samples:
            raise OptionsError(
                f"{spec.model} gives one reply per call. Upload the file again for separate runs."
            )
        return replace(draft, judge=replace(draft.judge, model=spec.model, address=address))

    def price_drafts(
        self, report_makers: Sequence[partial[AnyReport]], judge: AskedJudge
    ) -> list[Quote | OptionsError]:
        """Returns the cost of judging each draft, or what its options lack. Raises JobServiceError."""

        def price(make_report: partial[AnyReport]) -> Quote | OptionsError:
            try:
                report = make_report(judge.spec, judge.address)
                return self._cost(report, judge)
            except OptionsError as error:
                return error

        return [price(make_report) for make_report in report_makers]

    def draft_with_cost(self, make_report: partial[AnyReport], judge: AskedJudge) -> CostedDraft:
        """Makes a draft with the cost of judging it. Raises JobServiceError."""
        report = make_report(judge.spec, judge.address)
        return CostedDraft(stored_draft(report), self._cost(report, judge))

    def _cost(self, report: AnyReport, judge: AskedJudge) -> Quote:
        """Returns the cost of judging. Secret texts cost as if all were new and equally long, so no price reveals one.

        Raises JobServiceError where a user's own judge would be sent a secret.
        """
        is_blind = self.submissions.is_blind(report)
        if is_blind and judge.is_own:
            is_sealed = isinstance(report, SealedReport)
            raise JobServiceError(_SEALED_FROM_OWN if is_sealed else _BLIND_TO_OWN)
        opened = self.submissions.open_draft(report)
        if not is_blind:
            return quote(opened, judge.spec, judge.owner, self.cache)
        real_cost = quote(opened, judge.spec, judge.owner, cache=None)
        even_draft = self.submissions.draft_to_price(report)
        shown_cost = quote(even_draft, judge.spec, judge.owner, cache=None)
        # the run still stops at its real cost, which nobody is shown
        return replace(shown_cost, most=real_cost.most)


def has_rules(job: Job) -> bool:
    """Whether a job's benchmark has rules, which may leave answers open for a judge."""
    return isinstance(benchmark_of(job), FileBenchmark)


def _describe_grades_for(benchmark: str, questions: str, file: GradeFile) -> Recognised:
    origin = f"{file.toolkit}'s result file: " if file.toolkit else ""
    judges = ", ".join(file.judges)
    graded = plural(len(file.grades), "question")
    summary = f"{origin}grades by {judges} for {graded}, runs: {file.runs}. No judge is needed."
    zeros = zeros_sentence(grade for grades in file.grades.values() for grade in grades)
    lines = (summary, zeros) if zeros else (summary,)
    return Recognised(benchmark, file.upload.title, lines, questions=questions)


def _known_row(question: Question, answer: str) -> AnswerLook:
    return AnswerLook(question.id, question.text, answer, truth_words(question.truth))


def _describe_file(opened: OpenedFile, match: QuestionMatch) -> Recognised:
    """Describes a file of answers, with the question files that it may belong to."""
    problems = opened.problems
    scorable = not any(problem.blocks == "scoring" for problem in problems)
    names = [file.name for file in match.fits]
    return Recognised(
        benchmark=opened.benchmark.key,
        title=opened.title,
        lines=opened.lines,
        problems=problems,
        scorable=scorable,
        rows=tuple(map(opened.benchmark.look, islice(opened.file.rows, LOOKED_AT))),
        questions=opened.stamp.name if opened.stamp else "",
        question_files=[*names, NO_FILE] if names else (),
    )


def _open_alone(
    upload: StoredUpload,
    benchmark: str | FileBenchmark[Any],
    wanted: Callable[[], bool] | None = None,
) -> OpenedFile:
    """Opens a file without questions beside it, as a benchmark."""
    opened = open_upload(
        upload.path,
        name=upload.name,
        benchmark=benchmark,
        wanted=wanted or upload.path.exists,
    )
    assert opened, "a benchmark that is given takes any file"
    return opened


def _draft_rest_of(report: Any, spec: JudgeSpec, address: str) -> AnyReport:
    """Drafts the judging of what rules left open in a report. Raises JobServiceError."""
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
