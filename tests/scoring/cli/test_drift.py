"""`python -m scoring drift`: a judge is accepted, looked at and listed; what was not agreed to is not sent."""

from collections.abc import Iterator

import pytest

from tests.support.commands import Command
from tests.support.drifting_judge import ANSWERS, DriftingJudge
from tests.support.openai_server import Faults, OpenAIServer

MODEL = "gpt-4.1-mini"


@pytest.fixture
def judge() -> DriftingJudge:
    return DriftingJudge()


@pytest.fixture
def server(judge) -> Iterator[OpenAIServer]:
    with OpenAIServer(judge, models=(MODEL,)) as serving:
        yield serving


@pytest.fixture
def command(tmp_path, server) -> Command:
    return Command(tmp_path, JUDGE_URL=server.address, JUDGE_MODEL=MODEL)


def test_a_judge_is_accepted_looked_at_and_listed(command, server, judge):
    server.fingerprint = "fp_7"
    assert command.run("drift", "list").out == "No judge was accepted yet: python -m scoring drift accept\n"
    early = command.run("drift", "look", "--yes")
    assert early.code == 2 and "accept it first: python -m scoring drift accept" in early.err
    done = command.run("drift", "accept", "--yes")
    assert done.code == 0, done.err
    assert f"{5 * ANSWERS} calls to {MODEL}" in done.out and server.counts.calls == 5 * ANSWERS
    told = f"Accepted: {MODEL} (MM-Vet, hardened), 5 runs over {ANSWERS} frozen answers"
    assert told in done.out and "as gpt-4.1-mini-2026-01-01, fingerprint fp_7." in done.out
    assert f"{MODEL} (MM-Vet, hardened): steady (shift " in command.run("drift", "look", "--yes").out
    judge.shift = 0.05
    assert f"{MODEL} (MM-Vet, hardened): moved (shift +0.0" in command.run("drift", "look", "--yes").out
    (line,) = command.run("drift", "list").out.splitlines()
    assert line.startswith(f"{MODEL} at the operator's own server (MM-Vet, hardened), 2 looks since ")
    assert ": moved by +0.0" in line and "127.0.0.1" not in line


@pytest.mark.soak
def test_a_judge_is_accepted_for_each_prompt(command):
    assert command.run("drift", "accept", "--yes").code == 0
    again = command.run("drift", "accept", "--yes", "--protocol", "paper", "--benchmark", "mm-vet-v2")
    assert again.code == 0 and "(MM-Vet v2, paper)" in again.out
    assert command.run("drift", "list").out.count("never looked at since it was accepted") == 2


def test_nothing_is_sent_that_was_not_agreed_to(command, server):
    done = command.run("drift", "accept", answer="n\n")
    assert done.code == 3 and server.counts.calls == 0
    nobody = command.run("drift", "accept", "--yes", JUDGE_MODEL="")
    assert nobody.code == 2 and "choose a judge with --judge MODEL, or set JUDGE_MODEL" in nobody.err


def test_runs_that_did_not_end_are_not_kept(command, server):
    server.faults = Faults(1.0, kinds=("401",), in_a_row=10**6)
    done = command.run("drift", "accept", "--yes")
    assert done.code == 4 and "Nothing is kept of runs that did not end: begin anew." in done.err
    small = command.run("drift", "accept", "--yes", "--budget", "0.001")
    assert small.code == 4
    assert command.run("drift", "list").out.startswith("No judge was accepted yet")


@pytest.mark.soak
def test_a_judge_without_scores_is_not_accepted(command, judge):
    judge.unreadable = True
    done = command.run("drift", "accept", "--yes")
    assert done.code == 2 and f"only 4 of the {ANSWERS} frozen answers got a score in every run" in done.err
