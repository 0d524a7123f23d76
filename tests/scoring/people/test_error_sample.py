"""The draw of wrong answers: up to five of a group, the same for every model, its probabilities."""

from collections import Counter

import pytest

from scoring.benchmarks.article import ScoredAnswer
from scoring.people.error_sample import draw_errors, known_errors
from scoring.registry import open_upload
from tests.support.choice_tables import row, table_file


def answers(wrong: dict[str, int], right: int = 3) -> list[ScoredAnswer]:
    return [
        ScoredAnswer(
            f"{group}-{place}",
            "Q",
            "T",
            f"a {place}",
            "",
            float(place < 0 or place >= count),
            (group,),
        )
        for group, count in wrong.items()
        for place in range(count + right)
    ]


def test_up_to_five_of_each_group_are_drawn_with_their_probability():
    drawn = draw_errors(known_errors(answers({"a": 3, "b": 50, "c": 0})))
    assert Counter(one.group for one in drawn) == {"a": 3, "b": 5}
    assert {one.group: one.chance for one in drawn} == {"a": 1.0, "b": 0.1}
    assert [one.group for one in drawn[:2]] in (["a", "b"], ["b", "a"]), (
        "any start of it is spread over the groups"
    )


def test_two_answers_of_one_id_and_group_may_differ_in_their_options_alone():
    wrong = ScoredAnswer("1", "Q", "T", "a", "", 0.0, subtask="s")
    twins = [wrong._replace(options={"A": option}) for option in "xy"]
    assert [drawn.answer for drawn in draw_errors(known_errors(twins))] == twins


def test_the_same_seed_draws_the_same_questions_of_every_model():
    known = known_errors(answers({"a": 40, "b": 30}))
    assert draw_errors(known, seed=1) == draw_errors(known, seed=1) != draw_errors(known, seed=2)
    better = [
        one._replace(score=1.0) if one.id in ("a-0", "a-1", "b-2") else one
        for one in answers({"a": 40, "b": 30})
    ]
    here, there = (
        {one.answer.id for one in draw_errors(errors)} for errors in (known, known_errors(better))
    )
    assert len(here & there) >= 7


def test_every_error_of_a_group_is_as_likely():
    known = known_errors(answers({"a": 20}))
    times = Counter(one.answer.id for seed in range(800) for one in draw_errors(known, seed=seed))
    assert len(times) == 20 and all(abs(count - 200) < 60 for count in times.values()), times


def test_what_nobody_read_is_no_error_of_the_model():
    unread = [
        ScoredAnswer("1", "Q", "T", "?", "", None),
        ScoredAnswer("2", "Q", "T", "?", "", 0.0, assigned=True),
    ]
    half = [ScoredAnswer("3", "Q", "T", "?", "", 0.5), ScoredAnswer("4", "Q", "T", "?", "", 0.6)]
    known = known_errors([*unread, *half])
    assert [one.id for wrong in known.by_group.values() for one in wrong] == [
        "3"
    ] and known.scored == 2
    assert draw_errors(known_errors(unread)) == ()


def test_mmt_bench_gives_at_most_five_of_each_subtask(tmp_path):
    subtasks = ("gui_general", "counting_by_category")
    rows = [row(number, "A", category=subtasks[number % 2], split="VAL") for number in range(1, 17)]
    opened = open_upload(table_file(tmp_path / "m.tsv", rows), benchmark="mmt-bench")
    assert opened is not None
    known = known_errors(opened.benchmark.scored_answers(opened.report("mmt-paper")))
    assert sorted(map(len, known.by_group.values())) == [8, 8], "groups are subtasks"
    assert sorted(Counter(one.group for one in draw_errors(known)).values()) == [5, 5]


@pytest.mark.soak
def test_vila_8b_on_mmt_bench_gives_at_most_five_of_each_subtask(data):
    opened = open_upload(data / "vlmevalkit" / "vila_8b_MMT-Bench_VAL.xlsx")
    assert opened is not None
    known = known_errors(opened.benchmark.scored_answers(opened.report("mmt-paper")))
    drawn = draw_errors(known)
    assert 600 < len(drawn) <= 810 and max(Counter(one.group for one in drawn).values()) == 5
    assert all(one.answer.score == 0 for one in drawn) and draw_errors(known) == drawn
    assert len(known.by_group) > 150, "groups are subtasks"
