"""The article on a report: its sentence, its figure, its wrong answers, who publishes it, a comparison."""

import io
import re
from dataclasses import replace

import httpx
import numpy as np
import pytest
from PIL import Image
from scipy import stats

from arena.database import Database
from arena.drawing_png import png
from arena.web.cookies import cookie_hash
from scoring.benchmarks import mm_vet_published, mm_vet_tables, mmt_bench
from scoring.benchmarks.article import (
    PublishedBoard,
    PublishedRow,
    ScoredAnswer,
    paired_lines,
    published_sheet,
    sentence,
    wrong_answers,
)
from scoring.benchmarks.mm_vet import MM_VET
from scoring.jobs.store import JobError, Jobs
from scoring.report import Grade, Report, Row, ScoreLine
from scoring.visit_bench import benchmark as visit_bench
from scoring.web.article import (
    comparison_html,
    figure_html,
    head_html,
    methods_html,
    preview_drawing,
    published_drawing,
    trust_html,
    trust_lines,
    wrong_html,
)
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.servers import AppServer

OWNER = "o" * 32


def test_the_sentence_is_written_from_the_numbers():
    said = MM_VET.sentence(mm_vet_report(0.2))
    assert re.fullmatch(
        r"A <b>model</b> scores 32\.5 on MM-Vet \(total, 95% interval 29\.\d to 36\.\d\)\. "
        r"In the paper's Tables 2 and 5, LLaVA-13B \(V1\.3, 336px\) has 32\.5 and LLaMA-Adapter v2-7B "
        r"has 31\.4 under different conditions\. Best at Math \(45\.0\), worst at Recognition \(20\.0\)\.",
        said,
    )
    best = (
        "The best model in the paper's Tables 2 and 5, GPT-4V, has 67.7 under different conditions."
    )
    assert best in MM_VET.sentence(mm_vet_report(0.6))
    last = "The last model in the paper's Tables 2 and 5, Transformers Agent (GPT-4), has 13.4"
    assert last in MM_VET.sentence(mm_vet_report(0.0))
    assert "v2-7B has 31.4. " in MM_VET.sentence(five_runs(mm_vet_report(0.2)))


def five_runs(report: Report) -> Report:
    """A report as the paper's: each answer graded five times, here alike."""
    rows = (
        replace(row, grades=tuple(replace(row.grades[0], run=run) for run in range(5)))
        for row in report.rows
    )
    return replace(report, rows=tuple(rows), runs=5)


def test_the_sentence_begins_with_what_limits_it():
    whole = mm_vet_report(0.2)
    partial = replace(
        whole, rows=(*whole.rows[:-1], replace(whole.rows[-1], prediction=None, grades=()))
    )
    assert MM_VET.sentence(partial).startswith("Partial: A <b>model</b> scores ")
    assert "(total, 59 of 60 questions scored, 95% interval" in MM_VET.sentence(partial)
    untrusted = replace(partial, canaries=(Grade("canary", 0, 0.9),))
    assert MM_VET.sentence(untrusted).startswith(
        "Partial, judge not trusted: A <b>model</b> scores "
    )
    grade = Grade("x", 0, None, "no reply", (mm_vet_tables.UNREADABLE,))
    nothing = replace(whole, rows=tuple(replace(row, grades=(grade,)) for row in whole.rows))
    assert MM_VET.sentence(nothing) == "Nothing graded: A <b>model</b> has no score on MM-Vet."


def test_a_report_without_a_file_names_none():
    note = head_html(replace(mm_vet_report(0.2), file="")).partition("</p>")[0]
    assert note.endswith("MM-Vet · 2026-11-21 12:00 UTC")


def test_groups_of_few_questions_are_neither_best_nor_worst():
    head = ScoreLine("mean", 20, 0, 50.0, None, None, 50.0, 50.0)
    groups = [
        replace(head, name=name, n=n, mean=mean)
        for name, n, mean in (("a", 9, 40.0), ("b", 9, 60.0), ("c", 2, 0.0))
    ]
    assert (
        sentence("m", "B", head, groups, None, ())
        == "m scores 50.0 on B (mean). Best at b (60.0), worst at a (40.0)."
    )


