"""MMBench: files as people hold them, CircularEval and its completeness, three levels, the toolkit's CSV."""

import csv
import io
import json
import random
from dataclasses import replace

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.io.tables import Record, RowsError, read_records
from scoring.benchmarks import mmbench
from scoring.benchmarks.base import OpenedFile
from scoring.benchmarks.choice_report import ComparisonError, check_pairs
from scoring.benchmarks.mmt_bench import MMT_BENCH
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.multiple_choice.circular_eval import circles
from scoring.multiple_choice.downloads import audit_lines
from scoring.multiple_choice.extract import extract
from scoring.multiple_choice.metrics import compare_outcomes, differences, undecided_is_wrong
from scoring.multiple_choice.reader import IMAGE_COLUMNS, read_choices, read_questions
from scoring.multiple_choice.types import PASS, Decided
from scoring.registry import open_upload
from scoring.specs.report import figure_lines, grouped_lines
from tests.support.choice_reports import choice_report
from tests.support.choice_tables import table_file
from tests.support.circular_passes import RIGHT, TEXTS, decided, passes, records, row


def tabulate(rows, protocol="strict", **more):
    return mmbench.MMBENCH.tabulate(choice_report(rows, protocol, **more))


def scored(rows, protocol="strict"):
    report = tabulate(decided(rows, protocol), protocol)
    scores = report.splits[-1]
    return report, scores.vanilla.line, scores.circular.line if scores.circular else None


# Question 1 is right in all passes, question 2 wrong in pass 3 only.
WHOLE = [*passes(1, RIGHT), *passes(2, ["right", "right", "right", "A"], answer="C")]


def test_a_complete_circular_file():
    report, vanilla, circular = scored(WHOLE)
    assert (vanilla.mean, vanilla.n) == (100.0, 2) and (circular.mean, circular.n) == (50.0, 2)
    assert not [problem for problem in report.problems if problem.blocks != "nothing"]


def test_base_rows_only_are_vanilla_and_say_so():
    report, vanilla, circular = scored([row for row in WHOLE if int(row["index"]) < PASS])
    assert vanilla.mean == 100.0 and circular is None
    assert ["base rows only" in problem.text for problem in report.problems] == [True]
    mine = {"category": "mine", "l2-category": ""}
    other = [{**row, **mine} for row in WHOLE if int(row["index"]) < PASS]
    report, vanilla, circular = scored(other)
    assert report.problems == (), "nobody expects passes of other multiple choice"
    assert vanilla.mean == 100.0 and circular is None


def test_a_missing_pass_is_incomplete_unless_another_is_wrong():
    without_failing = [one for one in WHOLE if one["index"] != str(2 + 3 * PASS)]
    report, vanilla, circular = scored(without_failing)
    assert circular is None and vanilla.mean == 100.0
    assert [problem.text.split(".")[0] for problem in report.problems] == [
        "Question 2 lacks pass 3, and no other pass is wrong, so it has no score"
    ]
    without_another = [one for one in WHOLE if one["index"] != str(2 + PASS)]
    report, _, circular = scored(without_another)
    assert circular.mean == 50.0 and not report.problems


def test_an_early_stopped_file_is_complete():
    _, vanilla, circular = scored(
        [*passes(1, RIGHT), *passes(2, ["right", "A"], answer="C"), *passes(3, ["A"])]
    )
    assert (vanilla.n, circular.n) == (3, 3) and round(circular.mean, 4) == 33.3333


def test_a_missing_base_row_is_named_and_the_question_counts():
    report, vanilla, circular = scored([one for one in WHOLE if one["index"] != "2"])
    assert vanilla.n == 1 and (circular.n, circular.mean) == (2, 50.0)
    assert [
        "Question 2 has passes and no base row" in problem.text for problem in report.problems
    ] == [True]


