"""MM-Vet's grade files: grades already paid for become tables, an audit and a baseline again, with no judge."""

import json

import pytest

from arena.io.tables import RowsError
from scoring.benchmarks.article import ALL, paired_lines
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mm_vet_files import authors_files
from scoring.benchmarks.mm_vet_grades import graded_report, grades_for, holds_grades, read_grades
from scoring.benchmarks.mm_vet_questions import load_mm_vet, own_sample
from scoring.benchmarks.mm_vet_tables import score_tables, ungraded_note
from scoring.benchmarks.predictions import UploadError, read_predictions
from scoring.report import audit
from tests.support.commands import Command

SAMPLE = own_sample()
IDS = [question.id for question in SAMPLE.questions]


def graded(*scores: float | None, content: str | None = None) -> dict:
    contents = [str(score) if content is None else content for score in scores]
    return {"model": ["judge-1"] * len(scores), "content": contents, "score": list(scores)}


def put(folder, entries: dict | list, name: str = "m_judge-1-grade-2runs.json"):
    path = folder / name
    path.write_text(json.dumps(entries))
    return path


WHOLE = {id: graded(0.5, 1.0) for id in IDS}


@pytest.fixture
def real(data):
    name = "llava-v1.5-7b_gpt-4-0613-grade-1runs.json"
    return read_grades(data / "mm-vet" / name), load_mm_vet(data / "mm-vet"), data / "mm-vet"


def test_the_real_grades_of_a_model_give_its_tables(real):
    file, questions, folder = real
    report = graded_report(file, questions)
    capabilities, _ = score_tables(report)
    means = {line.name: round(line.mean, 1) for line in capabilities.lines}
    wanted = {
        "rec": 35.5,
        "ocr": 23.4,
        "know": 16.4,
        "gen": 21.2,
        "spat": 25.9,
        "math": 11.5,
        "total": 30.7,
    }
    assert means == wanted and (report.title, report.judge.model) == ("llava-v1.5-7b", "gpt-4-0613")
    assert not report.missing and not ungraded_note(report)
    original = json.loads((folder / "llava-v1.5-7b_gpt-4-0613-grade-1runs.json").read_text())
    again = json.loads(authors_files(report)["llava-v1.5-7b_gpt-4-0613-grade-1runs.json"])
    assert again == original, "what was read is what is written"


def test_the_answers_can_stand_beside_their_grades_in_the_audit(real):
    file, questions, folder = real
    answers = read_predictions(folder / "llava-v1.5-7b.json", questions)
    held = [row.prediction for row in graded_report(file, questions, answers=answers).rows]
    assert held == [one.text for one in answers.predictions]
    assert json.loads(audit(graded_report(file, questions)).splitlines()[1])["prediction"] is None


def test_runs_are_read_and_what_the_script_could_not_read_is_told_from_a_zero(tmp_path):
    entries = {
        **WHOLE,
        IDS[0]: graded(0.0, 0.0, content="Correctness: high"),
        IDS[1]: graded(None, 0.25),
    }
    report = graded_report(read_grades(put(tmp_path, entries)), SAMPLE)
    flags = [[grade.flags for grade in row.grades] for row in report.rows[:3]]
    assert flags == [[("unreadable",)] * 2, [("unreadable",), ("off the 0.1 grid",)], [(), ()]]
    assert report.runs == 2 and score_tables(report)[0].lines[-1].unscored == 1