def test_the_spread_of_runs_is_called_so():
    report = mm_vet_report(0.2)
    rows = [
        replace(row, grades=(row.grades[0], Grade(row.question.id, 1, row.grades[0].score + 0.1)))
        for row in report.rows
    ]
    twice = replace(report, rows=tuple(rows), runs=2)
    (table, _) = mm_vet_tables.score_tables(twice)
    shown = f"{table.lines[-1].mean:.1f} (runs ±5.0)"
    assert shown in figure_html(twice) and "(runs ±5.0)" in head_html(twice)
    assert "runs ±" not in head_html(report)


def test_the_figure_holds_the_published_rows_and_this_model():
    report = mm_vet_report(0.2)
    board = MM_VET.published(report)
    assert board is not None
    drawing = published_drawing(board, report.title, MM_VET.headline(report))
    names = [mark.title for mark in drawing.marks if mark.kind == "text" and mark.title]
    published = {row.model for table in (2, 5) for row in mm_vet_published.published_lines(table)}
    assert len(names) == 20 and set(names) == {report.title, *published}
    scores = [float(mark.text) for mark in drawing.marks if mark.kind == "text" and not mark.title]
    assert scores == sorted(scores, reverse=True)
    (dark,) = [mark for mark in drawing.marks if mark.kind == "box" and mark.tone == "text"]
    (reach,) = [mark for mark in drawing.marks if mark.kind == "line"]
    assert reach.x < dark.x + dark.width < reach.to_x
    html = figure_html(report)
    assert (
        "Conditions differ: the table&#39;s numbers are means of 5 runs" in html
        and "A &lt;b&gt;model&lt;/b&gt;" in html
        and "<b>model" not in html
    )
    assert "13.4 (runs ±0.5)" in html, "as the paper has Transformers Agent (GPT-4)"
    table, _, copies = html.partition('class="copies"')
    assert table.count("(runs ±") == len(published), "this report has one run"
    assert copies.count("(runs ±") == 5 * len(published), "the integrations' table has them too"
    partial = replace(report, rows=(*report.rows, Row(report.rows[0].question, None, ())))
    changed = replace(report.questions, official=False, name="MM-Vet, changed")
    sample = replace(report, questions=changed)
    for part in (partial, sample):  # neither has a place among the paper's models
        assert figure_html(part) == ""
        assert "Table 2" not in MM_VET.sentence(part)


def test_a_shared_links_picture_has_the_number_and_the_nearest_bars():
    report = mm_vet_report(0.2)
    drawing = preview_drawing(report)
    texts = [mark.text for mark in drawing.marks if mark.kind == "text"]
    assert {
        "A <b>model</b>",
        "32.5",
        "MM-Vet",
        "Compared with the paper's Tables 2 and 5, under different conditions",
    } <= {*texts} and "Partial" not in texts
    boxes = [mark for mark in drawing.marks if mark.kind == "box"]
    assert len(boxes) == 7 and [box.tone for box in boxes].index("text") == 3
    assert all(0 <= mark.y <= drawing.height for mark in drawing.marks)
    partial = replace(
        report, rows=(*report.rows[:-1], replace(report.rows[-1], prediction=None, grades=()))
    )
    assert "Partial" in [
        mark.text for mark in preview_drawing(partial).marks if mark.kind == "text"
    ]
    with Image.open(io.BytesIO(png(drawing, 0))) as image:
        assert image.size == (1200, 630)


@pytest.mark.parametrize(
    ("key", "rows", "best"),
    [
        ("mmt-bench", 34, "GPT-4o"),
        ("visit-bench", 17, "LLaVA-Plus (13B)"),
    ],
)
def test_published_totals_are_those_of_the_papers(key, rows, best):
    tables = {"mmt-bench": mmt_bench.published_rows, "visit-bench": visit_bench.published_ratings}
    found = tables[key]()
    first = {"mmt-bench": "Overall", "visit-bench": "Win rate"}[key]
    assert len(found) == rows and max(found, key=lambda row: row.scores[first]).model == best


