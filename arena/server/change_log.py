"""Change log: rows changed since the last backup, written out in batches and read back on restore.

Database triggers record each change in its own transaction, so that no module can forget to. Only named tables are
copied: own images, keys and judges' replies never leave this way. The backup identifies a voter by a random key held
only here: once the key is deleted, nobody can tell whose votes they were.
"""

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    text,
    tuple_,
)

from arena.battles.tables import VOTER
from arena.budget import spend_reserved
from arena.database import (
    DIGEST,
    META,
    METADATA,
    Database,
    Moment,
    bump_counter,
    counter,
    now,
    take_turn,
)
from arena.types import grouped

OUTBOX = Table(
    "outbox",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    sqlite_autoincrement=True,
)
VOTER_KEY = Table(
    "voter_key",
    METADATA,
    Column("voter_id", ForeignKey("voter.id"), primary_key=True),
    Column("key", Text, nullable=False, unique=True),
)
COPIED = frozenset(
    "source family model model_fact predictions item image answer hidden_item seat battle turn job budget live_failure "
    "person adoption act pause official_board voter_network settlement board_model campaign campaign_end "
    "seat_entry seat_event seat_try campaign_participant mark mark_value "
    "draft draft_event draft_picture".split()
)
"""Tables in the backup. Not own images, nor imported votes, whose files may hold network addresses, nor a judge's
replies, nor claims of drafts, which lapse."""
_WITH_PICTURES = ("image", "draft_picture", "campaign")
"""Tables whose rows name kept pictures, which are copied too."""
_OF_A_SPEC = re.compile(r'"([0-9a-f]{64})\.(jpg|png)"')
"""A kept picture in a campaign's spec, of an example or a sample task."""
UNSAID = frozenset(
    {("turn", "question"), ("turn", "answer_a"), ("turn", "answer_b")}
    | {("turn", "thinking_a"), ("turn", "thinking_b")}
    | {("job", "owner"), ("job", "network"), ("mark", "owner")}
)
"""Columns copied empty: visitors' questions and answers in live battles, and the owners of jobs, stay here."""
UNNAMED = frozenset({("person", "subject")})
"""Columns replaced by the voter's random key: they show that somebody logged in, but not who."""
OF_THE_DISK = frozenset({("battle", "tick")})
"""Columns left out of the backup: the time of this database's own clock."""
_OF_A_PERSON = re.compile(r"(live )?day ")
"""Name prefix of budgets for one day and one visitor; these stay here, and a new disk starts that day at zero."""
_COPIES = "copies"
"""Counter of backup batches; a restore continues from the last one."""
_NOT_WHOLE = "is not whole; delete it from the dataset or restore it there"
_CHUNK = 500


class ChangeLogError(ValueError):
    """A line of the backup cannot be restored; the message says which."""


@dataclass(frozen=True)
class Batch:
    """Changed rows to be backed up."""

    number: int
    day: str
    """Day on which its rows were read, as YYYY-MM-DD."""
    ids: tuple[int, ...]
    """Change log ids, deleted once the backup is safe."""
    content: bytes
    """JSON lines: a header, then one changed or deleted row each."""
    pictures: frozenset[str]
    """File names of the pictures that the rows refer to."""


@dataclass(frozen=True)
class Unpacked:
    """Contents of all batches of a backup."""

    number: int
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    """Rows by table, as JSON values."""
    pictures: frozenset[str]


