"""Agreement of labellers, two models' errors, and their tests, beside krippendorff and statsmodels."""

import json
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from arena.ratings.agreement import Estimate
from scoring.people.errors import ERROR_KINDS, Label
from scoring.people.label_agreement import compare_errors, doubted_questions, label_agreement
from scoring.people.measures import alpha

PEERS = json.loads((Path(__file__).parents[2] / "golden" / "error_analysis_peers.json").read_text())


def test_alpha_is_krippendorffs():
    assert alpha(PEERS["units"]).value == pytest.approx(PEERS["alpha"], abs=1e-12)
    assert alpha([["a", "a"], ["b", "b"]]).value == 1.0
    assert alpha([["a", "a"], ["b", "b"]] * 10) == Estimate(1.0, None, None), "no draw moves it"
    assert alpha([["a", "a"]]).value is None and alpha([["a"], ["b"]]).value is None


def test_bowker_mcnemar_and_holm_are_those_of_statsmodels():
    sides = [
        [Label(str(place), "g", "p", pair[side]) for place, pair in enumerate(PEERS["pairs"])]
        for side in (0, 1)
    ]
    found = compare_errors(*sides)
    assert found.items == len(PEERS["pairs"]) and found.table.sum() == found.items
    assert found.symmetry == pytest.approx(PEERS["bowker"], abs=1e-10)
    for key, one in found.kinds.items():
        assert one.counts.p == pytest.approx(PEERS["mcnemar"][key], abs=1e-10), key
        assert one.holm == pytest.approx(PEERS["holm"][key], abs=1e-10), key
    alike = compare_errors(sides[0], sides[0])
    assert alike.symmetry.p == 1.0 and all(one.holm == 1.0 for one in alike.kinds.values())


def label(item: str, who: str, main: str, *further: str, round: int = 1, note: str = "") -> Label:
    keys = {key: key for key in ERROR_KINDS}
    return Label(item, "g", who, keys[main], tuple(keys[one] for one in further), note, round)


def test_people_agree_by_their_last_word_and_with_themselves_over_rounds():
    labels = [
        label(str(n), who, "perception" if n % 3 else "reasoning")
        for n in range(12)
        for who in "ab"
    ]
    labels += [label(str(n), "a", "knowledge", round=2) for n in range(4)]
    found = label_agreement({"m": labels})
    assert found.answers == 12 and found.main.value is not None and 0 < found.main.value < 1
    assert found.common.value == pytest.approx(8 / 12), "the last round counts"
    assert found.same_person.value is not None and found.same_person.value < 0


def test_agreement_is_shown_also_of_people_who_all_name_the_same_main_kind():
    twice = [label("1", "a", "perception"), label("1", "b", "perception", "reasoning")]
    agreement = label_agreement({"m": [*twice, label("2", "a", "perception")]})
    assert agreement.main.value is None and agreement.has_repeats
    assert not label_agreement({"m": twice[:1]}).has_repeats


def test_questions_that_two_people_or_two_models_doubt_are_told():
    labels = {
        "m1": [
            label("1", "a", "annotation", note="no"),
            label("1", "b", "right"),
            label("2", "a", "perception"),
        ],
        "m2": [label("2", "a", "annotation"), label("3", "a", "perception", "annotation")],
        "m3": [label("3", "b", "right"), label("4", "a", "annotation")],
    }
    found = {one.item: one for one in doubted_questions(labels)}
    assert set(found) == {"1", "3"}
    assert (found["1"].people, found["1"].models, found["1"].annotation, found["1"].right) == (
        2,
        1,
        1,
        1,
    )
    assert found["1"].notes == ("no",) and found["3"].models == 2


def test_an_interval_of_many_labels_costs_no_more_than_their_different_pairs():
    draw = random.Random(1)
    units = [(draw.choice("abc"), draw.choice("abc")) for _ in range(3000)]
    tracemalloc.start()
    found = alpha(units)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000
    assert (
        found.low is not None
        and found.high is not None
        and -0.06 < found.low < 0 < found.high < 0.06
    )


def test_alpha_has_an_interval_from_enough_answers():
    coin = np.random.default_rng(1)
    units = [
        ["a", "a"] if coin.random() < 0.4 else ["b", "ba"[int(coin.random() < 0.3)]]
        for _ in range(80)
    ]
    found = alpha(units)
    assert found.low is not None and found.value is not None and found.high is not None
    assert found.low < found.value < found.high
