"""Figures over scored rows: the toolkits' own over their own readings, bounds for unread answers, intervals."""

import json

import numpy as np
import pytest

from scoring.intervals import Ends
from scoring.registry import SPECS
from scoring.specs.derived import Derived, cell_members, cell_text
from scoring.specs.figure_values import cluster_codes, figure_line
from scoring.specs.figures import Figure, figure_fields
from scoring.specs.files import load_spec
from scoring.specs.reading import derived_rows
from scoring.specs.scored_rows import scored_rows


def figures(**forms):
    return {name: Figure.model_validate(figure_fields(form)) for name, form in forms.items()}


def value(form, rows, **others):
    return figure_line("x", rows, figures(**others, x=form)).mean


def family(data, name, score, read=lambda expected, answer: "", protocol="strict", **how):
    """The rows of a family of test data, with the toolkit's scores and readings, and what the toolkit makes of them."""
    spec = load_spec(SPECS / f"{name}.yaml")
    folder = data / "families"
    lines = map(json.loads, (folder / f"{name}.jsonl").read_text().splitlines())
    kept = [(line, cells) for line in lines for cells in derived_rows(spec, line["row"], protocol)]
    columns = {column for _, cells in kept for column in cells}
    cells = {
        column: [grouped(cells.get(column)) for _, cells in kept] for column in sorted(columns)
    }
    rows = scored_rows(
        scores=[score(line["expected"]) for line, _ in kept],
        reads=[read(line["expected"], line["row"]["prediction"]) for line, _ in kept],
        truths=[str(line["row"]["answer"]) for line, _ in kept],
        pictures=[""] * len(kept),
        cells=cells,
        **how,
    )
    told = json.loads((folder / f"{name}.json").read_text())["aggregate"]
    return spec, rows, told


def grouped(cell):
    names = cell_members(cell)
    return names if len(names) > 1 else names[0]


def hit(key="hit"):
    return lambda expected: float(expected[key] or 0)


def yes_or_no(expected, answer):
    return expected["read"] if expected["read"] in ("Yes", "No") else ""


def lmms_answer(expected, answer):
    return answer if answer.strip().lower() in ("yes", "no") else ""


def lines(spec, rows, within=None):
    chosen = rows if within is None else rows.within(within)
    return {name: figure_line(name, chosen, spec.figures).mean for name in spec.figures}


def approx(numbers, scale=1.0):
    wanted = {name: scale * (number or 0) for name, number in numbers.items()}
    return pytest.approx(wanted, abs=1e-6 * scale)


def test_pope_is_the_toolkits(data):
    spec, rows, told = family(data, "pope", hit(), yes_or_no, is_unread_no=True)
    names = {"Overall": "F1", "acc": "accuracy", "precision": "precision", "recall": "recall"}
    for group, numbers in told["kit"].items():
        within = None if group == "Overall" else rows.groups("kind")[group]
        wanted = {names[name]: number for name, number in numbers.items()}
        assert lines(spec, rows, within) == approx(wanted)


def test_pope_counts_a_question_once_in_lmms_eval(data):
    spec, rows, told = family(data, "pope", hit("lmms_hit"), lmms_answer, "lmms-eval")
    names = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1_score": "F1"}
    wanted = {figure: told["lmms"][name] for name, figure in names.items()}
    assert lines(spec, rows) == approx(wanted, 100)
    assert {*rows.groups("kind")} == {"popular", "adversarial", "random"}


@pytest.mark.parametrize("name", ["hallusionbench", "mme", "amber"])
def test_units_and_sums_are_the_toolkits(data, name):
    spec, rows, told = family(data, name, hit())
    kit = told["kit"]
    if name == "hallusionbench":
        whole = kit.pop("Overall")
        assert lines(spec, rows) == approx(whole)
        for group, numbers in kit.items():
            column = "category" if group in ("VD", "VS") else "l2-category"
            got = lines(spec, rows, rows.groups(column)[group])
            assert {name: number or 0.0 for name, number in got.items()} == approx(numbers)
    if name == "mme":
        got = lines(spec, rows)
        assert (got["perception"], got["cognition"]) == pytest.approx(
            (kit.pop("perception"), kit.pop("reasoning"))
        )
        parts = {group: lines(spec, rows, mask) for group, mask in rows.groups("category").items()}
        assert {group: part["score"] for group, part in parts.items()} == approx(kit)
    if name == "amber":
        assert lines(spec, rows)["Avg ACC"] == pytest.approx(kit.pop("Avg ACC"))
        parts = {group: lines(spec, rows, mask) for group, mask in rows.groups("part").items()}
        assert {group: part["Avg ACC"] for group, part in parts.items()} == approx(kit)


