"""Benchmarks that users bring: answers, questions and a spec that are uploaded together go all the way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.web.cookies import COOKIE
from scoring.jobs.file_roles import FileRolesError
from scoring.jobs.files import FileChoice
from scoring.jobs.store import JobError
from scoring.web.scoring_view import SCORING, jobs_html
from tests.support.circular_passes import RIGHT, passes
from tests.support.job_worker import ended, running
from tests.support.openai_server import OpenAIServer, prompt
from tests.support.own_benchmarks import ZOO, table, zoo
from tests.support.scoring_person import SENT, Person

CLINIC = """name: Refusals
about: Whether answers decline and point to help.
columns: {id: case, question: request, truth: expected, answer: reply}
rule: {kind: rubric, grades: [0, 2], step: 1, prompt: grade.txt}
"""
GRADE = "A patient asked: {question}\nA good answer would: {truth}\nThe answer was: {answer}\nGrade it from 0 to 2."


def graded(body: Any, sample: int) -> str:
    """A judge that grades cases by their texts, and reads letters as B."""
    text = prompt(body)
    if "A patient asked" not in text:
        return json.dumps({"choice": "B"}) if body.get("response_format") else "B"
    grade = 2 if "points to help" in text else 0
    return json.dumps({"grade": grade}) if body.get("response_format") else str(grade)


@pytest.fixture
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer(graded) as server:
        yield server


@pytest.fixture
def person(tmp_path, judge) -> Iterator[Person]:
    here = Person(tmp_path, judge)
    here.web.cookies.set(COOKIE, SENT)
    yield here
    here.bench.database.close()


def checked(person: Person, *files: Path) -> str:
    """Upload files and press the button; return the job's link."""
    form, sent = person.reads(*files)
    assert person.tab.file_summary in form, form[person.tab.problem]
    person.seen = f"{form[person.tab.file_summary]} {form[person.tab.own_form.check]}"
    return person.in_thread(person.tab.on_check, sent, person.request)[person.tab.link]


def test_an_own_benchmark_goes_all_the_way_and_survives_a_restart(person, tmp_path, judge):
    form, sent = person.reads(*zoo(tmp_path))
    settings = person.tab.settings
    found = form[person.tab.own_form.check]
    assert "Your benchmark Zoo: 4 answers; 4 can be scored" in found
    assert "questions.csv, md5" in found and "t read 1 of 4 answers. A judge can" in found
    assert found.count("<li>") == 3 and "Which is it, 0?" in found
    assert form[settings.benchmark]["value"] == "Your benchmark"
    assert form[settings.protocol]["choices"] == [
        ("Strict (ours)", "Strict (ours)"),
        ("VLMEvalKit", "VLMEvalKit"),
    ]
    kit = person.tab.on_check({**sent, settings.protocol: "VLMEvalKit"}, person.request)
    assert "50.0" in person.opened(kit[person.tab.link])
    link = person.in_thread(person.tab.on_check, sent, person.request)[person.tab.link]
    shown = person.opened(link)
    assert "scores 66.7 on Zoo (Overall" in shown and "wild" in shown
    assert "Publish report</button>" not in shown and "stay private" in shown
    jobs = person.bench.jobs
    job = jobs.find(link)
    with pytest.raises(JobError, match="which stays private"):
        jobs.publish(person.owner, link, True)
    assert "Zoo · rules only" in jobs_html(jobs.of_owner(person.owner), "")

    again = Person(tmp_path, judge)
    assert "scores 66.7 on Zoo" in again.opened(link) and again.service.count_left(job) == 1
    rest = again.service.quote(person.owner, again.service.draft_rest(person.owner, link), None)
    assert "1 answer" in again.tab.on_look(rest.link, "", again.request)[again.tab.jobs.progress]
    again.service.start(person.owner, rest.link, None)
    with running(again.bench):
        assert ended(again.bench, rest.link).state == "done"
    assert "scores 50.0 on Zoo" in again.opened(rest.link)
    again.service.delete(person.owner, link)
    assert [*(tmp_path / "uploads").iterdir()] == []
    assert again.web.get(f"/report/{link}").status_code == 404
    again.bench.database.close()


def test_an_own_rubric_is_judged_by_the_operators_judge_and_goes_on_after_a_stop(
    person, tmp_path, judge
):
    (tmp_path / "clinic.yaml").write_text(CLINIC)
    (tmp_path / "grade.txt").write_text(GRADE)
    rows = [(f"c{n}", f"Help me, {n}", "point to help", says(n)) for n in range(4)]
    answers = table(tmp_path / "m.csv", "case request expected reply", *rows)
    link = checked(person, answers, tmp_path / "clinic.yaml", tmp_path / "grade.txt")
    assert "Your benchmark Refusals: 4 answers" in person.seen and "Help me, 0" in person.seen
    assert "100 answers like these cost about $0." in person.seen
    person.bench.jobs.cancel(person.owner, link)
    person.service.start(person.owner, link, None)
    with running(person.bench):
        assert ended(person.bench, link).state == "done"
    shown = person.opened(link)
    assert "scores 50.0 on Refusals (Overall" in shown and "1.00 on the rubric" in shown


