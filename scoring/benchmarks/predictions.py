"""Prediction files: reads model outputs in the common layouts and joins them to the questions.

Nothing is repaired: an answer stays exactly as written, and what could be meant in two ways is refused.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
from scoring.no_answers import BEFORE, no_answer, no_answer_sentences
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
_IDS = ("id", "question_id", "index")
_ANSWERS = ("prediction", "pred", "response", "output")
_PLAIN_ANSWERS = ("text", "answer")
_TRUTHS = ("answer", "ground_truth", "gt_answer", "target")
_BENCHMARK_OWN = ("capability", "category", "imagename", "imagesource")
_IMAGES = ("image", "images", "img", "image_base64")
_SKIPPED = tuple(spelled for name in _IMAGES for spelled in (name, name.capitalize(), name.upper()))
_GAPS = re.compile(r"[\s-]+")
_WHOLE = re.compile(r"(0|[1-9]\d*)(\.\d+)?([eE]\+?\d{1,2})?", re.ASCII)
_NUMBERED = re.compile(r"(?:.*_)?(\d{1,18})", re.ASCII)
_TRUTH_PARTS = re.compile("<AND>|<OR>")
_SHOWN = 20
_MENDS = {
    type(None): 'null. Write "" for an empty answer, or delete it and score without it',
    bool: "true or false. Put it in quotes as the model wrote it",
    int: "a number. Put it in quotes as the model wrote it",
    float: "a number. Put it in quotes as the model wrote it",
    list: "a list. Give the text alone",
    dict: "an object. Give the text alone",
}


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
    """The question's id; if no question has it, the file's own text."""
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
    """Whether it has questions, and none of them is the one that its id names."""
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

    Rows name their question by its id, by the number in its id (0, "0.0"), or by its text if there is no id. JSONL, CSV
    and TSV are streamed. `name` is the owner's name for the file. Raises RowsError.
    """
    label = name or path.name
    index = QuestionIndex(questions)
    columns: _Columns | None = None
    predictions: list[Prediction] = []
    others = {question.id for question in questions.outside}
    outside = 0
    models: set[str] = set()
    prefixes: set[str] = set()
    same: set[bool | None] = set()
    for joined in joined_records(path, index, limits, label):
        columns = joined.columns
        prediction = joined.prediction
        if prediction.id in others:
            outside += 1
        else:
            predictions.append(prediction)
        values = joined.record.values
        same.add(index.is_same(prediction.id, values.get(columns.question or "")))
        model = values.get(columns.model or "")
        models |= {model.strip()} if isinstance(model, str) else set()
        prefixes.add(str(values.get(PREFIX) or ""))
    if columns is None:
        raise NoAnswersError("The file has no answers. Choose the one that has them.", label)
    titles = sorted(filter(None, models))
    if len(titles) > 1:
        raise RowsError(
            f"The file has the answers of several models: {_counted(titles)}. Split the file.",
            label,
        )
    if len(prefixes) > 1:
        raise RowsError(
            f"The rows have {len(prefixes)} different texts here. Score answers that were asked in one way.",
            label,
            column=PREFIX,
        )
    return Upload(
        file=label,
        layout=columns.layout,
        title=titles[0][:200] if titles else Path(label).stem,
        predictions=tuple(predictions),
        outside=outside,
        asks_others=same - {None} == {False},
        asked="".join(prefixes)[:_MOST_PREFIX],
    )


class Joined(NamedTuple):
    """A record of a file, and the prediction in it."""

    source: Record
    """As the file holds it."""
    record: Record
    """The same as a plain record of answers."""
    columns: _Columns
    prediction: Prediction


def joined_records(
    path: Path, index: "QuestionIndex", limits: FileLimits, label: str
) -> Iterator[Joined]:
    """The records of a file with the ids of their questions. Raises RowsError, for a file of verdicts too."""
    columns: _Columns | None = None
    with row_errors(label):
        for source in read_records(path, limits, _SKIPPED, label, members=True):
            record = sample(source)
            if (
                columns is None
                and "hit" in record.values
                and (refusal := result_file_problem(source, label))
            ):
                raise RowsError(refusal)
            columns = columns or _columns(source, record)
            require_columns(record, [column for column in (columns.id, columns.answer) if column])
            prediction = Prediction(
                index.id_of(record, columns), _answer(record, columns), record.row
            )
            yield Joined(source, record, columns, prediction)


_LEAVE_OUT = "Add them, or score without them: choose Leave them unscored under Details, or -o missing=unscored."