def test_wrong_answers_are_of_as_many_kinds_as_there_are():
    scored = [
        ScoredAnswer(str(at), "q", "t", "a", "g", at / 100, ("x" if at < 50 else f"y{at % 3}",))
        for at in range(99)
    ]
    found = wrong_answers(
        [
            *scored,
            ScoredAnswer("right", "q", "t", "a", "g", 1.0, ("z",)),
            ScoredAnswer("open", "", "", "", "", None),
        ]
    )
    assert [one.id for one in found] == ["0", "50", "51", "52", "1"]


def test_a_comparison_is_paired_by_question_and_its_numbers_are_scipys():
    draw = np.random.default_rng(4)
    here, there = draw.random(80).round(1), draw.random(80).round(1)
    first = [
        ScoredAnswer(str(at), "q", "t", "", "", float(one), ("even" if at % 2 == 0 else "odd",))
        for at, one in enumerate(here)
    ]
    second = [
        replaced._replace(score=float(one)) for replaced, one in zip(first, there, strict=True)
    ]
    second[0] = second[0]._replace(score=None)
    second[1] = second[1]._replace(truth="another question set's")
    lines = paired_lines(first, reversed(second))
    whole = lines[0]
    moved = 100 * (there - here)[2:]
    assert (whole.difference.name, whole.difference.n) == ("All questions", 78)
    assert whole.first == pytest.approx(100 * here[2:].mean()) and whole.second == pytest.approx(
        100 * there[2:].mean()
    )
    assert whole.difference.mean == pytest.approx(moved.mean())
    by_scipy = stats.bootstrap(
        (moved,), np.mean, method="percentile", n_resamples=20_000, random_state=1
    ).confidence_interval
    assert whole.difference.low == pytest.approx(by_scipy.low, abs=0.8)
    assert whole.difference.high == pytest.approx(by_scipy.high, abs=0.8)
    assert {line.difference.name: line.difference.n for line in lines[1:]} == {
        "even": 39,
        "odd": 39,
    }


def test_a_group_may_be_called_as_the_first_line():
    first = [ScoredAnswer(str(at), "q", "t", "", "", 1.0, ("All questions",)) for at in range(6)]
    whole, group = paired_lines(first, first)
    assert (whole.difference.n, group.difference.n) == (6, 6)


@pytest.mark.parametrize("figure", ["model", "runs", "own"])
def test_a_published_figure_may_be_called_as_a_column_of_ours(figure):
    rows = (PublishedRow("other", {figure: 40.0}),)
    sheet = published_sheet(PublishedBoard("spec", (figure,), rows, {figure: 50.0}), "this")
    score = sheet.columns[1]
    cells = [(row["model"], row[score.key], row[sheet.bold]) for row in sheet.rows]
    assert score.head == figure
    assert cells == [("this", 50.0, True), ("other", 40.0, False)]


def test_a_dash_is_below_negative_scores():
    rows = (PublishedRow("other", {"gain": -1.0}), PublishedRow("third", {"gain": None}))
    sheet = published_sheet(PublishedBoard("spec", ("gain",), rows, {"gain": -2.0}), "this")
    assert [row["model"] for row in sheet.rows] == ["other", "this", "third"]


def test_a_negative_score_is_drawn_as_a_number_without_a_bar():
    rows = (PublishedRow("other", {"gain": -3.0}), PublishedRow("third", {"gain": 9.0}))
    board = PublishedBoard("spec", ("gain",), rows, {"gain": -2.0})
    head = ScoreLine("gain", 10, 0, -2.0, -9.0, 4.0, -2.0, -2.0)
    drawing = published_drawing(board, "this", head)
    boxes = [mark.width for mark in drawing.marks if mark.kind == "box"]
    (reach,) = [mark for mark in drawing.marks if mark.kind == "line"]
    assert boxes[0] > 0 and boxes[1:] == [0, 0] and png(drawing)
    assert reach.x == min(mark.x for mark in drawing.marks if mark.kind == "box")


