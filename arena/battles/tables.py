"""Battle tables: voters, seats, battles and votes, and the query for a battle's state.

A battle row holds the voter, the two answers and their sides. Its events are only added: a vote, an undo, a reveal
(see `choices.py`), a skip. The boards' win counts also say how many of these wins fell to the left side (A); each row
has the number of its last change, so that boards read only what is new.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Select,
    Table,
    Text,
    UniqueConstraint,
    case,
    func,
    null,
    select,
)

from arena.battles.choices import ChoiceTables
from arena.clock import ChangeNumber
from arena.database import METADATA, Moment
from arena.items.store import ANSWER, ITEM

VOTER = Table(
    "voter",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("cookie_hash", Text, nullable=False, unique=True),
    Column("since", Moment, nullable=False),
)
SEAT = Table(
    "seat",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("code", Text, nullable=False),
    Column("since", Moment, nullable=False),
    UniqueConstraint("campaign", "worker"),
    UniqueConstraint("campaign", "voter_id"),
)
BATTLE = Table(
    "battle",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("model_low", ForeignKey("model.id"), nullable=False),
    Column("model_high", ForeignKey("model.id"), nullable=False),
    Column("low_is_a", Boolean, nullable=False),
    Column("answer_a", ForeignKey("answer.id"), nullable=False),
    Column("answer_b", ForeignKey("answer.id"), nullable=False),
    Column("seat_id", ForeignKey("seat.id"), index=True),
    Column("served_at", Moment, nullable=False),
    UniqueConstraint("voter_id", "item_id", "model_low", "model_high"),
    CheckConstraint("model_low < model_high"),
)


def event_table(battle: Table, name: str, *columns: Column) -> Table:
    """A table of what may happen to a battle once."""
    return Table(name, METADATA, Column("battle_id", ForeignKey(battle.c.id), primary_key=True), *columns)


UNDO = event_table(BATTLE, "undo", Column("undone_at", Moment, nullable=False))
VOTE = Table(
    "vote",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("battle_id", ForeignKey("battle.id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("undo_id", ForeignKey("undo.battle_id")),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("choice", Text, nullable=False),
    Column("winner", ForeignKey("model.id"), nullable=False),
    Column("loser", ForeignKey("model.id"), nullable=False),
    Column("voted_at", Moment, nullable=False),
    Column("tick", BigInteger, nullable=False, server_default="0"),
    Column("terms", Text, nullable=False),
    UniqueConstraint("battle_id", "attempt"),
    CheckConstraint("choice IN ('a', 'b')"),
    CheckConstraint(
        "(attempt = 1 AND undo_id IS NULL) OR (attempt = 2 AND undo_id IS NOT NULL AND undo_id = battle_id)"
    ),
)
"""`tick`: when the vote was cast, by the database's clock."""
Index("vote_of_voter", VOTE.c.voter_id)
Index("vote_tick", VOTE.c.tick)
LAST_VOTE = select(func.coalesce(func.max(VOTE.c.id), 0)).scalar_subquery()
REVEAL = event_table(BATTLE, "reveal", Column("revealed_at", Moment, nullable=False))
SKIP = event_table(BATTLE, "skip", Column("reason", Text, nullable=False), Column("skipped_at", Moment, nullable=False))
WINS = Table(
    "wins",
    METADATA,
    Column("source_id", ForeignKey("source.id"), primary_key=True),
    Column("multi", Boolean, primary_key=True),
    Column("family_id", ForeignKey("family.id"), primary_key=True),
    Column("winner", ForeignKey("model.id"), primary_key=True),
    Column("loser", ForeignKey("model.id"), primary_key=True),
    Column("n", Integer, nullable=False),
    Column("left_n", Integer, nullable=False, server_default="0"),
    Column("change", BigInteger, nullable=False, default=ChangeNumber(LAST_VOTE), server_default="0"),
)
Index("wins_changed", WINS.c.source_id, WINS.c.multi, WINS.c.change)

BANK = ChoiceTables(BATTLE, UNDO, VOTE, REVEAL, WINS, VOTE)
BATTLE_STATES = BANK.states(
    BATTLE.join(ITEM, ITEM.c.id == BATTLE.c.item_id).outerjoin(SKIP, SKIP.c.battle_id == BATTLE.c.id),
    ITEM.c.source_id,
    ITEM.c.multi,
    ITEM.c.family_id,
    case((BATTLE.c.low_is_a, BATTLE.c.model_low), else_=BATTLE.c.model_high).label("model_a"),
    case((BATTLE.c.low_is_a, BATTLE.c.model_high), else_=BATTLE.c.model_low).label("model_b"),
    SKIP.c.battle_id.is_not(None).label("skipped"),
    null().label("outside"),
)
"""Battles with their item's codes, their events and the counted choice."""


def unfinished(voter: int, seat: int | None, item: int | None) -> Select:
    """A SELECT of a voter's unfinished battles, oldest first: chosen ones, open ones with both answers in use.

    Only those of the seat (None: outside campaigns), and of the item if one is given.
    """
    answers = ANSWER.c.id.in_((BATTLE.c.answer_a, BATTLE.c.answer_b))
    withdrawn = select(ANSWER.c.id).where(answers, ANSWER.c.withdrawn_at.is_not(None))
    query = BATTLE_STATES.where(
        BATTLE.c.voter_id == voter,
        BATTLE.c.seat_id.is_not_distinct_from(seat),
        REVEAL.c.battle_id.is_(None),
        SKIP.c.battle_id.is_(None),
        VOTE.c.choice.is_not(None) | ~withdrawn.correlate(BATTLE).exists(),
    )
    return (query if item is None else query.where(BATTLE.c.item_id == item)).order_by(BATTLE.c.id)
