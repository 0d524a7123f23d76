"""The form of "Score a model", by its handlers: what it says of a file, and what nobody may do in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers

from arena.web.cookies import COOKIE
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.registry import BENCHMARKS
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_page import mmbench_rows, write_csv
from tests.support.scoring_person import Person


@pytest.fixture
def person(tmp_path) -> Iterator[Person]:
    with OpenAIServer() as judge:
        here = Person(tmp_path, judge)
        yield here
        here.bench.database.close()


def written(path: Path, answers: dict[str, Any]) -> Path:
    path.write_text(json.dumps(answers))
    return path


def test_a_file_of_no_benchmark_here_can_be_scored_by_none(person, tmp_path):
    form, sent = person.reads(written(tmp_path / "other.json", {"q1": "a cat", "q2": "a dog"}))
    tab = person.tab
    assert (
        "Read as " in form[tab.file_summary]
        and "the file is for another benchmark" in form[tab.file_summary]
    )
    assert not form[tab.check]["interactive"]
    sent[tab.settings.benchmark] = BENCHMARKS["pope"].name
    chosen = person.in_thread(tab.on_benchmark, sent, person.request)
    assert "POPE" in chosen[tab.file_summary] and not chosen[tab.check]["interactive"]


def test_an_incomplete_file_is_offered_as_vanilla(person, tmp_path):
    rows = [row for row in mmbench_rows() if row["index"] != "3000001"]
    form, _ = person.reads(write_csv(tmp_path / "gap.csv", rows))
    tab = person.tab
    assert "Question 1 lacks pass 3" in form[tab.file_summary]
    assert "These problems keep the file from CircularEval" in form[tab.file_summary]
    assert form[tab.check]["value"] == "Score it as vanilla (free)"


def test_a_thinking_models_short_answers_are_compared_without_their_reasoning(person, tmp_path):
    said = ["<think>A logo.</think>\nNikon", "\\boxed{\\text{Nikon}}", "<think>It may be", "Canon"]
    rows = [
        {
            "index": str(34_602 + at),
            "question": "What brand is the camera?",
            "answer": str(["nikon"] * 10),
            "prediction": text,
        }
        for at, text in enumerate(said)
    ]
    form, sent = person.reads(write_csv(tmp_path / "thinker_TextVQA_VAL.csv", rows))
    tab = person.tab
    assert "TextVQA: 4 answers" in form[tab.file_summary]
    assert "isn&#39;t from the model (reasoning without an end)." in form[tab.file_summary]
    shown = person.opened(person.in_thread(tab.on_check, sent, person.request)[tab.link])
    assert "(Overall, 3 of 4 questions scored, 95% interval" in shown
    assert "over all 4: 50.0 to 75.0" in shown


def test_ten_options_in_one_column_are_read_to_the_last(person, tmp_path):
    options = [f"colour {number}" for number in range(1, 11)]
    rows = [
        {
            "index": str(at),
            "question": "Which colour is it?",
            "options": json.dumps(options),
            "answer": "J",
            "prediction": text,
        }
        for at, text in enumerate(["J", "The answer is (J).", "colour 10", "A"])
    ]
    form, sent = person.reads(write_csv(tmp_path / "ten-options.csv", rows))
    tab = person.tab
    assert "This is multiple choice: 4 answers;" in form[tab.file_summary]
    assert (
        "<b>J</b>. colour 10" in form[tab.file_summary] or "J. colour 10" in form[tab.file_summary]
    )
    assert "CircularEval" not in form[tab.file_summary]
    assert form[tab.check]["value"] == "Score by rules (free)"
    link = person.in_thread(tab.on_check, sent, person.request)[tab.link]
    assert "scores 75.0" in person.opened(link)


def test_grades_become_a_report_without_a_judge(person, tmp_path):
    graded = {"model": ["j-1"], "content": ["0.5"], "score": [0.5]}
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    grades = written(tmp_path / "m_j-1-grade-1runs.json", dict.fromkeys(answers, graded))
    form, sent = person.reads(grades)
    tab = person.tab
    assert "grades by j-1 for 16 questions, runs: 1" in form[tab.file_summary]
    assert form[tab.check]["value"] == "Make the report (free)"
    for field in (tab.offers, tab.settings.judge, tab.settings.protocol):
        assert not form[field]["visible"]
    made = person.in_thread(tab.on_check, sent, person.request)
    report = person.bench.jobs.find(made[tab.link])
    assert report.state == "done"
    shown = person.opened(made[tab.link])
    assert "50.0" in shown and "nothing was judged here" in shown


def test_what_is_wrong_with_a_file_is_told_whole(person, tmp_path):
    answers = json.loads(SAMPLE_PREDICTIONS.read_text("utf-8"))
    first, second = list(answers)[:2]
    answers["nobody"] = answers.pop(first)
    answers["<b>noone</b>"] = answers.pop(second)
    form, sent = person.reads(written(tmp_path / "wrong.json", answers))
    tab = person.tab
    for word in (first, second, "nobody", "&lt;b&gt;noone&lt;/b&gt;"):
        assert word in form[tab.problem]
    assert not form[tab.offers]["visible"] and not form[tab.check]["visible"]
    sent[tab.settings.parts["missing"]] = "unscored"
    left = person.in_thread(tab.on_change, sent, person.request)
    assert first not in left[tab.problem] and "nobody" in left[tab.problem]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://api.example.org/v1", "https"),
        ("https://me:pass@api.example.org/v1", "without user"),
        ("https://127.0.0.1/v1", "We don&#39;t know &#39;unknown-judge&#39;"),
    ],
)
def test_an_own_judges_address_is_checked_and_its_key_never_shown(person, address, told):
    _, sent = person.reads(SAMPLE_PREDICTIONS)
    tab = person.tab
    sent |= {tab.settings.judge: "own key", tab.settings.model: "unknown-judge"}
    assert "Your judge needs a key. Enter it above" in str(tab.on_check(sent, person.request))
    sent |= {tab.settings.key: "sk-own-1122334455", tab.settings.url: address}
    refused = str(tab.on_check(sent, person.request))
    assert told in refused and "sk-own" not in refused and "pass@" not in refused


def test_a_list_of_ids_says_which_questions_it_scores(person):
    _, sent = person.reads(SAMPLE_PREDICTIONS)
    tab = person.tab
    sent[tab.settings.only] = "own_1\nown_999"
    wrong = person.in_thread(tab.on_change, sent, person.request)
    assert "The list of questions: These aren&#39;t ids of" in wrong[tab.problem]
    assert "1 others: own_999" in wrong[tab.problem]
    sent[tab.settings.only] = "own_1\nown_3"
    chosen = person.in_thread(tab.on_change, sent, person.request)
    assert chosen[tab.settings.only]["info"].startswith("Scores 2 questions: ")


def test_another_file_is_not_scored_by_the_list_of_ids_for_the_last_one(person):
    _, sent = person.reads(SAMPLE_PREDICTIONS)
    only = person.tab.settings.only
    sent |= {only: "own_1", person.tab.token: person.brings(SAMPLE_PREDICTIONS)}
    form = person.in_thread(person.tab.on_arrived, sent, person.request)
    assert form[only]["visible"] and form[only]["value"] == ""


def test_a_strangers_job_is_neither_cancelled_nor_deleted(person, tmp_path):
    _, sent = person.reads(write_csv(tmp_path / "circular.csv", mmbench_rows()[:8]))
    tab = person.tab
    link = tab.on_check(sent, person.request)[tab.link]
    headers = Headers({"cookie": f"{COOKIE}={'d' * 32}"})
    stranger = SimpleNamespace(**{**vars(person.request), "headers": headers})
    for handler in (tab.on_cancel, tab.on_delete):
        assert "You have no such job" in str(handler(link, stranger))
    assert person.bench.jobs.find(link)
    tab.on_delete(link, person.request)
    assert person.bench.jobs.find(link) is None
