"""Benchmark records: all that forms, the job service, the command line and reports ask of a benchmark.

A draft is a file's report before any judge call; it holds everything that shapes the scores.
"""

from abc import ABC, abstractmethod
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from arena.database import now
from arena.io.tables import ANSWERS, FileLimits, Record, read_records
from arena.locale import t, translated
from arena.sheets import Sheet
from arena.templates import plural
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    ComparableFacts,
    PublishedBoard,
    ScoredAnswer,
    Total,
    coverage_text,
    paired_lines,
    paired_sheet,
    score_total,
    sentence,
)
from scoring.benchmarks.listing import Listing
from scoring.benchmarks.submission import ServerSubmission, these_questions
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec, ShownImage
from scoring.multiple_choice.reader import Problem, ReadFile
from scoring.no_answers import BEFORE_PROTOCOL, no_answer_sentences
from scoring.report import DATA, NO_SCORE, AnyReport, QuestionStamp, ScoreLine
from scoring.score_sheets import TreeTable, line_sheet
from scoring.small_groups import LEAST
from scoring.specs.facts import BenchmarkFact
from scoring.specs.problems import either
from scoring.specs.schema import QuestionFile

Workflow = Literal["questions first", "judge first", "rules first", "compare", "sealed", "hidden"]
"""questions first: answers are joined to chosen questions; a quote, then the report.
judge first: the same for a file that holds its questions.
rules first: a report at once, then a quote for what the rules left open.
compare: a quote of matches with other models, then the report.
sealed: as `compare`, with references that only the judge reads.
hidden: a report of figures alone, for a file of another benchmark if its right answers are secret."""
TruthPlace = Literal["there", "hidden", "absent"]
"""Where a question file's right answers are: in the file; in it but secret; with its authors alone."""
Part = Literal["questions", "missing", "runs", "stored", "opponents", "reference", "context"]
"""Settings that only some benchmarks have."""
R = TypeVar("R", bound=AnyReport)
T = TypeVar("T")
_ROWS_AT_A_TIME = 20
"""Rows between two checks whether the file is still wanted."""
_PROBLEMS_SHOWN = 20
"""Most problems that an error names."""
_ROWS_SHOWN = 5
"""Most rows that an error names of each problem."""


class AnswerLook(NamedTuple):
    """An answer of a file as its owner looks at it before scoring; "" for what is not known."""

    id: str
    question: str
    answer: str
    truth: str = ""


class AskedQuestion(NamedTuple):
    """A question of a question file."""

    id: str
    text: str
    split: str
    has_truth: bool


class ColumnNames(NamedTuple):
    """The names of columns in a benchmark's files."""

    id: str
    answer: str
    ids: tuple[str, ...]
    """The names that the id's column may have, as `columns.plain_name` spells them, the likeliest first."""
    questions: tuple[str, ...]
    """The names that the column of the question's text may have."""


USUAL_NAMES = ColumnNames(
    id="index",
    answer="prediction",
    ids=("g_index", "index", "question_id", "id", "idx", "questionid"),
    questions=("question", "prompt"),
)


class ChoicesError(ValueError):
    """A file cannot be scored; the message gives all reasons, and how to fix them."""


