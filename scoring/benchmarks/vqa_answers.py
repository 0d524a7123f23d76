"""VQA answers: files of short answers with their reference answers, and the data sets' own question files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import StrictInt

from arena.io.tables import ANSWERS, JSON, KEY, Record, RowsError, read_records
from scoring.multiple_choice.pictures import picture_cell, pictures, shared_pictures
from scoring.multiple_choice.reader import (
    IMAGE_COLUMNS,
    Problem,
    ReadFile,
    columns_by_name,
    has_options,
)
from scoring.no_answers import no_answer
from scoring.text_lists import listed_texts

PREDICTIONS = ("prediction", "pred", "response", "output")
_OF_DATASET = {"answers", "fullanswer", "semantic"}
"""Columns of the datasets' own files, in which an answer is no model's."""
_INDEXES = ("index", "question_id", "questionid", "id")
_SHOWN = 20


class VQAQuestion(NamedTuple):
    """A question with its reference answers."""

    text: str
    answers: tuple[str, ...]
    picture: str = ""
    """What tells its picture from others'; "" if the file does not."""


@dataclass(frozen=True, slots=True)
class VQAnswer:
    """A question with its reference answers and the model's prediction."""

    id: str
    text: str
    answers: tuple[str, ...]
    """References as in the file, repeated as annotators gave them; none in a file without answers."""
    prediction: str
    row: StrictInt
    no_answer: str = ""
    """Why the prediction is no answer of a model; "" for an answer."""
    picture: str = ""
    """What tells its picture from others'; "" if no file does."""


def read_answers(
    records: Iterable[Record], known: Mapping[str, VQAQuestion] | None = None
) -> ReadFile[VQAnswer]:
    """Rows of a file with the columns index, question, answer and prediction, with all problems.

    With `known`, the question file's, a row needs an index and a prediction, which may also be called text or answer,
    but for the dataset's own rows.
    """
    rows: list[VQAnswer] = []
    cells: list[str] = []
    problems: list[Problem] = []
    for place, record in enumerate(records):
        columns = columns_by_name(record, PREDICTIONS)
        values = {name: record.values[column] for name, column in columns.items()}
        named = (
            PREDICTIONS
            if known is None or _OF_DATASET & values.keys()
            else (*PREDICTIONS, "text", "answer")
        )
        prediction = _first(values, named)
        if has_options(record):
            text = (
                "expected a question without options, found multiple choice; choose its benchmark"
            )
            problems.append(Problem(record.row, None, text, "scoring"))
            continue
        if not isinstance(prediction, str):
            found = ", ".join(map(repr, list(record.values)[:20]))
            text = f"expected a column prediction with text, found {found}; add it"
            problems.append(Problem(record.row, None, text, "scoring"))
            continue
        id = _id(_first(values, _INDEXES, place))
        asked = VQAQuestion(
            str(values.get("question") or ""),
            references(values.get("answer", values.get("answers"))),
        )
        if known is not None and id not in known:
            text = f"index {id[:40]} is none of the question file's; correct or delete it"
            problems.append(Problem(record.row, None, text, "scoring"))
            continue
        asked = known[id] if known is not None else asked
        if not asked.answers:
            text = f"question {id} has no reference answer; it is not scored"
            problems.append(Problem(record.row, None, text, "nothing"))
        reason = no_answer(prediction, asked.answers)
        row = VQAnswer(id, asked.text, asked.answers, prediction, record.row, reason, asked.picture)
        rows.append(row)
        cells.append(picture_cell(columns, record))
    told = pictures(cells, [row.id for row in rows])
    rows = [replace(row, picture=one or row.picture) for row, one in zip(rows, told, strict=True)]
    times = Counter(row.id for row in rows)
    problems += [
        Problem(
            row.row,
            None,
            f"index {row.id} stands there {times[row.id]} times; keep one of each",
            "scoring",
        )
        for row in rows
        if times[row.id] > 1
    ]
    if gone := [id for id in known or () if id not in times]:
        ids = ", ".join(gone[:_SHOWN]) + (", ..." if gone[_SHOWN:] else "")
        asked = f"{len(known or ()):,} questions of the question file"
        have = "has" if len(gone) == 1 else "have"
        text = f"PARTIAL: {len(gone):,} of the {asked} {have} no answer: {ids}"
        problems.insert(0, Problem(0, None, text, "whole"))
    return ReadFile(tuple(rows), tuple(problems))


