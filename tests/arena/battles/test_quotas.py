"""Limits of votes: how many battles a voter and a network are dealt, and that no header talks its way around them."""

import random
import threading
from datetime import timedelta
from html import unescape
from types import SimpleNamespace

import pytest
from sqlalchemy import delete, select, update
from starlette.datastructures import Headers

from arena.battles.quotas import NETWORK_DAY, NETWORK_KEY, LimitError, Networks, Quotas
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, VOTER_NETWORK
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Account, Voters
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.settings import VoteLimits
from arena.types import Battle, Names
from tests.support.battle_campaigns import worker_of
from tests.support.servers import drafts
from tests.support.visitors import chooser
from tests.support.voter import Voter

MANY = VoteLimits(voter_day=1000, network_day=1000, voter_item=1000, voter_pair=1000)
ANY = BattleRequest()


class Arena:
    """A bank of eight items and three models, and who deals from it."""

    def __init__(self, database: Database, limits: VoteLimits) -> None:
        Ingest(database).add_items("test", "folder", drafts(items=8))
        self.database = database
        self.store = BattleStore(database, limits)
        self.sampler = PairSampler(
            self.store, ItemBank(database), "auto", VoteTable(database), limits
        )
        self.live = LiveStore(database, limits)
        self.live.register_models(["m1", "m2", "m3"])

    def serve_battle(
        self, cookie: str, network: str | None = None, asked_for: BattleRequest = ANY
    ) -> Battle:
        battle = self.sampler.next_battle(self.store.voter(cookie), asked_for, network=network)
        assert isinstance(battle, Battle)
        return battle

    def vote(
        self, cookie: str, network: str | None = None, asked_for: BattleRequest = ANY
    ) -> Battle:
        """Deal a battle, choose and reveal."""
        battle, voter = self.serve_battle(cookie, network, asked_for), self.store.voter(cookie)
        self.store.vote(voter, battle.token, "a", "terms")
        return self.store.reveal(voter, battle.token)

    def live_battle(self, cookie: str, item: int | None = None, network: str | None = None) -> None:
        """Begin a live battle of m1 and m2 and let both answer."""
        opening = Opening("What is it?", 1, item, network=network)
        battle = self.live.begin(self.store.voter(cookie), opening)
        self.live.answer(
            battle.id, TurnAnswers(Names("m1", "m2"), Names("x", "y"), stopped=False, named=False)
        )

    def yesterday(self) -> None:
        """Let a day pass: what was dealt, was dealt yesterday."""
        with self.database.write() as connection:
            today, day = (f"{now() - timedelta(days=days):%Y-%m-%d}" for days in (0, 1))
            connection.execute(update(BATTLE).values(began_at=now() - timedelta(days=1)))
            for table in (NETWORK_DAY, NETWORK_KEY):
                connection.execute(update(table).where(table.c.day == today).values(day=day))

    def pools(self) -> list[list[int]]:
        """The voters of each network."""
        pools: dict[str, list[int]] = {}
        with self.database.read() as connection:
            for voter, network in connection.execute(
                select(VOTER_NETWORK).order_by(VOTER_NETWORK.c.voter_id)
            ):
                assert len(network) == 64
                pools.setdefault(network, []).append(voter)
        return sorted(pools.values())

    def networks(self) -> dict[str, int]:
        with self.database.read() as connection:
            return {row.network: row.dealt for row in connection.execute(select(NETWORK_DAY))}


@pytest.fixture
def arena(request, database) -> Arena:
    return Arena(database, request.param)


def limited(**limits: int):
    return pytest.mark.parametrize(
        "arena", [VoteLimits(**{**vars(MANY), **limits})], indirect=True, ids=["limited"]
    )


@limited(voter_day=3)
def test_a_voters_day_ends_before_another_battle_is_served(arena):
    for _ in range(2):
        arena.vote("anna")
    third = arena.serve_battle("anna")
    # the open one comes back: it was dealt before
    assert arena.serve_battle("anna").token == third.token
    arena.store.vote(arena.store.voter("anna"), third.token, "a", "terms")
    arena.store.reveal(arena.store.voter("anna"), third.token)
    for _ in range(2):
        with pytest.raises(LimitError, match=r"each voter gets 3 a day.*after midnight \(UTC\)"):
            arena.serve_battle("anna")
    arena.vote("ben")
    arena.yesterday()
    arena.vote("anna")


@limited(voter_day=2)
def test_skipped_battles_are_not_counted_for_the_voter(arena):
    for _ in range(3):
        battle = arena.serve_battle("anna")
        arena.store.skip(arena.store.voter("anna"), battle.token, "cannot judge")
    arena.vote("anna")
    arena.vote("anna")
    with pytest.raises(LimitError):
        arena.serve_battle("anna")


@limited(voter_day=2)
def test_live_battles_are_of_the_same_day(arena):
    arena.live_battle("anna")
    arena.vote("anna")
    with pytest.raises(LimitError):
        arena.live_battle("anna")
    with pytest.raises(LimitError):
        arena.serve_battle("anna")


