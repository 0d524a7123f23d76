"""The results model: arithmetic of tables, and what goes out without loss or danger."""

import csv
import io
import json
import tracemalloc
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.io.csv_text import CELL_LIMIT
from arena.io.strict_json import RowsError
from arena.sheets import as_csv
from scoring.multiple_choice.metrics import Node
from scoring.report import (
    Grade,
    JudgeStamp,
    Question,
    QuestionSet,
    Report,
    Row,
    audit,
    difference,
    file_stem,
    line,
    missing_csv,
    missing_notice,
    read_audit,
    remembered,
    safe_csv,
    scores,
    table,
)
from scoring.score_sheets import line_sheet, tree_sheet
from scoring.serialize import ReportError, read_record, record_json

STAMP = JudgeStamp("judge-1", ("judge-1-0613",), "https://api.example.org/v1", "0" * 64, "strict 1")


def row(name: str, given: list[float | None], prediction: str | None = "said", **more) -> Row:
    question = Question(name, "What?", "that", ("rec",))
    return Row(
        question,
        prediction,
        tuple(Grade(name, run, score) for run, score in enumerate(given)),
        **more,
    )


def report(rows: list[Row], runs: int = 1, **more) -> Report:
    questions = QuestionSet("mm-vet", "MM-Vet", "d", True, tuple(row.question for row in rows))
    return Report(
        "mm-vet",
        questions,
        "hardened",
        STAMP,
        runs,
        False,
        "t",
        "f.json",
        "2026-11-21",
        tuple(rows),
        **more,
    )


def cells(text: list[list[float | None]]) -> np.ndarray:
    return np.array([[np.nan if value is None else value for value in values] for values in text])


# Arithmetic.
def test_a_mean_is_over_questions_then_over_runs():
    found = line("all", cells([[0.5, 1.0], [0.0, 1.0]]))
    assert (found.n, found.unscored, found.mean, found.worst, found.best) == (
        2,
        0,
        62.5,
        62.5,
        62.5,
    )


def test_unscored_grades_stay_out_of_the_mean_and_are_counted_beside_it():
    found = line("all", cells([[1.0, None], [0.5, None], [None, 0.5]]))
    assert (found.n, found.unscored, found.mean) == (3, 3, 62.5)
    assert (found.worst, found.best) == (
        pytest.approx(100 * (1.5 / 3 + 0.5 / 3) / 2),
        pytest.approx(100 * (2.5 / 3) / 2 + 100 * (2.5 / 3) / 2),
    )


def test_nothing_scored_has_no_mean():
    found = line("all", cells([[None, None]]))
    assert (found.mean, found.low, found.high, found.worst, found.best) == (
        None,
        None,
        None,
        0.0,
        100.0,
    )


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=3, max_size=3),
        min_size=1,
        max_size=20,
    )
)
def test_bounds_hold_around_every_mean(values):
    found = line("all", cells(values))
    assert 0 <= found.worst <= found.best <= 100 + 1e-9
    assert found.unscored == sum(value is None for given in values for value in given)
    scored = [[value for value in run if value is not None] for run in zip(*values, strict=True)]
    if any(scored):
        expected = np.mean([100 * np.mean(run) for run in scored if run])
        assert found.mean == pytest.approx(expected)
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.high <= 100 + 1e-9


def test_the_interval_is_of_the_questions_scores_and_always_the_same():
    random = np.random.default_rng(7)
    values = random.integers(0, 11, (218, 5)) / 10
    found = line("all", values)
    assert found == line("all", values)
    spread = 100 * values.mean(axis=1).std() / np.sqrt(218)
    assert found.low is not None and found.high is not None and found.mean is not None
    assert found.low == pytest.approx(found.mean - 1.96 * spread, abs=0.5)
    assert found.high == pytest.approx(found.mean + 1.96 * spread, abs=0.5)


def test_an_interval_of_many_questions_costs_little():
    """Two reports of 31,325 questions are compared by 33 such lines."""
    values = np.random.default_rng(5).integers(-1, 2, 6000).astype(float)
    tracemalloc.start()
    found = difference("all", values.tolist(), [""] * 6000, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
    spread = 100 * values.std() / np.sqrt(6000)
    assert found.low is not None and found.high is not None and found.mean is not None
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * spread, rel=0.01)