def read_references(path: Path) -> Mapping[str, VQAQuestion]:
    """A question file's questions by id: GQA's {id: {question, answer}}, or a table or list. Raises RowsError."""
    found: dict[str, VQAQuestion] = {}
    cells: list[str] = []
    for record in read_records(path, ANSWERS, members=True, digested=IMAGE_COLUMNS):
        columns = columns_by_name(record, ())
        values = {name: record.values[column] for name, column in columns.items()}
        id = _first(values, (KEY, *_INDEXES))
        text = values.get("question")
        answers = references(values.get("answer", values.get("answers")))
        if id is None or not isinstance(text, str) or not answers or _id(id) in found:
            problem = "expected an id, which no other has, a question and its answer; take the published file"
            raise RowsError(problem, path.name, record.row)
        found[_id(id)] = VQAQuestion(text, answers)
        cells.append(picture_cell(columns, record))
    told = zip(found.items(), pictures(cells, [*found]), strict=True)
    return {id: question._replace(picture=picture) for (id, question), picture in told}


Dataset = Literal["GQA", "OK-VQA", "TextVQA"]
_IDS: Mapping[Dataset, range] = {
    "TextVQA": range(34_602, 39_602),
    "OK-VQA": range(100_000, 5_819_300),
}
"""Question ids: of TextVQA's validation split; of most of OK-VQA, a COCO image's id and a digit (VQAv2: three)."""
_SEVERAL = ("GQA", "TextVQA")
"""Data sets that have several questions about a picture."""
_OF_COCO = "OK-VQA"
"""The data set whose ids are a COCO picture's and a digit."""
_COCO_DIGITS = 6
"""Digits of such an id, at least."""


def picture_of(row: VQAnswer, dataset: str) -> str:
    """What tells an answer's picture from others'; "" where nothing does."""
    is_coco = dataset == _OF_COCO and row.id.isdecimal() and len(row.id) >= _COCO_DIGITS
    return row.picture or (row.id[:-1] if is_coco else "")


def told_pictures(rows: Sequence[VQAnswer], dataset: str) -> tuple[Problem, ...]:
    """What a file's owner should know of questions about one picture."""
    known = [picture for row in rows if (picture := picture_of(row, dataset))]
    if shared := shared_pictures(known):
        return (Problem(0, None, shared, "nothing"),)
    if known or dataset not in _SEVERAL:
        return ()
    text = (
        f"{dataset} has several questions about a picture, and the file does not tell which share one. Intervals are "
        "too narrow: add a column image_id, or give the data set's own question file"
    )
    return (Problem(0, None, text, "nothing"),)


def _id(cell: JSON) -> str:
    """An id as text; pandas writes whole numbers with ".0" where a cell of their column is empty."""
    return str(cell).strip().removesuffix(".0")


def _first(values: Mapping[str, JSON], names: Iterable[str], default: JSON = None) -> JSON:
    return next((values[name] for name in names if name in values), default)


def references(cell: JSON) -> tuple[str, ...]:
    """Reference answers in a cell: a list, a list written as text in JSON or Python, or one answer.

    An annotator's entry {"answer": ...} is its answer.
    """
    if isinstance(cell, list):
        told = (one.get("answer") if isinstance(one, dict) else one for one in cell)
        return tuple(str(answer) for answer in told if isinstance(answer, str | int | float))
    text = "" if cell is None else str(cell)
    listed = listed_texts(text)
    if listed:
        return listed
    return (text,) if text.strip() else ()


def recognised(rows: Sequence[VQAnswer], file: str) -> Dataset | None:
    """The dataset that most ids or, with one answer to each question, the file's name tell; None if nothing does."""
    if all(len(row.answers) <= 1 for row in rows):
        return "GQA" if "gqa" in file.lower() else None
    ids = [int(row.id) for row in rows if row.id.isdecimal()]
    return next(
        (name for name, own in _IDS.items() if 2 * sum(id in own for id in ids) > len(rows)), None
    )
