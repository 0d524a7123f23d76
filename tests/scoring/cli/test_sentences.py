"""What commands say of files that they cannot use: which file, what was expected, and how to mend it."""

import json
from pathlib import Path

import pytest

from scoring.benchmarks.mm_vet_questions import own_sample
from tests.support.commands import Done, run
from tests.support.scoring_page import mmbench_rows, write_csv


@pytest.fixture
def say(tmp_path, monkeypatch):
    """Run a command in a folder of files of a stranger; what it said stands on one line."""
    monkeypatch.chdir(tmp_path)
    rows = mmbench_rows()
    write_csv(Path("choices.csv"), rows)
    write_csv(
        Path("hidden.csv"),
        [{name: cell for name, cell in row.items() if name != "answer"} for row in rows],
    )
    write_csv(Path("own.csv"), [{"index": "1", "question": "q", "answer": "a", "prediction": "a"}])
    write_csv(Path("bare.csv"), [{"index": "1", "question": "q"}])
    toolkit = {
        "index": "0",
        "question": "q",
        "answer": "x <AND> y",
        "prediction": "x",
        "category": "ocr,math",
    }
    write_csv(Path("toolkit.csv"), [toolkit])
    write_csv(Path("v2.csv"), [{**toolkit, "index": "v2_0", "category": "ocr,seq"}])
    write_csv(Path("labels.csv"), [{"item": "1", "main": ""}])
    Path("v1.json").write_text(json.dumps({"v1_0": {"question": "q", "answer": "a"}}))
    Path("v2.json").write_text(json.dumps({"v2_0": {"question": "q", "answer": "a"}}))
    ids = [question.id for question in own_sample().questions]
    grade = {"model": ["j"], "content": ["0.5"], "score": [0.5]}
    Path("few-grade-1runs.json").write_text(json.dumps(dict.fromkeys(ids[1:], grade)))

    def said(*words: str) -> Done:
        done = run("scoring", *words, environ={"DATA_DIR": str(tmp_path / "data")})
        assert "Traceback" not in done.err
        return done._replace(err=" ".join(done.err.replace("│", " ").split()))

    return said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "vqa choices.csv --no-judge --out o",
            "choices.csv: expected the columns question, answer and prediction, found options as of mmbench; "
            "score it with python -m scoring mmbench",
        ),
        (
            "vqa choices.csv --dataset GQA --no-judge --out o",
            "and 43 more: expected a question without options, found multiple choice; choose its benchmark",
        ),
        (
            "vqa own.csv --no-judge --out o",
            "own.csv: found question, answer and prediction, as several benchmarks have. Only if it is one of these, "
            "say which: --dataset GQA or OK-VQA or TextVQA; short answers of other data sets, such as OCR-VQA or "
            "DocVQA, are not scored here. Multiple choice needs a column for each option: A, B, ...",
        ),
        (
            "score own.csv --no-judge --out o",
            "own.csv: found question, answer and prediction, as several benchmarks have. Only if it is one of these, "
            "say which: --benchmark GQA or OK-VQA or TextVQA; short answers of other data sets, such as OCR-VQA or "
            "DocVQA, are not scored here. Multiple choice needs a column for each option: A, B, ...",
        ),
        (
            "score bare.csv --no-judge --out o",
            "bare.csv: expected the columns question, answer and prediction, for multiple choice also A, B, ... with "
            "the options, found 'index', 'question'; add what is missing, or give it with --questions to",
        ),
        (
            "score toolkit.csv --no-judge --out o",
            "toolkit.csv: found a table of MM-Vet; score it with python -m scorin",
        ),
        (
            "vqa toolkit.csv --no-judge --out o",
            "found a table of MM-Vet; score it with python -m scoring mm-vet",
        ),
        (
            "vqa v2.csv --no-judge --out o",
            "found a table of MM-Vet; score it with python -m scoring mm-vet-v2",
        ),
        ("mm-vet-v2 v2.json --sample --judge j --out o", "score it with python -m scoring mm-vet"),
        ("mm-vet . --sample --out o", "'.' is a directory"),
        ("score . --no-judge --out o", ".: is a folder; choose a file in it"),
        ("agreement . --out o", ".: is a folder; choose a file in it"),
        (
            "mmbench choices.csv --questions . --no-judge --out o",
            ".: is a folder; choose a file in it",
        ),
        (
            "mm-vet v1.json --questions none --judge j --out o",
            "none is not there; correct --questions, or set MM_VET",
        ),
        (
            "mm-vet-v2 v1.json --questions . --judge j --out o",
            "mm-vet-v2.json is not there; correct --questions, or",
        ),
        (
            "mm-vet-v2 v2.json --questions v1.json --judge j --out o",
            "v1.json: holds questions of the other edition (ids v1_...); give it to mm-vet",
        ),
        (
            "mm-vet v1.json --questions v2.json --judge j --out o",
            "v2.json: holds questions of the other edition (ids v2_...); give it to mm-vet-v2",
        ),
        (
            "mm-vet v1.json --sample --questions v1.json --judge j --out o",
            "--sample has questions of its own",
        ),
        (
            "errors shares labels.csv choices.csv",
            "labels.csv: expected a kind in the column main of one row or more",
        ),
        (
            "errors compare labels.csv choices.csv labels.csv choices.csv",
            "labels.csv: expected a kind in the column",
        ),
        (
            "errors draw hidden.csv --out d.csv",
            "hidden.csv: has no answer that could be scored; give one with right",
        ),
        (
            "errors shares labels.csv hidden.csv",
            "hidden.csv: has no answer that could be scored; give one with right",
        ),
    ],
)
def test_a_refusal_names_the_file_what_was_expected_and_the_mend(say, words, told):
    done = say(*words.split())
    assert done.code == 2 and told in done.err, done
    assert not Path("o").exists() and not Path("d.csv").exists()


def test_letters_stand_beside_right_ones_only_where_these_are_known(say):
    known, hidden = (
        say("mmbench", f"{name}.csv", "--no-judge", "--out", name).out
        for name in ("choices", "hidden")
    )
    assert "Predicted  Share  Right  Share" in known
    assert "25.5%" in hidden and "Right" not in hidden


def test_questions_without_an_answer_are_called_unscored_where_the_score_is_told(say):
    done = say("mm-vet", "few-grade-1runs.json", "--sample", "--missing", "unscored", "--out", "o")
    assert (
        done.code == 0
        and "PARTIAL: 1 of 16 questions has no prediction: own_0; unscored" in done.out
    )
