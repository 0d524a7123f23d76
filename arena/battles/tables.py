"""Battle tables: voters, seats, battles of stored answers and live ones, and the queries for a battle's state.

A battle row holds the voter, the two answers and their sides; a live one without an item is about its visitor's own
images. Events are only added: a live question and its two answers, a vote, an undo, a reveal (see `choices.py`), a
skip, an end without a vote. The boards' win counts also say how many of these wins fell to the left side (A); each row
has the number of its last change, so that boards read only what is new.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    FromClause,
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
VOTER_NETWORK = Table(
    "voter_network",
    METADATA,
    Column("voter_id", ForeignKey("voter.id"), primary_key=True),
    Column("network", Text, primary_key=True),
)
"""The networks that a voter had battles from, by a code that is another one each month (see `quotas.py`)."""
SEAT = Table(
    "seat",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("campaign", Text, nullable=False),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("code", Text, nullable=False),
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
    Column("draw", Text, nullable=False),  # a `DrawKind`
    Column("draw_probability", Float),
    UniqueConstraint("voter_id", "item_id", "model_low", "model_high"),
    CheckConstraint("model_low < model_high"),
)
Index("battle_of_pair", BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
HELD = Table(
    "held_battle",
    METADATA,
    Column("voter_id", ForeignKey("voter.id"), primary_key=True),
    Column("token", Text, nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("model_a", ForeignKey("model.id"), nullable=False),
    Column("model_b", ForeignKey("model.id"), nullable=False),
    Column("answer_a", ForeignKey("answer.id"), nullable=False),
    Column("answer_b", ForeignKey("answer.id"), nullable=False),
    Column("draw", Text, nullable=False),
    Column("draw_probability", Float),
)
"""A voter's next battle, drawn and sent ahead but not shown: no battle for quotas, times, draws, counts or copies."""


def event_table(battle: Table, name: str, *columns: Column) -> Table:
    """A table of what may happen to a battle once."""
    return Table(
        name, METADATA, Column("battle_id", ForeignKey(battle.c.id), primary_key=True), *columns
    )


UNDO = event_table(BATTLE, "undo", Column("undone_at", Moment, nullable=False))


def vote_table(
    battle: Table, name: str, undo: list[Column], more: list[Column], check: str
) -> Table:
    """The votes in battles of one kind, with columns of their own; `tick` is a vote's time by the database's clock."""
    votes = Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True),
        Column("battle_id", ForeignKey(battle.c.id), nullable=False),
        Column("attempt", Integer, nullable=False),
        *undo,
        Column("voter_id", ForeignKey(VOTER.c.id), nullable=False),
        Column("choice", Text, nullable=False),
        Column("winner", ForeignKey("model.id"), nullable=False),
        Column("loser", ForeignKey("model.id"), nullable=False),
        *more,
        Column("voted_at", Moment, nullable=False),
        Column("tick", BigInteger, nullable=False, server_default="0"),
        Column("terms", Text, nullable=False),
        UniqueConstraint("battle_id", "attempt"),
        CheckConstraint("choice IN ('a', 'b')"),
        CheckConstraint(check),
    )
    Index(f"{name}_of_voter", votes.c.voter_id)
    Index(f"{name}_tick", votes.c.tick)
    return votes


_UNDONE_FIRST = "(attempt = 1 AND undo_id IS NULL) OR (attempt = 2 AND undo_id IS NOT NULL AND undo_id = battle_id)"
VOTE = vote_table(
    BATTLE, "vote", [Column("undo_id", ForeignKey(UNDO.c.battle_id))], [], _UNDONE_FIRST
)
LAST_VOTE = select(func.coalesce(func.max(VOTE.c.id), 0)).scalar_subquery()
REVEAL = event_table(BATTLE, "reveal", Column("revealed_at", Moment, nullable=False))
SKIP = event_table(
    BATTLE,
    "skip",
    Column("reason", Text, nullable=False),
    Column("skipped_at", Moment, nullable=False),
)
WINS = Table(
    "wins",
    METADATA,
    Column("source_id", ForeignKey("source.id"), primary_key=True),
    Column("multi", Boolean, primary_key=True),
    Column("family_id", ForeignKey("family.id"), primary_key=True),
    Column("winner", ForeignKey("model.id"), primary_key=True),
    Column("loser", ForeignKey("model.id"), primary_key=True),
    Column("n", Integer, nullable=False),
    Column("left_n", Integer, nullable=False),
    Column("change", BigInteger, nullable=False, default=ChangeNumber(LAST_VOTE)),
)
Index("wins_changed", WINS.c.source_id, WINS.c.multi, WINS.c.change)

