"""Vote importer: files of votes into the database, as separate sources.

A row is stored once. It is identified by its content and, without a battle's name or a time, also by its file, so that
importing the same file twice adds nothing. Rows are stored in portions, so that people's votes never wait for an
import, and count after its last transaction. Repeating an interrupted import completes it."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Table, func, insert, select, update

from arena.database import EPOCH, Database, bump_counter, now, take_turn
from arena.formats.base import Battles, BothBad, Row, Vote
from arena.formats.native import ORIGIN, ORIGIN_ROW, STEREOSCOPE
from arena.formats.registry import row_text
from arena.formats.visit_bench import VISIT_BENCH
from arena.imports.poll_files import bank_name
from arena.imports.tables import (
    FILE_COLUMNS,
    IMPORTED_ITEM,
    IMPORTED_PICTURE,
    IMPORTED_ROW,
    IMPORTED_SOURCE,
    IMPORTED_VOTE,
    IMPORTED_VOTER,
)
from arena.io.strict_json import storable
from arena.items.store import BANK_VERSION, FAMILY, ITEM, MODEL, SOURCE

PORTION = 1000
"""The rows in one transaction."""
_MOST_JUDGES = 4
"""Most judges that a message names."""
_JUDGED_AND_OTHERS = "a judge's and people's"
_DEMO_AND_OTHERS = "those on demo items and others"
_LONGEST_NAME = 200
"""Most characters of a source's name."""


class ImportedVotesError(ValueError):
    """Votes cannot be imported; the message says why and what to do."""


@dataclass(frozen=True)
class ImportRequest:
    """Settings of an import; `into_live` and `both_bad` of the last import apply to the whole source."""

    source: str
    into_live: bool = False
    """Whether votes on items of this arena also count on the boards of those items."""
    both_bad: BothBad = "half"
    """Whether a vote "both bad" is half a win to each side, or doesn't count."""
    judge: bool = False
    """Whether a judge model chose, for votes without that information."""


@dataclass
class ImportCounts:
    """How many rows an import added, and how many were known."""

    votes: int = 0
    others: int = 0
    """Rows without a vote, such as the chat turns of a log."""
    known: int = 0
    doubtful: int = 0
    """New votes without a battle's name or a time, in a source with earlier files that may have had them."""