def test_doubles_are_named_and_stop_the_file():
    read = read_choices(records([*WHOLE, WHOLE[0]]))
    assert not read.scorable
    assert [(problem.row, problem.index, problem.blocks) for problem in read.problems] == [
        (2, 1, "scoring"),
        (10, 1, "scoring"),
    ]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"A": "cow"}, "its options aren't the base row's in another order"),
        ({"answer": "A"}, "its right answer is '"),
        ({"D": ""}, "it has 3 options, and the base row has 4"),
    ],
)
def test_letters_that_do_not_match_the_rotation_are_named(cells, said):
    report, vanilla, circular = scored([*WHOLE[:1], {**WHOLE[1], **cells}, *WHOLE[2:]])
    assert circular is None and vanilla.mean == 100.0
    assert [said in problem.text for problem in report.problems] == [True]


def test_an_undecided_pass_is_unscored_with_us_and_wrong_in_the_paper():
    file = [
        *passes(1, RIGHT),
        *passes(2, ["right", "right", "hard to put in words, it has fur", "right"]),
    ]
    _, _, ours = scored(file)
    assert (ours.n, ours.unscored, ours.mean, ours.worst, ours.best) == (2, 1, 100.0, 50.0, 100.0)
    _, _, paper = scored(file, "mmbench-paper")
    assert (paper.n, paper.unscored, paper.mean, paper.worst, paper.best) == (
        2,
        1,
        50.0,
        50.0,
        100.0,
    )
    report, _, early = scored(file[:-1], "mmbench-paper")
    assert (early.n, early.mean) == (2, 50.0) and not report.problems


ABILITIES = [(short, ability) for short, abilities in mmbench.L3.items() for ability in abilities]


def test_all_three_levels():
    file = [
        one
        for place, (_, ability) in enumerate(ABILITIES)
        for one in passes(place, RIGHT if place % 2 else ["A"], category=ability)
    ]
    report = tabulate(decided(file), "strict")
    tree = report.splits[0].circular
    assert [node.line.name for node in tree.find("l1")] == ["perception", "reasoning"]
    assert [node.line.name for node in tree.find("l2")] == ["CP", "FP-S", "FP-C", "AR", "RR", "LR"]
    assert [node.line.name for node in tree.find("category")] == [
        ability for _, ability in ABILITIES
    ]
    assert sum(node.line.n for node in tree.find("l1")) == tree.line.n == 20
    assert tree.line.mean == 50.0
    coarse = tree.find("l2")[0].line
    assert (coarse.n, coarse.mean) == (5, 40.0) and coarse.low < 40 < coarse.high


@pytest.mark.parametrize("protocol", ["strict", "mmbench-paper", "mmt-paper"])
def test_what_the_spec_says_of_figures_and_abilities_is_what_the_code_counts(tmp_path, protocol):
    unclear = "hard to say" if protocol == "strict" else "right"
    kinds = (RIGHT, ["A", *RIGHT[1:]], ["right", unclear, *RIGHT[2:]])
    file = [
        one
        for place, (_, ability) in enumerate(ABILITIES * 2)
        for one in passes(place, kinds[place % 3], category=ability)
    ]
    path = table_file(tmp_path / "answers.tsv", file)
    ours = open_upload(path, benchmark="mmbench").report(protocol)
    spec = open_upload(path, benchmark=spec_benchmark(OWN, mmbench.SPEC)).report(protocol)
    scores = mmbench.MMBENCH.choice_tables(ours).splits[-1]
    figures = figure_lines(spec)
    assert figures["CircularEval"].mean == pytest.approx(scores.circular.line.mean)
    assert figures["vanilla accuracy"].mean == pytest.approx(scores.vanilla.line.mean)
    for column in ("l1", "l2", "category"):
        lines = {node.line.name: node.line.mean for node in scores.circular.find(column)}
        groups = grouped_lines(spec, column, "")
        assert {one.name: one.lines["CircularEval"].mean for one in groups} == pytest.approx(lines)


