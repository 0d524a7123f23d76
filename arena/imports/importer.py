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
from arena.items.store import BANK_VERSION, FAMILY, ITEM, MODEL, SOURCE

PORTION = 1000
"""The rows in one transaction."""
_MOST_JUDGES = 4
_LONGEST_NAME = 200


class ImportedVotesError(ValueError):
    """Votes cannot be imported; the message says why and what to do."""


@dataclass(frozen=True)
class ImportRequest:
    """Settings of an import; the last import's settings apply to the whole source, except the name."""

    source: str
    into_live: bool = False
    """Whether votes on items of this arena also count on the boards of those items."""
    both_bad: BothBad = "half"
    judge: bool = False
    """Whether a judge model chose, for votes without that information."""


@dataclass
class Imported:
    """The numbers of rows that an import added, and of known ones."""

    votes: int = 0
    others: int = 0
    """Rows without a vote, such as the chat turns of a log."""
    known: int = 0


class VoteImporter:
    """Import of votes into one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, battles: Battles, order: ImportRequest) -> Imported:
        """Adds the rows of a file to a source; adds nothing for a file without votes.

        Raises ImportedVotesError if the source's name is taken, if people's votes would mix with a judge's, several
        judges' or demo votes with others, if such votes are set to count beside live ones, or for an invalid time. Then
        nothing is stored; any other error in the first portion of rows leaves no source either.
        """
        done = Imported()
        if not len(battles):
            return done
        drafts = _drafts(battles, _moments(battles), _content_mark(battles))
        first = list(islice(drafts, PORTION))
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            source = _source(connection, battles, order)
            writer = _RowWriter(source, order)
            writer.store(connection, first, done)
        while portion := list(islice(drafts, PORTION)):
            with self._database.write() as connection:
                take_turn(connection, SOURCE)
                writer.store(connection, portion, done)
        with self._database.write() as connection:
            last = (
                select(func.max(IMPORTED_ROW.c.id))
                .where(IMPORTED_ROW.c.source_id == source)
                .scalar_subquery()
            )
            settings = update(IMPORTED_SOURCE).where(IMPORTED_SOURCE.c.id == source)
            settings = settings.values(
                into_live=order.into_live,
                both_bad=order.both_bad,
                imported_at=now(),
                counted_to=last,
            )
            connection.execute(settings)
            bump_counter(connection, BANK_VERSION)
        return done


def _source(connection: Connection, battles: Battles, order: ImportRequest) -> int:
    """Returns the source's code, creating it if there is none, after all checks of the votes."""
    is_judged = {order.judge if judge is None else judge for judge in battles.judge}
    judge = _one_kind(is_judged, "a judge's and people's", order)
    judges = set(battles.voter) if judge else set()
    demo = _one_kind(
        _on_demo_items(connection, battles.item), "those on demo items and others", order
    )
    _check(connection, order, judge=judge, demo=demo)
    known = connection.execute(
        select(IMPORTED_SOURCE).where(IMPORTED_SOURCE.c.name == order.source)
    ).one_or_none()
    if known is not None:
        _one_kind({judge, known.judge}, "a judge's and people's", order)
        _one_kind({demo, known.demo}, "those on demo items and others", order)
        _one_judge(judges.union(_voters(connection, known.id)) if judge else judges)
        return known.id
    _one_judge(judges)
    made = insert(IMPORTED_SOURCE).values(
        name=order.source, judge=judge, demo=demo, both_bad=order.both_bad
    )
    made = made.values(into_live=False, counted_to=0, imported_at=now()).returning(
        IMPORTED_SOURCE.c.id
    )
    return connection.execute(made).scalar_one()


def _one_kind(kinds: Collection[bool], kinds_text: str, order: ImportRequest) -> bool:
    """Returns the kind that all votes have. Raises ImportedVotesError for two kinds."""
    if len(kinds) > 1:
        raise ImportedVotesError(
            f"{order.source!r} would mix two kinds of votes, {kinds_text}, and a board can't. "
            "Import each kind from its own file, under its own --source."
        )
    return next(iter(kinds))


def _one_judge(judges: Collection[str | None]) -> None:
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
    of_source = IMPORTED_VOTE.c.source_id == source
    return set(
        connection.scalars(
            select(IMPORTED_VOTER.c.name).select_from(joined).where(of_source).distinct()
        )
    )


