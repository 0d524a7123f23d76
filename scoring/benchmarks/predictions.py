"""Prediction files: reads model outputs in the common layouts and joins them to the questions.

Nothing is repaired: an answer stays exactly as written, and what could be meant in two ways is refused.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal, NamedTuple

from arena.io.strict_json import row_errors
from arena.io.tables import (
    JSON,
    KEY,
    PAGE,
    VALUE,
    FileLimits,
    Record,
    RowsError,
    read_records,
    require_columns,
)
from arena.types import folded, grouped
from scoring.benchmarks.result_files import result_file_problem
from scoring.no_answers import BEFORE_PROTOCOL, no_answer, no_answer_sentences
from scoring.report import NO_ANSWERS, Filled, NoAnswersError, QuestionSet, repeats

Layout = Literal[
    "id: text",
    "id: record",
    "records",
    "LLaVA answers",
    "lmms-eval samples",
    "VLMEvalKit table",
    "question texts",
    "authors' grades",
]
Missing = Literal["stop", "unscored"]
"""The treatment of questions without an answer: nothing is scored, or they stay in the report as unscored."""

PREFIX = "prompt_prefix"
"""The column with the text before each question to the model."""
_MOST_PREFIX = 1_000
"""Most characters of that text that a report keeps."""
_IDS = ("id", "question_id", "index")
_ANSWERS = ("prediction", "pred", "response", "output")
_UNSURE_ANSWERS = ("text", "answer")
"""Names of columns that may hold answers. Beside one of `_ANSWERS`, `answer` is the truth, and `text` is refused."""
_TRUTHS = ("answer", "ground_truth", "gt_answer", "target")
_QUESTION_FILE_COLUMNS = ("capability", "category", "imagename", "imagesource")
"""Columns of the benchmark's own question file."""
_IMAGES = ("image", "images", "img", "image_base64")
_SKIPPED = tuple(spelled for name in _IMAGES for spelled in (name, name.capitalize(), name.upper()))
_GAPS = re.compile(r"[\s-]+")
_WHOLE_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?([eE]\+?\d{1,2})?", re.ASCII)
_NUMBERED = re.compile(r"(?:.*_)?(\d{1,18})", re.ASCII)
"""An id that ends in a number, such as v1_0."""
_TRUTH_PARTS = re.compile("<AND>|<OR>")
_MOST_LISTED = 20
"""Most ids or columns that a message lists."""
_NOT_A_TEXT = {
    type(None): 'null. Write "" for an empty answer, or delete it and score without it',
    bool: "true or false. Put it in quotes as the model wrote it",
    int: "a number. Put it in quotes as the model wrote it",
    float: "a number. Put it in quotes as the model wrote it",
    list: "a list. Give the text alone",
    dict: "an object. Give the text alone",
}
"""Words for an answer that isn't a text, by its type, with how to correct it."""


class UploadError(ValueError):
    """A file cannot be scored; the message lists all reasons at once, and how to fix them."""

    def __init__(self, file: str, problems: tuple[str, ...]):
        super().__init__(file, problems)
        self.file = file
        self.problems = problems

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.problems)}"


@dataclass(frozen=True)
class Prediction:
    """An answer in the file, exactly as written."""

    id: str
    """The question's id. If there is no such question, the id that the file gives, or the beginning of its text."""
    text: str
    row: int
    """The row of the file at which it starts."""


@dataclass(frozen=True)
class Upload:
    """A file of predictions, read completely."""

    file: str
    """The owner's name for the file."""
    layout: Layout
    title: str
    """The model's name if the file gives it, else the file's name without its extension."""
    predictions: tuple[Prediction, ...]
    outside: int = 0
    """Answers to questions of the whole set that are not in the subset; they are left out."""
    asks_others: bool = False
    """Whether it has questions' texts, and none of them is the text of the question with its id."""
    asked: str = ""
    """The text before each question to the model, from the column `prompt_prefix`; "" for the question alone."""


@dataclass(frozen=True)
class _Columns:
    """Role of each column of a file."""

    layout: Layout
    answer: str
    id: str | None
    question: str | None
    truth: str | None
    model: str | None