@pytest.mark.parametrize(
    ("text", "category", "edition"),
    [
        ("What is it?", "", "Multiple choice"),
        ("What is it?", "ocr", "MMBench"),
        ("图中是什么?", "ocr", "MMBench-CN"),
        ("What is it?", "sketch_reasoning", "CCBench"),
        ("图中是什么?", "", "Multiple choice"),
        ("图中是什么?", "biology", "Multiple choice"),
    ],
)
def test_an_edition_is_told_by_its_categories(text, category, edition):
    cells = {"question": text, "l2-category": ""}
    rows = [{**row(index, "B"), **cells, "category": category} for index in range(1, 9)]
    assert mmbench.edition([one.question for one in decided(rows)]) == edition


@pytest.mark.parametrize(
    "name",
    [
        "RealWorldQA",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("MMStar", "ScienceQA_TEST")),
    ],
)
def test_questions_of_others_are_scored_as_what_they_are_and_stand_in_no_table_of_the_paper(
    data, name
):
    path = data / "vlmevalkit" / f"vila_8b_{name}.xlsx"
    opened = open_upload(path, benchmark="mmbench")
    report = opened.report("strict")
    found = mmbench.MMBENCH.choice_tables(report)
    assert opened.lines[0].startswith("Multiple choice: ")
    assert not found.partial and not [
        one for one in found.problems if "no ability of MMBench" in one.text
    ]
    assert mmbench.MMBENCH.published(report) is None and "MMBench" not in mmbench.MMBENCH.sentence(
        report
    )
    assert MMT_BENCH.published(open_upload(path, benchmark="mmt-bench").report("strict")) is None


def test_an_unknown_category_is_kept_listed_and_has_its_own_row():
    report, vanilla, _ = scored([*WHOLE, *passes(3, RIGHT, category="juggling")])
    assert vanilla.n == 3
    assert "juggling" in [node.line.name for node in report.splits[0].vanilla.walk()]
    assert [
        "'juggling' is no ability of MMBench" in problem.text for problem in report.problems
    ] == [True]


def test_splits_are_reported_apart_and_together():
    file = [{**one, "split": "test" if int(one["index"]) % PASS == 2 else "dev"} for one in WHOLE]
    report = tabulate(decided(file), "strict")
    assert [(one.split, one.circular.line.mean) for one in report.splits] == [
        ("dev", 100.0),
        ("test", 0.0),
        ("all", 50.0),
    ]


def test_a_split_named_all_is_not_the_whole_file():
    splits = {1: "all", 2: "hard"}
    file = [{**one, "split": splits[int(one["index"]) % PASS]} for one in WHOLE]
    report = tabulate(decided(file), "strict")
    scores = [(one.split, one.circular.line.n, one.circular.line.mean) for one in report.splits]
    assert scores == [("all", 1, 100.0), ("hard", 1, 0.0), ("all", 2, 50.0)]
    lines = csv.DictReader(io.StringIO(report.accuracy_csv().decode()))
    overall = [(line["split"], line["Overall"]) for line in lines]
    assert overall == [("all", "1.0"), ("hard", "0.0"), ("all", "0.5")]


@pytest.mark.parametrize("splits", [("all", "hard"), ("dev", "all")])
def test_the_size_of_an_edition_is_not_that_of_a_split_named_all(splits):
    base_rows = [one for one in WHOLE if int(one["index"]) < PASS]
    file = [{**one, "split": split} for one, split in zip(base_rows, splits, strict=True)]
    report = tabulate(decided(file), "strict", file="m.tsv")
    assert [one.vanilla.line.n for one in report.splits if one.split == "all"] == [
        1,
        1_164 + ("dev" in splits),
    ]


