"""Who counts: everybody's votes are stored, and the rule decides at counting time."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from arena.battles.store import BattleStore, Draw, ItemPair
from arena.battles.tables import SEAT, VOTER
from arena.battles.vote_table import VoteTable, values
from arena.battles.voters import ADOPTION, LOGIN, Account, Voters
from arena.database import Database, now
from arena.fraud.eligibility import (
    MOST_GUESTS,
    VoteEligibility,
    choose_first_official,
    official_board,
)
from arena.fraud.flags import voter_marks
from arena.items.ingest import Ingest
from arena.settings import BoardVoters, CountSettings
from tests.support.battle_campaigns import worker_of
from tests.support.servers import drafts

EVERYONE, LOGGED_IN = CountSettings(), CountSettings("logged-in")
CAMPAIGN = CountSettings("campaign", ("spring",))
COUNTED = CountSettings("counted", ("spring",))


@pytest.fixture
def arena(database) -> "Arena":
    Ingest(database).add_items("test", "folder", drafts(items=20, models=("m1", "m2")))
    return Arena(database)


class Arena:
    """A store whose voters are named by their cookies."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = BattleStore(database)
        self.voters = Voters(database)
        self.votes = VoteTable(database)
        self.given = 0

    def vote(self, cookie: str) -> int:
        """Let a cookie vote on the next item; return the battle."""
        return self.vote_of(self.store.voter(cookie))

    def vote_of(self, voter: int, seat: int | None = None) -> int:
        """Let a voter vote on the next item; return the battle."""
        battle = self.store.serve(voter, self._choose, seat=seat)
        assert battle is not None
        self.store.vote(voter, battle.token, "a", "terms")
        self.store.reveal(voter, battle.token)
        return battle.id

    def _choose(self, taken: frozenset[ItemPair]) -> Draw:
        self.given += 1
        first = 2 * self.given - 1  # items have two answers each, in order
        return Draw(self.given, 1, 2, first, first + 1)

    def counted(self, who: CountSettings) -> set[int]:
        votes = self.votes.read().votes
        with self.database.read() as connection:
            marks = voter_marks(connection, who)
        return set(values(votes, "battle")[marks.counted_mask(votes)].tolist())


def test_everyones_votes_count_unless_the_operator_says_otherwise(arena):
    votes = {arena.vote(cookie) for cookie in ("guest", "other")}
    assert arena.counted(EVERYONE) == votes
    assert arena.counted(LOGGED_IN) == arena.counted(CAMPAIGN) == set()


def test_a_guests_votes_count_once_they_log_in(arena):
    before, others = arena.vote("guest"), arena.vote("other")
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    after = arena.vote("fresh")
    assert arena.counted(LOGGED_IN) == arena.counted(COUNTED) == {before, after}
    assert arena.counted(EVERYONE) == {before, others, after}


def test_one_account_does_not_bring_in_any_number_of_cookies(arena):
    votes = []
    for number in range(MOST_GUESTS + 2):
        votes.append(arena.vote(f"guest {number}"))
        arena.voters.log_in(Account("1", "anna"), f"guest {number}", f"fresh {number}")
    assert arena.counted(LOGGED_IN) == set(votes[:MOST_GUESTS])


def test_what_the_old_cookie_votes_after_the_login_does_not_count(arena):
    before = arena.vote("guest")
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    stolen = arena.vote("guest")
    assert arena.counted(LOGGED_IN) == {before} and stolen not in arena.counted(LOGGED_IN)


def test_votes_stay_counted_after_the_logout(arena):
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    given = arena.vote("fresh")
    arena.voters.log_out("fresh")
    later = arena.vote("fresh")
    assert arena.counted(LOGGED_IN) == {given} and later != given


def test_workers_of_the_named_campaigns_count(arena):
    seats = {
        name: worker_of(arena.database, name, f"{name} worker") for name in ("spring", "autumn")
    }
    votes = {name: arena.vote_of(seat.voter, seat.id) for name, seat in seats.items()}
    guest = arena.vote("guest")
    assert arena.counted(CAMPAIGN) == arena.counted(COUNTED) == {votes["spring"]}
    assert guest not in arena.counted(CountSettings("campaign", ("spring", "autumn")))
    with arena.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(SEAT)).scalar_one() == 2


@pytest.mark.parametrize("who", [EVERYONE, LOGGED_IN, CAMPAIGN, COUNTED], ids=lambda who: who.rule)
def test_a_voter_is_told_whether_votes_count(arena, who):
    eligibility = VoteEligibility(arena.database, who)
    guest = arena.store.voter("guest")
    person = arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    told = [eligibility.does_count(voter) for voter in (guest, person)]
    assert (
        told
        == {
            "everyone": [True, True],
            "logged-in": [False, True],
            "campaign": [False, False],
            "counted": [False, True],
        }[who.rule]
    )


# The official board


def official(database: Database, who: CountSettings = LOGGED_IN) -> BoardVoters:
    with database.read() as connection:
        return official_board(connection, who)


def test_a_new_database_opens_with_the_board_it_is_made_with(database):
    choose_first_official(database, LOGGED_IN, "counted")
    choose_first_official(database, LOGGED_IN, "everyone")  # a later start elsewhere
    assert official(database) == "counted"


def test_the_environment_wins_over_the_database(database):
    choose_first_official(database, LOGGED_IN, "counted")
    assert official(database, replace(LOGGED_IN, official="everyone")) == "everyone"
    assert official(database, EVERYONE) == "everyone", "there is one board"


def test_a_restart_without_counts_keeps_the_board_that_counts_named(arena):
    arena.vote("guest")
    choose_first_official(arena.database, replace(LOGGED_IN, official="counted"), "everyone")
    assert official(arena.database) == "counted"


def test_a_person_does_not_get_again_what_the_guest_had(arena):
    arena.vote("guest")
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    seen: list[frozenset[ItemPair]] = []
    assert arena.store.serve(arena.store.voter("fresh"), lambda taken: seen.append(taken)) is None
    assert seen == [frozenset({ItemPair(1, 1, 2)})]


def test_a_login_of_long_ago_is_over(arena):
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    person = arena.store.voter("fresh")
    long_ago = {"since": now() - timedelta(days=31)}
    with arena.database.write() as connection:
        connection.execute(update(LOGIN).values(long_ago))
    assert arena.voters.name("fresh") is None and arena.store.voter("fresh") != person


def test_no_cookie_has_a_persons_hash(arena):
    arena.voters.log_in(Account("1", "anna"), "guest", "fresh")
    with arena.database.read() as connection:
        hashes = set(connection.scalars(select(VOTER.c.cookie_hash)))
        assert connection.execute(select(func.count()).select_from(ADOPTION)).scalar_one() == 0
    assert all(len(one) != 64 for one in hashes)