@pytest.mark.parametrize("runs", [1, 2])
def test_one_scored_question_beside_unscored_ones_tells_what_is_possible(runs):
    found = line("one scored", cells([[0.1] * runs, *[[None] * runs] * 4]))
    assert (found.mean, found.low, found.high) == pytest.approx((10, 2, 82))


@pytest.mark.parametrize(
    "values", [[[0.0], [1.0]], [[0.0], [1.0], [None]], [[0.0, None], [1.0, None]]]
)
def test_two_scored_questions_have_an_interval_within_what_is_possible(values):
    found = line("two scored", cells(values))
    assert (found.mean, found.low, found.high) == (50, found.worst, found.best) or (
        found.worst == found.best and (found.low, found.high) == (0, 100)
    )


def test_questions_on_one_picture_count_as_less():
    values = np.random.default_rng(3).integers(0, 11, (50, 1)) / 10
    alone = line("one each", values)
    shared = line("five each", values.repeat(5, axis=0), [str(at // 5) for at in range(250)])
    assert (shared.mean, shared.low, shared.high) == pytest.approx(
        (alone.mean, alone.low, alone.high)
    )
    rows = [replace(row(f"{at}", [at % 2]), question=question(at)) for at in range(12)]
    (total,) = table("t", {}, rows, 1).lines
    assert total.low == pytest.approx(line("pictures", cells([[0.0], [1.0]] * 6), PICTURES).low)


PICTURES = [f"{at // 3}.png" for at in range(12)]


def question(at: int) -> Question:
    return Question(str(at), "What?", "that", ("rec",), PICTURES[at])


def test_the_interval_is_of_questions_and_not_of_runs():
    """Five equal runs say no more than one."""
    values = np.random.default_rng(3).integers(0, 11, (50, 1)) / 10
    assert line("five", np.repeat(values, 5, axis=1)).low == pytest.approx(line("one", values).low)


def test_a_table_ends_with_the_total_and_tells_the_runs():
    rows = [row("a", [1.0, 0.0]), row("b", [0.0, 0.5])]
    found = table("t", {"first": rows[:1]}, rows, 2)
    assert [line.name for line in found.lines] == ["first", "total"]
    assert (found.run_totals, found.spread) == ((50.0, 25.0), 12.5)
    empty = table("t", {}, [row("a", [None, None])], 2)
    assert (empty.run_totals, empty.spread) == ((None, None), None)


def test_a_grade_belongs_to_its_run_in_any_order():
    grades = (Grade("a", 2, 0.3), Grade("a", 0, 0.1))
    values = scores([replace(row("a", []), grades=grades)], 3)
    assert np.array_equal(values, [[0.1, np.nan, 0.3]], equal_nan=True)


def test_totals_are_summed_one_question_at_a_time():
    """As MM-Vet's script sums them: to the last bit, and not as `np.sum` does."""
    values = np.random.default_rng(1).integers(0, 11, (218, 1)) / 10
    total = 0.0
    for (value,) in values:
        total += value
    assert total != values.sum()
    assert line("all", values).mean == total / 218 * 100


def test_questions_without_a_prediction_are_named_and_counted():
    few = report([row("a", [1.0]), row("b", [None], prediction=None)])
    assert missing_notice(few) == "No answer to 1 of the 2 questions, which are unscored: b."
    none_of_them = [row(f"v1_{n}", [None], prediction=None) for n in range(1, 23)]
    notice = missing_notice(report(none_of_them[:20]))
    assert notice.endswith(" v1_19, v1_20.")
    notice = missing_notice(report(none_of_them))
    assert notice.startswith(
        "No answer to 22 of the 22 questions, which are unscored: v1_1, v1_2, "
    )
    assert "v1_20 and 2 more. All are in the file -missing.csv." in notice and "v1_21" not in notice
    table_of_missing = missing_csv(few).decode("utf-8-sig").splitlines()
    assert table_of_missing == ['"id","groups","question"', '"b","rec","What?"']


def test_a_sheet_of_lines_says_nothing_where_nothing_is_scored():
    scored = line("ocr", cells([[0.0], [1.0], [1.0]]))
    unscored = line("total", cells([[None]]))
    found = line_sheet("skills", "Skills", [scored, unscored], "Skill", str.upper)
    first, second = csv.DictReader(io.StringIO(as_csv(found)))
    assert first == {
        "name": "OCR",
        "n": "3",
        "mean": repr(scored.mean),
        "mean_low": repr(scored.low),
        "mean_high": repr(scored.high),
        "mean_unscored": "0",
        "mean_least": "",
        "mean_most": "",
    }
    empty = {"mean": "", "mean_low": "", "mean_high": ""}
    bounds = {"mean_unscored": "1", "mean_least": "0.0", "mean_most": "100.0"}
    assert second == {"name": "TOTAL", "n": "1", **empty, **bounds}
    only = line_sheet("skills", "Skills", [scored], "Skill")
    assert [column.key for column in only.columns] == ["name", "n", "mean"]


def test_trees_of_similar_names_have_columns_of_their_own():
    right = line("All", cells([[1.0], [1.0], [0.0]]))
    wrong = line("All", cells([[0.0], [0.0], [1.0]]))
    names = ("Score", "score", "Score low", "score_", "n", "n_")
    trees = {name: Node(right if name == "Score" else wrong, "overall", ()) for name in names}
    sheet = tree_sheet("by-topic", "By topic", trees, "Topic")
    (row,) = sheet.rows
    columns = sheet.columns[2:]
    assert [row[column.key] for column in columns] == [right.mean, *[wrong.mean] * 5]
    assert row["score_low"] == right.low and row["n"] == right.n


# Out without loss.
TEXT = st.text(alphabet=st.characters(exclude_categories=[]), max_size=12)
GRADES = st.builds(
    Grade,
    TEXT,
    st.integers(0, 9),
    st.one_of(st.none(), st.floats(0, 1)),
    TEXT,
    st.lists(TEXT, max_size=2).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
    TEXT,
)
QUESTIONS = st.builds(Question, TEXT, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple), TEXT)
ROWS = st.builds(
    Row,
    QUESTIONS,
    st.one_of(st.none(), TEXT),
    st.lists(GRADES, max_size=3).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
)


@settings(deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=4), st.lists(GRADES, max_size=2))
def test_reports_and_audits_come_back_whole(rows, canaries):
    """Half surrogates and NUL too, which a judge may reply and no database stores as they are."""
    whole = report(rows, 3, canaries=tuple(canaries))
    stored = record_json(whole)
    assert read_record(Report, stored) == whole
    assert stored.isascii() and "\0" not in stored
    head, *lines = map(json.loads, audit(whole).decode("ascii").splitlines())
    assert read_record(Report, json.dumps({**head, "rows": lines})) == whole


def test_an_audit_is_read_back(tmp_path):
    whole = report([row("a", [1.0, None]), row("b", [], prediction=None)], 2)
    (tmp_path / "report-audit.jsonl").write_bytes(audit(whole))
    assert read_audit(tmp_path / "report-audit.jsonl") == whole


@pytest.mark.parametrize("score", [1.5, -0.1, float("nan"), 1e300])
def test_an_audit_with_a_score_out_of_the_scale_is_refused(tmp_path, score):
    whole = report([row("a", [1.0]), row("b", [score])], 1)
    (tmp_path / "report-audit.jsonl").write_bytes(audit(whole))
    with pytest.raises(RowsError, match="report-audit.jsonl"):
        read_audit(tmp_path / "report-audit.jsonl")


@pytest.mark.parametrize(
    "text", ["", "1", "[]", "{}\n", '{"benchmark": "mm-vet"}\n', "[" * 100_000]
)
def test_what_is_no_audit_is_refused_by_the_file_s_name(text, tmp_path):
    (tmp_path / "other.jsonl").write_text(text)
    with pytest.raises(
        RowsError, match="other.jsonl.*This isn't the -audit.jsonl of a judged MM-Vet report"
    ):
        read_audit(tmp_path / "other.jsonl")


def test_a_report_of_whole_numbers_comes_back():
    whole = report([row("a", [1, 0])], 2)
    assert read_record(Report, record_json(whole)) == whole


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "soft"},
        {"runs": "5"},
        {"surprise": 1},
        {"rows": [{"question": None}]},
        {"judge": {"model": "m"}},
        {"rows": [{**asdict(row("a", [1.0])), "prediction": 1}]},
    ],
)
def test_what_is_no_report_is_refused(change):
    with pytest.raises(ReportError):
        read_record(
            Report, json.dumps({**json.loads(record_json(report([row("a", [1.0])]))), **change})
        )


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"benchmark": "mm-vet"}', "1" * 5_000, "[" * 100_000]
)
def test_a_broken_report_is_refused(text):
    with pytest.raises(ReportError):
        read_record(Report, text)