def fill(questions: QuestionSet, upload: Upload, missing: Missing) -> tuple[Filled, ...]:
    """Every question, in order, with its prediction. Raises UploadError with all problems at once."""
    texts = {prediction.id: prediction.text for prediction in upload.predictions}
    filled = tuple(Filled(question, texts.get(question.id)) for question in questions.questions)
    lacking = (
        [entry.question.id for entry in filled if entry.prediction is None]
        if missing == "stop"
        else []
    )
    unknown = sorted(texts.keys() - {question.id for question in questions.questions})
    double = [
        id
        for id, times in Counter(prediction.id for prediction in upload.predictions).items()
        if times > 1
    ]
    problems = []
    if lacking:
        problems.append(f"Questions without an answer: {_counted(lacking)}. {_LEAVE_OUT}")
    if unknown:
        mend = _mend(unknown, questions)
        problems.append(f"Ids that are not in {questions.name}: {_counted(unknown)}. {mend}")
    if double:
        problems.append(f"Ids that are there more than once: {_counted(double)}. Keep one of each.")
    if problems:
        raise UploadError(upload.file, tuple(problems))
    return filled


def _mend(unknown: list[str], questions: QuestionSet) -> str:
    """Returns the advice on unknown ids, also when they are those of the other edition of MM-Vet."""
    for other, prefix in (("mm-vet-v2", "v2_"), ("mm-vet", "v1_")):
        if (
            unknown
            and other != questions.benchmark
            and all(id.startswith(prefix) for id in unknown)
        ):
            edition = "MM-Vet v2" if other == "mm-vet-v2" else "MM-Vet"
            return f"They are {edition}'s: score the file with --benchmark {other}."
    return "Correct or delete them."


def notices(upload: Upload, questions: QuestionSet, then: str = BEFORE) -> tuple[str, ...]:
    """Returns notices about a file; `then` is the treatment of predictions that are no answer of a model."""
    truths = {question.id: question.truth for question in questions.questions}
    reasons = {
        prediction.id: no_answer(prediction.text, _TRUTH_PARTS.split(truths.get(prediction.id, "")))
        for prediction in upload.predictions
    }
    named_nothing = [
        prediction.id for prediction in upload.predictions if prediction.text.strip() in NO_ANSWERS
    ]
    texts = {question.id: question.text for question in questions.questions}
    echoes = [
        prediction.id
        for prediction in upload.predictions
        if repeats(prediction.text, texts.get(prediction.id, ""))
    ]
    lines = (
        f"None of its questions is the one with that id in {questions.name}. Is it a file of another benchmark?"
        if upload.asks_others
        else "",
        f"Answers that repeat their question: {_counted(echoes)}. If the prompt was written into the file, cut it off: "
        "a judge reads it as the model's words."
        if echoes
        else "",
        f"Answers to questions outside the subset, left out: {upload.outside:,}."
        if upload.outside
        else "",
        f"Answers that are NA or None, which count as the model's words: {_counted(named_nothing)}. Where it gave no "
        "answer, empty the cell."
        if named_nothing
        else "",
    )
    return (*no_answer_sentences(reasons, len(upload.predictions), then), *filter(None, lines))


class QuestionIndex:
    """Index from records to questions."""

    def __init__(self, questions: QuestionSet) -> None:
        whole = (*questions.questions, *questions.outside)
        self._ids = {_normal(question.id): question.id for question in whole}
        numbers = [
            (int(match[1]), id) for id in self._ids.values() if (match := _NUMBERED.fullmatch(id))
        ]
        times = Counter(number for number, _ in numbers)
        self._numbers: dict[int | None, str] = {
            number: id for number, id in numbers if times[number] == 1
        }
        self._asked = {
            question.id: folded(question.text).partition("<image>")[0] for question in whole
        }
        self._texts = grouped((folded(question.text), question) for question in whole)

    def is_same(self, id: str, text: JSON) -> bool | None:
        """Whether a prompt holds the question of an id, up to its first picture; None where one is not known."""
        if id not in self._asked or not isinstance(text, str) or not text.strip():
            return None
        return self._asked[id] in folded(text)

    def id_of(self, record: Record, columns: _Columns) -> str:
        """Id of the record's question, or the file's own text for it if there is no such question. Raises RowsError."""
        if columns.id is None:
            return self._id_by_text(record, columns)
        id = self._id_by_id(record, columns.id)
        text = record.values.get(columns.question or "")
        meant = (
            [question.id for question in self._texts.get(folded(text), [])]
            if isinstance(text, str)
            else []
        )
        if meant and id not in meant:
            problem = f"This is the question of {meant[0]!r}, not of {id!r}. Correct the ids, or delete them."
            raise RowsError(problem, row=record.row, column=columns.question)
        return id

    def _id_by_id(self, record: Record, column: str) -> str:
        value = record.values[column]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            problem = "An id is a text or a number. Write it as in the benchmark."
            raise RowsError(problem, None, record.row, column)
        written = _normal(str(value))
        if not written:
            problem = "The id is empty. Write it there, or delete the row."
            raise RowsError(problem, None, record.row, column)
        return self._ids.get(written) or self._numbers.get(_whole(written), written)

    def _id_by_text(self, record: Record, columns: _Columns) -> str:
        text = record.values.get(columns.question or "")
        if not isinstance(text, str) or not text.strip():
            raise RowsError(
                "The question's text is missing. Write it there.",
                None,
                record.row,
                columns.question,
            )
        meant = self._texts.get(folded(text), [])
        truth = record.values.get(columns.truth or "")
        if len(meant) > 1 and isinstance(truth, str):
            meant = [question for question in meant if folded(question.truth) == folded(truth)]
        if len(meant) > 1:
            several = _counted([question.id for question in meant])
            problem = f"This is the text of several questions: {several}. Add a column id."
            raise RowsError(problem, row=record.row, column=columns.question)
        return meant[0].id if meant else repr(folded(text)[:60])


