"""What multiple-choice reports show: every level, the piece that was read, what-ifs, and nothing that is not text."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.sheets import Sheet, as_html
from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks.article import published_sheet
from scoring.benchmarks.choice_report import ChoiceReport, under_protocol
from scoring.multiple_choice.metrics import differences
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import NONE, PASS, ChoiceQuestion, Clue, Decided, Decision, Rule
from scoring.registry import BENCHMARKS
from scoring.report import JudgeStamp
from scoring.rules.base import Reading
from scoring.specs.reading import SpecRow
from scoring.specs.report import ReadRow, SpecReport
from scoring.web.answer_list import Chosen
from scoring.web.article import (
    comparison_html,
    figure_html,
    head_html,
    methods_html,
    trust_html,
    wrong_html,
)
from scoring.web.choice_audit import list_choices, marked_html
from scoring.web.multiple_choice_view import what_if_html
from scoring.web.report_page import list_of
from scoring.web.report_parts import (
    MOST_PROBLEMS,
    ROWS_A_PAGE,
    file_problems_html,
    folded_problems_html,
    judge_text,
    sheets_html,
)
from tests.support.choice_tables import choice_tables
from tests.support.circular_passes import RIGHT, decided, passes
from tests.support.mmt_answers import answered

HOSTILE = "</dd></ol><script>alert(1)</script><img src=x onerror=alert(1)>'\"&"
ABILITIES = [name for names in mmbench.L3.values() for name in names]
STAMP = JudgeStamp(
    "test-judge", ("test-judge-2026",), "https://judge.example/v1", "c0ffee" * 8, "closed letter 1"
)


class Seen(HTMLParser):
    """The tags and the text of a piece of HTML; every attribute that could run something fails."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(str(html))
        assert not {"script", "img", "iframe", "style", "link"} & set(self.tags), html[:500]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def report(
    rows, benchmark="mmbench", protocol="strict", title="our model", judge=None, problems=()
):
    return ChoiceReport(
        benchmark,
        protocol,
        title,
        "file.xlsx",
        "2026-11-21T12:00:00+00:00",
        judge,
        tuple(rows),
        problems,
    )


@pytest.fixture(scope="module")
def circular():
    """A complete circular file with two questions of each ability: all of the first right, half of the second."""
    rows = []
    for place, ability in enumerate(ABILITIES):
        rows += passes(2 * place, RIGHT, category=ability)
        rows += passes(2 * place + 1, RIGHT if place % 2 else ["A", *RIGHT[1:]], category=ability)
    rows[1]["prediction"], rows[8]["prediction"] = "It shows a dog and a cat.", "A cat"
    return report(decided(rows))


@pytest.fixture(scope="module")
def mmt():
    """Three samples of each subtask; the k-th meta-task's subtasks have k % 4 of them right."""
    metas = {key: place for place, key in enumerate(mmt_bench.META_TASKS)}
    return report(
        [
            answered(3 * place + sample, one.key, sample < metas[one.meta_task] % 4)
            for place, one in enumerate(mmt_bench.subtasks().values())
            for sample in range(3)
        ],
        "mmt-bench",
    )


def sheets(shown) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in BENCHMARKS[shown.benchmark].sheets(shown)}


def table(shown, name="levels"):
    """Return the rows of a sheet as a page shows them."""
    return rows_of(as_html(sheets(shown)[name]))


def head(shown):
    problems = (*choice_tables(shown).problems, *shown.problems)
    return Seen(head_html(shown, [folded_problems_html(problems)])).text


def rows_of(html):
    """Return the body rows of a table as lists of texts, with their depth and whether they are hidden."""
    found = []
    for attributes, inner in re.findall(
        r"<tr([^>]*)>(.*?)</tr>", html.split("<tbody>", 1)[1], re.DOTALL
    ):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", inner, re.DOTALL)
        depth = re.search(r'data-depth="(\d)"', attributes)
        found.append(
            (
                int(depth[1]) if depth else None,
                " hidden" in attributes,
                [Seen(cell).text for cell in cells],
            )
        )
    return found


def test_every_level_is_a_row(circular):
    rows = table(circular)
    assert [depth for depth, _, _ in rows].count(0) == 1 and len(rows) == 1 + 2 + 6 + 20
    assert not any(hidden for _, hidden, _ in rows)
    names = [cells[0] for _, _, cells in rows]
    assert names[:3] == ["Overall", "Perception", "Coarse perception (CP)"] and "OCR" in names
    overall = rows[0][2]
    assert overall[1] == "1,164" and overall[2].startswith("74.4") and overall[3].startswith("75.0")
    # one question is undecided, the others are missing: they stay out of the mean
    assert overall[4] == "1,125"
    assert [cells[4] for depth, _, cells in rows if depth == 1] == ["1", "0"]


