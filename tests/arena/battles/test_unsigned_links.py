"""UnsignedLinks: each (item, pair) gets its number of distinct voters, each worker n votes and one code."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from threading import Barrier, local

import pytest
from sqlalchemy import Connection, func, select, update

from arena.battles import unsigned_links
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore, Seen
from arena.battles.tables import BANK, BATTLE, SEAT, VOTE
from arena.battles.unsigned_links import UnsignedLinkError, UnsignedLinks, UnsignedSeat
from arena.clock import CLOCK, SECOND
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.types import Battle
from tests.support.servers import drafts


class Worker:
    """A crowd worker who opened the campaign's link in a browser."""

    def __init__(
        self, database: Database, name: str, voters_per_pair: int = 2, wanted: str = "50"
    ) -> None:
        self.store, self.campaigns = BattleStore(database), UnsignedLinks(database, voters_per_pair)
        self.sampler = PairSampler(self.store, ItemBank(database), self.campaigns, "auto")
        self.voter = self.store.voter(f"cookie of {name}")
        self.seat = self.campaigns.seat(self.voter, "spring", name, wanted)

    def next(self) -> Battle | None:
        """Return the next battle, None if the campaign has all its voters."""
        battle = self.sampler.next_battle(self.voter, BattleRequest(), self.seat)
        if isinstance(battle, Battle):
            return battle
        assert battle is NoBattle.ALL_SEEN
        return None

    def vote(self, battle: Battle) -> None:
        self.store.vote(self.voter, battle.token, "a", "1")
        self.store.reveal(self.voter, battle.token)

    @property
    def votes(self) -> int:
        return self.campaigns.progress(self.seat.id).votes

    def work(self) -> int:
        """Vote until nothing is left; return the votes given."""
        given = 0
        while battle := self.next():
            self.vote(battle)
            given += 1
        return given


class OneTransaction(Database):
    """A database on which no thread writes inside its own write: many that did would wait for one another."""

    def __init__(self, url: str) -> None:
        self._inside = local()
        super().__init__(url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        assert not getattr(self._inside, "writes", False), "a write inside a write"
        self._inside.writes = True
        try:
            with super().write() as connection:
                yield connection
        finally:
            self._inside.writes = False


def small(database: Database) -> Database:
    """Fill in two items with two models: two (item, pair)s."""
    Ingest(database).add_items("test", "folder", drafts(items=2, models=("m1", "m2")))
    return database


def voters_of(database: Database) -> dict[Seen, int]:
    """Return how many distinct voters chose on each (item, pair)."""
    key = (BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
    query = BANK.counted_votes(*key, func.count(VOTE.c.voter_id.distinct())).join(
        BATTLE, BATTLE.c.id == VOTE.c.battle_id
    )
    with database.read() as connection:
        return {Seen(*row[:3]): row[3] for row in connection.execute(query.group_by(*key))}


def grow_old(database: Database, battle: Battle, by: timedelta) -> None:
    with database.write() as connection:
        connection.execute(
            update(BATTLE).where(BATTLE.c.id == battle.id).values(served_at=now() - by)
        )


def at_once(work, threads: int) -> list:
    start = Barrier(threads)

    def call(number: int):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, range(threads)))


# Voters per (item, pair)


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_each_item_and_pair_gets_its_number_of_voters_and_no_more(bank, wanted):
    given = [Worker(bank, f"w{number}", wanted).work() for number in range(5)]
    assert given == [18] * wanted + [0] * (5 - wanted)
    assert voters_of(bank) == {seen: wanted for seen in voters_of(bank)}
    assert len(voters_of(bank)) == 18


@pytest.mark.locks_or_dialect
def test_a_battle_is_drawn_in_one_transaction_even_when_the_time_must_be_kept(database_url):
    with closing(OneTransaction(database_url)) as bank:
        Ingest(bank).add_items("test", "folder", drafts())
        first, second = Worker(bank, "w1", 1), Worker(bank, "w2", 1)
        first.vote(first.next())
        with bank.write() as connection:
            connection.execute(update(CLOCK).values(seen=CLOCK.c.seen - 2 * SECOND))
        assert second.next() is not None


