"""A campaign as an operator makes it, with workers who answer, without a page."""

import os
from collections.abc import Iterable
from pathlib import Path

from arena.admin.campaigns import CampaignAdmin
from arena.battles.store import BattleStore
from arena.battles.vote_table import VoteTable
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.items.ingest import Ingest
from arena.items.store import ItemBank, model_names
from arena.seats.links import Arrival
from arena.seats.seats import Seat
from arena.settings import Settings
from arena.sheets import Sheet
from arena.types import RIGHT, UNRELATED
from tests.support.servers import drafts

TOML = """
name = "pilot"
source = "test"
stop = { votes = 1000 }
seat = { votes = 3, minutes = 25, pay = 5.0 }
"""
PROLIFIC = 'platform = { kind = "prolific", study = "study1", done = "C1DONE", failed = "C1FAIL", full = "C1FULL" }\n'


class PaidCampaign:
    """A campaign on the source "test", and its workers."""

    def __init__(self, database: Database, toml: str = TOML, checks: int = 0) -> None:
        if checks:
            folder = drafts(100 + checks, (RIGHT, UNRELATED))[100:]
            Ingest(database).add_items("checks", "check", folder)
        self.database, self.items = database, ItemBank(database)
        settings = Settings.from_env(
            {"DATA_DIR": os.environ["DATA_DIR"], "DATABASE_URL": "postgresql://u:p@h/d"}
        )
        self.admin = CampaignAdmin(settings, database, self.items, VoteTable(database))
        self.campaign = self.admin.make("ada", toml.encode())
        self.work = BattleWork(database, BattleStore(database), self.items, self.admin.states)

    def seat(self, person: str, session: str = "sitting") -> Seat:
        return self.admin.seats.enter(self.campaign, Arrival(person, session), None)

    def answer(self, person: str, winners: Iterable[str] = (), most: int = 1000) -> Seat:
        """Let a worker answer all that he gets, or `most` of it: the first of `winners` that stands there, else A."""
        seat, ranked = self.seat(person), list(winners)
        with self.database.read() as connection:
            models = model_names(connection)
        for _ in range(most):
            battle = self.work.battle(seat, None)
            if battle is None:
                return self.admin.seats.add_event(seat, "done")
            item = self.items.bank().items[battle.item]
            names = {one.answer: models[one.model] for one in item.contestants}
            sides = {names[battle.answer_a]: "a", names[battle.answer_b]: "b"}
            side = next((sides[one] for one in ranked if one in sides), "a")
            self.work.store.vote(seat.voter, battle.token, side, "1")
            self.work.store.reveal(seat.voter, battle.token)
        return seat


def table(sheet: Sheet) -> list[dict[str, object]]:
    """A download's rows by their columns."""
    return [dict(row) for row in sheet.rows]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path