class ChangeLog:
    """Records one database's changes and reads them in batches; tables that do not exist yet are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = {
            table.name: table for table in METADATA.sorted_tables if table.name in COPIED
        }

    def open(self) -> None:
        """Start recording changes; all rows of a table that was never recorded count as changed."""
        with self._database.write() as connection:
            for table in self._note_changes(connection):
                connection.execute(
                    text(f"INSERT INTO outbox (name, key) {_keys_of(table, connection)}")
                )

    def waiting(self) -> int:
        with self._database.read() as connection:
            return connection.execute(select(func.count()).select_from(OUTBOX)).scalar_one()

    def empty(self) -> bool:
        """Whether no copied table has a row: the disk is new."""
        with self._database.read() as connection:
            return not any(
                connection.execute(select(table).limit(1)).first()
                for table in self._tables.values()
            )

    def batch(self, most: int, after: int = 0) -> Batch | None:
        """Up to `most` of the oldest changes after an id, with current values; None if there are none."""
        with self._database.write() as connection:
            rows = connection.execute(
                select(OUTBOX).where(OUTBOX.c.id > after).order_by(OUTBOX.c.id).limit(most)
            ).all()
            if not rows:
                return None
            bump_counter(connection, _COPIES)
            number = counter(connection, _COPIES)
            read_at = now().isoformat(timespec="seconds")
            lines: list[dict[str, Any]] = [{"copy": number, "schema": DIGEST, "at": read_at}]
            pictures: set[str] = set()
            voters: set[int] = set()
            read: list[tuple[Table, tuple, Mapping[str, Any] | None]] = []
            noted: defaultdict[str, dict[tuple, None]] = defaultdict(dict)
            for row in rows:
                noted[row.name][tuple(json.loads(row.key))] = None
            for name, table in self._tables.items():
                changed = [
                    key
                    for key in noted[name]
                    if not (name == "budget" and _OF_A_PERSON.match(key[0]))
                ]
                found = _rows(connection, table, changed)
                read += [(table, key, found.get(key)) for key in changed]
                voters.update(
                    row[column]
                    for column in _of_voter(table)
                    for row in found.values()
                    if row[column]
                )
                if name in _WITH_PICTURES:
                    pictures.update(*(_pictures(name, row) for row in found.values()))
            keys = voter_keys(connection, voters)
            lines += [
                {"table": table.name, "key": key, "row": _out(table, row, keys)}
                for table, key, row in read
            ]
        content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        return Batch(
            number,
            read_at[:10],
            tuple(row.id for row in rows),
            content.encode(),
            frozenset(pictures),
        )

    def acknowledge(self, batch: Batch) -> None:
        """Delete a batch's changes from the log, once the backup is safe."""
        with self._database.write() as connection:
            for start in range(0, len(batch.ids), _CHUNK):
                connection.execute(
                    delete(OUTBOX).where(OUTBOX.c.id.in_(batch.ids[start : start + _CHUNK]))
                )

    def unpacked(
        self, contents: Iterable[bytes], names: Iterable[str] = repeat("a file of the copy")
    ) -> Unpacked:
        """The last copied version of each row, from batches in any order. Raises ChangeLogError."""
        head, last = _merged(contents, names)
        if unknown := ", ".join(sorted({name for name, _ in last} - self._tables.keys())):
            raise ChangeLogError(
                f"the copy holds rows of {unknown}, which this program does not know"
            )
        kept = grouped((name, line["row"]) for (name, _), line in last.items() if line["row"])
        rows = {name: kept.get(name, []) for name in self._tables}
        pictures = (_pictures(name, row) for name in _WITH_PICTURES for row in rows.get(name, ()))
        return Unpacked(head["copy"], rows, frozenset().union(*pictures))

    def take_back(self, copy: Unpacked) -> None:
        """Restore a backup into an empty database, all or nothing. Voters return unidentified, with their votes.

        Reserved money comes back as spent.
        """
        with self._database.write() as connection:
            voters = self._restored_voters(connection, copy)
            for name, table in self._tables.items():
                rows = [_in(table, row, voters) for row in copy.rows[name]]
                if rows:
                    connection.execute(insert(table), rows)
                _go_on_counting(connection, table)
            self._note_changes(connection)  # only now: the restored rows are in the backup
            spend_reserved(connection)
            if copy.number:
                connection.execute(insert(META).values(name=_COPIES, value=copy.number))

    def _restored_voters(self, connection: Connection, copy: Unpacked) -> Mapping[str, int]:
        """Create a voter for every key of the backup, as old as its first row; no cookie will ever match its hash."""
        since: dict[str, datetime] = {}
        for name, table in self._tables.items():
            columns = _of_voter(table)
            for row in copy.rows[name] if columns else ():
                first = min(_moments(table, row), default=now())
                for key in filter(None, (row[column] for column in columns)):
                    since[key] = min(first, since.get(key, first))
        voters: dict[str, int] = {}
        for key, first in since.items():
            fresh = (
                insert(VOTER).values(cookie_hash=f"copy:{key}", since=first).returning(VOTER.c.id)
            )
            voters[key] = connection.execute(fresh).scalar_one()
            connection.execute(insert(VOTER_KEY).values(voter_id=voters[key], key=key))
        return voters

    def _note_changes(self, connection: Connection) -> Sequence[Table]:
        """Install the triggers that record changes, and return the tables that had none."""
        known = set(connection.scalars(select(META.c.name)))
        fresh = [table for table in self._tables.values() if f"noted {table.name}" not in known]
        for table in fresh:
            for statement in (
                _sqlite_triggers(table) if self._database.is_sqlite else _postgresql_triggers(table)
            ):
                connection.exec_driver_sql(statement)
        if fresh:
            connection.execute(
                insert(META), [{"name": f"noted {table.name}", "value": 1} for table in fresh]
            )
        return fresh


