"""Benchmark answers: runs a model over a benchmark's question file and writes its prediction file.

A file of any size streams through: only the questions stay in memory, and the images of those being asked.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from arena.inference.offline import Task, TaskError
from arena.io.bounded_reader import digest
from arena.io.images import PictureError, read_picture
from arena.io.tables import COMMAND_LINE, Record, read_records
from arena.templates import plural
from arena.types import Turn
from scoring.benchmarks.mm_vet_questions import file_sha256, load_mm_vet
from scoring.benchmarks.modes import prompt
from scoring.benchmarks.predictions import PREFIX
from scoring.benchmarks.submission import printable
from scoring.multiple_choice.circular_eval import is_circular, rotations
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.pictures import shared_pictures_text
from scoring.multiple_choice.reader import IMAGE_COLUMNS, Problem, read_questions
from scoring.multiple_choice.types import LETTERS, PASS, ChoiceQuestion, ChosenBy
from scoring.report import QuestionSet, csv_bytes

Answers = Mapping[str, str]
"""A model's answers, by question key."""

WITH_IMAGES = replace(COMMAND_LINE, cell=64_000_000)
_PREFIXED = "Before each question the model read “{}”. The file and its report say so."
_REFERENCE = 64
"""An image cell of at most this many characters names the row with the image, as public tools write circular passes."""
_IN_LIST = re.compile(r"""['"]([A-Za-z0-9+/=\s]+)['"]""")


class AnsweringError(ValueError):
    """A question file cannot be answered; the message says why, and how to fix it."""


@dataclass(frozen=True)
class OfflineBenchmark:
    """A benchmark's questions, ready to ask."""

    digest: str
    """Hash of the questions, so that a run is not resumed with different ones."""
    count: int
    """Number of questions, counting each pass."""
    rounds: tuple[Callable[[Answers], Iterator[Task]], ...]
    """Rounds of tasks, one after the other; each is given the previous answers."""
    written: Callable[[Answers, str], bytes]
    """Makes a model's prediction file from its answers and name."""
    chosen_by: ChosenBy = "text"
    remarks: Callable[[Answers], Iterable[str]] = lambda _: ()
    """Returns remarks on a run's answers and their file, in sentences."""


def offline_mm_vet(folder: Path | None, prefix: str = "") -> OfflineBenchmark:
    """MM-Vet's questions from its folder, each on a line after `prefix`, which the file of answers tells.

    Raises what `load_mm_vet` raises, and AnsweringError.
    """
    questions = load_mm_vet(folder)
    assert folder
    images = (folder if folder.is_dir() else folder.parent) / "images"
    if not images.is_dir():
        raise AnsweringError(
            f"{images} doesn't exist. Get MM-Vet's whole archive with python -m scoring fetch."
        )
    start = f"{prefix}\n" if prefix else ""
    return OfflineBenchmark(
        f"{questions.digest} {prefix}" if prefix else questions.digest,
        len(questions.questions),
        (
            lambda _: (
                Task(
                    question.id,
                    partial(_from_file, images / question.image, f"{start}{question.text}"),
                )
                for question in questions.questions
            ),
        ),
        partial(_mm_vet_file, questions, prefix),
        remarks=lambda _: [_PREFIXED.format(prefix)] if prefix else [],
    )