def test_a_test_split_without_answers_is_extracted_and_submitted():
    rows = decided([{**one, "answer": ""} for one in [*WHOLE, row(9, "Hm?")]])
    report = tabulate(rows, "strict")
    assert report.splits == () and report.without_answer == 9
    submission = mmbench.MMBENCH.submission(choice_report(rows))
    assert submission and submission.splits == ("dev",)
    table = list(csv.DictReader(io.StringIO(submission.content.decode()), delimiter="\t"))
    *letters, undecided = [line["opt"] for line in table]
    assert letters == [row.decision.letter for row in rows[:-1]] and table[0]["A"] == "dog"
    assert undecided == "Z"


def test_bad_rows_are_named_with_their_place():
    file = [
        {**WHOLE[0], "index": "one"},
        {**WHOLE[0], "index": "1000001.0"},
        {**WHOLE[0], "index": "3", "answer": "E"},
    ]
    file += [{**WHOLE[0], "index": "2e6"}, {**WHOLE[0], "index": "1.5"}]
    read = read_choices(records(file))
    assert [one.question.index for one in read.rows] == [PASS + 1, 3, 2 * PASS]
    told = [(problem.row, problem.index) for problem in read.problems]
    assert told == [(2, None), (4, 3), (6, None)] and read.rows[1].question.answer is None


@pytest.mark.parametrize("empty", ["nan", "NaN", "NA", "<NA>"])
def test_nan_behind_the_options_is_an_empty_cell_and_an_answer_is_text(empty):
    read = read_choices(records([{**WHOLE[0], "C": empty, "D": empty, "prediction": empty}]))
    assert (
        dict(read.rows[0].question.options) == {"A": "dog", "B": "cat"}
        and read.rows[0].prediction == empty
    )
    *answers, cells = (problem.text for problem in read.problems)
    assert "2 option cells" in cells and read.scorable
    told = "1 of 1 predictions say NA" in "".join(answers)
    assert told == (empty == "NA"), "the others are no answers, which is said of them elsewhere"
    known, _ = read_questions(records([{**WHOLE[0], "C": "", "D": ""}]))
    assert read_choices(records([{**WHOLE[0], "C": empty, "D": empty}]), known).scorable, (
        "these are its options"
    )


def test_a_row_without_an_index_may_be_deleted_or_counted():
    told = read_choices(records([{**WHOLE[0], "index": "Total"}, WHOLE[0]])).problems
    assert [problem.row for problem in told] == [2]
    assert (
        "'Total' isn't a whole number. Write one, delete the row, or delete the column"
        in told[0].text
    )


def test_a_file_is_read_once_whichever_benchmark_takes_it(tmp_path):
    rows = [{**WHOLE[0], "index": str(number), "category": "mine"} for number in range(40)]
    table_file(tmp_path / "m.tsv", rows)
    asked = []
    found = open_upload(tmp_path / "m.tsv", wanted=lambda: asked.append(1) is None)
    assert found and len(found.file.rows) == 40 and len(asked) == 2, "once for each 20 rows"


def test_na_that_is_an_option_stays_one():
    for options in (
        {"A": "yes", "B": "NA"},
        {"A": "NA", "B": "no", "C": "yes"},
        {"A": "yes", "B": "no", "C": "NA"},
    ):
        (row,) = read_choices(
            records([{"index": "1", "question": "?", **options, "answer": "C", "prediction": "NA"}])
        ).rows
        assert dict(row.question.options) == options


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (
            {"Prediction": "B"},
            "Several columns named prediction: 'prediction' and 'Prediction'",
        ),
        (
            {"response": "B"},
            "Several columns with the model's answers: 'prediction' and 'response'",
        ),
        (
            {"L2 Category": "x"},
            "Several columns named l2_category: 'l2-category' and 'L2 Category'",
        ),
        ({"prediction": ["A"]}, r"column 'prediction': \[\"A\"\] isn't text"),
        ({"prediction": True}, "column 'prediction': true isn't text"),
        ({"B": {"text": "cat"}}, "column 'B': {"),
    ],
)
def test_cells_of_which_it_is_unclear_what_they_say_are_refused(cells, told):
    with pytest.raises(RowsError, match=f"^row 3.*{told}.*[.] (Delete|Write) .*"):
        read_choices(records([row(1, "A"), {**row(2, "A"), **cells}]))