def _on_demo_items(connection: Connection, items: Iterable[str | None]) -> set[bool]:
    keys = (
        select(ITEM.c.key)
        .join(SOURCE, SOURCE.c.id == ITEM.c.source_id)
        .where(SOURCE.c.kind == "demo")
    )
    demo = set(connection.scalars(keys))
    return {item in demo for item in items}


def _check(connection: Connection, order: ImportRequest, judge: bool, demo: bool) -> None:
    """Raises ImportedVotesError for an empty or taken name, and for votes that never count beside live ones."""
    taken = connection.scalar(select(SOURCE.c.name).where(SOURCE.c.name == order.source))
    if taken or not order.source.strip() or len(order.source) > _LONGEST_NAME:
        problem = f"can't be used: it's empty, that of a source of items, or over {_LONGEST_NAME} characters"
        raise ImportedVotesError(f"The name {order.source!r:.80} {problem}. Give another --source.")
    if order.into_live and (judge or demo):
        kind = "a judge's" if judge else "on demo items"
        raise ImportedVotesError(
            f"These votes are {kind}, which never count beside live ones. Leave out --into-live."
        )


@dataclass(frozen=True)
class _Draft:
    digest: str
    format: str
    text: str
    vote: Vote | None
    voted_at: datetime | None


def _drafts(battles: Battles, moments: Iterable[datetime | None], file: str) -> Iterator[_Draft]:
    """Yields the rows in order, each with a digest of its content (and maybe its file), numbered if repeated."""
    times = iter(moments)
    repeats: Counter[str] = Counter()
    # A vote that is left out keeps its digest.
    has_identified = any(map(_is_identified, battles.votes()))
    for row, vote in battles.lines():
        form, text = _origin(battles, row)
        parts = [form, text]
        if not (_is_identified(vote) if vote else has_identified):
            parts.append(file)
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        repeats[digest] += 1
        nth = f"-{repeats[digest]}" if repeats[digest] > 1 else ""
        yield _Draft(f"{digest}{nth}", form, text, vote, next(times) if vote else None)


def _is_identified(vote: Vote) -> bool:
    """Returns whether a vote differs from another with the same content by its battle or its time."""
    return vote.conversation is not None or vote.time is not None


def _content_mark(battles: Battles) -> str:
    mark = hashlib.sha256()
    for row, _ in battles.lines():
        mark.update("\n".join(_origin(battles, row)).encode())
    return mark.hexdigest()


def _origin(battles: Battles, row: Row) -> tuple[str, str]:
    """Returns a row's original format, and its text there."""
    if battles.format == STEREOSCOPE.name and row.get(ORIGIN) and row.get(ORIGIN_ROW):
        return row[ORIGIN], row[ORIGIN_ROW]
    return battles.format or STEREOSCOPE.name, row_text(row)


def _moments(battles: Battles) -> list[datetime | None]:
    """Returns the time of each vote. Raises ImportedVotesError for an invalid one."""
    moments = []
    for number, time in enumerate(battles.time, start=1):
        try:
            moments.append(None if time is None else EPOCH + timedelta(seconds=time))
        except (OverflowError, ValueError) as error:
            problem = f"Vote {number} has the time {time!r}. Write it in seconds since 1970."
            raise ImportedVotesError(problem) from error
    return moments


class _KnownRow(NamedTuple):
    """A known row of a source."""

    id: int
    is_vote: bool
    """Whether it counts; a row that was left out counts once an import admits it."""


