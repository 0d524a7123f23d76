"""`python -m scoring score`: whose file it is, what `-o` may choose, and two files side by side."""

import json
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field
from typer import BadParameter

from scoring.benchmarks.base import BenchmarkOptions
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.cli.score_request import option_lines, read_options
from scoring.registry import BENCHMARKS
from tests.support.choice_tables import ChoiceCommand, row, table_file
from tests.support.scoring_page import write_csv

IDS = [question.id for question in own_sample().questions]
TOOLKIT = {"question": "q", "answer": "x <AND> y", "prediction": "x"}
VQA = {"question": "What?", "answer": "cat", "prediction": "cat"}
LACKS = "It needs question, answer and prediction"


@pytest.fixture
def command(tmp_path):
    return ChoiceCommand(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.json", dict.fromkeys(IDS, "x"), "MM-Vet's questions aren't here"),
        ("a.json", {"v1_0": "x", "v1_1": "y"}, "MM-Vet's questions aren't here"),
        ("a.json", {"v2_0": "x", "v2_1": "y"}, "MM-Vet v2's questions aren't here"),
        ("a.json", [{"question_id": "v2_0", "text": "x"}], "MM-Vet v2's questions aren't here"),
        (
            "a.csv",
            [{"index": "0", **TOOLKIT, "category": "ocr,math"}],
            "MM-Vet's questions aren't",
        ),
        (
            "a.csv",
            [{"index": "0", **VQA, "question": own_sample().questions[0].text}],
            "MM-Vet's questions aren't here",
        ),
        (
            "a.csv",
            [{"item": "1", "m prediction": "x"}],
            "needs a judge. Choose one with --judge MODEL",
        ),
        ("a.csv", [{"index": "0", **VQA}], "--benchmark, such as gqa or docvqa"),
        (
            "a.json",
            {"1": "cat", "2": "dog"},
            "with plain numbers as ids and no questions, as in many benchmarks",
        ),
        (
            "a.csv",
            [{"index": "0", "prediction": "x"}],
            "with plain numbers as ids and no questions, as in many benchmarks",
        ),
        (
            "a.csv",
            [{"index": "0", **VQA, "category": kind} for kind in ("sports", "math")],
            "--benchmark, such as gqa or docvqa",
        ),
    ],
)
def test_a_file_tells_its_benchmark_or_what_it_lacks(command, tmp_path, name, content, told):
    file = tmp_path / name
    if name == "a.json":
        file.write_text(json.dumps(content))
    else:
        write_csv(file, content)
    done = command("score", file)
    assert done.code == 2 and told in done.err, done.err
    assert not command.out.exists()


def test_questions_that_no_other_file_has_are_scored_without_the_benchmarks_name(command, tmp_path):
    file = tmp_path / "n_judge-1-grade-1runs.json"
    grade = {"model": ["j"], "content": ["0.5"], "score": [0.5]}
    file.write_text(json.dumps(dict.fromkeys(IDS, grade)))
    done = command("score", file, "-o", "sample=true", "--against", file)
    assert done.code == 0 and "grades by j for 16 questions" in done.out, done.err
    assert "n (this) minus n (other)" in done.out
    assert done.out.count("files are in") == 1, "with the comparison's files"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("mm-vet -o run=3", "'run' isn't an option of mm-vet. Choose runs, samples, missing,"),
        ("mmbench -o runs=3", "'runs' isn't an option of mmbench. It has none, so leave out -o."),
        ("mm-vet -o runs", "'runs' isn't an option. Write NAME=VALUE."),
        ("mm-vet -o runs=1 -o runs=2", "runs is given more than once"),
        ("mm-vet -o runs=21", "runs can't be '21'. It must be a number from 1 to 20."),
        ("mm-vet -o runs=", "runs can't be ''. It must be a number from 1 to 20."),
        ("mm-vet -o sample=perhaps", "sample can't be 'perhaps'. It must be true or false."),
        ("mm-vet -o missing=no", "missing can't be 'no'. It must be stop or unscored."),
        (
            "visit-bench -o opponents=some",
            "opponents can't be 'some'. It must be all, reference or a number from 1 up.",
        ),
        (
            "visit-bench -o stored=m --against a.csv --judge j",
            "Leave out --questions and --against",
        ),
        ("visit-bench -o stored=m", "needs a judge. Choose one with --judge MODEL"),
        ("visit-bench a.csv -o stored=m --judge j", "a file and a stored model. Leave out one"),
        ("mmbench --no-judge", "There is no file to score. Name one."),
        ("mm-vet -o sample=true", "There is no file to score. Name one."),
        ("sealed-items", "Sealed items are judged only on the page"),
        (
            "mm-vett",
            "isn't a benchmark here. Choose one of mm-vet, mm-vet-v2, visit-bench, mmbench, ",
        ),
    ],
)
def test_a_wrong_option_is_named_with_what_is_expected(command, words, told):
    done = command("score", "--benchmark", *words.split())
    assert done.code == 2 and told in " ".join(done.err.split()), done.err