class VoteImporter:
    """Import of votes into one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, battles: Battles, order: ImportRequest) -> ImportCounts:
        """Adds the rows of a file to a source; adds nothing for a file without votes.

        Raises ImportedVotesError if the source's name is taken, if people's votes would mix with a judge's, several
        judges' or demo votes with others, if such votes are set to count beside live ones, or for an invalid time. Then
        nothing is stored; any other error in the first portion of rows leaves no source either.
        """
        counts = ImportCounts()
        if not len(battles):
            return counts
        drafts = _drafts(battles, _vote_times(battles), _content_digest(battles))
        first_portion = list(islice(drafts, PORTION))
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            source = _source_id(connection, battles, order)
            has_earlier_files = bool(
                connection.scalar(
                    select(IMPORTED_SOURCE.c.counted_to).where(IMPORTED_SOURCE.c.id == source)
                )
            )
            writer = _RowWriter(source, order, has_earlier_files)
            writer.store(connection, first_portion, counts)
        while portion := list(islice(drafts, PORTION)):
            with self._database.write() as connection:
                take_turn(connection, SOURCE)
                writer.store(connection, portion, counts)
        with self._database.write() as connection:
            last_row = (
                select(func.max(IMPORTED_ROW.c.id))
                .where(IMPORTED_ROW.c.source_id == source)
                .scalar_subquery()
            )
            finish_import = (
                update(IMPORTED_SOURCE)
                .where(IMPORTED_SOURCE.c.id == source)
                .values(
                    into_live=order.into_live,
                    both_bad=order.both_bad,
                    imported_at=now(),
                    counted_to=last_row,
                )
            )
            connection.execute(finish_import)
            bump_counter(connection, BANK_VERSION)
        return counts


def _source_id(connection: Connection, battles: Battles, order: ImportRequest) -> int:
    """Returns the source's id, adding the source if it is new, after all checks of the votes.

    Raises ImportedVotesError.
    """
    are_judged = {order.judge if judge is None else judge for judge in battles.judge}
    judge = _same_for_all(are_judged, _JUDGED_AND_OTHERS, order)
    judges = set(battles.voter) if judge else set()
    demo = _same_for_all(_are_on_demo_items(connection, battles.item), _DEMO_AND_OTHERS, order)
    _check_request(connection, order, judge=judge, demo=demo)
    stored = connection.execute(
        select(IMPORTED_SOURCE).where(IMPORTED_SOURCE.c.name == order.source)
    ).one_or_none()
    if stored is not None:
        _same_for_all({judge, stored.judge}, _JUDGED_AND_OTHERS, order)
        _same_for_all({demo, stored.demo}, _DEMO_AND_OTHERS, order)
        if judge:
            judges |= _voters(connection, stored.id)
        _check_one_judge(judges)
        return stored.id
    _check_one_judge(judges)
    insert_source = insert(IMPORTED_SOURCE).values(
        name=order.source,
        judge=judge,
        demo=demo,
        both_bad=order.both_bad,
        into_live=False,
        counted_to=0,
        imported_at=now(),
    )
    return connection.execute(insert_source.returning(IMPORTED_SOURCE.c.id)).scalar_one()


def _same_for_all(values: Collection[bool], kinds_text: str, order: ImportRequest) -> bool:
    """Returns the value that all votes share. Raises ImportedVotesError for both; `kinds_text` names the two kinds."""
    if len(values) > 1:
        raise ImportedVotesError(
            f"{order.source!r} would mix two kinds of votes, {kinds_text}, and a board can't. "
            "Import each kind from its own file, under its own --source."
        )
    return next(iter(values))


def _check_one_judge(judges: Collection[str | None]) -> None:
    """Raises ImportedVotesError for several judges."""
    if len(judges) > 1:
        names = ", ".join(sorted(map(repr, judges))[:_MOST_JUDGES])
        raise ImportedVotesError(
            f"A board can't mix votes of several judges ({names}). "
            "Import each judge's votes from their own file, under their own --source."
        )


def _voters(connection: Connection, source: int) -> set[str | None]:
    """Returns the voters of a source's votes, None for an unknown one."""
    joined = IMPORTED_VOTE.outerjoin(
        IMPORTED_VOTER, IMPORTED_VOTER.c.id == IMPORTED_VOTE.c.voter_id
    )
    query = (
        select(IMPORTED_VOTER.c.name)
        .select_from(joined)
        .where(IMPORTED_VOTE.c.source_id == source)
        .distinct()
    )
    return set(connection.scalars(query))


def _are_on_demo_items(connection: Connection, items: Iterable[str | None]) -> set[bool]:
    """Returns whether the items are demo items: both values if only some are."""
    keys = (
        select(ITEM.c.key)
        .join(SOURCE, SOURCE.c.id == ITEM.c.source_id)
        .where(SOURCE.c.kind == "demo")
    )
    demo_keys = set(connection.scalars(keys))
    return {item in demo_keys for item in items}


def _check_request(connection: Connection, order: ImportRequest, judge: bool, demo: bool) -> None:
    """Raises ImportedVotesError for an empty, long or taken name, and for votes that never count beside live ones.

    A name also has to be text that a database stores: that of a file may have bytes that are no text.
    """
    if storable(order.source) != order.source:
        raise ImportedVotesError(
            f"The name {order.source!r:.80} isn't readable text. Give another --source."
        )
    taken = connection.scalar(select(SOURCE.c.name).where(SOURCE.c.name == order.source))
    if taken or not order.source.strip() or len(order.source) > _LONGEST_NAME:
        problem = f"can't be used: it's empty, that of a source of items, or over {_LONGEST_NAME} characters"
        raise ImportedVotesError(f"The name {order.source!r:.80} {problem}. Give another --source.")
    if order.into_live and (judge or demo):
        kind = "a judge's" if judge else "on demo items"
        raise ImportedVotesError(
            f"These votes are {kind}, which never count beside live ones. Leave out --into-live."
        )


class _Origin(NamedTuple):
    """A row's original format, and its text there."""

    format: str
    text: str


@dataclass(frozen=True)
class _Draft:
    """A row to be stored, with its vote if it has one."""

    digest: str
    origin: _Origin
    vote: Vote | None
    voted_at: datetime | None
    is_identified: bool


