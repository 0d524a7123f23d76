"""What a reveal tells: how others chose by final votes, the reference, and a voter's own preferences."""

import pytest
from sqlalchemy import update

from arena.battles.outcomes import BattleOutcome, Outcomes, Preference
from arena.clock import FINAL_SECONDS
from arena.database import now
from arena.items.ingest import Ingest
from arena.items.store import ANSWER, SOURCE
from arena.thinking import ShownAnswer
from arena.types import REFERENCE
from tests.support.planting import let_pass
from tests.support.servers import drafts
from tests.support.visitors import Visitor


@pytest.fixture
def arena(database):
    Ingest(database).add_items("test", "folder", drafts(items=1, models=("m1", "m2", REFERENCE)))
    return database


def finished(visitor: Visitor, choice: str, revealed: bool = True):
    battle = visitor.vote(visitor.serve_on(1), choice)
    return visitor.reveal(battle) if revealed else battle


def test_only_final_votes_of_others_on_the_same_item_and_pair_are_told(arena):
    outcomes = Outcomes(arena)
    people = [Visitor(arena, name) for name in ("one", "two", "three", "four")]
    mine = finished(people[0], "a")
    assert outcomes.outcome(people[0].id, mine) == BattleOutcome(0, 0, None)
    finished(people[1], "a")
    finished(people[2], "b")
    assert outcomes.outcome(people[0].id, mine)[:2] == (1, 2)
    finished(people[3], "b", revealed=False)
    assert outcomes.outcome(people[0].id, mine)[:2] == (1, 2), "it may still be taken back"
    let_pass(arena, FINAL_SECONDS)
    assert outcomes.outcome(people[0].id, mine)[:2] == (1, 3)
    finished(people[1], "b")  # the same item, another pair
    assert outcomes.outcome(people[0].id, mine)[:2] == (1, 3)


def test_the_reference_is_told_where_it_was_no_side(arena):
    visitor = Visitor(arena, "one")
    told = [Outcomes(arena).outcome(visitor.id, finished(visitor, "a")).reference for _ in range(3)]
    assert told == [None, None, "human-verified reference says 0"]


def test_ones_own_board_has_the_wins_of_revealed_battles(arena):
    visitor, other = Visitor(arena, "one"), Visitor(arena, "two")
    finished(other, "b")
    finished(visitor, "a")
    finished(visitor, "a")
    finished(visitor, "b", revealed=False)
    assert Outcomes(arena).preferences(visitor.id) == [
        Preference(REFERENCE, 2, 2), Preference("m1", 0, 1), Preference("m2", 0, 1)
    ]  # fmt: skip


def test_a_finished_battle_is_told_to_everybody_once_its_vote_is_final(arena):
    outcomes = Outcomes(arena)
    first, second, third = (Visitor(arena, name) for name in ("one", "two", "three"))
    mine = finished(first, "a", revealed=False)
    assert outcomes.find_finished(mine.link) is None, "it may still be taken back"
    first.reveal(mine)
    told = outcomes.find_finished(mine.link)
    names, won = (told.names, told.choice)
    assert (won, told.alike, told.people, told.reference is None) == ("a", 1, 1, REFERENCE in names)
    assert told.answers == tuple(ShownAnswer(f"{name} says 0") for name in names)
    assert (
        told.verdict == f"One person has compared the two here, and chose {names.a} over {names.b}."
    )
    finished(second, "b" if second.serve_on(1).answer_a == mine.answer_a else "a")
    finished(third, "a" if third.serve_on(1).answer_a == mine.answer_a else "b")
    assert (
        outcomes.find_finished(mine.link).verdict
        == f"2 of 3 people chose {names.a} over {names.b}."
    )
    for link in ("1", "99", f"{mine.link} ", mine.token, "x", "٣", "\0", "9" * 4000, ""):
        assert outcomes.find_finished(link) is None


def test_no_attention_test_and_no_withdrawn_answer_is_told(database):
    Ingest(database).add_items("test", "check", drafts(items=1, models=("m1", "m2")))
    visitor = Visitor(database, "one")
    battle = finished(visitor, "a")
    assert Outcomes(database).find_finished(battle.link) is None
    with database.write() as connection:
        connection.execute(update(SOURCE).values(kind="folder"))
    assert Outcomes(database).find_finished(battle.link) is not None, "so that this test can fail"
    with database.write() as connection:
        connection.execute(
            update(ANSWER).where(ANSWER.c.id == battle.answer_b).values(withdrawn_at=now())
        )
    assert Outcomes(database).find_finished(battle.link) is None