@pytest.mark.parametrize(
    ("id", "entry", "told"),
    [
        (
            IDS[0],
            {**graded(0.5, 1.0), "content": ["0.5"]},
            "Its lists model, content and score have different lengths",
        ),
        (IDS[0], graded(0.5), "It has 1 of 2 scores. Add the missing ones."),
        (IDS[0], graded(0.5, 1.5), "A score is 1.5, but must be from 0.0 to 1.0. Correct it."),
        (
            IDS[0],
            {**graded(0.5, 1.0), "score": ["0.5", "1.0"]},
            "It needs three lists: model, content and score.",
        ),
        (
            IDS[0],
            {**graded(0.5, 1.0), "score": 0.5},
            "It needs three lists: model, content and score.",
        ),
        (IDS[0], {"model": ["a"], "score": [1.0]}, "three lists: model, content and score"),
        (
            IDS[0],
            graded(0.5, 1.0, content="0.5"),
            r"The score is 1.0, but its reply says '0.5'",
        ),
        (
            IDS[0],
            {**graded(0.5, 1.0), "model": ["j", ""]},
            "It needs three lists: model, content and score.",
        ),
        (
            IDS[0],
            graded(),
            "Its lists model, content and score have different lengths or are empty",
        ),
    ],
)
def test_a_wrong_grade_is_named_with_its_row_and_question(tmp_path, id, entry, told):
    with pytest.raises(RowsError, match=told) as caught:
        read_grades(put(tmp_path, {**WHOLE, id: entry}))
    assert (caught.value.file, caught.value.column) == (
        "m_judge-1-grade-2runs.json",
        id,
    ) and caught.value.row


def test_entries_that_are_no_members_of_an_object_are_refused_for_want_of_an_id(tmp_path):
    entries = [{"id": id, **entry} for id, entry in WHOLE.items()]
    for content in (entries, {"data": entries}):
        with pytest.raises(RowsError, match="isn't an entry under a question's id"):
            read_grades(put(tmp_path, content))


def test_a_score_that_python_alone_reads_is_no_score(tmp_path):
    path = tmp_path / "m_MMVet_gpt-4.tsv"
    path.write_text(f"index\tprediction\tscore\tlog\n{IDS[0]}\tx\t0_1\tSucceed\n")
    with pytest.raises(RowsError, match="The score is '0_1', but must be from 0.0 to 1.0"):
        grades_for(path, SAMPLE)


def test_grades_of_other_questions_or_too_few_are_named(tmp_path):
    some = {id: WHOLE[id] for id in IDS[1:]}
    with pytest.raises(UploadError, match=r"Questions without an answer: 1 \(own_0\)\. Add them"):
        graded_report(read_grades(put(tmp_path, some)), SAMPLE)
    report = graded_report(read_grades(put(tmp_path, some)), SAMPLE, "unscored")
    assert report.missing == (IDS[0],) and all(
        name.startswith(("partial_m", "m_16questions_partial_")) for name in MM_VET.files(report)
    )
    with pytest.raises(UploadError, match=r"score the file with --benchmark mm-vet-v2"):
        graded_report(read_grades(put(tmp_path, {**WHOLE, "v2_1": graded(0.5, 1.0)})), SAMPLE)


def test_two_models_are_compared_over_the_questions_that_both_have(tmp_path):
    one = graded_report(read_grades(put(tmp_path, WHOLE)), SAMPLE)
    lower = {id: graded(0.25, 0.25) for id in IDS[4:]}
    other = graded_report(read_grades(put(tmp_path, lower)), SAMPLE, "unscored")
    found, *_ = paired_lines(MM_VET.scored_answers(other), MM_VET.scored_answers(one))
    total = found.difference
    assert (total.name, total.n, total.mean) == (ALL, len(IDS) - 4, 50.0)
    assert 0 < total.low < 50 < total.high < 100, "twelve equal differences are no proof of more"


def test_grades_are_told_from_answers(tmp_path):
    assert holds_grades(put(tmp_path, WHOLE)) and not holds_grades(
        put(tmp_path, {IDS[0]: "an answer"})
    )
    assert not holds_grades(put(tmp_path, {IDS[0]: {"model": "m", "text": "an answer"}}))
    assert holds_grades(put(tmp_path, {IDS[0]: "an answer", **{id: graded(0.5) for id in IDS[1:]}}))


