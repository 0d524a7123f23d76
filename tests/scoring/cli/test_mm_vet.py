"""`python -m scoring`: the same scores as the page, exit codes that say what to do, and no call paid twice."""

import json
import re
from pathlib import Path

import pytest

from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.benchmarks.predictions import PREFIX
from scoring.judges import run as judging
from scoring.judges.spec import prompt_text
from scoring.report import read_audit
from tests.support.commands import KEY, Command, Done
from tests.support.openai_server import OpenAIServer


class MMVet(Command):
    """`python -m scoring score` for MM-Vet with a judge on loopback."""

    def __init__(self, folder: Path, judge: OpenAIServer) -> None:
        super().__init__(folder)
        self.judge = judge

    def __call__(self, *words: object, answer: str = "", **environ: str) -> Done:
        judge = ("--judge", "test-judge", "--base-url", self.judge.address)
        return super().__call__(
            "score", "--benchmark=mm-vet", *words, *judge, answer=answer, **environ
        )


@pytest.fixture
def command(tmp_path):
    with OpenAIServer() as judge:
        yield MMVet(tmp_path, judge)
    held = [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert held == [], "the key lies in no file"


def test_a_file_is_scored_and_a_second_run_asks_nothing(command):
    done = command("-o", "sample=true", SAMPLE_PREDICTIONS, "--yes")
    assert done.code == 0, done.err
    assert "not MM-Vet: 16 questions, 5 runs, hardened" in done.out and "total" in done.out
    first, calls = command.files(), command.judge.counts.calls
    assert len(first) == 10
    again = command("-o", "sample=true", SAMPLE_PREDICTIONS, "--yes")
    assert re.search(r"\n[0-5] calls to test-judge", again.out), (
        "the secret canaries of a job are drawn anew"
    )
    files = command.files()
    assert {name for name in first if first[name] != files[name]} <= {
        name for name in first if "audit" in name
    }
    trials, canaries = 7, 5
    assert command.judge.counts.calls <= calls + trials + canaries, (
        "only what the model takes is asked again"
    )


def test_what_was_said_before_each_question_stands_in_the_report(command, tmp_path):
    prompt = prompt_text("mm_vet_gpt_4v.txt")
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    rows = [{"id": id, "prediction": text, PREFIX: prompt} for id, text in answers.items()]
    (tmp_path / "short.json").write_text(json.dumps(rows))
    done = command("-o", "sample=true", "-o", "runs=1", tmp_path / "short.json", "--yes")
    assert done.code == 0 and f"Before each question the model read “{prompt}”." in done.out
    assert read_audit(command.out / "short-audit.jsonl").asked == prompt


def test_the_cost_is_asked_first(command):
    done = command("-o", "sample=true", SAMPLE_PREDICTIONS, answer="n\n")
    assert done.code == 3 and "We don't know test-judge." in done.out
    done = command("-o", "sample=true", SAMPLE_PREDICTIONS, answer="")
    assert done.code == 3 and "Add --yes" in done.err and "Aborted" not in done.err, (
        "nobody answers, as in a script"
    )
    assert command.judge.counts.calls == 0 and "Nothing was sent" in done.err
    done = command("-o", "sample=true", SAMPLE_PREDICTIONS, answer="y\nn\n")
    assert done.code == 3 and "105 calls to test-judge" in done.out
    assert command.judge.counts.calls in (5, 6), (
        "what the judge takes was found out, and nothing else was asked"
    )
    assert not command.out.exists()


def test_a_budget_is_kept_and_the_same_command_goes_on(command, tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "RESERVE_SECONDS", 0.02)
    prices = tmp_path / "prices.csv"
    prices.write_text("model,prompt,completion\ntest-judge,30,60\n")
    few = ("-o", "sample=true", SAMPLE_PREDICTIONS, "--yes", "-o", "runs=1")
    refused = command(*few, "--budget", "0.2")
    assert (
        refused.code == 4
        and "its price is not known" in refused.err
        and "so --budget can't be kept" in refused.err
    )
    stopped = command(*few, "--budget", "0.2", JUDGE_PRICES=str(prices))
    assert (
        stopped.code == 4
        and "This run's budget is $0.20" in stopped.err
        and "at most $0.20 in all" in stopped.out
    )
    asked = command.judge.counts.calls
    done = command(*few, JUDGE_PRICES=str(prices))
    assert done.code == 0, done.err
    about, most = (
        float(found)
        for found in re.search(r"about \$([\d.]+) .*at most \$([\d.]+) in all", done.out).groups()
    )
    assert 0 < about < most <= 3 * about + 0.02 and command.judge.counts.calls > asked