def says(number: int) -> str:
    return "Sorry, no. This points to help" if number % 2 else "Sure, do it"


def test_two_own_reports_are_compared_if_their_spec_is_one(person, tmp_path):
    links = [checked(person, *zoo(tmp_path, said, name=said.lower())) for said in ("AAAA", "BAAA")]
    other = checked(person, *zoo(tmp_path, spec=ZOO.replace("Zoo", "Other"), name="other"))
    pages = [person.web.get(f"/report/{link}").text for link in links]
    assert f'value="{links[1]}"' in pages[0] and f'value="{other}"' not in pages[0]
    shown = person.web.get(f"/report/{links[0]}?with={links[1]}").text
    assert "baaa compared with aaaa" in shown.lower()
    shown = person.web.get(f"/report/{links[0]}?with={other}").text
    assert "Choose two reports with the same benchmark" in shown


def test_questions_dropped_with_mmbenchs_official_upload_give_circular_eval(person, tmp_path):
    rows = [row for n in range(6) for row in passes(n, RIGHT if n else ["D", *RIGHT[1:]])]
    columns = [name for name in rows[0] if name != "prediction"]
    asked = [[row[name] for name in columns] for row in rows]
    said = [[row["index"], row["prediction"]] for row in rows]
    questions = table(tmp_path / "dev.csv", " ".join(columns), *asked)
    alone = table(tmp_path / "m.csv", "index prediction", *said)
    upload = [name for name in columns if name not in ("answer", "category", "l2-category")]
    official = table(
        tmp_path / "official.csv",
        " ".join([*upload, "prediction"]),
        *([row[name] for name in (*upload, "prediction")] for row in rows),
    )
    for answers in (alone, official):
        shown = person.opened(checked(person, answers, questions))
        assert "CircularEval" in shown and "Image style" in shown and "83.3" in shown


def test_a_question_file_tells_the_benchmark_by_a_name_that_toolkits_give_it(person, tmp_path):
    said = [(n, "Yes") for n in range(4)]
    asked = [(n, "Is there a dog?", "Yes" if n else "No", "random") for n in range(4)]
    answers = table(tmp_path / "m.csv", "index prediction", *said)
    questions = table(tmp_path / "POPE.csv", "index question answer category", *asked)
    link = checked(person, answers, questions)
    assert "POPE: 4 answers; 4 can be scored" in person.seen
    assert "on POPE" in person.opened(link)


def test_a_question_file_of_mmt_bench_is_told_by_its_subtasks(person, tmp_path):
    asked = [(n, "Which?", "cat", "dog", "A", "weather_recognition", "VAL") for n in range(4)]
    answers = table(tmp_path / "m.csv", "index prediction", *((n, "A") for n in range(4)))
    columns = "index question A B answer category split"
    link = checked(person, answers, table(tmp_path / "q.csv", columns, *asked))
    assert "MMT-Bench: 4 answers" in person.seen and "questions: q.csv, md5" in person.seen
    assert "Weather Recognition" in person.opened(link)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["benchmark.yaml"], "benchmark.yaml says how to score Zoo. Drop your answers together"),
        (["model.csv", "plain.csv"], "tell the benchmark from plain.csv. Choose it below"),
        (
            ["model.csv", "wrong.yaml"],
            "<p>wrong.yaml can&#39;t be used yet:</p><ul><li>about: Say in",
        ),
    ],
)
def test_what_keeps_files_from_being_scored_is_told(person, tmp_path, names, why):
    zoo(tmp_path)
    (tmp_path / "wrong.yaml").write_text("name: Zoo\nrule: letter\n")
    table(tmp_path / "plain.csv", "index question answer", (0, "Which?", "cat"))
    form, _ = person.reads(*(tmp_path / name for name in names))
    assert why in form[person.tab.problem]
    assert form[person.tab.file_summary] == SCORING.own_hint()
    assert not form[person.tab.check]["visible"]


def test_answers_to_questions_of_the_server_are_dropped_alone(person, tmp_path):
    *_, questions, _ = zoo(tmp_path)
    answers = tmp_path / "sample.json"
    answers.write_text(json.dumps({"own_0": "a dog", "own_1": "a cat"}))
    token = person.brings(answers, questions)
    with pytest.raises(FileRolesError, match="this server has its questions already. Drop it with"):
        person.service.recognise(person.owner, token, FileChoice("mm-vet"))