def test_a_file_without_a_column_of_answers_is_refused():
    read = read_choices([Record(2, {"index": "1", "question": "What?", "A": "x", "B": "y"})])
    assert not read.scorable
    told = " ".join(problem.text for problem in read.problems)
    assert "it has 'index', 'question', 'A', 'B'. Rename a column or add one" in told


def test_what_is_no_answer_is_counted_before_a_judge_is_asked():
    file = read_choices(records([row(1, "A"), row(2, " "), row(3, "Error: 429"), row(4, "")]))
    assert not file.problems
    empty, error = OpenedFile(mmbench.MMBENCH, file, "a.csv").lines[-2:]
    assert empty.startswith("2 of the 4 answers aren't from the model (empty). ")
    assert error.startswith("1 of the 4 answers isn't from the model (a server error)")


def test_two_models_in_one_file_are_refused():
    read = read_choices(records([{**WHOLE[0], "model": "one"}, {**WHOLE[4], "model": "two"}]))
    assert not read.scorable and "several models: one, two" in read.problems[0].text


def test_a_file_of_letters_takes_its_questions_from_the_benchmark():
    questions, problems = read_questions(records(WHOLE))
    assert len(questions) == 8 and not problems
    read = read_choices(
        [Record(1, {"index": 1.0, "pred": "B"}), Record(2, {"index": 99, "pred": "B"})], questions
    )
    assert read.rows[0].question == replace(questions[1], row=1)
    assert ["Index 99" in problem.text for problem in read.problems] == [True]
    alone = read_choices([Record(1, {"index": 1, "prediction": "B"})])
    assert (
        not alone.scorable
        and "The options are missing" in alone.problems[-1].text + alone.problems[0].text
    )


FORMS = {"letter": "{0}", "both": "{0}. {1}", "content": "{1}"}


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("ABCD"), min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from(sorted(FORMS)),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_rotation_form_and_order_change_nothing(chosen, form, turn, shuffler):
    """Passes may be numbered the other way around, predictions written in any form and rows stand in any order."""

    def told(texts, written):
        file = []
        for base, letters in enumerate(chosen):
            for number, letter in enumerate(letters):
                one = row(base + number * PASS, letter, texts=texts)
                file.append({**one, "prediction": FORMS[written].format(letter, one[letter])})
        return file

    def outcomes(file):
        return [one.outcome for one in circles(decided(file))]

    plain = told(TEXTS, "letter")
    turned = told(TEXTS[turn:] + TEXTS[:turn], form)
    shuffler.shuffle(turned)
    assert outcomes(turned) == outcomes(plain)


def test_a_question_without_a_right_answer_in_one_file_is_not_compared():
    with_answers = decided(WHOLE)
    first_row, *others = with_answers
    unanswered = [replace(first_row, question=replace(first_row.question, answer=None)), *others]
    check_pairs(with_answers, unanswered, worded_alike=True)
    check_pairs(unanswered, with_answers, worded_alike=True)
    with pytest.raises(ComparisonError, match="no question with a right answer in common"):
        check_pairs(unanswered[:1], with_answers, worded_alike=True)


def test_comparison_and_differences():
    first, second = (
        decided(WHOLE),
        decided([*passes(1, ["A", *["right"] * 3]), *passes(2, RIGHT, answer="C")]),
    )
    by_name = {one.name: one for one in mmbench.comparison(first, second, circular=True)}
    assert (
        by_name["Overall"].first_only,
        by_name["Overall"].second_only,
        by_name["Overall"].p,
    ) == (1, 1, 1.0)
    assert by_name["perception"] == by_name["Overall"].__class__("perception", 0, 1, 1, 0, 1.0)
    assert compare_outcomes("", [(True, False)] * 6).p == pytest.approx(2 / 64)
    changed = decided([{**WHOLE[0], "prediction": "A dog"}])
    assert [
        one.other.letter for one in differences(changed, decided([{**WHOLE[0], "prediction": "B"}]))
    ] == ["B"]


