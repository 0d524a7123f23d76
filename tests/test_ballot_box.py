"""The ballot box: votes that come together are stored together, and each gets its own answer."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from threading import Event

import pytest

from arena.battles.write_batch import BallotBox
from arena.battles.store import Ballot, ChoiceError, Store, UnknownBattleError, VoteError
from arena.battles.tables import VOTE
from arena.database import Database, DatabaseError
from arena.types import Battle, Phase
from tests.test_store import TERMS, Visitor, counted, rows

VOTERS = 40


class SlowStore(Store):
    """A store that notes how many ballots each transaction took, and waits before the first."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.taken: list[int] = []
        self.go = Event()

    def vote_all(self, ballots: Sequence[Ballot]) -> list[Battle | VoteError]:
        self.go.wait(10)
        self.taken.append(len(ballots))
        return super().vote_all(ballots)


def cast(store: Store, ballots: Sequence[Ballot], drop: int | None = None) -> list:
    """Cast ballots at the same time; return what each was answered. The dropped one's request is given up at once."""

    async def all_together() -> list:
        box = BallotBox(store)
        asked = [asyncio.create_task(box.vote(ballot)) for ballot in ballots]
        await asyncio.sleep(0.05)
        if drop is not None:
            asked[drop].cancel()
        if isinstance(store, SlowStore):
            store.go.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_together())


@pytest.fixture
def ballots(bank) -> list[Ballot]:
    """One ballot of each of many voters, for A and B in turn."""
    visitors = [Visitor(bank, f"voter {number}") for number in range(VOTERS)]
    return [
        Ballot(visitor.id, visitor.serve().token, "ab"[number % 2], TERMS) for number, visitor in enumerate(visitors)
    ]


def test_votes_that_come_together_are_all_stored_and_answered(bank, ballots):
    answers = cast(Store(bank), ballots)
    assert [(battle.token, battle.choice) for battle in answers] == [(one.token, one.choice) for one in ballots]
    assert {battle.phase for battle in answers} == {Phase.VOTED}
    assert len(rows(bank, VOTE)) == len(counted(bank)) == VOTERS


def test_votes_that_wait_share_a_commit(bank, ballots):
    store = SlowStore(bank)
    cast(store, ballots)
    assert len(rows(bank, VOTE)) == VOTERS
    assert store.taken == ([VOTERS] if bank.is_sqlite else [])


def test_each_refusal_goes_to_its_own_voter_and_the_others_are_stored(bank, ballots):
    ballots[3] = ballots[3]._replace(token="forged.1")
    ballots[4] = ballots[4]._replace(choice="c")
    ballots[5] = ballots[5]._replace(voter=ballots[6].voter)
    twice = ballots[7]._replace(choice="ab"[ballots[7].choice == "a"])
    answers = cast(Store(bank), [*ballots, twice])
    wrong = [number for number, answer in enumerate(answers) if isinstance(answer, Exception)]
    assert wrong in ([3, 4, 5, VOTERS], [3, 4, 5, 7])  # of two choices in one battle, the first to come stands
    assert [type(answers[number]) for number in wrong[:3]] == [UnknownBattleError, ChoiceError, UnknownBattleError]
    assert len(rows(bank, VOTE)) == len(counted(bank)) == VOTERS - 3


def test_a_vote_is_stored_though_its_request_was_given_up(bank, ballots):
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL gathers no votes here")
    answers = cast(SlowStore(bank), ballots, drop=9)
    assert isinstance(answers.pop(9), asyncio.CancelledError)
    assert all(isinstance(answer, Battle) for answer in answers)
    assert len(rows(bank, VOTE)) == VOTERS


def test_what_could_not_be_stored_is_told_to_all(bank, ballots):
    if not bank.is_sqlite:
        pytest.skip("PostgreSQL gathers no votes here")
    with closing(sqlite3.connect(bank.url.database)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON vote BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
        other.commit()
        answers = cast(Store(bank), ballots)
        assert {type(answer) for answer in answers} == {DatabaseError}
        assert rows(bank, VOTE) == []
        other.execute("DROP TRIGGER full")
        other.commit()
    assert all(isinstance(answer, Battle) for answer in cast(Store(bank), ballots))
