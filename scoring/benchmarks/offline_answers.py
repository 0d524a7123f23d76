"""Benchmark answers: runs a model over a benchmark's question file and writes its prediction file.

A file streams through: only the questions stay in memory, the images of those being asked, and the images that several
rows share.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from arena.inference.offline import Task, TaskError
from arena.io.bounded_reader import digest
from arena.io.images import PictureError, read_picture
from arena.io.tables import COMMAND_LINE, Record, read_records
from arena.templates import plural
from arena.types import Turn
from scoring.benchmarks.mm_vet_questions import file_sha256, load_mm_vet
from scoring.benchmarks.modes import question_prompt
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
"""Limits of a question file that contains its images."""
_PREFIX_REMARK = "Before each question the model read “{}”. The file and its report say so."
_LONGEST_REFERENCE = 64
"""The most characters of an image cell that is a reference: the index of the row with the image.

Public tools write circular passes so; an image itself is always longer.
"""
_QUOTED = re.compile(r"""['"]([^'"]*)['"]""")
"""A text in a cell that lists images."""


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
    write: Callable[[Answers, str], bytes]
    """Makes a model's prediction file from its answers and name."""
    chosen_by: ChosenBy = "text"
    remarks: Callable[[Answers], Iterable[str]] = lambda _: ()
    """Returns remarks on a run's answers and their file, in sentences."""


def offline_mm_vet(folder: Path | None, prefix: str = "") -> OfflineBenchmark:
    """MM-Vet's questions from its folder, each on the line after `prefix`, which the file of answers records.

    Raises what `load_mm_vet` raises, and AnsweringError.
    """
    questions = load_mm_vet(folder)
    assert folder  # `load_mm_vet` has raised without one
    images = (folder if folder.is_dir() else folder.parent) / "images"
    if not images.is_dir():
        raise AnsweringError(
            f"{images} doesn't exist. Get MM-Vet's whole archive with python -m scoring fetch."
        )
    first_line = f"{prefix}\n" if prefix else ""

    def tasks(_: Answers) -> Iterator[Task]:
        for question in questions.questions:
            text = f"{first_line}{question.text}"
            yield Task(question.id, partial(_file_turns, images / question.image, text))

    return OfflineBenchmark(
        digest=f"{questions.digest} {prefix}" if prefix else questions.digest,
        count=len(questions.questions),
        rounds=(tasks,),
        write=partial(_mm_vet_file, questions, prefix),
        remarks=lambda _: [_PREFIX_REMARK.format(prefix)] if prefix else [],
    )


