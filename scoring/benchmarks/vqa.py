"""VQA marks (MMBench, Table 3): a judge's marks from 1 to 5 for answers of GQA, OK-VQA and TextVQA, and VQA accuracy.

The paper asks a judge how well an answer fits (appendix A). A reply that is no mark leaves the answer unscored.
"""

import ast
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Literal

import numpy as np
from pydantic import StrictInt

from arena.io.tables import JSON, Record, read_records
from scoring.judges.injection import neutralise
from scoring.judges.spec import Ask, Grading, JudgeSpec, Message
from scoring.multiple_choice.metrics import share
from scoring.multiple_choice.reader import Problem
from scoring.report import Grade, ScoreLine, line

Dataset = Literal["GQA", "OK-VQA", "TextVQA"]
MarkProtocol = Literal["strict", "mmbench-paper"]
"""mmbench-paper sends the paper's prompt; strict, ours, sends the answer on one line, so that it cannot mark itself."""

MARKS = (1, 2, 3, 4, 5)
ATTEMPTS = 3
PARSER = "closed mark 1"
"""Name and version of the parser of the judge's replies."""
_PROMPTS = Path(__file__).parent.parent / "prompts"
_ONE_ANSWER = (_PROMPTS / "vqa_marks_gqa.txt").read_text("utf-8")
_SEVERAL = (_PROMPTS / "vqa_marks_lists.txt").read_text("utf-8")
PROMPTS: Mapping[Dataset, str] = {"GQA": _ONE_ANSWER, "OK-VQA": _SEVERAL, "TextVQA": _SEVERAL}
_PUBLISHED = Path(__file__).parent.parent / "data" / "vqa_marks_published.csv"
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"mark": {"type": "integer", "enum": MARKS}},
        "required": ["mark"],
        "additionalProperties": False,
    }
)
_MARK = re.compile(
    r"[\s\"'`*]*+(?:(?:your )?mark\s*+(?:is|:)?\s*+[\"'`*]*+)?([1-5])(?:\.0)?[\"'`*.\s]*+"
    r"|\s*(?:```(?:json)?\s*)?\{\s*\"mark\"\s*:\s*([1-5])\s*\}(?:\s*```)?\s*",
    re.IGNORECASE | re.ASCII,
)
_TEXT = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_LIST = re.compile(rf"\s*\[\s*(?:{_TEXT})(?:\s*+,\s*+(?:{_TEXT}))*+\s*+,?\s*+\]\s*", re.DOTALL)
_TEXTS = re.compile(rf"(?<=[\s,\[])(?:{_TEXT})", re.DOTALL)
_PREDICTIONS = ("prediction", "pred", "response", "output")
_TEXTVQA_VALIDATION = range(34602, 39602)
"""Question ids of TextVQA's validation split, which tell its files from OK-VQA's."""


@dataclass(frozen=True, slots=True)
class VQAnswer:
    """A question with its reference answers and the model's prediction."""

    id: str
    text: str
    answers: tuple[str, ...]
    """References as in the file, repeated as annotators gave them; none in a file without answers."""
    prediction: str
    row: StrictInt


