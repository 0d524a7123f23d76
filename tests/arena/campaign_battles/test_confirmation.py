"""Confirmation: a platform's workers count once its own list confirms them, and those whom it rejects never count."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from arena.admin.erasure import Erasure
from arena.admin.public_export import write_export
from arena.battles.quotas import Networks
from arena.battles.settlements import SETTLEMENT
from arena.battles.tables import BATTLE, HAS_CHOICE, IS_WAITING
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Voters
from arena.database import Database, now
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.io.tables import Record
from arena.items.ingest import Ingest
from arena.items.store import SOURCE
from arena.leaderboard.board import BoardKey
from arena.leaderboard.service import Leaderboard
from arena.live.images import OwnImages
from arena.seats.campaigns import Campaign
from arena.seats.links import Arrival, CampaignLinkError
from arena.seats.qualification import Qualification
from arena.seats.seats import Seat
from arena.seats.tables import SEAT_ENTRY
from arena.settings import MTURK_HOSTS, CountSettings
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages
from tests.support.campaign_worker import Worker, client_of
from tests.support.paid_campaigns import PROLIFIC, TOML, PaidCampaign, table
from tests.support.servers import drafts
from tests.support.visitors import rows

MTURK = 'platform = { kind = "mturk" }\n'
STOP = 30
SMALL = TOML.replace("votes = 1000", f"votes = {STOP}")
COUNTED = CountSettings("counted", ("pilot",))


@pytest.fixture
def bank(database: Database) -> Database:
    """40 items that three models answered: 120 tuples."""
    Ingest(database).add_items("test", "folder", drafts(40, ("m1", "m2", "m3")))
    return database


class Boards:
    """The boards of the campaign's source, at an operator who counts its workers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leaderboard = Leaderboard(database, VoteTable(database), COUNTED, every=0)
        with database.read() as connection:
            self._source = connection.scalar(select(SOURCE.c.id).where(SOURCE.c.name == "test"))

    def votes(self, everyone: bool = False) -> int:
        with self._database.write() as connection:
            connection.execute(update(BATTLE).where(IS_WAITING).values(tick=0))
        return self._leaderboard.board(BoardKey(self._source, False, everyone=everyone)).votes

    def close(self) -> None:
        self._leaderboard.close()


@pytest.fixture
def boards(bank: Database) -> Iterator[Boards]:
    opened = Boards(bank)
    yield opened
    opened.close()


def bring(one: PaidCampaign, **statuses: str) -> str:
    """Bring in a list with the status of each worker."""
    records = [
        Record(row, {"Participant id": person, "Status": status})
        for row, (person, status) in enumerate(statuses.items(), 2)
    ]
    return one.admin.bring_participants("ada", "pilot", records)


def crowd(one: PaidCampaign, names: list[str]) -> list[Seat]:
    """Let each of these come and give as many answers as there are."""
    return [one.answer(name) for name in names]


def now_of(one: PaidCampaign) -> Campaign:
    one.admin.states.read_now(one.admin.store.get("pilot"))
    return one.admin.store.get("pilot")


def given(one: PaidCampaign) -> int:
    with one.database.read() as connection:
        return len(connection.execute(select(BATTLE.c.id).where(HAS_CHOICE)).all())


def let_hours_pass(database: Database, hours: float) -> None:
    """Make every seat so much older."""
    with database.write() as connection:
        for seat, at in connection.execute(
            select(SEAT_ENTRY.c.seat_id, SEAT_ENTRY.c.arrived_at)
        ).all():
            older = update(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == seat)
            connection.execute(older.values(arrived_at=at - timedelta(hours=hours)))


