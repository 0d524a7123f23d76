"""The paper's tables of MM-Vet fit together, and a report stands beside those that were made like it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from scoring.benchmarks.article import PublishedBoard
from scoring.benchmarks.mm_vet import MM_VET
from scoring.benchmarks.mm_vet_published import PublishedScores, published_lines, published_tables
from scoring.benchmarks.mm_vet_questions import (
    BARD_SET,
    CAPABILITIES,
    Integration,
    integrations,
    load_mm_vet,
    subset_of_file,
)
from scoring.jobs.service import question_sets
from scoring.judges.spec import prompt_text
from scoring.report import Grade, QuestionSet, Report, Row
from scoring.web.article import figure_html, methods_html
from tests.support.bard_sets import made_up_bard_set
from tests.support.mm_vet_reports import mm_vet_report

PAIRS = ((2, 3), (5, 4), (9, 10))
"""The same models by capability, and by integration."""
TORN = {"rec": 62.7, "ocr": 75.7, "gen": 57.2, "spat": 76.6, "math": 69.3, "total": 67.4}
"""What the integrations of GPT-4V-Turbo-detail:high make where Table 5 has other numbers, as the board says."""
ROUNDED = 0.1
"""Two numbers rounded to one decimal, one the mean of the other kind."""


def test_integrations_are_as_many_as_in_the_published_file(data):
    questions = load_mm_vet(data / "mm-vet").questions
    counts = Counter("_".join(question.groups) for question in questions)
    assert counts == {name: one.whole for name, one in integrations().items()}


def weights(line: PublishedScores, counts: dict[str, int], capability: str) -> np.ndarray:
    return np.array(
        [
            counts[name] if capability in ("total", *name.split("_")) else 0
            for name in line.scores
            if name != "total"
        ]
    )


@pytest.mark.parametrize(("by_capability", "by_integration"), PAIRS)
def test_the_means_of_integrations_are_the_capabilities_and_the_total(
    by_capability, by_integration
):
    of_bard_set = by_capability == 9
    counts = {
        name: one.bard_set if of_bard_set else one.whole for name, one in integrations().items()
    }
    for whole, parts in zip(
        published_lines(by_capability), published_lines(by_integration), strict=True
    ):
        assert whole.model == parts.model.replace("Vicuna-13B", "LLaVA-13B")
        assert (whole.scores["total"], whole.std) == (parts.scores["total"], parts.std)
        scores = np.array([parts.scores[name] or 0.0 for name in counts])
        for capability in (*CAPABILITIES, "total"):
            weight = weights(parts, counts, capability)
            mean = scores @ weight / weight.sum()
            told = whole.scores[capability]
            if whole.model == "GPT-4V-Turbo-detail:high":
                told = TORN.get(capability, told)
            assert mean == pytest.approx(told, abs=ROUNDED), (whole.model, capability)


def test_a_model_in_two_tables_has_the_same_numbers():
    for first, second in ((2, 5), (3, 4)):
        known = {line.model: line for line in published_lines(first)}
        shared = [line for line in published_lines(second) if line.model in known]
        assert len(shared) == 2 and all(line == known[line.model] for line in shared)


def test_only_these_numbers_of_questions_fit_the_tables_of_the_bard_set():
    names = [name for name in integrations() if name != "rec_ocr_spat_math"]
    rows = []
    for whole, parts in zip(published_lines(9), published_lines(10), strict=True):
        assert parts.scores["rec_ocr_spat_math"] is None
        scores = np.array([parts.scores[name] for name in names])
        for capability in (*CAPABILITIES, "total"):
            among = np.array([capability in ("total", *name.split("_")) for name in names])
            away = scores - whole.scores[capability]
            rows += [among * (away - ROUNDED), among * (-away - ROUNDED)]
    fits = [
        LinearConstraint(np.array(rows), -np.inf, 1e-6),
        LinearConstraint(np.ones(15), 168, 168),
    ]
    most = Bounds(1, [integrations()[name].whole for name in names])
    for place, name in enumerate(names):
        for sign in (1, -1):
            aim = sign * (np.arange(15) == place)
            found = milp(aim, constraints=fits, integrality=np.ones(15), bounds=most)
            assert round(found.x[place]) == integrations()[name].bard_set, name


def judged(questions: QuestionSet, runs: int = 5) -> Report:
    rows = [
        Row(one, "said", tuple(Grade(one.id, run, 0.5) for run in range(runs)))
        for one in questions.questions
    ]
    return mm_vet_report(questions=questions, rows=tuple(rows), runs=runs)


def boards(report: Report) -> tuple[PublishedBoard, PublishedBoard]:
    capabilities = MM_VET.published(report)
    (integrated,) = MM_VET.published_beside(report)
    assert capabilities is not None
    return capabilities, integrated


def test_a_report_of_all_questions_stands_beside_tables_2_to_5(data):
    report = judged(load_mm_vet(data / "mm-vet"))
    capabilities, integrated = boards(report)
    assert (capabilities.source, capabilities.apart) == ("the paper's Tables 2 and 5", ())
    assert integrated.source == "the paper's Tables 3 and 4"
    assert [len(board.rows) for board in (capabilities, integrated)] == [19, 19]
    assert capabilities.ordered[0] == ("GPT-4V", 67.7)
    assert integrated.columns[:3] == ("Total", "Rec + Know + Gen", "Rec")
    assert set(integrated.own.values()) == {50.0} and len(integrated.own) == 17
    prompt = prompt_text("mm_vet_gpt_4v.txt")
    turbo = "GPT-4V-Turbo-detail"
    assert capabilities.note == (
        f"GPT-4V, {turbo}:low, {turbo}:high: asked with “{prompt}” before each question."
    )
    html = figure_html(report)
    assert "Same conditions. GPT-4V, GPT-4V-Turbo-detail:low" in html
    assert (
        "The paper&#39;s tables as numbers" in html and "Table 4 add up to a total of 67.4" in html
    )
    alike = replace(report, asked=prompt)
    assert boards(alike)[0].note.endswith("before each question, as this model.")
    assert boards(alike)[0].apart == (f"this model read “{prompt}” before each question",)
    assert prompt in methods_html(alike) and prompt not in methods_html(report)
    assert prompt in MM_VET.remarks(alike)[0] and not MM_VET.remarks(report)


def test_only_what_was_made_like_the_tables_is_said_to_be(data):
    whole = load_mm_vet(data / "mm-vet")
    assert boards(judged(whole, runs=1))[0].apart == (
        "the table's numbers are means of 5 runs, this report has 1 run",
    )
    report = judged(whole)
    samples = boards(replace(report, sampled=True))[0].apart
    assert samples == (
        "the table's numbers are means of 5 runs, this report has 5 samples of one call",
    )
    grades = replace(report, judge=replace(report.judge, prompt=""))
    (unknown,) = boards(grades)[0].apart
    assert unknown.endswith("that of this report's grades isn't known")
    assert "As in the paper" in methods_html(report)
    assert "As in the paper" not in methods_html(grades)


def test_a_report_of_the_bard_set_stands_beside_tables_9_and_10(data, tmp_path):
    whole = load_mm_vet(data / "mm-vet")
    chosen = subset_of_file(whole, made_up_bard_set(whole, tmp_path / "any_name.json"))
    assert (chosen.name, len(chosen.questions), chosen.official) == (BARD_SET, 168, False)
    report = judged(chosen)
    capabilities, integrated = boards(report)
    assert (capabilities.source, capabilities.apart) == ("the paper's Table 9", ())
    assert integrated.source == "the paper's Table 10"
    assert capabilities.ordered[0] == ("Bard", 53.5)
    assert integrated.own["Rec + OCR + Spat + Math"] is None, "no question of the set needs these"
    assert "by its language model, Vicuna-13B" in integrated.note
    unprinted = "The paper doesn't print the Bard set's ids."
    assert unprinted in capabilities.note and unprinted in integrated.note
    assert MM_VET.sentence(report).endswith(
        ". In the paper's Table 9, Bard has 53.5 and MM-ReAct-GPT-4 has 48.1."
    )


def test_a_server_offers_the_bard_set_that_lies_beside_its_questions(data, tmp_path):
    (tmp_path / "mm-vet.json").write_bytes((data / "mm-vet" / "mm-vet.json").read_bytes())
    made_up_bard_set(load_mm_vet(tmp_path), tmp_path / "bard_set.json")
    for path in (tmp_path, tmp_path / "mm-vet.json"):
        assert [*question_sets(path, None)][:2] == ["MM-Vet", BARD_SET]


def test_another_part_of_the_questions_stands_beside_no_table(data, tmp_path):
    whole = load_mm_vet(data / "mm-vet")
    path = made_up_bard_set(whole, tmp_path / "bard_set.json")
    path.write_text(path.read_text().replace('"v1_0", ', ""))
    fewer = subset_of_file(whole, path)
    assert fewer.name == "MM-Vet, subset bard_set (167 of 218)"
    assert MM_VET.published(judged(fewer)) is None and not MM_VET.published_beside(judged(fewer))


def test_every_table_names_its_conditions():
    assert {(one.judge, one.runs) for one in published_tables()} == {("gpt-4-0613", 5)}
    assert {one.questions: 0 for one in published_tables()} == {"MM-Vet": 0, BARD_SET: 0}
    lines = [len(published_lines(one.table)) for one in published_tables()]
    assert lines == [16, 16, 5, 5, 5, 5]
    assert integrations()["rec_know_gen"] == Integration("rec_know_gen", 62, 35)
