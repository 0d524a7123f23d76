"""Vote export for the command line: files of votes into this arena's database, and its votes out as battles.

A vote is exported as it is published: the item, the models by their names, the choice, a number for the voter; an
imported one as it came.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

from sqlalchemy import Connection, Row, func, select

from arena.battles.live_tables import LIVE_VOTE
from arena.battles.tables import BATTLE, VOTE, final_votes
from arena.clock import keep_time
from arena.database import Database, DatabaseError
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.imports.importer import ImportedVotesError, ImportRequest, VoteImporter
from arena.imports.tables import imported_battles, imported_sources
from arena.items.store import FAMILY, IMAGE, ITEM, MODEL, sources_of
from arena.live.votes import live_outside, live_sources, live_votes
from arena.settings import SettingError, Settings


class StoredVotesError(OSError):
    """This arena's votes cannot be read, or votes cannot be imported; says why."""


def import_file(battles: Battles, order: ImportRequest) -> Iterator[str]:
    """Import votes into the database and yield a summary by lines. Raises StoredVotesError; then nothing counts."""
    with _database() as database:
        done = VoteImporter(database).add(battles, order)
    others = f" and {done.others:,} other rows" if done.others else ""
    yield f"new: {done.votes:,} votes{others}, rows already there: {done.known:,}"
    if len(battles):
        yield f"source: {order.source}, {_how_votes_count(order)}"


def _how_votes_count(order: ImportRequest) -> str:
    where = (
        "beside this arena's own on the boards of its items too" if order.into_live else "on boards of their own only"
    )
    bad = "as half to each side" if order.both_bad == "half" else "not at all"
    return f'which counts {where}; "both bad" counts {bad}'


def stored_votes(source: str | None) -> Battles:
    """Return the votes of a source in the order they came: the counted ones cast here, or all imported rows.

    Of live votes only ranked ones, without their texts and images. Sources are never mixed. Raises StoredVotesError if
    there is no such source, if none is named and there are several, or for the database.
    """
    with _database() as database, _moment(database) as connection:
        bank = {one.name: one for one in sources_of(connection) if one.kind != "check"}
        live = {one.label: one for one in live_sources(connection)}
        imported = {one.name: one for one in imported_sources(connection) if one.name not in bank}
        names = [*bank, *live, *imported]
        name = names[0] if source is None and len(names) == 1 else source
        if name in imported:
            return imported_battles(connection, imported[name])
        if name in bank:
            return _battles(map(_bank_vote, _bank_rows(connection, bank[name].id), repeat(_names(connection))))
        if name in live:
            outside = sum(sum(live_outside(connection, live[name].code, multi).values()) for multi in (False, True))
            votes = map(_live_vote, connection.execute(live_votes(live[name].code)), repeat(_names(connection)))
            return _battles(votes, (f"votes outside the ranking, left out: {outside:,}",) if outside else ())
    listed = ", ".join(map(repr, names)) or "none"
    raise StoredVotesError(f"name the source of the votes with --source; there are: {listed}")


@contextmanager
def _database() -> Iterator[Database]:
    try:
        database = Database(Settings.from_env().database_url)
        try:
            yield database
        finally:
            database.close()
    except (SettingError, DatabaseError, ImportedVotesError) as error:
        raise StoredVotesError(str(error)) from error


@contextmanager
def _moment(database: Database) -> Iterator[Connection]:
    keep_time(database, VOTE, LIVE_VOTE)
    with database.read() as connection:
        yield connection


def _battles(votes: Iterable[Vote], notices: tuple[str, ...] = ()) -> Battles:
    found = list(votes)
    told = notices if found else ("there are no votes yet", *notices)
    return Battles(STEREOSCOPE.name, *columns_of(found), rows=tuple(map(STEREOSCOPE.row, found)), notices=told)


def _names(connection: Connection) -> dict[int, str]:
    return {row.id: row.name for row in connection.execute(select(MODEL.c.id, MODEL.c.name))}


def _bank_rows(connection: Connection, code: int) -> Sequence[Row]:
    images = select(func.count()).where(IMAGE.c.item_id == ITEM.c.id).correlate(ITEM).scalar_subquery()
    columns = (ITEM.c.key, FAMILY.c.name.label("family"), VOTE.c.winner, VOTE.c.loser, VOTE.c.choice, VOTE.c.voter_id)
    query = final_votes(VOTE.c.battle_id, VOTE.c.voted_at, images.label("images"), *columns)
    query = query.where(BATTLE.c.id == VOTE.c.battle_id, ITEM.c.id == BATTLE.c.item_id, FAMILY.c.id == ITEM.c.family_id)
    return connection.execute(query.where(ITEM.c.source_id == code).order_by(VOTE.c.id)).all()


def _bank_vote(row: Row, names: dict[int, str]) -> Vote:
    return _said(row, names)._replace(item=row.key, category=row.family, turns=1, conversation=str(row.battle_id))


def _live_vote(row: Row, names: dict[int, str]) -> Vote:
    return _said(row, names)._replace(item=row.key, turns=row.turns, conversation=f"live-{row.battle_id}")


def _said(row: Row, names: dict[int, str]) -> Vote:
    """Return the fields common to votes on stored and on live answers."""
    left, right = (row.winner, row.loser) if row.choice == "a" else (row.loser, row.winner)
    return Vote(
        model_a=names[left],
        model_b=names[right],
        winner=row.choice,
        voter=str(row.voter_id),
        time=row.voted_at.timestamp(),
        images=row.images,
        blind=True,
        judge=False,
    )
