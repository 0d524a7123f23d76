"""The docs' campaign: what `plan` and `campaign new` say of docs/study.md's examples is what campaigns then deliver."""

import random
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from arena.campaign_battles.layout import Layout
from arena.campaign_battles.spec import BattleSpec
from arena.campaign_battles.state import CampaignState
from arena.database import Database
from arena.items.ingest import Ingest
from arena.ratings.assignment import pair_number
from arena.seats.campaigns import Campaign
from arena.seats.spec import read_spec
from arena.types import Battle
from perf.campaigns import ASSUMED, PLANNER_TARGET, widths
from tests.support import docs
from tests.support.battle_campaigns import Battles, check_drafts, votes_by_tuple
from tests.support.crowds import Crowd
from tests.support.paid_campaigns import PaidCampaign
from tests.support.servers import ROOT, drafts

STUDY = ROOT / "docs" / "study.md"
PRINTED = next(
    example.printed.splitlines()
    for example in docs.examples(STUDY)
    if "--items 574" in example.commands[0]
)
TOML = next(block.text for block in docs.blocks(STUDY) if block.file == "large.toml")


TOML_OF_ONES_OWN = "\n".join(
    part for part in TOML.split("\n\n") if not part.startswith(("[qualify]", "[platform]"))
)
_SUMMARY = re.compile(r"([\d,]+) tuples, at most ([\d,]+) votes.* ([\d,]+) workers with")


class Planned(NamedTuple):
    """A line of a plan."""

    each: int
    votes: int
    tuples: int
    workers: int
    half_width: float


def planned() -> list[Planned]:
    rows = [line.replace(",", "").replace("±", "").split() for line in PRINTED[2:4]]
    return [Planned(*map(int, row[:4]), half_width=float(row[6])) for row in rows]


@pytest.fixture
def battles(database: Database) -> Battles:
    """A bank of the size that the docs plan for."""
    Ingest(database).add_items(
        "VisIT-Bench", "folder", drafts(574, tuple(f"m{n}" for n in range(7)))
    )
    Ingest(database).add_items("checks", "check", check_drafts(20))
    return Battles(database)


def documented(battles: Battles, **changes) -> Campaign:
    """The docs' campaign for one's own workers, without a qualification."""
    values = {**tomllib.loads(TOML_OF_ONES_OWN), **changes}
    return battles.campaigns.create("battles", read_spec(BattleSpec, values))


def preference(layout: Layout, seed: int) -> Callable[[Battle], str]:
    """How workers of the kind that plans assume prefer answers."""
    coin = np.random.default_rng(seed)
    worth = ASSUMED.strengths + coin.normal(0, ASSUMED.quality, (len(layout.items), ASSUMED.models))
    contrast = coin.normal(0, ASSUMED.contrast, layout.wanted.shape)

    def prefers(battle: Battle) -> str:
        column = layout.item_code[battle.item]
        code = {
            one.answer: layout.model_code[one.model] for one in layout.items[column].contestants
        }
        a = code[battle.answer_a]
        b = code[battle.answer_b]
        own = contrast[pair_number(min(a, b), max(a, b), ASSUMED.models), column]
        gap = worth[column, a] - worth[column, b] + (own if a < b else -own)
        return "a" if coin.random() < 1 / (1 + np.exp(-gap)) else "b"

    return prefers


def work(battles: Battles, campaign: Campaign, workers: int) -> CampaignState:
    """Let so many workers, thirty at a time, do all that they are given."""
    layout = battles.states.state_of(campaign).layout
    prefers = preference(layout, 1)
    people = Crowd([battles], "pilot", 30, random.Random(1), prefers=prefers, places=workers)
    people.work()
    return people.sight().state


def workers_of(battles: Battles, campaign: Campaign) -> int:
    found = votes_by_tuple(battles.database, campaign)
    return len({voter for voters in found.values() for voter in voters})


@pytest.mark.soak
@pytest.mark.parametrize("plan", planned(), ids=lambda plan: f"{plan.each} a tuple")
def test_a_campaign_delivers_what_its_plan_says(battles, plan):
    asked = {"per_tuple": plan.each, "stop": {"votes": plan.votes}}
    campaign = documented(battles, design="balanced", overlap=0.0, tuples=None, **asked)
    state = work(battles, campaign, plan.workers)
    tuples = int((state.collected.counted == plan.each).sum())
    workers = workers_of(battles, campaign)
    promised = (plan.votes, plan.tuples, plan.workers)
    assert (state.votes, tuples, workers) == pytest.approx(promised, rel=PLANNER_TARGET)
    assert state.last_look
    assert state.last_look.half_width == pytest.approx(plan.half_width, rel=2 * PLANNER_TARGET), (
        "of one campaign"
    )


@pytest.mark.soak
@pytest.mark.parametrize("plan", planned(), ids=lambda plan: f"{plan.each} a tuple")
def test_half_widths_of_campaigns_are_those_of_the_plan(plan):
    found = widths(replace(ASSUMED, votes=plan.votes, each=plan.each), 40)
    assert (found.planned, found.true, found.shown) == pytest.approx(
        (plan.half_width,) * 3, rel=PLANNER_TARGET
    )


@pytest.mark.soak
def test_the_docs_campaign_delivers_what_is_said_when_it_is_made(battles):
    admin = PaidCampaign(battles.database, TOML_OF_ONES_OWN).admin
    campaign = battles.campaigns.get("pilot")
    tuples, votes, workers = (
        int(number.replace(",", ""))
        for number in _SUMMARY.search(" ".join(admin.summary(campaign))).groups()
    )
    state = work(battles, campaign, workers)
    full = (state.collected.counted >= state.layout.wanted) & (state.layout.wanted > 0)
    delivered = (int(full.sum()), state.votes, workers_of(battles, campaign))
    several = full & (state.layout.wanted == 5)
    assert delivered == pytest.approx((tuples, votes, workers), rel=PLANNER_TARGET)
    assert several.sum() / full.sum() == pytest.approx(0.15, abs=0.04)
