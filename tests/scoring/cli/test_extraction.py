"""`extraction`: open answers are drawn, people say what they mean, and extractors are held against them."""

import csv
from pathlib import Path

import pytest

from scoring.multiple_choice.downloads import audit_lines
from scoring.people.readings import NO_OPTION
from tests.support.choice_tables import ChoiceCommand
from tests.support.circular_passes import row
from tests.support.open_answers import JUDGE, open_report
from tests.support.scoring_page import write_csv


@pytest.fixture
def command(tmp_path) -> ChoiceCommand:
    return ChoiceCommand(tmp_path)


REPORT = open_report({}, answers=6)
"""Six answers that rules leave open, of which a judge read each as B, and one that rules read."""


@pytest.fixture
def outputs(tmp_path) -> Path:
    """The answers as a model's file."""
    rows = [row(one.question.index, one.prediction) for one in REPORT.rows]
    return write_csv(tmp_path / "model.csv", rows)


def drawn(
    command: ChoiceCommand, outputs: Path, *words: object
) -> tuple[Path, list[dict[str, str]]]:
    path = outputs.with_name("drawn.csv")
    done = command.run("extraction", "draw", outputs, *words, "--out", path)
    assert done.code == 0, done.err
    with path.open(encoding="utf-8-sig") as file:
        return path, list(csv.DictReader(file))


def test_people_are_set_beside_a_judge_and_beside_rules(command, outputs, tmp_path):
    path, rows = drawn(command, outputs)
    assert sorted(row["item"] for row in rows) == [*"012345"]
    assert {row["options"] for row in rows} == {"A. dog\nB. cat\nC. bird\nD. fish"}
    assert {row["option"] for row in rows} == {""} and "right" not in rows[0]
    judged = tmp_path / "judged" / "model-audit.jsonl"
    judged.parent.mkdir()
    judged.write_text("".join(audit_lines(REPORT.rows)), "utf-8")
    assert command("score", outputs, "--no-judge").code == 0
    meant = dict(zip("012345", ["B", "b", "B", "C", NO_OPTION, ""], strict=True))
    filled = [{**row, "option": meant[row["item"]], "reader": "ann"} for row in rows]
    again = {**filled[0], "reader": "bob", "option": "Q?"}
    absent = {**filled[0], "reader": "cem", "option": "E"}
    readings = write_csv(path, [*filled, again, absent])
    apart = tmp_path / "apart.csv"
    rules = command.out.glob("*-audit.jsonl")
    done = command.run("extraction", "align", readings, judged, *rules, "--out", apart)
    assert done.code == 0, done.err
    assert "expected an option's letter, or none" in done.out
    assert "its question has no option E" in done.out
    assert "1 person read 5 answers" in done.out
    told, unread = (
        next(line for line in done.out.splitlines() if line.startswith(name))
        for name in (JUDGE, "rules only")
    )
    assert "60.0%" in told and told.split()[-1] == "0", "three of five, and one of each case"
    assert told.count("20.0%") == 2 and unread.split()[-1] == "5"
    assert (
        "MMBench: ChatGPT (gpt-3.5-turbo-0613)  8 models    376" in done.out and "87.0%" in done.out
    )
    with apart.open(encoding="utf-8-sig") as file:
        assert {
            (one["item"], one["case"], one["people"], one["chosen"]) for one in csv.DictReader(file)
        } == {
            ("3", "II", "C", "B"),
            ("4", "I", "none", "B"),
        }


def test_as_many_are_drawn_as_asked_of_what_a_protocol_leaves_open(command, outputs):
    _, rows = drawn(command, outputs, "--n", 3, "--protocol", "mmbench-paper")
    assert len(rows) == 3
    done = command.run("extraction", "draw", outputs, "--out", outputs.with_name("drawn.csv"))
    assert done.code == 2 and "This file exists" in done.err


def test_what_cannot_be_used_is_said(command, outputs, tmp_path):
    out = tmp_path / "x.csv"
    for words, told in {
        ("--protocol", "none-such"): "isn't a protocol here",
        ("--n", "0"): "--n",
    }.items():
        done = command.run("extraction", "draw", outputs, *words, "--out", out)
        assert done.code == 2 and told in done.err
    answers = tmp_path / "answers.json"
    answers.write_text('{"v1_0": "a cat"}', "utf-8")
    done = command.run("extraction", "draw", answers, "--out", out)
    assert (
        done.code == 2 and "These aren't multiple-choice outputs" in done.err and not out.exists()
    )
    assert command("score", outputs, "--no-judge").code == 0
    (audit,) = command.out.glob("*-audit.jsonl")
    for rows, told in (
        ([{"item": "0", "option": "A"}], "answer_sha256"),
        ([{"item": "0", "answer_sha256": "0", "option": "A"}], "one of the answers"),
        ([{"item": "0", "answer_sha256": "0", "option": ""}], "It has no usable readings"),
    ):
        done = command.run("extraction", "align", write_csv(tmp_path / "r.csv", rows), audit)
        assert done.code == 2 and told in done.out + done.err, rows
    done = command.run("extraction", "align", write_csv(tmp_path / "r.csv", rows), answers)
    assert done.code == 2 and "This isn't a report's -audit.jsonl" in done.err
