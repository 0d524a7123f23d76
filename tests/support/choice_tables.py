"""Multiple-choice files, and the command that scores them."""

import csv
import json
from pathlib import Path

import pytest

from scoring.registry import choice_benchmark
from tests.support.commands import Command

GOLDEN = Path(__file__).parents[1] / "golden" / "circular"


COLUMNS = [
    "index",
    "question",
    "A",
    "B",
    "C",
    "D",
    "answer",
    "category",
    "l2-category",
    "split",
    "prediction",
]


class ChoiceCommand(Command):
    """The commands that score by rules, and the tables that they write."""

    def text(self, ending: str) -> str:
        """Return the one result whose name ends so."""
        (path,) = self.out.glob(f"*{ending}")
        return path.read_text("utf-8-sig")

    def items(self) -> dict[int, dict]:
        return {
            item["index"]: item for item in map(json.loads, self.text("-audit.jsonl").splitlines())
        }

    def table(self, ending: str) -> list[dict[str, str]]:
        return list(csv.DictReader(self.text(ending).splitlines(keepends=True)))

    def overall(self) -> float:
        return float(self.table("_acc.csv")[-1]["Overall"])


@pytest.fixture
def command(tmp_path):
    return ChoiceCommand(tmp_path)


def choice_tables(report):
    """Return the tables of a report of letters."""
    return choice_benchmark(report).choice_tables(report)


def row(index=1, said="B", **cells):
    options = {"A": "dog", "B": "cat", "C": "bird", "D": "fish"}
    known = {
        "question": "What is it?",
        "answer": "B",
        "category": "image_topic",
        "l2-category": "coarse_perception",
    }
    return {"index": str(index), **options, **known, "split": "dev", "prediction": said, **cells}


def table_file(path: Path, rows: list[dict], columns: list[str] | None = None) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(
            file, columns or COLUMNS, delimiter="\t", quoting=csv.QUOTE_ALL, extrasaction="ignore"
        )
        writer.writeheader()
        writer.writerows(rows)
    return path
