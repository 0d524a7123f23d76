"""Intervals of scores: few questions, questions on one picture, means over groups, and what is still possible.

How often they hold the truth is looked at in `tests/arena/ratings/test_coverage.py`.
"""

from itertools import product

import numpy as np
import pytest

from arena.ratings.shares import wilson
from scoring.benchmarks.choice_figures import ChoiceFigures
from scoring.intervals import Ends, Sample, mean_ends, mean_of_shares, possible_ends, share_ends
from scoring.multiple_choice.metrics import compare_outcomes
from scoring.report import difference, line
from scoring.specs.figure_values import figure_line, share_line
from scoring.specs.figures import Figure
from scoring.specs.scored_rows import scored_rows

FIGURES = {"share": Figure(mean="rows"), "mean": Figure(mean_of="group")}


def sample(right: int, of: int, pictures: list[str] | None = None, unscored: int = 0) -> Sample:
    scores = np.array([1.0] * right + [0.0] * (of - right))
    return Sample(scores, pictures or [""] * of, unscored)


def column(*scores: float) -> np.ndarray:
    return np.array(scores, dtype=np.float64).reshape(-1, 1)


@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_questions_of_one_score_have_an_interval_that_more_of_them_shorten(score):
    """Two questions that a model fails do not prove that it fails all."""
    widths = []
    for questions in (1, 2, 5, 20, 200):
        ends = mean_ends(np.full((questions, 3), score))
        assert ends is not None and 0 <= ends.low <= score <= ends.high <= 1
        widths.append(ends.high - ends.low)
    assert widths[0] == widths[1] == 1 and widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.03


def test_a_score_at_either_end_is_added():
    """Student's interval of these two and of what was scored."""
    ends = mean_ends(column(0.4, 0.9, 1.0))
    scores = np.array([0.4, 0.9, 1.0, 0.0, 1.0])
    reach = 2.7764 * scores.std(ddof=1) / np.sqrt(5)
    assert ends == pytest.approx((scores.mean() - reach, 1.0), abs=1e-4)


def test_a_question_of_its_own_picture_counts_as_one():
    for right, of in product((0, 3, 7), (7, 20)):
        (low,), (high,) = wilson(np.array([right]), np.array([of]))
        for pictures in (None, [str(number) for number in range(of)]):
            assert share_ends(sample(right, of, pictures)) == pytest.approx((low, high))


@pytest.mark.parametrize(("right", "of"), [(0, 6), (2, 6), (6, 6), (11, 12)])
def test_copies_of_questions_tell_no_more_than_the_questions(right, of):
    """What is answered alike on each picture is one answer a picture."""
    alone = share_ends(sample(right, of))
    scores = np.array([1.0] * right + [0.0] * (of - right))
    pictures = [str(number) for number in range(of)]
    copies = Sample(scores.repeat(8), np.repeat(pictures, 8).tolist())
    assert share_ends(copies) == pytest.approx(alone)
    graded = (0.7 * scores + 0.1).reshape(-1, 1)
    assert mean_ends(graded.repeat(8, axis=0), copies.pictures) == pytest.approx(mean_ends(graded))


def test_questions_on_one_picture_widen_the_interval_by_how_alike_they_are():
    coin = np.random.default_rng(3)
    pictures = np.arange(60).repeat(8).astype(str).tolist()
    widths = []
    for alike in (0.0, 0.3, 0.7, 1.0):
        luck = coin.random(60).repeat(8)
        own = coin.random(480)
        right = np.where(coin.random(480) < np.sqrt(alike), luck, own) < 0.6
        ends = share_ends(Sample(right.astype(np.float64), pictures))
        widths.append(ends.high - ends.low)
    assert widths == sorted(widths)
    alone = share_ends(sample(288, 480))
    assert widths[0] < 1.25 * (alone.high - alone.low) and widths[-1] > 2.2 * (
        alone.high - alone.low
    )


def test_a_picture_whose_other_questions_are_unscored_is_one_of_its_own():
    scores = np.array([[1.0], [np.nan], [0.0], [0.5]])
    assert mean_ends(scores, ["a", "a", "b", "c"]) == pytest.approx(mean_ends(scores))


def test_all_questions_on_one_picture_say_hardly_anything():
    assert mean_ends(column(1, 1, 0, 1, 0.5), ["a"] * 5) == Ends(0.0, 1.0)
    ends = share_ends(sample(5, 5, ["a"] * 5))
    assert ends == pytest.approx(share_ends(sample(1, 1)))


def test_the_mean_of_one_group_has_the_group_s_interval():
    assert mean_of_shares([sample(3, 9)]) == share_ends(sample(3, 9))
    assert mean_of_shares([sample(3, 9), sample(0, 0, unscored=2)]) == pytest.approx(
        (share_ends(sample(3, 9)).low, share_ends(sample(3, 9)).high), abs=0.5
    )