def read_predictions(
    path: Path, questions: QuestionSet, limits: FileLimits = PAGE, name: str | None = None
) -> Upload:
    """A file's predictions; the accepted layouts are those in `Layout`.

    Rows name their question by its id, by the number that its id ends in (0 or "0.0" for v1_0), or by its text if there
    is no id. JSONL, CSV and TSV are streamed. `name` is the owner's name for the file. Raises RowsError.
    """
    label = name or path.name
    index = QuestionIndex(questions)
    columns: _Columns | None = None
    predictions: list[Prediction] = []
    outside_ids = {question.id for question in questions.outside}
    outside = 0
    models: set[str] = set()
    prefixes: set[str] = set()
    same_questions: set[bool] = set()
    for joined in joined_records(path, index, limits, label):
        columns = joined.columns
        prediction = joined.prediction
        if prediction.id in outside_ids:
            outside += 1
        else:
            predictions.append(prediction)
        is_same = index.is_same(prediction.id, _cell(joined.record, columns.question))
        if is_same is not None:
            same_questions.add(is_same)
        model = _cell(joined.record, columns.model)
        if isinstance(model, str) and model.strip():
            models.add(model.strip())
        prefixes.add(str(joined.record.values.get(PREFIX) or ""))
    if columns is None:
        raise NoAnswersError("The file has no answers. Choose the one that has them.", label)
    titles = sorted(models)
    if len(titles) > 1:
        raise RowsError(
            f"The file has the answers of several models: {_listed(titles)}. Split the file.",
            label,
        )
    if len(prefixes) > 1:
        raise RowsError(
            f"The rows have {len(prefixes)} different texts here. Score answers that were asked in one way.",
            label,
            column=PREFIX,
        )
    prefix = next(iter(prefixes))  # the same in all rows
    return Upload(
        file=label,
        layout=columns.layout,
        title=titles[0][:200] if titles else Path(label).stem,
        predictions=tuple(predictions),
        outside=outside,
        asks_others=same_questions == {False},
        asked=prefix[:_MOST_PREFIX],
    )


class JoinedRecord(NamedTuple):
    """A record of a file, and the prediction in it with its question's id."""

    source: Record
    """As the file holds it."""
    record: Record
    """The same as a plain record of answers."""
    columns: _Columns
    prediction: Prediction


def joined_records(
    path: Path, index: "QuestionIndex", limits: FileLimits, label: str
) -> Iterator[JoinedRecord]:
    """Yields the records of a file with the ids of their questions. Raises RowsError, for a toolkit's results too."""
    columns: _Columns | None = None
    with row_errors(label):
        for source in read_records(path, limits, _SKIPPED, label, allow_object=True):
            record = plain_sample(source)
            if columns is None:  # the first record
                _refuse_result_file(source, record, label)
                columns = _columns(source, record)
            require_columns(record, [column for column in (columns.id, columns.answer) if column])
            prediction = Prediction(
                index.id_of(record, columns), _answer(record, columns), record.row
            )
            yield JoinedRecord(source, record, columns, prediction)


def _refuse_result_file(source: Record, record: Record, label: str) -> None:
    """Raises RowsError for a toolkit's file of results, by its first record."""
    if "hit" in record.values and (problem := result_file_problem(source, label)):
        raise RowsError(problem)


_ADD_ANSWERS = "Add them, or score without them: choose Leave them unscored under Details, or -o missing=unscored."


def fill(questions: QuestionSet, upload: Upload, missing: Missing) -> tuple[Filled, ...]:
    """Every question, in order, with its prediction. Raises UploadError with all problems at once."""
    texts = {prediction.id: prediction.text for prediction in upload.predictions}
    filled = tuple(Filled(question, texts.get(question.id)) for question in questions.questions)
    unanswered = [entry.question.id for entry in filled if entry.prediction is None]
    unknown = sorted(texts.keys() - {question.id for question in questions.questions})
    counts = Counter(prediction.id for prediction in upload.predictions)
    repeated = [id for id, count in counts.items() if count > 1]
    problems = []
    if unanswered and missing == "stop":
        problems.append(f"Questions without an answer: {_listed(unanswered)}. {_ADD_ANSWERS}")
    if unknown:
        advice = _advice(unknown, questions)
        problems.append(f"Ids that are not in {questions.name}: {_listed(unknown)}. {advice}")
    if repeated:
        problems.append(
            f"Ids that are there more than once: {_listed(repeated)}. Keep one of each."
        )
    if problems:
        raise UploadError(upload.file, tuple(problems))
    return filled


def _advice(unknown: Sequence[str], questions: QuestionSet) -> str:
    """Returns what to do about unknown ids, which may be those of the other edition of MM-Vet."""
    if questions.benchmark != "mm-vet-v2" and all(id.startswith("v2_") for id in unknown):
        return _other_benchmark("MM-Vet v2", "mm-vet-v2")
    if questions.benchmark != "mm-vet" and all(id.startswith("v1_") for id in unknown):
        return _other_benchmark("MM-Vet", "mm-vet")
    return "Correct or delete them."


def _other_benchmark(title: str, name: str) -> str:
    return f"They are {title}'s: score the file with --benchmark {name}."