class BenchmarkOptions(BaseModel):
    """The options that only one benchmark has; each field is an `-o NAME=VALUE` of `score`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Benchmark(Listing, ABC, Generic[R]):
    """A benchmark: its form, and pure functions on its type of report."""

    key: str
    """Name in the job store and on the command line."""
    name: str
    """The name on pages and in reports."""
    report: type[R]
    """Type of its reports, which the job store writes and reads."""
    way: Workflow
    protocols: Mapping[str, str]
    """Protocols by label; the first is the default."""
    start: str
    """Label of the button that starts scoring."""
    unit: str
    """The noun for one answer that the judge reads."""
    about: str = ""
    """The ability that it measures, in a sentence."""
    holds: str = ""
    """The content of a file of answers, where no spec names its columns."""
    judge_label: str = ""
    """Label of the button that has a judge read what the rules left open; `{left}` is the number of answers."""
    parts: frozenset[Part] = frozenset()
    """The settings that its form has."""
    cited: str = ""
    """Key of its paper in `citations.bib`."""
    protocol_papers: Mapping[str, str] = field(
        default_factory=lambda: {"mmbench-paper": "liu2024mmbench", "mmt-paper": "ying2024mmtbench"}
    )
    """Key in `citations.bib` of the paper that a protocol comes from, by protocol."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The rule of each protocol, in a clause."""
    why_unpictured: str = "this server doesn't have them"
    """Why a question is shown without its picture."""
    why_unpaired: str = (
        "These reports have no scored question in common. Choose two files of one question set."
    )
    """Why two reports cannot be compared answer by answer."""
    options: type[BenchmarkOptions] = BenchmarkOptions
    """The options of this benchmark alone on the command line."""

    def facts(self) -> Iterator[BenchmarkFact]:
        """Yield what is known of it beside its name and its sentence."""
        if self.size:
            yield BenchmarkFact(t("benchmarks.size"), translated(self.size))
        yield BenchmarkFact(t("benchmarks.licence"), translated(self.licence))
        if self.cited:
            yield BenchmarkFact(t("benchmarks.cite"), self.cited)
        if self.holds:
            yield BenchmarkFact(t("benchmarks.files"), translated(self.holds))
        for protocol in self.protocols.values():
            note = translated(self.notes.get(protocol, protocol))
            text = t("benchmarks.protocol_note", name=protocol, note=note)
            yield BenchmarkFact(t("benchmarks.protocol"), text)

    def published_sheets(self) -> Sequence[Sheet]:
        """The tables of models that were published on it."""
        return ()

    def protocol_named(self, name: str | None) -> Any:
        """The protocol of this name, or the first one for None. Raises ChoicesError."""
        known = [*self.protocols.values()]
        if name is not None and name not in known:
            raise ChoicesError(f"{name!r} isn't a protocol here. Choose {either(known)}.")
        return known[0] if name is None else name

    def protocol_label(self, protocol: str) -> str:
        """Returns what pages call a protocol; an unknown one keeps its name."""
        labels = {name: label for label, name in self.protocols.items()}
        return labels.get(protocol, protocol)

    @abstractmethod
    def tasks(self, report: R, spec: JudgeSpec) -> Sequence[Task]:
        """The judge tasks of a draft."""

    @abstractmethod
    def with_outcomes(self, report: R, outcomes: Sequence[Any]) -> R:
        """The draft with the outcomes of its tasks, which are in the order of `tasks`."""

    @abstractmethod
    def ungraded_note(self, report: R) -> str:
        """A sentence if nothing was graded or, beginning with `NO_SCORE`, if the grades make no score; else ""."""

    @abstractmethod
    def files(self, report: R) -> Mapping[str, bytes]:
        """Every download by file name."""

    def scores(self, report: R) -> Sequence[ScoreLine]:
        """The headline, then the scores of groups of questions."""
        return ()

    def sheets(self, report: R) -> Sequence[Sheet]:
        """Every table of the report, for its page, its files and the command line."""
        lines = self.scores(report)
        return (line_sheet("scores", self.edition(report), lines, "Score"),) if lines else ()

    def totals(self, report: R) -> Sequence[Total]:
        """The numbers at the head of the report's page."""
        head = self.headline(report)
        return (score_total(head.name, head),) if head and head.mean is not None else ()

    def outcome_text(self, outcome: Any) -> str:
        """The outcome of a task in a word, while a job is under way."""
        return "no score" if outcome.score is None else f"{outcome.score:g}"

    def compare(self, report: R, other: R) -> Sequence[Sheet]:
        """Returns tables of both reports, on the questions that both score. Raises ChoicesError."""
        theirs = self.scored_answers(other)
        ours = self.scored_answers(report)
        their_ids = {answer.id for answer in theirs}
        if their_ids.isdisjoint(answer.id for answer in ours):
            raise ChoicesError(
                f"{report.file} and {other.file} have no scored question in common. "
                "Choose two files of one question set."
            )
        lines = paired_lines(theirs, ours)
        return (paired_sheet(f"{other.title} (other)", f"{report.title} (this)", lines),)

    def other_differences(self, report: R, other: R) -> str:
        """Returns a sentence on how two reports differ beside their models and judges; "" if they don't."""
        return ""

    def comparable_facts(self, report: R) -> ComparableFacts:
        """Returns the facts that have to be the same in two reports for a comparison."""
        head = self.headline(report)
        return ComparableFacts(report.benchmark, report.protocol, head.name if head else "no score")

    def remarks(self, report: R) -> Sequence[str]:
        """Returns the sentences above the report's tables on the command line."""
        return ()

    def footnotes(self, report: R) -> Sequence[str]:
        """Returns the sentences below the report's tables on the command line."""
        return ()

    # The parts of an article on a report: each has a plain default, which a benchmark may replace.

    def edition(self, report: R) -> str:
        """Returns the name of the scored questions, in the words of the benchmark's paper."""
        return self.name

    def headline(self, report: R) -> ScoreLine | None:
        """The report's main score; its name says how it is counted."""
        return next(iter(self.scores(report)), None)

    def groups(self, report: R) -> Sequence[ScoreLine]:
        """The scores of groups of questions, such as those that test an ability, by written-out names."""
        return self.scores(report)[1:]

    def coverage(self, report: R) -> str:
        """Returns the number of questions in the headline, in words; "" for all questions."""
        return ""

    def caveats(self, report: R) -> Sequence[Caveat]:
        """Returns the limits of the numbers, the gravest first."""
        ungraded_note = self.ungraded_note(report)
        if not ungraded_note:
            return []
        title = NO_SCORE if ungraded_note.startswith(NO_SCORE) else "Nothing graded"
        head = self.headline(report)
        if head is not None and head.mean is not None:  # the headline is what rules scored
            title = "Without the judge"
        return [Caveat(title, ungraded_note)]

    def published(self, report: R) -> PublishedBoard | None:
        """The paper's own table of models with the headline's measure."""
        return None

    def published_beside(self, report: R) -> Sequence[PublishedBoard]:
        """The paper's other tables that the report has a place in; they are shown without a chart."""
        return ()

    def scored_answers(self, report: R) -> Sequence[ScoredAnswer]:
        """Every answer with its score."""
        return ()

    def note(self, report: R) -> str:
        """Returns the rule of the report's protocol, in a clause."""
        return self.notes.get(report.protocol, f"{report.protocol} protocol")

    def checks(self, report: R) -> Sequence[str]:
        """Returns the tests of the judge's trustworthiness, in two sentences at most."""
        return ()

    def methods(self, report: R) -> Mapping[str, str]:
        """More on how it was scored, by name."""
        return {}

    def sentence(self, report: R) -> str:
        """The report in one sentence, written from its numbers."""
        return sentence(
            report.title,
            self.edition(report),
            self.headline(report),
            self.groups(report),
            self.published(report),
            self.caveats(report),
            self.coverage(report),
        )