def test_a_comparison_counts_pictures():
    moved = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0] * 5
    first = [
        ScoredAnswer(str(at), "q", "t", "", "", 0.0, ("x",) if at < 99 else ()) for at in range(200)
    ]
    second = [one._replace(score=moved[at // 5]) for at, one in enumerate(first)]
    apart = paired_lines(first, second)
    (whole, part) = paired_lines(
        [one._replace(picture=f"{at // 5}.png") for at, one in enumerate(first)], second
    )
    for wide, short in zip((whole, part), apart, strict=True):
        assert wide.difference.mean == short.difference.mean
        assert wide.difference.low < short.difference.low
        assert wide.difference.high > short.difference.high


def test_what_stands_in_a_report_several_times_pairs_with_nothing():
    """Matches against models that are not named: which of one report meets which of the other is not known."""
    once = ScoredAnswer("1", "q", "t", "", "", 1.0)
    twice = ScoredAnswer("2", "q", "t", "", "", 0.0)
    several = [once, twice, twice._replace(score=1.0)]
    for first, second in ((several, several), ([once, twice], several), (several, [once, twice])):
        assert paired_lines(first, second)[0].difference.n == 1


def test_reports_that_count_different_things_are_not_compared():
    first = mm_vet_report(0.2)
    assert "A &lt;b&gt;model&lt;/b&gt;" in comparison_html(first, mm_vet_report(0.3))
    assert "+10.0" in comparison_html(first, mm_vet_report(0.3))
    assert "mm-vet · Hardened · total" in comparison_html(
        first, mm_vet_report(0.3, protocol="hardened")
    )
    judged = replace(first.judge, model="another judge")
    assert "Judged differently: gpt-4-0613 and another judge" in comparison_html(
        first, mm_vet_report(0.3, judge=judged)
    )


def test_a_report_says_how_far_to_trust_it_in_five_lines_and_no_inner_address():
    report = mm_vet_report(0.2, canaries=(Grade("canary", 0, 0.9), Grade("canary", 1, 0.0)))
    lines = trust_lines(report)
    assert len(lines) <= 5 and "points to 1 of 2 worthless answers" in " ".join(lines)
    shown = [
        trust_html(report),
        methods_html(report),
        figure_html(report),
        *MM_VET.files(report).values(),
    ]
    assert all(
        "10.7.7.7" not in (one.decode("utf-8", "replace") if isinstance(one, bytes) else one)
        for one in shown
    )
    assert report.judge.prompt in methods_html(report) and "d1ge57" in methods_html(report)


def test_the_database_decides_who_publishes(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    jobs = Jobs(database)
    link = jobs.add_done(cookie_hash(OWNER), mm_vet_report()).link
    assert jobs.find(link).published is False
    for stranger in ("", cookie_hash("x" * 32)):
        with pytest.raises(JobError, match="You have no such job"):
            jobs.publish(stranger, link, True)
    assert jobs.publish(cookie_hash(OWNER), link, True).published and jobs.find(link).published
    database.close()


def test_a_question_shows_its_pictures_and_says_how_many_are_not_here():
    report = mm_vet_report(0.2)
    question = replace(report.rows[0].question, image="a.png", further_images=("b.png", "c.png"))
    report = replace(report, rows=(replace(report.rows[0], question=question),))
    shown = wrong_html(report, lambda one: one.pictures[:2])
    assert (
        shown.count("<img") == 2
        and "2 of 3 pictures. This server doesn&#39;t have the others." in shown
    )
    assert 'alt="Picture of question v1_0, 2 of 3"' in shown
    assert "have the others" not in wrong_html(report, lambda one: one.pictures)


def test_a_title_whose_letters_cannot_be_seen_shows_them_on_every_page(tmp_path):
    folder = tmp_path / "data"
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    jobs = Jobs(database)
    report = replace(mm_vet_report(0.2), title="gpt\u202e4\u200b")
    link = jobs.add_done(cookie_hash(OWNER), report).link
    slug = jobs.publish(cookie_hash(OWNER), link, True).slug
    database.close()
    running = AppServer(folder, DEMO_BANK="off")
    try:
        for path in (f"/report/{link}", f"/report/{link}/people", f"/embed/{slug}", "/reports"):
            page = httpx.get(f"{running.address}{path}").text
            assert not {"\u202e", "\u200b"} & set(page) and "\\u202e" not in page, path
        head = httpx.get(f"{running.address}/r/{slug}").text
        assert "<title>gpt&lt;U+202E&gt;4&lt;U+200B&gt;: 32.5 on MM-Vet" in head
        assert httpx.get(f"{running.address}/r/{slug}.png").status_code == 200
    finally:
        running.stop()