def test_twenty_workers_at_once_never_exceed_the_number(bank):
    workers = [Worker(bank, f"w{number}", 3) for number in range(20)]
    given = at_once(lambda number: workers[number].work(), 20)
    assert sum(given) == 18 * 3
    assert set(voters_of(bank).values()) == {3}
    assert len(voters_of(bank)) == 18


def test_more_workers_than_connections_are_all_served(bank):
    """As many as the page has threads: none waits for a connection that another holds while it waits too."""
    workers = [Worker(bank, f"w{number}", 80) for number in range(60)]
    battles = at_once(lambda number: workers[number].next(), 60)
    assert len({battle.id for battle in battles if battle}) == 60


def test_open_battles_hold_their_places(database):
    small(database)
    waiting = [Worker(database, f"w{number}", 2) for number in range(2)]
    open_battles = [worker.next() for worker in waiting]
    late = Worker(database, "late", 2)
    assert late.work() == 1, "the one (item, pair) that the two others do not hold"
    for worker, battle in zip(waiting, open_battles, strict=True):
        assert battle
        worker.vote(battle)
    assert max(voters_of(database).values()) == 2


def test_what_was_begun_is_finished_first(bank):
    first = Worker(bank, "w1", 3).next()
    second, third = Worker(bank, "w2", 3).next(), Worker(bank, "w3", 3).next()
    assert first and second and third
    assert {first.item, second.item, third.item} == {first.item}
    pairs = {frozenset((battle.answer_a, battle.answer_b)) for battle in (first, second, third)}
    assert len(pairs) == 1
    fourth = Worker(bank, "w4", 3).next()
    assert fourth and frozenset((fourth.answer_a, fourth.answer_b)) not in pairs


def test_the_fullest_is_finished_first(bank):
    ahead = Worker(bank, "w1", 4)
    for _ in range(2):
        battle = ahead.next()
        assert battle
        ahead.vote(battle)
    second = Worker(bank, "w2", 4).next()
    third = Worker(bank, "w3", 4).next()
    assert second and third
    assert {second.answer_a, second.answer_b} == {third.answer_a, third.answer_b}


def test_a_skip_frees_the_place(database):
    small(database)
    worker = Worker(database, "w1", 1)
    battle = worker.next()
    assert battle
    worker.store.skip(worker.voter, battle.token, "cannot judge")
    assert worker.work() == 1, "not the skipped one again"
    assert Worker(database, "w2", 1).work() == 1
    assert len(voters_of(database)) == 2


def test_an_undone_vote_still_holds_its_place_while_the_voter_chooses_again(database):
    small(database)
    worker = Worker(database, "w1", 1)
    battle = worker.next()
    assert battle
    worker.store.vote(worker.voter, battle.token, "a", "1")
    worker.store.undo(worker.voter, battle.token)
    other = Worker(database, "w2", 1)
    assert other.work() == 1
    assert worker.votes == 0


def test_a_place_is_given_up_after_an_hour(database):
    small(database)
    lapsed = Worker(database, "lapsed", 1)
    battle = lapsed.next()
    assert battle
    grow_old(database, battle, timedelta(minutes=59))
    assert Worker(database, "w1", 1).work() == 1
    grow_old(database, battle, timedelta(minutes=61))
    assert Worker(database, "w2", 1).work() == 1


def test_whoever_comes_back_too_late_gets_another_battle(database):
    """The place was given to someone else, so this vote would be one too many."""
    small(database)
    lapsed = Worker(database, "lapsed", 1)
    battle = lapsed.next()
    assert battle
    grow_old(database, battle, timedelta(hours=2))
    assert Worker(database, "w1", 1).work() == 2
    assert lapsed.next() is None


