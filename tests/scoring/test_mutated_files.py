"""Mutated files of every layout: each is read, or refused in one line that names the file and says what to do."""

import io
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from arena.io.tables import PAGE, RowsError
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.mm_vet_grades import graded_report, holds_grades, read_grades
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS, own_sample
from scoring.benchmarks.predictions import UploadError, fill, read_predictions
from scoring.registry import open_upload
from scoring.visit_bench.reader import is_submission, read_submission
from tests.support.choice_tables import row, table_file
from tests.support.mutations import mutated_bytes

SAMPLE = own_sample()
ANSWERS: dict[str, str] = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
GRADES = {id: {"model": ["j"], "content": ["0.5"], "score": [0.5]} for id in ANSWERS}
ROWS = [row(number) for number in range(1, 7)]
MARKED = [
    {"index": str(n), "question": "what?", "answer": "['a', 'b']", "prediction": "a"}
    for n in range(6)
]
LOGS = {
    "logs": [
        {"doc_id": n, "doc": {"question_id": id}, "resps": [[text]]}
        for n, (id, text) in enumerate(ANSWERS.items())
    ]
}
VISIT = [{"item": f"{n:016x}", "prediction": "yes"} for n in range(6)]


def text(rows: list[dict], suffix: str, folder: Path) -> bytes:
    if suffix == ".json":
        return json.dumps(rows).encode()
    if suffix == ".jsonl":
        return "".join(json.dumps(one) + "\n" for one in rows).encode()
    if suffix == ".parquet":
        found = io.BytesIO()
        pandas.DataFrame(rows).to_parquet(found)
        return found.getvalue()
    return table_file(folder / "whole.tsv", rows, list(rows[0])).read_bytes()


def mm_vet(path: Path) -> None:
    if holds_grades(path, PAGE):
        graded_report(read_grades(path), SAMPLE)
    else:
        fill(SAMPLE, read_predictions(path, SAMPLE), "stop")


def holding(path: Path) -> None:
    found = open_upload(path)
    if found:
        found.report(next(iter(found.benchmark.protocols.values())))


def visit(path: Path) -> None:
    assert is_submission(path, path.name) in (True, False)
    if problems := read_submission(path).problems:
        raise UploadError(path.name, problems)


LAYOUTS: dict[str, tuple[str, object, Callable[[Path], None]]] = {
    "answers": (".json", ANSWERS, mm_vet),
    "grades": (".json", GRADES, mm_vet),
    "lmms logs": (".json", LOGS, mm_vet),
    "answers in lines": (
        ".jsonl",
        [{"id": id, "prediction": said} for id, said in ANSWERS.items()],
        mm_vet,
    ),
    "options": (".tsv", ROWS, holding),
    "options in lines": (".jsonl", ROWS, holding),
    "references": (".tsv", MARKED, holding),
    "submission": (".jsonl", VISIT, visit),
    "Parquet": (".parquet", ROWS, holding),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_mutated_file_is_read_or_refused_in_one_line(tmp_path, layout):
    suffix, rows, read = LAYOUTS[layout]
    whole = (
        text(rows, suffix, tmp_path)
        if isinstance(rows, list)
        else json.dumps(rows, indent=1).encode()
    )
    dice, ends = random.Random(layout), Counter[str]()
    files = 6 if suffix == ".parquet" else 40  # each Parquet file takes a process
    for number in range(files):
        path = tmp_path / f"file{number}{suffix}"
        path.write_bytes(mutated_bytes(whole, dice) if number else whole)
        try:
            read(path)
        except (RowsError, UploadError, ChoicesError) as error:
            told = str(error)
            lines = told.splitlines()
            assert all(line.startswith(path.name) for line in lines) and len(told) < 4_000, told
            assert re.search(r"[.?] [A-Z].*[.?]$", lines[-1]), f"it says how to mend it: {told}"
            ends["refused"] += 1
        else:
            ends["read"] += 1
            assert number or ends == {"read": 1}, "the whole file is read"
    assert ends["refused"] >= min(10, files // 3)
