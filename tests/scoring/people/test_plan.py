"""The order in which a report's answers are marked: a stratified sample at any moment, repeats, second persons."""

from collections import Counter

import pytest

from scoring.benchmarks.article import ScoredAnswer
from scoring.people.plan import LEAST_BETWEEN, History, answer_key, mark_plan, next_answer

ANSWERS = [
    ScoredAnswer(f"v1_{number}", f"Question {number}", "truth", f"answer {number}", "", score)
    for number, score in enumerate([0.0] * 100 + [0.5] * 60 + [1.0] * 40 + [None] * 10)
]
PLAN = mark_plan(ANSWERS, "seed")


def test_every_answer_stands_once_in_an_order_that_the_seed_decides():
    assert sorted(one.item for one in PLAN) == sorted(one.id for one in ANSWERS)
    assert mark_plan(ANSWERS, "seed") == PLAN != mark_plan(ANSWERS, "other")
    assert mark_plan(ANSWERS[::-1], "seed")[0].stratum == PLAN[0].stratum


@pytest.mark.parametrize("n", [21, 42, 105, 190])
def test_at_any_moment_the_strata_have_their_shares(n):
    whole, begun = (Counter(one.stratum for one in some) for some in (PLAN, PLAN[:n]))
    for name, size in whole.items():
        assert abs(begun[name] - n * size / len(PLAN)) <= 1, name


def test_within_a_stratum_every_answer_is_as_likely():
    times = Counter(
        one.item for seed in range(600) for one in mark_plan(ANSWERS[:20], str(seed))[:5]
    )
    assert len(times) == 20 and all(abs(count - 150) < 45 for count in times.values()), times


def worked(people: int) -> tuple[dict[str, list[tuple[str, int]]], dict[str, list[str]]]:
    """What so many people are shown in turn until nothing is left."""
    own = {f"p{number}": [] for number in range(people)}
    persons: dict[str, list[str]] = {}
    while True:
        shown = 0
        for name, had in own.items():
            found = next_answer(
                PLAN, History({key: frozenset(who) for key, who in persons.items()}, had)
            )
            if found:
                had.append((found[0].key, found[1]))
                persons.setdefault(found[0].key, []).append(name)
                shown += 1
        if not shown:
            return own, persons


def test_shares_come_to_a_second_person_and_again_to_the_same_one():
    own, persons = worked(3)
    assert persons.keys() == {answer_key(one) for one in ANSWERS}, "every answer is marked"
    by_key = {one.key: one for one in PLAN}
    for key, who in persons.items():
        assert len(set(who)) == 1 + by_key[key].is_shared
    for had in own.values():
        assert len(had) == len(set(had)), "nobody is asked the same thing in the same round"
        rounds = [key for key, number in had if number == 2]
        assert set(rounds) <= {one.key for one in PLAN if one.comes_again} and len(rounds) > 3
        for key in rounds:
            assert had.index((key, 2)) - had.index((key, 1)) > LEAST_BETWEEN
    shares = (sum(one.is_shared for one in PLAN), sum(one.comes_again for one in PLAN))
    assert 25 < shares[0] < 60 and 10 < shares[1] < 35, shares


def test_one_person_alone_marks_everything():
    own, persons = worked(1)
    assert len(persons) == len(PLAN)
