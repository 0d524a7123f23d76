"""`python -m scoring`: the same scores as the page, exit codes that say what to do, and no call paid twice."""

import json

import pytest

from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.openai_server import PASSING, Faults, OpenAIServer
from tests.support.scoring_command import KEY, Command

SOON = tuple(kind for kind in PASSING if kind != "hang")
"""Faults that a client sees at once; a hang takes its whole patience (tests/scoring/judges/test_client.py)."""


@pytest.fixture
def command(tmp_path):
    with OpenAIServer() as judge:
        yield Command(tmp_path, judge)
    held = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert held == [], "the key lies in no file"


def test_a_file_is_scored_and_a_second_run_asks_nothing(command):
    done = command("--sample", str(SAMPLE_PREDICTIONS), "--yes")
    assert done.returncode == 0, done.stderr
    assert "not MM-Vet: 16 questions, 5 runs, hardened" in done.stdout and "total" in done.stdout
    first, calls = command.files(), command.judge.counts.calls
    assert len(first) == 6
    again = command("--sample", str(SAMPLE_PREDICTIONS), "--yes")
    assert "0 calls to test-judge" in again.stdout
    files = command.files()
    assert {name for name in first if first[name] != files[name]} <= {name for name in first if "audit" in name}
    probes = 7
    assert command.judge.counts.calls <= calls + probes, "only what the model takes is asked again"


def test_real_outputs_give_the_papers_tables(command, data):
    outputs = data / "mm-vet" / "llava_llama2_13b_chat.json"
    done = command(str(outputs), "--yes", MM_VET_PATH=str(data / "mm-vet"))
    assert done.returncode == 0, done.stderr
    (grades,) = (json.loads(content) for name, content in command.files().items() if name.endswith("grade-5runs.json"))
    assert len(grades) == 218 and all(len(grade["score"]) == 5 for grade in grades.values())
    (scores,) = (content.decode() for name, content in command.files().items() if name.endswith("cap-score-5runs.csv"))
    assert scores.splitlines()[0] == ",rec,ocr,know,gen,spat,math,total,std,runs"
    (both,) = (content.decode() for name, content in command.files().items() if "cap-int-score" in name)
    header = both.splitlines()[0].split(",")
    assert len(header) == 1 + 16 + 3 and header[1] == "rec_know_gen" and header[16] == "rec_ocr_spat_math"


def test_faults_on_the_way_change_nothing(command):
    assert command("--sample", str(SAMPLE_PREDICTIONS), "--yes", "--runs", "2").returncode == 0
    quiet = command.files()
    with OpenAIServer(faults=Faults(rate=0.3, seed=5, kinds=SOON)) as troubled:
        other = Command(command.folder / "troubled", troubled)
        assert other("--sample", str(SAMPLE_PREDICTIONS), "--yes", "--runs", "2").returncode == 0
        loud = other.files()
    for name in quiet:
        if name.endswith(".csv") and "audit" not in name:
            assert quiet[name] == loud[name]


def test_the_cost_is_asked_first(command):
    done = command("--sample", str(SAMPLE_PREDICTIONS), answer="n\n")
    assert done.returncode == 3 and "test-judge is not known here" in done.stdout
    assert command.judge.counts.calls == 0 and "Nothing was sent" in done.stderr
    done = command("--sample", str(SAMPLE_PREDICTIONS), answer="y\nn\n")
    assert done.returncode == 3 and "100 calls to test-judge" in done.stdout
    assert command.judge.counts.calls in (6, 7), "what the judge takes was found out, and nothing else was asked"
    assert not command.out.exists()


def test_a_price_list_gives_the_cost_in_dollars(command):
    prices = command.folder / "prices.csv"
    prices.write_text("model,prompt,completion\ntest-judge,2,8\n")
    done = command("--sample", str(SAMPLE_PREDICTIONS), answer="y\nn\n", JUDGE_PRICES=str(prices))
    assert "about $0.1" in done.stdout
    prices.write_text("model,prompt,completion\ntest-judge,two,8\n")
    done = command("--sample", str(SAMPLE_PREDICTIONS), JUDGE_PRICES=str(prices))
    assert done.returncode == 2 and "row 2" in done.stderr and "'prompt'" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--sample", "no-such-file.json", "--yes"), "no-such-file.json"),
        (("--sample", "README.md", "--yes"), ".json"),
        ((str(SAMPLE_PREDICTIONS), "--yes"), "MM_VET_PATH"),
        (("--sample", str(SAMPLE_PREDICTIONS), "--subset", "no-such-list.json", "--yes"), "no-such-list.json"),
    ],
)
def test_what_is_wrong_is_said_in_words(command, words, told):
    done = command(*words)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_judge_that_refuses_the_key_stops_at_once_without_showing_it(command):
    with OpenAIServer(faults=Faults(rate=1.0, kinds=("401",))) as closed:
        done = Command(command.folder, closed)("--sample", str(SAMPLE_PREDICTIONS), "--yes")
        assert done.returncode == 4 and "key" in done.stderr
        assert closed.counts.calls < 10
