"""A voter at the store, and the rows that a vote leaves."""

from itertools import combinations
from typing import Any

from sqlalchemy import select

from arena.battles.store import BattleStore, Choose, Draw, ItemPair
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.database import Database
from arena.items.store import ItemBank
from arena.types import Battle

TERMS = "1"


def chooser(database: Database) -> Choose:
    """Choose the first (item, pair) that the voter has not had, the lower model's answer as A."""
    items = ItemBank(database).bank().items.values()
    every = [(item.id, *pair) for item in items for pair in combinations(item.contestants, 2)]

    def choose(seen: frozenset[ItemPair]) -> Draw | None:
        for item, one, other in every:
            if ItemPair(item, one.model, other.model) not in seen:
                return Draw(item, one.model, other.model, one.answer, other.answer)
        return None

    return choose


class Visitor:
    """One voter at a store."""

    def __init__(self, database: Database, cookie: str) -> None:
        self.database, self.store, self.choose = database, BattleStore(database), chooser(database)
        self.id = self.store.voter(cookie)

    def serve(self, item: int | None = None) -> Battle:
        battle = self.store.serve(self.id, self.choose, item)
        assert battle is not None, "there is nothing left to serve"
        return battle

    def serve_on(self, item: int) -> Battle:
        """Follow a link to an item."""
        mine = self.choose
        pairs = combinations(ItemBank(self.database).bank().items[item].contestants, 2)
        every = [
            Draw(item, one.model, other.model, one.answer, other.answer) for one, other in pairs
        ]
        self.choose = lambda seen: next(
            (d for d in every if ItemPair(item, d.model_a, d.model_b) not in seen), None
        )
        battle = self.serve(item)
        self.choose = mine
        return battle

    def vote(self, battle: Battle, choice: Any = "a") -> Battle:
        return self.store.vote(self.id, battle.token, choice, TERMS)

    def undo(self, battle: Battle) -> Battle:
        return self.store.undo(self.id, battle.token)

    def reveal(self, battle: Battle) -> Battle:
        return self.store.reveal(self.id, battle.token)

    def skip(self, battle: Battle, reason: Any = "cannot judge") -> Battle:
        return self.store.skip(self.id, battle.token, reason)

    def decide(self, choice: str = "a") -> Battle:
        """Serve, vote, reveal."""
        return self.reveal(self.vote(self.serve(), choice))


def rows(database: Database, table) -> list:
    with database.read() as connection:
        return list(connection.execute(select(table)))


def counted(database: Database) -> dict[int, str]:
    """Return the counted choice of each battle."""
    with database.read() as connection:
        return {
            row.id: row.choice
            for row in connection.execute(select(BATTLE.c.id, BATTLE.c.choice).where(HAS_CHOICE))
        }
