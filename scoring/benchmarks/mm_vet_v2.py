"""MM-Vet v2 (Yu et al. 2024): 517 questions, with image-text sequences as a seventh capability."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from arena.io.tables import JSON, PAGE, FileLimits, Record, RowsError, read_records
from scoring.benchmarks.mm_vet import MM_VET, V1, Wording
from scoring.benchmarks.mm_vet_questions import (
    ALL_CAPABILITIES,
    capabilities_of,
    question_path,
    questions_of,
)
from scoring.judges.spec import prompt_text
from scoring.report import Question, QuestionSet
from scoring.specs.schema import UNKNOWN

MM_VET_V2_FILE = "mm-vet-v2.json"
QUESTIONS = 517
_ID = re.compile(r"v2_\d{1,9}", re.ASCII)
_PICTURES = (".jpg", "jpeg", ".png")
"""Suffixes by which the authors' script recognizes the name of a picture in a question."""


def load_mm_vet_v2(path: Path | None) -> QuestionSet:
    """MM-Vet v2's questions from its folder or file; official if the ids are the published ones.

    Raises QuestionsError and RowsError.
    """
    path = question_path(path, MM_VET_V2_FILE, "MM-Vet v2", "MM_VET_V2_PATH")
    digest, questions = questions_of(path, _question, "v1_")
    ids = {question.id for question in questions}
    is_official = ids == {f"v2_{number}" for number in range(QUESTIONS)}
    name = "MM-Vet v2"
    if not is_official:
        name = f"MM-Vet v2, {len(questions)} of {QUESTIONS} questions or others"
    return QuestionSet("mm-vet-v2", name, digest, is_official, questions)


def edition(path: Path, limits: FileLimits = PAGE) -> str:
    """The edition of free answers by their ids in the first row: the key of its benchmark."""
    first = next(iter(read_records(path, limits, members=True)), None)
    ids = first.values.values() if first else ()
    return "mm-vet-v2" if any(isinstance(id, str) and _ID.fullmatch(id) for id in ids) else "mm-vet"


def edition_of(first: Record) -> str | None:
    """The edition of MM-Vet of a table with this first row: the key of its benchmark; None for another file."""
    cells = {name.strip().lower(): str(cell) for name, cell in first.values.items()}
    ids = [cells[name] for name in ("index", "question_id", "id") if name in cells]
    known = {code.strip() for code in cells.get("category", "").split(",")} <= {*ALL_CAPABILITIES}
    if any(id.startswith("v2_") for id in ids):
        return "mm-vet-v2"
    is_v1 = known or "capability" in cells or any(id.startswith("v1_") for id in ids)
    return "mm-vet" if is_v1 else None


def _question(id: str, fields: Mapping[str, JSON], path: Path) -> Question:
    text = fields.get("question")
    truth = fields.get("answer")
    if not (isinstance(text, str) and isinstance(truth, str)):
        raise RowsError(
            "Its question and answer must be texts. Use the published file.", path.name, column=id
        )
    parts = text.split("<IMG>")
    pictures = [part for part in parts if part.endswith(_PICTURES)]
    question_text = "".join("<image>" if part.endswith(_PICTURES) else part for part in parts)
    groups = capabilities_of(id, fields, path, ALL_CAPABILITIES)
    return Question(id, question_text, truth, groups, "".join(pictures[:1]), tuple(pictures[1:]))


def _row(question: str, truth: str, prediction: str) -> str:
    """The row of a table to score, in the authors' form."""
    cells = [text.replace("\n", "<br>") for text in (question, truth, prediction)]
    return "| " + " | ".join([*cells, ""])


_AND = "<AND> in the ground truth means"
MM_VET_V2 = replace(
    MM_VET,
    key="mm-vet-v2",
    cited="yu2024mmvetv2",
    name="MM-Vet v2",
    about=f"{MM_VET.about} Some questions are a sequence of pictures and texts.",
    question_licence=UNKNOWN,
    wording=Wording(
        paper=prompt_text("mm_vet_v2.txt"),
        row=_row,
        again="\n\nPredict the correctness of the answer (digit): ",
        hardened=V1.hardened.replace(
            _AND, f"<image> in the question indicates where an image is. {_AND}", 1
        ),
    ),
    question_count=QUESTIONS,
    example_id="v2_0",
    ending="_dev8",
    refusal=0.0,
)