def notices(
    upload: Upload, questions: QuestionSet, effect: str = BEFORE_PROTOCOL
) -> tuple[str, ...]:
    """Returns notices about a file; `effect` is the sentence on what becomes of predictions that are no answer."""
    truths = {question.id: question.truth for question in questions.questions}
    texts = {question.id: question.text for question in questions.questions}
    reasons = {}
    echoes = []
    na_words = []
    for prediction in upload.predictions:
        # A text like the right answer's is an answer, even one that reads like a failure.
        truth_parts = _TRUTH_PARTS.split(truths.get(prediction.id, ""))
        reasons[prediction.id] = no_answer(prediction.text, truth_parts)
        if repeats(prediction.text, texts.get(prediction.id, "")):
            echoes.append(prediction.id)
        if prediction.text.strip() in NO_ANSWERS:
            na_words.append(prediction.id)
    lines = [*no_answer_sentences(reasons, len(upload.predictions), effect)]
    if upload.asks_others:
        lines.append(
            f"None of its questions is the one with that id in {questions.name}. Is it a file of another benchmark?"
        )
    if echoes:
        lines.append(
            f"Answers that repeat their question: {_listed(echoes)}. If the prompt was written into the file, cut it "
            "off: a judge reads it as the model's words."
        )
    if upload.outside:
        lines.append(f"Answers to questions outside the subset, left out: {upload.outside:,}.")
    if na_words:
        lines.append(
            f"Answers that are NA or None, which count as the model's words: {_listed(na_words)}. Where it gave no "
            "answer, empty the cell."
        )
    return tuple(lines)


class QuestionIndex:
    """Finds the question of a record: by its id, by the number in its id, or by its text."""

    def __init__(self, questions: QuestionSet) -> None:
        whole = (*questions.questions, *questions.outside)
        self._ids = {_normal(question.id): question.id for question in whole}
        numbers = [
            (int(match[1]), id) for id in self._ids.values() if (match := _NUMBERED.fullmatch(id))
        ]
        counts = Counter(number for number, _ in numbers)
        self._ids_by_number = {number: id for number, id in numbers if counts[number] == 1}
        self._beginnings = {
            question.id: folded(question.text).partition("<image>")[0] for question in whole
        }
        """The text of each question up to its first picture, by id."""
        self._questions_by_text = grouped((folded(question.text), question) for question in whole)

    def is_same(self, id: str, text: JSON) -> bool | None:
        """Whether a prompt holds the question of an id, up to its first picture; None for an unknown id or prompt."""
        if id not in self._beginnings or not isinstance(text, str) or not text.strip():
            return None
        return self._beginnings[id] in folded(text)

    def id_of(self, record: Record, columns: _Columns) -> str:
        """Id of the record's question, or the file's own text for it if there is no such question. Raises RowsError."""
        if columns.id is None:
            return self._id_by_text(record, columns)
        id = self._id_in_column(record, columns.id)
        text = _cell(record, columns.question)
        if not isinstance(text, str):
            return id
        ids = [question.id for question in self._questions_by_text.get(folded(text), [])]
        if ids and id not in ids:
            problem = f"This is the question of {ids[0]!r}, not of {id!r}. Correct the ids, or delete them."
            raise RowsError(problem, row=record.row, column=columns.question)
        return id

    def _id_in_column(self, record: Record, column: str) -> str:
        """Id of the record's question by the id that the file gives, else the file's id. Raises RowsError."""
        value = record.values[column]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            problem = "An id is a text or a number. Write it as in the benchmark."
            raise RowsError(problem, row=record.row, column=column)
        written = _normal(str(value))
        if not written:
            problem = "The id is empty. Write it there, or delete the row."
            raise RowsError(problem, row=record.row, column=column)
        if written in self._ids:
            return self._ids[written]
        number = _whole_number(written)
        return written if number is None else self._ids_by_number.get(number, written)

    def _id_by_text(self, record: Record, columns: _Columns) -> str:
        """Id of the record's question by its text, else the beginning of that text. Raises RowsError."""
        text = _cell(record, columns.question)
        if not isinstance(text, str) or not text.strip():
            problem = "The question's text is missing. Write it there."
            raise RowsError(problem, row=record.row, column=columns.question)
        matching = self._questions_by_text.get(folded(text), [])
        truth = _cell(record, columns.truth)
        if len(matching) > 1 and isinstance(truth, str):
            matching = [
                question for question in matching if folded(question.truth) == folded(truth)
            ]
        if len(matching) > 1:
            ids = _listed([question.id for question in matching])
            problem = f"This is the text of several questions: {ids}. Add a column id."
            raise RowsError(problem, row=record.row, column=columns.question)
        return matching[0].id if matching else repr(folded(text)[:60])