@limited(voter_day=3)
def test_devices_and_the_guest_before_them_share_one_limit(arena):
    voters = Voters(arena.database)
    arena.vote("phone")
    voters.log_in(Account("1", "anna"), "phone", "phone logged in")
    voters.log_in(Account("1", "anna"), "desk", "desk logged in")
    arena.vote("phone logged in")
    arena.vote("desk logged in")
    for cookie in ("phone logged in", "desk logged in"):
        with pytest.raises(LimitError):
            arena.serve_battle(cookie)


@limited(network_day=4)
def test_a_networks_day_is_counted_over_all_its_cookies(arena):
    for number in range(4):
        arena.serve_battle(f"bot {number}", "198.51.100.0/24")
    for number in range(4, 7):
        with pytest.raises(LimitError, match="Your network has used up today's battles."):
            arena.serve_battle(f"bot {number}", "198.51.100.0/24")
    with pytest.raises(LimitError, match="Your network"):
        arena.live_battle("bot 8", network="198.51.100.0/24")
    arena.serve_battle("bot 0", "198.51.100.0/24")  # open since before
    arena.serve_battle("somebody", "203.0.113.0/24")
    arena.serve_battle("somebody at home", None)
    assert sorted(arena.networks().values()) == [1, 4]
    arena.yesterday()
    arena.serve_battle("bot 9", "198.51.100.0/24")


@limited(voter_day=2, network_day=3)
def test_a_seat_has_its_own_number_of_votes_and_no_daily_limit(arena):
    """A visitor on the workers' network still has all of its day."""
    network = "198.51.100.0/24"
    for person in ("w1", "w2"):
        seat = worker_of(arena.database, f"for-{person}", person)
        for _ in range(5):
            battle = arena.store.serve(
                seat.voter, chooser(arena.database), seat=seat.id, network=network
            )
            assert battle
            arena.store.vote(seat.voter, battle.token, "a", "terms")
            arena.store.reveal(seat.voter, battle.token)
    assert arena.networks() == {}
    assert arena.pools() == [[1, 2]], "votes of one network are tested together"
    for number in range(3):
        arena.serve_battle(f"visitor {number}", network)
    with pytest.raises(LimitError, match="Your network"):
        arena.serve_battle("visitor 3", network)


@limited()
def test_networks_are_kept_as_codes_of_one_day(arena):
    network = "198.51.100.0/24"
    arena.serve_battle("anna", network)
    before = arena.networks()
    assert not any("198" in code and "/" in code for code in before) and all(
        len(code) == 64 for code in before
    )
    arena.yesterday()
    arena.serve_battle("ben", network)
    after = arena.networks()
    # another key, and the old codes are gone
    assert len(after) == 1 and not before.keys() & after.keys()
    arena.yesterday()
    Quotas(arena.database, MANY).forget_networks()
    assert arena.networks() == {}
    with arena.database.read() as connection:
        assert connection.scalars(select(NETWORK_KEY.c.day)).all() == [f"{now():%Y-%m}"]


@limited()
def test_which_voters_share_a_network_is_kept_and_which_network_it_is_only_for_a_month(arena):
    for cookie in ("anna", "anna", "ben"):
        arena.live_battle(cookie, network="198.51.100.0/24")
    arena.serve_battle("carl", "203.0.113.0/24")
    assert arena.pools() == [[1, 2], [3]]
    with arena.database.write() as connection:  # a month later
        connection.execute(delete(NETWORK_KEY).where(NETWORK_KEY.c.day == f"{now():%Y-%m-%d}"))
        connection.execute(update(NETWORK_KEY).values(day="2026-01"))
    Quotas(arena.database, MANY).forget_networks()
    with arena.database.read() as connection:
        assert connection.execute(select(NETWORK_KEY)).all() == []
    arena.live_battle("anna", network="198.51.100.0/24")
    assert arena.pools() == [[1], [1, 2], [3]]


@limited(network_day=7)
def test_many_at_one_time_get_no_more_than_the_limit(arena):
    """Twenty cookies of one network ask two servers at once."""
    servers = (arena.sampler, PairSampler(*_rooms(arena)))
    barrier, dealt, refused = threading.Barrier(20), [], []

    def one(number: int) -> None:
        voter = arena.store.voter(f"bot {number}")
        barrier.wait()
        try:
            dealt.append(
                servers[number % 2].next_battle(voter, BattleRequest(), network="198.51.100.0/24")
            )
        except LimitError as error:
            refused.append(error)

    _all(one, 20)
    assert (len(dealt), len(refused)) == (7, 13)
    assert list(arena.networks().values()) == [7]


