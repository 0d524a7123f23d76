"""The ballot box: votes that come together are stored together, and each gets its own answer."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from threading import Event

import pytest

from arena.battles.choices import ChoiceError, UnknownBattleError, VoteError
from arena.battles.store import BattleStore, VoteRequest
from arena.battles.write_batch import WriteBatch
from arena.database import Database, DatabaseError
from arena.types import Battle, Phase
from tests.support.visitors import TERMS, Visitor, counted

VOTERS = 12


class SlowStore(BattleStore):
    """A store that notes how many ballots each transaction took, and waits before the first."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.taken: list[int] = []
        self.go = Event()

    def vote_all(self, vote_rows: Sequence[VoteRequest]) -> list[Battle | VoteError]:
        self.go.wait(60)
        self.taken.append(len(vote_rows))
        return super().vote_all(vote_rows)


def cast(store: BattleStore, vote_rows: Sequence[VoteRequest], drop: int | None = None) -> list:
    """Cast ballots at the same time; return what each was answered. The dropped one's request is given up at once."""

    async def all_together() -> list:
        box = WriteBatch(store)
        asked = [asyncio.create_task(box.vote(vote_request)) for vote_request in vote_rows]
        await asyncio.sleep(0.05)
        if drop is not None:
            asked[drop].cancel()
        if isinstance(store, SlowStore):
            store.go.set()
        return await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 20)

    return asyncio.run(all_together())


@pytest.fixture
def vote_rows(bank) -> list[VoteRequest]:
    """One ballot of each of many voters, for A and B in turn."""
    visitors = [Visitor(bank, f"voter {number}") for number in range(VOTERS)]
    return [
        VoteRequest(visitor.id, visitor.serve().token, "ab"[number % 2], TERMS)
        for number, visitor in enumerate(visitors)
    ]


@pytest.mark.locks_or_dialect
def test_votes_that_come_together_are_all_stored_and_answered(bank, vote_rows):
    answers = cast(BattleStore(bank), vote_rows)
    assert [(battle.token, battle.choice) for battle in answers] == [
        (one.token, one.choice) for one in vote_rows
    ]
    assert {battle.phase for battle in answers} == {Phase.VOTED}
    assert len(counted(bank)) == VOTERS


@pytest.mark.locks_or_dialect
def test_votes_that_wait_share_a_commit(bank, vote_rows):
    store = SlowStore(bank)
    cast(store, vote_rows)
    assert len(counted(bank)) == VOTERS
    assert store.taken == ([VOTERS] if bank.is_sqlite else [])


@pytest.mark.locks_or_dialect
def test_each_refusal_goes_to_its_own_voter_and_the_others_are_stored(bank, vote_rows):
    vote_rows[3] = vote_rows[3]._replace(token="forged.1")
    vote_rows[4] = vote_rows[4]._replace(choice="c")
    vote_rows[5] = vote_rows[5]._replace(voter=vote_rows[6].voter)
    twice = vote_rows[7]._replace(choice="ab"[vote_rows[7].choice == "a"])
    answers = cast(BattleStore(bank), [*vote_rows, twice])
    wrong = [number for number, answer in enumerate(answers) if isinstance(answer, Exception)]
    # of two choices in one battle, the first to come stands
    assert wrong in ([3, 4, 5, VOTERS], [3, 4, 5, 7])
    assert [type(answers[number]) for number in wrong[:3]] == [
        UnknownBattleError,
        ChoiceError,
        UnknownBattleError,
    ]
    assert len(counted(bank)) == VOTERS - 3


def test_a_vote_is_stored_though_its_request_was_given_up(bank, vote_rows):
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL gathers no votes here")
    answers = cast(SlowStore(bank), vote_rows, drop=9)
    assert isinstance(answers.pop(9), asyncio.CancelledError)
    assert all(isinstance(answer, Battle) for answer in answers)
    assert len(counted(bank)) == VOTERS


def test_what_could_not_be_stored_is_told_to_all(bank, vote_rows):
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL gathers no votes here")
    with closing(sqlite3.connect(bank.url.database)) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON battle BEGIN SELECT RAISE(FAIL, 'disk is full'); END"
        )
        other.commit()
        answers = cast(BattleStore(bank), vote_rows)
        assert {type(answer) for answer in answers} == {DatabaseError}
        assert counted(bank) == {}
        other.execute("DROP TRIGGER full")
        other.commit()
    assert all(isinstance(answer, Battle) for answer in cast(BattleStore(bank), vote_rows))


def test_a_fault_of_the_program_is_told_to_all(bank, vote_rows, monkeypatch):
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL gathers no votes here")

    def fail(*_: object) -> None:
        raise MemoryError

    store = BattleStore(bank)
    monkeypatch.setattr(store, "vote_all", fail)
    assert {type(answer) for answer in cast(store, vote_rows)} == {MemoryError}