def _drafts(
    battles: Battles, times: Iterable[datetime | None], file_digest: str
) -> Iterator[_Draft]:
    """Yields the rows in order, each with a digest of its content (and maybe its file), numbered if repeated.

    `times` are those of the votes.
    """
    remaining_times = iter(times)
    repeats: Counter[str] = Counter()
    # A row whose vote is left out may count in a later import of the file, with other settings, and its digest must be
    # the same then. Whether that vote is identified isn't known here, so it is taken to be like the file's others.
    are_others_identified = any(map(_is_identified, battles.votes()))
    for row, vote in battles.lines():
        origin = _origin(battles, row)
        parts = [origin.format, origin.text]
        is_identified = are_others_identified if vote is None else _is_identified(vote)
        if not is_identified:
            parts.append(file_digest)
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        repeats[digest] += 1
        if repeats[digest] > 1:
            digest = f"{digest}-{repeats[digest]}"
        voted_at = None if vote is None else next(remaining_times)
        yield _Draft(digest, origin, vote, voted_at, is_identified)


def _is_identified(vote: Vote) -> bool:
    """Returns whether a vote differs from another with the same content by its battle or its time."""
    return vote.conversation is not None or vote.time is not None


def _content_digest(battles: Battles) -> str:
    """Returns a digest of all rows of a file."""
    digest = hashlib.sha256()
    for row, _ in battles.lines():
        digest.update("\n".join(_origin(battles, row)).encode())
    return digest.hexdigest()


def _origin(battles: Battles, row: Row) -> _Origin:
    # A row of our own format has no other row of that format.
    came_from_elsewhere = row.get(ORIGIN) not in (None, "", STEREOSCOPE.name)
    if battles.format == STEREOSCOPE.name and came_from_elsewhere and row.get(ORIGIN_ROW):
        # Whole numbers are read as their digits.
        return _Origin(str(row[ORIGIN]), str(row[ORIGIN_ROW]))
    return _Origin(battles.format or STEREOSCOPE.name, row_text(row))


def _vote_times(battles: Battles) -> list[datetime | None]:
    """Returns the time of each vote. Raises ImportedVotesError for an invalid one."""
    times = []
    for number, seconds in enumerate(battles.time, start=1):
        try:
            times.append(None if seconds is None else EPOCH + timedelta(seconds=seconds))
        except (OverflowError, ValueError) as error:
            problem = f"Vote {number} has the time {seconds!r}. Write it in seconds since 1970."
            raise ImportedVotesError(problem) from error
    return times


class _KnownRow(NamedTuple):
    """A known row of a source."""

    id: int
    is_vote: bool
    """Whether it counts; a row that was left out counts once an import admits it."""


class _NewVote(NamedTuple):
    """A vote to be stored, with the models' names as in the item bank."""

    row_id: int
    vote: Vote
    voted_at: datetime | None