def test_a_vote_outside_the_campaign_takes_no_place(bank):
    worker = Worker(bank, "w1", 1)
    outside = worker.sampler.next_battle(worker.voter, BattleRequest())
    assert isinstance(outside, Battle)
    worker.vote(outside)
    assert worker.votes == 0
    assert worker.work() == 17, "nobody meets an (item, pair) twice"
    assert Worker(bank, "w2", 1).work() == 1


def test_campaigns_count_apart(bank):
    first = Worker(bank, "w1", 1)
    first.work()
    other = Worker(bank, "w2", 1)
    seat = other.campaigns.seat(other.voter, "autumn", "w2", "5")
    battle = other.sampler.next_battle(other.voter, BattleRequest(), seat)
    assert isinstance(battle, Battle)
    other.vote(battle)
    assert other.campaigns.progress(seat.id) == (1, 5)
    assert other.votes == 0


def test_an_open_battle_of_a_campaign_does_not_come_back_outside_it(bank):
    worker = Worker(bank, "w1")
    inside = worker.next()
    outside = worker.sampler.next_battle(worker.voter, BattleRequest())
    assert isinstance(outside, Battle) and inside
    assert outside.id != inside.id
    assert worker.next() == inside


# Seats, codes and reports


def test_progress_counts_decided_battles_of_the_seat(bank):
    worker = Worker(bank, "w1", wanted="3")
    for done in range(3):
        assert worker.campaigns.progress(worker.seat.id) == (done, 3)
        battle = worker.next()
        assert battle
        worker.vote(battle)
    assert worker.campaigns.progress(worker.seat.id) == (3, 3)


def test_the_report_names_each_worker_in_order_with_votes_and_code(bank):
    first, second = Worker(bank, "w1", wanted="2"), Worker(bank, "w2", wanted="4")
    battle = second.next()
    assert battle
    second.vote(battle)
    report = first.campaigns.report("spring")
    assert [(row.worker, row.votes, row.wanted, row.code) for row in report] == [
        ("w1", 0, 2, first.seat.code),
        ("w2", 1, 4, second.seat.code),
    ]
    assert report[0].since <= report[1].since <= now()
    assert first.campaigns.report("no such campaign") == []


def test_an_undone_vote_leaves_the_report(bank):
    worker = Worker(bank, "w1")
    battle = worker.next()
    assert battle
    worker.store.vote(worker.voter, battle.token, "a", "1")
    assert worker.campaigns.report("spring")[0].votes == 1
    worker.store.undo(worker.voter, battle.token)
    assert worker.campaigns.report("spring")[0].votes == 0


def test_codes_are_unguessable_and_differ(bank):
    codes = {Worker(bank, f"w{number}").seat.code for number in range(30)}
    assert len(codes) == 30
    assert all(len(code) >= 10 and code.isalnum() for code in codes)


def test_the_link_opened_again_gives_the_same_seat(bank):
    worker = Worker(bank, "w1", wanted="7")
    assert worker.campaigns.seat(worker.voter, "spring", "w1", "7") == worker.seat
    assert worker.campaigns.seat(worker.voter, "spring", "w1", "1000") == worker.seat, (
        "n stays what it was"
    )


def test_a_voter_begins_three_campaigns_a_day_and_goes_on_in_each(bank):
    worker = Worker(bank, "w1")
    for name in ("summer", "autumn"):
        worker.campaigns.seat(worker.voter, name, "w1", "5")
    with pytest.raises(UnsignedLinkError, match="the most for one person"):
        worker.campaigns.seat(worker.voter, "winter", "w1", "5")
    assert worker.campaigns.seat(worker.voter, "spring", "w1", "5") == worker.seat
    with bank.write() as connection:
        connection.execute(update(SEAT).values(since=now() - timedelta(days=1)))
    assert worker.campaigns.seat(worker.voter, "winter", "w1", "5").campaign == "winter"


