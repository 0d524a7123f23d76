"""Shares of kinds of error: of the sample, and weighted to all errors, in simulated draws; what labels must fit."""

from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t

from arena.locale import CHINESE
from arena.ratings.shares import wilson
from arena.sheets import Cell, cell_of
from scoring.benchmarks.article import ScoredAnswer
from scoring.people.error_sample import KnownErrors, draw_errors, known_errors
from scoring.people.error_shares import (
    ERRORS,
    KEYS,
    LabelsError,
    error_shares,
    merge_labels,
    without_annotation_errors,
)
from scoring.people.errors import ErrorKey, Label
from scoring.people.label_sheets import bounds_text, kind_sheet
from scoring.people.published import CASE_MODELS, PAPER_SHARES, error_cases

KINDS: tuple[ErrorKey, ...] = ("perception", "reasoning", "knowledge", "annotation")


def population(seed: int, groups: int = 60) -> tuple[KnownErrors, dict[str, ErrorKey]]:
    """Errors of groups of very different sizes, in which kinds are not alike."""
    coin = np.random.default_rng(seed)
    answers, kinds = [], {}
    for group in range(groups):
        size = int(coin.integers(1, 40))
        share = coin.dirichlet((4, 2, 1, 0.5) if size < 20 else (1, 4, 1, 0.5))
        for place in range(size):
            name = f"{group}-{place}"
            answers.append(ScoredAnswer(name, "Q", "T", "a", "", 0.0, (str(group),)))
            kinds[name] = KINDS[int(coin.choice(4, p=share))]
    return known_errors(answers), kinds


