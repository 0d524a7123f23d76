"""Flagged voters: the suspects of the fraud tests, each with the reasons and the latest votes."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.fraud.flags import FlagRow
from arena.items.store import ITEM, MODEL
from arena.types import grouped

MOST_FLAGGED = 50
"""The most voters."""
MOST_VOTES = 30
"""The most votes of each voter, the latest."""

_WON = MODEL.alias()
_LOST = MODEL.alias()
_VOTES = (
    select(
        BATTLE.c.voted_at,
        BATTLE.c.began_at,
        BATTLE.c.choice,
        _WON.c.display.label("winner"),
        _LOST.c.display.label("loser"),
        ITEM.c.key,
        ITEM.c.instruction,
    )
    .select_from(BATTLE.outerjoin(ITEM, ITEM.c.id == BATTLE.c.item_id))
    .join(_WON, _WON.c.id == BATTLE.c.winner)
    .join(_LOST, _LOST.c.id == BATTLE.c.loser)
)
"""A SELECT of votes with the names of their models and their items."""


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
    """The seconds from the start of the battle to the choice."""


class FlaggedVoter(NamedTuple):
    """A voter with all flags on the official board."""

    voter: int
    flags: tuple[FlagRow, ...]
    votes: int
    """The number of all votes."""
    latest: tuple[CastVote, ...]


def flagged_voters(connection: Connection, flags: Iterable[FlagRow]) -> tuple[FlaggedVoter, ...]:
    """Returns at most `MOST_FLAGGED` voters: the excluded ones first, then those with the latest flags."""
    flags_of = grouped((flag.voter, flag) for flag in flags)

    def urgency(voter: int) -> tuple[bool, datetime]:
        return max((flag.left_out, flag.raised_at) for flag in flags_of[voter])

    voters = sorted(flags_of, key=urgency, reverse=True)
    return tuple(
        _flagged_voter(connection, voter, tuple(flags_of[voter])) for voter in voters[:MOST_FLAGGED]
    )


def _flagged_voter(connection: Connection, voter: int, flags: tuple[FlagRow, ...]) -> FlaggedVoter:
    is_own_vote = HAS_CHOICE & (BATTLE.c.voter_id == voter)
    vote_count = connection.execute(select(func.count()).where(is_own_vote)).scalar_one()
    query = _VOTES.where(is_own_vote).order_by(BATTLE.c.voted_at.desc()).limit(MOST_VOTES)
    latest = [
        CastVote(
            voted_at=row.voted_at,
            choice=row.choice,
            winner=row.winner,
            loser=row.loser,
            item=row.key,
            instruction=row.instruction,
            seconds=(row.voted_at - row.began_at).total_seconds(),
        )
        for row in connection.execute(query)
    ]
    return FlaggedVoter(voter=voter, flags=flags, votes=vote_count, latest=tuple(latest))