@pytest.mark.parametrize(
    ("stem", "count"),
    [
        ("vila_8b_CCBench", 16),
        pytest.param("vila_8b_MMT-Bench_VAL", 34, marks=pytest.mark.soak),
    ],
)
def test_protocols_part_where_each_answer_was_looked_at(data, stem, count):
    """Strict is right or undecided in all of them."""
    read = read_choices(read_records(data / "vlmevalkit" / f"{stem}.xlsx", skip=IMAGE_COLUMNS))
    strict, paper = (
        [
            Decided(
                one.question,
                one.prediction,
                extract(one.prediction, one.question.options, protocol),
            )
            for one in read.rows
        ]
        for protocol in ("strict", "mmt-paper")
    )
    assert len(differences(strict, paper)) == count


def test_the_audit_has_a_line_for_each_row():
    lines = [json.loads(line) for line in audit_lines(decided([*WHOLE, row(9, "A or B")]))]
    assert (
        lines[0]
        | {"index": 1, "prediction": "B", "letter": "B", "rule": "letter alone", "span": "B"}
        == lines[0]
    )
    assert (lines[-1]["letter"], lines[-1]["right"]) == (None, None)


def test_published_rows():
    rows = mmbench.published_rows()
    assert len(rows) == 32 and {one.table for one in rows} == {5, 6}
    assert rows[6].model == "LLaVA" and rows[6].scores == {
        "Overall": 38.7, "LR": 16.7, "AR": 48.3, "RR": 30.4, "FP-S": 45.5, "FP-C": 32.4, "CP": 40.6
    }  # fmt: skip


def test_undecided_is_wrong_by_the_papers_alone():
    assert undecided_is_wrong("mmt-paper") and not undecided_is_wrong("strict")


@pytest.mark.parametrize(("protocol", "within"), [("strict", 0.015), ("mmt-paper", 1e-12)])
def test_ccbench_of_a_real_model_gives_the_toolkits_numbers(data, protocol, within):
    path = data / "vlmevalkit" / "vila_8b_CCBench.xlsx"
    read = read_choices(read_records(path, skip=IMAGE_COLUMNS))
    assert read.scorable
    rows = [
        Decided(
            one.question, one.prediction, extract(one.prediction, one.question.options, protocol)
        )
        for one in read.rows
    ]
    random.Random(1).shuffle(rows)
    report = tabulate(rows, protocol)
    assert mmbench.edition([row.question for row in rows]) == "CCBench" and not report.problems
    ours = list(csv.reader(io.StringIO(report.accuracy_csv().decode())))
    theirs = list(
        csv.reader((data / "vlmevalkit" / "vila_8b_CCBench_acc.csv").read_text().splitlines())
    )
    assert ours[0] == theirs[0] and ours[1][0] == theirs[1][0]
    assert float(ours[1][1]) == pytest.approx(float(theirs[1][1]), abs=within)


# Passes of which the last options stay in place


def turned(base, letters, texts=("dog", "cat", "both", "neither"), still=1, answer=0):
    """Passes of a question that move all but its last options on, as in the published dev file."""
    moving = len(texts) - still
    rows = []
    for number, letter in enumerate(letters):
        moved = [*texts[moving - number : moving], *texts[: moving - number], *texts[moving:]]
        right = "ABCD"[moved.index(texts[answer])]
        options = dict(zip("ABCD", [*moved, "", "", ""], strict=False))
        said = right if letter == "right" else letter
        rows.append(
            {**row(base + number * PASS, said), **options, "answer": right, "prediction": said}
        )
    return rows


