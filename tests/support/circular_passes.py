"""Passes of CircularEval groups with the outcomes that a test wants."""

from arena.io.tables import Record
from scoring.benchmarks import choice, mmbench
from scoring.multiple_choice.reader import read_choices
from scoring.multiple_choice.types import PASS

TEXTS = ("dog", "cat", "bird", "fish")


def row(index, letter, answer="B", category="image_style", texts=TEXTS, **cells):
    """A question's pass as a file holds it: index // PASS tells how far its options are moved on."""
    by = index // PASS
    moved = texts[-by % len(texts) :] + texts[: -by % len(texts)]
    right = "ABCD"[("ABCD".index(answer) + by) % len(texts)] if answer else ""
    options = {name: text for name, text in zip("ABCD", moved, strict=False)}
    prediction = right if letter == "right" else letter
    l2 = next((name for name, short in mmbench.L2.items() if category in mmbench.L3[short]), "")
    return {
        "index": str(index), "question": "What is it?", "hint": "", **options, "answer": right, "category": category,
        "l2-category": l2, "split": "dev", "prediction": prediction, **cells,
    }  # fmt: skip


def records(rows):
    return [Record(place, values) for place, values in enumerate(rows, start=2)]


def decided(rows, protocol="strict"):
    return list(choice.decide_rows(read_choices(records(rows)).rows, protocol))


def passes(base, letters, **more):
    return [
        row(base + number * PASS, letter, **more)
        for number, letter in enumerate(letters)
        if letter is not None
    ]


RIGHT = ["right"] * 4