@pytest.mark.parametrize("draws", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_weighted_shares_are_unbiased_and_their_intervals_cover(draws):
    known, kinds = population(3)
    truth = {kind: count / len(kinds) for kind, count in Counter(kinds.values()).items()}
    values, covered, plain = [], [], []
    for seed in range(draws):
        labels = [
            Label(one.answer.id, one.group, "a", kinds[one.answer.id])
            for one in draw_errors(known, seed=seed)
        ]
        found = error_shares(labels, known)
        values.append([found.kinds[kind].weighted.value for kind in KINDS])
        covered.append(
            [found.kinds[k].weighted.low <= truth[k] <= found.kinds[k].weighted.high for k in KINDS]
        )
        plain.append(found.kinds["reasoning"].sample.value)
    error = np.std(values, axis=0) / draws**0.5
    assert (np.abs(np.mean(values, axis=0) - [truth[kind] for kind in KINDS]) < 4 * error).all()
    slack = 0.02 if draws < 1000 else 0.01
    assert 0.93 - slack <= np.mean(covered) <= 0.97 + slack, np.mean(covered, axis=0)
    assert abs(np.mean(plain) - truth["reasoning"]) > 0.03, (
        "the sample's own share is another thing here"
    )


PAPER = np.array([0.51, 0.0994, 0.08, 0.19, 0.0611, 0.0299, 0.015, 0.015])
"""About GPT-4V's kinds in section 4.4."""


class Population:
    """162 groups whose kinds differ much: the larger a group, the more of its errors are reasoning's."""

    def __init__(self, seed: int) -> None:
        coin = np.random.default_rng(seed)
        sizes = (1 + coin.geometric(0.1, 162)).tolist()
        names = [
            (f"{group}/{at}", str(group)) for group, size in enumerate(sizes) for at in range(size)
        ]
        self.known = known_errors(
            ScoredAnswer(name, "Q", "T", "a", "", 0.0, (group,)) for name, group in names
        )
        self.kind: dict[str, ErrorKey] = {}
        for wrong in self.known.by_group.values():
            mix = PAPER + [0, len(wrong) / 40, 0, 0, 0, 0, 0, 0]
            share = coin.dirichlet(2 * mix / mix.sum())
            self.kind |= {one.id: KEYS[coin.choice(len(KEYS), p=share)] for one in wrong}
        counts = Counter(self.kind.values())
        self.errors = np.array([counts[key] for key in ERRORS])
        self.truth = self.errors / self.errors.sum()
        self.right = counts["right"] / counts.total()

    def labels(self, seed: int) -> list[Label]:
        return [
            Label(one.answer.id, one.group, "a", self.kind[one.answer.id])
            for one in draw_errors(self.known, seed=seed)
        ]


@pytest.mark.parametrize("draws", [60, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_each_kinds_interval_covers_however_groups_differ(seed, draws):
    """95% over the kinds with 20 errors or more, 92-97% of each, no less of a rare one; few draws tell the mean."""
    made = Population(seed)
    found = [error_shares(made.labels(number), made.known) for number in range(draws)]
    weighted = np.array([[shares.kinds[key].weighted for key in ERRORS] for shares in found])
    held = ((weighted[..., 1] <= made.truth) & (made.truth <= weighted[..., 2])).mean(0)
    usual = held[made.errors >= 20]
    assert usual.mean() == pytest.approx(0.95, abs=0.01 if draws >= 1000 else 0.02)
    assert draws < 1000 or (held.min() >= 0.92 and usual.max() <= 0.97), held
    error = weighted[..., 0].std(0) / draws**0.5
    assert (np.abs(weighted[..., 0].mean(0) - made.truth) < 4 * error).all()
    right = np.array([shares.right.weighted.value for shares in found])
    assert abs(right.mean() - made.right) < 4 * right.std() / draws**0.5


@pytest.mark.parametrize("draws", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_intervals_cover_where_many_answers_are_right_after_all(draws):
    """A quarter of the wrong answers, in some groups most of them."""
    coin = np.random.default_rng(5)
    names = [
        (f"{group}/{at}", group) for group in range(80) for at in range(int(coin.integers(1, 40)))
    ]
    known = known_errors(
        [ScoredAnswer(name, "Q", "T", "a", "", 0.0, (str(group),)) for name, group in names]
    )
    mixes = coin.dirichlet((3, 2, 1.6), 80)
    kinds = {
        name: ("perception", "reasoning", "right")[coin.choice(3, p=mixes[group])]
        for name, group in names
    }
    counts = Counter(kinds.values())
    truth = counts["perception"] / (counts["perception"] + counts["reasoning"])
    values, held = [], 0
    for seed in range(draws):
        drawn = draw_errors(known, seed=seed)
        labels = [Label(one.answer.id, one.group, "a", kinds[one.answer.id]) for one in drawn]
        share = error_shares(labels, known).kinds["perception"].weighted
        values.append(share.value)
        held += share.low <= truth <= share.high
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / draws**0.5 + 0.005
    assert held / draws >= (0.93 if draws >= 1000 else 0.9)


def test_of_the_papers_96_cases_30_are_no_errors_and_in_no_share():
    """Table A11: GPT-4V has 12 perception errors in 24, where its whole sample has 51% (section 4.4)."""
    shares = {}
    for model in CASE_MODELS:
        cases = {figure: kind for (figure, whose), kind in error_cases().items() if whose == model}
        known = known_errors([ScoredAnswer(case, "Q", "T", "a", "", 0.0, ("g",)) for case in cases])
        labels = [Label(case, "g", "a", kind or "right") for case, kind in cases.items()]
        shares[model] = error_shares(labels, known)
    perception = {model: found.kinds["perception"].sample for model, found in shares.items()}
    assert [(one.hits, one.n) for one in perception.values()] == [(12, 24), (14, 19), (17, 23)]
    assert [found.right.sample.hits for found in shares.values()] == [8, 13, 9]
    for model, share in perception.items():
        assert share.value == pytest.approx(PAPER_SHARES[model]["perception"], abs=0.07)
    sheet = kind_sheet(shares["GPT-4V"], with_paper=False)
    assert "The answer is right" not in set(sheet.frame["kind"])
    assert sheet.note.startswith("Right after all: 8 of 32 labelled answers, 25.0% of all wrong")


def test_answers_that_are_all_right_after_all_have_no_error():
    known = known_errors([ScoredAnswer(str(n), "Q", "T", "a", "", 0.0, ("g",)) for n in range(9)])
    found = error_shares([Label(str(n), "g", "a", "right") for n in range(5)], known)
    assert found.right.weighted.value == 1 and found.kinds["perception"].weighted == (0, 0, 1)
    sheet = kind_sheet(found, with_paper=False)
    cells = {cell_of(column, row) for row in sheet.rows for column in sheet.columns[2:]}
    assert cells == {Cell("–")}, "without an error, no share of errors is known"


def test_the_interval_of_one_group_is_wilsons_for_a_finite_group_by_students_quantile():
    """8 of 12 errors labelled, 3 of them perception, and one more that is spread evenly."""
    known = known_errors([ScoredAnswer(str(n), "Q", "T", "a", "", 0.0, ("g",)) for n in range(12)])
    labels = [Label(str(n), "g", "a", "perception" if n < 3 else "refuse") for n in range(8)]
    size = (
        8
        / (1 - 8 / 12)
        / (3 / 4 * 8 / 7 + 1 / 4)
        * (NormalDist().inv_cdf(0.975) / t.ppf(0.975, 7)) ** 2
    )
    low, high = wilson(np.array([3 / 8 * size]), np.array([size]))
    assert error_shares(labels, known).kinds["perception"].weighted == pytest.approx(
        (3 / 8, low[0], high[0])
    )


def test_one_label_of_each_group_has_an_interval_too():
    names = [(f"{group}/{at}", str(group)) for group in range(30) for at in range(10)]
    known = known_errors(
        [ScoredAnswer(name, "Q", "T", "a", "", 0.0, (group,)) for name, group in names]
    )
    labels = [Label(f"{group}/0", str(group), "a", KEYS[group % 2]) for group in range(30)]
    value, low, high = error_shares(labels, known).kinds["perception"].weighted
    assert value == pytest.approx(0.5) and 0.3 < low < 0.36 and 0.64 < high < 0.7


def test_where_every_error_is_labelled_nothing_is_left_to_chance():
    known = known_errors([ScoredAnswer(str(n), "Q", "T", "a", "", 0.0, ("g",)) for n in range(4)])
    labels = [Label(str(n), "g", "a", "perception" if n else "refuse") for n in range(4)]
    shares = error_shares(labels, known)
    assert shares.kinds["perception"].weighted == (0.75, 0.75, 0.75)
    assert (shares.labelled, shares.wrong, shares.covered) == (4, 4, 4)


def test_labels_of_more_than_a_groups_errors_are_refused():
    known = known_errors([ScoredAnswer("1", "Q", "T", "a", "", 0.0, ("g",))])
    with pytest.raises(LabelsError, match="The group 'g' has 1 wrong answer, but labels for 2"):
        error_shares([Label("1", "g", "a", "refuse"), Label("2", "g", "a", "refuse")], known)


def test_several_people_make_one_label():
    three = [
        Label("1", "g", who, kind)
        for who, kind in zip("abc", ("refuse", "perception", "perception"), strict=True)
    ]
    assert merge_labels(three)[0].main == "perception"
    assert merge_labels(three[:2])[0].main == "perception", "of two, the last word"
    again = [*three, Label("1", "g", "b", "refuse", round=2)]
    assert merge_labels(again)[0].main == "refuse", (
        "a later round takes the place of an earlier one"
    )


def test_further_kinds_are_those_that_half_of_the_people_see():
    labels = [
        Label("1", "g", "a", "perception", ("reasoning",)),
        Label("1", "g", "b", "perception", ("reasoning", "knowledge")),
        Label("1", "g", "c", "refuse"),
    ]
    (label,) = merge_labels(labels)
    assert (label.main, label.further) == ("perception", ("reasoning",))
    assert merge_labels(labels[1:])[0].further == ("perception", "reasoning", "knowledge"), (
        "one of two"
    )


def test_wrong_questions_bound_the_score():
    answers = [ScoredAnswer(str(n), "Q", "T", "a", "", float(n >= 40), ("g",)) for n in range(100)]
    known = known_errors(answers)
    labels = [Label(str(n), "g", "a", "annotation" if n < 10 else "perception") for n in range(40)]
    bounds = without_annotation_errors(error_shares(labels, known), known)
    assert bounds is not None and bounds.none_dropped == 0.6
    assert bounds.all_dropped == pytest.approx(60 / 90) and bounds.highest == bounds.all_dropped
    assert without_annotation_errors(error_shares([], known_errors([])), known_errors([])) is None
    wrong = known_errors(answers[:40])
    every = [label._replace(main="annotation") for label in labels]
    bounds = without_annotation_errors(error_shares(every, wrong), wrong)
    assert bounds == (0.0, 1.0, 1.0, 40), "no question is left to fail"


def test_what_is_known_of_labelled_groups_is_not_said_of_others():
    answers = [
        ScoredAnswer(str(n), "Q", "T", "a", "", float(n >= 80), ("ab"[n % 2],)) for n in range(100)
    ]
    known = known_errors(answers)
    labels = [Label(str(n), "a", "a", "annotation") for n in range(0, 80, 2)]
    bounds = without_annotation_errors(error_shares(labels, known), known)
    assert bounds is not None and bounds.all_dropped == bounds.highest == pytest.approx(20 / 60)
    assert without_annotation_errors(error_shares([], known), known) == (0.2, 0.2, 0.2, 100)


def test_a_score_says_of_how_many_answers_it_is():
    """Answers that were assigned a score, or got none, may count in the report's own."""
    answers = [ScoredAnswer(str(n), "Q", "T", "a", "", float(n >= 40), ("g",)) for n in range(1100)]
    answers += [answer._replace(assigned=True) for answer in answers[:5]]
    answers += [answer._replace(score=None) for answer in answers[:5]]
    known = known_errors(answers)
    labels = [Label(str(n), "g", "a", "annotation" if n < 10 else "perception") for n in range(40)]
    shares = error_shares(labels, known)
    bounds = without_annotation_errors(shares, known)
    assert bounds
    told = bounds_text(shares, bounds)
    assert told.startswith("Score 96.4 over the 1,100 answers that could be read. Without wrong ")
    assert CHINESE.translated(told).startswith("得分 96.4（可读的 1,100 个回答）。")