@dataclass(frozen=True)
class FileBenchmark(Benchmark[R]):
    """A benchmark whose files hold their questions: rules make a report, which may leave answers to a judge."""

    why_unpictured: str = (
        "the scored file and its question file had no image column, or were deleted before judging"
    )

    def coverage(self, report: R) -> str:
        head = self.headline(report)
        return coverage_text(head.n - head.unscored, head.n) if head else ""

    @abstractmethod
    def fits(self, first: Record) -> bool:
        """Whether a file with this first row may be the benchmark's."""

    @abstractmethod
    def read(self, rows: Iterable[Record], questions: Mapping[Any, Any] | None) -> ReadFile[Any]:
        """Reads a file's rows; `questions` are those of the benchmark's own file by id, for a file that holds none."""

    def own_questions(
        self, path: Path, limits: FileLimits = ANSWERS, name: str | None = None
    ) -> Mapping[Any, Any]:
        """The questions of the benchmark's own file, by id. Raises RowsError and ChoicesError."""
        raise ChoicesError(f"Files of {self.name} include their questions. Leave out --questions.")

    @property
    def question_files(self) -> Sequence[QuestionFile]:
        """The question files that its authors publish."""
        return ()

    @property
    def column_names(self) -> ColumnNames:
        return USUAL_NAMES

    @property
    def file_names(self) -> Sequence[str]:
        """The names that toolkits put at the end of its files' names, before the extension."""
        return ()

    def fits_questions(self, first: Record) -> bool:
        """Whether a question file with this first row may be the benchmark's."""
        return False

    def list_questions(self, questions: Mapping[Any, Any]) -> Iterator[AskedQuestion]:
        """Yields the questions that `own_questions` read."""
        return iter(())

    @property
    def reading_way(self) -> object:
        """A value that is equal for all benchmarks that read a file alike."""
        return type(self).read

    def is_named(self, file: str) -> bool:
        """Whether a file of this name may be the benchmark's."""
        return True

    def recognises(self, rows: Sequence[Any], file: str) -> bool:
        """Whether the rows read of a file of this name are the benchmark's, and not those of another."""
        return True

    @abstractmethod
    def lines(self, file: ReadFile[Any]) -> tuple[str, ...]:
        """Summary of a file in words."""

    def no_answers(self, file: ReadFile[Any]) -> Mapping[str, str]:
        """The reason why a prediction is no answer of a model, by the prediction's id; "" for an answer."""
        return {}

    def no_answer_notes(self, report: R) -> tuple[str, ...]:
        """Sentences on predictions that are no answer of a model, and what the protocol does with them."""
        return ()

    @abstractmethod
    def look(self, row: Any) -> AnswerLook:
        """Returns what a file's owner sees of a row before scoring."""

    def split_of(self, row: Any) -> str:
        """The split of a row that was read; "" without one."""
        return ""

    def without_truths(
        self, questions: Mapping[Any, Any], is_blind: Callable[[str], bool]
    ) -> Mapping[Any, Any]:
        """The questions of the benchmark's own file, without the right answers of the splits that `is_blind` names."""
        raise ChoicesError(f"Files of {self.name} include their questions. Leave out --questions.")

    def with_truths(self, file: ReadFile[Any], questions: Mapping[Any, Any]) -> ReadFile[Any]:
        """The file, which was read without right answers, with those of `questions`; its new problems name no row."""
        raise ChoicesError(f"Files of {self.name} include their questions. Leave out --questions.")

    def count_unanswered(self, report: R) -> int:
        """Returns the number of questions in the benchmark's own file without an answer."""
        return 0

    def figures(self, report: R) -> Sequence[ScoreLine]:
        """The numbers of the whole file, the headline first."""
        head = self.headline(report)
        return [head] if head else []

    def tables(self, report: R) -> Iterable[TreeTable]:
        """Scores from the whole file down to its groups; those of its splits, if there are several, come first."""
        return ()

    def final_report(self, report: R) -> R:
        """The report if no judge will complete it. Whether an answer has a score must not reveal the right one."""
        return report

    def final_note(self, report: R) -> str:
        """A sentence for readers of `final_report` if it counts answers unlike the right one as wrong; else ""."""
        return ""

    def submission(self, report: R) -> ServerSubmission | None:
        """The answers to submit to the benchmark's authors, who alone have the right ones; None without any."""
        return None

    @abstractmethod
    def rules_report(self, opened: "OpenedFile", head: Mapping[str, Any]) -> R:
        """Returns the report by rules only; `head` holds the fields that all reports share, by name."""

    def problems(self, opened: "OpenedFile") -> tuple[Problem, ...]:
        """Problems of a file that can be scored, and of its questions compared with the benchmark's."""
        return opened.file.problems

    def answers_with_pictures(self, report: R) -> Sequence[ScoredAnswer]:
        """The answers that a judge reads with the pictures of their questions."""
        return ()

    def with_pictures(self, report: R, pictures: Mapping[str, tuple[ShownImage, ...]]) -> R:
        """The draft with the pictures that the judge is shown, by the question's id."""
        return report

    @abstractmethod
    def draft(self, report: R, spec: JudgeSpec, address: str) -> R:
        """The report as a draft for a judge at this public address."""