def _pictures(name: str, row: Mapping[str, Any]) -> frozenset[str]:
    """The files of the pictures that a row names and that are stored here, with their thumbnails."""
    if name == "campaign":
        kept = _OF_A_SPEC.findall(row["spec"])
    else:
        kept = [(row["sha256"], row["suffix"])] if row["sha256"] else []
    return frozenset(
        file for sha256, suffix in kept for file in (f"{sha256}.{suffix}", f"{sha256}.thumb.jpg")
    )


def _lines(content: bytes, name: str) -> list[dict[str, Any]]:
    """The lines of a batch, its header first. Raises ChangeLogError, which names the file."""
    try:
        lines = [json.loads(line) for line in content.decode().splitlines()]
        schema = lines[0]["schema"]
        is_whole = (
            all({"table", "key", "row"} <= line.keys() for line in lines[1:])
            and lines[0]["copy"] > 0
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ChangeLogError(f"{name} {_NOT_WHOLE}") from error
    if not is_whole:
        raise ChangeLogError(f"{name} {_NOT_WHOLE}")
    if schema != DIGEST:
        raise ChangeLogError(
            f"{name} was made by a development version; start with an empty dataset"
        )
    return lines


def folded(contents: Iterable[bytes], names: Iterable[str]) -> bytes:
    """One file in place of several: the last version of each row, deletions too. Raises ChangeLogError."""
    head, last = _merged(contents, names)
    return "".join(
        json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *last.values())
    ).encode()


def _merged(
    contents: Iterable[bytes], names: Iterable[str]
) -> tuple[dict[str, Any], dict[tuple, dict[str, Any]]]:
    """The latest header, and the latest line of each row, with the number of its batch. Raises ChangeLogError."""
    head: dict[str, Any] = {"copy": 0, "schema": DIGEST}
    last: dict[tuple, dict[str, Any]] = {}
    for first, *lines in map(_lines, contents, names):
        head = max(head, first, key=lambda one: one["copy"])
        for line in lines:
            key = (line["table"], tuple(line["key"]))
            line = {"copy": first["copy"], **line}
            if key not in last or last[key]["copy"] <= line["copy"]:
                last[key] = line
    return head, last


def _keys(table: Table, row: str) -> str:
    """The columns of a table's key, in SQL."""
    return ", ".join(f'{row}."{column.name}"' for column in table.primary_key)


def _keys_of(table: Table, connection: Connection) -> str:
    """A SELECT of the change log rows for all rows of a table."""
    columns = _keys(table, f'"{table.name}"')
    array = (
        f"json_array({columns})"
        if connection.dialect.name == "sqlite"
        else f"json_build_array({columns})::text"
    )
    return f"SELECT '{table.name}', {array} FROM \"{table.name}\""


def _sqlite_triggers(table: Table) -> list[str]:
    return [
        f'CREATE TRIGGER "outbox_{table.name}_{event.lower()}" AFTER {event} ON "{table.name}" BEGIN '
        f"INSERT INTO outbox (name, key) VALUES ('{table.name}', json_array({_keys(table, row)})); END"
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ]


