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
            "score own.csv --no-judge --out o",
            "own.csv: Several benchmarks have the columns question, answer and prediction, and the file's name fits "
            "none. Choose the benchmark with --benchmark, such as gqa or docvqa. For multiple choice, add the options "
            "as columns A, B, ...",
        ),
        (
            "score bare.csv --no-judge --out o",
            "bare.csv: The file has the columns 'index', 'question'. It needs question, answer and prediction, and "
            "for multiple choice also A, B, ... with the options. Add what is missing, or give the question file",
        ),
        ("score toolkit.csv --out o", "MM-Vet's questions aren't here. Give --questions, or set"),
        ("score v2.csv --out o", "MM-Vet v2's questions aren't here. Give --questions, or set"),
        (
            "score v2.json --benchmark mm-vet-v2 -o sample=true --judge j --out o",
            "-o sample is only for MM-Vet's first edition. Use --benchmark mm-vet.",
        ),
        (
            "score . --benchmark mm-vet -o sample=true --out o",
            ".: This is a folder. Choose a file in",
        ),
        ("score . --no-judge --out o", ".: This is a folder. Choose a file in it"),
        ("agreement . --out o", ".: This is a folder. Choose a file in it"),
        (
            "score choices.csv --questions . --no-judge --out o",
            ".: This is a folder. Choose a file in it",
        ),
        (
            "score v1.json --questions none --judge j --out o",
            "none doesn't exist. Correct --questions or MM_VET",
        ),
        (
            "score v1.json --benchmark mm-vet-v2 --questions . --judge j --out o",
            "mm-vet-v2.json doesn't exist. Correct --questions or",
        ),
        (
            "score v2.json --questions v1.json --judge j --out o",
            "v1.json: The ids begin with v1_, as in the other edition. Use --benchmark mm-vet.",
        ),
        (
            "score v1.json --questions v2.json --judge j --out o",
            "v2.json: The ids begin with v2_, as in the other edition. Use --benchmark mm-vet-v2.",
        ),
        (
            "score v1.json -o sample=true --questions v1.json --judge j --out o",
            "-o sample has its own questions",
        ),
        (
            "errors shares labels.csv choices.csv",
            "labels.csv: It has no usable labels. Write",
        ),
        (
            "errors compare labels.csv choices.csv labels.csv choices.csv",
            "labels.csv: It has no usable labels",
        ),
        (
            "errors draw hidden.csv --out d.csv",
            "hidden.csv: None of its answers can be scored. Choose a file with right",
        ),
        (
            "errors shares labels.csv hidden.csv",
            "hidden.csv: None of its answers can be scored. Choose a file with right",
        ),
    ],
)
def test_a_refusal_names_the_file_what_was_expected_and_the_mend(say, words, told):
    done = say(*words.split())
    assert done.code == 2 and told in done.err, done
    assert not Path("o").exists() and not Path("d.csv").exists()


def test_letters_stand_beside_right_ones_only_where_these_are_known(say):
    known, hidden = (
        say("score", "--benchmark=mmbench", f"{name}.csv", "--no-judge", "--out", name).out
        for name in ("choices", "hidden")
    )
    assert "Predicted  Share  Right  Share" in known
    assert "25.5%" in hidden and "Right" not in hidden


def test_questions_without_an_answer_are_called_unscored_where_the_score_is_told(say):
    done = say(
        "score",
        "--benchmark=mm-vet",
        "few-grade-1runs.json",
        "-o",
        "sample=true",
        "-o",
        "missing=unscored",
        "--out",
        "o",
    )
    assert (
        done.code == 0
        and "No answer to 1 of the 16 questions, which are unscored: own_0." in done.out
    )