@dataclass(frozen=True)
class OpenedFile:
    """A file of answers, read completely."""

    benchmark: FileBenchmark[Any]
    file: ReadFile[Any]
    name: str
    """The owner's name for the file."""
    wanted: Callable[[], bool] = lambda: True
    questions: Mapping[Any, Any] | None = None
    """The benchmark's own questions by id, if its question file was given, without right answers that are secret."""
    stamp: QuestionStamp | None = None
    """The identity of that question file."""
    truth_places: Mapping[str, TruthPlace] = field(default_factory=dict)
    """Where the right answers of each split are; "" stands for splits that are not named."""
    answer_key: Mapping[Any, Any] | None = field(default=None, repr=False)
    """The questions with hidden right answers, which `hidden_report` alone reads."""

    def splits_with_truths(self, place: TruthPlace) -> tuple[str, ...]:
        """The splits of the file's rows whose right answers are in this place."""
        splits = dict.fromkeys(map(self.benchmark.split_of, self.file.rows))
        return tuple(split for split in splits if truth_place_of(self.truth_places, split) == place)

    @property
    def is_hidden(self) -> bool:
        """Whether the report shows no row; one hidden right answer is enough."""
        return bool(self.splits_with_truths("hidden"))

    @property
    def title(self) -> str:
        """The model's name if the file gives it, else the file's name without its extension."""
        return self.file.model or Path(self.name).stem

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The file's problems, with those of its questions compared with the benchmark's if right answers are there."""
        has_truths = not self.is_hidden and self.splits_with_truths("there")
        if has_truths and self.file.scorable:
            return self.benchmark.problems(self)
        return self.file.problems

    @property
    def lines(self) -> tuple[str, ...]:
        """Summary of the file before a protocol is chosen."""
        reasons = self.benchmark.no_answers(self.file)
        failures = no_answer_sentences(reasons, len(self.file.rows), BEFORE_PROTOCOL)
        questions = (f"questions: {self.stamp.words}",) if self.stamp else ()
        file_lines = self.benchmark.lines(self.file)
        return (*file_lines, *questions, *self._secret_answer_notes(), *failures)

    def _secret_answer_notes(self) -> Iterator[str]:
        """Yields sentences on secret right answers: what the report shows of them."""
        if hidden := self.splits_with_truths("hidden"):
            yield (
                f"The right answers of {these_questions(hidden)} are hidden. Rules score them, and no judge is asked. "
                f"The report shows scores of {LEAST} answers or more, and nothing of a single answer"
            )
        if absent := self.splits_with_truths("absent"):
            questions = these_questions(absent)
            yield f"The right answers of {questions} are with their authors. The report has the file to submit"

    def report(self, protocol: str, title: str = "") -> Any:
        """The report by rules only. Raises ChoicesError with all problems that prevent it."""
        check_scorable(self.name, self.file.problems)
        self.benchmark.protocol_named(protocol)
        stamp = replace(self.stamp, reworded=self.file.reworded) if self.stamp else None
        head = {
            "benchmark": self.benchmark.key,
            "protocol": protocol,
            "title": title.strip()[:120] or self.title,
            "file": self.name,
            "created": now().isoformat(timespec="seconds"),
            "judge": None,
            "questions": stamp,
        }
        return self.benchmark.rules_report(self, head)


def truth_place_of(places: Mapping[str, TruthPlace], split: str) -> TruthPlace:
    """Returns the place of a split's right answers; "" in `places` stands for splits that are not named."""
    return places.get(split, places.get("", "there"))