def test_groups_that_are_all_right_may_have_been_lucky():
    """Of 160 answers to easy questions, all misses are on one side of the mean."""
    ends = mean_of_shares([sample(8, 8)] * 18 + [sample(7, 8)] * 2)
    alone = share_ends(sample(158, 160))
    assert ends.low < 158 / 160 < ends.high
    assert ends.high - ends.low == pytest.approx(alone.high - alone.low, rel=0.2)


def mean_over(groups: list[list[bool | None]], pictures: list[str] | None = None):
    """The mean over groups of outcomes, each on its picture."""
    scores = [None if right is None else float(right) for group in groups for right in group]
    names = [str(place) for place, group in enumerate(groups) for _ in group]
    named = (pictures or []) * len(groups)
    return figure_line("mean", scored_rows(scores, {"group": names}, pictures=named), FIGURES)


def test_pictures_are_shared_across_groups_too():
    coin = np.random.default_rng(5)
    right = (coin.random((12, 1)) < 0.5).repeat(6, axis=1)
    pictures = [str(number) for number in range(12)]
    wide = mean_over(right.T.tolist(), pictures)
    short = mean_over(right.T.tolist())
    assert wide.mean == short.mean
    assert wide.high - wide.low > 1.8 * (short.high - short.low)


@pytest.mark.parametrize(
    ("ends", "least", "most", "kept"),
    [
        ((0.71, 0.93), 0.57, 0.90, (0.71, 0.90)),
        ((0.0, 1.0), 0.02, 0.82, (0.02, 0.82)),
        ((0.61, 0.67), 0.635, 0.645, (0.61, 0.67)),
        ((0.40, 0.60), 0.45, 0.55, (0.40, 0.60)),
        ((0.94, 0.97), 0.86, 0.96, (0.94, 0.96)),
        ((0.3, 0.7), 0.5, 0.5, (0.3, 0.7)),
    ],
    ids=["a third", "four of five", "one in a hundred", "a tenth", "more than chance", "nothing"],
)
def test_an_interval_stays_within_what_is_possible_where_much_is_unknown(ends, least, most, kept):
    assert possible_ends(Ends(*ends), least, most) == kept
    five = Ends(1 + 4 * ends[0], 1 + 4 * ends[1])
    told = possible_ends(five, 1 + 4 * least, 1 + 4 * most, Ends(1, 5))
    assert told == pytest.approx((1 + 4 * kept[0], 1 + 4 * kept[1]))


def test_a_partial_share_and_what_is_wrong_by_protocol():
    known = [True] * 34 + [False] * 6 + [None] * 20
    part = share_line("", known)
    assert (part.low, part.high, part.best) == (pytest.approx(70.9, abs=0.05), 90.0, 90.0)
    undecided = [True] * 30 + [None] * 30
    rows = scored_rows([right and 1.0 for right in undecided], {})
    wrong = ChoiceFigures(FIGURES, "mmt-paper").line("share", rows)
    assert (wrong.worst, wrong.mean, wrong.best) == (50.0, 50.0, 100.0)
    assert wrong.low == pytest.approx(37.7, abs=0.05), "what the protocol calls wrong is known"
    several = mean_over([known, undecided, [None] * 5])
    assert several.worst <= several.low <= several.mean <= several.high <= several.best
    graded = line("", np.array([[0.9], [1.0], [np.nan], [np.nan], [np.nan]]))
    assert graded.worst <= graded.low <= graded.mean <= graded.high <= graded.best


def test_a_mean_without_a_score_has_no_interval():
    assert mean_ends(np.full((3, 2), np.nan)) is None and mean_ends(np.zeros((0, 1))) is None
    assert share_line("", [None, None]).low is None and mean_over([[None]]).low is None
    assert share_line("", []).mean is None


def test_differences_add_what_may_have_been_missed():
    """At least half the scale either way; all of it where nothing differs, as two models' right answers may."""
    same = difference("", [0.0] * 20, [""] * 20, 0.0)
    assert same.low == pytest.approx(-same.high) and same.high == pytest.approx(13.7, abs=0.1)
    small = difference("", [0.1, 0.0, 0.05] * 20, [""] * 60, 0.1)
    large = difference("", [0.1, 0.0, 0.05] * 20, [""] * 60, 1.0)
    assert large.low < small.low < 5 < small.high < large.high
    assert small.mean == pytest.approx(5)
    whole = difference("", [1.0, 1.0], ["", ""], 1.0)
    assert (whole.mean, whole.high) == (100, 100) and whole.low >= -100


def test_two_models_change_sides_a_picture_at_a_time():
    alone = [(True, False)] * 5 + [(False, True), (True, True), (None, True)]
    pictures = [str(number) for number in range(len(alone))]
    once = compare_outcomes("", alone)
    assert once == compare_outcomes("", alone, pictures) and once.p == pytest.approx(14 / 64)
    copies = compare_outcomes("", alone * 4, pictures * 4)
    assert copies.p == pytest.approx(once.p) and copies.first_only == 20
    uneven = compare_outcomes("", [(True, False)] * 4 + [(False, True)], ["a", "a", "a", "b", "c"])
    assert uneven.p == pytest.approx(6 / 8), (
        "of the eight sums of 3, 1 and 1 with signs, six are as far off as 3"
    )