@pytest.mark.parametrize(
    ("name", "key", "figure", "wanted"),
    [
        ("naturalbench", "hit", "Q_Acc", lambda told: told["kit"]["Q_Acc"]),
        ("naturalbench", "hit", "I_Acc", lambda told: told["kit"]["I_Acc"]),
        ("naturalbench", "hit", "Acc", lambda told: told["kit"]["Acc"]),
        ("naturalbench", "hit", "G_Acc", lambda told: told["kit"]["G_Acc"]),
        ("cv_bench", "hit", "2D", lambda told: told["kit 2D"]["Overall"]),
        ("cv_bench", "hit", "3D", lambda told: told["kit 3D"]["Overall"]),
        ("cv_bench", "lmms_hit", "Overall", lambda told: told["lmms"]),
        ("mmstar", "hit", "Overall", lambda told: told["kit"]["Overall"]),
        ("mmstar", "lmms_hit", "average", lambda told: told["lmms"]["average"]),
        ("mmvp", "hit", "Average", lambda told: told["kit"]["Average"]),
        ("mmvp", "hit", "Overall", lambda told: told["kit"]["Overall"]),
        ("docvqa", "score", "Overall", lambda told: told["kit Overall"] / 100),
        ("textvqa", "score", "Overall", lambda told: told["kit Overall"] / 100),
        ("ocrbench", "score", "Final Score", lambda told: told["kit"]["Final Score"] / 100),
        ("mathvista", "kit", "Overall", lambda told: told["kit"]["Overall"]["acc"] / 100),
    ],
)
def test_shares_and_means_are_the_toolkits(data, name, key, figure, wanted):
    spec, rows, told = family(data, name, hit(key))
    assert lines(spec, rows)[figure] == pytest.approx(100 * wanted(told), abs=1e-6)


def test_groups_of_lists_are_the_toolkits(data):
    spec, rows, told = family(data, "mathvista", hit("kit"))
    kit = told["kit"]
    del kit["Overall"]
    got = {
        group: lines(spec, rows, mask)["Overall"]
        for column in spec.groups
        for group, mask in rows.groups(column).items()
    }
    assert got == approx({group: numbers["acc"] for group, numbers in kit.items()})


def test_the_ratio_of_two_marks_is_the_toolkits(data):
    folder = data / "families"
    read = [*map(json.loads, (folder / "llava_bench.jsonl").read_text().splitlines())]
    marks = np.array([[one["expected"]["gpt4_score"], one["expected"]["score"]] for one in read])
    told = json.loads((folder / "llava_bench.json").read_text())["aggregate"]
    rows = toy([0.0] * len(marks), marks=marks)
    assert value({"ratio": "marks"}, rows) == pytest.approx(
        told["kit"]["overall"]["Relative Score (main)"]
    )
    known = np.where((marks < 0).any(axis=1, keepdims=True), np.nan, marks)
    ours = told["ours, unread left out"]["Relative Score (main)"]
    assert value({"ratio": "marks"}, toy([0.0] * len(marks), marks=known)) == pytest.approx(ours)


def toy(scores, reads=(), truths=(), pictures=(), cells=None, **how):
    return scored_rows(scores, cells or {}, reads, truths, pictures, **how)


def test_unread_answers_are_left_out_and_bound_the_value():
    rows = toy([1.0, 0.0, None, 1.0], cells={"pair": ["1", "1", "2", "2"]})
    told = figure_line("x", rows, figures(x="mean"))
    assert (told.n, told.unscored, told.mean) == (4, 1, pytest.approx(200 / 3))
    assert (told.worst, told.best) == (50.0, 75.0)
    pairs = figure_line("x", rows, figures(x={"all": ["pair"]}))
    assert (pairs.n, pairs.unscored, pairs.mean) == (2, 1, 0.0), "a wrong row decides its unit"
    assert (pairs.worst, pairs.best) == (0.0, 50.0)
    whole = figure_line("x", toy([None, None]), figures(x="mean"))
    assert (whole.mean, whole.low, whole.worst, whole.best) == (None, None, 0.0, 100.0)


