"""A battle that is sent ahead is no battle: nothing counts it, times it or takes a vote on it until it is shown."""

import pytest
from sqlalchemy import func, insert, select

from arena.battles.choices import UnknownBattleError
from arena.battles.quotas import NETWORK_DAY, LimitError
from arena.battles.sampling import BattleRequest, PairSampler
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, HELD
from arena.battles.vote_table import VoteTable
from arena.database import now
from arena.items.ingest import Ingest
from arena.items.store import HIDDEN_ITEM, ItemBank
from arena.settings import VoteLimits
from tests.support.servers import drafts
from tests.support.visitors import Visitor

ANY = BattleRequest()


@pytest.fixture
def sampler(database) -> PairSampler:
    Ingest(database).add_items("test", "folder", drafts(items=24, models=tuple("abcdefgh")))
    store = BattleStore(database, VoteLimits(voter_day=2))
    return PairSampler(
        store, ItemBank(database), "off", VoteTable(database), VoteLimits(voter_day=2)
    )


@pytest.fixture
def visitor(database, sampler) -> Visitor:
    return Visitor(database, "one")


def battles(database) -> int:
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(BATTLE))


def test_what_is_held_is_served_under_its_name_and_is_no_battle_before(database, sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    assert held and battles(database) == 0
    with pytest.raises(UnknownBattleError):
        visitor.store.vote(visitor.id, f"{held.token}.1", "a", "1")
    before = now()
    served = sampler.next_battle(visitor.id, ANY, network="1.2.3.0/24")
    assert (served.token, served.item) == (f"{held.token}.1", held.draw.item)
    assert (served.answer_a, served.answer_b) == (held.draw.answer_a, held.draw.answer_b)
    assert served.began_at >= before, "its time begins when it is shown"
    with database.read() as connection:
        row = connection.execute(select(BATTLE)).one()
        assert (row.draw, row.draw_probability) == ("lot", held.draw.probability)
        assert connection.execute(select(HELD)).all() == []
        assert connection.scalar(select(NETWORK_DAY.c.dealt)) == 1
    assert visitor.store.vote(visitor.id, served.token, "a", "1").choice == "a"


def test_looking_ahead_again_and_again_chooses_nothing(sampler, visitor):
    assert len({sampler.hold(visitor.id, ANY).token for _ in range(10)}) == 1


def test_nothing_is_held_beside_an_unfinished_battle_or_over_the_days_limit(
    database, sampler, visitor
):
    for _ in range(2):
        served = sampler.next_battle(visitor.id, ANY)
        assert sampler.hold(visitor.id, ANY) is None
        visitor.vote(served)
        assert sampler.hold(visitor.id, ANY) is None, (
            "a choice that can be taken back is unfinished too"
        )
        visitor.reveal(served)
    with pytest.raises(LimitError, match="last battle today"):
        sampler.hold(visitor.id, ANY)


def test_what_can_no_longer_be_shown_is_drawn_anew(database, sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    family = next(item.family for item in sampler.shown_items() if item.id != held.draw.item)
    with database.write() as connection:
        connection.execute(insert(HIDDEN_ITEM).values(item_id=held.draw.item, hidden_at=now()))
    sampler._items._bank = None  # what another process changed is seen within seconds
    served = sampler.next_battle(visitor.id, BattleRequest(family=family))
    assert served.item != held.draw.item and served.token != f"{held.token}.1"


def test_an_item_that_was_asked_for_comes_before_what_is_held(sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    other = next(item for item in sampler.shown_items() if item.id != held.draw.item)
    assert sampler.next_battle(visitor.id, BattleRequest(item=other.key)).item == other.id


def test_looking_ahead_in_one_family_after_the_other_chooses_nothing(sampler, visitor):
    first = sampler.hold(visitor.id, ANY).token
    families = ("Counting", "Color", "Directions", None)
    assert {
        sampler.hold(visitor.id, BattleRequest(family=family)).token for family in families * 3
    } == {first}


def test_what_is_held_stays_while_the_voter_is_served_something_else(database, sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    other = next(item for item in sampler.shown_items() if item.id != held.draw.item)
    battle = sampler.next_battle(visitor.id, BattleRequest(item=other.key))
    assert battle.token != f"{held.token}.1"
    visitor.vote(battle)
    visitor.reveal(battle)
    with database.read() as connection:
        assert connection.scalars(select(HELD.c.token)).all() == [held.token]


def test_nothing_is_held_where_no_item_is_left(database):
    Ingest(database).add_items("test", "folder", drafts(items=1, models=("a", "b")))
    visitor = Visitor(database, "one")
    sampler = PairSampler(visitor.store, ItemBank(database), "off", VoteTable(database))
    visitor.reveal(visitor.vote(sampler.next_battle(visitor.id, ANY)))
    assert sampler.hold(visitor.id, ANY) is None
