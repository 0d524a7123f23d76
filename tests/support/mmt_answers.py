"""Answered questions of MMT-Bench."""

from scoring.benchmarks import mmt_bench
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.types import ChoiceQuestion, Decided

OPTIONS = {"A": "dog", "B": "cat", "C": "bird", "D": "fish"}


def answered(index, subtask, right, split="VAL", answer="B", group=""):
    letter = answer if right else "A"
    known = mmt_bench.subtasks().get(subtask)
    meta = known.meta_task if known else group
    question = ChoiceQuestion(index, "What?", OPTIONS, answer, subtask, meta, split)
    return Decided(question, letter, extract(letter, OPTIONS))
