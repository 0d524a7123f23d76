"""Where nothing could be graded the report's first line says so and the command ends with 5."""

import json

import pytest

from arena.database import Database
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.visit_bench.store import SubmissionStore
from tests.support.choice_tables import ChoiceCommand, row, table_file
from tests.support.commands import Done
from tests.support.judge_forms import ask_to_the_end
from tests.support.openai_server import OpenAIServer
from tests.support.visit_bank import bank, instances, predictions

HEAD = "Nothing was graded: "


class JudgedCommand(ChoiceCommand):
    """A command with a judge that always says the same."""

    def judged(self, said: str, *words: object) -> Done:
        with OpenAIServer(lambda body, sample: said) as server:
            return self(*words, "--judge", "test-judge", "--base-url", server.address, "--yes")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A command whose judge is asked on, however many replies cannot be read: a file that is judged to its end."""
    ask_to_the_end(monkeypatch)
    return JudgedCommand(tmp_path)


def assert_nothing(done: Done) -> None:
    code, said, complaint = done
    sentence = complaint.splitlines()[-1]
    assert code == 5 and sentence.startswith(HEAD)
    assert f"{sentence}\n" in said and "0.0  [0.0, 0.0]" not in said


@pytest.mark.parametrize(("protocol", "said"), [("hardened", "I would rather not."), ("paper", "")])
def test_mm_vet_of_a_judge_that_never_gives_a_score(command, protocol, said):
    done = command.judged(
        said,
        "score",
        "--benchmark=mm-vet",
        "-o",
        "sample=true",
        SAMPLE_PREDICTIONS,
        "-o",
        "runs=1",
        "--protocol",
        protocol,
    )
    assert_nothing(done)
    assert "none of 16 grades" in done[2]
    assert {line["mean"] for line in command.table("-capabilities.csv")} == {""}
    (capabilities,) = command.out.glob("*-cap-score-1runs.csv")
    assert "0.0" not in capabilities.read_text("utf-8").splitlines()[1].replace("None", "")


def test_mm_vet_as_in_the_paper_counts_what_cannot_be_read_where_anything_can(command):
    def said(body, sample):
        return "Hm." if "total" in str(body["messages"][-1]["content"])[-400:] else "0.5"

    with OpenAIServer(said) as server:
        words = (
            "-o",
            "runs=1",
            "--protocol",
            "paper",
            "--judge",
            "test-judge",
            "--base-url",
            server.address,
            "--yes",
        )
        code, printed, _ = command(
            "score", "--benchmark=mm-vet", "-o", "sample=true", SAMPLE_PREDICTIONS, *words
        )
    assert code == 0 and HEAD not in printed
    total = command.table("-capabilities.csv")[-1]
    assert 0 < float(total["mean"]) < 50 and "mean_unscored" not in total


def test_mm_vet_of_a_file_that_answers_none_of_the_questions(command, tmp_path):
    empty = tmp_path / "empty.json"
    empty.write_text(json.dumps({}))
    code, _, complaint = command.judged(
        "1", "score", "--benchmark=mm-vet", "-o", "sample=true", empty, "-o", "missing=unscored"
    )
    assert code == 5 and "has no answers. Choose the one that has them." in complaint


@pytest.mark.parametrize("said", ["", "  \n"])
def test_mm_vet_of_blank_answers_costs_nothing(command, tmp_path, said):
    blank = tmp_path / "blank.json"
    blank.write_text(json.dumps(dict.fromkeys(json.loads(SAMPLE_PREDICTIONS.read_text()), said)))
    words = ("--judge", "test-judge", "--base-url", "http://127.0.0.1:9", "--yes")
    code, _, complaint = command("score", "--benchmark=mm-vet", "-o", "sample=true", blank, *words)
    assert (
        code == 5
        and complaint
        == "Nothing was graded: blank.json answers none of the 16 questions. Choose the file that does.\n"
    )


@pytest.mark.parametrize(
    "said", ["Hard to put in words.", "", pytest.param("  \n", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    ("benchmark", "protocol"),
    [
        ("mmbench", "strict"),
        ("mmt-bench", "mmt-paper"),
        pytest.param("mmbench", "mmbench-paper", marks=pytest.mark.soak),
    ],
)
def test_letters_that_no_rule_can_read(command, tmp_path, benchmark, protocol, said):
    file = table_file(tmp_path / "m.tsv", [row(index, said) for index in range(1, 9)])
    assert_nothing(
        command("score", file, "--benchmark", benchmark, "--no-judge", "--protocol", protocol)
    )
    assert {line["Overall"] for line in command.table("_acc.csv")} == {""}


@pytest.mark.parametrize(
    "protocol",
    [
        "strict",
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("mmbench-paper", "mmt-paper")),
    ],
)
def test_letters_that_no_judge_can_read(command, tmp_path, protocol):
    file = table_file(
        tmp_path / "m.tsv", [row(index, "Hard to put in words.") for index in range(1, 9)]
    )
    assert_nothing(
        command.judged(
            "I am not sure.", "score", "--benchmark=mmbench", file, "--protocol", protocol
        )
    )
    assert {line["Overall"] for line in command.table("_acc.csv")} == {""}


def test_passes_without_base_rows_and_without_the_others(command, tmp_path):
    file = table_file(tmp_path / "m.tsv", [row(1_000_001, "B"), row(1_000_002, "B")])
    assert_nothing(command("score", "--benchmark=mmbench", file, "--no-judge"))


def test_marks_that_the_judge_never_gives(command, tmp_path):
    rows = [
        {"index": str(number), "question": "What?", "answer": "cat", "prediction": "cat"}
        for number in range(5)
    ]
    file = table_file(tmp_path / "gqa.tsv", rows, list(rows[0]))
    assert_nothing(command.judged("Difficult.", "score", file, "--benchmark", "gqa_marks"))
    assert command("score", file, "--no-judge")[0] == 0, "exact match is graded by rules"
    bare = table_file(tmp_path / "bare.tsv", [{**one, "answer": ""} for one in rows], list(rows[0]))
    assert_nothing(command("score", bare, "--benchmark", "gqa", "--no-judge"))


@pytest.mark.parametrize("protocol", ["hardened", pytest.param("paper", marks=pytest.mark.soak)])
def test_a_submission_without_any_verdict_comes_onto_no_board(command, data, protocol):
    bank(command.folder, data)
    file = predictions(command.folder / "predictions.csv", instances(data))
    with OpenAIServer(lambda body, sample: "Who could tell?") as server:
        words = (
            "-o",
            "opponents=reference",
            "--protocol",
            protocol,
            "--judge",
            "test-judge",
            "--yes",
        )
        done = command("score", "--benchmark=visit-bench", file, *words, JUDGE_URL=server.address)
    assert_nothing(done)
    assert "Private: nothing was graded." in done[1] and "On the board" not in done[1]
    assert {
        "share": "matches without a result",
        "part": "63" if protocol == "hardened" else "0",
        "of": "63",
    } in (command.table("steadiness.csv"))
    assert SubmissionStore(database := Database(command.database)).board_keys() == ()
    database.close()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--benchmark=mmbench",),
        ("--benchmark=gqa",),
        ("--benchmark=mm-vet", "-o", "sample=true"),
        ("--benchmark=visit-bench",),
    ],
)
def test_a_file_without_rows(command, tmp_path, words):
    file = table_file(tmp_path / "none.tsv", [])
    code, said, complaint = command.judged("1", "score", *words, file)
    assert (
        code == 5
        and said == ""
        and complaint == ("none.tsv: The file has no answers. Choose the one that has them.\n")
    )


def test_votes_on_no_known_item(command, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("model_a,model_b,winner\nm1,m2,model_a\n")
    code, said, complaint = command("agreement", votes)
    assert code == 5 and complaint.startswith("Nothing was measured: ") and "isn't known: 1" in said


@pytest.mark.parametrize("said", ["", "  \n"])
def test_marks_of_a_file_of_blank_answers(command, tmp_path, said):
    rows = [
        {"index": str(number), "question": "What?", "answer": "cat", "prediction": said}
        for number in range(5)
    ]
    file = table_file(tmp_path / "gqa.tsv", rows, list(rows[0]))
    assert_nothing(command("score", file, "--benchmark", "gqa"))
    assert {line["value"] for line in command.table("-all-figures.csv")} == {""}
    one = table_file(
        tmp_path / "one.tsv", [{**rows[0], "prediction": "cat"}, *rows[1:]], list(rows[0])
    )
    assert command("score", one, "--benchmark", "gqa", "--no-judge")[0] == 0