BANK = ChoiceTables(BATTLE, UNDO, VOTE, REVEAL, WINS, VOTE)
BATTLE_STATES = BANK.states(
    BATTLE.join(ITEM, ITEM.c.id == BATTLE.c.item_id).outerjoin(
        SKIP, SKIP.c.battle_id == BATTLE.c.id
    ),
    ITEM.c.source_id,
    ITEM.c.multi,
    ITEM.c.family_id,
    case((BATTLE.c.low_is_a, BATTLE.c.model_low), else_=BATTLE.c.model_high).label("model_a"),
    case((BATTLE.c.low_is_a, BATTLE.c.model_high), else_=BATTLE.c.model_low).label("model_b"),
    SKIP.c.battle_id.is_not(None).label("skipped"),
    null().label("outside"),
)
"""Battles with their item's codes, their events and the counted choice."""

CHOSEN = (
    BANK.counted_votes(VOTE.c.battle_id)
    .where(VOTE.c.battle_id == BATTLE.c.id)
    .correlate(BATTLE)
    .exists()
)
SKIPPED = select(SKIP.c.battle_id).where(SKIP.c.battle_id == BATTLE.c.id).correlate(BATTLE).exists()
"""Whether a battle has a choice that counts; whether it was skipped."""


NO_SEAT = 0
"""No seat's id. SQLite would look up battles without a seat by the index of seats, which are nearly all of them."""


def unfinished(voter: int, seat: int | None, item: int | None) -> Select:
    """A SELECT of a voter's battles, under a seat or under none, that are chosen, or open with both answers in use."""
    answers = ANSWER.c.id.in_((BATTLE.c.answer_a, BATTLE.c.answer_b))
    withdrawn = select(ANSWER.c.id).where(answers, ANSWER.c.withdrawn_at.is_not(None))
    query = BATTLE_STATES.where(
        BATTLE.c.voter_id == voter,
        func.coalesce(BATTLE.c.seat_id, NO_SEAT) == (NO_SEAT if seat is None else seat),
        REVEAL.c.battle_id.is_(None),
        SKIP.c.battle_id.is_(None),
        VOTE.c.choice.is_not(None) | ~withdrawn.correlate(BATTLE).exists(),
    )
    return (query if item is None else query.where(BATTLE.c.item_id == item)).order_by(BATTLE.c.id)


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
    Column("draw_probability", Float),
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
    LIVE_BATTLE,
    "live_void",
    Column("reason", Text, nullable=False),
    Column("ended_at", Moment, nullable=False),
)
LIVE_UNDO = event_table(LIVE_BATTLE, "live_undo", Column("undone_at", Moment, nullable=False))
LIVE_VOTE = vote_table(
    LIVE_BATTLE,
    "live_vote",
    [],
    [Column("turns", Integer, nullable=False), Column("outside", Text)],
    "outside IS NULL OR outside IN ('stopped', 'named itself')",
)
"""`outside`: why the vote is excluded from the ranking, if it is."""
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

LIVE = ChoiceTables(
    LIVE_BATTLE, LIVE_UNDO, LIVE_VOTE, LIVE_REVEAL, LIVE_WINS, LIVE_VOTE.join(LIVE_BATTLE)
)
_FIRST = (LIVE_TURN.c.battle_id == LIVE_BATTLE.c.id) & (LIVE_TURN.c.number == 1)


def ranked_votes(*columns) -> Select:
    """A SELECT of columns over the final votes that are in the ranking."""
    return LIVE.final_votes(*columns).where(LIVE_VOTE.c.outside.is_(None))


def open_ranked_votes(*columns) -> Select:
    """A SELECT of columns over the votes in the ranking that may still be undone."""
    return LIVE.open_votes(*columns).where(LIVE_VOTE.c.outside.is_(None))


def _number_of(table: FromClause):
    query = select(func.coalesce(func.max(table.c.number), 0)).where(
        table.c.battle_id == LIVE_BATTLE.c.id
    )
    return query.correlate(LIVE_BATTLE).scalar_subquery()


LIVE_BATTLE_STATES = LIVE.states(
    LIVE_BATTLE.outerjoin(LIVE_VOID, LIVE_VOID.c.battle_id == LIVE_BATTLE.c.id).outerjoin(
        LIVE_TURN, _FIRST
    ),
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
