"""`errors`: a draw to be labelled, the shares of labels, two models beside each other, the exam."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from scoring.__main__ import main
from scoring.judges import run as judging
from scoring.people.published import error_cases
from scoring.report import audit, read_audit
from tests.support.commands import Command
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.openai_server import Body, OpenAIServer
from tests.support.scoring_page import mmbench_rows, write_csv


@pytest.fixture
def outputs(tmp_path) -> Path:
    """A file of MMBench outputs with wrong answers."""
    return write_csv(tmp_path / "model.csv", [{**row, "prediction": "D"} for row in mmbench_rows()])


def drawn(outputs: Path, tmp_path: Path, k: int = 5) -> tuple[Path, list[dict[str, str]]]:
    path = tmp_path / "drawn.csv"
    assert main(["errors", "draw", str(outputs), "--out", str(path), "--k", str(k)]) == 0
    with path.open(encoding="utf-8") as file:
        return path, list(csv.DictReader(file))


def test_what_is_drawn_is_labelled_and_gives_shares(outputs, tmp_path, capsys):
    path, rows = drawn(outputs, tmp_path)
    assert len(rows) > 5 and set(Counter(row["group"] for row in rows).values()) <= {1, 2}
    assert all(
        row["answer"] == "D" and float(row["chance"]) == 1 and row["main"] == "" for row in rows
    )
    for place, row in enumerate(rows):
        row["main"] = "reasoning" if place % 3 else "perception"
    rows[0] |= {"main": "annotation", "note": "two are right"}
    capsys.readouterr()
    doubted = tmp_path / "doubted.csv"
    labels = write_csv(path, [*rows, {**rows[0], "labeller": "bea"}, {**rows[0], "item": "999"}])
    assert main(["errors", "shares", str(labels), str(outputs), "--doubted", str(doubted)]) == 0
    told = capsys.readouterr().out
    assert "left out: it isn't one of this file's wrong answers" in told
    assert f"{len(rows)} of {len(rows)} wrong answers are labelled" in told
    assert "GPT-4V" in told and " 51.0%  " in told
    assert "Score " in told and "1 doubted questions" in told
    assert "\nThe question is wrong\n" in told, "its alpha is undefined"
    assert "1 of 1 pair of labels have a kind in common" in told
    assert "two are right" in doubted.read_text("utf-8")


def test_two_models_are_set_beside_each_other(outputs, tmp_path, capsys):
    path, rows = drawn(outputs, tmp_path)
    first = write_csv(tmp_path / "a.csv", [{**row, "main": "perception"} for row in rows])
    second = write_csv(tmp_path / "b.csv", [{**row, "main": "reasoning"} for row in rows])
    capsys.readouterr()
    assert main(["errors", "compare", str(first), str(outputs), str(second), str(outputs)]) == 0
    told = capsys.readouterr().out
    assert f"model.csv against model.csv, on {len(rows)} common errors" in told
    assert f"Bowker's test of symmetry: {len(rows)}.00, 1 degrees of freedom" in told
    assert "Perception error " in told and "Holm" in told


def test_a_judge_sits_the_exam_of_the_papers_cases(tmp_path, capsys):
    rows = [
        {"figure": figure, "model": model, "main": "perception"}
        for (figure, model), kind in error_cases().items()
        if kind
    ]
    assert main(["errors", "exam", str(write_csv(tmp_path / "judge.csv", rows))]) == 0
    told = capsys.readouterr().out
    assert told.splitlines() == [
        "43 of 66 right (65%), kappa 0.000",
        "By always naming the most common kind: 43 (65%)",
    ]
    wrong = write_csv(
        tmp_path / "wrong.csv", [*rows, {"figure": "A99", "model": "GPT-4V", "main": "refuse"}]
    )
    assert main(["errors", "exam", str(wrong)]) == 2
    assert "Use figure A5 to A36" in capsys.readouterr().err


def test_a_file_without_the_columns_ends_with_a_sentence(outputs, tmp_path, capsys):
    labels = write_csv(tmp_path / "labels.csv", [{"question": "1", "kind": "refuse"}])
    assert main(["errors", "shares", str(labels), str(outputs)]) == 2
    assert "row 2, column 'item': Expected this column, found 'question'" in capsys.readouterr().err


MODEL = "gpt-4.1-mini"


def kind_of(body: Body, sample: int) -> str:
    """A judge's reply: reasoning where it is shown a picture, in words around the JSON, else none."""
    *_, last = body["messages"]
    seen = isinstance(last["content"], list) and any(
        part["type"] == "image_url" for part in last["content"]
    )
    said = {
        "main": "reasoning",
        "further": ["perception"],
        "evidence": "It counts, and counts wrongly.",
    }
    return f"Here it is: {json.dumps(said)}" if seen else "I see nothing."