def test_a_stamp_names_the_models_that_replied():
    replied = STAMP.with_versions(["judge-1-0613", "judge-1-0314", "", "judge-1-0613"])
    assert replied == replace(STAMP, versions=("judge-1-0314", "judge-1-0613"))


# Out without danger.
@pytest.mark.parametrize(
    ("file", "stem"),
    [
        ("answers.v2.json", "answers.v2"),
        ("../../etc/pass wd.csv", "pass wd"),
        (".hidden", "_hidden"),
        ('a"b<c>|d.csv', "a_b_c__d"),
        ("", "_"),
        ("回" * 50 + ".csv", "回" * 33),
    ],
)
def test_downloads_are_named_after_the_file(file, stem):
    assert file_stem(file) == stem


def spreadsheet(whole: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(safe_csv(whole).decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1+1",
        "\n=1",
        "＝1+1",
        "\ufeff=1",
        "\0=1",
        "-5<OR>5",
        "= 1",
    ],
)
def test_no_cell_can_become_a_formula(cell):
    grade = Grade(cell, 0, None, cell, (cell,), (cell, cell))
    question = Question(cell, cell, cell, (cell,))
    (found,) = spreadsheet(report([Row(question, cell, (grade,), (cell,))]))
    assert all(value == "" or value.startswith("'") for value in found.values()), found
    assert "\0" not in safe_csv(report([row("a", [1.0], prediction=cell)])).decode("utf-8-sig")