@limited(voter_day=5)
def test_tabs_of_one_voter_get_no_more_than_the_limit(arena):
    """Twelve tabs begin live battles at once."""
    arena.store.voter("anna")
    barrier, begun, refused = threading.Barrier(12), [], []

    def one(number: int) -> None:
        barrier.wait()
        try:
            begun.append(arena.live_battle("anna"))
        except LimitError as error:
            refused.append(error)

    _all(one, 12)
    assert (len(begun), len(refused)) == (5, 7)


@limited(voter_item=2)
def test_an_item_is_served_to_a_voter_so_often(arena):
    item = arena.sampler.shown_items()[0]
    asked_for = BattleRequest(item=item.key)
    arena.vote("anna", asked_for=asked_for)
    arena.vote("anna", asked_for=asked_for)
    with pytest.raises(LimitError, match="as often as one voter can."):
        arena.serve_battle("anna", asked_for=asked_for)
    assert arena.serve_battle("anna").item != item.id
    arena.serve_battle("ben", asked_for=asked_for)
    arena.live_battle("anna", item.id)
    arena.live_battle("anna", item.id)
    with pytest.raises(LimitError, match="on this item"):
        arena.live_battle("anna", item.id)
    arena.live_battle("anna")


@limited(voter_pair=2)
def test_a_pair_of_models_is_served_to_a_voter_so_often(arena):
    for _ in range(6):
        arena.vote("anna")
    with arena.database.read() as connection:
        pairs = connection.execute(select(BATTLE.c.model_low, BATTLE.c.model_high)).all()
    assert len(pairs) == 6 and all(pairs.count(pair) == 2 for pair in pairs)
    with pytest.raises(LimitError, match="as often as one voter can."):
        arena.serve_battle("anna")
    arena.serve_battle("ben")


@limited(voter_item=3)
def test_a_voter_who_has_seen_everything_reads_that_and_of_no_limit(arena):
    asked_for = BattleRequest(item=arena.sampler.shown_items()[0].key)
    for _ in range(3):  # Three models make three pairs.
        arena.vote("anna", asked_for=asked_for)
    voter = arena.store.voter("anna")
    assert arena.sampler.next_battle(voter, asked_for) is NoBattle.ALL_SEEN


@limited(voter_pair=2)
def test_a_live_pair_is_closed_after_so_many_battles(arena):
    voter = arena.store.voter("anna")
    arena.live_battle("anna")
    assert arena.live.quotas.exhausted_live_pairs(voter) == frozenset()
    arena.live_battle("anna")
    assert arena.live.quotas.exhausted_live_pairs(voter) == {frozenset({"m1", "m2"})}
    assert arena.live.quotas.exhausted_live_pairs(arena.store.voter("ben")) == frozenset()


@limited(voter_day=10, network_day=60)
def test_a_bot_gets_what_its_network_may_have_and_no_more(arena):
    """New cookies and forged headers for each request."""
    coin, got = random.Random(5), 0
    networks = Networks(hops=1)
    for number in range(100):
        forged = ", ".join(
            f"{coin.randrange(1, 223)}.{coin.randrange(256)}.1.1" for _ in range(coin.randrange(4))
        )
        network = networks.of(request("10.16.0.1", f"{forged}, 8.8.8.{coin.randrange(256)}"))
        try:
            arena.serve_battle(f"cookie {number}", network)
            got += 1
        except LimitError:
            pass
    assert got == 60


def request(peer: str, *forwarded: str) -> SimpleNamespace:
    headers = Headers(raw=[(b"x-forwarded-for", line.encode()) for line in forwarded])
    return SimpleNamespace(client=SimpleNamespace(host=peer), headers=headers)


def test_a_private_address_tells_no_network():
    for peer in ("127.0.0.1", "::1", "10.16.3.4", "192.168.1.7", "", "testclient"):
        assert Networks().of(request(peer)) is None
    assert Networks().of(SimpleNamespace(client=None, headers=Headers())) is None
    assert Networks().of(request("8.8.8.8")) == "8.8.8.0/24"
    assert Networks().of(request("2606:4700:0:8000::1")) == "2606:4700::/48"


def test_the_page_says_that_the_day_is_over(start_server):
    server = start_server(VOTER_DAY_LIMIT="1", NETWORK_DAY_LIMIT="2", TRUSTED_HOPS="1")
    with Voter(server.address) as voter:
        voter.load()
        voter.choose("a")
        voter.wait_out_undo()
        told = voter.next()["parts"]["subject"]
        assert "it for now" in told and "each voter gets 1 a day" in told
        assert voter.token == ""
    for number in range(3):
        with Voter(server.address) as voter:
            voter.client.headers["x-forwarded-for"] = f"1.1.1.1, 8.8.8.{number}"
            told = voter.load()["parts"]["subject"]
            assert ("Your network has used up today's battles." in unescape(told)) == (number == 2)


def _rooms(arena: Arena):
    """A second server on the same database."""
    limits = VoteLimits(**{**vars(MANY), "network_day": 7})
    database = arena.database
    return BattleStore(database, limits), ItemBank(database), "auto", VoteTable(database), limits


def _all(work, count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
