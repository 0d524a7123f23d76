"""MM-Vet's tables and files: the paper's counts, and what the authors' script prints, to the last decimal."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.benchmarks.mm_vet import prompt_digest
from scoring.benchmarks.mm_vet_files import authors_files
from scoring.benchmarks.mm_vet_questions import CAPABILITIES, load_mm_vet
from scoring.benchmarks.mm_vet_tables import UNREADABLE, score_tables, scored_only
from scoring.report import Grade, JudgeStamp, Question, QuestionSet, Report, Row

EQUATION = Question("v1_0", "What is x in the equation?", "-1<AND>-5", ("ocr", "math"))


def report(questions, scores, file="my model.json", judge="gpt-4-0613", official=True) -> Report:
    """Return a report with a row of scores for each question; None for the whole row is a missing prediction."""
    rows = tuple(
        Row(
            question,
            None if given is None else "said",
            tuple(
                Grade(question.id, place, score, replies=(f"{score} |",), model="gpt-4-0613")
                for place, score in enumerate(given or ())
            ),
        )
        for question, given in zip(questions, scores, strict=True)
    )
    runs = next((len(given) for given in scores if given), 1)
    stamp = JudgeStamp(
        judge, ("gpt-4-0613",), "https://api.example.org/v1", prompt_digest("paper"), "p"
    )
    source = QuestionSet("mm-vet", "MM-Vet", "d", official, tuple(questions))
    return Report(
        "mm-vet", source, "paper", stamp, runs, False, "t", file, "2026-11-21T12:00:00+00:00", rows
    )


def script_totals(rows: list[tuple[tuple[str, ...], list[float]]], runs: int) -> dict[str, str]:
    """Return what the authors' rule prints for each capability and integration: sums over questions, run by run."""
    groups = [
        ("total", lambda caps: True),
        *((name, lambda caps, name=name: name in caps) for name in CAPABILITIES),
    ]
    for wanted in {frozenset(caps) for caps, _ in rows}:
        name = "_".join(cap for cap in CAPABILITIES if cap in wanted)
        groups.append((f"int {name}", lambda caps, wanted=wanted: frozenset(caps) == wanted))
    printed = {}
    for name, belongs in groups:
        sums, count = [0.0] * runs, 0
        for caps, scores in rows:
            if belongs(caps):
                count += 1
                for place in range(runs):
                    sums[place] += scores[place]
        if count:
            percent = np.array(sums) / count * 100
            printed[name] = str(float(round(percent.mean(), 1)))
            if name == "total":
                printed["std"] = str(float(round(percent.std(), 1)))
                printed["runs"] = str([float(total) for total in np.round(percent, 1)])
    return printed


def read_csv(raw: bytes) -> tuple[list[str], list[str]]:
    header, row = csv.reader(io.StringIO(raw.decode("utf-8")))
    return header, row


def test_the_golden_of_the_script():
    groups = (("rec",), ("rec", "ocr"), ("ocr", "math", "spat"))
    questions = [Question(f"v1_{place}", "q", "t", caps) for place, caps in enumerate(groups)]
    capabilities, _ = score_tables(report(questions, [[0.5] * 5, [0.0] * 5, [1.0] * 5]))
    assert {line.name: line.mean for line in capabilities.lines} == pytest.approx(
        {"rec": 25.0, "ocr": 50.0, "spat": 100.0, "math": 100.0, "total": 50.0}
    )
    assert capabilities.spread == 0.0


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_files_hold_the_totals_of_the_script_to_the_last_decimal(data):
    runs = data.draw(st.integers(1, 6))
    caps = st.lists(st.sampled_from(CAPABILITIES), min_size=1, max_size=4, unique=True).map(tuple)
    score = st.one_of(
        st.integers(0, 10).map(lambda tenth: tenth / 10), st.floats(0, 1), st.just(-0.0)
    )
    drawn = data.draw(
        st.lists(
            st.tuples(caps, st.lists(score, min_size=runs, max_size=runs)), min_size=1, max_size=30
        )
    )
    questions = [
        Question(f"v1_{place}", "q", "t", groups) for place, (groups, _) in enumerate(drawn)
    ]
    expected = script_totals(drawn, runs)
    _, capabilities, integrations = authors_files(
        report(questions, [scores for _, scores in drawn])
    ).values()
    for raw, prefix in ((capabilities, ""), (integrations, "int ")):
        header, row = read_csv(raw)
        printed = dict(zip(header[1:], row[1:], strict=True))
        assert {name: printed[name] for name in ("total", "std", "runs")} == {
            name: expected[name] for name in ("total", "std", "runs")
        }
        for name in header[1:-3]:
            assert printed[name] == expected[prefix + name]