@dataclass(frozen=True)
class VQAFile:
    """A file of VQA answers, read completely."""

    rows: tuple[VQAnswer, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Marks:
    """Mean of the judge's marks."""

    n: int
    unscored: int
    mean: float | None
    low: float | None
    high: float | None
    """95% interval of the mean, by the normal distribution."""
    worst: float
    best: float
    """The mean if every answer without a mark had the lowest, and if it had the highest."""
    times: Mapping[int, int]
    """Number of times each mark was given."""


@dataclass(frozen=True)
class VQAReport:
    """Table 3's figures for a model on one dataset."""

    dataset: Dataset
    exact: ScoreLine
    """Share of answers equal to one of the references."""
    consensus: ScoreLine
    """VQA accuracy: an answer counts min(1, matching others / 3), averaged over references; with one, equality."""
    marks: Marks


@dataclass(frozen=True)
class PublishedMark:
    """A pair of cells in Table 3."""

    dataset: str
    model: str
    accuracy: float
    mark: float


def read_answers(records: Iterable[Record]) -> VQAFile:
    """Rows of a file with the columns index, question, answer and prediction, with all problems."""
    rows: list[VQAnswer] = []
    problems: list[Problem] = []
    for place, record in enumerate(records):
        values = {str(name).strip().lower(): value for name, value in record.values.items()}
        prediction = next((values[name] for name in _PREDICTIONS if name in values), None)
        if not isinstance(prediction, str):
            found = ", ".join(map(repr, list(record.values)[:20]))
            problems.append(
                Problem(record.row, None, f"expected a column prediction with text, found {found}; add it", "scoring")
            )
            continue
        id = str(values.get("index", values.get("question_id", values.get("id", place))))
        answers = references(values.get("answer", values.get("answers")))
        if not answers:
            problems.append(
                Problem(record.row, None, f"question {id} has no reference answer; it is not scored", "nothing")
            )
        rows.append(VQAnswer(id, str(values.get("question") or ""), answers, prediction, record.row))
    times = Counter(row.id for row in rows)
    problems += [
        Problem(row.row, None, f"index {row.id} stands there {times[row.id]} times; keep one of each", "scoring")
        for row in rows
        if times[row.id] > 1
    ]
    return VQAFile(tuple(rows), tuple(problems))


def references(cell: JSON) -> tuple[str, ...]:
    """Reference answers in a cell: a list, a list written as text in JSON or Python, or one answer."""
    if isinstance(cell, list):
        return tuple(str(answer) for answer in cell)
    text = "" if cell is None else str(cell)
    if _LIST.fullmatch(text):
        return tuple(_unquoted(found[0]) for found in _TEXTS.finditer(text))
    return (text,) if text.strip() else ()


def _unquoted(literal: str) -> str:
    """Value of one quoted text; nothing else can be in it: no name, call or nesting."""
    try:
        return str(ast.literal_eval(literal.replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        return literal[1:-1]


def recognised(rows: Sequence[VQAnswer]) -> Dataset:
    """The dataset that a file looks like: GQA has one answer, TextVQA its own range of ids."""
    if all(len(row.answers) <= 1 for row in rows):
        return "GQA"
    ids = [int(row.id) for row in rows if row.id.isdecimal()]
    inside = sum(id in _TEXTVQA_VALIDATION for id in ids)
    return "TextVQA" if 2 * inside > len(rows) else "OK-VQA"


def grading(row: VQAnswer, dataset: Dataset, protocol: MarkProtocol, spec: JudgeSpec) -> Grading:
    """Mark one answer from 1 to 5; the grade's score is the mark."""
    if not row.answers:
        return Grade(row.id, 0, None, "the question has no reference answer")
    replies: list[str] = []
    model = ""
    for ask in [_ask(row, dataset, protocol, spec)] * ATTEMPTS:
        reply = yield ask
        replies.append(reply.texts[0] if reply.texts else "")
        model = reply.model
        mark = read_mark(replies[-1], reply.finish[0] if reply.finish else "no reply")
        if mark is not None:
            return Grade(row.id, 0, float(mark), "", (), tuple(replies), model)
    reason = f"none of the judge's {len(replies)} replies is a mark from 1 to 5; the last was {replies[-1]!r:.80}"
    return Grade(row.id, 0, None, reason, (), tuple(replies), model)


def _ask(row: VQAnswer, dataset: Dataset, protocol: MarkProtocol, spec: JudgeSpec) -> Ask:
    strictly = protocol == "strict"
    prompt = PROMPTS[dataset].format(
        question=row.text,
        answer=row.answers[0] if dataset == "GQA" else list(dict.fromkeys(row.answers)),
        prediction=neutralise(row.prediction) if strictly else row.prediction,
    )
    schema = _SCHEMA if strictly and spec.json_schema else None
    return Ask((Message("user", prompt),), 0.0, reply_tokens=16, schema=schema)


def read_mark(text: str, finish: str = "stop") -> int | None:
    """The mark that is the judge's whole reply; None for anything else."""
    found = _MARK.fullmatch(text)
    return int(found[1] or found[2]) if found and finish != "content_filter" else None


def prompt_digest(dataset: Dataset) -> str:
    """sha256 of a dataset's prompt; every report names it."""
    return hashlib.sha256(PROMPTS[dataset].encode()).hexdigest()


_NUMBERS = {
    word: str(number) for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
}
_NUMBERS["none"] = "0"
_ARTICLES = frozenset(("a", "an", "the"))
_PUNCTUATION = re.compile(r"[;/\[\]\"{}()=+\\_<>@`?!]|,(?!\d)|(?<!\d),|(?<!\d)\.|\.(?!\d)")


def normal(answer: str) -> str:
    """An answer as VQA compares it: lower case, no articles, digits for small numbers, no punctuation.

    VQA's list of contractions without apostrophes is not applied.
    """
    words = _PUNCTUATION.sub(" ", answer.replace("\n", " ").replace("\t", " ").lower()).split()
    return " ".join(_NUMBERS.get(word, word) for word in words if word not in _ARTICLES)


def exact(row: VQAnswer) -> bool:
    """Whether an answer equals one of its references."""
    return normal(row.prediction) in map(normal, row.answers)


def consensus(prediction: str, answers: Sequence[str]) -> float:
    """VQA accuracy of one answer: mean over references of min(1, matches among the other references / 3)."""
    said, given = normal(prediction), [normal(answer) for answer in answers]
    if len(given) == 1:
        return float(said == given[0])
    matches = given.count(said)
    return math.fsum(min(1.0, (matches - (one == said)) / 3) for one in given) / len(given)


def tabulate(rows: Sequence[VQAnswer], grades: Sequence[Grade], dataset: Dataset) -> VQAReport:
    """Exact match, VQA accuracy and the mean mark; rows without references are left out."""
    known = [row for row in rows if row.answers]
    equal = share("exact match", map(exact, known))
    soft = np.array([[consensus(row.prediction, row.answers)] for row in known]).reshape(-1, 1)
    marked = {grade.question: grade.score for grade in grades}
    return VQAReport(dataset, equal, line("VQA accuracy", soft), _marks([marked.get(row.id) for row in known]))


def _marks(scores: Sequence[float | None]) -> Marks:
    known = [score for score in scores if score is not None]
    times = Counter(map(round, known))
    counts = {mark: times[mark] for mark in MARKS}
    unmarked = len(scores) - len(known)
    worst, best = ((math.fsum(known) + unmarked * mark) / max(1, len(scores)) for mark in (1, 5))
    if not known:
        return Marks(len(scores), unmarked, None, None, None, worst, best, counts)
    mean = math.fsum(known) / len(known)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in known) / max(1, len(known) - 1))
    reach = NormalDist().inv_cdf(0.975) * spread / math.sqrt(len(known))
    low, high = (mean - reach, mean + reach) if len(known) > 1 else (None, None)
    return Marks(len(scores), unmarked, mean, low, high, worst, best, counts)


@cache
def published() -> tuple[PublishedMark, ...]:
    """Table 3, in its order."""
    return tuple(
        PublishedMark(str(row["dataset"]), str(row["model"]), float(str(row["accuracy"])), float(str(row["mark"])))
        for row in (record.values for record in read_records(_PUBLISHED))
    )
