"""Blindness: answers are shown under their names once nobody may choose between them any more."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from arena.battles.blindness import Blindness
from arena.battles.tables import BATTLE
from arena.battles.voters import NOBODY
from arena.database import Database, now
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from tests.support.servers import drafts
from tests.support.visitors import Visitor


def bring_own_items(database: Database) -> None:
    Ingest(database).add_items("mine", "folder", drafts(4)[2:])


def retire(database: Database) -> None:
    Ingest(database).retire("m2")


@pytest.mark.parametrize("decide", ["vote", "skip"])
@pytest.mark.parametrize(("kind", "leave"), [("demo", bring_own_items), ("folder", retire)])
def test_names_wait_for_the_battles_of_an_item_that_left_the_draw(database, kind, leave, decide):
    Ingest(database).add_items("items", kind, drafts(2, ("m1", "m2")))
    items = ItemBank(database)
    items.CHECK_SECONDS = -1.0
    blindness = Blindness(database, items, "auto")
    visitor = Visitor(database, "one")
    battle = visitor.serve()
    (other,) = items.bank().items.keys() - {battle.item}
    shown = [blindness.may_show(NOBODY, item) for item in (battle.item, other)]
    assert shown == [False, False]
    leave(database)
    shown = [blindness.may_show(NOBODY, item) for item in (battle.item, other)]
    assert shown == [False, True], "a tab may still be open"
    if decide == "skip":
        visitor.skip(battle)
    else:
        visitor.vote(battle)
        assert not blindness.may_show(NOBODY, battle.item), "it may still be undone"
        visitor.reveal(battle)
    assert blindness.may_show(NOBODY, battle.item)


def test_names_do_not_wait_for_a_battle_that_was_left_behind(database):
    """Nearly every visitor leaves one, so that names would wait for ever."""
    Ingest(database).add_items("items", "demo", drafts(1, ("m1", "m2")))
    items = ItemBank(database)
    items.CHECK_SECONDS = -1.0
    blindness = Blindness(database, items, "auto")
    battle = Visitor(database, "one").serve()
    bring_own_items(database)
    for days, is_shown in ((6, False), (8, True)):
        with database.write() as connection:
            connection.execute(update(BATTLE).values(began_at=now() - timedelta(days=days)))
        assert blindness.may_show(NOBODY, battle.item) == is_shown