@pytest.fixture
def command(tmp_path, monkeypatch) -> Iterator[Command]:
    monkeypatch.setattr(judging, "RESERVE_SECONDS", 0.02)
    with OpenAIServer(kind_of, models=(MODEL,)) as server:
        yield Command(tmp_path, JUDGE_URL=server.address)


def test_a_judge_that_sees_the_pictures_proposes_kinds_which_are_no_labels(
    command, outputs, tmp_path
):
    path, rows = drawn(outputs, tmp_path, 1000)
    pictures, proposals = tmp_path / "pictures", tmp_path / "proposals.csv"
    pictures.mkdir()
    for shade, row in enumerate(rows[1:]):
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(pictures / f"{row['item']}.png")
    ask = ("errors", "propose", outputs, "--judge", MODEL, "--out", proposals, "--images", pictures)
    assert command.run(*ask, answer="n\n").code == 3, "nothing is sent that was not agreed to"
    done = command.run(*ask, "--drawn", path, "--yes")
    assert done.code == 0, done.err
    assert f"{len(rows) - 1} calls to {MODEL}" in done.out
    assert f"{len(rows) - 1} of {len(rows)} wrong answers have a proposal, 0 by rules" in done.out
    assert (
        "1 have no picture here. Without it, perception and reasoning can't be told apart."
        in done.out
    )
    labelled = [
        {**row, "main": "reasoning" if place % 2 else "refuse"} for place, row in enumerate(rows)
    ]
    labels = write_csv(tmp_path / "labels.csv", labelled)
    told = command.run("errors", "shares", labels, outputs, "--proposals", proposals).out
    same = len(rows) // 2
    assert (
        f"Proposals: {len(rows) - 1} of {len(rows)} wrong answers; {len(rows) - 1} have labels too"
        in told
    )
    assert f"The same kind: {same} of {len(rows) - 1}; Cohen's kappa 0.000" in told
    heads = re.search("People's kind .*", told)[0].split()
    refused = re.search("Refuse to answer  .*(?=\n(?:.*\n){3}The same kind)", told)[0].split()
    assert refused[-8:][heads.index("reasoning") - 2] == str(len(rows) - 1 - same)
    assert "Corrected shares need 50 answers with a label and a proposal" in told
    mixed = command.run("errors", "shares", proposals, outputs)
    assert (
        mixed.code == 2
        and "These are proposals, with a column proposed_by, not people's labels." in mixed.err
    )
    other = command.run("errors", "shares", labels, outputs, "--proposals", labels)
    assert other.code == 2 and "There is no column proposed_by." in other.err


def test_errors_of_a_judged_report_are_labelled_out_of_its_audit(tmp_path, capsys):
    report, path = mm_vet_report(), tmp_path / "model-audit.jsonl"
    path.write_bytes(audit(report))
    assert read_audit(path) == replace(report, judge=report.judge.public)
    wrong = sum(
        grade.score is not None and grade.score <= 0.5
        for row in report.rows
        for grade in row.grades
    )
    file, rows = drawn(path, tmp_path, 1000)
    assert wrong == len(rows) and {row["group"] for row in rows} == {"Recognition"}
    labels = write_csv(file, [{**row, "main": "knowledge"} for row in rows])
    capsys.readouterr()
    assert main(["errors", "shares", str(labels), str(path)]) == 0
    assert f"{wrong} of {wrong} wrong answers are labelled" in capsys.readouterr().out
    for broken in ("{}\n", "[" * 10_000, audit(replace(report, benchmark="mmbench")).decode()):
        path.write_text(broken)
        assert main(["errors", "shares", str(labels), str(path)]) == 2
        assert "This isn't the -audit.jsonl of a judged MM-Vet report" in capsys.readouterr().err


