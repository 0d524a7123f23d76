"""Files with a toolkit's own verdicts: told as what they are, and MM-Vet's grades in them made into a report."""

import csv
import json

import pytest

from arena.io.tables import RowsError
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mm_vet_grades import (
    UNNAMED,
    graded_report,
    grades_for,
    holds_grades,
    read_grades,
)
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample
from scoring.benchmarks.mm_vet_tables import UNREADABLE, score_tables, zeros_sentence
from scoring.benchmarks.predictions import UploadError, read_predictions
from scoring.registry import open_upload
from tests.support.commands import Command

SAMPLE = own_sample()


def put(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    return path


def judged(questions, scores, log="Succeed", **more):
    """Rows as VLMEvalKit's judged MM-Vet file has them."""
    return [
        {
            "index": str(number), "question": one.text, "answer": one.truth, "category": ",".join(one.groups),
            "prediction": f"answer {number}", "score": str(score), "log": log, **more,
        }
        for number, (one, score) in enumerate(zip(questions.questions, scores, strict=False))
    ]  # fmt: skip


@pytest.mark.parametrize(
    "benchmark",
    [
        "RealWorldQA",
        *(pytest.param(one, marks=pytest.mark.soak) for one in ("MMStar", "ScienceQA_TEST")),
    ],
)
def test_the_toolkits_verdicts_are_no_predictions_and_the_right_file_is_named(data, benchmark):
    path = data / "vlmevalkit" / f"vila_8b_{benchmark}_openai_result.xlsx"
    with pytest.raises(RowsError) as refused:
        open_upload(path)
    assert "is a result file of VLMEvalKit" in str(refused.value)
    assert f"Upload vila_8b_{benchmark}.xlsx, which the toolkit wrote before it" in str(
        refused.value
    )
    with pytest.raises(RowsError, match="is a result file of VLMEvalKit"):
        read_predictions(path, SAMPLE)


@pytest.mark.parametrize(
    ("stem", "named"),
    [
        ("m_MMStar_openai_result", "m_MMStar.csv"),
        ("m_MMStar_exact_matching_result", "m_MMStar.csv"),
        ("m_MMStar_gpt4_result", "m_MMStar.csv"),
        ("m_AI2D_TEST_gpt-4o-mini_result", "m_AI2D_TEST.csv"),
        ("m_TextVQA_VAL_result", "the file of predictions"),
        ("result", "the file of predictions"),
    ],
)
def test_the_file_to_upload_is_named_only_behind_a_known_judge(tmp_path, stem, named):
    row = {"index": "0", "question": "Which?", "A": "cat", "B": "dog", "answer": "A"}
    path = put(tmp_path / f"{stem}.csv", [{**row, "prediction": "A", "hit": "1", "log": "x"}])
    with pytest.raises(RowsError, match=f"Upload {named}, which"):
        open_upload(path)


def test_multiple_choice_with_an_ability_of_mm_vet_holds_no_grades_of_mm_vet(tmp_path):
    doc = {"index": 0, "question": "Which?", "A": "cat", "B": "dog", "answer": "B"}
    row = {"doc_id": 0, "doc": {**doc, "category": "ocr"}, "filtered_resps": ["B"]}
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({**row, "gpt_eval_score": {"score": 1.0}}))
    with pytest.raises(RowsError, match="holds lmms-eval's samples with its judge's scores"):
        open_upload(path)


def test_the_toolkits_mm_vet_grades_give_the_tables_of_the_authors_file(tmp_path, data):
    """GPT-4's real grades in VLMEvalKit's columns: the same tables as the authors' file of them."""
    questions = load_mm_vet(data / "mm-vet")
    authors = read_grades(data / "mm-vet" / "llava-v1.5-7b_gpt-4-0613-grade-1runs.json")
    scores = [authors.grades[one.id][0].score for one in questions.questions]
    path = put(tmp_path / "llava_MMVet_gpt-4-turbo.tsv", judged(questions, scores))
    assert holds_grades(path) and open_upload(path) is None
    report = graded_report(grades_for(path, questions), questions)
    wanted = score_tables(graded_report(authors, questions))
    assert score_tables(report)[0].lines == wanted[0].lines
    assert (report.title, report.judge.model) == ("llava", "gpt-4-turbo")
    assert report.rows[3].prediction == "answer 3"
    assert "VLMEvalKit's result file" in MM_VET.note(report)