def test_the_command_needs_no_judge_and_compares(tmp_path):
    command = Command(tmp_path)
    file = put(tmp_path, WHOLE)
    other = put(tmp_path, {id: graded(0.5, 0.5) for id in IDS}, "n_judge-2-grade-2runs.json")
    done = command("score", "--benchmark=mm-vet", file, "-o", "sample=true", "--against", other)
    assert done.code == 0, done.err
    said = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("Total 16 75.0 [") for line in said)
    assert any(line.startswith("All questions 16 50.0 75.0 +25.0 [") for line in said)
    assert "m_judge-1-grade-2runs-against-n_judge-2-grade-2runs-comparison.csv" in command.files()
    for words, told in (
        ("--judge j", "--judge"),
        ("-o runs=5", "-o runs"),
        ("--protocol paper", "--protocol"),
        ("--batch -o samples=true", "--batch, -o samples"),
    ):
        done = command("score", "--benchmark=mm-vet", file, "-o", "sample=true", *words.split())
        assert (
            done.code == 2
            and f"already has grades, so nothing is judged. Leave out {told}, or"
            in " ".join(done.err.split())
        )
    answers = put(tmp_path, {id: "x" for id in IDS}, "answers.json")
    assert (
        "Choose a judge with --judge MODEL."
        in command("score", "--benchmark=mm-vet", answers, "-o", "sample=true").err
    )


def test_of_grades_of_all_questions_a_subset_takes_its_own_and_counts_the_others(tmp_path):
    command, file = Command(tmp_path), put(tmp_path, {**WHOLE, IDS[0]: graded(0.0, 0.0)})
    other = put(tmp_path, {id: graded(0.25, 0.25) for id in IDS}, "n_judge-2-grade-2runs.json")
    few = put(tmp_path, IDS[:2], "few.json")
    answers = put(tmp_path, {id: f"said of {id}" for id in IDS}, "answers.json")
    done = command(
        "score",
        "--benchmark=mm-vet",
        file,
        "-o",
        "sample=true",
        "-o",
        f"subset={few}",
        "--against",
        other,
        "-o",
        f"answers={answers}",
    )
    assert done.code == 0, done.err
    assert f"grades of questions outside the subset, left out: {len(IDS) - 2}" in done.out
    said = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith("Total 2 37.5 [") for line in said)
    assert any(line.startswith("All questions 2 25.0 37.5 +12.5 [") for line in said)
    assert "n_judge-2-grade-2runs.json: grades of questions outside" in done.out, (
        "those compared with too"
    )
    only = put(tmp_path, {IDS[5]: graded(0.5)}, "o_judge-2-grade-1runs.json")
    done = command(
        "score",
        "--benchmark=mm-vet",
        only,
        "-o",
        "sample=true",
        "-o",
        f"subset={few}",
        "-o",
        "missing=unscored",
    )
    assert done.code == 2 and "o_judge-2-grade-1runs.json: It has no grades of" in done.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"v1_9999": "x"},
            "Ids that are not in Stereoscope's own sample, not MM-Vet: 1 (v1_9999). Correct",
        ),
        ({IDS[0]: None}, f"Questions without an answer: 1 ({IDS[0]}). Add them"),
        ("twice", f"Ids that are there more than once: 1 ({IDS[0]}). Keep one of each."),
    ],
)
def test_answers_beside_grades_are_held_to_the_questions_as_everywhere(change, told, tmp_path):
    said = {id: "x" for id in IDS} | (change if isinstance(change, dict) else {})
    rows = [{"id": id, "prediction": text} for id, text in said.items() if text]
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps(row) + "\n" for row in rows + (rows[:1] if change == "twice" else []))
    )
    done = Command(tmp_path)(
        "score",
        "--benchmark=mm-vet",
        put(tmp_path, WHOLE),
        "-o",
        "sample=true",
        "-o",
        f"answers={answers}",
    )
    assert done.code == 2 and f"answers.jsonl: {told}" in done.err, done


def test_an_answer_without_a_grade_leaves_the_report_partial(tmp_path):
    some = {id: WHOLE[id] for id in IDS[1:]}
    answers = read_predictions(put(tmp_path, {id: "x" for id in IDS}, "answers.json"), SAMPLE)
    report = graded_report(read_grades(put(tmp_path, some)), SAMPLE, "unscored", answers=answers)
    assert report.missing == (IDS[0],) and [row.prediction for row in report.rows] == [
        None,
        *["x"] * (len(IDS) - 1),
    ]
