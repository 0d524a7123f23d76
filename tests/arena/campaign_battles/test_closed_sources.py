"""Closed sources: while a campaign is running, nobody sees how its source stands; when it ends, everybody does."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.admin.public_export import write_export
from arena.battles.blindness import Blindness
from arena.battles.outcomes import Outcomes
from arena.battles.sampling import BattleRequest, PairSampler
from arena.battles.store import BattleStore
from arena.battles.vote_table import VoteTable
from arena.battles.voters import NOBODY
from arena.campaign_battles.spec import TASK, BattleSpec, closed_sources
from arena.database import Database
from arena.imports.polls import Polls
from arena.items.fact_store import FactStore
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.seats.campaigns import CampaignStore
from arena.seats.spec import read_spec
from arena.types import Battle
from arena.web.model_page import ModelPages
from arena.web.results_address import ResultsAddress
from arena.web.reveal import others_sentence
from tests.support.planting import Planted, plant
from tests.support.servers import drafts

SPEC = b'name = "spring"\nsource = "bank"\nstop = { votes = 100 }\nseat = { votes = 5, minutes = 20, pay = 1 }'


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path / 'arena.db'}")) as made:
        Ingest(made).add_items("bank", "folder", drafts(4))
        yield made


def voted(database: Database, name: str) -> Battle:
    """A final vote of a visitor."""
    store, items = BattleStore(database), ItemBank(database)
    voter = store.voter(f"cookie of {name}")
    battle = PairSampler(store, items, "auto", VoteTable(database)).next_battle(
        voter, BattleRequest()
    )
    assert isinstance(battle, Battle)
    store.vote(voter, battle.token, "a", "1")
    return store.reveal(voter, battle.token)


def exported(database: Database, folder: Path) -> int:
    write_export(database, folder)
    lines = (folder / "votes.jsonl").read_text("utf-8").splitlines()
    return sum(json.loads(line)["source"] == "bank" for line in lines)


def test_a_source_is_closed_while_a_campaign_on_it_runs_and_open_after(database, tmp_path):
    campaigns, outcomes = (
        CampaignStore(database, {TASK: BattleSpec}),
        Outcomes(database, closed_sources),
    )
    leaderboard = Leaderboard(database, VoteTable(database))
    battle = voted(database, "one")
    source = ItemBank(database).bank().items[battle.item].source
    open_board = leaderboard.choose("bank", "single")
    assert open_board and open_board.source == "bank" and leaderboard.official_key(source, False)
    assert outcomes.find_finished(battle.link) and exported(database, tmp_path) == 1
    assert Polls(database).sources() == ("bank",), "how far people agree"

    campaign = campaigns.create(TASK, read_spec(BattleSpec, SPEC))
    assert leaderboard.choose("bank", "single") is None, "there is no other source"
    items = ItemBank(database)
    pages = ModelPages(leaderboard, items, Blindness(database, items, "auto"), FactStore(database))
    told = pages.page(ResultsAddress.parse("/model/m1"), NOBODY).html
    assert "There is no board to show yet." in told, "not that there are no items"
    assert leaderboard.official_key(source, False) is None
    assert outcomes.find_finished(battle.link) is None
    assert exported(database, tmp_path) == 0
    assert Polls(database).sources() == ()

    campaigns.end(campaign, "for this test")
    assert leaderboard.choose("bank", "single") and leaderboard.official_key(source, False)
    assert outcomes.find_finished(battle.link) and exported(database, tmp_path) == 1
    assert Polls(database).sources() == ("bank",)


def test_who_votes_meanwhile_is_not_told_how_others_chose(database):
    outcomes = Outcomes(database, closed_sources)
    campaigns = CampaignStore(database, {TASK: BattleSpec})
    campaign = campaigns.create(TASK, read_spec(BattleSpec, SPEC))
    store = BattleStore(database)
    battles = [voted(database, f"visitor {number}") for number in range(24)]
    voters = [store.voter(f"cookie of visitor {number}") for number in range(24)]
    told = [outcomes.outcome(voter, battle) for voter, battle in zip(voters, battles, strict=True)]
    assert [one.others for one in told] == [0] * 24
    assert all("when the campaign ends" in others_sentence(one) for one in told)
    campaigns.end(campaign, "for this test")
    told = [
        outcomes.outcome(voter, battle).others
        for voter, battle in zip(voters, battles, strict=True)
    ]
    assert sum(told) > 0


def test_an_overview_that_a_campaign_made_old_leads_to_another_source(database, monkeypatch):
    monkeypatch.setattr("arena.leaderboard.overview.EARLY_SECONDS", 1000.0)
    Ingest(database).add_items("other", "folder", drafts(8)[4:])
    plant(database, [Planted(1, "m1", "m2")] * 3 + [Planted(5, "m1", "m2")])
    with closing(Leaderboard(database, VoteTable(database))) as leaderboard:
        overview = Overview(leaderboard, seconds=1000.0)
        names = [
            {},
            {"model": "m1"},
            {"images": "single"},
            {"source": "bank"},
            {"source": "bank", "images": "single"},
            {"source": "unknown", "model": "m2"},
        ]
        assert {overview.choose(**some).source for some in names} == {"bank"}
        campaigns = CampaignStore(database, {TASK: BattleSpec})
        campaigns.create(TASK, read_spec(BattleSpec, SPEC))
        assert {overview.choose(**some).source for some in names} == {"other"}
        other = SPEC.replace(b'"spring"', b'"autumn"').replace(b'"bank"', b'"other"')
        campaigns.create(TASK, read_spec(BattleSpec, other))
        assert {overview.choose(**some) for some in names} == {None}