def test_the_papers_counts_and_order(data):
    questions = load_mm_vet(data / "mm-vet").questions
    whole = report(questions, [[0.5] * 5 for _ in questions])
    capabilities, integrations = score_tables(whole)
    assert [(line.name, line.n) for line in capabilities.lines] == [
        ("rec", 150), ("ocr", 96), ("know", 84), ("gen", 80), ("spat", 75), ("math", 26), ("total", 218),
    ]  # fmt: skip
    assert [(line.name, line.n) for line in integrations.lines] == [
        ("rec_know_gen", 62), ("rec", 37), ("ocr_spat", 26), ("ocr_spat_math", 14), ("rec_spat", 12), ("ocr", 12),
        ("ocr_math", 11), ("rec_know", 9), ("rec_ocr_know_gen", 8), ("rec_ocr_gen_spat", 8), ("rec_ocr_spat", 7),
        ("rec_ocr", 4), ("ocr_know_spat", 3), ("rec_know_spat", 2), ("ocr_gen_spat", 2), ("rec_ocr_spat_math", 1),
        ("total", 218),
    ]  # fmt: skip
    assert {line.mean for table in (capabilities, integrations) for line in table.lines} == {50.0}
    grades, cap_score, cap_int_score = authors_files(whole).values()
    assert read_csv(cap_score)[0] == [
        "",
        "rec",
        "ocr",
        "know",
        "gen",
        "spat",
        "math",
        "total",
        "std",
        "runs",
    ]
    assert len(read_csv(cap_int_score)[0]) == 1 + 16 + 3
    assert read_csv(cap_score)[1][-3:] == ["50.0", "0.0", "[50.0, 50.0, 50.0, 50.0, 50.0]"]
    assert len(json.loads(grades)) == 218


def test_the_files_bear_the_names_of_the_script():
    whole = report([EQUATION], [[0.5, 1.0]])
    assert list(authors_files(whole)) == [
        "my model_gpt-4-0613-grade-2runs.json",
        "my model_gpt-4-0613-cap-score-2runs.csv",
        "my model_gpt-4-0613-cap-int-score-2runs.csv",
    ]
    grades = next(iter(authors_files(whole).values()))
    entry = {"model": ["gpt-4-0613"] * 2, "content": ["0.5", "1.0"], "score": [0.5, 1.0]}
    assert grades == json.dumps({"v1_0": entry}, indent=4).encode()


def test_a_partial_or_other_file_says_so_and_no_name_leaves_the_folder():
    other = replace(EQUATION, id="v1_1")
    partial = report(
        [EQUATION, other],
        [[1.0], None],
        file="../a/../.b|c.json",
        judge="org/judge:7b",
        official=False,
    )
    names = list(authors_files(partial))
    assert names[0] == "_b_c_2questions_partial_org_judge_7b-grade-1runs.json"
    assert not any(set(name) & set("/\\:|") for name in names)
    assert list(json.loads(authors_files(partial)[names[0]])) == ["v1_0"]
    assert score_tables(partial)[0].lines[-1].unscored == 1


def test_paper_counts_the_unreadable_as_zero_and_shows_the_mean_without_it():
    unreadable = Grade("v1_1", 0, 0.0, "why", (UNREADABLE,), ("bad",) * 6, "m")
    whole = report([EQUATION, replace(EQUATION, id="v1_1")], [[1.0], [0.0]])
    whole = replace(whole, rows=(whole.rows[0], replace(whole.rows[1], grades=(unreadable,))))
    total = score_tables(whole)[0].lines[-1]
    scored = score_tables(scored_only(whole))[0].lines[-1]
    assert (total.mean, total.unscored) == (50.0, 0)
    assert (scored.mean, scored.unscored, scored.worst, scored.best) == (100.0, 1, 50.0, 100.0)
    assert json.loads(next(iter(authors_files(whole).values())))["v1_1"]["content"] == ["bad"]
