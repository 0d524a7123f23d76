"""Alike items: items about the same picture, and near copies of each other.

Answers about one picture tend to be right or wrong together, so that boards count its items as one case. Only an item's
first picture counts. Near copies are items with the same words about similar pictures, or without pictures.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, Row, Select, select
from sqlalchemy.sql import func

from arena.items.store import IMAGE, ITEM
from arena.types import bare, item_key

_IS_FIRST_PICTURE = (IMAGE.c.item_id == ITEM.c.id) & (IMAGE.c.position == 0)
PICTURE_COLUMNS = (
    ITEM.c.instruction,
    func.coalesce(IMAGE.c.sha256, IMAGE.c.key).label("picture"),
    IMAGE.c.look,
)
"""The columns of an item that `Alike` needs."""


def items_with_pictures(*columns) -> Select:
    """Returns a SELECT of items by id with these columns and PICTURE_COLUMNS, the first picture's."""
    query = select(ITEM.c.id, *columns, *PICTURE_COLUMNS)
    return query.select_from(ITEM.outerjoin(IMAGE, _IS_FIRST_PICTURE)).order_by(ITEM.c.id)


class Alike:
    """Codes of items: an item's code is the id of the first alike item. Items have to come in the order of ids."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        """The codes by picture, and by the item key of an item's bare words and its picture's look."""

    def code(self, row: Row) -> int:
        """Returns the code of an item of `items_with_pictures`."""
        keys = [row.picture] if row.picture else []
        if row.look or not row.picture:
            keys.append(item_key(bare(row.instruction), [row.look or ""]))
        known = [self._codes[key] for key in keys if key in self._codes]
        # The picture decides first: its items are one case, even if one is also a near copy of another item.
        code = known[0] if known else row.id
        for key in keys:
            self._codes.setdefault(key, code)
        return code


def alike_items(connection: Connection) -> Mapping[int, int]:
    """Returns the code of every item of the bank, by its id."""
    alike = Alike()
    return {row.id: alike.code(row) for row in connection.execute(items_with_pictures())}


def alike_keys(connection: Connection) -> Mapping[int, str]:
    """Returns the key of the first alike item, for every item of the bank by its id."""
    key = {row.id: row.key for row in connection.execute(select(ITEM.c.id, ITEM.c.key))}
    return {item: key[code] for item, code in alike_items(connection).items()}
