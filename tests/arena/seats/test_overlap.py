"""Overlap: the same tuples whoever asks, about the share that was asked for; agreement counted by hand."""

from hypothesis import given
from hypothesis import strategies as st

from arena.seats.quality import agreement_with_rest, is_overlap, pairwise_agreement


@given(st.text(max_size=20), st.integers(0, 10**6))
def test_a_tuple_is_chosen_or_not_for_good_and_stays_chosen_in_a_larger_share(campaign, of):
    found = [is_overlap(campaign, share / 10, of) for share in range(11)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (False, True)
    assert found == [is_overlap(campaign, share / 10, of) for share in range(11)]


def test_a_share_of_the_tuples_is_chosen_and_another_campaign_chooses_others():
    chosen = {
        name: {of for of in range(10_000) if is_overlap(name, 0.15, (of, "a"))}
        for name in ("one", "other")
    }
    assert all(1_390 < len(found) < 1_610 for found in chosen.values())
    assert len(chosen["one"] & chosen["other"]) < 300


def test_agreement_is_counted_over_pairs_of_answers():
    answers = {"x": [(1, "a"), (2, "a"), (3, "b")], "y": [(1, "b"), (2, "b")], "z": [(3, "a")]}
    assert agreement_with_rest(answers) == {1: (2, 3), 2: (2, 3), 3: (0, 2)}
    assert pairwise_agreement(answers.values()) == 2 / 4
    assert pairwise_agreement([[(1, "a")], []]) is None


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), max_size=6), max_size=8)
)
def test_each_workers_agreement_adds_up_to_twice_the_pairs(answers):
    found = agreement_with_rest(dict(enumerate(answers)))
    total = sum(of for _, of in found.values())
    rate = pairwise_agreement(answers)
    assert (rate is None) == (total == 0)
    if rate is not None:
        assert sum(agreed for agreed, _ in found.values()) / total == rate