def test_labels_of_a_draw_are_not_drawn_over(outputs, tmp_path, capsys):
    path, _ = drawn(outputs, tmp_path)
    path.write_text("people's work")
    assert main(["errors", "draw", str(outputs), "--out", str(path)]) == 2
    assert (
        "drawn.csv: This file exists" in capsys.readouterr().err
        and path.read_text() == "people's work"
    )


@pytest.mark.parametrize("name", ["../secret/s", "{}/secret/s", "a/../../secret/s", "\0"])
@pytest.mark.parametrize("named_by", ["id", "image"])
def test_no_file_outside_the_folder_of_pictures_is_sent(command, tmp_path, name, named_by):
    report, path, name = mm_vet_report(), tmp_path / "model-audit.jsonl", name.format(tmp_path)
    for folder in ("secret", "pictures/a"):
        (tmp_path / folder).mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "secret" / "s.png")
    row = report.rows[0]
    question = replace(row.question, **{named_by: name if named_by == "id" else f"{name}.png"})
    path.write_bytes(audit(replace(report, rows=(replace(row, question=question),))))
    ask = ("errors", "propose", path, "--judge", MODEL, "--out", tmp_path / "p.csv", "--yes")
    done = command.run(*ask, "--images", tmp_path / "pictures")
    assert "calls to" not in done.out or "0 calls to" in done.out
    assert done.code == 2 or name == "\0"
    assert ("would be outside" in done.err) == (name != "\0")


def test_a_few_answers_are_judged_within_what_was_quoted(command, outputs, tmp_path):
    """One call at worst costs more than three times all are likely to: it is left until the last."""
    path, rows = drawn(outputs, tmp_path, 1)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for shade, row in enumerate(rows):
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(pictures / f"{row['item']}.png")
    ask = (
        "errors",
        "propose",
        outputs,
        "--judge",
        MODEL,
        "--out",
        tmp_path / "p.csv",
        "--images",
        pictures,
        "--yes",
    )
    done = command.run(*ask, "--drawn", path)
    assert (
        done.code == 0 and f"{len(rows)} of {len(rows)} wrong answers have a proposal" in done.out
    ), done.err
    assert len(rows) > 2


def test_a_draw_of_another_file_and_a_judge_that_sees_nothing_are_told(outputs, tmp_path):
    path, rows = drawn(outputs, tmp_path)
    Image.new("RGB", (8, 8)).save(tmp_path / f"{rows[0]['item']}.png")
    ask = (
        "errors",
        "propose",
        outputs,
        "--judge",
        MODEL,
        "--out",
        tmp_path / "p.csv",
        "--images",
        tmp_path,
        "--yes",
    )
    with OpenAIServer(lambda *_: "I see no picture.", models=(MODEL,)) as server:
        command = Command(tmp_path, JUDGE_URL=server.address)
        other = write_csv(tmp_path / "other.csv", [rows[0], {**rows[1], "item": "999"}])
        done = command.run(*ask, "--drawn", other, "--budget", "1")
        assert (
            done.code == 0
            and "other.csv: 1 of its 2 items are no wrong answers of model.csv" in done.out
        )
        assert f"No reply from {MODEL} named a kind. Choose a model that sees pictures." in done.out
        wrong = command.run(*ask, "--drawn", write_csv(tmp_path / "wrong.csv", [{"id": "1"}]))
        over = command.run(*ask, "--drawn", path, "--out", path)
    assert wrong.code == 2 and "column 'item': Expected this column" in wrong.err
    assert (
        over.code == 2 and "This command reads" in over.err and "group" in path.read_text("utf-8")
    )
