"""Battle tables: voters, seats, battles with their votes, the turns of live battles, and conditions for queries.

A battle is one row from the moment it is shown, with stored answers, in a campaign, or with live answers. A vote, its
undo, the reveal and a skip change that row (see `choices.py`); a final vote has a number. The database computes winner
and loser from the choice.
"""

from typing import get_args

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    false,
    func,
    select,
)

from arena.database import METADATA, Moment
from arena.items.store import ANSWER
from arena.types import OutsideReason

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
    Column("confirmation", Text, nullable=False),
    UniqueConstraint("campaign", "voter_id"),
)
BATTLE = Table(
    "battle",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("voter_id", ForeignKey("voter.id"), nullable=False, index=True),
    Column("seat_id", ForeignKey("seat.id"), index=True),
    Column("item_id", ForeignKey("item.id")),  # none: the visitor's own images
    Column("images", Integer, nullable=False),
    Column("keep", Boolean, nullable=False, server_default=false()),  # own images may be kept
    Column("model_a", ForeignKey("model.id")),  # none in a live battle until its first answers
    Column("model_b", ForeignKey("model.id")),
    Column(
        "model_low",
        Integer,
        Computed("CASE WHEN model_a < model_b THEN model_a ELSE model_b END", persisted=True),
    ),
    Column(
        "model_high",
        Integer,
        Computed("CASE WHEN model_a < model_b THEN model_b ELSE model_a END", persisted=True),
    ),
    Column("answer_a", ForeignKey("answer.id")),  # none: answered live
    Column("answer_b", ForeignKey("answer.id")),
    Column("draw", Text),  # a `DrawKind`
    Column("draw_probability", Float),
    Column("began_at", Moment, nullable=False),
    Column("protocol", Text, nullable=False, server_default="forced"),  # "ties" isn't offered yet
    Column("choice", Text),
    # A choice of neither side (a tie, both bad) stores side A as the winner, as imported votes do.
    Column(
        "winner",
        Integer,
        Computed(
            "CASE WHEN choice = 'b' THEN model_b WHEN choice IS NOT NULL THEN model_a END",
            persisted=True,
        ),
    ),
    Column(
        "loser",
        Integer,
        Computed(
            "CASE WHEN choice = 'b' THEN model_a WHEN choice IS NOT NULL THEN model_b END",
            persisted=True,
        ),
    ),
    Column("tags_a", Text),  # of each side; no page asks for them yet
    Column("tags_b", Text),
    Column("voted_at", Moment),
    Column("tick", BigInteger, nullable=False, server_default="0"),  # the choice's database time
    Column("terms", Text),
    Column("outside", Text),  # why a vote is not ranked
    Column("taken_back", Text),  # the choice that was undone; the second attempt follows
    Column("revealed_at", Moment),
    Column("final_number", BigInteger, unique=True),
    Column("ended", Text),  # why it was skipped, or has nothing to vote on
    Column("ended_at", Moment),
    CheckConstraint("model_a <> model_b"),
    CheckConstraint("(model_a IS NULL) = (model_b IS NULL)"),
    CheckConstraint("(answer_a IS NULL) = (answer_b IS NULL)"),
    CheckConstraint("(ended IS NULL) = (ended_at IS NULL)"),
    CheckConstraint(
        "answer_a IS NULL OR (item_id IS NOT NULL AND model_a IS NOT NULL AND draw IS NOT NULL)"
    ),
    CheckConstraint("protocol IN ('forced', 'ties')"),
    CheckConstraint(
        "choice IN ('a', 'b') OR (protocol = 'ties' AND choice IN ('tie', 'both_bad'))"
    ),
    CheckConstraint(
        "taken_back IN ('a', 'b') OR (protocol = 'ties' AND taken_back IN ('tie', 'both_bad'))"
    ),
    CheckConstraint(f"outside IN {get_args(OutsideReason)}"),
    CheckConstraint(
        "choice IS NULL OR (voted_at IS NOT NULL AND terms IS NOT NULL "
        "AND model_a IS NOT NULL AND ended IS NULL)"
    ),
    CheckConstraint(
        "choice IS NOT NULL OR (voted_at IS NULL AND outside IS NULL "
        "AND revealed_at IS NULL AND final_number IS NULL)"
    ),
    CheckConstraint("revealed_at IS NULL OR final_number IS NOT NULL"),
)
"""`tick`: microseconds by the database's clock, 0 without a choice; `final_number`: the order of final votes;
`outside`: a reason of `OutsideReason`."""

