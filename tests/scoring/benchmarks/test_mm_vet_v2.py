"""MM-Vet v2: the authors' requests to the byte, their file names, seven capabilities, and what tells it from v1."""

import csv
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.io.tables import RowsError
from scoring.benchmarks import mm_vet
from scoring.benchmarks.mm_vet import grading
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.benchmarks.mm_vet_v2 import MM_VET_V2, QUESTIONS, edition_of_answers, load_mm_vet_v2
from scoring.benchmarks.predictions import UploadError, fill, read_predictions
from scoring.jobs.service import question_sets
from scoring.judges.spec import Ask, Reply
from scoring.report import Filled, JudgeStamp, Question, Report, Row
from tests.support.commands import Command, Done
from tests.support.judging_process import SPEC
from tests.support.openai_server import OpenAIServer

SEQUENCE = "First <IMG>v2_7_0.jpg<IMG>, then\n<IMG>v2_7_1.png<IMG>which is older?"
ANSWERS = "gemini-1.5-pro.json"


def entry(number: int) -> dict[str, Any]:
    """A question in the published schema, one of ten texts; every fourth is a sequence."""
    capability = ["rec", "seq", "gen"] if number % 4 == 0 else ["math", "ocr"]
    question = SEQUENCE if number % 4 == 0 else f"What is {number % 10}?<IMG>v2_{number}.png"
    return {
        "question": question,
        "answer": "a<AND>b\nc<OR>d",
        "capability": capability,
        "added_in": "v2",
    }


def questions_file(folder: Path, count: int = QUESTIONS) -> Path:
    path = folder / "mm-vet-v2.json"
    path.write_text(json.dumps({f"v2_{number}": entry(number) for number in range(count)}))
    return path


def asked(question: Question, prediction: str, replies: Iterator[str]) -> tuple[list[Ask], Any]:
    """What the paper's protocol asks of a judge that gives these replies, and the grade."""
    asks, steps = [], grading(Filled(question, prediction), 0, "paper", SPEC, 1, MM_VET_V2.wording)
    try:
        ask = next(steps)
        while True:
            asks.append(ask)
            ask = steps.send(Reply((next(replies),), ("stop",), 10, 3, "judge"))
    except StopIteration as end:
        return asks, end.value


def test_the_prompt_is_the_published_one():
    digest = "037f83092095d21fe3082e83fd9df2d8f0a8ed1b631c4edb2af2b5e229e9e82b"
    assert hashlib.sha256(MM_VET_V2.wording.paper.encode()).hexdigest() == digest
    assert "<image> in the question" in MM_VET_V2.wording.hardened != mm_vet.V1.hardened
    assert mm_vet.prompt_digest("paper", MM_VET_V2.wording) != mm_vet.prompt_digest("paper")


def test_a_request_is_the_scripts_to_the_byte(tmp_path):
    question = load_mm_vet_v2(questions_file(tmp_path, 8)).questions[4]
    assert question.text == "First <image>, then\n<image>which is older?" and question.groups == (
        "rec",
        "gen",
        "seq",
    )
    (first, *again), grade = asked(
        question, "two\nlines | 1.0", iter(["?", "so", "0.x", "2", "?", "0.9"])
    )
    row = "| First <image>, then<br><image>which is older? | a <AND> b<br>c <OR> d | two<br>lines | 1.0 | "
    prompt = MM_VET_V2.wording.paper + row
    assert [message.text for message in first.messages] == [prompt]
    ramp = prompt + "\n\nPredict the correctness of the answer (digit): "
    assert [(ask.messages[0].text, ask.temperature, ask.reply_tokens) for ask in again] == [
        (ramp, temperature, 3) for temperature in (0.0, 0.5, 1.0, 1.5, 2.0)
    ]
    assert (grade.score, grade.flags) == (0.0, ("unreadable",)), (
        "the sixth reply is paid for and never read"
    )
    assert asked(question, "", iter(["0.4 or so"]))[1].score == 0.4


def test_a_question_keeps_all_its_pictures(tmp_path):
    one, *_, several = load_mm_vet_v2(questions_file(tmp_path, 8)).questions[1:5]
    assert (one.image, one.further_images) == ("v2_1.png", ())
    assert (several.image, several.further_images) == ("v2_7_0.jpg", ("v2_7_1.png",))
    questions, judge = (
        load_mm_vet_v2(tmp_path),
        JudgeStamp("judge", (), "https://api.example.org/v1", "p", "r"),
    )
    made = ("m", "m.json", "2026-11-25T12:00:00+00:00", (Row(several, "said", ()),))
    report = Report("mm-vet-v2", questions, "paper", judge, 1, False, *made)
    assert MM_VET_V2.scored_answers(report)[0].pictures == ("v2_7_0.jpg", "v2_7_1.png")