class _RowWriter:
    """Stores the rows of an import in portions; names get their integer codes once."""

    def __init__(self, source: int, order: ImportRequest) -> None:
        self._source = source
        self._order = order
        self._models = _Names(MODEL, (MODEL.c.display, MODEL.c.name), {})
        self._families = _Names(FAMILY, (FAMILY.c.name,), {})
        self._items = _Names(IMPORTED_ITEM, (IMPORTED_ITEM.c.key,), {})
        self._pictures = _Names(IMPORTED_PICTURE, (IMPORTED_PICTURE.c.name,), {})
        self._voters = _Names(IMPORTED_VOTER, (IMPORTED_VOTER.c.name,), {"source_id": source})

    def store(self, connection: Connection, portion: Sequence[_Draft], done: Imported) -> None:
        known = self._known_rows(connection, portion)
        fresh = [draft for draft in portion if draft.digest not in known]
        last = connection.scalar(select(func.max(IMPORTED_ROW.c.id))) or 0
        numbered = dict(enumerate(fresh, last + 1))
        rows = [
            {
                "id": code,
                "source_id": self._source,
                "digest": draft.digest,
                "format": draft.format,
                "row": draft.text,
            }
            for code, draft in numbered.items()
        ]
        admitted = {
            known[draft.digest].id: draft
            for draft in portion
            if draft.digest in known and not known[draft.digest].is_vote
        }
        voted = {code: draft for code, draft in {**admitted, **numbered}.items() if draft.vote}
        votes = self._vote_rows(connection, voted)
        for table, values in ((IMPORTED_ROW, rows), (IMPORTED_VOTE, votes)):
            if values:
                connection.execute(insert(table), values)
        others = sum(draft.vote is None for draft in fresh)
        done.votes += len(votes)
        done.others += others
        done.known += len(portion) - len(votes) - others

    def _known_rows(
        self, connection: Connection, portion: Sequence[_Draft]
    ) -> dict[str, _KnownRow]:
        """Returns the rows of a portion that the source already has, by digest."""
        joined = IMPORTED_ROW.outerjoin(IMPORTED_VOTE, IMPORTED_VOTE.c.id == IMPORTED_ROW.c.id)
        is_of_portion = IMPORTED_ROW.c.digest.in_([draft.digest for draft in portion])
        is_of_source = IMPORTED_ROW.c.source_id == self._source
        query = select(
            IMPORTED_ROW.c.digest, IMPORTED_ROW.c.id, IMPORTED_VOTE.c.id.label("vote")
        ).select_from(joined)
        return {
            row.digest: _KnownRow(row.id, row.vote is not None)
            for row in connection.execute(query.where(is_of_source, is_of_portion))
        }

    def _vote_rows(
        self, connection: Connection, drafts: Mapping[int, _Draft]
    ) -> list[dict[str, Any]]:
        votes = [draft.vote for draft in drafts.values() if draft.vote]
        sides = []
        for draft in drafts.values():
            if draft.vote:
                names = [draft.vote.model_a, draft.vote.model_b]
                is_visit = draft.format == VISIT_BENCH.name
                sides += map(bank_name, names) if is_visit else names
        models = self._models.codes(connection, sides)
        families = self._families.codes(connection, [vote.category for vote in votes])
        items = self._items.codes(connection, [vote.item for vote in votes])
        pictures = self._pictures.codes(connection, [vote.picture for vote in votes])
        voters = self._voters.codes(connection, [vote.voter for vote in votes])
        rows = []
        for place, (code, draft) in enumerate(drafts.items()):
            vote = votes[place]
            a = models[2 * place]
            b = models[2 * place + 1]
            rows.append(
                {
                    "id": code,
                    "source_id": self._source,
                    "choice": vote.winner,
                    "winner": b if vote.winner == "b" else a,
                    "loser": a if vote.winner == "b" else b,
                    "item_id": items[place],
                    "picture_id": pictures[place],
                    "voter_id": voters[place],
                    "voted_at": draft.voted_at,
                    "family_id": families[place],
                    "judge": True if vote.judge is None and self._order.judge else vote.judge,
                    **{name: getattr(vote, name) for name in FILE_COLUMNS},
                }
            )
        return rows


class _Names:
    """The integer codes of names in one table; a new name gets the next."""

    def __init__(
        self, table: Table, columns: Sequence[Column[str]], scope: Mapping[str, int]
    ) -> None:
        self._table = table
        self._columns = columns
        self._scope = scope
        self._known: dict[str | None, int | None] = {None: None}

    def codes(self, connection: Connection, names: Sequence[str | None]) -> list[Any]:
        """Returns the codes of names, in their order; None for None."""
        self._look_up(
            connection, [name for name in dict.fromkeys(names) if name not in self._known]
        )
        fresh = [name for name in dict.fromkeys(names) if name not in self._known]
        if fresh:
            rows = [
                {**self._scope, **{column.name: name for column in self._columns}} for name in fresh
            ]
            connection.execute(insert(self._table), rows)
            self._look_up(connection, fresh)
        return [self._known[name] for name in names]

    def _look_up(self, connection: Connection, names: Sequence[str | None]) -> None:
        """Reads the codes of existing names; if two columns match, the last one's code counts."""
        within = [self._table.c[name] == value for name, value in self._scope.items()]
        for column in self._columns if names else ():
            rows = connection.execute(
                select(column, self._table.c.id).where(column.in_(names), *within)
            )
            self._known.update({row[0]: row[1] for row in rows})
