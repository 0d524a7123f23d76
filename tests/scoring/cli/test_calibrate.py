"""`calibrate`: judges beside people, from files; what a row of marks has wrong is named, and loses nothing else."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.report import Grade, Question, Row, audit
from tests.support.mm_vet_reports import mm_vet_report

N = 40
CAPABILITIES = ("rec", "ocr")


def written(path: Path, judge: str, scores: dict[str, float | None]) -> Path:
    """The audit of a judged report of made-up questions."""
    made = mm_vet_report()
    rows = []
    for item, score in scores.items():
        question = Question(
            item, f"What is {item}?", "cat<AND>dog", (CAPABILITIES[int(item[1:]) % 2],)
        )
        rows.append(Row(question, f"a cat, {item}", (Grade(item, 0, score),)))
    stamp = replace(made.judge, model=judge)
    path.write_bytes(audit(replace(made, protocol="hardened", judge=stamp, rows=tuple(rows))))
    return path


def table(
    path: Path, rows: list[tuple], columns: tuple[str, ...] = ("item", "marker", "score")
) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def judged(tmp_path) -> tuple[list[Path], dict[str, float]]:
    """A near judge and a far one, and the truth."""
    coin = np.random.default_rng(1)
    truth = {f"v{number}": int(coin.integers(0, 11)) / 10 for number in range(N)}
    near = {
        item: round(min(1, mark + 0.1), 1) if place % 8 == 0 else mark
        for place, (item, mark) in enumerate(truth.items())
    }
    far = {item: float(coin.integers(0, 11)) / 10 for item in truth}
    return [
        written(tmp_path / "far.jsonl", "far", dict(far)),
        written(tmp_path / "near.jsonl", "near", dict(near)),
    ], truth


def test_the_nearest_judge_stands_first_with_people_and_rules_beside(judged, tmp_path, capsys):
    files, truth = judged
    rows = [(item, "anna", mark) for item, mark in truth.items()]
    rows += [(item, "berta", mark) for item, mark in list(truth.items())[:10]]
    rows += [("v999", "berta", 1)]
    assert (
        main(
            [
                "calibrate",
                *map(str, files),
                "--marks",
                str(table(tmp_path / "m.csv", rows)),
                "--out",
                str(tmp_path / "t.csv"),
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8")))
    found = {
        row["measured"]: row for row in rows if row["beside"] == "people" and not row["capability"]
    }
    assert list(found)[0] == "near, hardened protocol" and "far, hardened protocol" in found
    assert (
        0
        < float(found["near, hardened protocol"]["delta"])
        <= 0.02
        < float(found["far, hardened protocol"]["delta"])
    )
    assert float(found["people, compared with each other"]["delta"]) == 0
    rules = ("keywords", "the mean mark for all", "length")
    assert {f"without a judge: {rule}" for rule in rules} <= set(found)
    assert {row["capability"] for row in rows} == {"", "Recognition", "OCR"}
    assert f"row {N + 12} left out: no such answer was judged" in told
    assert (
        f"{N} of {N} answers are marked." in told
        and "There's no interval if every answer is marked." in told
        and "Table 7" in told
    )


def test_from_few_marks_nothing_is_ranked(judged, tmp_path, capsys):
    files, truth = judged
    rows = [(item, "anna", mark) for item, mark in list(truth.items())[:12]]
    assert (
        main(["calibrate", *map(str, files), "--marks", str(table(tmp_path / "m.csv", rows))]) == 0
    )
    told = capsys.readouterr().out
    assert "Judges are ranked from 30 marked answers on." in told
    assert told.index("far, hardened protocol") < told.index("near, hardened protocol"), (
        "as they were given"
    )


def test_an_unscored_answer_is_no_zero(tmp_path, capsys):
    truth = {f"v{number}": 1.0 for number in range(8)}
    file = written(
        tmp_path / "a.jsonl", "judge", {item: None if item == "v3" else 1.0 for item in truth}
    )
    rows = [(item, "anna", mark) for item, mark in truth.items()]
    assert (
        main(
            [
                "calibrate",
                str(file),
                "--marks",
                str(table(tmp_path / "m.csv", rows)),
                "--out",
                str(tmp_path / "t.csv"),
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert (
        "Unscored: marked answers without a score. They count nowhere." in told
        and "There's no mean with fewer than 5 marks, or if an answer has no score." in told
    )
    assert (
        float(next(csv.DictReader((tmp_path / "t.csv").read_text("utf-8").splitlines()))["delta"])
        == 0
    )


@pytest.mark.parametrize(
    ("marks", "judge", "told"),
    [
        (
            [("v1", "anna", 1), ("v2", "anna", 1)],
            None,
            "3 marked answers that every judge scored, and has 2",
        ),
        ([("v1", "anna", 1)], "[1, 2]\n", "This isn't the -audit.jsonl of a judged MM-Vet report"),
    ],
)
def test_what_cannot_be_measured_ends_with_a_sentence(judged, tmp_path, capsys, marks, judge, told):
    files, _ = judged
    if judge:
        files[0].write_text(judge, "utf-8")
    assert (
        main(["calibrate", *map(str, files), "--marks", str(table(tmp_path / "m.csv", marks))]) != 0
    )
    shown = capsys.readouterr()
    assert told in shown.err + shown.out and "Traceback" not in shown.err


def test_judges_are_set_beside_each_other_without_marks(judged, capsys):
    files, _ = judged
    assert main(["calibrate", *map(str, files)]) == 0
    told = capsys.readouterr().out
    assert "No marks: judge beside judge" in told
    assert told.splitlines()[-2].startswith("far, hardened protocol  near, hardened protocol  ")
    assert main(["calibrate", str(files[0])]) == 2
    assert (
        "There is one judge and nothing to compare it with. Add --marks FILE"
        in capsys.readouterr().err
    )


def test_a_judge_that_has_changed_is_seen_beside_itself(tmp_path, capsys):
    before = {f"v{number}": number % 10 / 10 for number in range(N)}
    after = {item: score + 0.1 for item, score in before.items()}
    files = []
    for month, scores in (("may", before), ("june", before | {"v0": 0.1}), ("july", after)):
        (tmp_path / month).mkdir()
        files.append(written(tmp_path / month / "audit.jsonl", "judge", dict(scores)))
    table = tmp_path / "table.csv"
    assert main(["calibrate", *map(str, files), "--out", str(table)]) == 0
    capsys.readouterr()
    rows = csv.DictReader(table.read_text("utf-8").splitlines())
    pairs = {f"{row['measured']} beside {row['beside']}": row for row in rows}
    may, june, july = (f"judge, hardened protocol ({file})" for file in files)
    assert list(pairs) == [f"{may} beside {june}", f"{may} beside {july}", f"{june} beside {july}"]
    assert float(pairs[f"{may} beside {june}"]["bias"]) == pytest.approx(-0.0025, abs=0.001)
    assert float(pairs[f"{may} beside {july}"]["bias"]) == pytest.approx(-0.1)
    assert float(pairs[f"{may} beside {july}"]["delta"]) == pytest.approx(0.1)


def test_a_judges_report_is_given_once(judged, capsys):
    (far, near), _ = judged
    assert main(["calibrate", str(far), str(near), str(far)]) == 2
    assert (
        "far.jsonl: This is the same file as far.jsonl. Give each file once"
        in capsys.readouterr().err
    )


def test_marks_without_a_column_of_who_marked_are_refused(judged, tmp_path, capsys):
    files, _ = judged
    marks = table(tmp_path / "m.csv", [("v1", 1)], ("item", "score"))
    assert main(["calibrate", *map(str, files), "--marks", str(marks)]) == 2
    assert (
        "m.csv, row 2, column 'marker': Expected this column, found 'item', 'score'. Rename or add"
        in capsys.readouterr().err
    )