class ToyOptions(BenchmarkOptions):
    depth: int = Field(2, ge=1, description="how deep")
    mood: Literal["calm", "wild"] = Field("calm", description="how loud")
    key: Path | None = Field(None, description="where answers are")


class Toy:
    key = "toy"
    options = ToyOptions


def test_options_are_read_and_described_from_the_benchmarks_record():
    assert read_options(Toy, ["mood=wild", "key=a=b.csv"]) == ToyOptions(
        mood="wild", key=Path("a=b.csv")
    )
    with pytest.raises(BadParameter, match=r"depth can't be '0'. It must be a number from 1 up\."):
        read_options(Toy, ["depth=0"])
    told = "\n".join(option_lines([Toy]))
    assert "depth=a number from 1 up\n      how deep [default: 2]" in told
    assert "mood=calm or wild\n      how loud [default: calm]" in told and "key=a file" in told


def test_help_describes_every_option_of_every_benchmark(command):
    said = command.run("score", "--help").out
    for benchmark in BENCHMARKS.values():
        for name, field in benchmark.options.model_fields.items():
            assert f"    {name}=" in said and field.description and field.description in said


def gqa(path: Path, *predictions: str, first: int = 0) -> Path:
    return write_csv(
        path,
        [
            {"index": str(number), **VQA, "prediction": prediction}
            for number, prediction in enumerate(predictions, first)
        ],
    )


def test_answers_to_vqa_are_compared_in_pairs(command, tmp_path):
    ours = gqa(tmp_path / "a_gqa.csv", "cat", "cat", "dog")
    theirs = gqa(tmp_path / "b_gqa.csv", "dog", "cat", "dog")
    done = command("score", ours, "--no-judge", "--against", theirs)
    assert done.code == 0, done.err
    (line,) = command.table("a_gqa-against-b_gqa-comparison.csv")
    assert (line["n"], round(float(line["difference"]), 1)) == ("3", 33.3)


def test_files_of_different_questions_are_not_compared(command, tmp_path):
    ours = gqa(tmp_path / "a_gqa.csv", "cat")
    theirs = gqa(tmp_path / "b_gqa.csv", "cat", first=7)
    done = command("score", ours, "--no-judge", "--against", theirs)
    assert (
        done.code == 2 and "a_gqa.csv and b_gqa.csv have no scored question in common" in done.err
    )
    assert not command.out.exists()


def test_a_recognised_file_takes_the_benchmarks_own_questions(command, tmp_path):
    questions = table_file(tmp_path / "q.tsv", [row(1), row(2)])
    file = table_file(tmp_path / "m.tsv", [row(1, "B")])
    done = command("score", file, "--no-judge", "--questions", questions)
    assert done.code == 0 and "No answer to 1 of the 2 questions in the question file" in done.out
