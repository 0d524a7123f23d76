"""Benchmark detection: recognises multiple-choice and VQA uploads, and makes their first report by rules alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from arena.database import now
from arena.io.tables import KEY, PAGE, VALUE, FileLimits, Record, read_records
from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks import vqa as vqa_marks
from scoring.benchmarks.choice_report import ChoiceBenchmark, ChoiceReport, MarksReport, decided, tabulated
from scoring.benchmarks.vqa import Dataset, MarkProtocol, VQAFile
from scoring.multiple_choice.circular_eval import PASS
from scoring.multiple_choice.reader import IMAGE_COLUMNS, ChoiceFile, Problem, read_choices, read_questions
from scoring.multiple_choice.types import LETTERS, PROTOCOLS, ChoiceQuestion, Protocol
from scoring.report import NoAnswersError

BenchmarkName: TypeAlias = ChoiceBenchmark | Dataset
CHOICE_BENCHMARKS: tuple[ChoiceBenchmark, ...] = ("mmbench", "mmt-bench")
VQA_BENCHMARKS: tuple[Dataset, ...] = ("GQA", "OK-VQA", "TextVQA")
MARK_PROTOCOLS: tuple[MarkProtocol, ...] = ("strict", "mmbench-paper")


P = TypeVar("P", bound=str)
T = TypeVar("T")
_ROWS_AT_A_TIME = 20
"""Rows between two checks whether the file is still wanted."""


class ChoicesError(ValueError):
    """A file cannot be scored; the message gives all reasons, and how to fix them."""


@dataclass(frozen=True)
class OpenedChoices:
    """A file of multiple-choice answers, read completely."""

    benchmark: ChoiceBenchmark
    file: ChoiceFile
    name: str
    """The owner's name for the file."""
    wanted: Callable[[], bool] = lambda: True
    questions: Mapping[int, ChoiceQuestion] | None = None
    """The benchmark's own questions, if its question file was given."""

    @property
    def title(self) -> str:
        """The model's name if the file gives it, else the file's name without its extension."""
        return self.file.model or Path(self.name).stem

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the file itself, and of its questions compared with the benchmark's."""
        if not self.file.scorable:
            return self.file.problems
        return (*self.file.problems, *tabulated(self.report("strict")).problems)

    @property
    def lines(self) -> tuple[str, ...]:
        """Summary of the file in words."""
        questions = [row.question for row in self.file.rows]
        circular = {question.index % PASS for question in questions if question.index >= PASS}
        name = "MMT-Bench" if self.benchmark == "mmt-bench" else mmbench.edition(questions)
        passes = f", {len(circular):,} questions with rotated passes" if circular else ""
        splits = Counter(question.split or "(none)" for question in questions)
        counted = ", ".join(f"{split} {count:,}" for split, count in splits.items())
        return (
            f"{name}: {len(questions):,} answers{passes}; {self.file.answered:,} with the right letter beside them",
            f"splits: {counted}",
        )

    def report(self, protocol: Protocol, title: str = "") -> ChoiceReport:
        """The report by rules alone. Raises ChoicesError with all problems that prevent it."""
        _check(self.name, self.file.problems)
        rows = decided(_while_wanted(self.file.rows, self.wanted, self.name), _known(protocol, PROTOCOLS))
        shown, made = title.strip()[:120] or self.title, now().isoformat(timespec="seconds")
        missing = None
        if self.questions is not None:
            answered = {row.question.index for row in rows}
            missing = tuple(question for index, question in self.questions.items() if index not in answered)
        return ChoiceReport(self.benchmark, protocol, shown, self.name, made, None, rows, self.file.problems, missing)


@dataclass(frozen=True)
class OpenedMarks:
    """A file of VQA answers, read completely."""

    benchmark: Dataset
    file: VQAFile
    name: str

    @property
    def title(self) -> str:
        """The file's name without its extension."""
        return Path(self.name).stem

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.file.problems

    @property
    def lines(self) -> tuple[str, ...]:
        """Summary of the file in words."""
        known = sum(bool(row.answers) for row in self.file.rows)
        return (f"{self.benchmark}: {len(self.file.rows):,} answers, {known:,} with references",)

    def report(self, protocol: Protocol, title: str = "") -> MarksReport:
        """The report without marks: accuracies alone. Raises ChoicesError with all problems that prevent it."""
        _check(self.name, self.file.problems)
        chosen = _known(protocol, MARK_PROTOCOLS)
        shown, made = title.strip()[:120] or self.title, now().isoformat(timespec="seconds")
        return MarksReport(self.benchmark, chosen, shown, self.name, made, None, self.file.rows, (), self.file.problems)


