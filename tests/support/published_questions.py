"""A small question file that stands for one that its authors publish."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.benchmarks.choice_report import ChoiceReport
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file
from scoring.registry import BENCHMARKS
from tests.support.question_files import answers, circular, questions

FILE = "MMBench_DEV_EN.tsv"


def published_questions(folder: Path, monkeypatch: pytest.MonkeyPatch, **entry: str) -> Path:
    """MMBench's question file of five questions, which is the published one for as long as the test runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = questions(folder, FILE)
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    benchmark = BENCHMARKS["mmbench"]
    known = next(file for file in benchmark.question_files if file.name == FILE)
    file = known.model_copy(update={"md5": md5, **entry})
    spec = benchmark.spec.model_copy(update={"questions": (file,)})
    monkeypatch.setitem(BENCHMARKS, "mmbench", replace(benchmark, spec=spec))
    return path


def checked_report(folder: Path, said: dict[str, str] | None = None, **how: str) -> ChoiceReport:
    """The report of a file of answers alone, with the question file of this folder."""
    path = answers(folder.parent, circular() if said is None else said)
    opened = open_joined_file(QuestionLibrary(folder), path, **how).file
    assert opened is not None
    return opened.report("strict")
