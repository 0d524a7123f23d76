"""Vote import and export for the command line: files of votes into this arena's database, and its votes as battles.

An exported vote has the item, the models' names, the choice and a number for the voter. One that was imported keeps the
row of its file.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing

import pandas as pd
from sqlalchemy import Connection

from arena.battles.tables import BATTLE
from arena.battles.vote_table import LIVE_OWN, VoteTable, values
from arena.database import Database
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.imports.importer import ImportRequest, VoteImporter
from arena.imports.tables import imported_battles, imported_sources
from arena.items.alike import alike_keys
from arena.items.store import ITEM, model_names, sources_of
from arena.live.exported_votes import bank_votes, exported_vote, live_votes
from arena.live.votes import live_sources
from arena.settings import Settings


class StoredVotesError(ValueError):
    """The source of votes is unknown, or not named although there are several; the message lists all."""


def import_file(battles: Battles, request: ImportRequest) -> Iterator[str]:
    """Imports votes into the database; yields a summary in lines. Raises ImportedVotesError; then nothing counts."""
    with closing(Database(Settings.from_env().database_url)) as database:
        counts = VoteImporter(database).add(battles, request)
    others = f" and {counts.others:,} other rows" if counts.others else ""
    yield f"new: {counts.votes:,} votes{others}, rows already there: {counts.known:,}"
    if counts.doubtful:
        yield (
            f"new votes without a battle or a time: {counts.doubtful:,}. If an earlier file of this source "
            "had some of them, they now count twice. Import a file that grew under another --source."
        )
    if len(battles):
        boards = "on its own boards only"
        if request.into_live:
            boards = "on its own boards and beside this arena's votes"
        both_bad = "as half for each side" if request.both_bad == "half" else "not at all"
        yield f'source: {request.source}, which counts {boards}; "both bad" counts {both_bad}'


def stored_votes(source: str | None) -> Battles:
    """Returns the votes of a source in order: the counted ones cast here, or all imported rows.

    Live votes are only the ranked ones, without their texts and images. Sources are never mixed. Raises
    StoredVotesError for an unknown source, or without a name if there are several.
    """
    with closing(Database(Settings.from_env().database_url)) as database:
        cast_votes = VoteTable(database).read().votes
        with database.read() as connection:
            return _votes(connection, cast_votes, source)


def _votes(connection: Connection, cast_votes: pd.DataFrame, source: str | None) -> Battles:
    """Returns the votes of a source, or of the only one; `cast_votes` are those cast here, as in the vote table."""
    bank = {origin.name: origin for origin in sources_of(connection) if origin.kind != "check"}
    live = {origin.label: origin for origin in live_sources(cast_votes)}
    # An imported source with the name of an item set can't be asked for: the name means the votes cast here.
    imported = {
        origin.name: origin for origin in imported_sources(connection) if origin.name not in bank
    }
    names = [*bank, *live, *imported]
    name = names[0] if source is None and len(names) == 1 else source
    if name in imported:
        return imported_battles(connection, imported[name])
    if name in bank:
        return _bank_battles(connection, bank[name].id)
    if name in live:
        return _live_battles(connection, cast_votes, live[name].code)
    listed = ", ".join(map(repr, names)) or "none"
    raise StoredVotesError(f"Name the source of the votes with --source. Sources: {listed}.")


def _bank_battles(connection: Connection, source_id: int) -> Battles:
    models = model_names(connection)
    pictures = alike_keys(connection)
    rows = connection.execute(bank_votes().where(ITEM.c.source_id == source_id))
    return _battles(
        exported_vote(row, models, pictures, str(row.voter_id), str(row.battle_id)) for row in rows
    )


def _live_battles(connection: Connection, cast_votes: pd.DataFrame, code: int) -> Battles:
    """Returns the ranked votes of a source of live battles; a notice has the number of the others."""
    models = model_names(connection)
    pictures = alike_keys(connection)
    has_own_image = BATTLE.c.item_id.is_(None)
    is_of_source = has_own_image if code == LIVE_OWN else ~has_own_image
    rows = connection.execute(live_votes().where(is_of_source))
    votes = [
        exported_vote(row, models, pictures, str(row.voter_id), f"live-{row.battle_id}")
        for row in rows
    ]
    is_of_code = values(cast_votes, "source") == code
    left_out = int((is_of_code & (values(cast_votes, "outside") > 0)).sum())
    notices: tuple[str, ...] = ()
    if left_out:
        notices = (f"votes left out because they don't count in the ranking: {left_out:,}",)
    return _battles(votes, notices)


def _battles(votes: Iterable[Vote], notices: tuple[str, ...] = ()) -> Battles:
    rows = list(votes)
    if not rows:
        notices = ("There are no votes yet.", *notices)
    return Battles.of_columns(
        STEREOSCOPE.name,
        columns_of(rows),
        rows=tuple(map(STEREOSCOPE.row, rows)),
        notices=notices,
    )
