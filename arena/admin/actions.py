"""Operator log: the actions of operators, each stored in the transaction of the action, and never changed."""

from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from arena.database import METADATA, Moment, now

ActionKind = Literal[
    "paused live answers",
    "resumed live answers",
    "hid an item",
    "showed an item again",
    "kept an upload",
    "took an upload down",
    "withdrew a published report",
    "forgot a voter",
    "made a board the official one",
    "made a campaign",
    "ended a campaign",
    "brought in a campaign's list of participants",
    "took an item out of a project",
    "judged a writer's sample",
    "checked a question",
]

ACT = Table(
    "act",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("who", Text, nullable=False),
    Column("deed", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("done_at", Moment, nullable=False),
)


class AdminCommandError(ValueError):
    """A command is unknown, or concerns something that does not exist."""


class OperatorAction(NamedTuple):
    """An action of an operator."""

    who: str
    """The operator's name."""
    deed: ActionKind
    about: str
    """The item's key, the upload's number, the report's slug, the board's voters or the campaign's name. In a project,
    its name with the item's number or the sample, and any judgement. Empty for live answers and a forgotten voter."""
    done_at: datetime


def record_action(connection: Connection, operator: str, deed: ActionKind, about: str = "") -> None:
    """Stores an operator's action, in the transaction of the action itself."""
    connection.execute(insert(ACT).values(who=operator, deed=deed, about=about, done_at=now()))


def latest_actions(connection: Connection, most: int) -> tuple[OperatorAction, ...]:
    """Returns the latest actions, the newest first."""
    acts = select(ACT.c.who, ACT.c.deed, ACT.c.about, ACT.c.done_at)
    rows = connection.execute(acts.order_by(ACT.c.id.desc()).limit(most))
    return tuple(
        OperatorAction(who=row.who, deed=row.deed, about=row.about, done_at=row.done_at)
        for row in rows
    )