def test_a_file_that_is_not_circular_has_one_column(circular):
    base = report(row for row in circular.rows if row.question.index < PASS)
    html = as_html(sheets(base)["levels"])
    assert "CircularEval" not in html and "Vanilla" in html
    assert "base rows only" in head(base) and "Vanilla only" not in head(base)


def test_an_incomplete_file_says_why_it_is_vanilla(circular):
    rows = [row for row in circular.rows if row.question.index != 2 * PASS]
    told = head(report(rows))
    assert "Vanilla accuracy only. Problems below that keep the file from CircularEval: 1." in told
    assert "Question 0 lacks pass 2" in told and "Question 2 lacks pass 2" not in told


def test_splits_stand_by_themselves_and_together(circular):
    other = [
        replace(row, question=replace(row.question, split="test")) for row in circular.rows[:40]
    ]
    shown = report([*other, *circular.rows[40:]])
    names = ("levels", "levels-test", "levels-dev")
    whole = [table(shown, name)[0][2][1] for name in names]
    assert whole == ["2,948", "1,784", "1,164"]
    assert sheets(shown)["levels-test"].place == "folded"
    assert "test: CircularEval by level" in sheets_html(BENCHMARKS["mmbench"].sheets(shown))


def test_mmt_bench_names_each_overall_and_has_every_meta_task(mmt):
    assert [total.name for total in BENCHMARKS["mmt-bench"].totals(mmt)] == [
        "Overall (mean over subtasks)",
        "Overall (mean over samples)",
        "Overall* (mean over subtasks, without Visual Recognition)",
    ]
    depths = [depth for depth, _, _ in table(mmt)]
    assert depths.count(1) == 32 and depths.count(2) == 162
    assert all(hidden == (depth == 2) for depth, hidden, _ in table(mmt))
    guessing = table(mmt, "overall")[0][2]
    assert guessing[2] == "25.0" and guessing[3] == "100.0"
    assert len(table(mmt, "by-image-type")) == 13 and len(table(mmt, "by-capability")) == 14


def test_missing_meta_tasks_are_blank(mmt):
    some = report(
        [row for row in mmt.rows if mmt_bench.meta_task(row.question) == "visual_recognition"],
        "mmt-bench",
    )
    rows = {cells[0]: cells[2] for depth, _, cells in table(some) if depth == 1}
    assert rows["Localization"] == "–" and rows["Visual Recognition"].startswith("0.0")


def test_the_worst_come_first(mmt):
    means = sheets(mmt)["worst"].frame["mean"].tolist()
    assert means == sorted(means) and len(means) == 162


def test_letters_and_steps(circular, mmt):
    rows = [cells for _, _, cells in table(circular, "letters")]
    predicted = sum(float(cells[2].removesuffix("%")) for cells in rows)
    assert [cells[0] for cells in rows] == list("ABCD") and predicted == pytest.approx(100, abs=0.2)
    read = {cells[0]: cells[2] for _, _, cells in table(circular, "steps")}
    assert read["undecided"] == "0.6%"
    steps = table(mmt, "success")
    assert len(steps) == 8
    assert steps[1][2] == ["GPT-4V", "87.2", "87.2", "87.2", "10.1"]


def test_published_rows_stand_beside_with_what_tells_them_apart(circular):
    assert BENCHMARKS["mmbench"].published(circular) is None, "a part of MMBench's questions"
    whole = replace(circular, missing=())  # of a question file that it answers completely
    board = BENCHMARKS["mmbench"].published(whole)
    rows = [cells for _, _, cells in rows_of(as_html(published_sheet(board, "our model")))]
    assert (
        rows[0][:2] == ["our model", "74.4"]
        and rows[-1][:2] == ["OpenFlamingo", "4.6"]
        and len(rows) == 17
    )
    protocol = "the table's letters were read by the paper's protocol"
    assert board.source == "the paper's Table 5" and board.apart == (protocol,)

    def changed(**changes):
        rows = [replace(row, question=replace(row.question, **changes)) for row in circular.rows]
        return replace(report(rows), missing=())

    chinese = changed(text="图中是什么？")
    assert "this is MMBench-CN, the table is MMBench" in Seen(figure_html(chinese)).text
    test = changed(split="test")
    assert "Table 6" in Seen(figure_html(test)).text and "the table is dev" not in figure_html(test)


def test_what_if_counts_what_parts(circular):
    other = under_protocol(circular, "mmbench-paper")
    parted = differences(circular.rows, other.rows)
    text = Seen(what_if_html(circular, other, parted)).text
    assert f"{len(parted):,} of {len(circular.rows):,} answers is read differently" in text
    assert "Overall" in text and "MMBench's paper" in text
    judged = what_if_html(replace(circular, judge=STAMP), other, parted)
    assert "uses rules only" in judged and "uses rules only" not in text


