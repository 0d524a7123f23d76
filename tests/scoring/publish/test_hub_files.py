"""Files for the Hub, made of reports: the score, how it came about, and a record with its rows."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from scoring.benchmarks.mm_vet import MM_VET, prompt_digest
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.multiple_choice.extract import PROMPTS
from scoring.publish.every_eval import Evaluation, every_eval_zip, judge_prompt
from scoring.publish.hub_files import NOBODY_ELSE, PublishError, hub_score, is_open
from scoring.registry import open_upload
from scoring.report import JudgeStamp
from scoring.specs.schema import read_spec
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.published_questions import checked_report, published_questions
from tests.support.question_files import circular

URL = "https://arena.example/r/llava-mm-vet-3f2a"
SCHEMAS = Path(__file__).parents[2] / "golden" / "every_eval_ever"
ABOUT = Evaluation("llava-hf/llava-1.5-13b-hf", "llava-mm-vet-3f2a", URL)

ANIMALS = b"""
name: Animals
about: Which animal is in the picture.
rule:
  - {when: {kind: letters}, rule: letter}
"""


def files(report, about=ABOUT) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(every_eval_zip(report, about))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def validator(name: str) -> Draft7Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert schema["version"] == "0.3.0"
    return Draft7Validator(schema)


def checked(report, about=ABOUT) -> tuple[dict, list[dict]]:
    """The record and the rows of a report, which fit the schemas and each other."""
    (record_name, content), (rows_name, lines) = files(report, about).items()
    record = json.loads(content)
    rows = [json.loads(line) for line in lines.splitlines()]
    assert [*validator("eval").iter_errors(record)] == []
    assert [
        error for row in rows for error in validator("instance_level_eval").iter_errors(row)
    ] == []
    detailed = record["detailed_evaluation_results"]
    assert detailed["file_path"] == rows_name == record_name.replace(".json", "_samples.jsonl")
    assert detailed["total_rows"] == len(rows)
    assert detailed["checksum"] == hashlib.sha256(lines).hexdigest()
    assert {row["evaluation_id"] for row in rows} == {record["evaluation_id"]}
    for result in record["evaluation_results"]:
        metric = result["metric_config"]
        assert metric["min_score"] <= result["score_details"]["score"] <= metric["max_score"]
    return record, rows


class TestScore:
    def test_of_mm_vet(self):
        score = hub_score(mm_vet_report(), URL)
        assert score.path == ".eval_results/stereoscope_mm-vet_paper.yaml"
        assert (score.value, score.figure, score.date) == (62.5, "total", "2026-11-21")
        assert score.notes == "paper protocol; judge gpt-4-0613, 1 run; n 60; 95% 58.9-65.3"
        assert (score.dataset, score.task, score.metric) == (
            "whyu/mm-vet",
            "mm-vet",
            "mm-vet.score",
        )

    def test_of_rules(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        score = hub_score(checked_report(tmp_path / "questions"), URL)
        assert score.path == ".eval_results/stereoscope_mmbench-dev-en-v1.0_strict.yaml"
        assert (score.value, score.figure, score.metric) == (
            100.0,
            "CircularEval",
            "mmbench.accuracy",
        )
        assert score.notes == "strict protocol; n 5; 95% 56.6-100.0; in percent"

    def test_a_judges_name_stays_one_short_line(self):
        judge = replace(mm_vet_report().judge, versions=("a\nb\u202e" + "c" * 200,))
        notes = hub_score(mm_vet_report(judge=judge), URL).notes
        assert "judge a b" in notes
        assert len(notes) < 150

    @pytest.mark.parametrize("address", [
        "http://127.0.0.1:7860/r/x", "http://localhost/r/x", "http://[::1]:7860/r/x", "http://192.168.1.7:7860/r/x",
        "http://arena/r/x", "http://arena.local/r/x", "http://2130706433/r/x", "http://0x7f.1/r/x", "http://a.localhost./r/x",
        "http://[fe80::1]/r/x", "https://[x/r/x", "/r/x",
    ])  # fmt: skip
    def test_an_address_that_nobody_else_can_open_is_no_source(self, address):
        assert not is_open(address)
        with pytest.raises(PublishError, match=NOBODY_ELSE):
            hub_score(mm_vet_report(), address)
        with pytest.raises(PublishError, match=NOBODY_ELSE):
            every_eval_zip(mm_vet_report(), replace(ABOUT, url=address))

    def test_a_refused_report_is_no_file(self):
        versions = replace(mm_vet_report().judge, versions=("gpt-4-0314", "gpt-4-0613"))
        report = mm_vet_report(judge=versions)
        for make in (lambda: hub_score(report, URL), lambda: every_eval_zip(report, ABOUT)):
            with pytest.raises(PublishError, match=r"Several judges gave these grades"):
                make()


class TestEveryEvalEver:
    def test_a_judged_report(self):
        digest = prompt_digest("paper", MM_VET.wording)
        report = mm_vet_report(judge=replace(mm_vet_report().judge, prompt=digest))
        record, rows = checked(report)
        assert record["evaluation_id"] == "stereoscope-mm-vet/llava-hf/llava-1.5-13b-hf/1795262400"
        names = [result["evaluation_name"] for result in record["evaluation_results"]]
        assert (names[0], len(names), len(rows)) == ("MM-Vet", 7, 60)
        scoring = record["evaluation_results"][0]["metric_config"]["llm_scoring"]
        assert scoring["input_prompt"] == MM_VET.wording.paper
        assert record["source_metadata"]["evaluator_relationship"] == "third_party"
        assert not any("What is" in json.dumps(row) or "truth" in json.dumps(row) for row in rows)
        assert rows[0]["input"]["raw"].startswith("sha256:")
        assert "10.7.7.7" not in json.dumps(record)

    def test_the_prompt_is_that_of_the_judged_questions(self, tmp_path):
        """A row that no case of the rule fits stands before it, and has none."""
        cells = {"kind": "letters", "answer": "A", "prediction": "?"}
        english = {"index": "1", "question": "What is it?", "A": "a dog", "B": "a cat", **cells}
        chinese = {"index": "2", "question": "图中是什么动物？", "A": "狗", "B": "猫", **cells}
        path = tmp_path / "answers.json"
        path.write_text(json.dumps([{**english, "kind": "other"}, chinese]))
        benchmark = spec_benchmark(OWN, read_spec(ANIMALS))
        report = open_upload(path, benchmark=benchmark).report("strict")
        other, judged = report.rows
        report = replace(report, rows=(other, replace(judged, replies=("A",))))
        assert judge_prompt(report) == PROMPTS["Chinese"]

    def test_texts_and_the_own_model_where_they_are_chosen(self):
        about = replace(ABOUT, with_texts=True, relationship="first_party")
        record, rows = checked(mm_vet_report(), about)
        assert record["source_metadata"]["evaluator_relationship"] == "first_party"
        assert rows[0]["input"] == {"raw": "What is 0?", "reference": ["truth 0"]}
        assert rows[0]["output"] == {"raw": ["answer 0"]}
        unknown = record["evaluation_results"][0]["metric_config"]["llm_scoring"]["input_prompt"]
        assert unknown.startswith("Not known")

    def test_shares_are_shares_of_one(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        said = circular(wrong={(3, 1)})
        record, rows = checked(checked_report(tmp_path / "questions", said))
        result = record["evaluation_results"][0]
        assert result["score_details"]["score"] == 0.8
        assert (result["metric_config"]["max_score"], result["metric_config"]["metric_unit"]) == (
            1.0,
            "proportion",
        )
        assert "llm_scoring" not in result["metric_config"]
        assert [row["evaluation"]["is_correct"] for row in rows].count(False) == 1

    def test_rows_that_rules_read_are_not_the_judges(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        report = checked_report(tmp_path / "questions")
        first, *others = report.rows
        decision = replace(first.decision, replies=("A",))
        judge = JudgeStamp("judge", (), "", "", "")
        rows = (replace(first, decision=decision), *others)
        _, answers = checked(replace(report, judge=judge, rows=rows))
        methods = [row["answer_attribution"][0]["extraction_method"] for row in answers]
        assert sorted(methods) == ["llm_judge", *["rules"] * 4]
        assert methods[0] == "llm_judge"

    def test_half_a_surrogate_pair_is_no_error(self):
        report = mm_vet_report(title="LLaVA \ud83d")
        rows = (replace(report.rows[0], prediction="\ud83d"), *report.rows[1:])
        for has_texts in (False, True):
            checked(replace(report, rows=rows), replace(ABOUT, with_texts=has_texts))
        assert hub_score(replace(report, rows=rows), URL).value == 62.5

    def test_a_second_download_is_the_same(self):
        report = mm_vet_report()
        assert every_eval_zip(report, ABOUT) == every_eval_zip(report, ABOUT)
        other = files(report, replace(ABOUT, slug="other"))
        assert files(report).keys().isdisjoint(other)
