"""Question files as authors publish them, and files of answers alone."""

import json
from pathlib import Path

from tests.support.choice_tables import COLUMNS, row, table_file

PASS = 1_000_000
ASKED = [column for column in COLUMNS if column != "prediction"]
SPARSE = [3, 241, 252, 1050, 2003]
"""Ids as MMBench has them: numbers with gaps."""
TOPICS = ["image_topic", "image_style", "ocr", "social_relation", "future_prediction"]
SHORT = ["index", "question", "answer", "prediction"]


def questions(
    folder: Path, name="MMBench_DEV_EN.tsv", ids=SPARSE, what="What is it, {}?", topics=TOPICS
) -> Path:
    """A question file of MMBench: each id has a question of four options, which is asked in four passes."""
    rows = [
        turned(number, row(id + number * PASS, question=what.format(id), category=topic))
        for id, topic in zip(ids, [*topics] * len(ids), strict=False)
        for number in range(4)
    ]
    return table_file(folder / name, rows, [name for name in ASKED if name != "l2-category"])


def turned(number: int, cells: dict[str, str]) -> dict[str, str]:
    """A row of a later pass: its options moved on, and the letter of the right one."""
    texts = [cells[letter] for letter in "ABCD"]
    moved = {letter: texts[(place + number) % 4] for place, letter in enumerate("ABCD")}
    return {**cells, **moved, "answer": "ABCD"[(1 - number) % 4]}


def short_answers(folder: Path, name: str, count: int, what="How many, {}?") -> Path:
    """A question file of short answers, whose ids count its rows."""
    rows = [
        {"index": str(at), "question": what.format(at), "answer": "seven"} for at in range(count)
    ]
    return table_file(folder / name, rows, SHORT[:3])


def circular(ids=SPARSE, wrong=()) -> dict[str, str]:
    """A letter for every pass of every question: right, but for those that are wrong."""
    said = {}
    for id in ids:
        for number in range(4):
            right = "ABCD"[(1 - number) % 4]
            said[str(id + number * PASS)] = "E" if (id, number) in wrong else right
    return said


def answers(folder: Path, said: dict[str, str], name="model.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(said))
    return path
