"""A question file of twelve tasks in three groups: the same pictures and questions, and each group's own answer."""

import base64
import csv
import io
from pathlib import Path

from PIL import Image

COLOURS = ("red", "green", "blue", "old")
RIGHT = ("A", "B", "C")
"""Right answer of each group."""


def picture(colour: str) -> str:
    stream = io.BytesIO()
    Image.new("RGB", (28, 28), "grey" if colour == "old" else colour).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def groups() -> list[list[str]]:
    return [[f"task_{number}" for number in range(12) if number % 3 == group] for group in range(3)]


def planted_tsv(path: Path, tasks: int = 12) -> Path:
    """Write two questions of each task; the rows go through the tasks in turn, so that none stands together."""
    heads = ["index", "question", "A", "B", "C", "D", "answer", "category", "image"]
    rows = []
    for place in range(2):
        for number in range(tasks):
            text = f"which {COLOURS[(place + number) % 4]} is it"
            about = [RIGHT[number % 3], f"task_{number}", picture(COLOURS[place % 4])]
            rows.append([len(rows), text, "the house", "a river", "two dogs", "one cat", *about])
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([heads, *rows])
    return path
