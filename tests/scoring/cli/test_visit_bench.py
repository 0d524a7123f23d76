"""`python -m scoring score` for VisIT-Bench: from a predictions.csv to the board, and back again."""

import json
from pathlib import Path

import pytest

from arena.database import Database
from arena.types import REFERENCE
from scoring.visit_bench.store import SubmissionStore
from tests.support.commands import Command, Done, run
from tests.support.openai_server import OpenAIServer
from tests.support.visit_bank import MODELS, NEW, bank, instances, judge, predictions
from tests.support.vote_samples import OURS, put


class VisitBench(Command):
    """`python -m scoring score` for VisIT-Bench with a bank to compare with, and the operator's judge on loopback."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        super().__init__(folder, JUDGE_URL=server.address, JUDGE_CONCURRENCY="32")
        self.server = server

    def compare(self, *words: object) -> Done:
        return self("score", "--benchmark=visit-bench", *words, "--judge", "test-judge")


FEW = 12
"""Instances in the bank of tests that judge them anew."""


@pytest.fixture
def command(tmp_path, data):
    bank(tmp_path, data, FEW)
    with OpenAIServer(judge) as server:
        yield VisitBench(tmp_path, server)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory, data):
    """A run on the whole submission, with nothing in its way: the command, and what it said."""
    folder = tmp_path_factory.mktemp("quiet")
    bank(folder, data)
    predictions(folder / "predictions.csv", instances(data))
    with OpenAIServer(judge) as server:
        command = VisitBench(folder, server)
        done = command.compare(str(folder / "predictions.csv"), "--yes", "-o", "opponents=all")
        assert done.code == 0, done.err
        yield command, done.out


def test_a_submission_of_the_63_instances_comes_onto_the_board(quiet):
    command, said = quiet
    assert "63 answers to VisIT-Bench, 4 opponents. 231 pairs × 2 orders = 462 verdicts." in said
    assert "On the board as 'Newcomer-7B', variant 1 of this submitter: 231 new matches." in said
    assert (
        "the same winner in both orders: " in said
        and "verdicts for the response shown first: " in said
    )
    board = (command.out / "board.tsv").read_text("utf-8").splitlines()
    assert board[0] == "Category\tModel\tElo\t# Matches\tWin vs. Reference (w/ # ratings)"
    assert {line.split("\t")[1] for line in board[1:]} >= {*MODELS, NEW, REFERENCE}
    asked = [body["messages"][-1]["content"] for body in command.server.counts.bodies]
    judged = [text for text in asked if "Response A:" in text and "Please extract" not in text]
    assert len(judged) == 456, "both orders of each pair, equal texts once"


def test_its_battles_come_back_to_the_same_board(quiet):
    command, said = quiet
    board = (command.out / "board.tsv").read_text("utf-8")
    back = VisitBench(command.folder / "back", command.server)
    done = back("visit-board", str(command.out / "battles.jsonl"))
    assert done.code == 0 and (back.out / "board.tsv").read_text("utf-8") == board
    steady = next(
        line for line in said.splitlines() if line.startswith("the same winner in both orders: ")
    )
    assert steady in done.out.splitlines(), "a judge's board always says how steady it was"
    rated = run("arena", "rate", command.out / "battles.jsonl", "--out", back.out)
    assert rated.code == 0 and "format: visit-battles" in rated.out


def test_a_partial_submission_or_another_address_gives_a_private_report(command, data):
    file = str(predictions(command.folder / "predictions.csv", instances(data)[:3]))
    done = command.compare(
        file, "-o", "opponents=1", "--protocol", "paper", "-o", "reference=backed", "--yes"
    )
    assert (
        "Private: a partial submission." in done.out
        and "9. A partial submission gets a report" in done.out
    )
    whole = str(predictions(command.folder / "predictions.csv", instances(data)[:FEW]))
    import_summary = command.server.address.replace("127.0.0.1", "localhost")
    done = command.compare(
        whole, "-o", "opponents=reference", "--yes", "--base-url", import_summary
    )
    assert done.code == 0 and "Private: judged elsewhere" in done.out, done.err
    assert SubmissionStore(database := Database(command.database)).board_keys() == ()
    database.close()
    rows = [
        json.loads(line) for line in (command.out / "battles.jsonl").read_text("ascii").splitlines()
    ]
    assert len(rows) == FEW and {row["B_model"] for row in rows} == {REFERENCE}


def test_stored_answers_are_judged_by_name(command):
    done = command.compare("-o", "stored=m1", "-o", "opponents=reference", "--yes")
    assert done.code == 0 and f"On the board as 'm1': {FEW} new matches." in done.out, done.err


def test_the_operator_can_withdraw_a_submission(command, data):
    file = str(predictions(command.folder / "predictions.csv", instances(data)[:FEW]))
    assert command.compare(file, "-o", "opponents=reference", "--yes").code == 0
    done = command.run("visit-withdraw", "Nobody")
    assert done.code == 2 and "no submission 'Nobody' for the source 'VisIT-Bench'" in done.err
    done = command.run("visit-withdraw", NEW)
    assert done.code == 0 and f"The texts of '{NEW}' are gone" in done.out, done.err
    store = SubmissionStore(database := Database(command.database))
    assert store.answers("VisIT-Bench") == {} and [
        one.is_withdrawn for one in store.submissions()
    ] == [True]
    assert sum(board_key.matches for board_key in store.board_keys()) == FEW
    database.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-such-file.csv",), "no-such-file.csv"),
        ((), "Name a file of predictions"),
        (("-o", "stored=nobody"), "no answers of 'nobody'"),
        (("predictions.csv", "-o", "source=other"), "source goes with stored. Leave it out."),
        (("predictions.csv", "-o", "opponents=0"), "must be all, reference or a number"),
        (("predictions.csv", "--title", "m1"), "A model named 'm1' is on the board already"),
        (("predictions.csv", "-o", "context=images"), "whose images aren't here: 3"),
    ],
)
def test_what_is_wrong_is_said_in_words(command, data, words, told):
    file = predictions(command.folder / "predictions.csv", instances(data)[:3])
    done = command.compare(*(str(file) if word == file.name else word for word in words), "--yes")
    assert done.code == 2 and told in done.err, done.err
    assert command.server.counts.calls == 0


def test_the_operators_address_with_a_slash_is_no_other_one(command, data):
    file = str(predictions(command.folder / "predictions.csv", instances(data)[:1]))
    address = f"{command.server.address.rstrip('/')}/"
    done = command.compare(file, "-o", "opponents=1", "--base-url", address, "--yes")
    assert "Private: a partial submission." in done.out, done.err


def test_a_board_of_a_file_never_mixes_judges_and_people(command):
    rows = [
        {
            "A_model": "m",
            "B_model": "n",
            "instruction": "What?",
            "image_url": "https://example.org/1.png",
            "engine": engine,
            "auto_evaluation_result": ["A", "A"],
        }
        for engine in ("gpt-4", "gpt-4o")
    ]
    path = command.folder / "battles.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("visit-board", str(path))
    assert (
        done.code == 2
        and "the judge 'gpt-4', the judge 'gpt-4o', which a board never mixes" in done.err
    )


def test_a_judge_without_a_name_is_no_person(tmp_path):
    rows = [{**OURS[0], "voter": None, "judge": judge} for judge in (True, False)]
    path = put(tmp_path / "votes.jsonl", rows)
    done = run("scoring", "visit-board", path, "--out", tmp_path / "board")
    assert done.code == 2 and "votes of a judge without a name, people" in done.err


@pytest.mark.parametrize(("words", "matches"), [([], 10), (["--named"], 40)])
def test_a_visit_board_leaves_out_votes_cast_with_names_in_view(data, command, words, matches):
    done = command("visit-board", str(data / "field" / "votes" / "fc_named.json"), *words)
    assert done.code == 0
    said = "30 votes with model names visible left out. To include them, add --named"
    assert (said in done.out) == (not words)
    assert f"\t{matches}\t" in (command.out / "board.tsv").read_text("utf-8")
