"""Question files with hidden right answers, each in words that are nowhere else, and files of answers to them."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.support.choice_tables import COLUMNS, table_file

ASKED = [column for column in COLUMNS if column != "prediction"]
PASS = 1_000_000
TOPICS = ["image_topic"] * 25 + ["ocr"] * 30 + ["social_relation"] * 40 + ["nature_relation"] * 19
"""Abilities of the choice questions: one of 19 among the reasoning ones, beside one of 40."""


def choice_rows(split: str = "test", first: int = 3, topics: Sequence[str] = TOPICS) -> list[dict]:
    """Questions in four passes each; their options are words of their own."""
    lot = Random(7)
    rows = []
    for place, topic in enumerate(topics):
        id = first + 7 * place
        texts = [f"wordq{id}z{number}" for number in range(4)]
        right = lot.randrange(4)
        for turn in range(4):
            moved = [texts[(number + turn) % 4] for number in range(4)]
            rows.append(
                {
                    "index": str(id + turn * PASS),
                    "question": f"Askedq{id}z?",
                    **dict(zip("ABCD", moved, strict=True)),
                    "answer": "ABCD"[(right - turn) % 4],
                    "category": topic,
                    "split": split,
                }
            )
    return rows


def choice_questions(folder: Path, rows: list[dict], name="MMBench_TEST_EN.tsv") -> Path:
    return table_file(folder / name, rows, [column for column in ASKED if column != "l2-category"])


def choice_answers(path: Path, rows: list[dict], wrong: float = 0.1) -> Path:
    """A letter for each row, some of them wrong."""
    lot = Random(8)
    said = {
        row["index"]: lot.choice("ABCD") if lot.random() < wrong else row["answer"] for row in rows
    }
    path.write_text(json.dumps(said))
    return path


SPEC = """
name: Riddles
about: Numbers that riddles ask for.
columns: {question: riddle, truth: number}
splits: part
groups: [field, kind]
rule: number
figures:
  Overall: mean
  pairs: {all: [pair]}
submission: json list
questions:
  - {name: Riddles.tsv, answers: hidden}
"""
SPEC_COLUMNS = ["index", "riddle", "number", "part", "field", "kind", "pair"]


def riddle_rows(
    part: str = "", kinds: Sequence[int] = (25, 30, 45), first: int = 70_000
) -> list[dict]:
    """Riddles of some kinds, so many of each, in fields of which two kinds share one."""
    rows = []
    for kind, count in enumerate(kinds):
        for place in range(count):
            number = 100 * kind + place
            rows.append(
                {
                    "index": f"keyq{part}{number}",
                    "riddle": f"Riddleq{part}{number}z",
                    "number": f"{first + number}.00",
                    "part": part,
                    "field": f"field {kind // 2}",
                    "kind": f"kind {kind}",
                    "pair": f"{part} {number // 2}",
                }
            )
    return rows


def riddles(folder: Path, rows: list[dict], name="Riddles.tsv") -> Path:
    return table_file(folder / name, rows, SPEC_COLUMNS)


def riddle_answers(path: Path, rows: list[dict], wrong: float = 0.2) -> Path:
    """A number for each riddle, written otherwise than the right one: 70,012 where that is 70012.00."""
    lot = Random(9)
    said = {row["index"]: f"{int(float(row['number'])) + (lot.random() < wrong):,}" for row in rows}
    path.write_text(json.dumps(said))
    return path


def truths(rows: list[dict]) -> list[str]:
    """What no page, file, log or row may have of these questions: words of options and questions, and numbers."""
    words = {row[name] for row in rows for name in ("A", "question") if name in row}
    words |= {row[name] for row in rows for name in ("number", "riddle") if name in row}
    words |= {row["answer"] for row in rows if len(row.get("answer", "")) > 1}
    return sorted(words)


def told_by(text: str, rows: list[dict]) -> list[str]:
    return [word for word in truths(rows) if word in text]


def page_rows(count: int = 40) -> list[dict]:
    """Questions on pages, with a short right answer of its own each."""
    return [
        {"index": str(500 + place), "question": f"Pageq{place}z?", "answer": f"TruthQ{place}Z"}
        for place in range(count)
    ]


def page_answers(path: Path, rows: list[dict]) -> Path:
    """Right answers in small letters, truthq7z for TruthQ7Z, but for each third."""
    said = {
        row["index"]: "unknown" if place % 3 == 0 else row["answer"].lower()
        for place, row in enumerate(rows)
    }
    path.write_text(json.dumps(said))
    return path
