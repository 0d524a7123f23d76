"""Hidden items: no longer served or found in searches; their votes stay, and they can be shown again."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from arena.database import bump_counter, now, take_turn
from arena.items.store import BANK_VERSION, HIDDEN_ITEM, ITEM, SOURCE


class HidingError(ValueError):
    """No such item to hide or to show."""


@dataclass(frozen=True)
class HiddenItem:
    """An item that is not served."""

    key: str
    instruction: str
    hidden_at: datetime


def hide(connection: Connection, key: str) -> bool:
    """Hide the item of a key; return whether that changed anything. Raises HidingError."""
    item = _item(connection, key)
    if connection.scalar(select(HIDDEN_ITEM.c.item_id).where(HIDDEN_ITEM.c.item_id == item)):
        return False
    connection.execute(insert(HIDDEN_ITEM).values(item_id=item, hidden_at=now()))
    bump_counter(connection, BANK_VERSION)
    return True


def show(connection: Connection, key: str) -> bool:
    """Show a hidden item again; return whether that changed anything. Raises HidingError."""
    item = _item(connection, key)
    changed = connection.execute(delete(HIDDEN_ITEM).where(HIDDEN_ITEM.c.item_id == item)).rowcount > 0
    bump_counter(connection, BANK_VERSION)
    return changed


def hidden_items(connection: Connection) -> tuple[HiddenItem, ...]:
    """Return the hidden items, the newest first."""
    query = select(ITEM.c.key, ITEM.c.instruction, HIDDEN_ITEM.c.hidden_at).join(HIDDEN_ITEM)
    rows = connection.execute(query.order_by(HIDDEN_ITEM.c.hidden_at.desc(), ITEM.c.id))
    return tuple(HiddenItem(*row) for row in rows)


def _item(connection: Connection, key: str) -> int:
    take_turn(connection, SOURCE)
    found = connection.scalar(select(ITEM.c.id).where(ITEM.c.key == key))
    if found is None:
        raise HidingError(f"There is no item {key[:40]!r}; its key stands in its link, behind ?item=")
    return found