def offline_choices(file: Path, circular: bool, early_stop: bool = False) -> OfflineBenchmark:
    """The questions of an MMBench or MMT-Bench TSV that contains its images, with passes as `choice_sheet` has them.

    `early_stop` asks the passes one after the other, and none after a wrong one. Raises RowsError and AnsweringError.
    """
    sheet = choice_sheet(file, circular)
    questions = sheet.questions
    if early_stop and any(question.answer is None for question in questions):
        raise AnsweringError(
            f"{file.name} doesn't have all right answers, which --early-stop needs. Leave it out."
        )
    pass_numbers: Iterable[int | None] = (None,)  # one round with all passes
    if early_stop:
        highest = max(question.index // PASS for question in questions)
        pass_numbers = range(highest + 1)
    return OfflineBenchmark(
        digest=file_sha256(file),
        count=len(questions),
        rounds=tuple(partial(sheet.tasks, number) for number in pass_numbers),
        write=lambda answers, _: answers_tsv(questions, answers),
    )


def choice_sheet(file: Path, circular: bool = False) -> "ChoiceSheet":
    """The questions of a TSV that contains its images. Raises RowsError and AnsweringError.

    `circular` adds rotated passes to a file of base rows.
    """
    references: dict[int, str] = {}
    records = without_images(read_records(file, WITH_IMAGES), references)
    questions, problems = read_questions(records)
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
        """All passes, in the order of their indices."""
        passes = chain.from_iterable(self.rows.values())
        return sorted(passes, key=lambda question: question.index)

    def tasks(self, number: int | None, answers: Answers) -> Iterator[Task]:
        """Yields the tasks of the passes with this number, but of no question that has a wrong answer already.

        If `number` is None, yields those of all passes. They are in the file's order.
        """
        wrong = set() if number is None else self._wrong_questions(answers)
        for question, cell in self.with_images():
            is_of_pass = number is None or question.index // PASS == number
            if is_of_pass and question.index % PASS not in wrong:
                text = question_prompt(question)
                yield Task(str(question.index), partial(cell_turns, cell, text))

    def with_images(self) -> Iterator[tuple[ChoiceQuestion, str]]:
        """Yields the passes with the cells of their images, in the file's order."""
        index_by_row = {row: str(passes[0].index) for row, passes in self.rows.items()}
        shared = shared_cells(self.file, self.references, index_by_row)
        for record in read_records(self.file, WITH_IMAGES):
            cell = image_cell(record)
            if record.row in self.references:
                # A reference to no row stays as the cell, which then can't be read as an image.
                cell = shared.get(self.references[record.row]) or cell
            for question in self.rows.get(record.row, ()):
                yield question, cell

    def _wrong_questions(self, answers: Answers) -> set[int]:
        """Base indices of questions with a wrong answer, as far as the rules can read it."""
        wrong = set()
        for question in chain.from_iterable(self.rows.values()):
            answer = answers.get(str(question.index))
            letter = None if answer is None else extract(answer, question.options).letter
            if letter is not None and letter != question.answer:
                wrong.add(question.index % PASS)
        return wrong


def shared_cells(
    file: Path, references: Mapping[int, str], ids: Mapping[int, str]
) -> dict[str, str]:
    """The image cells that other rows refer to, by the id of the row that has the image. Raises RowsError.

    `references` has the id that a row refers to, and `ids` a row's own, both by row number.
    """
    wanted = set(references.values())
    if not wanted:
        return {}
    cells = {}
    for record in read_records(file, WITH_IMAGES, allow_object=True):
        id = ids.get(record.row)
        if id is not None and id in wanted:
            cells[id] = image_cell(record)
    return cells


def without_images(records: Iterable[Record], references: dict[int, str]) -> Iterator[Record]:
    """Yields the records with digests in place of images, and fills `references` as in `ChoiceSheet`."""
    for record in records:
        cell = image_cell(record)
        if cell and len(cell) <= _LONGEST_REFERENCE:
            references[record.row] = cell.strip().removesuffix(".0")  # as spreadsheets write 7
        values = {
            name: digest(value) if name in IMAGE_COLUMNS else value
            for name, value in record.values.items()
        }
        yield Record(record.row, values)


def image_cell(record: Record) -> str:
    """The first filled cell of a column of images; "" without any."""
    for name in IMAGE_COLUMNS:
        value = record.values.get(name)
        if value or value == 0:  # 0 may be the index of the question with the image
            return str(value)
    return ""


def check_questions(file: Path, problems: Sequence[Problem], questions: Collection[Any]) -> None:
    """Raises AnsweringError for a question file that can't be asked."""
    blocking = [problem for problem in problems if problem.blocks == "scoring"]
    if blocking:
        first = blocking[0]
        row = f", row {first.row}" if first.row else ""
        others = len(blocking) - 1
        more = f" It has {plural(others, 'more problem')}." if others else ""
        raise AnsweringError(f"{file.name}{row}: {first.text}{more}")
    if not questions:
        raise AnsweringError(f"{file.name}: It has no questions. Choose another file.")


def _file_turns(path: Path, text: str) -> tuple[Turn, ...]:
    """The conversation of a question with an image from a file. Raises TaskError."""
    try:
        return (Turn("user", text, (picture(path.read_bytes()),)),)
    except OSError as error:
        raise TaskError(
            f"Its image {path.name} can't be read: {error.strerror}. Put it there."
        ) from error


def cell_turns(cell: str, text: str) -> tuple[Turn, ...]:
    """The conversation of a question with the images of a cell. Raises TaskError."""
    return (Turn("user", text, tuple(map(picture, cell_images(cell)))),)


def cell_images(cell: str) -> list[bytes]:
    """The images of a base64 cell: one, or several as a list of texts. Raises TaskError."""
    texts = _QUOTED.findall(cell) if cell.lstrip().startswith("[") else [cell]
    if not texts or "" in texts:
        raise TaskError("Its image cell is empty. Use the question file with images.")
    try:
        return [base64.b64decode("".join(text.split()), validate=True) for text in texts]
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
    """The authors' `{id: answer}`; with a prefix a list of records, since theirs has no place for it."""
    ids = [question.id for question in questions.questions if question.id in answers]
    content: object
    if prefix:
        content = [
            {"id": id, "prediction": answers[id], "model": model, PREFIX: prefix} for id in ids
        ]
    else:
        content = {id: answers[id] for id in ids}
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def answers_tsv(
    questions: Sequence[ChoiceQuestion], answers: Answers, more: Mapping[str, Answers] | None = None
) -> bytes:
    """A TSV with a row for each answered question: the official files' columns without images, `more`, the prediction.

    `more` are cells of further columns, by column and question key. If questions share pictures, the column `image_id`
    says which, so that intervals are computed for that number of pictures.
    """
    used_letters = {letter for question in questions for letter in question.options}
    option_columns = sorted(used_letters, key=LETTERS.index)
    columns = dict(more or {})
    base_rows = [question for question in questions if question.index < PASS]
    if shared_pictures_text([question.picture for question in base_rows if question.picture]):
        columns["image_id"] = {str(question.index): question.picture for question in questions}
    rows = []
    for question in questions:
        key = str(question.index)
        answer = answers.get(key)
        if answer is None:
            continue
        options = [question.options.get(letter, "") for letter in option_columns]
        truth_and_groups = [
            question.answer or "",
            question.category,
            question.group,
            question.split,
        ]
        added = [column.get(key, "") for column in columns.values()]
        cells = [key, question.text, question.hint, *options, *truth_and_groups, *added, answer]
        rows.append([printable(cell) for cell in cells])
    heads = [
        "index",
        "question",
        "hint",
        *option_columns,
        "answer",
        "category",
        "l2-category",
        "split",
        *columns,
        "prediction",
    ]
    return csv_bytes(heads, rows, "utf-8", exact=True, delimiter="\t")
