"""A benchmark that a user brings: answers, questions and a spec."""

import csv
from collections.abc import Sequence
from pathlib import Path

ZOO = """name: Zoo
about: Whether a model knows animals.
groups: [kind]
rule: letter
protocols: [strict, vlmevalkit]
questions: [{name: zoo.tsv, url: "https://example.org/zoo.tsv"}]
"""


def table(path: Path, columns: str, *rows: Sequence[object]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([columns.split(), *rows])
    return path


def zoo(folder: Path, said: str = "AB?A", spec: str = ZOO, name: str = "model") -> list[Path]:
    """Answers, questions and spec; "?" is an answer that no rule reads."""
    answers = [(n, "dog or cat, who knows" if one == "?" else one) for n, one in enumerate(said)]
    kinds = [
        (n, f"Which is it, {n}?", "cat", "dog", "A", "pet" if n < 2 else "wild") for n in range(4)
    ]
    (folder / "benchmark.yaml").write_text(spec)
    return [
        table(folder / f"{name}.csv", "index prediction", *answers),
        table(folder / "questions.csv", "index question A B answer kind", *kinds),
        folder / "benchmark.yaml",
    ]