def test_what_if_compares_vanilla_where_one_protocol_finds_a_gap():
    """A missing pass matters to one protocol and not to another, which reads a wrong letter in the question."""
    rows = [*passes(1, RIGHT), *passes(2, ["It shows a dog and a cat.", "right", "right", None])]
    here = report(decided(rows))
    there = under_protocol(here, "mmbench-paper")
    found = [choice_tables(one) for one in (here, there)]
    assert [one.splits[-1].circular is None for one in found] == [True, False]
    pairs = BENCHMARKS["mmbench"].line_pairs(here, there)
    assert (
        pairs[0][0] is found[0].splits[-1].vanilla.line
        and pairs[0][1] is found[1].splits[-1].vanilla.line
    )


def test_the_audit_is_paged_filtered_and_marked(circular):
    rows = circular.rows
    whole = list_choices(rows, (), "mmt-paper").html
    assert whole.count('<li><p class="about">') == ROWS_A_PAGE and "page 1 of 7" in whole
    last = list_choices(rows, (), "mmt-paper", page=99).html
    assert (
        "page 7 of 7" in last and last.count('<li><p class="about">') == len(rows) - 6 * ROWS_A_PAGE
    )
    undecided = list_choices(rows, (), "mmt-paper", "undecided").html
    assert (
        undecided.count('<li><p class="about">') == 1
        and "conflict → undecided" in Seen(undecided).text
    )
    wrong = Seen(list_choices(rows, (), "mmt-paper", "wrong").html).text
    assert "10 of 160 answers" in wrong
    of_ocr = Seen(list_choices(rows, (), "mmt-paper", "wrong", "ocr").html).text
    assert (
        "1 of 160 answers" in of_ocr
        and "No answers match" in list_choices(rows, (), "mmt-paper", "wrong", "x").html
    )
    others = under_protocol(circular, "mmt-paper").rows
    both = list_choices(rows, others, "mmt-paper", "differs by protocol").html
    parted = differences(rows, others)
    assert len(parted) == both.count('class="both"') > 0 and "MMT-Bench's paper" in Seen(both).text


def test_every_row_of_a_large_file_is_reached_and_few_are_sent(mmt):
    rows = [
        replace(row, question=replace(row.question, index=at))
        for at, row in enumerate(mmt.rows * 65)
    ][:31_325]
    html = list_choices(rows, (), "mmbench-paper", page=1253).html
    assert "31,325 of 31,325 answers, page 1,253 of 1,253" in html and len(html) < 60_000
    assert "<b>31324</b>" in html and "<b>31299</b>" not in html


