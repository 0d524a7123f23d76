"""Live battle tables: live battles, their turns and votes, and the query for a live battle's state.

Events are only added: a question, its two answers, a vote, an undo, a reveal (see `choices.py`), an end without a vote.
A battle without an item is about its visitor's own images.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    Select,
    Table,
    Text,
    UniqueConstraint,
    func,
    select,
)

from arena.battles.choices import ChoiceTables
from arena.battles.tables import event_table
from arena.clock import ChangeNumber
from arena.database import METADATA, Moment

LIVE_BATTLE = Table(
    "live_battle",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("item_id", ForeignKey("item.id")),
    Column("images", Integer, nullable=False),
    Column("keep", Boolean, nullable=False),
    Column("began_at", Moment, nullable=False),
)
Index("live_battle_of_voter", LIVE_BATTLE.c.voter_id)
LIVE_QUESTION = Table(
    "live_question",
    METADATA,
    Column("battle_id", ForeignKey("live_battle.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("asked_at", Moment, nullable=False),
)
LIVE_TURN = Table(
    "live_turn",
    METADATA,
    Column("battle_id", ForeignKey("live_battle.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("model_a", ForeignKey("model.id"), nullable=False),
    Column("model_b", ForeignKey("model.id"), nullable=False),
    Column("answer_a", Text, nullable=False),
    Column("answer_b", Text, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("named", Boolean, nullable=False),
    Column("ended_at", Moment, nullable=False),
    CheckConstraint("model_a <> model_b"),
)
LIVE_VOID = event_table(
    LIVE_BATTLE, "live_void", Column("reason", Text, nullable=False), Column("ended_at", Moment, nullable=False)
)
LIVE_UNDO = event_table(LIVE_BATTLE, "live_undo", Column("undone_at", Moment, nullable=False))
LIVE_VOTE = Table(
    "live_vote",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("battle_id", ForeignKey("live_battle.id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("choice", Text, nullable=False),
    Column("winner", ForeignKey("model.id"), nullable=False),
    Column("loser", ForeignKey("model.id"), nullable=False),
    Column("turns", Integer, nullable=False),
    Column("outside", Text),
    Column("voted_at", Moment, nullable=False),
    Column("tick", BigInteger, nullable=False, server_default="0"),
    Column("terms", Text, nullable=False),
    UniqueConstraint("battle_id", "attempt"),
    CheckConstraint("choice IN ('a', 'b')"),
    CheckConstraint("outside IS NULL OR outside IN ('stopped', 'named itself')"),
)
"""`outside`: why the vote is excluded from the ranking, if it is."""
Index("live_vote_of_voter", LIVE_VOTE.c.voter_id)
Index("live_vote_tick", LIVE_VOTE.c.tick)
LAST_LIVE_VOTE = select(func.coalesce(func.max(LIVE_VOTE.c.id), 0)).scalar_subquery()
LIVE_REVEAL = event_table(LIVE_BATTLE, "live_reveal", Column("revealed_at", Moment, nullable=False))
LIVE_WINS = Table(
    "live_wins",
    METADATA,
    Column("own", Boolean, primary_key=True),
    Column("multi", Boolean, primary_key=True),
    Column("winner", ForeignKey("model.id"), primary_key=True),
    Column("loser", ForeignKey("model.id"), primary_key=True),
    Column("n", Integer, nullable=False),
    Column("left_n", Integer, nullable=False),
    Column("change", BigInteger, nullable=False, default=ChangeNumber(LAST_LIVE_VOTE)),
)
"""Win counts of the ranked votes; `own`: on visitors' own images, which have separate boards."""
Index("live_wins_changed", LIVE_WINS.c.own, LIVE_WINS.c.multi, LIVE_WINS.c.change)
LIVE_FAILURE = Table(
    "live_failure",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("model_id", ForeignKey("model.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("failed_at", Moment, nullable=False),
)

LIVE = ChoiceTables(LIVE_BATTLE, LIVE_UNDO, LIVE_VOTE, LIVE_REVEAL, LIVE_WINS, LIVE_VOTE.join(LIVE_BATTLE))
_FIRST = (LIVE_TURN.c.battle_id == LIVE_BATTLE.c.id) & (LIVE_TURN.c.number == 1)


def ranked_votes(*columns) -> Select:
    """A SELECT of columns over the final votes that are in the ranking."""
    return LIVE.final_votes(*columns).where(LIVE_VOTE.c.outside.is_(None))


def open_ranked_votes(*columns) -> Select:
    """A SELECT of columns over the votes in the ranking that may still be undone."""
    return LIVE.open_votes(*columns).where(LIVE_VOTE.c.outside.is_(None))


def _number_of(table: FromClause):
    query = select(func.coalesce(func.max(table.c.number), 0)).where(table.c.battle_id == LIVE_BATTLE.c.id)
    return query.correlate(LIVE_BATTLE).scalar_subquery()


LIVE_BATTLE_STATES = LIVE.states(
    LIVE_BATTLE.outerjoin(LIVE_VOID, LIVE_VOID.c.battle_id == LIVE_BATTLE.c.id).outerjoin(LIVE_TURN, _FIRST),
    _number_of(LIVE_QUESTION).label("asked"),
    _number_of(LIVE_TURN.alias()).label("answered"),
    LIVE_TURN.c.model_a,
    LIVE_TURN.c.model_b,
    LIVE_BATTLE.c.item_id.is_(None).label("own"),
    (LIVE_BATTLE.c.images > 1).label("multi"),
    LIVE_VOID.c.reason,
    LIVE_VOTE.c.outside,
)
"""Live battles with their events, the models of their first turn and the counted choice."""