@pytest.mark.parametrize(("still", "count"), [(1, 3), (2, 2)])
def test_options_that_stay_last_take_as_many_passes_as_the_others(still, count):
    report, vanilla, circular = scored(
        [*passes(1, RIGHT), *turned(2, ["right"] * count, still=still)]
    )
    assert (circular.n, circular.mean, vanilla.n) == (2, 100.0, 2)
    _, _, circular = scored(
        [*passes(1, RIGHT), *turned(2, ["right"] * (count - 1) + ["D"], still=still)]
    )
    assert (circular.n, circular.mean) == (2, 50.0)


def test_a_pass_that_is_missing_is_named_where_the_last_option_stays():
    report, _, circular = scored([*passes(1, RIGHT), *turned(2, ["right"] * 3)[:2]])
    assert circular is None
    assert [problem.text.split(".")[0] for problem in report.problems] == [
        "Question 2 lacks pass 2, and no other pass is wrong, so it has no score"
    ]


def test_equal_options_hide_no_missing_pass():
    texts = ("dog", "cat", "dog", "cat")
    assert scored(passes(1, RIGHT, texts=texts))[2].mean == 100.0
    report, _, circular = scored(passes(1, RIGHT[:2], texts=texts))
    assert circular is None and "Question 1 lacks pass 2 and pass 3" in report.problems[0].text


def test_an_index_near_the_limit_is_no_pass_and_its_problem_is_short():
    far = {**row(1 + 3 * PASS, "B"), "index": "999999000001", "A": "cow"}
    report, vanilla, circular = scored([row(1, "B"), far])
    assert circular is None and vanilla.n == 1
    texts = [problem.text for problem in report.problems]
    assert any(
        "Pass 999999 of question 1: a question has at most 26 passes" in text for text in texts
    )
    assert sum(map(len, texts)) < 1_000


def test_passes_in_any_other_order_of_the_options_count_as_they_are():
    swapped = passes(1, ["right", "right"], texts=TEXTS)
    swapped[1] |= {
        "A": "fish",
        "B": "cat",
        "C": "bird",
        "D": "dog",
        "answer": "B",
        "prediction": "B",
    }
    report, _, circular = scored([*passes(2, RIGHT), *swapped])
    assert (circular.n, circular.mean) == (2, 100.0) and not report.problems


def shuffled(base, count):
    """Passes whose options come in orders that are no turn of one another."""
    orders = ("dog cat bird fish", "cat dog fish bird", "fish cat dog bird", "bird fish cat dog")
    rows = []
    for number, order in enumerate(order.split() for order in orders[:count]):
        right = "ABCD"[order.index("cat")]
        options = dict(zip("ABCD", order, strict=True))
        rows.append(
            {**row(base + number * PASS, right), **options, "answer": right, "prediction": right}
        )
    return rows


def test_a_last_pass_that_is_missing_is_told_by_the_other_questions_where_options_take_no_turn():
    assert scored([*shuffled(1, 4), *shuffled(2, 4), *passes(3, RIGHT)])[2].mean == 100.0
    report, _, circular = scored([*shuffled(1, 4), *shuffled(2, 3), *passes(3, RIGHT)])
    assert circular is None
    assert [problem.text.split(".")[0] for problem in report.problems] == [
        "Question 2 lacks pass 3, and no other pass is wrong, so it has no score"
    ]


def test_options_are_the_same_however_a_table_writes_their_numbers():
    file = passes(1, RIGHT, texts=("1", "2", "3", "4"))
    file[2] = {**file[2], "A": "3.0", "B": "4.0 "}
    report, _, circular = scored(file)
    assert (circular.n, circular.mean) == (1, 100.0) and not report.problems


def test_a_question_of_one_option_has_one_pass():
    one = {**row(7, "A"), "A": "dog", "B": "nan", "C": "nan", "D": "nan", "answer": "A"}
    report, _, circular = scored([*WHOLE[:4], one])
    assert (circular.n, circular.mean) == (2, 100.0) and not report.problems