@given(st.text(max_size=60), st.text(max_size=8), st.booleans())
def test_a_marked_answer_is_the_answer(prediction, span, last):
    for one in (span, prediction[len(prediction) // 3 : 2 * len(prediction) // 3]):
        html = marked_html(prediction, one, last)
        assert unescape(re.sub("</?mark>", "", html)) == prediction
        assert html.count("<mark>") == html.count("</mark>") <= 1


@pytest.mark.parametrize(
    ("prediction", "span", "last", "marked"),
    [
        ("A cat. The answer is A", "A", True, "A cat. The answer is <mark>A</mark>"),
        ("Answer: B", "B", False, "Answer: <mark>B</mark>"),
        ("ABBA is B", "B", False, "ABBA is <mark>B</mark>"),
        ("答案是Ｂ。", "B", True, "答案是<mark>Ｂ</mark>。"),
        ("it is\n a  <cat>", "a <cat>", False, "it is\n <mark>a  &lt;cat&gt;</mark>"),
        ("<i> or A or <b>", "A", False, "&lt;i&gt; or <mark>A</mark> or &lt;b&gt;"),
        ("a <dog>", "cat", False, "a &lt;dog&gt;"),
        ("a dog", "cat", False, "a dog"),
        ("a dog", "", False, "a dog"),
    ],
)
def test_the_piece_that_was_read_is_marked(prediction, span, last, marked):
    assert marked_html(prediction, span, last) == marked


def hostile_rows():
    question = ChoiceQuestion(
        7, HOSTILE, {"A": HOSTILE, "B": "cat"}, "A", HOSTILE, HOSTILE, HOSTILE, HOSTILE
    )
    clues = (Clue(Rule.CUT, None, HOSTILE), Clue(Rule.JUDGE, "B", HOSTILE))
    none = Decision(NONE, (Clue(Rule.REFUSAL, NONE, HOSTILE),))
    read = Decision("B", clues, (HOSTILE,), HOSTILE)
    return [Decided(question, HOSTILE, read), Decided(replace(question, index=8), HOSTILE, none)]


@pytest.mark.parametrize("benchmark", ["mmbench", "mmt-bench"])
def test_whatever_a_file_says_is_text(benchmark):
    stamp = replace(STAMP, model=HOSTILE, address=HOSTILE)
    problems = tuple(
        Problem(2, 7, HOSTILE, blocks) for blocks in ("scoring", "circular", "nothing")
    )
    shown = report(hostile_rows(), benchmark, title=HOSTILE, judge=stamp, problems=problems)
    other = under_protocol(shown, "mmt-paper")
    parted = differences(shown.rows, other.rows)
    pieces = [
        head_html(shown, [folded_problems_html(problems)]),
        what_if_html(shown, other, parted),
        sheets_html(BENCHMARKS[benchmark].sheets(shown)),
        list_choices(shown.rows, (), "mmt-paper").html,
        list_choices(shown.rows, other.rows, "mmt-paper", "differs by protocol").html,
        figure_html(shown),
        wrong_html(shown, lambda name: ""),
        trust_html(shown),
        methods_html(shown),
        comparison_html(shown, shown),
    ]
    for piece in pieces:
        assert Seen(piece).text or not piece
    assert HOSTILE in Seen(pieces[0]).text and HOSTILE in Seen(pieces[2]).text
    assert HOSTILE in Seen(pieces[4]).text


def test_where_a_judge_is_stands_in_a_report_if_it_is_public():
    assert judge_text(STAMP) == "Judge: test-judge at judge.example (answered as test-judge-2026)"
    inner = replace(STAMP, address="http://10.0.0.5:8000/v1")
    assert (
        judge_text(inner)
        == "Judge: test-judge at the operator's own server (answered as test-judge-2026)"
    )


def test_problems_stand_with_their_rows_the_gravest_first():
    problems = [
        Problem(0, None, "whole file", "nothing"),
        *(Problem(n, n, f"bad {n}", "scoring") for n in range(2, 200)),
    ]
    html = file_problems_html(problems)
    assert (
        html.index("keep the file from being scored") < html.index("Good to know")
        and "Row 2: bad" in html
    )
    assert html.count("<li>") == MOST_PROBLEMS + 1 + 1 and "and 98 more" in html
    assert html.count('role="alert"') == 1 and file_problems_html(()) == ""


def test_names_are_read_as_the_papers_write_them():
    words = BENCHMARKS["mmbench"].words
    assert words("object_localization") == "Object localization"
    assert words("FP-C").endswith("(FP-C)") and words("made_up_<b>") == "made_up_<b>"
    key = "facail_expression_change_recognition"
    assert BENCHMARKS["mmt-bench"].words(key) != key


@pytest.fixture
def marks():
    spec = BENCHMARKS["textvqa_marks"].spec
    said = ["Dakota", "a camera", "NIKON", HOSTILE]
    cells = {"question": HOSTILE, "answer": "['dakota', 'nikon']"}
    given = Reading(0.5, "3", "the judge's grade", marks=(3.0,))
    unread = Reading(None, "", HOSTILE)
    rows = tuple(
        ReadRow(SpecRow(str(at), text, cells, at), given if at < 2 else unread, replies=(HOSTILE,))
        for at, text in enumerate(said)
    )
    made = "2026-11-21T12:00:00+00:00"
    head = ("textvqa_marks", "mmbench-paper", "our model", "f.csv", made, STAMP)
    return SpecReport(*head, spec.json_text, rows, ())


def test_marks_are_told_to_two_places_beside_the_papers(marks):
    text = Seen(head_html(marks)).text
    assert "3.00" in text and "2 of 4 decided" in text and "over all 4: 2.00 to 4.00" in text
    board = BENCHMARKS["textvqa_marks"].published(marks)
    table = rows_of(as_html(published_sheet(board, "our model")))
    published = [["Flamingo", "1.92"], ["MiniGPT-4", "1.54"]]
    assert [cells for _, _, cells in table] == [["our model", "3.00"], *published]
    assert "Conditions differ" in figure_html(marks) and "3.00" in figure_html(marks)
    assert "test-judge" in trust_html(marks)


def test_marks_are_audited(marks):
    def shown(show):
        return list_of(marks).list_page(marks, Chosen("", show)).html

    counts = {"all answers": 4, "partly right": 2, "not read": 2, "right": 0}
    assert {show: shown(show).count('<li><p class="about">') for show in counts} == counts
    assert HOSTILE in Seen(shown("not read")).text


def test_a_problem_of_many_rows_is_told_once():
    doubled = [Problem(n, 1, "10 rows have the id 1.", "scoring") for n in range(2, 12)]
    html = file_problems_html([*doubled, Problem(13, 9, "bad", "scoring")])
    assert "Rows 2, 3, 4, 5, 6 and 5 more: 10 rows have the id 1." in html
    assert html.count("<li>") == 2 and "Row 13: bad" in html