IS_LIVE = BATTLE.c.answer_a.is_(None)
"""Whether a battle's answers are live, not stored."""
HAS_CHOICE = BATTLE.c.choice.is_not(None)
IS_SKIPPED = BATTLE.c.ended.is_not(None)
"""Whether a battle was skipped, or ended without a choice."""
IS_WAITING = HAS_CHOICE & BATTLE.c.final_number.is_(None)
"""Whether a choice may still be undone, or is not yet numbered."""
IS_FINAL = BATTLE.c.final_number.is_not(None)
"""Whether a choice has its final number: it can no longer be undone, and public data may depend on it."""
IS_RANKED = IS_FINAL & BATTLE.c.outside.is_(None)

Index("battle_of_pair", BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
Index(
    "battle_once",
    BATTLE.c.voter_id,
    BATTLE.c.item_id,
    BATTLE.c.model_low,
    BATTLE.c.model_high,
    unique=True,
    sqlite_where=~IS_LIVE,
    postgresql_where=~IS_LIVE,
)
Index("battle_waiting", BATTLE.c.tick, sqlite_where=IS_WAITING, postgresql_where=IS_WAITING)

TURN = Table(
    "turn",
    METADATA,
    Column("battle_id", ForeignKey("battle.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("answer_a", Text),
    Column("answer_b", Text),
    Column("thinking_a", Text),
    Column("thinking_b", Text),
    Column("tokens_a", Integer),
    Column("tokens_b", Integer),
    Column("cost_a", Integer),
    Column("cost_b", Integer),
    Column("cut_a", Boolean, nullable=False, server_default=false()),
    Column("cut_b", Boolean, nullable=False, server_default=false()),
    Column("stopped", Boolean, nullable=False, server_default=false()),
    Column("named", Boolean, nullable=False, server_default=false()),
    Column("answered_at", Moment),
    CheckConstraint(
        "answered_at IS NULL OR (answer_a IS NOT NULL AND answer_b IS NOT NULL)",
    ),
)
"""The turns of live battles; the answers are stored when both have ended. `named`: an answer reveals its model.

`thinking`: a model's thinking before its answer; `cost`: millionths of a US dollar, none if unknown; `cut`: the answer
ended at the limit of tokens.
"""
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
"""A voter's next battle, drawn and sent ahead but not shown; quotas, times, draws, counts and copies ignore it."""
LIVE_FAILURE = Table(
    "live_failure",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("model_id", ForeignKey("model.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("failed_at", Moment, nullable=False),
)
CONFIRMATIONS = "confirmations"
"""The counter that is bumped when seats are confirmed or rejected by a platform's list, or withdraw consent."""
NO_SEAT = 0
"""The seat id in queries for battles without a seat. If they asked for NULL, SQLite would use the index of seats, which
is slow, since nearly all battles have NULL there."""


_WITHDRAWN = select(ANSWER.c.id).where(
    ANSWER.c.id.in_((BATTLE.c.answer_a, BATTLE.c.answer_b)), ANSWER.c.withdrawn_at.is_not(None)
)
UNFINISHED = (
    select(BATTLE)
    .where(
        ~IS_LIVE,
        BATTLE.c.voter_id == bindparam("voter"),
        func.coalesce(BATTLE.c.seat_id, NO_SEAT) == bindparam("seat"),
        BATTLE.c.revealed_at.is_(None),
        ~IS_SKIPPED,
        HAS_CHOICE | ~_WITHDRAWN.correlate(BATTLE).exists(),
    )
    .order_by(BATTLE.c.id)
)
"""A voter's battles with stored answers, in a seat or NO_SEAT, that are neither revealed nor skipped: those with a
choice, and those without one whose answers are both in use."""
