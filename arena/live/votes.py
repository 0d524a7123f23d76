"""Live votes for the leaderboard: ranked votes in the columns of `leaderboard/queries.py`, and changed win counts.

Votes on visitors' own images and live votes on the bank's items are two sources, each with separate boards.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    select,
)

from arena.battles.tables import (
    LIVE,
    LIVE_BATTLE,
    LIVE_VOTE,
    LIVE_WINS,
    open_ranked_votes,
    ranked_votes,
)


class LiveSource(NamedTuple):
    """A source of live votes, with the label that people choose it by."""

    label: str
    code: int
    """1: visitors' own images, 0: the bank's items."""


LIVE_SOURCES = (
    LiveSource("Own images, answered live", 1),
    LiveSource("Items of the bank, answered live", 0),
)

_MINE = (LIVE_WINS.c.own == bindparam("source")) & (LIVE_WINS.c.multi == bindparam("multi"))
LIVE_CHANGED = select(
    literal_column("0").label("family_id"),
    LIVE_WINS.c.winner,
    LIVE_WINS.c.loser,
    LIVE_WINS.c.n,
    LIVE_WINS.c.left_n,
).where(_MINE, LIVE_WINS.c.change >= bindparam("since"))
"""The rows of `WinCounts.take`, for a source's code (as a bool), a kind of images and the number of a change."""
LIVE_TOTAL = select(func.sum(LIVE_WINS.c.n)).where(_MINE)
"""The number of ranked votes of a source's code (as a bool) and a kind of images."""
_LEFT = case((LIVE_VOTE.c.choice == "a", 1), else_=0)
LIVE_OPEN = (
    open_ranked_votes(
        literal_column("0"), LIVE_VOTE.c.winner, LIVE_VOTE.c.loser, func.count(), func.sum(_LEFT)
    )
    .where(
        LIVE_BATTLE.c.item_id.is_(None) == bindparam("source"),
        (LIVE_BATTLE.c.images > 1) == bindparam("multi"),
    )
    .group_by(LIVE_VOTE.c.winner, LIVE_VOTE.c.loser)
)
"""The part of the win counts that may still be undone, in the same columns."""


def live_sources(connection: Connection) -> list[LiveSource]:
    """The sources of live votes with at least one final ranked vote."""
    vote = ranked_votes(LIVE_VOTE.c.id).limit(1)
    return [
        one for one in LIVE_SOURCES if connection.execute(vote.where(of_source(one.code))).first()
    ]


def live_vote_rows(source: int, multi: bool) -> Select:
    """A SELECT over a source's ranked votes, of family 0; each battle on own images counts as an item of its own."""
    battle = LIVE_BATTLE.c
    vote = LIVE_VOTE.c
    query = ranked_votes(
        (battle.id if source else battle.item_id).label("item"),
        literal(True).label("known"),
        literal_column("0").label("family"),
        vote.winner,
        vote.loser,
        literal_column("0").label("tied"),
        _LEFT.label("left"),
        vote.voter_id.label("voter"),
        vote.voted_at,
    )
    return query.where(of_source(source), (battle.images > 1) == multi)


def live_outside(connection: Connection, source: int, multi: bool) -> Mapping[str, int]:
    """The number of a source's votes excluded from the ranking, by reason."""
    outside = LIVE_VOTE.c.outside
    query = LIVE.final_votes(outside, func.count()).where(outside.is_not(None)).group_by(outside)
    rows = connection.execute(query.where(of_source(source), (LIVE_BATTLE.c.images > 1) == multi))
    return {reason: int(n) for reason, n in rows}


def of_source(source: int) -> ColumnElement[bool]:
    return LIVE_BATTLE.c.item_id.is_(None) if source else LIVE_BATTLE.c.item_id.is_not(None)
