"""MMT-Bench reports of models that are right by lot, each as often as its skill."""

import random

from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.mmt_bench import subtasks
from tests.support.choice_reports import choice_report
from tests.support.mmt_answers import answered


def mmt_report(title: str, skill: float, protocol: str = "strict") -> ChoiceReport:
    """A report with four questions of each subtask, of the split VAL."""
    draw = random.Random(title)
    keys = [key for key in subtasks() for _ in range(4)]
    rows = tuple(answered(place, key, draw.random() < skill) for place, key in enumerate(keys))
    return choice_report(rows, protocol, "mmt-bench", title, "answers.tsv")