def test_the_spreadsheet_shows_every_run_and_keeps_honest_text():
    rows = [
        row(
            "v1_0",
            [0.5, None],
            prediction='a "quoted", text\nof two lines | 1.0',
            flags=("forged row",),
        ),
        row("v1_1", [], prediction=None),
    ]
    first, second = spreadsheet(report(rows, 2))
    assert list(first) == [
        "id", "groups", "question", "truth", "prediction", "score_1", "score_2", "flags", "reasons", "replies",
    ]  # fmt: skip
    assert (first["score_1"], first["score_2"], first["flags"]) == ("0.5", "", "forged row")
    assert first["prediction"] == 'a "quoted", text\nof two lines | 1.0'
    assert (second["prediction"], second["score_1"]) == ("", "")


def test_a_cell_longer_than_excel_holds_is_cut_with_a_mark():
    (found,) = spreadsheet(report([row("a", [1.0], prediction="x" * 40_000)]))
    assert len(found["prediction"]) == CELL_LIMIT and found["prediction"].endswith(
        "[cut: the JSONL has it whole]"
    )


def test_half_a_surrogate_does_not_stop_the_spreadsheet():
    assert b"?" in safe_csv(report([row("a", [1.0], prediction="\ud800")]))


def test_a_remembered_function_keeps_the_results_of_eight_reports():
    calls = []
    remember = remembered(calls.append)
    reports = [report([row("a", [1.0])]) for _ in range(9)]
    for known in (*reports[:8], *reports[:8]):
        remember(known)
    assert len(calls) == 8, "each is asked for once"
    remember(reports[8])
    remember(reports[8])
    remember(reports[0])
    assert len(calls) == 10, "a ninth takes the place of the oldest"
