"""Blindness: whether an answer's text may be shown with its model's name.

Every page, file or report that shows both checks here. The link of a finished battle needs no check: only the voter
knows its token, and the people who got it from the voter (`Outcomes.find_finished`).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Integer, bindparam, select

from arena.battles.choices import publish_votes
from arena.battles.sampling import left_out_of_draw
from arena.battles.tables import BATTLE, IS_FINAL, IS_LIVE, IS_SKIPPED
from arena.battles.voters import NOBODY, selves
from arena.database import Database, Moment, now
from arena.items.store import ItemBank
from arena.settings import DemoBank

_READER = selves(bindparam("reader", type_=Integer))
UNFINISHED_DAYS = 7
"""The days after which nobody is expected back at an unfinished battle: most visitors leave one behind."""
_IS_UNDECIDED = select(
    select(BATTLE.c.id)
    .where(BATTLE.c.item_id == bindparam("item"), ~IS_LIVE, ~IS_FINAL, ~IS_SKIPPED)
    .where(BATTLE.c.began_at > bindparam("since", type_=Moment))
    .exists()
)
_HAS_CHOSEN = select(
    select(BATTLE.c.id)
    .where(BATTLE.c.item_id == bindparam("item"), BATTLE.c.voter_id.in_(_READER))
    .where(IS_FINAL, ~IS_LIVE)
    .exists()
)


def _no_campaigns(_: Connection) -> Collection[str]:
    return ()


@dataclass(frozen=True)
class Blindness:
    """Decides whether names may be shown; `campaign_sources` reads the sources that running campaigns draw from."""

    database: Database
    items: ItemBank
    demo_bank: DemoBank
    campaign_sources: Callable[[Connection], Collection[str]] = _no_campaigns

    def may_show(self, reader: int, item: int) -> bool:
        """Returns whether a reader may see an item's answers with their models' names: nobody may still choose between
        them, or the reader has chosen.

        `reader` is a voter's id, or NOBODY. Raises DatabaseError.
        """
        return not self.is_open(item) or self._has_chosen(reader, item)

    def is_open(self, item: int) -> bool:
        """Returns whether somebody may still choose between two answers to an item: it can be drawn, or has an
        unfinished battle of the last UNFINISHED_DAYS.

        Raises DatabaseError.
        """
        bank = self.items.bank()
        bank_item = bank.items.get(item)
        closed_source = None
        if bank_item is not None and len(bank_item.contestants) > 1:
            source = next(source for source in bank.sources if source.id == bank_item.source)
            # Checks are left out of the usual draw, and drawn beside it.
            if source.kind == "check" or source.id not in left_out_of_draw(bank, self.demo_bank):
                return True
            closed_source = source.name
        publish_votes(self.database)
        with self.database.read() as connection:
            if closed_source in self.campaign_sources(connection):
                return True
            since = now() - timedelta(days=UNFINISHED_DAYS)
            return bool(connection.scalar(_IS_UNDECIDED, {"item": item, "since": since}))

    def _has_chosen(self, reader: int, item: int) -> bool:
        if reader == NOBODY:
            return False
        publish_votes(self.database)
        with self.database.read() as connection:
            return bool(connection.scalar(_HAS_CHOSEN, {"reader": reader, "item": item}))