def test_the_passes_of_the_question_file_are_those_that_count():
    known = [*passes(1, RIGHT), *turned(2, ["right"] * 3), row(3, "B"), row(4, "B")]
    questions, _ = read_questions(records(known))
    whole = [{"index": one["index"], "prediction": one["prediction"]} for one in known]
    for given_up, circular_mean in (((), 100.0), ((str(2 + 2 * PASS),), None)):
        read = read_choices(
            records([one for one in whole if one["index"] not in given_up]), questions
        )
        lacking = [question for index, question in questions.items() if str(index) in given_up]
        rows = [Decided(one.question, one.prediction, extract(one.prediction, one.question.options, "strict"))
                for one in read.rows]  # fmt: skip
        report = tabulate(rows, "strict", missing=tuple(lacking))
        tree = report.splits[0].circular
        assert (tree and tree.line.mean) == circular_mean
    assert "Question 2 lacks pass 2" in " ".join(problem.text for problem in report.problems)


def toolkits_rule(rows):
    """The public toolkit's CircularEval: a question is right if all of its rows are."""
    table = pandas.DataFrame(rows)
    table["base"] = table["index"].astype(float).astype(int) % PASS
    table["right"] = table["prediction"] == table["answer"]
    whole = table.groupby("base").agg(right=("right", "all"), category=("category", "first"))
    return whole["right"].mean(), whole.groupby("category")["right"].mean().to_dict()


@pytest.mark.parametrize(
    ("count", "protocol"),
    [
        (1176, "strict"),
        (1164, "mmbench-paper"),
        *(
            pytest.param(*rest, marks=pytest.mark.soak)
            for rest in (
                (1164, "strict"),
                (1176, "mmbench-paper"),
                (1164, "mmt-paper"),
                (1176, "mmt-paper"),
            )
        ),
    ],
)
def test_a_file_of_the_published_dev_files_groups_gives_the_toolkits_number(
    data, tmp_path, count, protocol
):
    with (data / "mmbench_dev_groups.csv").open() as file:
        groups = list(csv.DictReader(file))
    coin = random.Random(5)
    file = []
    for group in coin.sample(groups, count):
        options, number = int(group["options"]), int(group["passes"])
        base, texts = int(group["index"]), [f"thing {base} {place}" for base, place in
                                            zip([group["index"]] * 4, range(options), strict=False)]  # fmt: skip
        short, category = coin.choice(ABILITIES)
        letters = ["right" if coin.random() < 0.9 else "A" for _ in range(number)]
        still = int(group["trailing_options_in_place"])
        empty = {letter: coin.choice(("", "nan")) for letter in "ABCD"[options:]}
        more = {
            "category": category,
            "l2-category": next(name for name, one in mmbench.L2.items() if one == short),
        }
        for one in turned(base, letters, texts, still, coin.randrange(options - still)):
            file.append(
                {
                    **one,
                    **empty,
                    **more,
                    "index": f"{one['index']}.0",
                    "hint": coin.choice(("", "nan")),
                }
            )
    coin.shuffle(file)
    overall, abilities = toolkits_rule(file)
    report, vanilla, circular = scored(file, protocol)
    assert (circular.n, vanilla.n) == (count, count)
    assert (
        circular.mean == pytest.approx(100 * overall, rel=1e-12)
        and 50 < circular.mean < vanilla.mean
    )
    found = {
        node.line.name: node.line.mean / 100 for node in report.splits[-1].circular.find("category")
    }
    assert found == pytest.approx(abilities, rel=1e-12)


def test_a_file_without_answers_names_no_splits():
    (line,) = MMT_BENCH.lines(
        read_choices([Record(2, {"index": "1", "question": "What?", "A": "x"})], None)
    )
    assert "0 answers" in line