def plain_sample(record: Record, answer_column: str = "prediction") -> Record:
    """A sample of lmms-eval as a plain record, and any other record as it is.

    In a sample the question is an object, and the answer a list of one.
    """
    if "filtered_resps" in record.values:
        answer = record.values["filtered_resps"]
    elif "resps" in record.values:
        answer = record.values["resps"]
    else:
        return record
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    doc = record.values.get("doc")
    cells: dict[str, JSON] = {}
    if isinstance(doc, dict):
        cells = {name: cell for name, cell in doc.items() if name not in _SKIPPED}
    if not cells.keys() & {*_IDS}:
        cells["question_id"] = record.values.get("doc_id")
    return Record(record.row, {**cells, answer_column: answer})


def _columns(source: Record, record: Record) -> _Columns:
    """Roles of the columns, from the first record. Raises RowsError if they are unclear."""
    names = {column: _GAPS.sub("_", column.strip().lower()) for column in record.values}
    answer = VALUE if VALUE in names else _answer_column(names, record)
    id = KEY if KEY in names else _only_column(names, _IDS, "the ids of the questions", record)
    question = _only_column(names, ("question",), "the questions", record)
    if id is None and question is None:
        question = _only_column(names, ("prompt",), "the questions", record)
    if id is None and question is None:
        raise _unclear(f"a column of ids ({', '.join(_IDS)}) or a column question", record)
    truth = next(
        (column for column in names if names[column] in _TRUTHS and column != answer), None
    )
    model = _only_column(names, ("model_id", "model"), "the model", record)
    return _Columns(
        layout=_layout(source, set(names.values()), id),
        answer=answer,
        id=id,
        question=question,
        truth=truth,
        model=model,
    )


def _answer_column(names: Mapping[str, str], record: Record) -> str:
    """Column of the answers; beside a column with a name of `_ANSWERS`, "answer" is the truth. Raises RowsError.

    `names` are plain names by the file's own.
    """
    if any(name in _ANSWERS for name in names.values()):
        names = {column: name for column, name in names.items() if name != "answer"}
    answer_names = _ANSWERS + _UNSURE_ANSWERS
    column = _only_column(names, answer_names, "the model's answers", record)
    if column is None:
        raise _unclear(f"a column of answers ({', '.join(answer_names)})", record)
    is_question_file = any(name in _QUESTION_FILE_COLUMNS for name in names.values())
    if names[column] == "answer" and is_question_file:
        raise _unclear(
            "a column prediction (in the benchmark's own file, answer is the truth)", record
        )
    return column


def _only_column(
    names: Mapping[str, str], wanted: Iterable[str], role: str, record: Record
) -> str | None:
    """The column with one of the `wanted` plain names; None without any. Raises RowsError for several."""
    columns = [column for column, name in names.items() if name in wanted]
    if len(columns) > 1:
        listed = " and ".join(map(repr, columns))
        raise RowsError(
            f"Several columns have {role}: {listed}. Delete or rename one.",
            row=record.row,
        )
    return columns[0] if columns else None


def _unclear(expected: str, record: Record) -> RowsError:
    """The error of a file without an expected column."""
    names = ", ".join(map(repr, list(record.values)[:_MOST_LISTED])) or "none"
    return RowsError(
        f"The file needs {expected}, and it has {names}. Add or rename it.", row=record.row
    )


def _layout(source: Record, names: set[str], id: str | None) -> Layout:
    if KEY in source.values:
        return "id: text" if VALUE in source.values else "id: record"
    if source.values.keys() & {"filtered_resps", "resps"}:
        return "lmms-eval samples"
    if names >= {"question_id", "text", "answer_id"}:
        return "LLaVA answers"
    if names >= {"index", "prediction"}:
        return "VLMEvalKit table"
    return "records" if id else "question texts"


def _cell(record: Record, column: str | None) -> JSON:
    """The cell in the column of a role; None if the file has no such column."""
    return None if column is None else record.values.get(column)


def _answer(record: Record, columns: _Columns) -> str:
    text = record.values[columns.answer]
    if isinstance(text, str):
        return text
    place = str(record.values[KEY]) if columns.id == KEY else columns.answer
    raise RowsError(f"The answer is {_NOT_A_TEXT[type(text)]}.", row=record.row, column=place)


def _whole_number(written: str) -> int | None:
    """The whole number that an id is, also in a spreadsheet's spelling: 7, 7.0, 1e2; else None."""
    if not _WHOLE_NUMBER.fullmatch(written):
        return None
    number = Decimal(written)
    return int(number) if number == number.to_integral_value() else None


def _normal(id: str) -> str:
    return unicodedata.normalize("NFC", id).strip()


def _listed(ids: Sequence[str]) -> str:
    """The number of ids, and the first of them in brackets."""
    first = ", ".join(" ".join(id.split())[:80] for id in ids[:_MOST_LISTED])
    more = ", ..." if len(ids) > _MOST_LISTED else ""
    return f"{len(ids):,} ({first}{more})"
