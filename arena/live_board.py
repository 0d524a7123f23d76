"""Live votes as boards take them: the ranked votes in the columns of `board_votes`, and the win counts that changed.

Votes on visitors' own images and live votes on the bank's items are two sources, each with boards of its own.
"""

from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    select,
    type_coerce,
)

from arena.live_ballots import LIVE_BATTLE, LIVE_VOTE, LIVE_WINS, ranked_votes


class LiveSource(NamedTuple):
    """A source of live votes, by the name that people choose it by."""

    label: str
    code: int
    """1: visitors' own images, 0: the bank's items."""


LIVE_SOURCES = (LiveSource("Own images, answered live", 1), LiveSource("Items of the bank, answered live", 0))

_CHANGED_AT = type_coerce(LIVE_WINS.c.changed_at, BigInteger)
_MINE = (LIVE_WINS.c.own == bindparam("source")) & (LIVE_WINS.c.multi == bindparam("multi"))
LIVE_CHANGED = select(
    literal_column("0").label("family_id"),
    LIVE_WINS.c.winner,
    LIVE_WINS.c.loser,
    LIVE_WINS.c.n,
    LIVE_WINS.c.left_n,
    _CHANGED_AT.label("changed_at"),
).where(_MINE, bindparam("since") <= _CHANGED_AT)
"""The rows that `Tally.take` takes, for a source's code (as a bool), a kind of images and a time in microseconds."""
LIVE_TOTAL = select(func.sum(LIVE_WINS.c.n)).where(_MINE)
"""The number of ranked votes of a source's code (as a bool) and a kind of images."""


def live_sources(connection: Connection) -> list[LiveSource]:
    """Return the sources of live votes that have any."""
    voted = set(connection.scalars(select(LIVE_WINS.c.own).distinct()))
    return [source for source in LIVE_SOURCES if bool(source.code) in voted]


def live_ballots(source: int, multi: bool) -> Select:
    """Return a SELECT over a source's ranked votes, in the columns of `board_votes`; their family is 0.

    What a visitor brought is an item of its own.
    """
    battle, vote = LIVE_BATTLE.c, LIVE_VOTE.c
    query = ranked_votes(
        (battle.id if source else battle.item_id).label("item"),
        literal(True).label("known"),
        literal_column("0").label("family"),
        vote.winner,
        vote.loser,
        literal_column("0").label("tied"),
        case((vote.choice == "a", 1), else_=0).label("left"),
        vote.voter_id.label("voter"),
        vote.voted_at,
    )
    own = battle.item_id.is_(None) if source else battle.item_id.is_not(None)
    return query.where(own, (battle.images > 1) == multi)
