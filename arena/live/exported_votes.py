"""Exported votes: the final votes cast here, on the bank's items and on live answers, as an export tells them."""

from collections.abc import Mapping

from sqlalchemy import Row, Select, case, func, literal, null, select

from arena.battles.tables import BANK, BATTLE, LIVE_BATTLE, LIVE_VOTE, VOTE, ranked_votes
from arena.formats.base import Vote
from arena.items.store import FAMILY, IMAGE, ITEM, SOURCE
from arena.live.votes import LIVE_SOURCES

_COMMON = ("battle_id", "choice", "winner", "loser", "voter_id", "voted_at", "terms")


def bank_votes() -> Select:
    """A SELECT of the final votes on stored answers, in the order they came, without those on check items."""
    images = (
        select(func.count()).where(IMAGE.c.item_id == ITEM.c.id).correlate(ITEM).scalar_subquery()
    )
    query = BANK.final_votes(
        *(VOTE.c[name] for name in _COMMON),
        literal("bank").label("kind"),
        ITEM.c.key,
        FAMILY.c.name.label("family"),
        literal(1).label("turns"),
        images.label("images"),
        SOURCE.c.name.label("source"),
        BATTLE.c.draw,
        BATTLE.c.draw_probability,
    )
    return query.where(
        BATTLE.c.id == VOTE.c.battle_id,
        ITEM.c.id == BATTLE.c.item_id,
        FAMILY.c.id == ITEM.c.family_id,
        SOURCE.c.id == ITEM.c.source_id,
        SOURCE.c.kind != "check",
    ).order_by(VOTE.c.id)


def live_votes() -> Select:
    """A SELECT of the ranked live votes in the same columns; their key is the bank's item, if there is one."""
    own, items = (source.label for source in LIVE_SOURCES)
    key = (
        select(ITEM.c.key)
        .where(ITEM.c.id == LIVE_BATTLE.c.item_id)
        .correlate(LIVE_BATTLE)
        .scalar_subquery()
    )
    return ranked_votes(
        *(LIVE_VOTE.c[name] for name in _COMMON),
        literal("live").label("kind"),
        key.label("key"),
        null().label("family"),
        LIVE_VOTE.c.turns,
        LIVE_BATTLE.c.images,
        case((LIVE_BATTLE.c.item_id.is_(None), own), else_=items).label("source"),
        case((LIVE_BATTLE.c.draw_probability.is_not(None), "lot")).label("draw"),
        LIVE_BATTLE.c.draw_probability,
    ).order_by(LIVE_VOTE.c.id)


def exported_vote(
    row: Row, models: Mapping[int, str], voter: str | None, conversation: str
) -> Vote:
    """The vote of a row of `bank_votes` or `live_votes`; `models` are the names by code."""
    left, right = (row.winner, row.loser) if row.choice == "a" else (row.loser, row.winner)
    return Vote(
        model_a=models[left],
        model_b=models[right],
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
    )