def test_what_the_toolkits_judge_could_not_score_is_told_from_a_zero(tmp_path):
    rows = judged(SAMPLE, [0.5] * len(SAMPLE.questions))
    rows[0] |= {"score": "0.0", "log": "Try 0: output is great\nAll 5 retries failed.\n"}
    rows[1] |= {"score": ""}
    rows[2] |= {"score": "0.0"}
    path = put(tmp_path / "m.tsv", rows)
    first, second, third, *_ = graded_report(grades_for(path, SAMPLE), SAMPLE).rows
    assert first.grades[0].flags == (UNREADABLE,) and first.grades[0].score == 0.0
    assert second.grades[0].score is None and third.grades[0].flags == ()
    assert first.grades[0].model == UNNAMED
    report = graded_report(grades_for(path, SAMPLE), SAMPLE)
    zeros = "the judge's reply held no score: 1 of 16 grades, id own_0."
    assert zeros in " ".join(one.text for one in MM_VET.caveats(report))
    done = Command(tmp_path)("score", "--benchmark=mm-vet", path, "-o", "sample=true")
    assert zeros in done.out
    for row in rows:
        row |= {"score": "0.0", "log": "Try 0: Failed to parse great.\n"}
    rows[3] |= {"score": "0.5", "log": "Succeed"}
    most = graded_report(grades_for(put(tmp_path / "m.tsv", rows), SAMPLE), SAMPLE)
    assert MM_VET.ungraded_note(most).startswith(
        "No score: the judge's replies could not be read for 15"
    )
    rows[2] |= {"score": "7"}
    with pytest.raises(RowsError, match=r"The score is '7', but must be from 0.0 to 1.0"):
        grades_for(put(tmp_path / "m.tsv", rows), SAMPLE)


def lmms(questions, scores):
    return [
        {
            "doc_id": number,
            "doc": {"question_id": one.id, "question": one.text, "answer": one.truth, "capability": "rec"},
            "filtered_resps": [f"answer {number}"],
            "gpt_eval_score": {"score": score, "eval_model": "gpt-4.1"},
        }
        for number, (one, score) in enumerate(zip(questions.questions, scores, strict=False))
    ]  # fmt: skip


def test_lmms_evals_scores_of_mm_vet_give_a_report(tmp_path):
    scores = [0.1, *[0.7] * (len(SAMPLE.questions) - 1)]
    path = tmp_path / "samples_mmvet.jsonl"
    path.write_text("\n".join(map(json.dumps, lmms(SAMPLE, scores))))
    assert holds_grades(path) and open_upload(path) is None
    report = graded_report(grades_for(path, SAMPLE), SAMPLE)
    assert [row.grades[0].score for row in report.rows] == scores
    assert report.judge.versions == ("gpt-4.1",) and report.rows[1].prediction == "answer 1"
    assert zeros_sentence(grade for row in report.rows for grade in row.grades) == ""
    rows = lmms(SAMPLE, scores)
    rows[2]["gpt_eval_score"] = {"score": 0.0, "eval_model": ""}  # no reply came
    path.write_text("\n".join(map(json.dumps, rows)))
    graded = grades_for(path, SAMPLE).grades.values()
    zeros = zeros_sentence(grade for given in graded for grade in given)
    assert "held no score: 1 of 16 grades" in zeros


@pytest.mark.parametrize(
    ("stem", "title", "judge"),
    [
        ("qwen_MMVet_gpt-4-turbo", "qwen", "gpt-4-turbo"),
        ("qwen_MMVet_chatgpt-0125_score", "qwen", "chatgpt-0125"),
        ("qwen_MMVet_final", "qwen_MMVet_final", UNNAMED),
        ("qwen_MMVet_score", "qwen_MMVet_score", UNNAMED),
        ("qwen_MMVet_run2", "qwen_MMVet_run2", UNNAMED),
    ],
)
def test_a_judge_is_taken_from_a_files_name_only_if_it_is_called_like_one(
    tmp_path, stem, title, judge
):
    path = put(tmp_path / f"{stem}.tsv", judged(SAMPLE, [0.5] * len(SAMPLE.questions)))
    report = graded_report(grades_for(path, SAMPLE), SAMPLE)
    assert (report.title, report.judge.model) == (title, judge)