def while_wanted(rows: Iterable[T], wanted: Callable[[], bool], name: str) -> Iterator[T]:
    """The rows as long as the file is wanted. Raises ChoicesError when it no longer is."""
    for number, row in enumerate(rows):
        if number % _ROWS_AT_A_TIME == 0 and not wanted():
            raise ChoicesError(
                f"{name}: its page was closed, or it was replaced. Choose the file again."
            )
        yield row


def check_scorable(name: str, problems: Iterable[Problem]) -> None:
    """Raises ChoicesError with the problems that keep a file from being scored: the first 20, with their rows."""
    blocking = grouped(
        (problem.text, problem.row) for problem in problems if problem.blocks == "scoring"
    )
    if blocking:
        shown = [*blocking.items()][:_PROBLEMS_SHOWN]
        lines = [f"{name}{_rows_text(rows)}: {text}" for text, rows in shown]
        if more := len(blocking) - len(shown):
            lines.append(f"{name} has {plural(more, 'more problem')}.")
        raise ChoicesError("\n".join(lines))


def problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yields a file's problems, the first 20 of them in full."""
    for problem in problems[:_PROBLEMS_SHOWN]:
        yield f"row {problem.row}: {problem.text}" if problem.row else problem.text
    more = len(problems) - _PROBLEMS_SHOWN
    if more > 0:
        yield f"... and {more:,} more, all in the file of problems."


def _rows_text(rows: Sequence[int]) -> str:
    """Returns the rows of one problem, each named once, to follow the file's name; "" for one of the whole file."""
    if not any(rows):
        return ""
    different = [*dict.fromkeys(rows)]
    numbers = ", ".join(f"{row:,}" for row in different[:_ROWS_SHOWN])
    more = len(different) - _ROWS_SHOWN
    word = "rows" if len(different) > 1 else "row"
    rest = f" and {more:,} more" if more > 0 else ""
    return f", {word} {numbers}{rest}"


def read_table(row_type: type[T], table: str | Path, scores: Sequence[str] = ()) -> tuple[T, ...]:
    """Returns the rows of a table, by its name in `scoring/data` or its path.

    The cells of the columns `scores` become one field `scores`, by column. An empty cell leaves its field's default.
    """
    adapter = TypeAdapter(row_type)
    rows = []
    for record in read_records(DATA / table):
        cells = {name: cell for name, cell in record.values.items() if cell != ""}
        scores_by_column = {name: cells.get(name) for name in scores}
        rows.append(adapter.validate_python({**cells, "scores": scores_by_column}))
    return tuple(rows)


class LazyFiles(UserDict[str, Any]):
    """Downloads by name; each value is a function, called on access, that returns the file's bytes."""

    def __getitem__(self, name: str) -> bytes:
        return self.data[name]()