def _postgresql_triggers(table: Table) -> list[str]:
    return [
        f"CREATE FUNCTION outbox_{table.name}() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f'DECLARE changed "{table.name}"; BEGIN '
        "IF TG_OP = 'DELETE' THEN changed = OLD; ELSE changed = NEW; END IF; "
        f"INSERT INTO outbox (name, key) VALUES ('{table.name}', json_build_array({_keys(table, 'changed')})::text); "
        "RETURN NULL; END $$",
        f'CREATE TRIGGER "outbox_{table.name}" AFTER INSERT OR UPDATE OR DELETE ON "{table.name}" '
        f"FOR EACH ROW EXECUTE FUNCTION outbox_{table.name}()",
    ]


def _rows(
    connection: Connection, table: Table, keys: Sequence[tuple]
) -> dict[tuple, Mapping[str, Any]]:
    """Rows by their keys; deleted rows are missing."""
    columns = list(table.primary_key)
    found: dict[tuple, Mapping[str, Any]] = {}
    for start in range(0, len(keys), _CHUNK):
        wanted = keys[start : start + _CHUNK]
        which = (
            columns[0].in_([key[0] for key in wanted])
            if len(columns) == 1
            else tuple_(*columns).in_(wanted)
        )
        for row in connection.execute(select(table).where(which)):
            found[tuple(row._mapping[column] for column in columns)] = {**row._mapping}
    return found


def _of_voter(table: Table) -> frozenset[str]:
    return frozenset(
        column.name
        for column in table.columns
        for key in column.foreign_keys
        if key.column is VOTER.c.id
    )


def _moments(table: Table, row: Mapping[str, Any]) -> list[datetime]:
    """All times in a row of the backup."""
    values = (
        (column.type, row[column.name])
        for column in table.columns
        if isinstance(column.type, Moment)
    )
    return [moment for kind, value in values if (moment := kind.process_result_value(value, None))]


def voter_keys(connection: Connection, voters: Collection[int]) -> dict[int, str]:
    """The random key of each voter, created for new ones."""
    take_turn(connection, VOTER_KEY)
    keys: dict[int, str] = {}
    wanted = list(voters)
    for start in range(0, len(wanted), _CHUNK):
        mine = VOTER_KEY.c.voter_id.in_(wanted[start : start + _CHUNK])
        keys |= {row.voter_id: row.key for row in connection.execute(select(VOTER_KEY).where(mine))}
    new = {voter: secrets.token_urlsafe(12) for voter in voters if voter not in keys}
    if new:
        connection.execute(
            insert(VOTER_KEY), [{"voter_id": voter, "key": key} for voter, key in new.items()]
        )
    return keys | new


def _out(
    table: Table, row: Mapping[str, Any] | None, keys: Mapping[int, str]
) -> dict[str, Any] | None:
    """A row as JSON: times in microseconds since 1970, voters as keys; None if it is deleted."""
    if row is None:
        return None
    of_voter = _of_voter(table)
    out: dict[str, Any] = {}
    for column in table.columns:
        value = row[column.name]
        if (table.name, column.name) in OF_THE_DISK or column.computed is not None:
            continue
        if (table.name, column.name) in UNSAID:
            value = ""
        elif (table.name, column.name) in UNNAMED:
            value = f"copy:{keys.get(row['voter_id'])}"
        elif column.name in of_voter and value is not None:
            value = keys.get(value)
        elif isinstance(column.type, Moment):
            value = column.type.process_bind_param(value, None)
        out[column.name] = value
    return out


def _in(table: Table, row: Mapping[str, Any], voters: Mapping[str, int]) -> dict[str, Any]:
    of_voter = _of_voter(table)
    taken: dict[str, Any] = {}
    for name, value in row.items():
        if name in of_voter and value is not None:
            value = voters[value]
        elif isinstance(moment := table.c[name].type, Moment):
            value = moment.process_result_value(value, None)
        taken[name] = value
    return taken


def _go_on_counting(connection: Connection, table: Table) -> None:
    """Set PostgreSQL's id sequence past the restored rows; SQLite does so by itself."""
    if connection.dialect.name == "postgresql" and [
        column.name for column in table.primary_key
    ] == ["id"]:
        last = f'(SELECT max(id) FROM "{table.name}")'
        sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
        connection.execute(
            text(f"SELECT setval({sequence}, {last}) WHERE {sequence} IS NOT NULL AND {last} > 0")
        )
