"""This arena's own votes, as the battles that `exchange` writes in the formats that people hold.

A vote goes out as it is published: what was judged, the models by their names, the choice, a number for the voter.
"""

from sqlalchemy import Row, func, select

from arena.ballots import BATTLE, VOTE, counted_votes
from arena.database import Database, DatabaseError
from arena.exchange.battles import Battles, Vote, columns_of
from arena.exchange.stereoscope import STEREOSCOPE
from arena.items import FAMILY, IMAGE, ITEM, MODEL, ItemBank
from arena.settings import SettingError, Settings


class LiveVotesError(OSError):
    """Say why this arena's votes cannot be read."""


def live_votes(source: str | None) -> Battles:
    """Return the counted votes on the items of a source, in the order they came; sources are never mixed.

    Raises LiveVotesError if there is no such source, if none is named and there are several, or for the database.
    """
    try:
        database = Database(Settings.from_env().database_url)
        try:
            return _read(database, source)
        finally:
            database.close()
    except (SettingError, DatabaseError) as error:
        raise LiveVotesError(str(error)) from error


def _read(database: Database, source: str | None) -> Battles:
    known = {one.name: one.id for one in ItemBank(database).sources()}
    if source not in known and (source is not None or len(known) != 1):
        names = ", ".join(map(repr, known)) or "none"
        raise LiveVotesError(f"name the source of the votes with --source; there are: {names}")
    code = known[source] if source is not None else next(iter(known.values()))
    images = select(func.count()).where(IMAGE.c.item_id == ITEM.c.id).correlate(ITEM).scalar_subquery()
    columns = (ITEM.c.key, FAMILY.c.name.label("family"), VOTE.c.winner, VOTE.c.loser, VOTE.c.choice, VOTE.c.voter_id)
    query = counted_votes(VOTE.c.battle_id, VOTE.c.voted_at, images.label("images"), *columns)
    query = query.where(BATTLE.c.id == VOTE.c.battle_id, ITEM.c.id == BATTLE.c.item_id, FAMILY.c.id == ITEM.c.family_id)
    with database.read() as connection:
        names = {row.id: row.name for row in connection.execute(select(MODEL.c.id, MODEL.c.name))}
        rows = connection.execute(query.where(ITEM.c.source_id == code).order_by(VOTE.c.id)).all()
    votes = [_vote(row, names) for row in rows]
    notices = () if votes else ("there are no votes yet",)
    return Battles(STEREOSCOPE.name, *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)), notices=notices)


def _vote(row: Row, names: dict[int, str]) -> Vote:
    left, right = (row.winner, row.loser) if row.choice == "a" else (row.loser, row.winner)
    return Vote(
        model_a=names[left],
        model_b=names[right],
        winner=row.choice,
        item=row.key,
        voter=str(row.voter_id),
        time=row.voted_at.timestamp(),
        category=row.family,
        turns=1,
        images=row.images,
        conversation=str(row.battle_id),
        blind=True,
    )