def sample(record: Record, called: str = "prediction") -> Record:
    """A sample of lmms-eval as a plain record, with its answer `called` so: there the question is an object, and the
    answer a list of one."""
    answer = next((name for name in ("filtered_resps", "resps") if name in record.values), None)
    if answer is None:
        return record
    text = record.values[answer]
    doc = record.values.get("doc")
    while isinstance(text, list) and len(text) == 1:
        text = text[0]
    columns = (
        {name: cell for name, cell in doc.items() if name not in _SKIPPED}
        if isinstance(doc, dict)
        else {}
    )
    if not columns.keys() & {*_IDS}:
        columns["question_id"] = record.values.get("doc_id")
    return Record(record.row, {**columns, called: text})


def _columns(source: Record, record: Record) -> _Columns:
    """Roles of the columns, from the first record. Raises RowsError if they are unclear."""
    names = {column: _GAPS.sub("_", column.strip().lower()) for column in record.values}
    answer = VALUE if VALUE in names else _answer_column(names, record)
    id = KEY if KEY in names else _only(names, _IDS, "the ids of the questions", record)
    question = _only(names, ("question",), "the questions", record)
    if id is None:
        question = question or _only(names, ("prompt",), "the questions", record)
    if id is None and question is None:
        raise _unclear(f"a column of ids ({', '.join(_IDS)}) or a column question", record)
    truth = next(
        (column for column in names if names[column] in _TRUTHS and column != answer), None
    )
    model = _only(names, ("model_id", "model"), "the model", record)
    return _Columns(_layout(source, set(names.values()), id), answer, id, question, truth, model)


def _answer_column(names: Mapping[str, str], record: Record) -> str:
    """Column of the answers; beside a column that can be nothing else, "answer" is the truth. Raises RowsError."""
    if any(name in _ANSWERS for name in names.values()):
        names = {column: name for column, name in names.items() if name != "answer"}
    column = _only(names, _ANSWERS + _PLAIN_ANSWERS, "the model's answers", record)
    if column is None:
        raise _unclear(f"a column of answers ({', '.join(_ANSWERS + _PLAIN_ANSWERS)})", record)
    if names[column] == "answer" and any(name in _BENCHMARK_OWN for name in names.values()):
        raise _unclear(
            "a column prediction (in the benchmark's own file, answer is the truth)", record
        )
    return column


def _only(names: Mapping[str, str], wanted: Iterable[str], role: str, record: Record) -> str | None:
    several = [column for column, name in names.items() if name in wanted]
    if len(several) > 1:
        columns = " and ".join(map(repr, several))
        raise RowsError(
            f"Several columns have {role}: {columns}. Delete or rename one.",
            row=record.row,
        )
    return several[0] if several else None


def _unclear(expected: str, record: Record) -> RowsError:
    names = ", ".join(map(repr, list(record.values)[:_SHOWN])) or "none"
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


def _answer(record: Record, columns: _Columns) -> str:
    text = record.values[columns.answer]
    if isinstance(text, str):
        return text
    place = str(record.values[KEY]) if columns.id == KEY else columns.answer
    raise RowsError(f"The answer is {_MENDS[type(text)]}.", row=record.row, column=place)


def _whole(written: str) -> int | None:
    """The whole number that an id is, also in a spreadsheet's spelling: 7, 7.0, 1e2; else None."""
    number = Decimal(written) if _WHOLE.fullmatch(written) else Decimal("0.5")
    return int(number) if number == number.to_integral_value() else None


def _normal(id: str) -> str:
    return unicodedata.normalize("NFC", id).strip()


def _counted(ids: list[str]) -> str:
    first = ", ".join(" ".join(id.split())[:80] for id in ids[:_SHOWN])
    return f"{len(ids):,} ({first}{', ...' if len(ids) > _SHOWN else ''})"
