"""Imported votes in the columns of the vote table, so that boards treat them like the votes cast here."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sqlalchemy import BigInteger, Connection, Select, case, func, select, type_coerce

from arena.battles.tables import NO_SEAT
from arena.battles.vote_table import COLUMNS, rows_of, whole_numbers
from arena.imports.tables import IMPORTED_ITEM, IMPORTED_SOURCE, IMPORTED_VOTE
from arena.items.alike import alike_items
from arena.items.store import ITEM

UNKNOWN_CODE = -(2**63)
"""The code of an unknown voter or time."""
NOTES = ("alone", "out", "repeated", "both_bad", "named", "no_images")
"""Additional columns, for votes that are left out or noted.

`alone`: both answers are one model's; `out`: "both bad" (`both_bad`) where a source doesn't count it; `repeated`: the
voter chose again later; `named`: the voter saw the names; `no_images`: the number of images is unknown.
"""
_VOTE = IMPORTED_VOTE.c
_FILE_PICTURES = 2**40
"""The first code of pictures from files; items without a picture use their own code, below."""
_BANK_PICTURES = 2 * _FILE_PICTURES
"""The first code of the bank's pictures."""


class ImportedVotes(NamedTuple):
    """All imported votes, with the COLUMNS of the vote table, NOTES, and `origin`, their imported source."""

    own_boards: pd.DataFrame
    """Votes for their own boards: `source` is the imported one, `item` an imported one or the vote's own (negative)."""
    bank_boards: pd.DataFrame
    """Votes that count beside this arena's own votes, on the bank's sources and items."""


def read_imported(connection: Connection) -> ImportedVotes:
    """Reads the votes of all sources; all but the last vote of a voter on a conversation are `repeated`."""
    votes = whole_numbers(connection, _imported_votes())
    common: dict[str, Any] = {
        "battle": votes["id"],
        "left": votes["choice_a"],
        "outside": 0,
        "milliseconds": 0,
        "answer_a": 0,
        "answer_b": 0,
        "seat": NO_SEAT,
        "origin": votes["origin"],
    }
    common |= {name: votes[name] for name in ("winner", "loser", "tied", "voter", "voted_at")}
    common |= {name: votes[name].astype(bool) for name in NOTES}
    has_item = votes["imported_item"] > 0
    item = np.where(has_item, votes["imported_item"], -votes["id"])
    bank_picture = _alike_codes(connection)[votes["bank_item"]]
    has_file_picture = votes["imported_picture"] > 0
    own_picture = np.where(has_file_picture, _FILE_PICTURES + votes["imported_picture"], item)
    own_boards = {
        "source": votes["origin"],
        "multi": votes["several"],
        "item": item,
        "picture": np.where(bank_picture > 0, _BANK_PICTURES + bank_picture, own_picture),
        "family": np.where(votes["family"] > 0, votes["family"], votes["bank_family"]),
    }
    bank_boards = {
        "source": votes["bank_source"],
        "multi": votes["bank_multi"],
        "item": votes["bank_item"],
        "picture": bank_picture,
        "family": votes["bank_family"],
    }
    is_on_bank_boards = (votes["into_live"] > 0) & (votes["bank_item"] > 0)
    return ImportedVotes(
        own_boards=_frame(common | own_boards),
        bank_boards=rows_of(_frame(common | bank_boards), is_on_bank_boards),
    )


def _alike_codes(connection: Connection) -> np.ndarray:
    """Returns the code of its pictures at each bank item's id; 0 for an unknown item."""
    alike = alike_items(connection)
    codes = np.zeros(max(alike, default=0) + 1, np.int64)
    codes[list(alike)] = list(alike.values())
    return codes


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(columns).astype(dict(COLUMNS))


def _imported_votes() -> Select:
    """Returns a SELECT of whole numbers: the facts of each counted vote, and those of its item in the bank."""
    joined = (
        IMPORTED_VOTE.join(IMPORTED_SOURCE)
        .outerjoin(IMPORTED_ITEM)
        .outerjoin(ITEM, ITEM.c.key == IMPORTED_ITEM.c.key)
    )
    model_a = case((_VOTE.choice == "b", _VOTE.loser), else_=_VOTE.winner)
    model_b = case((_VOTE.choice == "b", _VOTE.winner), else_=_VOTE.loser)
    is_known = _VOTE.conversation.is_not(None) & _VOTE.voter_id.is_not(None)
    battle = (_VOTE.source_id, _VOTE.conversation, _VOTE.voter_id, model_a, model_b)
    # a vote of an unknown voter, or on an unknown conversation, is in a partition of its own
    number_from_last = func.row_number().over(
        partition_by=(*battle, case((is_known, 0), else_=_VOTE.id)), order_by=_VOTE.id.desc()
    )
    both_bad = _VOTE.choice == "both_bad"
    images = func.coalesce(_VOTE.images, case((ITEM.c.multi, 2), else_=1))
    columns = {
        "id": _VOTE.id,
        "origin": _VOTE.source_id,
        "into_live": _number(IMPORTED_SOURCE.c.into_live),
        "winner": _VOTE.winner,
        "loser": _VOTE.loser,
        "choice_a": _number(_VOTE.choice == "a"),
        "tied": _number(_VOTE.choice.in_(("tie", "both_bad"))),
        # Negative, unlike this arena's voters.
        "voter": func.coalesce(-_VOTE.voter_id, UNKNOWN_CODE),
        "voted_at": func.coalesce(type_coerce(_VOTE.voted_at, BigInteger), UNKNOWN_CODE),
        "several": _number(images > 1),
        "imported_picture": func.coalesce(_VOTE.picture_id, 0),
        "imported_item": func.coalesce(_VOTE.item_id, 0),
        "family": func.coalesce(_VOTE.family_id, 0),
        "bank_item": func.coalesce(ITEM.c.id, 0),
        "bank_source": func.coalesce(ITEM.c.source_id, 0),
        "bank_multi": _number(ITEM.c.multi),
        "bank_family": func.coalesce(ITEM.c.family_id, 0),
        "alone": _number(_VOTE.winner == _VOTE.loser),
        "out": _number(both_bad & (IMPORTED_SOURCE.c.both_bad == "out")),
        "repeated": _number(number_from_last > 1),
        "both_bad": _number(both_bad),
        "named": _number(_VOTE.blind.is_(False)),
        "no_images": _number(_VOTE.images.is_(None) & ITEM.c.id.is_(None)),
    }
    labelled = (column.label(name) for name, column in columns.items())
    is_counted = _VOTE.id <= IMPORTED_SOURCE.c.counted_to
    return select(*labelled).select_from(joined).where(is_counted).order_by(_VOTE.id)


def _number(condition: Any) -> Any:
    """Returns 1 where a condition is true, else 0."""
    return case((condition, 1), else_=0)
