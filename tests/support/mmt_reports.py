"""MMT-Bench reports of models that are right by lot, each as often as its skill."""

import random

from scoring.benchmarks.choice import ChoiceReport
from scoring.benchmarks.mmt_bench import subtasks
from tests.support.mmt_answers import answered


def mmt_report(title: str, skill: float, seed: int = 0, protocol: str = "strict", questions: int = 4) -> ChoiceReport:
    """A report with so many questions of each subtask, of the split VAL."""
    draw = random.Random(f"{title} {seed}")
    keys = [key for key in subtasks() for _ in range(questions)]
    rows = tuple(answered(place, key, draw.random() < skill) for place, key in enumerate(keys))
    head = {"benchmark": "mmt-bench", "title": title, "file": "answers.tsv", "created": "2026-11-01T00:00:00+00:00"}
    return ChoiceReport(**head, protocol=protocol, judge=None, rows=rows, problems=())
