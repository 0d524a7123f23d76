"""`calibrate --examples`: a judge marks again with some of its examples, beside MM-Vet's Table 8."""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.benchmarks.mm_vet import V1, prompt_digest, with_examples
from scoring.people.published import PAPER_EXAMPLES
from scoring.report import Grade, Question, Report, Row, audit
from tests.support.commands import Command
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.openai_server import Body, OpenAIServer

MARKED = {f"v{number}": number % 8 / 10 for number in range(24)}
"""Answers with people's marks; the report has one more, which nobody marked."""


def examples_in(body: Body) -> int:
    text = str(body["messages"][0]["content"])
    return len(re.findall(r"^(?:What is x|Can you explain this meme).*\| [01]\.\d$", text, re.M))


def kinder(body: Body, sample: int) -> str:
    """A judge that gives 0.3 more without examples, and 0.02 more with seven."""
    (worth,) = re.findall(r"worth 0\.\d of \w+", str(body["messages"][-1]["content"]))[-1:]
    mark = float(worth.split()[1])
    return f"{mark + 0.3 - 0.04 * examples_in(body):.2f}"


def graded(judge: OpenAIServer) -> int:
    """Calls but those that find out what the judge takes."""
    return sum("worth" in str(body) for body in judge.counts.bodies)


@pytest.fixture
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer(score=kinder, trial="1") as server:
        yield server


@pytest.fixture
def command(tmp_path) -> Command:
    (tmp_path / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    return Command(tmp_path, JUDGE_PRICES=str(tmp_path / "prices.csv"))


def written(folder: Path, protocol: str = "paper") -> tuple[Path, Path]:
    """An audit and people's marks."""
    rows = [
        Row(
            Question(id, f"What is {id}?", "cat", ("rec",)),
            f"worth {mark} of {id}",
            (Grade(id, 0, mark),),
        )
        for id, mark in {**MARKED, "v99": 0.5}.items()
    ]
    made: Report = replace(mm_vet_report(), rows=tuple(rows), protocol=protocol)
    (folder / "m-audit.jsonl").write_bytes(audit(made))
    marks = [("item", "marker", "score"), *((id, "anna", mark) for id, mark in MARKED.items())]
    with (folder / "marks.csv").open("w", newline="") as file:
        csv.writer(file).writerows(marks)
    return folder / "m-audit.jsonl", folder / "marks.csv"


@pytest.mark.parametrize("protocol", ["paper", "hardened"])
def test_delta_is_told_for_each_subset_with_the_papers_beside_it(
    command, judge, tmp_path, protocol
):
    file, marks = written(tmp_path, protocol)
    words = ("calibrate", file, "--marks", marks, "--examples", "0,2,4,7")
    words += ("--judge", "test-judge", "--base-url", judge.address)
    assert command.run(*words, answer="y\nn\n").code == 3, "the price is told, and refused"
    assert graded(judge) == 0
    done = command.run(*words, "--yes", "--out", tmp_path / "t.csv")
    assert done.code == 0, done.err
    assert f"24 marked answers, {protocol} protocol, one run with 0, 2, 4, 7 examples" in done.out
    assert re.search(r"96 calls to test-judge .* This costs about \$[\d.]+ by the prices", done.out)
    assert graded(judge) == 96
    rows = list(csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8")))
    assert [row["examples"] for row in rows] == [
        "none",
        "(1) (5)",
        "(1) (2) (3) (5)",
        "(1) (2) (3) (4) (5) (6) (7)",
    ]
    deltas = [round(float(row["delta"]), 4) for row in rows]
    assert deltas == [0.3, 0.22, 0.14, 0.02]
    assert all(float(row["delta_low"]) <= float(row["delta"]) for row in rows)
    assert [float(row["paper"]) for row in rows] == [0.0630, 0.0625, 0.0619, 0.0423]
    assert len({row["prompt"] for row in rows}) == 4
    assert prompt_digest(protocol).startswith(rows[-1]["prompt"]), "all seven are the prompt itself"
    assert "another judge, other answers and other people's marks" in done.out
    again = command.run(*words, "--yes")
    assert "0 calls to test-judge" in again.out and graded(judge) == 96


def test_what_cannot_be_measured_is_refused_before_anything_is_asked(command, judge, tmp_path):
    file, marks = written(tmp_path)
    asked = ("--judge", "test-judge", "--base-url", judge.address, "--yes")
    few = tmp_path / "few.csv"
    few.write_text("item,marker,score\nv1,anna,0.1\nv2,anna,0.2\n")
    for words, told in (
        ((file, "--marks", marks, "--examples", "0,3", *asked), "Use one or more of 0, 2, 4"),
        ((file, "--marks", marks, "--examples", "0,0", *asked), "each once"),
        ((file, "--examples", "0,7", *asked), "Give one -audit.jsonl, --marks FILE"),
        ((file, "--marks", marks, "--examples", "0,7"), "--marks FILE and --judge MODEL."),
        ((file, "--marks", marks, *asked), "--examples needs one report, its marks and a judge."),
        ((file, "--marks", few, "--examples", "0,7", *asked), "The judge wasn't asked."),
    ):
        done = command.run("calibrate", *words)
        assert done.code == 2 and told in done.err, (words, done.err)
    assert judge.counts.calls == 0


def test_nothing_but_the_examples_leaves_the_prompt():
    assert with_examples(V1, range(1, 8)) == V1
    for kept in PAPER_EXAMPLES:
        cut = with_examples(V1, kept)
        for whole, part in ((V1.paper, cut.paper), (V1.hardened, cut.hardened)):
            lines = whole.splitlines()
            first = lines.index("--- | --- | --- | ---") + 1
            left = [lines[first + number - 1] for number in kept]
            assert part.splitlines() == [*lines[:first], *left, *lines[first + 7 :]]
        assert (cut.again, cut.row) == (V1.again, V1.row)