@pytest.mark.parametrize("platform", [PROLIFIC, pytest.param(MTURK, marks=pytest.mark.soak)])
def test_a_crowd_of_invented_workers_moves_nothing(bank, boards, platform):
    """They fill the places, so that nothing is paid twice; the list gives them back at once."""
    one = PaidCampaign(bank, SMALL + platform)
    crowd(one, [f"forged{number}" for number in range(STOP)])
    assert given(one) == STOP, "no more than there are places"
    assert now_of(one).ended_at is None and boards.votes() == 0
    assert one.work.is_full(one.campaign) and not one.work.waits(one.seat("forged1"))
    standing = one.admin.standing(one.campaign)
    assert (standing.votes, standing.pending, standing.full) == (0, STOP, 0)
    told = bring(one, real="APPROVED")
    assert told.endswith(f"Workers who came: 0 confirmed, {STOP} rejected, 0 pending.")
    now_of(one)
    assert not one.work.is_full(one.campaign), "what they held is served again"
    people = [f"real{number}" for number in range(STOP // 3)]
    crowd(one, people)
    assert given(one) == 2 * STOP and now_of(one).ended_at is None
    bring(one, **dict.fromkeys(people, "AWAITING REVIEW"))
    assert one.admin.store.get("pilot").why_ended == f"it has {STOP} of {STOP} votes"
    assert boards.votes() == STOP and boards.votes(everyone=True) == STOP
    counts = [row["counts"] for row in table(one.admin.votes("pilot"))]
    assert counts == ["no"] * STOP + ["yes"] * STOP


def test_unconfirmed_places_lapse(bank):
    """By themselves, after the campaign's hours; what comes of a late list counts all the same."""
    one = PaidCampaign(bank, SMALL + PROLIFIC.replace(" }", ", confirm_hours = 6 }"))
    crowd(one, [f"w{number}" for number in range(STOP // 3)])
    let_hours_pass(bank, 5.9)
    now_of(one)
    assert one.work.is_full(one.campaign)
    let_hours_pass(bank, 0.2)
    now_of(one)
    assert not one.work.is_full(one.campaign) and one.admin.standing(one.campaign).votes == 0
    bring(one, **{f"w{number}": "APPROVED" for number in range(STOP // 3)})
    assert one.admin.store.get("pilot").why_ended == f"it has {STOP} of {STOP} votes"


def test_a_list_moves_boards_at_once_and_a_later_one_too(bank, boards):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    for name in ("ann", "ben", "eve"):
        one.answer(name)
    one.admin.end("ada", "pilot")
    assert (boards.votes(), boards.votes(everyone=True)) == (0, 9)
    bring(one, ann="AWAITING REVIEW", ben="RETURNED", eve="ACTIVE")
    assert (boards.votes(), boards.votes(everyone=True)) == (3, 6), (
        "who gave it back counts nowhere"
    )
    bring(one, ann="APPROVED", ben="RETURNED", eve="AWAITING REVIEW")
    assert boards.votes() == 6
    bring(one, ann="REJECTED", ben="TIMED-OUT", eve="APPROVED")
    assert (boards.votes(), boards.votes(everyone=True)) == (3, 3)
    bring(one, eve="SCREENED OUT")
    assert (boards.votes(), boards.votes(everyone=True)) == (0, 0)


def test_who_takes_consent_back_counts_on_no_board_whatever_the_list_says(bank, boards):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    for name in ("ann", "ben"):
        one.answer(name, most=2)
    bring(one, ann="APPROVED", ben="APPROVED")
    one.admin.end("ada", "pilot")
    assert boards.votes() == 4
    one.admin.seats.add_event(one.seat("ann"), "withdrew")
    assert (boards.votes(), boards.votes(everyone=True)) == (2, 2)
    bring(one, ann="APPROVED", ben="APPROVED")
    assert (boards.votes(), boards.votes(everyone=True)) == (2, 2)


def test_votes_of_who_was_forgotten_stay_whatever_the_list_says(bank, boards, tmp_path):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    for name in ("ann", "ben"):
        one.answer(name)
    everyone = {"ann": "APPROVED", "ben": "RETURNED"}
    bring(one, **everyone)
    erasure = Erasure(bank, OwnImages(bank, tmp_path / "own"))
    for name in everyone:
        erasure.forget(one.seat(name).voter, "ada")
    one.admin.end("ada", "pilot")
    for listed in (everyone, {"eve": "APPROVED"}):
        bring(one, **listed)
        assert (boards.votes(), boards.votes(everyone=True)) == (3, 3)


def test_votes_leave_in_an_export_once_they_are_confirmed(bank, tmp_path):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    for name in ("ann", "ben", "eve"):
        one.answer(name)
    one.admin.end("ada", "pilot")
    exported = [write_export(bank, tmp_path).votes]
    for eve in ("ACTIVE", "APPROVED", "REJECTED"):
        bring(one, ann="APPROVED", eve=eve)
        exported.append(write_export(bank, tmp_path).votes)
    assert exported == [0, 3, 6, 3]


def test_what_settled_by_votes_that_are_taken_back_has_to_settle_anew(bank):
    """Of the campaign and its source: workers hand in first, and some are rejected when their work was looked at."""
    one = PaidCampaign(bank, TOML + PROLIFIC)
    kept = "bank, single, counted: another source"
    names = [
        "campaign pilot",
        "bank, single, counted: test",
        "bank, multiple, everyone: test",
        kept,
    ]
    settled = [
        {"board": name, "above": 1, "below": 2, "votes": 50, "settled_at": now()} for name in names
    ]
    with bank.write() as connection:
        connection.execute(insert(SETTLEMENT), settled)
    for name in ("ann", "ben"):
        one.answer(name)
    for ben in ("AWAITING REVIEW", "APPROVED"):
        bring(one, ann="RETURNED", ben=ben)
        assert {row.board for row in rows(bank, SETTLEMENT)} == set(names), "nothing was taken back"
    bring(one, ann="RETURNED", ben="REJECTED")
    assert [row.board for row in rows(bank, SETTLEMENT)] == [kept]


def test_looks_follow_the_votes_that_are_confirmed(bank):
    """Intervals and settled orders are those of confirmed votes, whatever was pending, and change with the list."""
    one = PaidCampaign(bank, TOML + PROLIFIC)
    names = [f"w{number}" for number in range(20)]
    for name in names:
        one.answer(name, ["m1", "m2"])
    now_of(one)
    assert one.admin.states.state_of(one.campaign).last_look is None
    bring(one, **dict.fromkeys(names, "APPROVED"))
    looked = one.admin.states.state_of(one.campaign).last_look
    assert looked and looked.votes == 60 and int(np.argmax(looked.fit.ratings)) == 0
    bring(one, **dict.fromkeys(names[:4], "APPROVED"))
    looked = one.admin.states.state_of(one.campaign).last_look
    assert looked and looked.votes == 12
    bring(one, nobody="APPROVED")
    assert one.admin.states.state_of(one.campaign).last_look is None


def test_whoever_comes_to_full_places_is_told_and_who_gave_something_is_paid(bank, tmp_path):
    one = PaidCampaign(bank, SMALL + PROLIFIC)
    client = client_of(pages_of(one, tmp_path))
    link = one.admin.link(one.campaign)
    ids = {"{{%PROLIFIC_PID%}}": "mine", "{{%STUDY_ID%}}": "study1", "{{%SESSION_ID%}}": "s1"}
    for name, value in ids.items():
        link = link.replace(name, value)
    mine = Worker(client, link).enter()
    mine.decide("a")
    mine.choose("b")
    crowd(one, [f"forged{number}" for number in range(STOP)])
    now_of(one)
    late = Worker(client, link.replace("mine", "late"))
    for page in (late.get(), late.enter()):
        assert (page.status, page.title) == (403, "Full for now")
        assert "Try again later" in page.alert
    assert "late" not in {seat.person for seat in one.admin.seats.all(one.campaign)}
    mine.send(act="finish")
    assert (mine.kind, mine.code) == ("end", "C1FULL"), "who came before is paid"
    bring(one, mine="AWAITING REVIEW")
    assert (late.enter().status, late.kind) == (200, "work")


def test_the_codes_come_after_the_bank_lost_the_campaigns_items(bank, tmp_path):
    """To whoever gave all at once, and to those at work once the operator ends the campaign."""
    one = PaidCampaign(bank, TOML)
    client = client_of(pages_of(one, tmp_path))
    full = Worker(client, one.admin.link(one.campaign, "full")).enter()
    working = Worker(client, one.admin.link(one.campaign, "working")).enter().decide("a")
    for side in ("a", "b"):
        full.decide(side)
    full.choose("a")
    for model in ("m2", "m3"):
        Ingest(bank).retire(model)
    one.items.CHECK_SECONDS = -1.0
    full.send(act="finish")
    assert (full.kind, full.title, full.code != "") == ("end", "All done, thank you.", True)
    working.get(working.path)
    assert (working.status, working.code) == (403, "")
    assert "This study can't continue right now." in working.alert
    one.admin.end("ada", "pilot")
    assert working.get(working.path).kind == "work", "what was shown is finished first"
    working.decide("b")
    assert (working.kind, working.code != "") == ("end", True)
    assert [seat.end for seat in one.admin.seats.all(one.campaign)] == ["done", "full"]


def pages_of(one: PaidCampaign, folder: Path) -> CampaignPages:
    """The workers' pages of a campaign."""
    scaled = ScaledPictures(PictureStore(folder / "pictures"), folder / "scaled")
    return CampaignPages(
        campaigns=one.admin.store,
        seats=one.admin.seats,
        qualification=Qualification(one.database),
        tasks={"battles": BattleTask(one.work, scaled, "1")},
        voters=Voters(one.database),
        networks=Networks(1),
        mturk_hosts=MTURK_HOSTS,
    )


def test_the_list_of_mturk_says_nothing_of_who_is_still_at_work(bank):
    one = PaidCampaign(bank, TOML + MTURK)
    one.answer("gone")
    one.answer("at-work", most=1)
    told = bring(one, other="Submitted")
    assert told.endswith("0 confirmed, 1 rejected, 1 pending.")
    one = PaidCampaign(bank, (TOML + PROLIFIC).replace("pilot", "study"))
    one.answer("at-work", most=1)
    records = [Record(2, {"worker": "other"})]
    told = one.admin.bring_participants("ada", "study", records)
    assert told.endswith("0 confirmed, 1 rejected, 0 pending."), "Prolific's names everybody"


def test_who_comes_after_the_list_is_known_by_it(bank):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    bring(one, ann="ACTIVE", ben="RETURNED", eve="APPROVED")
    found = [one.seat(name).confirmation for name in ("ann", "ben", "eve", "new")]
    assert found == ["pending", "rejected", "confirmed", "pending"]


def test_workers_of_own_links_and_of_the_log_in_count_at_once(bank, boards):
    one = PaidCampaign(bank, TOML)
    one.answer("w1")
    assert one.seat("w1").confirmation == "confirmed" and boards.votes() == 3
    assert one.admin.standing(one.campaign).pending == 0


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize(
    ("toml", "most"),
    [
        (TOML + MTURK, 10),
        pytest.param(
            TOML + MTURK.replace(" }", ", network_seats = 25 }"), 25, marks=pytest.mark.soak
        ),
        pytest.param(TOML, 200, marks=pytest.mark.soak),
        (TOML + 'platform = { kind = "plain", network_seats = 7 }\n', 7),
    ],
)
def test_a_network_takes_so_many_seats_a_day(bank, toml, most):
    """Invented workers from one /48; each plain link was made for its worker, so that there 200 may come."""
    one = PaidCampaign(bank, toml)
    taken = 0
    for number in range(max(40, most)):
        try:
            one.admin.seats.enter(one.campaign, Arrival(f"A{number}"), "2a00:1450:4001::/48")
            taken += 1
        except CampaignLinkError as error:
            assert f"opened {most} links to this campaign today" in str(error)
    assert taken == most == len(one.admin.seats.all(one.campaign))
    assert one.admin.seats.enter(one.campaign, Arrival("A0"), "2a00:1450:4001::/48")
    assert one.admin.seats.enter(one.campaign, Arrival("B0"), "2a00:1450:4002::/48")
    other = PaidCampaign(bank, toml.replace("pilot", "other"))
    assert other.admin.seats.enter(other.campaign, Arrival("A0"), "2a00:1450:4001::/48")