def test_f1_takes_unread_answers_as_each_protocol_does():
    reads = ["Yes", "", "No", "Yes"]
    truths = ["yes", "YES", "No", "No"]
    ours = toy([1.0, None, 1.0, 0.0], reads, truths)
    kit = toy([1.0, 0.0, 1.0, 0.0], reads, truths, is_unread_no=True)
    told = figure_line("x", ours, figures(x={"f1": "Yes"}))
    assert told.mean == pytest.approx(200 / 3) and told.unscored == 1
    assert (told.worst, told.best) == pytest.approx((50.0, 80.0))
    assert value({"f1": "Yes"}, kit) == pytest.approx(50.0)
    forms = {"precision": 50.0, "recall": 100.0, "yes": 200 / 3}
    for form, wanted in forms.items():
        assert value({form: "Yes"}, ours) == pytest.approx(wanted), form
    assert value({"recall": "Yes"}, kit) == pytest.approx(50.0)


def test_scale_where_above_and_figures_of_figures():
    cells = {"part": ["a", "a", "b", ("b", "c")], "split": ["x", "x", "y", ""]}
    rows = toy([1.0, 0.0, 1.0, 1.0], cells=cells)
    assert value({"mean": "rows", "scale": 50}, rows) == 37.5
    assert value({"mean": "rows", "where": {"split": "x"}}, rows) == 50.0
    assert value({"mean": "rows", "where": {"split": ""}}, rows) == 100.0
    assert value({"mean": "rows", "where": {"absent": ""}}, rows) == 75.0
    words = toy([1.0, 0.0, 1.0, 0.0], cells={"level": ["nan", "easy", "", "NA"]})
    assert value({"count": "rows", "where": {"level": ""}}, words) == 2.0
    assert value({"mean": "rows", "without": {"level": ""}}, words) == 0.0
    several = toy([1.0, 0.0, 1.0], cells={"level": [("easy", "NA"), ("nan", ""), "NA"]})
    assert value({"count": "rows", "where": {"level": ""}}, several) == 1.0
    assert value({"count": "rows", "where": {"level": "NA"}}, several) == 2.0
    assert value({"mean": "rows", "where": {"absent": "z"}}, rows) is None
    assert value({"mean_of": "part"}, rows) == pytest.approx(250 / 3), "a list is in each group"
    assert value("count", rows) == 3.0
    assert value({"count": "rows", "scale": 0.1}, rows) == pytest.approx(0.3)
    assert value({"above": 0.5}, rows) == 75.0
    assert value({"sum": ["x1", "x2"]}, rows, x1="mean", x2="count") == 78.0
    assert value({"mean": ["x1", "x2"]}, rows, x1="mean", x2="count") == 39.0
    summed = {"sum": "x1", "over": "part", "among": ["a", "c", "d"]}
    assert value(summed, rows, x1="mean") == 150.0, "groups that are not there add nothing"


@pytest.mark.parametrize(
    ("fields", "is_percent"),
    [
        ({"mean": "rows"}, True),
        ({"mean": "rows", "scale": 1}, True),
        ({"mean": "rows", "scale": 1000}, False),
        ({"mean": ["a", "b"]}, True),
        ({"mean": ["a", "b"], "scale": 100}, False),
        ({"sum": ["a", "b"]}, False),
    ],
)
def test_a_percent_is_no_more_than_100(fields, is_percent):
    assert Figure(**fields).is_percent == is_percent


def test_intervals_hold_the_value_and_narrow_with_rows():
    random = np.random.default_rng(1)
    for forms in (
        {"x": "mean"},
        {"x": {"f1": "Yes"}},
        {"x1": "mean", "x": {"sum": "x1", "over": "g"}},
    ):
        widths = []
        for size in (40, 640):
            right = random.random(size) < 0.7
            truths = np.where(np.arange(size) % 2 == 0, "Yes", "No").tolist()
            reads = [
                truth if is_right else "Yes" if truth == "No" else "No"
                for truth, is_right in zip(truths, right, strict=True)
            ]
            groups = [str(place % 4) for place in range(size)]
            rows = toy(right.astype(float).tolist(), reads, truths, cells={"g": groups})
            told = figure_line("x", rows, figures(**forms))
            assert told.low < told.mean < told.high
            widths.append(told.high - told.low)
        assert widths[1] < widths[0] / 2
    again = figure_line("x", rows, figures(**forms))
    assert (again.low, again.high) == (told.low, told.high), "an interval is the same each time"


