"""A battle that is sent ahead is no battle: nothing counts it, times it or takes a vote on it until it is shown."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, func, insert, select, update

from arena.battles.choices import UnknownBattleError
from arena.battles.quotas import NETWORK_DAY, LimitError
from arena.battles.sampling import BattleRequest, PairSampler
from arena.battles.store import HELD_SECONDS, BattleStore
from arena.battles.tables import BATTLE, HELD
from arena.battles.unsigned_links import UnsignedLinks
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
        store, ItemBank(database), UnsignedLinks(database, 1), "off", VoteLimits(voter_day=2)
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
    assert served.served_at >= before, "its time begins when it is shown"
    with database.read() as connection:
        row = connection.execute(select(BATTLE)).one()
        assert (row.draw, row.draw_probability) == ("lot", held.draw.probability)
        assert connection.execute(select(HELD)).all() == []
        assert connection.scalar(select(NETWORK_DAY.c.dealt)) == 1
    assert visitor.store.vote(visitor.id, served.token, "a", "1").choice == "a"


def test_looking_ahead_again_and_again_chooses_nothing(sampler, visitor):
    assert len({sampler.hold(visitor.id, ANY).token for _ in range(10)}) == 1


def test_what_no_worker_saw_is_freed_after_a_day(database, sampler, visitor):
    seat = UnsignedLinks(database, 1).seat(visitor.id, "pilot", "w1", "5")
    for ahead in (sampler.hold, sampler.next_battle):
        held = sampler.hold(visitor.id, ANY, seat)
        with database.write() as connection:
            connection.execute(
                update(HELD).values(held_at=now() - timedelta(seconds=HELD_SECONDS + 1))
            )
        assert ahead(visitor.id, ANY, seat).token.partition(".")[0] != held.token


def test_in_the_open_arena_waiting_chooses_nothing_either(database, sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    with database.write() as connection:
        connection.execute(update(HELD).values(held_at=now() - timedelta(days=1)))
    assert sampler.hold(visitor.id, ANY) == held
    assert sampler.next_battle(visitor.id, ANY).token == f"{held.token}.1"


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
    with pytest.raises(LimitError, match="last battle for today"):
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


def test_a_campaigns_tuple_that_was_filled_meanwhile_is_not_shown(database, sampler):
    campaigns, store = UnsignedLinks(database, 1), BattleStore(database)
    first, second = (store.voter(name) for name in ("first", "second"))
    seats = [campaigns.seat(voter, "pilot", f"w{voter}", "5") for voter in (first, second)]
    held = sampler.hold(first, ANY, seats[0])
    taken = store.serve(second, lambda seen: held.draw, seat=seats[1].id)
    store.vote(second, taken.token, "a", "1")
    served = sampler.next_battle(first, ANY, seats[0])
    models = {held.draw.model_a, held.draw.model_b}
    with database.read() as connection:
        row = connection.execute(select(BATTLE).where(BATTLE.c.id == served.id)).one()
    assert (row.item_id, {row.model_low, row.model_high}) != (held.draw.item, models)


def test_looking_ahead_in_one_family_after_the_other_chooses_nothing(sampler, visitor):
    first = sampler.hold(visitor.id, ANY).token
    families = ("Counting", "Color", "Directions", None)
    assert {
        sampler.hold(visitor.id, BattleRequest(family=family)).token for family in families * 3
    } == {first}


def test_looking_ahead_by_turns_under_a_campaigns_link_and_without_chooses_nothing(
    database, sampler, visitor
):
    seats = [
        UnsignedLinks(database, 1).seat(visitor.id, name, "w1", "5")
        for name in ("pilot", "made.up")
    ]
    for first in (None, seats[0]):
        with database.write() as connection:
            connection.execute(delete(HELD))
        looks = [
            sampler.hold(visitor.id, ANY, seat) for _ in range(4) for seat in (first, *seats, None)
        ]
        assert len({held.token for held in looks if held}) == 1


def test_what_is_held_stays_while_the_voter_is_served_something_else(database, sampler, visitor):
    held = sampler.hold(visitor.id, ANY)
    other = next(item for item in sampler.shown_items() if item.id != held.draw.item)
    for request, seat in (
        (BattleRequest(item=other.key), None),
        (ANY, UnsignedLinks(database, 1).seat(visitor.id, "pilot", "w1", "5")),
    ):
        battle = sampler.next_battle(visitor.id, request, seat)
        assert battle.token != f"{held.token}.1"
        visitor.vote(battle)
        visitor.reveal(battle)
    with database.read() as connection:
        assert connection.scalars(select(HELD.c.token)).all() == [held.token]


def test_a_day_after_one_campaign_battles_are_sent_ahead_elsewhere(database, sampler, visitor):
    seat = UnsignedLinks(database, 1).seat(visitor.id, "pilot", "w1", "5")
    assert sampler.hold(visitor.id, ANY, seat) and sampler.hold(visitor.id, ANY) is None
    with database.write() as connection:
        connection.execute(update(HELD).values(held_at=now() - timedelta(seconds=HELD_SECONDS + 1)))
    assert sampler.hold(visitor.id, ANY)


def test_a_worker_who_waits_sees_another_pair_once_a_day(database, sampler, visitor):
    seat = UnsignedLinks(database, 1).seat(visitor.id, "pilot", "w1", "5")
    held = sampler.hold(visitor.id, ANY, seat)
    with database.write() as connection:
        connection.execute(update(HELD).values(held_at=now() - timedelta(hours=23)))
    assert sampler.hold(visitor.id, ANY, seat) == held