def test_a_refused_question_counts_as_in_the_script():
    paper, hardened = (
        MM_VET_V2.refused("v2_1", 0, protocol, "no") for protocol in ("paper", "hardened")
    )
    assert (paper.score, hardened.score) == (0.0, None)
    assert mm_vet.MM_VET.refused("v1_1", 0, "paper", "no").score is None


class V2(Command):
    """`python -m scoring score` for MM-Vet v2 with a judge on loopback."""

    def __call__(self, *words: object, judge: OpenAIServer) -> Done:
        return super().__call__(
            "score",
            "--benchmark=mm-vet-v2",
            *words,
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
        )


def test_real_outputs_are_scored_under_the_authors_names(tmp_path, data):
    """The outputs from the fortieth on are blank: a judge is asked about few of them."""
    command, questions, outputs = V2(tmp_path), questions_file(tmp_path), tmp_path / ANSWERS
    real = json.loads((data / "mm-vet-v2" / ANSWERS).read_text("utf-8"))
    outputs.write_text(json.dumps({key: real[key] if int(key[3:]) < 40 else "" for key in real}))
    with OpenAIServer() as judge:
        words = (outputs, "--questions", questions, "--protocol", "paper", "-o", "runs=1", "--yes")
        done = command(*words, judge=judge)
    assert done.code == 0, done.err
    assert "MM-Vet v2: 517 questions, 1 run, paper protocol" in done.out
    stem, files = "gemini-1.5-pro_test-judge", command.files()
    for file in (
        "grade-1runs_dev8.json",
        "cap-score-1runs_dev8.csv",
        "cap-int-score-1runs_dev8.csv",
    ):
        assert f"{stem}-{file}" in files
    heads, scores = csv.reader(files[f"{stem}-cap-score-1runs_dev8.csv"].decode().splitlines())
    assert (
        heads[1:] == ["ocr", "math", "rec", "gen", "seq", "total", "std", "runs"]
        and scores[0] == "gemini-1.5-pro"
    )
    grades = json.loads(files[f"{stem}-grade-1runs_dev8.json"])
    assert list(grades) == [f"v2_{number}" for number in range(QUESTIONS)]


def test_editions_are_told_apart(tmp_path, data):
    v2 = data / "mm-vet-v2" / ANSWERS
    v1 = data / "mm-vet" / "llava-v1.5-7b.json"
    assert (edition_of_answers(v2), edition_of_answers(v1)) == ("mm-vet-v2", "mm-vet")
    sample = own_sample()
    with pytest.raises(
        UploadError, match=r"They are MM-Vet v2's: score the file with --benchmark mm-vet-v2"
    ):
        fill(sample, read_predictions(v2, sample), "unscored")
    questions = load_mm_vet_v2(questions_file(tmp_path, 3))
    assert (questions.official, questions.benchmark) == (False, "mm-vet-v2")
    with pytest.raises(
        UploadError, match=r"They are MM-Vet's: score the file with --benchmark mm-vet\b"
    ):
        fill(
            questions,
            read_predictions(data / "mm-vet" / "llava-v1.5-7b.json", questions),
            "unscored",
        )


def test_the_page_offers_the_questions_that_are_there(tmp_path):
    questions_file(tmp_path)
    sets = question_sets(None, tmp_path)
    assert [(one.benchmark, name) for name, one in sets.items()] == [
        ("mm-vet-v2", "MM-Vet v2"),
        ("mm-vet", "Stereoscope's own sample, not MM-Vet"),
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"capability": ["sequence"]},
            "is no capability. Choose from rec, ocr, know, gen, spat, math, seq",
        ),
        ({"question": None}, "question and answer must be texts"),
        ({"capability": []}, "Its capability must be a list that names each capability once"),
    ],
)
def test_a_wrong_question_file_is_refused(tmp_path, change, told):
    path = tmp_path / "mm-vet-v2.json"
    path.write_text(json.dumps({"v2_0": {**entry(0), **change}}))
    with pytest.raises(RowsError, match="mm-vet-v2.json.*v2_0") as refused:
        load_mm_vet_v2(path)
    assert told in str(refused.value)