def test_a_class_of_one_network_has_room_and_a_stream_of_new_browsers_has_not(bank, monkeypatch):
    assert unsigned_links.MOST_OF_NETWORK >= 100
    monkeypatch.setattr(unsigned_links, "MOST_OF_NETWORK", 3)
    store, rooms = BattleStore(bank), UnsignedLinks(bank, 2)
    for number in range(3):
        for _ in range(2):
            rooms.seat(store.voter(f"cookie {number}"), "spring", f"w{number}", "5", "8.8.8.0/24")
    with pytest.raises(UnsignedLinkError, match="the most for one network"):
        rooms.seat(store.voter("cookie 3"), "spring", "w3", "5", "8.8.8.0/24")
    assert rooms.seat(store.voter("cookie 3"), "spring", "w3", "5", "9.9.9.0/24")


def test_a_workers_second_browser_is_refused_and_the_first_goes_on(bank):
    worker = Worker(bank, "w1")
    stranger = worker.store.voter("another browser")
    with pytest.raises(UnsignedLinkError, match="opened in another browser"):
        worker.campaigns.seat(stranger, "spring", "w1", "5")
    assert worker.campaigns.seat(worker.voter, "spring", "w1", "5") == worker.seat
    with bank.read() as connection:
        assert connection.scalar(select(func.count()).select_from(SEAT)) == 1


def test_one_browser_under_two_links_of_a_campaign_is_refused(bank):
    worker = Worker(bank, "w1")
    with pytest.raises(UnsignedLinkError, match="under another link"):
        worker.campaigns.seat(worker.voter, "spring", "w2", "5")
    Worker(bank, "w3")
    with pytest.raises(UnsignedLinkError):
        worker.campaigns.seat(worker.voter, "spring", "w3", "5")


def test_one_link_opened_in_twenty_browsers_at_once_seats_one(bank):
    store, campaigns = BattleStore(bank), UnsignedLinks(bank, 2)
    browsers = [store.voter(f"browser {number}") for number in range(20)]

    def open_link(number: int) -> UnsignedSeat | None:
        try:
            return campaigns.seat(browsers[number], "spring", "w1", "5")
        except UnsignedLinkError:
            return None

    assert len([seat for seat in at_once(open_link, 20) if seat]) == 1


BAD_LINKS = (
    ("", "w1", "5", "worker= and campaign="),
    ("spring", "", "5", "worker= and campaign="),
    ("x" * 65, "w1", "5", "1 to 64"),
    ("spring", "a b", "5", "letters, digits"),
    ("spring", "<b>", "5", "letters, digits"),
    ("spring", "w1\n", "5", "letters, digits"),
    ("spring", "w\0", "5", "letters, digits"),
    ("spring", "w\ud800", "5", "letters, digits"),
    *(
        ("spring", "w1", wanted, "n=, a whole number from 1 to 1000")
        for wanted in (
            "",
            "0",
            "-1",
            "1001",
            "5.0",
            "five",
            "²",
            "1e3",
            " 5",
            "9" * 2000,
            "0000000019999",
            "000000001" + "0" * 1900,
        )
    ),
)


def test_a_bad_link_says_what_is_wrong(bank):
    voter = BattleStore(bank).voter("one")
    for campaign, worker, wanted, named in BAD_LINKS:
        with pytest.raises(UnsignedLinkError, match=named):
            UnsignedLinks(bank, 2).seat(voter, campaign, worker, wanted)
    with bank.read() as connection:
        assert connection.scalar(select(func.count()).select_from(SEAT)) == 0


def test_the_names_that_platforms_give_are_taken(bank):
    for worker in ("5f3a9c0b1d", "name@example.org", "A.b-c_d+e:f", "Żółw7", "x" * 64):
        seat = UnsignedLinks(bank, 2).seat(
            BattleStore(bank).voter(worker), "spring", worker, "1000"
        )
        assert (seat.campaign, seat.wanted) == ("spring", 1000)