class _RowWriter:
    """Stores the rows of an import in portions; names get their integer codes once."""

    def __init__(self, source: int, order: ImportRequest, has_earlier_files: bool) -> None:
        self._source = source
        self._order = order
        self._has_earlier_files = has_earlier_files
        self._models = _NameCodes(MODEL, (MODEL.c.display, MODEL.c.name), {})
        self._families = _NameCodes(FAMILY, (FAMILY.c.name,), {})
        self._items = _NameCodes(IMPORTED_ITEM, (IMPORTED_ITEM.c.key,), {})
        self._pictures = _NameCodes(IMPORTED_PICTURE, (IMPORTED_PICTURE.c.name,), {})
        self._voters = _NameCodes(IMPORTED_VOTER, (IMPORTED_VOTER.c.name,), {"source_id": source})

    def store(
        self, connection: Connection, portion: Sequence[_Draft], counts: ImportCounts
    ) -> None:
        """Stores the new rows of a portion, and the votes of known rows that had been left out; counts them all."""
        known = self._known_rows(connection, portion)
        new_drafts = [draft for draft in portion if draft.digest not in known]
        last_id = connection.scalar(select(func.max(IMPORTED_ROW.c.id))) or 0
        rows = []
        votes = []
        for draft in portion:
            known_row = known.get(draft.digest)
            if draft.vote and known_row and not known_row.is_vote:
                votes.append(_new_vote(known_row.id, draft, draft.vote))
        for row_id, draft in enumerate(new_drafts, start=last_id + 1):
            rows.append(
                {
                    "id": row_id,
                    "source_id": self._source,
                    "digest": draft.digest,
                    "format": draft.origin.format,
                    "row": draft.origin.text,
                }
            )
            if draft.vote:
                votes.append(_new_vote(row_id, draft, draft.vote))
        if rows:
            connection.execute(insert(IMPORTED_ROW), rows)
        if votes:
            connection.execute(insert(IMPORTED_VOTE), self._vote_rows(connection, votes))
        others = sum(draft.vote is None for draft in new_drafts)
        if self._has_earlier_files:
            counts.doubtful += sum(
                draft.vote is not None and not draft.is_identified for draft in new_drafts
            )
        counts.votes += len(votes)
        counts.others += others
        counts.known += len(portion) - len(votes) - others

    def _known_rows(
        self, connection: Connection, portion: Sequence[_Draft]
    ) -> dict[str, _KnownRow]:
        """Returns the rows of a portion that the source already has, by digest."""
        joined = IMPORTED_ROW.outerjoin(IMPORTED_VOTE, IMPORTED_VOTE.c.id == IMPORTED_ROW.c.id)
        query = (
            select(IMPORTED_ROW.c.digest, IMPORTED_ROW.c.id, IMPORTED_VOTE.c.id.label("vote"))
            .select_from(joined)
            .where(
                IMPORTED_ROW.c.source_id == self._source,
                IMPORTED_ROW.c.digest.in_([draft.digest for draft in portion]),
            )
        )
        return {
            row.digest: _KnownRow(row.id, row.vote is not None) for row in connection.execute(query)
        }

    def _vote_rows(
        self, connection: Connection, new_votes: Sequence[_NewVote]
    ) -> list[dict[str, Any]]:
        """Returns the rows of the vote table; new names get their codes."""
        votes = [new_vote.vote for new_vote in new_votes]
        model_names = [name for vote in votes for name in (vote.model_a, vote.model_b)]
        models = self._models.codes(connection, model_names)
        families = self._families.codes(connection, [vote.category for vote in votes])
        items = self._items.codes(connection, [vote.item for vote in votes])
        pictures = self._pictures.codes(connection, [vote.picture for vote in votes])
        voters = self._voters.codes(connection, [vote.voter for vote in votes])
        rows = []
        for row_id, vote, voted_at in new_votes:
            # for a tie, the model on side A is stored as the winner
            winner = vote.model_b if vote.winner == "b" else vote.model_a
            loser = vote.model_a if vote.winner == "b" else vote.model_b
            # What the file doesn't say stays unknown (None), unless the import says that it is a judge's.
            judge = vote.judge
            if judge is None and self._order.judge:
                judge = True
            rows.append(
                {
                    "id": row_id,
                    "source_id": self._source,
                    "choice": vote.winner,
                    "winner": models[winner],
                    "loser": models[loser],
                    "item_id": items[vote.item],
                    "picture_id": pictures[vote.picture],
                    "voter_id": voters[vote.voter],
                    "voted_at": voted_at,
                    "family_id": families[vote.category],
                    "judge": judge,
                    **{name: getattr(vote, name) for name in FILE_COLUMNS},
                }
            )
        return rows


def _new_vote(row_id: int, draft: _Draft, vote: Vote) -> _NewVote:
    if draft.origin.format == VISIT_BENCH.name:
        vote = vote._replace(model_a=bank_name(vote.model_a), model_b=bank_name(vote.model_b))
    return _NewVote(row_id, vote, draft.voted_at)


class _NameCodes:
    """The integer codes of names in one table; a new name gets the next.

    A name is looked for in all of `columns`, and stored in all. `scope` has the values of other columns.
    """

    def __init__(
        self, table: Table, columns: Sequence[Column[str]], scope: Mapping[str, int]
    ) -> None:
        self._table = table
        self._columns = columns
        self._scope = scope
        self._code_of: dict[str | None, int | None] = {None: None}

    def codes(
        self, connection: Connection, names: Sequence[str | None]
    ) -> Mapping[str | None, int | None]:
        """Returns the codes by name, at least of these names; None has the code None."""
        self._look_up(connection, self._unknown(names))
        new_names = self._unknown(names)
        if new_names:
            rows = [
                {**self._scope, **{column.name: name for column in self._columns}}
                for name in new_names
            ]
            connection.execute(insert(self._table), rows)
            self._look_up(connection, new_names)
        return self._code_of

    def _unknown(self, names: Sequence[str | None]) -> list[str | None]:
        """Returns the names without a code yet, each once."""
        return [name for name in dict.fromkeys(names) if name not in self._code_of]

    def _look_up(self, connection: Connection, names: Sequence[str | None]) -> None:
        """Reads the codes of existing names; if two columns match, the last one's code counts."""
        if not names:
            return
        is_in_scope = [self._table.c[name] == value for name, value in self._scope.items()]
        for column in self._columns:
            query = select(column.label("name"), self._table.c.id)
            rows = connection.execute(query.where(column.in_(names), *is_in_scope))
            self._code_of.update({row.name: row.id for row in rows})
