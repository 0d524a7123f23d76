"""Exported votes: the final votes cast here, on the bank's items and on live answers, in the form of an export."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, case, func, literal, null, select

from arena.battles.tables import BATTLE, IS_LIVE, IS_RANKED, SEAT, TURN
from arena.formats.base import Vote
from arena.items.store import FAMILY, ITEM, SOURCE
from arena.live.votes import LIVE_SOURCES
from arena.thinking import word_count

_COMMON_COLUMNS = (
    BATTLE.c.id.label("battle_id"),
    BATTLE.c.choice,
    BATTLE.c.model_a,
    BATTLE.c.model_b,
    BATTLE.c.voter_id,
    BATTLE.c.voted_at,
    BATTLE.c.terms,
    BATTLE.c.images,
    BATTLE.c.draw,
    BATTLE.c.draw_probability,
)

_CONFIRMED_SEATS = select(SEAT.c.id).where(SEAT.c.confirmation == "confirmed")


def bank_votes() -> Select:
    """Returns a SELECT of the final votes on stored answers, in order, without those on check items.

    Votes of a platform's workers are included once its list confirms them.
    """
    query = select(
        *_COMMON_COLUMNS,
        literal("bank").label("kind"),
        ITEM.c.id.label("item_id"),
        ITEM.c.key,
        FAMILY.c.name.label("family"),
        literal(1).label("turns"),
        SOURCE.c.name.label("source"),
        SOURCE.c.id.label("source_id"),
        ITEM.c.multi,
    )
    return query.where(
        IS_RANKED,
        ~IS_LIVE,
        BATTLE.c.seat_id.is_(None) | BATTLE.c.seat_id.in_(_CONFIRMED_SEATS),
        ITEM.c.id == BATTLE.c.item_id,
        FAMILY.c.id == ITEM.c.family_id,
        SOURCE.c.id == ITEM.c.source_id,
        SOURCE.c.kind != "check",
    ).order_by(BATTLE.c.final_number)


def live_votes() -> Select:
    """Returns a SELECT of the ranked live votes in the same columns; the item is NULL for a person's own images."""
    own_images, bank_items = LIVE_SOURCES
    is_own = BATTLE.c.item_id.is_(None)
    turns = select(func.count()).where(TURN.c.battle_id == BATTLE.c.id).correlate(BATTLE)
    query = select(
        *_COMMON_COLUMNS,
        literal("live").label("kind"),
        ITEM.c.id.label("item_id"),
        ITEM.c.key,
        null().label("family"),
        turns.scalar_subquery().label("turns"),
        case((is_own, own_images.label), else_=bank_items.label).label("source"),
        case((is_own, own_images.code), else_=bank_items.code).label("source_id"),
        (BATTLE.c.images > 1).label("multi"),
    )
    joined = BATTLE.outerjoin(ITEM, ITEM.c.id == BATTLE.c.item_id)
    ranked = query.select_from(joined).where(IS_RANKED, IS_LIVE)
    return ranked.order_by(BATTLE.c.final_number)


class AnswerMarks(NamedTuple):
    """Facts about a live answer in an export, which leaves out the answers' texts; all None for a stored answer.

    The facts of a stored answer are shown to every voter before the vote, so an export of them beside the model's name
    would reveal which answer is the model's. A live answer appears in one battle only.
    """

    words_thought: int | None = None
    """None also for a live answer whose text was erased, or was not in the copy that a database was restored from."""
    cut: bool | None = None
    """Whether the answer ended at the limit of tokens."""


class SideMarks(NamedTuple):
    """The marks of a vote's two answers."""

    a: AnswerMarks = AnswerMarks()
    b: AnswerMarks = AnswerMarks()


_BEFORE_TURNS = SideMarks(AnswerMarks(0, cut=False), AnswerMarks(0, cut=False))
"""The marks of a live battle before its first turn is counted."""


@dataclass(frozen=True)
class ExportedMarks:
    """The marks of all live answers."""

    live: Mapping[int, SideMarks]
    """The marks by the battle, over all its turns."""

    def sides(self, row: Row) -> SideMarks:
        """Returns both sides' marks, for a row of `bank_votes` or `live_votes`."""
        return self.live.get(row.battle_id, SideMarks()) if row.kind == "live" else SideMarks()


def exported_marks(connection: Connection) -> ExportedMarks:
    """Reads the marks of all live answers."""
    live: dict[int, SideMarks] = {}
    turns = select(
        TURN.c.battle_id,
        TURN.c.thinking_a,
        TURN.c.thinking_b,
        TURN.c.cut_a,
        TURN.c.cut_b,
        (TURN.c.question == "").label("is_emptied"),
    )
    for row in connection.execute(turns):
        earlier = live.get(row.battle_id, _BEFORE_TURNS)
        live[row.battle_id] = SideMarks(
            a=_with_turn(earlier.a, row.thinking_a, row.cut_a, row.is_emptied),
            b=_with_turn(earlier.b, row.thinking_b, row.cut_b, row.is_emptied),
        )
    return ExportedMarks(live)


def _with_turn(
    marks: AnswerMarks, thinking: str | None, cut: bool, is_emptied: bool
) -> AnswerMarks:
    words = None
    if marks.words_thought is not None and not is_emptied:
        words = marks.words_thought + word_count(thinking or "")
    return AnswerMarks(words, bool(marks.cut) or cut)


def exported_vote(
    row: Row,
    models: Mapping[int, str],
    pictures: Mapping[int, str],
    voter: str | None,
    conversation: str,
) -> Vote:
    """Returns the vote of a row of `bank_votes` or `live_votes`.

    `models` are the names by code, `pictures` the result of `items.alike.alike_keys`, `conversation` the battle's name.
    """
    return Vote(
        model_a=models[row.model_a],
        model_b=models[row.model_b],
        winner=row.choice,
        item=row.key,
        voter=voter,
        time=row.voted_at.timestamp(),
        category=row.family,
        turns=row.turns,
        images=row.images,
        conversation=conversation,
        blind=True,
        judge=False,
        picture=pictures.get(row.item_id),
    )
