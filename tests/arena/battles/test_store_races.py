"""The store under many threads at once, and the rules that the database keeps by itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import func, select

from arena.battles.choices import ChoiceError
from arena.battles.tables import BATTLE, REVEAL, SEAT, SKIP, UNDO, VOTE, WINS
from arena.database import Database, DatabaseError, now
from arena.items.store import ANSWER
from arena.types import Battle, Phase
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
    (vote,) = rows(visitor.database, VOTE)
    kept = [result for result in results if isinstance(result, Battle)]
    assert len(kept) == 50, "every thread of the choice that won got the same answer"
    assert {result.choice for result in kept} == {vote.choice}
    assert sum(isinstance(result, ChoiceError) for result in results) == 50
    assert [row.n for row in rows(visitor.database, WINS)] == [1]


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
        undone = {row.battle_id for row in rows(visitor.database, UNDO)}
        revealed = {row.battle_id for row in rows(visitor.database, REVEAL)}
        assert (battle.id in undone) != (battle.id in revealed)
        assert (battle.id in counted(visitor.database)) == (now_at.phase is Phase.REVEALED)
        if now_at.phase is Phase.OPEN:
            visitor.reveal(visitor.vote(now_at))


def test_vote_and_skip_at_once_never_both_happen(visitor):
    for _ in range(5):
        battle = visitor.serve()
        at_once(
            lambda number, battle=battle: (visitor.vote if number % 2 else visitor.skip)(battle), 8
        )
        skipped = {row.battle_id for row in rows(visitor.database, SKIP)}
        assert (battle.id in skipped) != (battle.id in counted(visitor.database))
        if battle.id not in skipped:
            visitor.reveal(battle)


# What the database itself refuses


def vote_row(visitor: Visitor, battle: Battle, **changes: Any) -> dict[str, Any]:
    row = {
        "battle_id": battle.id,
        "attempt": 1,
        "undo_id": None,
        "voter_id": visitor.id,
        "choice": "a",
        "winner": 1,
        "loser": 2,
        "voted_at": now(),
        "terms": TERMS,
    }
    return row | changes


def put(database: Database, table, row: dict[str, Any]) -> None:
    with database.write() as connection:
        connection.execute(table.insert().values(row))


BROKEN_RULES = (
    {"attempt": 1},
    {"attempt": 2},
    {"attempt": 2, "undo_id": "open"},
    {"attempt": 2, "undo_id": "undone"},
    {"attempt": 1, "undo_id": "undone"},
    {"attempt": 3, "undo_id": "undone", "battle_id": "undone"},
    {"attempt": 0},
    {"attempt": None},
    {"battle_id": "undone", "attempt": 2},
    {"battle_id": "undone", "attempt": 1, "undo_id": "undone"},
    {"battle_id": "open", "choice": "c"},
    {"battle_id": "open", "choice": None},
    {"battle_id": 999_999},
    {"battle_id": "open", "voter_id": 999_999},
    {"battle_id": "open", "winner": 999_999},
)


def test_the_database_refuses_a_vote_that_breaks_the_rules(visitor):
    places = {
        "undone": visitor.undo(visitor.vote(visitor.serve_on(1))),
        "voted": visitor.vote(visitor.serve_on(2)),
        "open": visitor.serve_on(3),
    }
    before = counted(visitor.database)
    for rule in BROKEN_RULES:
        changes = {"battle_id": "voted"} | rule
        changes = {
            name: places[value].id if value in places else value for name, value in changes.items()
        }
        with pytest.raises(DatabaseError, match="Not stored"):
            put(visitor.database, VOTE, vote_row(visitor, places["voted"], **changes))
        assert counted(visitor.database) == before, rule


def test_the_database_takes_the_second_attempt_that_names_its_undo(visitor):
    undone = visitor.undo(visitor.vote(visitor.serve()))
    put(visitor.database, VOTE, vote_row(visitor, undone, attempt=2, undo_id=undone.id, choice="b"))
    assert counted(visitor.database) == {undone.id: "b"}


def test_a_battle_has_one_undo_one_reveal_one_skip(visitor):
    battle = visitor.serve()
    for table in (UNDO, REVEAL, SKIP):
        row = {
            column.name: now() if column.name.endswith("_at") else "offensive" for column in table.c
        }
        put(visitor.database, table, {**row, "battle_id": battle.id})
        with pytest.raises(DatabaseError):
            put(visitor.database, table, {**row, "battle_id": battle.id})


def test_a_voter_meets_an_item_and_pair_once_whatever_the_sides(visitor):
    visitor.decide()
    (row,) = rows(visitor.database, BATTLE)
    for changes in ({}, {"low_is_a": False}, {"model_low": 2, "model_high": 1}, {"model_high": 1}):
        again = {**row._asdict(), "token": "another", **changes}
        del again["id"]
        with pytest.raises(DatabaseError):
            put(visitor.database, BATTLE, again)


def test_one_voter_has_one_seat_in_a_campaign_and_one_answer_stands_per_model(visitor):
    seat = {"campaign": "c", "voter_id": visitor.id, "code": "X"}
    put(visitor.database, SEAT, seat)
    with pytest.raises(DatabaseError):
        put(visitor.database, SEAT, seat)
    with pytest.raises(DatabaseError):
        put(visitor.database, ANSWER, {"item_id": 1, "model_id": 1, "text": "a second answer"})


def test_every_win_is_counted_under_its_source_family_and_kind(visitor):
    for choice in ("a", "b", "a"):
        visitor.decide(choice)
    with visitor.database.read() as connection:
        assert connection.scalar(select(func.sum(WINS.c.n))) == 3
    assert visitor.store.pair_votes() == {(1, 2): 1, (1, 3): 1, (2, 3): 1}