Opened: TypeAlias = OpenedChoices | OpenedMarks


def open_upload(
    path: Path,
    limits: FileLimits = PAGE,
    name: str | None = None,
    benchmark: BenchmarkName | None = None,
    questions: Mapping[int, ChoiceQuestion] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> Opened | None:
    """Read a file; None if it is of neither type and no benchmark is given.

    A column of images is skipped. `questions` are the benchmark's own, for a file without options. Reading the file and
    its letters stops when it is no longer `wanted`. Raises RowsError and ChoicesError.
    """
    label = name or path.name
    records = map(_flat, read_records(path, limits, IMAGE_COLUMNS, label, members=True))
    first = next(records, None)
    if first is None:
        raise NoAnswersError("expected answers, found none; choose the file that holds them", label)
    kind = _kind(first) if benchmark is None else "choices" if benchmark in CHOICE_BENCHMARKS else "marks"
    whole = _while_wanted(chain([first], records), wanted, label)
    if questions or kind == "choices":
        choices = read_choices(whole, questions)
        known = benchmark if benchmark in CHOICE_BENCHMARKS else _recognised(choices)
        return OpenedChoices(known, choices, label, wanted, questions)
    if kind == "marks":
        answers = vqa_marks.read_answers(whole)
        dataset = benchmark if benchmark in VQA_BENCHMARKS else vqa_marks.recognised(answers.rows)
        return OpenedMarks(dataset, answers, label)
    return None


def question_file(path: Path, limits: FileLimits = PAGE) -> Mapping[int, ChoiceQuestion]:
    """A benchmark's own questions by index. Raises RowsError, and ChoicesError with all problems."""
    found, problems = read_questions(read_records(path, limits, IMAGE_COLUMNS))
    _check(path.name, problems)
    return found


def in_words(problems: Sequence[Problem], shown: int = 20) -> str:
    """Problems in one line; the first `shown` in full."""
    lines = [f"row {problem.row}: {problem.text}" if problem.row else problem.text for problem in problems[:shown]]
    more = [f"and {len(problems) - shown:,} more"] if len(problems) > shown else []
    return "; ".join([*lines, *more])


def _while_wanted(rows: Iterable[T], wanted: Callable[[], bool], name: str) -> Iterator[T]:
    for number, row in enumerate(rows):
        if number % _ROWS_AT_A_TIME == 0 and not wanted():
            raise ChoicesError(f"{name}: nobody waits for it any more, or it was replaced; choose the file again")
        yield row


def _check(name: str, problems: Iterable[Problem]) -> None:
    blocking = [problem for problem in problems if problem.blocks == "scoring"]
    if blocking:
        raise ChoicesError(f"{name}: {in_words(blocking)}")


def _known(protocol: Protocol, known: Sequence[P]) -> P:
    for one in known:
        if one == protocol:
            return one
    raise ChoicesError(f"{protocol!r} is none of the protocols here; choose {' or '.join(known)}")


def _recognised(file: ChoiceFile) -> ChoiceBenchmark:
    return "mmt-bench" if mmt_bench.recognises([row.question for row in file.rows]) else "mmbench"


def _flat(record: Record) -> Record:
    """A member of a JSON object as a row: its key is the index, and a plain value the prediction."""
    if KEY not in record.values:
        return record
    values = {"index": record.values[KEY], **record.values}
    if VALUE in record.values:
        values["prediction"] = record.values[VALUE]
    return Record(record.row, {name: value for name, value in values.items() if name not in (KEY, VALUE)})


def _kind(record: Record) -> Literal["choices", "marks", "words"]:
    """What a file holds, by its first row: options, questions with short reference answers, or free answers."""
    names = {name.strip().lower(): name for name in record.values}
    if sum(letter in record.values for letter in LETTERS) > 1:
        return "choices"
    id = str(record.values.get(names.get("index", names.get("question_id", "")), ""))
    mm_vet = "capability" in names or id.startswith("v1_")
    answers = {"answer", "answers"} & names.keys() and {"prediction", "pred", "response", "output"} & names.keys()
    return "marks" if "question" in names and answers and not mm_vet else "words"
