"""Campaigns in the backup: after a wipe a worker finds the same seat under the same link, and goes on."""

import pytest

from arena.battles.store import BattleStore
from arena.campaign_battles.spec import TASK, BattleSpec
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.task import BattleWork
from arena.database import Database, now
from arena.items.store import ItemBank
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival, arrival, made_link
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import Seat, SeatStore
from arena.seats.spec import read_spec
from tests.support.backup import FolderHub, backup_of, bank, copy_all

SPEC = b"""
name = "spring"
source = "test"
design = "balanced"
stop = { votes = 100 }
seat = { votes = 6, minutes = 20, pay = 1.5 }
qualify = { items = "checks", asked = 2, pass = 1 }
platform = { kind = "prolific", study = "S1", done = "C1", failed = "C2", full = "C3" }
"""


class Arena:
    """A server's campaigns in a database."""

    def __init__(self, database: Database) -> None:
        self.campaigns, self.seats = (
            CampaignStore(database, {TASK: BattleSpec}),
            SeatStore(database),
        )
        self.exam, self.items = Qualification(database), ItemBank(database)
        self.store = BattleStore(database)
        self.work = BattleWork(
            database, self.store, self.items, CampaignStates(database, self.items, self.campaigns)
        )

    def campaign(self) -> Campaign:
        return self.campaigns.get("spring")

    def enter(self, query: dict[str, str]) -> Seat:
        campaign = self.campaign()
        return self.seats.enter(campaign, arrival(campaign.key, campaign.spec, query, now()), None)

    def vote(self, seat: Seat) -> tuple[int, int, int]:
        battle = self.work.battle(seat, None)
        assert battle
        self.store.vote(seat.voter, battle.token, "a", "1")
        self.store.reveal(seat.voter, battle.token)
        return battle.item, battle.answer_a, battle.answer_b


def query_of(campaign: Campaign, person: str) -> dict[str, str]:
    link = made_link(campaign.key, campaign.spec, now().replace(year=now().year + 1))
    given = dict(part.split("=", 1) for part in link.partition("?")[2].split("&"))
    return given | {"PROLIFIC_PID": person, "STUDY_ID": "S1", "SESSION_ID": "1"}


@pytest.mark.parametrize("onto", ["sqlite", "postgresql"])
def test_a_worker_goes_on_under_the_same_link_after_a_wipe(database, another, tmp_path, onto):
    hub = FolderHub()
    before = Arena(bank(database))
    campaign = before.campaigns.create(TASK, read_spec(BattleSpec, SPEC))
    query = query_of(campaign, "anna")
    seat = before.enter(query)
    before.exam.answer(seat, ExamStanding(1, 1, 0, 2), "one", "a", True)
    before.exam.answer(seat, ExamStanding(1, 2, 1, 2), "two", "a", True)
    seat = before.seats.add_event(seat, "qualified")
    had = {before.vote(seat) for _ in range(4)}
    other = before.seats.add_event(before.enter(query_of(campaign, "berta")), "done")
    before.seats.bring_participants(campaign, {"anna": "AWAITING REVIEW"})
    copy_all(backup_of(database, hub, tmp_path))

    fresh = another(onto)
    assert backup_of(fresh, hub, tmp_path).restore()
    after = Arena(fresh)
    assert after.campaign() == campaign, "its key signs the same links"
    found = after.seats.find(after.campaign(), seat.token)
    assert found and found == after.enter(query)
    assert (found.confirmation, other.confirmation) == ("confirmed", "pending")
    assert after.seats.all(after.campaign())[1].confirmation == "rejected", "by the list"
    assert after.enter(query | {"SESSION_ID": "2"}).id == found.id, "one seat a person"
    assert (found.code, found.is_qualified, found.arrived_at) == (seat.code, True, seat.arrived_at)
    assert after.exam.has_passed(found) and after.work.progress(found).votes == 4
    had |= {after.vote(found) for _ in range(2)}
    assert len(had) == 6 and after.work.battle(found, None) is None, (
        "no tuple twice, and no more than the quota"
    )
    ended = after.seats.find(after.campaign(), other.token)
    assert ended and ended.end_code == "C1"
    assert after.seats.participants(campaign) == {"anna": "AWAITING REVIEW"}
    assert len(after.seats.all(after.campaign())) == 2


def test_who_comes_after_a_wipe_takes_a_seat_of_his_own(database, another, tmp_path):
    hub = FolderHub()
    before = Arena(bank(database))
    campaign = before.campaigns.create(TASK, read_spec(BattleSpec, SPEC))
    seat = before.enter(query_of(campaign, "anna"))
    copy_all(backup_of(database, hub, tmp_path))
    fresh = another()
    assert backup_of(fresh, hub, tmp_path).restore()
    after = Arena(fresh)
    taken = after.seats.enter(after.campaign(), Arrival("carla"), None)
    assert taken.id != seat.id and taken.token != seat.token
