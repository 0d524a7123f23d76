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
    question_digest,
    question_path,
    read_question_file,
)
from scoring.judges.spec import prompt_text
from scoring.report import Question, QuestionSet
from scoring.specs.schema import UNKNOWN

MM_VET_V2_FILE = "mm-vet-v2.json"
QUESTIONS = 517
_ID = re.compile(r"v2_\d{1,9}", re.ASCII)
_PICTURES = (".jpg", "jpeg", ".png")
"""Suffixes by which the authors' script recognizes the name of a picture in a question; it has "jpeg" without a dot."""


def load_mm_vet_v2(path: Path | None) -> QuestionSet:
    """MM-Vet v2's questions from its folder or file; official if the ids are the published ones.

    Raises QuestionsError and RowsError.
    """
    file = question_path(path, MM_VET_V2_FILE, "MM-Vet v2", "MM_VET_V2_PATH")
    questions = read_question_file(file, _question, "v1_")
    ids = {question.id for question in questions}
    is_official = ids == {f"v2_{number}" for number in range(QUESTIONS)}
    name = "MM-Vet v2"
    if not is_official:
        name = f"MM-Vet v2, {len(questions)} of {QUESTIONS} questions or others"
    return QuestionSet("mm-vet-v2", name, question_digest(questions), is_official, questions)


def edition_of_answers(path: Path, limits: FileLimits = PAGE) -> str:
    """The key of the MM-Vet benchmark that a file's answers belong to, by the ids in its first row."""
    first = next(iter(read_records(path, limits, allow_object=True)), None)
    cells = first.values.values() if first else ()
    has_v2_id = any(isinstance(cell, str) and _ID.fullmatch(cell) for cell in cells)
    return "mm-vet-v2" if has_v2_id else "mm-vet"


def edition_of_table(first: Record) -> str | None:
    """The key of the MM-Vet benchmark that a table belongs to, by its first row; None for another file."""
    cells = {name.strip().lower(): str(cell) for name, cell in first.values.items()}
    ids = [cells[name] for name in ("index", "question_id", "id") if name in cells]
    if any(id.startswith("v2_") for id in ids):
        return "mm-vet-v2"
    categories = {code.strip() for code in cells.get("category", "").split(",")}
    has_capabilities = categories <= {*ALL_CAPABILITIES} or "capability" in cells
    if has_capabilities or any(id.startswith("v1_") for id in ids):
        return "mm-vet"
    return None


def _question(id: str, fields: Mapping[str, JSON], path: Path) -> Question:
    """A question whose text has `<image>` in place of each picture. Raises RowsError."""
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
    first_picture = pictures[0] if pictures else ""
    return Question(id, question_text, truth, groups, first_picture, tuple(pictures[1:]))


def _row(question: str, truth: str, prediction: str) -> str:
    """The row of a table to score, in the authors' form."""
    cells = [text.replace("\n", "<br>") for text in (question, truth, prediction)]
    return "| " + " | ".join([*cells, ""])


_AND_RULE = "<AND> in the ground truth means"
"""The beginning of a sentence in the hardened prompt."""
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
            _AND_RULE, f"<image> in the question indicates where an image is. {_AND_RULE}", 1
        ),
    ),
    question_count=QUESTIONS,
    example_id="v2_0",
    ending="_dev8",
    refusal=0.0,
)
