"""Imported votes in the columns of the vote table, so that boards treat them as they treat the votes cast here."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sqlalchemy import BigInteger, Connection, Select, case, func, select, type_coerce

from arena.battles.tables import NO_SEAT
from arena.battles.vote_table import COLUMNS, rows_of, whole_numbers
from arena.imports.tables import IMPORTED_ITEM, IMPORTED_SOURCE, IMPORTED_VOTE
from arena.items.alike import alike_items
from arena.items.store import ITEM

NOT_TOLD = -(2**63)
"""The voter or the time of a vote whose file doesn't tell it."""
NOTES = ("alone", "out", "repeated", "both_bad", "named", "no_images")
"""Columns beside those of the vote table, by which votes are left out or noted."""
_VOTE = IMPORTED_VOTE.c
_PICTURES = 2**40
"""From here on, pictures that files tell, and from twice that on the bank's: items below have pictures of their own."""


class ImportedVotes(NamedTuple):
    """All imported votes, with the COLUMNS of the vote table, NOTES, and `origin`, their imported source."""

    own_boards: pd.DataFrame
    """For boards of their own: `source` is the imported one, `item` an imported one or the vote's own (negative)."""
    beside: pd.DataFrame
    """Those that count beside this arena's own votes, on the bank's sources and items."""


def read_imported(connection: Connection) -> ImportedVotes:
    """Reads the votes of all sources; of a voter's votes on one conversation, the last one is not `repeated`."""
    told = whole_numbers(connection, _imported_votes())
    common: dict[str, Any] = {
        "battle": told["id"],
        "left": told["choice_a"],
        "outside": 0,
        "milliseconds": 0,
        "answer_a": 0,
        "answer_b": 0,
        "seat": NO_SEAT,
        "origin": told["origin"],
    }
    common |= {name: told[name] for name in ("winner", "loser", "tied", "voter", "voted_at")}
    common |= {name: told[name].astype(bool) for name in NOTES}
    no_item = told["imported_item"] == 0
    item = np.where(no_item, -told["id"], told["imported_item"])
    alike = alike_items(connection)
    alike_of = np.zeros(max(alike, default=0) + 1, np.int64)
    alike_of[list(alike)] = list(alike.values())
    bank_picture = alike_of[told["bank_item"]]
    picture = np.where(told["imported_picture"] > 0, _PICTURES + told["imported_picture"], item)
    own_boards = {
        "source": told["origin"],
        "multi": told["several"],
        "item": item,
        "picture": np.where(bank_picture > 0, 2 * _PICTURES + bank_picture, picture),
        "family": np.where(told["family"] > 0, told["family"], told["bank_family"]),
    }
    beside = {
        "source": told["bank_source"],
        "multi": told["bank_multi"],
        "item": told["bank_item"],
        "picture": bank_picture,
        "family": told["bank_family"],
    }
    is_beside = (told["into_live"] > 0) & (told["bank_item"] > 0)
    return ImportedVotes(_frame(common | own_boards), rows_of(_frame(common | beside), is_beside))


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns).astype(dict(COLUMNS))


def _imported_votes() -> Select:
    """A SELECT of whole numbers: the votes that their sources count, what each tells, and what the bank knows."""
    joined = (
        IMPORTED_VOTE.join(IMPORTED_SOURCE)
        .outerjoin(IMPORTED_ITEM)
        .outerjoin(ITEM, ITEM.c.key == IMPORTED_ITEM.c.key)
    )
    left = case((_VOTE.choice == "b", _VOTE.loser), else_=_VOTE.winner)
    right = case((_VOTE.choice == "b", _VOTE.winner), else_=_VOTE.loser)
    told = _VOTE.conversation.is_not(None) & _VOTE.voter_id.is_not(None)
    same = (_VOTE.source_id, _VOTE.conversation, _VOTE.voter_id, left, right)
    place = func.row_number().over(
        partition_by=(*same, case((told, 0), else_=_VOTE.id)), order_by=_VOTE.id.desc()
    )
    both_bad = _VOTE.choice == "both_bad"
    images = func.coalesce(_VOTE.images, case((ITEM.c.multi, 2), else_=1))
    columns = {
        "id": _VOTE.id,
        "origin": _VOTE.source_id,
        "into_live": _one(IMPORTED_SOURCE.c.into_live),
        "winner": _VOTE.winner,
        "loser": _VOTE.loser,
        "choice_a": _one(_VOTE.choice == "a"),
        "tied": _one(_VOTE.choice.in_(("tie", "both_bad"))),
        # Negative, since their voters are others than this arena's.
        "voter": func.coalesce(-_VOTE.voter_id, NOT_TOLD),
        "voted_at": func.coalesce(type_coerce(_VOTE.voted_at, BigInteger), NOT_TOLD),
        "several": _one(images > 1),
        "imported_picture": func.coalesce(_VOTE.picture_id, 0),
        "imported_item": func.coalesce(_VOTE.item_id, 0),
        "family": func.coalesce(_VOTE.family_id, 0),
        "bank_item": func.coalesce(ITEM.c.id, 0),
        "bank_source": func.coalesce(ITEM.c.source_id, 0),
        "bank_multi": _one(ITEM.c.multi),
        "bank_family": func.coalesce(ITEM.c.family_id, 0),
        "alone": _one(_VOTE.winner == _VOTE.loser),
        "out": _one(both_bad & (IMPORTED_SOURCE.c.both_bad == "out")),
        "repeated": _one(place > 1),
        "both_bad": _one(both_bad),
        "named": _one(_VOTE.blind.is_(False)),
        "no_images": _one(_VOTE.images.is_(None) & ITEM.c.id.is_(None)),
    }
    named = (column.label(name) for name, column in columns.items())
    counted = _VOTE.id <= IMPORTED_SOURCE.c.counted_to
    return select(*named).select_from(joined).where(counted).order_by(_VOTE.id)


def _one(condition: Any) -> Any:
    return case((condition, 1), else_=0)