@pytest.mark.parametrize("empty", [None, "", "nan", {}, {"score": None}, []])
def test_any_of_lmms_evals_rows_may_hold_the_score(tmp_path, empty):
    rows = lmms(SAMPLE, [0.5] * len(SAMPLE.questions))
    for row in rows[:3]:
        row["gpt_eval_score"] = empty
    path = tmp_path / "samples_mmvet.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert holds_grades(path) and open_upload(path) is None
    first, *_, last = graded_report(grades_for(path, SAMPLE), SAMPLE).rows
    assert (first.grades[0].score, last.grades[0].score) == (None, 0.5)
    for row in rows:
        row["gpt_eval_score"] = empty
    path.write_text("\n".join(map(json.dumps, rows)))
    assert not holds_grades(path)


@pytest.mark.parametrize("empty", [None, "", "nan", {}, {"prediction": "A"}])
def test_lmms_evals_samples_without_a_score_are_predictions(tmp_path, empty):
    doc = {"index": 0, "question": "Which?", "A": "cat", "B": "dog", "answer": "B"}
    path = tmp_path / "samples.jsonl"
    row = {"doc_id": 0, "doc": doc, "filtered_resps": ["B"], "gpt_eval_score": empty}
    path.write_text(json.dumps(row))
    assert open_upload(path).file.rows[0].prediction == "B"


def test_lmms_evals_file_name_names_no_judge(tmp_path):
    rows = lmms(SAMPLE, [0.5] * len(SAMPLE.questions))
    for row in rows:
        row["gpt_eval_score"] = 0.5
    path = tmp_path / "samples_mmvet_llava-v1.5-7b.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    report = graded_report(grades_for(path, SAMPLE), SAMPLE)
    assert (report.title, report.judge.model) == ("samples_mmvet_llava-v1.5-7b", UNNAMED)


def test_a_judged_file_of_mm_vet_is_no_predictions_of_another_benchmark(tmp_path):
    path = put(tmp_path / "m.tsv", judged(SAMPLE, [0.5] * len(SAMPLE.questions)))
    with pytest.raises(RowsError, match="is a judged file of VLMEvalKit"):
        open_upload(path, benchmark="gqa")


def test_grades_of_another_benchmark_are_told_and_not_reported(tmp_path):
    rows = [{"index": "0", "question": "Where?", "answer": "up", "prediction": "up", "score": "1.0",
             "log": "Succeed"}]  # fmt: skip
    with pytest.raises(RowsError, match="is a judged file of VLMEvalKit"):
        open_upload(put(tmp_path / "m.tsv", rows))
    sample = {"doc_id": 0, "doc": {"question": "Where?", "answer": "up"}, "filtered_resps": ["up"],
              "gpt_eval_score": 0.5}  # fmt: skip
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(sample))
    with pytest.raises(RowsError, match="holds lmms-eval's samples with its judge's scores"):
        open_upload(path)
    missing = put(tmp_path / "few.tsv", judged(SAMPLE, [0.5]))
    with pytest.raises(UploadError, match="Questions without an answer"):
        graded_report(grades_for(missing, SAMPLE), SAMPLE)


def test_the_command_reports_a_toolkits_grades_and_no_judge_is_asked(tmp_path):
    scores = [0.5] * len(SAMPLE.questions)
    path = put(tmp_path / "m_MMVet_gpt-4-turbo.tsv", judged(SAMPLE, scores))
    done = Command(tmp_path)("score", "--benchmark=mm-vet", path, "-o", "sample=true")
    assert done.code == 0, done.err
    assert "grades by gpt-4-turbo" in done.out
    idle = Command(tmp_path)(
        "score", "--benchmark=mm-vet", path, "-o", "sample=true", "--judge", "j"
    )
    assert idle.code == 2 and "delete the grades to have the answers judged" in idle.err
