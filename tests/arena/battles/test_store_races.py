"""The store under many threads at once, and the rules that the database keeps by itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Table, insert, update

from arena.battles.choices import ChoiceError
from arena.battles.tables import BATTLE, SEAT
from arena.battles.vote_table import VoteTable, values
from arena.clock import FINAL_SECONDS
from arena.database import Database, DatabaseError, now
from arena.items.store import ANSWER
from arena.types import Battle, Phase
from tests.support.planting import let_pass
from tests.support.visitors import TERMS, Visitor, counted, rows

pytestmark = pytest.mark.locks_or_dialect


@pytest.fixture
def visitor(bank) -> Visitor:
    return Visitor(bank, "one")


# At once


def at_once(work: Callable[[int], object], threads: int) -> list:
    """Call work from many threads at the same moment; return what each returned or raised."""
    start = Barrier(threads)

    def call(number: int) -> object:
        start.wait()
        try:
            return work(number)
        except (ChoiceError, DatabaseError) as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, range(threads)))


def test_a_hundred_threads_on_one_token_leave_one_vote(visitor):
    battle = visitor.serve()
    results = at_once(lambda number: visitor.vote(battle, "ab"[number % 2]), 100)
    (row,) = rows(visitor.database, BATTLE)
    kept = [result for result in results if isinstance(result, Battle)]
    assert len(kept) == 50, "every thread of the choice that won got the same answer"
    assert {(result.choice, result.voted_at) for result in kept} == {(row.choice, row.voted_at)}
    assert sum(isinstance(result, ChoiceError) for result in results) == 50
    at_once(lambda _: visitor.reveal(battle), 20)
    assert len(VoteTable(visitor.database).read().votes) == 1


def test_fifty_threads_of_one_voter_get_one_battle(visitor):
    results = at_once(lambda _: visitor.serve(), 50)
    assert len({battle.id for battle in results}) == 1
    assert len(rows(visitor.database, BATTLE)) == 1


def test_fifty_first_visits_with_one_cookie_make_one_voter(visitor):
    assert len(set(at_once(lambda _: visitor.store.voter("new cookie"), 50))) == 1


def test_undo_and_reveal_at_once_never_both_happen(visitor):
    for _ in range(6):
        battle = visitor.vote(visitor.serve())
        at_once(
            lambda number, battle=battle: (visitor.undo if number % 2 else visitor.reveal)(battle),
            8,
        )
        now_at = visitor.store.find(visitor.id, battle.token)
        (row,) = [row for row in rows(visitor.database, BATTLE) if row.id == battle.id]
        assert (row.taken_back is None) != (row.revealed_at is None)
        assert (row.final_number is None) == (row.revealed_at is None)
        assert (battle.id in counted(visitor.database)) == (now_at.phase is Phase.REVEALED)
        if now_at.phase is Phase.OPEN:
            visitor.reveal(visitor.vote(now_at))


def test_vote_and_skip_at_once_never_both_happen(visitor):
    for _ in range(5):
        battle = visitor.serve()
        at_once(
            lambda number, battle=battle: (visitor.vote if number % 2 else visitor.skip)(battle), 8
        )
        skipped = {row.id for row in rows(visitor.database, BATTLE) if row.ended is not None}
        assert (battle.id in skipped) != (battle.id in counted(visitor.database))
        if battle.id not in skipped:
            visitor.reveal(battle)


def test_votes_that_become_final_at_once_get_numbers_of_their_own(bank):
    """Some by their reveal, some by a second choice, some by time: a reader who need not wait sees to that."""
    visitors = [Visitor(bank, f"voter {number}") for number in range(24)]
    battles = [visitor.vote(visitor.serve()) for visitor in visitors]
    for number in range(8):
        battles[number] = visitors[number].undo(battles[number])
    let_pass(bank, FINAL_SECONDS)
    tables = [VoteTable(bank) for _ in range(2)]

    def end(number: int) -> None:
        if number < 8:
            visitors[number].vote(battles[number], "b")
        elif number < 16:
            visitors[number].reveal(battles[number])
        else:
            tables[number % 2].read()

    assert [error for error in at_once(end, 24) if error is not None] == []
    expected = {battle.id: "b" if number < 8 else "a" for number, battle in enumerate(battles)}
    for table in tables:
        assert sorted(values(table.read().votes, "battle")) == sorted(expected)
    assert counted(bank) == expected
    assert sorted(row.final_number for row in rows(bank, BATTLE)) == list(range(1, 25))


# What the database itself refuses


def change(database: Database, battle: int, **changes: Any) -> None:
    with database.write() as connection:
        connection.execute(update(BATTLE).where(BATTLE.c.id == battle).values(changes))


def put(database: Database, table: Table, row: dict[str, Any]) -> None:
    with database.write() as connection:
        connection.execute(insert(table).values(row))


A_VOTE = {"choice": "a", "voted_at": now(), "terms": TERMS}
A_SKIP = {"ended": "offensive", "ended_at": now()}
A_TIE = A_VOTE | {"protocol": "ties", "choice": "tie"}
BROKEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("open", A_VOTE | {"choice": "c"}),
    ("open", A_VOTE | {"choice": "tie"}),
    ("open", A_TIE | {"choice": "c"}),
    ("open", A_VOTE | {"voted_at": None}),
    ("open", A_VOTE | {"terms": None}),
    ("open", {"voted_at": now()}),
    ("open", {"revealed_at": now()}),
    ("open", {"final_number": 1}),
    ("open", {"outside": "stopped"}),
    ("voted", {"revealed_at": now()}),
    ("voted", {"choice": None}),
    ("revealed", {"choice": None, "voted_at": None, "terms": None}),
    ("voted", A_SKIP),
    ("skipped", A_VOTE),
    ("open", {"ended": "offensive"}),
    ("open", {"ended_at": now()}),
    ("undone", {"taken_back": "c"}),
    ("undone", {"taken_back": "tie"}),
    ("voted", {"outside": "whatever"}),
    ("open", {"protocol": "whatever"}),
    ("open", {"model_b": BATTLE.c.model_a}),
    ("open", {"model_b": None}),
    ("open", {"model_a": None, "model_b": None}),
    ("open", {"answer_b": None}),
    ("open", {"item_id": None}),
    ("open", {"draw": None}),
    ("open", {"voter_id": 999_999}),
    ("open", {"model_a": 999_999}),
    ("open", {"answer_a": 999_999}),
)
"""Changes that break a rule, each of a battle in one of the states."""
SOUND: tuple[tuple[str, dict[str, Any]], ...] = (
    ("open", A_VOTE),
    ("undone", A_VOTE | {"choice": "b"}),
    ("other", A_TIE),
)


def test_the_database_refuses_a_battle_that_breaks_the_rules(visitor):
    battles = {
        "revealed": visitor.reveal(visitor.vote(visitor.serve_on(1))).id,
        "undone": visitor.undo(visitor.vote(visitor.serve_on(2))).id,
        "voted": visitor.vote(visitor.serve_on(3)).id,
        "skipped": visitor.skip(visitor.serve_on(4)).id,
        "open": visitor.serve_on(5).id,
        "other": visitor.serve_on(6).id,
    }
    before = rows(visitor.database, BATTLE)
    for state, changes in BROKEN:
        with pytest.raises(DatabaseError, match="Not saved"):
            change(visitor.database, battles[state], **changes)
            pytest.fail(f"{state} became {changes}")
    assert rows(visitor.database, BATTLE) == before
    for state, changes in SOUND:
        change(visitor.database, battles[state], **changes)


def test_a_voter_meets_an_item_and_pair_once_whatever_the_sides(visitor):
    visitor.decide()
    (row,) = rows(visitor.database, BATTLE)
    computed = {column.name for column in BATTLE.c if column.computed is not None}
    again = {
        name: value for name, value in row._asdict().items() if name not in computed | {"id"}
    } | {"token": "another", "final_number": 2}
    swapped = {"model_a": row.model_b, "model_b": row.model_a}
    same = ({"token": row.token, "item_id": 2}, {"final_number": 1, "item_id": 2})
    for changes in ({}, swapped, *same):
        with pytest.raises(DatabaseError):
            put(visitor.database, BATTLE, again | changes)
    put(visitor.database, BATTLE, again | {"item_id": 2})


def test_one_voter_has_one_seat_in_a_campaign_and_one_answer_stands_per_model(visitor):
    seat = {"campaign": "c", "voter_id": visitor.id, "code": "X", "confirmation": "pending"}
    put(visitor.database, SEAT, seat)
    with pytest.raises(DatabaseError):
        put(visitor.database, SEAT, seat)
    with pytest.raises(DatabaseError):
        put(visitor.database, ANSWER, {"item_id": 1, "model_id": 1, "text": "a second answer"})