def test_rows_on_one_picture_widen_an_interval():
    scores = [1.0, 1.0, 0.0, 0.0] * 20
    reads = ["Yes", "Yes", "No", "No"] * 20
    truths = ["Yes"] * 80
    alone = figure_line("x", toy(scores, reads, truths), figures(x={"f1": "Yes"}))
    pictures = [str(place // 2) for place in range(80)]
    shared = figure_line("x", toy(scores, reads, truths, pictures), figures(x={"f1": "Yes"}))
    assert shared.high - shared.low > 1.2 * (alone.high - alone.low)


@pytest.mark.parametrize("form", [{"mean": "rows"}, {"mean_of": "part"}, {"sum": "base"}])
def test_scores_that_happen_to_be_0_and_1_are_no_shares(form):
    def line(last):
        cells = {"part": ["a", "b"] * 6}
        rows = toy([1.0] * 11 + [last], cells=cells, ends=Ends(-1.0, 1.0))
        return figure_line("x", rows, figures(base="mean", x=form))

    assert line(1.0).low == pytest.approx(line(0.999).low, abs=1.0)
    assert line(1.0).high == pytest.approx(line(0.999).high, abs=1.0)


def test_marks_that_all_happen_to_be_1_are_no_shares():
    rows = toy([0.5] * 12, marks=np.ones((12, 1)), mark_ends=Ends(0.0, 2.0))
    line = figure_line("x", rows, figures(x={"mark": 1}))
    assert line.low < line.mean < line.high and line.mean == 1.0


def test_a_ratios_interval_counts_rows_whose_first_mark_is_0():
    marks = np.array([[0.0, 10.0], [5.0, 5.0]] * 10)
    rows = toy([0.0] * len(marks), marks=marks, mark_ends=Ends(0.0, 10.0))
    line = figure_line("x", rows, figures(x={"ratio": "marks"}))
    assert line.mean == 300.0 and line.low < 300.0 < line.high


def test_rows_with_a_code_in_common_are_one_cluster():
    codes = cluster_codes([np.array([0, 0, -1, -1]), np.array([-1, 5, 5, 7])], 4)
    assert codes[0] == codes[1] == codes[2] != codes[3]


@pytest.mark.parametrize(
    ("how", "cell", "wanted"),
    [
        ({"part": 4, "by": "_"}, "VD_ocr_3_1_0_2", "1"),
        ({"part": 9, "by": "_"}, "VD_ocr_3", ""),
        ({"less": 1, "div": 2}, "8", "3"),
        ({"mod": 4}, "7.0", "3"),
        ({"names": {"a": "A"}}, "b", "b"),
        ({"split": ","}, "random, popular,", ("random", "popular")),
    ],
)
def test_a_column_is_derived(how, cell, wanted):
    assert Derived.model_validate({"from": "x", **how}).derive_cell(cell) == wanted


def test_cells_of_every_format_are_texts():
    assert [*map(cell_text, (None, 3, 3.0, True, ["a"], "x"))] == [
        "",
        "3",
        "3",
        "true",
        '["a"]',
        "x",
    ]
    assert cell_members("['a', 'b']") == cell_members(["a", "b"]) == ("a", "b")
    assert cell_members("[]") == cell_members([]) == cell_members(None) == ("",)
    with pytest.raises(ValueError, match="'x' isn't a whole number"):
        Derived.model_validate({"from": "x", "div": 2}).derive_cell("x")


@pytest.mark.parametrize("right, wrong, unscored", [(700, 100, 200), (20, 0, 20), (30, 60, 5)])
@pytest.mark.parametrize("score", [1.0, 0.75])
def test_the_interval_of_a_count_holds_it_and_the_likely_count_of_all(
    right, wrong, unscored, score
):
    rows = toy([score] * right + [0.0] * wrong + [None] * unscored)
    line = figure_line("x", rows, figures(x={"count": "rows", "scale": 2}))
    size = right + wrong + unscored
    likely = 2 * size * score * right / (right + wrong)
    assert line.mean == pytest.approx(2 * score * right)
    assert (line.worst, line.best) == pytest.approx((line.mean, line.mean + 2 * unscored))
    assert line.low <= line.mean <= likely <= line.high + 1e-9 and line.low < line.high
    assert unscored < 10 or line.worst - 1e-9 <= line.low


@pytest.mark.parametrize("marks", [[[0, 1]], [[1, 2], [-1, -1]], [[2, 0], [-1, -1], [-1, -1]]])
def test_a_ratio_to_marks_that_add_up_to_0_has_no_value(marks):
    rows = toy([0.5] * len(marks), marks=np.array(marks, float), mark_ends=Ends(0.0, 2.0))
    line = figure_line("x", rows, figures(x={"ratio": "marks"}))
    assert (line.mean, line.low, line.high) == (None, None, None)
