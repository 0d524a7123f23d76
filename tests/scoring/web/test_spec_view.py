"""Every answer of a spec's report, as its page lists them."""

from dataclasses import replace

from scoring.benchmarks.spec_benchmark import own_benchmark
from scoring.registry import open_upload
from scoring.rules.base import Reading
from scoring.specs.schema import spec_of
from scoring.web.answer_list import Chosen
from scoring.web.spec_view import READINGS
from tests.support.choice_tables import table_file

PAIRWISE = {
    "kind": "pairwise",
    "baseline": "old_model",
    "prompt": "{question} {answer_a} {answer_b}",
    "verdicts": {"A>B": -2, "A=B": 0, "B>A": 2},
}
PAIRS = own_benchmark(
    spec_of({"name": "Pairs", "about": "A toy.", "columns": {"truth": None}, "rule": PAIRWISE})
)
MIXED = own_benchmark(
    spec_of(
        {
            "name": "Mixed",
            "about": "A toy.",
            "rule": [{"when": {"type": "open"}, "rule": PAIRWISE}, {"rule": "yes_no"}],
        }
    )
)
COLUMNS = ["index", "question", "old_model", "prediction"]
VERDICTS = [2.0, 0.0, -2.0]


def compared(folder):
    """A report of three answers that were better than the baseline's, as good, and worse."""
    rows = [
        {
            "index": str(number),
            "question": f"What is {number}?",
            "old_model": f"<i>old</i> {number}",
            "prediction": f"new {number}",
        }
        for number in range(3)
    ]
    opened = open_upload(table_file(folder / "m.csv", rows, COLUMNS), benchmark=PAIRS)
    report = opened.report("strict")
    readings = [Reading(verdict, "verdict", "the judge's verdict") for verdict in VERDICTS]
    judged = [
        replace(row, reading=reading) for row, reading in zip(report.rows, readings, strict=True)
    ]
    return replace(report, rows=tuple(judged))


def test_a_comparison_shows_the_baselines_answer_beside_the_models(tmp_path):
    html = READINGS.html(compared(tmp_path), Chosen("/answers"))
    for number in range(3):
        assert f"<h5>A: the baseline</h5><p>&lt;i&gt;old&lt;/i&gt; {number}</p>" in html
        assert f"<h5>B: the model</h5><p>new {number}</p>" in html
    places = [html.index(f"<small>{word}</small>") for word in ("better", "as good", "worse")]
    assert places == sorted(places)


def test_the_best_and_the_worst_verdict_are_found_by_the_filters(tmp_path):
    report = compared(tmp_path)
    shown = [READINGS.html(report, Chosen("/answers", show)) for show in ("right", "wrong")]
    assert ["1 of 3 answers" in html for html in shown] == [True, True]
    assert ["new 0" in shown[0], "new 2" in shown[1]] == [True, True]


def test_the_filters_take_an_answer_by_the_ends_of_its_own_rule(tmp_path):
    """Scores are 0 and 1 in one case, -2 to 2 in the other."""
    columns = ["index", "type", "question", "old_model", "answer", "prediction"]
    rows = [
        {
            "index": "1",
            "type": "yes_no",
            "question": "Is it?",
            "answer": "yes",
            "prediction": "Yes",
        },
        {"index": "2", "type": "yes_no", "question": "Is it?", "answer": "yes", "prediction": "No"},
    ]
    rows = [{"old_model": "", **row} for row in rows]
    opened = open_upload(table_file(tmp_path / "m.csv", rows, columns), benchmark=MIXED)
    report = opened.report("strict")
    assert [row.reading.score for row in report.rows] == [1.0, 0.0]
    assert [answer.score for answer in MIXED.scored_answers(report)] == [1.0, 0.0]
    for show in ("right", "wrong"):
        html = READINGS.html(report, Chosen("/answers", show))
        assert "1 of 2 answers" in html
        assert f"<small>{show}</small>" in html


def test_answers_are_filtered_by_the_groups_of_a_derived_column(tmp_path):
    """A cell that is split puts its answer in several groups."""
    spec = spec_of(
        {
            "name": "Tagged",
            "about": "A toy.",
            "derive": {"tag": {"from": "tags", "split": ";"}},
            "groups": ["tag"],
            "rule": "yes_no",
        }
    )
    rows = [
        {
            "index": "1",
            "question": "Is it?",
            "tags": "sea; sky",
            "answer": "yes",
            "prediction": "Yes",
        },
        {"index": "2", "question": "Was it?", "tags": "sky", "answer": "yes", "prediction": "No"},
    ]
    table = table_file(tmp_path / "m.csv", rows, list(rows[0]))
    report = open_upload(table, benchmark=own_benchmark(spec)).report("strict")
    html = READINGS.html(report, Chosen("/answers"))
    assert [
        name in html for name in ("sea, sky", '<option value="sea"', '<option value="sky"')
    ] == [
        True,
        True,
        True,
    ]
    by_group = {
        group: READINGS.html(report, Chosen("/answers", group=group)) for group in ("sea", "sky")
    }
    assert "1 of 2 answers" in by_group["sea"]
    assert "Was it?" not in by_group["sea"]
    assert "2 of 2 answers" in by_group["sky"]
