"""Flagged voters: whom the fraud tests suspect, each with the reasons and the latest votes."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Column, Connection, Select, func

from arena.battles.choices import ChoiceTables
from arena.battles.tables import BANK, BATTLE, LIVE, LIVE_BATTLE, LIVE_VOTE, VOTE
from arena.fraud.flags import FlagRow
from arena.items.store import ITEM, MODEL
from arena.types import grouped

MOST_FLAGGED = 50
MOST_CAST = 30
"""Voters shown, those flagged last first, and votes of each."""


class CastVote(NamedTuple):
    """A vote as it counts now."""

    voted_at: datetime
    choice: str
    winner: str
    loser: str
    item: str | None
    """The item's key; None: pictures of the voter's own."""
    instruction: str | None
    seconds: float
    """From when the battle was shown, or began, to the choice."""


class FlaggedVoter(NamedTuple):
    """A voter with all flags on the official board."""

    voter: int
    flags: tuple[FlagRow, ...]
    votes: int
    latest: tuple[CastVote, ...]


def with_votes(connection: Connection, flags: Iterable[FlagRow]) -> tuple[FlaggedVoter, ...]:
    """Return the flags by voter with the votes of each, at most `MOST_FLAGGED`."""
    of_voter = grouped((flag.voter, flag) for flag in flags)
    latest = sorted(
        of_voter.items(), key=lambda one: max(flag.raised_at for flag in one[1]), reverse=True
    )
    return tuple(
        _with_votes(connection, voter, tuple(mine)) for voter, mine in latest[:MOST_FLAGGED]
    )


def _with_votes(connection: Connection, voter: int, flags: tuple[FlagRow, ...]) -> FlaggedVoter:
    number = 0
    cast = []
    for table, count, rows in ((VOTE, _COUNT, _CAST), (LIVE_VOTE, _LIVE_COUNT, _LIVE_CAST)):
        mine = table.c.voter_id == voter
        number += connection.scalar(count.where(mine)) or 0
        for row in connection.execute(
            rows.where(mine).order_by(table.c.id.desc()).limit(MOST_CAST)
        ):
            cast.append(
                CastVote(
                    voted_at=row.voted_at,
                    choice=row.choice,
                    winner=row.winner,
                    loser=row.loser,
                    item=row.key,
                    instruction=row.instruction,
                    seconds=(row.voted_at - row.shown_at).total_seconds(),
                )
            )
    latest = sorted(cast, key=lambda one: one.voted_at, reverse=True)[:MOST_CAST]
    return FlaggedVoter(voter, flags, number, tuple(latest))


_WON = MODEL.alias()
_LOST = MODEL.alias()


def _cast(tables: ChoiceTables, shown_at: Column) -> Select:
    vote = tables.vote.c
    query = tables.counted_votes(
        vote.voted_at,
        vote.choice,
        _WON.c.display.label("winner"),
        _LOST.c.display.label("loser"),
        ITEM.c.key,
        ITEM.c.instruction,
        shown_at.label("shown_at"),
    )
    query = query if tables is LIVE else query.join(BATTLE, BATTLE.c.id == vote.battle_id)
    query = query.outerjoin(ITEM, ITEM.c.id == tables.battle.c.item_id)
    return query.join(_WON, _WON.c.id == vote.winner).join(_LOST, _LOST.c.id == vote.loser)


_COUNT = BANK.counted_votes(func.count())
_LIVE_COUNT = LIVE.counted_votes(func.count())
_CAST = _cast(BANK, BATTLE.c.served_at)
_LIVE_CAST = _cast(LIVE, LIVE_BATTLE.c.began_at)