def offline_choices(file: Path, circular: bool, early_stop: bool = False) -> OfflineBenchmark:
    """The questions of an MMBench or MMT-Bench TSV that contains its images, with passes as `choice_sheet` has them.

    `early_stop` asks the passes one after the other, and none
    after a wrong one. Raises RowsError and AnsweringError.
    """
    sheet = choice_sheet(file, circular)
    questions = sheet.questions
    if early_stop and any(question.answer is None for question in questions):
        raise AnsweringError(
            f"{file.name} doesn't have all right answers, which --early-stop needs. Leave it out."
        )
    rounds = (
        range(max(question.index // PASS for question in questions) + 1) if early_stop else (None,)
    )
    return OfflineBenchmark(
        file_sha256(file),
        len(questions),
        tuple(partial(sheet.tasks, number) for number in rounds),
        lambda answers, _: answers_tsv(questions, answers),
    )


def choice_sheet(file: Path, circular: bool = False) -> "ChoiceSheet":
    """The questions of a TSV that contains its images. Raises RowsError and AnsweringError.

    `circular` adds rotated passes to a file of base rows.
    """
    references: dict[int, str] = {}
    questions, problems = read_questions(
        without_images(read_records(file, WITH_IMAGES), references)
    )
    check_questions(file, problems, questions)
    rows = {question.row: (question,) for question in questions.values()}
    if circular and not is_circular(questions.values()):
        rows = {row: (question, *rotations(question)) for row, (question,) in rows.items()}
    return ChoiceSheet(file, rows, references)


@dataclass(frozen=True)
class ChoiceSheet:
    """A file in which each row stands for one or more passes."""

    file: Path
    rows: Mapping[int, Sequence[ChoiceQuestion]]
    """Passes, by the row with their image."""
    references: Mapping[int, str]
    """Index of the question whose image a row uses, by row."""

    @property
    def questions(self) -> list[ChoiceQuestion]:
        """All passes, by index."""
        return sorted(
            (each for group in self.rows.values() for each in group),
            key=lambda question: question.index,
        )

    def tasks(self, number: int | None, answers: Answers) -> Iterator[Task]:
        """The passes of this number, or all, in the file's order; questions with a wrong answer are left out."""
        wrong = set() if number is None else self._wrong(answers)
        for question, cell in self.with_images():
            base = question.index % PASS
            of_pass = question.index // PASS
            if base not in wrong and number in (None, of_pass):
                yield Task(str(question.index), partial(from_cell, cell, prompt(question)))

    def with_images(self) -> Iterator[tuple[ChoiceQuestion, str]]:
        """The passes with the cells of their images, in the file's order."""
        index = {row: str(group[0].index) for row, group in self.rows.items()}
        shared = shared_cells(self.file, self.references, index)
        for record in read_records(self.file, WITH_IMAGES):
            cell = shared.get(self.references.get(record.row, ""), "") or image_cell(record)
            yield from ((question, cell) for question in self.rows.get(record.row, ()))

    def _wrong(self, answers: Answers) -> set[int]:
        """Base indices of questions with a wrong answer, as far as the rules can tell."""
        wrong = set()
        for question in (each for group in self.rows.values() for each in group):
            answer = answers.get(str(question.index))
            letter = None if answer is None else extract(answer, question.options).letter
            if letter is not None and letter != question.answer:
                wrong.add(question.index % PASS)
        return wrong


def shared_cells(
    file: Path, references: Mapping[int, str], ids: Mapping[int, str]
) -> dict[str, str]:
    """Image cells that other rows refer to, by the id of their row; `references` and `ids` are by row."""
    wanted = set(references.values())
    if not wanted:
        return {}
    records = read_records(file, WITH_IMAGES, members=True)
    return {ids[row.row]: image_cell(row) for row in records if ids.get(row.row) in wanted}


def without_images(records: Iterable[Record], references: dict[int, str]) -> Iterator[Record]:
    for record in records:
        cell = image_cell(record)
        if cell and len(cell) <= _REFERENCE:
            references[record.row] = cell.strip().removesuffix(".0")
        values = {
            name: digest(value) if name in IMAGE_COLUMNS else value
            for name, value in record.values.items()
        }
        yield Record(record.row, values)


def image_cell(record: Record) -> str:
    return next((str(record.values[name]) for name in IMAGE_COLUMNS if record.values.get(name)), "")


def check_questions(file: Path, problems: Sequence[Problem], questions: Collection[Any]) -> None:
    """Raise AnsweringError for a question file that can't be asked."""
    stopping = [problem for problem in problems if problem.blocks == "scoring"]
    if stopping or not questions:
        nothing = Problem(0, None, "It has no questions. Choose another file.", "scoring")
        first = stopping[0] if stopping else nothing
        row = f", row {first.row}" if first.row else ""
        others = len(stopping) - 1
        more = f" It has {plural(others, 'more problem')}." if others > 0 else ""
        raise AnsweringError(f"{file.name}{row}: {first.text}{more}")


def _from_file(path: Path, text: str) -> tuple[Turn, ...]:
    try:
        return (Turn("user", text, (picture(path.read_bytes()),)),)
    except OSError as error:
        raise TaskError(
            f"Its image {path.name} can't be read: {error.strerror}. Put it there."
        ) from error


def from_cell(cell: str, text: str) -> tuple[Turn, ...]:
    return (Turn("user", text, tuple(map(picture, images_of(cell)))),)


def images_of(cell: str) -> list[bytes]:
    """The images of a base64 cell: one, or several as a list of texts. Raises TaskError."""
    cells = _IN_LIST.findall(cell) if cell.lstrip().startswith("[") else [cell]
    if not cells or not cells[0]:
        raise TaskError("Its image cell is empty. Use the question file with images.")
    try:
        return [base64.b64decode("".join(each.split()), validate=True) for each in cells]
    except (binascii.Error, ValueError) as error:
        raise TaskError(
            "Its image cell isn't base64. Use the question file with images."
        ) from error


def picture(data: bytes) -> bytes:
    """An image as models get it: upright RGB of bounded size (`kept_size`). Raises TaskError."""
    try:
        return read_picture(data).data
    except PictureError as error:
        raise TaskError(f"Its image can't be used. {error}") from error


def _mm_vet_file(questions: QuestionSet, prefix: str, answers: Answers, model: str) -> bytes:
    """The authors' `{id: answer}`, or after a prefix a list of records that tells it, for which theirs has no place."""
    answered = [question.id for question in questions.questions if question.id in answers]
    ordered: object = {id: answers[id] for id in answered}
    if prefix:
        about = {"model": model, PREFIX: prefix}
        ordered = [{"id": id, "prediction": answers[id], **about} for id in answered]
    return json.dumps(ordered, ensure_ascii=False, indent=1).encode()


def answers_tsv(
    questions: Sequence[ChoiceQuestion], answers: Answers, more: Mapping[str, Answers] | None = None
) -> bytes:
    """A TSV with the columns of the official files, except images, `more` columns, and the prediction.

    Where questions share pictures, which ones do stands in `image_id`, so that scores are of as many pictures.
    """
    used = sorted(
        {letter for question in questions for letter in question.options}, key=LETTERS.index
    )
    columns = dict(more or {})
    base = (question for question in questions if question.index < PASS)
    if shared_pictures_text([question.picture for question in base if question.picture]):
        columns["image_id"] = {str(question.index): question.picture for question in questions}
    rows = []
    for question in questions:
        answer = answers.get(key := str(question.index))
        if answer is not None:
            options = [question.options.get(letter, "") for letter in used]
            about = [question.answer or "", question.category, question.group, question.split]
            added = [column.get(key, "") for column in columns.values()]
            rows.append(
                map(
                    printable, [key, question.text, question.hint, *options, *about, *added, answer]
                )
            )
    heads = [
        "index",
        "question",
        "hint",
        *used,
        "answer",
        "category",
        "l2-category",
        "split",
        *columns,
        "prediction",
    ]
    return csv_bytes(heads, rows, "utf-8", exact=True, delimiter="\t")
