"""Time to draw a worker's next battle in a campaign of 100,000 votes: `python -m perf.seats`.

Each draw is `BattleWork.battle`: it looks for the seat's unfinished battle, draws a tuple by the design, reserves the
tuple in the database, and commits the battle (SQLite, WAL, synchronous=FULL). Target: a median of 20 ms under each
design. It is compared with the time to take a seat, which is little more than one commit.
"""

import secrets
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
from sqlalchemy import insert

from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, SEAT, VOTER
from arena.campaign_battles.spec import TASK, BattleSpec, Design, FixedTuple, Stop
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.task import BattleWork
from arena.database import Database, now
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival
from arena.seats.seats import SeatStore
from arena.seats.spec import SeatSpec
from arena.seats.tables import SEAT_ENTRY
from arena.settings import VoteLimits

MODELS = 20
ITEMS = 1000
VOTES = 100_000
SEAT_VOTES = 20
DRAWS = 200
TARGET = 0.020
"""Seconds of the median draw."""
LIMITS = VoteLimits()


def bank(database: Database) -> ItemBank:
    drafts = [
        ItemDraft(
            instruction=f"What is in picture {number}?",
            family=f"family {number % 10}",
            images=(
                ImageDraft(f"key-{number}", f"{number}.png", sha256=f"{number:064x}", suffix="png"),
            ),
            answers={
                f"model-{model:02d}": f"Model {model} sees the number {number}."
                for model in range(MODELS)
            },
        )
        for number in range(ITEMS)
    ]
    Ingest(database).add_items("bench", "folder", drafts)
    return ItemBank(database)


def plant(database: Database, campaign: Campaign, items: ItemBank) -> None:
    """Inserts VOTES final votes of workers with SEAT_VOTES each, each on another tuple."""
    coin = np.random.default_rng(1)
    bank_items = tuple(items.bank().items.values())
    low, high = np.triu_indices(MODELS, 1)
    seats = VOTES // SEAT_VOTES
    tuples = coin.permutation(len(low) * ITEMS)[:VOTES]
    voters = [
        {"id": number + 1, "cookie_hash": secrets.token_hex(32), "since": now()}
        for number in range(seats)
    ]
    seat_rows = [
        {
            "id": number + 1,
            "campaign": campaign.name,
            "voter_id": number + 1,
            "code": "C",
            "confirmation": "confirmed",
        }
        for number in range(seats)
    ]
    entries = [
        {
            "seat_id": number + 1,
            "campaign_id": campaign.id,
            "person": f"w{number}",
            "session": "",
            "reply_to": "",
            "arrived_at": now(),
        }
        for number in range(seats)
    ]
    battles = []
    for number, code in enumerate(tuples.tolist()):
        pair, item_index = divmod(code, ITEMS)
        item = bank_items[item_index]
        contestant_a = item.contestants[low[pair]]
        contestant_b = item.contestants[high[pair]]
        seat = number // SEAT_VOTES + 1
        battle = number + 1
        battles.append(
            {
                "id": battle,
                "token": secrets.token_hex(16),
                "voter_id": seat,
                "item_id": item.id,
                "seat_id": seat,
                "images": 1,
                "model_a": contestant_a.model,
                "model_b": contestant_b.model,
                "answer_a": contestant_a.answer,
                "answer_b": contestant_b.answer,
                "began_at": now(),
                "draw": "campaign",
                "draw_probability": 0.1,
                "choice": "a" if coin.random() < 0.5 + (high[pair] - low[pair]) / 80 else "b",
                "voted_at": now(),
                "terms": "",
                "revealed_at": now(),
                "final_number": battle,
            }
        )
    with database.write() as connection:
        for table, rows in (
            (VOTER, voters),
            (SEAT, seat_rows),
            (SEAT_ENTRY, entries),
            (BATTLE, battles),
        ):
            connection.execute(insert(table), rows)


def spec_of(design: Design, items: ItemBank) -> BattleSpec:
    names = [f"model-{model:02d}" for model in range(MODELS)]
    pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
    tuples = [
        FixedTuple(item=item.key, model_a=a, model_b=b)
        for item in items.bank().items.values()
        for a, b in pairs
    ]
    return BattleSpec(
        name=design,
        source="bench",
        design=design,
        fixed=tuple(tuples) if design == "fixed" else (),
        stop=Stop(votes=10**6),
        seat=SeatSpec(votes=SEAT_VOTES, minutes=20, pay=1.0),
    )


class Times(NamedTuple):
    """Seconds to draw a battle and to take a seat."""

    draw_median: float
    draw_p95: float
    seat_median: float


def measure(design: Design) -> Times:
    """Times DRAWS new seats and their first battles."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database(f"sqlite:///{Path(folder) / 'arena.db'}")) as base,
    ):
        items = bank(base)
        campaigns = CampaignStore(base, {TASK: BattleSpec})
        campaign = campaigns.create(TASK, spec_of(design, items))
        plant(base, campaign, items)
        work = BattleWork(
            base, BattleStore(base, LIMITS), items, CampaignStates(base, items, campaigns)
        )
        seats = SeatStore(base)
        draw_times = []
        seat_times = []
        for number in range(DRAWS):
            start = time.perf_counter()
            seat = seats.enter(campaign, Arrival(f"new worker {number}"), None)
            seat_times.append(time.perf_counter() - start)
            if number == 0:
                work.battle(seat, None)  # reads the campaign once
                continue
            start = time.perf_counter()
            assert work.battle(seat, None)
            draw_times.append(time.perf_counter() - start)
        return Times(
            draw_median=statistics.median(draw_times),
            draw_p95=sorted(draw_times)[int(0.95 * len(draw_times))],
            seat_median=statistics.median(seat_times),
        )


def main() -> int:
    """Prints the times of each design; returns 1 if a target was missed."""
    slow = 0
    for design in get_args(Design):
        times = measure(design)
        slow += times.draw_median > TARGET
        print(
            f"{design:>9}: a seat's next battle {times.draw_median * 1000:.1f} ms "
            f"(p95 {times.draw_p95 * 1000:.1f}), taking a seat {times.seat_median * 1000:.1f} ms, "
            f"ratio {times.draw_median / times.seat_median:.1f}",
            flush=True,
        )
    print(
        "the target is met" if not slow else f"{slow} designs take more than {TARGET * 1000:.0f} ms"
    )
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
