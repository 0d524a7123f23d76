"""The stop: a campaign ends by votes, by every tuple, by settled orders or by width, and an open seat is paid."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import count

import numpy as np
import pytest
from sqlalchemy import update

from arena.admin.campaigns import KINDS
from arena.admin.moderation import hide
from arena.battles.choices import ChoiceError
from arena.battles.settlements import SETTLEMENT
from arena.battles.tables import BATTLE, IS_WAITING
from arena.campaign_battles import draws
from arena.campaign_battles.layout import Layout, check_names, layout_of
from arena.campaign_battles.spec import BattleSpec
from arena.campaign_battles.state import CampaignLook, CampaignStates, stop_reason
from arena.campaign_battles.votes import CollectedVotes
from arena.database import Database, DatabaseError, now
from arena.fraud.flags import VOTER_FLAG, campaign_review
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.ratings.bradley_terry import bradley_terry, win_matrix
from arena.ratings.intervals import intervals
from arena.seats.campaigns import Campaign, CampaignStore, Note
from arena.seats.spec import CampaignError, read_spec
from arena.types import Battle
from tests.support.arenas import table_3
from tests.support.battle_campaigns import Battles, let_minutes_pass, votes_by_tuple
from tests.support.servers import drafts
from tests.support.visitors import rows


@pytest.fixture
def duel(database: Database) -> Battles:
    """120 items that two models answered."""
    Ingest(database).add_items("test", "folder", drafts(120, ("m1", "m2")))
    return Battles(database)


def judged(battles: Battles, campaign: Campaign, seats: int) -> Campaign:
    """The campaign after so many seats said in nine of ten battles that m1 is better, or until it ended."""
    numbers = count(1)

    def choose(battle: Battle) -> str:
        return battles.better(battle, ("m1", "m2") if next(numbers) % 10 else ("m2", "m1"))

    for number in range(seats):
        battles.do(battles.seat(campaign, f"w{number}"), choose)
        campaign = battles.again(campaign)
        if campaign.ended_at is not None:
            break
    return campaign


def test_a_campaign_ends_with_its_votes_and_no_seat_goes_beyond_its_quota(duel):
    campaign = judged(duel, duel.campaign(stop={"votes": 40}), 9)
    assert campaign.why_ended == "it has 40 of 40 votes"
    assert len(votes_by_tuple(duel.database, campaign)) == 40


def test_a_campaign_ends_when_every_tuple_has_its_votes(duel):
    campaign = judged(duel, duel.campaign(families=["Color"]), 9)
    assert campaign.why_ended == "every tuple has all its votes"
    assert len(votes_by_tuple(duel.database, campaign)) == 40


def test_a_campaign_ends_when_its_orders_are_settled_and_keeps_that(duel):
    small = {"votes": 4, "minutes": 20, "pay": 1}
    campaign = judged(duel, duel.campaign(seat=small, stop={"votes": 1000, "settled": 0.2}), 30)
    assert campaign.why_ended == "all neighbours are clearly apart after 100 votes"
    (kept,) = rows(duel.database, SETTLEMENT)
    names = [model.name for model in duel.items.models()]
    assert (names[kept.above - 1], names[kept.below - 1], kept.votes) == ("m1", "m2", 100)


def test_a_campaign_of_alike_models_is_not_settled(duel):
    campaign = duel.campaign(stop={"votes": 1000, "settled": 0.05})
    for number in range(3):
        duel.do(duel.seat(campaign, f"w{number}"), lambda battle: "ab"[battle.id % 2])
        assert duel.again(campaign).ended_at is None
    assert rows(duel.database, SETTLEMENT) == []


def test_a_look_is_taken_again_when_flags_take_votes_away(duel):
    campaign = duel.campaign()
    seats = [duel.seat(campaign, f"w{number}") for number in range(3)]
    for seat in seats:
        duel.do(seat)
    looked = duel.states.read_now(campaign).last_look
    assert looked and looked.votes >= 50
    flag = {
        "review": campaign_review(campaign.name),
        "voter_id": seats[0].voter,
        "strength": 1.0,
        "raised_at": now(),
    }
    with duel.database.write() as connection:
        reasons = [{**flag, "reason": reason} for reason in ("HASTY", "ONE_SIDED")]
        connection.execute(VOTER_FLAG.insert(), reasons)
    looked = duel.states.read_now(campaign).last_look
    assert looked and looked.votes == 40


def no_votes(wanted: np.ndarray) -> CollectedVotes:
    none = np.zeros_like(wanted)
    return CollectedVotes(
        held=none,
        cast=none,
        counted=none,
        given=0,
        pending=0,
        votes=0,
        left_out=frozenset(),
        uncounted=frozenset(),
    )


def test_a_campaign_ends_when_its_intervals_are_narrow():
    votes = table_3()
    fit = bradley_terry(win_matrix(votes))
    found = CampaignLook(len(votes), fit, intervals(fit, votes, "vote"), ())
    wanted = np.full((21, 4), 10**6, np.int32)
    layout = Layout(tuple(range(7)), (), wanted)
    for width, ended in ((found.half_width + 0.1, True), (found.half_width - 0.1, False)):
        spec = spec_of(stop={"votes": 10**6, "width": width})
        why = stop_reason(spec, layout, no_votes(wanted), found)
        assert why == (
            f"the mean half width is {found.half_width:.1f} points after 5,011 votes"
            if ended
            else ""
        )
        assert stop_reason(spec, layout, no_votes(wanted), None) == ""


def test_a_campaign_does_not_end_while_its_models_have_no_item_in_common():
    """As after a file of answers was withdrawn, to be replaced."""
    wanted = np.zeros((1, 4), np.int32)
    layout = Layout((0, 1), (), wanted)
    assert stop_reason(spec_of(stop={"votes": 10}), layout, no_votes(wanted), None) == ""


def test_a_vote_that_is_undone_ends_no_campaign(duel):
    campaign = duel.campaign(stop={"votes": 3})
    seat, other = duel.seat(campaign, "w"), duel.seat(campaign, "other")
    duel.do(seat, most=2)
    battle = duel.next(seat)
    assert battle
    duel.work.take(seat, battle.token, "a", "1")
    assert duel.again(campaign).ended_at is None
    assert duel.next(other) is None, "its place is held"
    opened = duel.store.undo(seat.voter, battle.token)
    duel.store.skip(seat.voter, opened.token, "cannot judge")
    duel.states.read_now(campaign)
    assert duel.do(other) == 1
    assert duel.again(campaign).why_ended == "it has 3 of 3 votes"
    assert len(votes_by_tuple(duel.database, campaign)) == 3


@pytest.mark.parametrize("votes", [3, 10])
def test_a_campaign_ends_with_its_last_seat_however_young_its_state_is(duel, monkeypatch, votes):
    """The vote could still be undone when the state was read, and nobody comes after that worker."""
    campaign = duel.campaign(seat={"votes": votes, "minutes": 20, "pay": 1}, stop={"votes": 3})
    seat = duel.seat(campaign, "w")
    duel.do(seat, most=2)
    battle = duel.next(seat)
    assert battle
    duel.work.take(seat, battle.token, "a", "1")
    assert duel.again(campaign).ended_at is None
    monkeypatch.setattr("arena.campaign_battles.state.EVERY_SECONDS", 1000.0)
    duel.store.reveal(seat.voter, battle.token)
    assert duel.next(seat) is None
    wait([duel.states._readings[campaign.id]])
    assert duel.campaigns.get(campaign.name).why_ended == "it has 3 of 3 votes"


def test_a_look_and_a_stop_wait_until_a_vote_can_no_longer_be_undone(duel):
    """Even if its worker closed the page."""
    seat = {"votes": 60, "minutes": 20, "pay": 1}
    campaign = duel.campaign(seat=seat, stop={"votes": 50})
    worker = duel.seat(campaign, "w")
    duel.do(worker, most=49)
    battle = duel.next(worker)
    assert battle
    duel.work.take(worker, battle.token, "a", "1")
    state = duel.states.read_now(campaign)
    assert (state.votes, state.pending, state.last_look) == (49, 0, None)
    with duel.database.write() as connection:
        connection.execute(update(BATTLE).where(IS_WAITING).values(tick=0))
    state = duel.states.read_now(campaign)
    assert state.last_look and state.last_look.votes == 50
    assert duel.again(campaign).why_ended == "it has 50 of 50 votes"


def test_a_campaign_that_ended_draws_nothing_and_what_is_undecided_still_counts(duel):
    campaign = duel.campaign()
    seat, fresh = duel.seat(campaign, "w"), duel.seat(campaign, "fresh")
    duel.do(seat, most=2)
    battle = duel.next(seat)
    assert battle
    duel.campaigns.end(campaign, "by hand")
    assert duel.next(fresh) is None
    assert duel.next(seat).token == battle.token
    duel.decide(seat, battle, "b")
    assert duel.next(seat) is None
    assert len(votes_by_tuple(duel.database, campaign)) == 3
    assert duel.states.read_now(campaign).votes == 3


def test_a_campaign_stays_ended_and_keeps_its_first_reason(duel):
    campaign = duel.campaign()
    for reason in ("by hand", "again"):
        duel.campaigns.end(campaign, reason)
    assert duel.again(campaign).why_ended == "by hand"


class FullDisk(CampaignStore):
    def end(self, campaign: Campaign, reason: str, note: Note | None = None) -> bool:
        raise DatabaseError("the disk is full")


def test_an_end_that_cannot_be_stored_is_logged(duel, caplog):
    states = CampaignStates(duel.database, duel.items, FullDisk(duel.database, KINDS))
    campaign = duel.campaign(stop={"votes": 1})
    state = states.state_of(campaign)
    duel.do(duel.seat(campaign, "w"), most=1)
    state.read_at = float("-inf")
    assert states.state_of(campaign) is state, "nobody waits for the background thread"
    with pytest.raises(DatabaseError):
        states.read_now(campaign)
    assert "the disk is full" in caplog.text


# What cannot be


def spec_of(**changes) -> BattleSpec:
    values = {
        "name": "pilot",
        "source": "test",
        "stop": {"votes": 10},
        "seat": {"votes": 2, "minutes": 5, "pay": 1},
    }
    return read_spec(BattleSpec, {**values, **changes})


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"design": "fixed"}, "no tuples. Run"),
        (
            {"fixed": [{"item": "x", "model_a": "m1", "model_b": "m2"}]},
            "tuples. Set 'fixed', or leave the file out.",
        ),
        ({"design": "clever"}, "design"),
        ({"name": "a b"}, "name"),
        ({"seat": {"votes": 0, "minutes": 5, "pay": 1}}, "votes is '0'"),
        (
            {"qualify": {"items": "x", "asked": 3, "pass": 4}},
            "pass is 4, but only 3 questions are asked",
        ),
        ({"platform": {"kind": "prolific"}}, "platform.study is missing"),
        ({"prize": 1}, "prize"),
    ],
)
def test_a_spec_with_a_mistake_says_which(changes, told):
    with pytest.raises(CampaignError, match=told):
        spec_of(**changes)


def fixed(item: str, model_a: str, model_b: str) -> dict[str, object]:
    return {
        "design": "fixed",
        "fixed": [{"item": item, "model_a": model_a, "model_b": model_b}],
    }


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"source": "nowhere"}, "There is no source 'nowhere'. Sources: test"),
        ({"families": ["Opera"]}, "families: 'Opera' isn't in this source"),
        ({"models": ["m1", "m9"]}, "models: 'm9' isn't in this source"),
        ({"models": ["m1"]}, "answers from 1 of these models, but a battle needs two"),
        ({"tuples": 19}, "tuples is 19, but these models have only 18"),
        ({"tuples": 7, "models": ["m1", "m2"]}, "tuples is 7, but these models have only 6"),
        (fixed("x", "m1", "m2"), "the item of tuple 1: 'x' isn't in this source"),
        (fixed("", "m1", "m9"), "a model of tuple 1: 'm9' isn't in this source"),
        (fixed("", "m1", "m1"), "Tuple 1 names 'm1' twice"),
        (
            {"models": ["m1", "m2"], **fixed("", "m1", "m3")},
            "a model of tuple 1: 'm3' isn't in this source. Choose from: m1, m2",
        ),
    ],
)
def test_a_new_campaign_that_the_bank_lacks_says_what_is_there(bank, changes, told):
    items = ItemBank(bank).bank()
    names = {place: f"m{place}" for place in (1, 2, 3)}
    (first, *_) = items.items.values()
    for one in changes.get("fixed", ()):
        one["item"] = one["item"] or first.key
    spec = spec_of(**changes)
    with pytest.raises(CampaignError, match=told):
        check_names(spec, items, names)
        layout_of(spec, items, names)


def test_a_new_campaign_has_no_tuple_without_both_answers(database):
    Ingest(database).add_items("test", "folder", drafts(2))
    Ingest(database).add_items("test", "folder", drafts(3, ("m1", "m2"))[2:])
    items = ItemBank(database).bank()
    (*_, last) = items.items.values()
    spec = spec_of(**fixed(last.key, "m3", "m1"))
    with pytest.raises(CampaignError, match=f"Tuple 1: a model has no answer to item '{last.key}'"):
        check_names(spec, items, {place: f"m{place}" for place in (1, 2, 3)})


# What the bank loses


def lose_item(battles: Battles, item: int) -> None:
    with battles.database.write() as connection:
        hide(connection, battles.items.bank().items[item].key)
    battles.items.CHECK_SECONDS = -1.0


def lose_model(battles: Battles, model: str) -> None:
    Ingest(battles.database).retire(model)
    battles.items.CHECK_SECONDS = -1.0


RUNNING = {
    "fixed": lambda battles: {"design": "fixed", "fixed": battles.all_tuples()},
    "tuples": lambda _: {"tuples": 18},
    "models": lambda _: {"models": ["m1", "m2", "m3"]},
    "families": lambda _: {"families": ["Counting", "Color", "Directions"], "overlap": 0.5},
}


@pytest.mark.parametrize("lost", ["an item", "a family", "a model"])
@pytest.mark.parametrize("names", RUNNING)
def test_a_running_campaign_goes_on_without_what_the_bank_loses(bank, names, lost):
    battles = Battles(bank)
    campaign = battles.campaign(**RUNNING[names](battles))
    seat = battles.seat(campaign, "w1")
    battles.do(seat, most=2)
    items = [item for item in battles.items.bank().items.values() if item.family == "Color"]
    if lost == "a model":
        lose_model(battles, "m2")
    for item in items[: {"an item": 1, "a family": None, "a model": 0}[lost]]:
        lose_item(battles, item.id)
    left = {"an item": 5 * 3, "a family": 4 * 3, "a model": 6}[lost]
    assert (battles.states.state_of(campaign).layout.wanted > 0).sum() == left
    numbers = iter(range(20))
    while battles.again(campaign).ended_at is None:
        battles.do(battles.seat(campaign, f"v{next(numbers)}"))
    assert battles.again(campaign).why_ended == "every tuple has all its votes"


@pytest.mark.parametrize("near_the_end", [200, 5])
@pytest.mark.parametrize("lost", ["item", "model"])
def test_votes_on_what_the_bank_lost_count_towards_the_stop(
    database, monkeypatch, lost, near_the_end
):
    monkeypatch.setattr(draws, "NEAR_THE_END", near_the_end)
    Ingest(database).add_items("test", "folder", drafts(60, ("m1", "m2", "m3")))
    battles = Battles(database)
    seat = {"votes": 30, "minutes": 20, "pay": 1}
    campaign = battles.campaign(seat=seat, stop={"votes": 40})
    battles.do(battles.seat(campaign, "w1"), most=20)
    if lost == "item":
        lose_item(battles, rows(database, BATTLE)[0].item_id)
    else:
        lose_model(battles, "m3")
    later = battles.seat(campaign, "w2")
    assert battles.do(later) == 20
    campaign = battles.again(campaign)
    assert campaign.why_ended == "it has 40 of 40 votes" and not battles.work.waits(later)
    assert battles.states.state_of(campaign).votes == 40


def test_no_state_of_a_bank_before_is_returned_after_a_change(bank):
    """A reading that began before the change may still go on when a page is opened."""
    battles = Battles(bank)
    campaign = battles.campaign()
    before = battles.states.state_of(campaign)
    lose_model(battles, "m3")
    old_reading: Future[None] = Future()
    battles.states._readings[campaign.id] = old_reading
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(battles.states.state_of, campaign)
        wait([asked], 0.3)
        assert not asked.done()
        old_reading.set_result(None)
        after = asked.result()
    assert after.bank_version > before.bank_version and len(after.layout.models) == 2


def test_a_fixed_campaign_that_loses_every_tuple_draws_nothing(bank):
    battles = Battles(bank)
    tuples = [one for one in battles.all_tuples() if "m3" in one.values()]
    campaign = battles.campaign(design="fixed", fixed=tuples)
    lose_model(battles, "m3")
    seat = battles.seat(campaign, "w")
    assert battles.next(seat) is None and not battles.work.waits(seat)
    assert battles.again(campaign).ended_at is None


def test_whoever_needs_nothing_more_goes_on_without_the_campaigns_items(bank):
    battles = Battles(bank)
    campaign = battles.campaign(seat={"votes": 3, "minutes": 20, "pay": 1})
    full, working, late = (battles.seat(campaign, name) for name in ("full", "working", "late"))
    battles.do(full, most=3)
    battles.do(working, most=2)
    opened = battles.next(late)
    assert opened
    lose_model(battles, "m2")
    lose_model(battles, "m3")
    assert battles.next(full) is None
    with pytest.raises(CampaignError, match="answers from 1 of these models"):
        battles.next(working)
    battles.campaigns.end(campaign, "by hand")
    assert battles.next(working) is None
    let_minutes_pass(bank, 21)
    late = battles.seat(campaign, "late")
    assert battles.next(late) is None
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        battles.decide(late, opened, "a")


@pytest.mark.parametrize("lost", ["item", "model"])
def test_a_late_choice_between_answers_that_the_bank_lost_is_refused(bank, lost):
    battles = Battles(bank)
    campaign = battles.campaign()
    seat = battles.seat(campaign, "w")
    battle = battles.next(seat)
    assert battle
    let_minutes_pass(bank, 21)
    if lost == "item":
        lose_item(battles, battle.item)
    else:
        models = {
            one.answer: one.model for one in battles.items.bank().items[battle.item].contestants
        }
        lose_model(battles, f"m{models[battle.answer_a]}")
    with pytest.raises(ChoiceError, match="You were away for a while, so"):
        battles.decide(seat, battle, "a")
    another = battles.next(seat)
    assert another and another.token != battle.token


def test_a_model_that_is_retired_meanwhile_takes_what_was_seen_under_its_code_with_it(database):
    """Models and orders go by their place, which is another one from then on."""
    Ingest(database).add_items("test", "folder", drafts(60, ("m1", "m2", "m3")))
    battles = Battles(database)
    campaign = battles.campaign(design="settle", seat={"votes": 60, "minutes": 20, "pay": 1})
    battles.do(battles.seat(campaign, "w1"), most=55)
    before = battles.states.read_now(campaign).last_look
    assert before and len(before.fit.strengths) == 3
    Ingest(database).retire("m1")
    battles.items.CHECK_SECONDS = -1.0
    after = battles.states.state_of(campaign)
    assert len(after.layout.models) == 2
    assert after.last_look is None or len(after.last_look.fit.strengths) == 2
    assert battles.next(battles.seat(campaign, "w2")) is not None
