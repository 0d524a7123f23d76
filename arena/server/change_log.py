"""Change log: the rows that changed since the last backup, read in batches and written back at a restore.

Database triggers record each change in its own transaction, so that no module can forget to. Only the tables in COPIED
are copied: own images, keys and judges' replies never leave this way. The backup identifies a voter by a random key,
as the public export does: once the key is deleted, the votes are anonymous.
"""

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    Row,
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
"""Tables in the backup. Left out are own images, imported votes (their files may hold network addresses), judges'
replies, and claims of drafts, which lapse."""
_PICTURE_TABLES = ("image", "draft_picture", "campaign")
"""Tables whose rows name pictures, which are copied too."""
_SPEC_PICTURE = re.compile(r'"([0-9a-f]{64})\.(jpg|png)"')
"""A picture of an example or a sample task in a campaign's spec."""
EMPTIED_COLUMNS = frozenset(
    {
        ("turn", "question"),
        ("turn", "answer_a"),
        ("turn", "answer_b"),
        ("turn", "thinking_a"),
        ("turn", "thinking_b"),
        ("job", "owner"),
        ("job", "asker"),
        ("job", "network"),
        ("mark", "owner"),
    }
)
"""Columns copied empty: visitors' questions and answers in live battles, and the owners of jobs, stay here."""
KEYED_COLUMNS = frozenset({("person", "subject")})
"""Columns replaced by the voter's random key: they show that somebody logged in, but not who."""
LOCAL_COLUMNS = frozenset({("battle", "tick")})
"""Columns left out of the backup: the time of this database's own clock."""
_VISITOR_BUDGET = re.compile(r"(live )?day ")
"""Name prefix of budgets for one day and one visitor; these stay here, and a new disk starts that day at zero."""
_COPIES = "copies"
"""Counter of backup batches; a restore continues from the last one."""
_ACKNOWLEDGED = "acknowledged copies"
"""The number of the latest batch that is safe in a backup, in the meta table."""
_NOT_WHOLE = "isn't whole. Delete it from the dataset or restore it there"
_KEYS_AT_ONCE = 500
"""The most keys in one statement."""


class ChangeLogError(ValueError):
    """A file of the backup can't be restored. The message names it."""


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
class BackupContents:
    """Contents of all batches of a backup."""

    number: int
    """The number of its latest batch."""
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    """Rows by table, as JSON values."""
    pictures: frozenset[str]
    voter_keys: Mapping[str, Sequence[Sequence[Any]]]
    """Keys of rows by table, for tables with a voter in the key."""


class _Change(NamedTuple):
    """A changed row of a table, with its current values; None for a deleted row."""

    table: Table
    key: tuple
    row: Mapping[str, Any] | None


class ChangeLog:
    """Records a database's changes and reads them in batches. Tables that don't exist yet are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables = {
            table.name: table for table in METADATA.sorted_tables if table.name in COPIED
        }

    def open(self) -> None:
        """Starts recording changes. All rows of a table that was never recorded count as changed."""
        with self._database.write() as connection:
            for table in self._install_triggers(connection):
                _note_all_rows(connection, table)

    def start_anew(self) -> None:
        """Counts all rows as changed, for a backup that has none of them yet."""
        with self._database.write() as connection:
            connection.execute(delete(OUTBOX))
            for table in self._tables.values():
                _note_all_rows(connection, table)

    def last_number(self) -> int:
        """Returns the number of the latest batch."""
        with self._database.read() as connection:
            return counter(connection, _COPIES)

    def acknowledged_number(self) -> int:
        """Returns the number of the latest batch that is safe in a backup; 0 before the first, and after a restore."""
        with self._database.read() as connection:
            return counter(connection, _ACKNOWLEDGED)

    def count_waiting(self) -> int:
        """Returns the number of changes that are not acknowledged yet."""
        with self._database.read() as connection:
            return connection.execute(select(func.count()).select_from(OUTBOX)).scalar_one()

    def is_empty(self) -> bool:
        """Whether all copied tables are empty, as on a new disk."""
        with self._database.read() as connection:
            return self._has_no_rows(connection)

    def _has_no_rows(self, connection: Connection) -> bool:
        tables = self._tables.values()
        return not any(connection.execute(select(table).limit(1)).first() for table in tables)

    def batch(self, most: int, after: int = 0) -> Batch | None:
        """Returns up to `most` of the oldest changes after an id, with current values; None if there are none."""
        with self._database.write() as connection:
            oldest = select(OUTBOX).where(OUTBOX.c.id > after).order_by(OUTBOX.c.id).limit(most)
            rows = connection.execute(oldest).all()
            if not rows:
                return None
            bump_counter(connection, _COPIES)
            number = counter(connection, _COPIES)
            read_at = now().isoformat(timespec="seconds")
            pictures: set[str] = set()
            voters: set[int] = set()
            changes: list[_Change] = []
            changed_keys = _changed_keys(rows)
            for name, table in self._tables.items():
                keys = changed_keys.get(name, ())
                stored = _read_rows(connection, table, keys)
                changes += [_Change(table, key, stored.get(key)) for key in keys]
                for column in _voter_columns(table):
                    voters.update(row[column] for row in stored.values() if row[column])
                if name in _PICTURE_TABLES:
                    for row in stored.values():
                        pictures |= _pictures(name, row)
            # A row is written with the keys of its voters, who are known only now.
            keys_of_voters = voter_keys(connection, voters)
        lines: list[dict[str, Any]] = [{"copy": number, "schema": DIGEST, "at": read_at}]
        for change in changes:
            values = _to_json(change.table, change.row, keys_of_voters)
            lines.append({"table": change.table.name, "key": change.key, "row": values})
        return Batch(
            number=number,
            day=read_at[:10],
            ids=tuple(row.id for row in rows),
            content=_json_lines(lines),
            pictures=frozenset(pictures),
        )

    def acknowledge(self, batch: Batch) -> None:
        """Deletes a batch's changes from the log, once the backup is safe."""
        with self._database.write() as connection:
            for start in range(0, len(batch.ids), _KEYS_AT_ONCE):
                ids = batch.ids[start : start + _KEYS_AT_ONCE]
                connection.execute(delete(OUTBOX).where(OUTBOX.c.id.in_(ids)))
            number = self._database.insert(META).values(name=_ACKNOWLEDGED, value=batch.number)
            latest_number = number.on_conflict_do_update(
                index_elements=["name"],
                set_={"value": batch.number},
                where=META.c.value < batch.number,
            )
            connection.execute(latest_number)

    def unpack(
        self, contents: Iterable[bytes], names: Iterable[str] = repeat("a file of the copy")
    ) -> BackupContents:
        """Returns the last copied version of each row, from batches in any order.

        `names`: the files' names, for the error of one that can't be read. Raises ChangeLogError.
        """
        header, lines = _merge(contents, names)
        unknown = sorted({name for name, _ in lines} - self._tables.keys())
        if unknown:
            raise ChangeLogError(
                f"the copy has rows of {', '.join(unknown)}, which this version doesn't know. Update this program"
            )
        current = grouped((name, line["row"]) for (name, _), line in lines.items() if line["row"])
        rows = {name: current.get(name, []) for name in self._tables}
        pictures = (_pictures(name, row) for name in _PICTURE_TABLES for row in rows.get(name, ()))
        voter_keys = grouped(
            (name, line["key"])
            for (name, _), line in lines.items()
            if line["row"] and _has_voter_key(self._tables[name])
        )
        return BackupContents(header["copy"], rows, frozenset().union(*pictures), voter_keys)

    def restore(self, copy: BackupContents) -> None:
        """Restores a backup into an empty database, all or nothing. Does nothing if another server has restored it.

        Voters come back with their votes and without their cookies. Reserved money comes back as spent.
        """
        with self._database.write() as connection:
            take_turn(connection, OUTBOX)
            if not self._has_no_rows(connection):
                return  # another server of this database was first
            voters = self._restore_voters(connection, copy)
            for name, table in self._tables.items():
                rows = [_from_json(table, row, voters) for row in copy.rows[name]]
                if rows:
                    connection.execute(insert(table), rows)
                _continue_ids(connection, table)
            # Only now, because the restored rows are in the backup already.
            self._install_triggers(connection)
            self._note_renumbered(connection, copy)
            spend_reserved(connection)
            if copy.number:
                connection.execute(insert(META).values(name=_COPIES, value=copy.number))

    def _note_renumbered(self, connection: Connection, copy: BackupContents) -> None:
        """Counts rows with a voter in their key as changed. Voters have new numbers after a restore, so the backup has
        these rows under other keys, which later voters get.
        """
        for name, keys in copy.voter_keys.items():
            _note_all_rows(connection, self._tables[name])
            old_keys = [{"name": name, "key": json.dumps(key)} for key in keys]
            connection.execute(insert(OUTBOX), old_keys)

    def _restore_voters(self, connection: Connection, copy: BackupContents) -> Mapping[str, int]:
        """Creates a voter for every key of the backup, as old as its first row. No cookie matches the voter's hash."""
        since: dict[str, datetime] = {}
        for name, table in self._tables.items():
            columns = _voter_columns(table)
            if not columns:
                continue
            for row in copy.rows[name]:
                first = min(_times(table, row), default=now())
                keys = [row[column] for column in columns if row[column]]
                for key in keys:
                    since[key] = min(first, since.get(key, first))
        voters: dict[str, int] = {}
        for key, first in since.items():
            new_voter = insert(VOTER).values(cookie_hash=f"copy:{key}", since=first)
            voters[key] = connection.execute(new_voter.returning(VOTER.c.id)).scalar_one()
            connection.execute(insert(VOTER_KEY).values(voter_id=voters[key], key=key))
        return voters

    def _install_triggers(self, connection: Connection) -> Sequence[Table]:
        """Installs the triggers that record changes, and returns the tables that had none."""
        take_turn(connection, OUTBOX)  # servers that start at once wait for one another
        names = set(connection.scalars(select(META.c.name)))
        new_tables = [
            table for table in self._tables.values() if f"noted {table.name}" not in names
        ]
        triggers = _sqlite_triggers if self._database.is_sqlite else _postgresql_triggers
        for table in new_tables:
            for statement in triggers(table):
                connection.exec_driver_sql(statement)
        if new_tables:
            rows = [{"name": f"noted {table.name}", "value": 1} for table in new_tables]
            connection.execute(insert(META), rows)
        return new_tables


def _changed_keys(rows: Iterable[Row]) -> Mapping[str, Sequence[tuple]]:
    """Returns the keys of the change log's rows by table, each key once, without visitors' budgets."""
    keys: defaultdict[str, list[tuple]] = defaultdict(list)
    each_once = dict.fromkeys((row.name, row.key) for row in rows)
    for name, text_of_key in each_once:
        key = tuple(json.loads(text_of_key))
        if name == "budget" and _VISITOR_BUDGET.match(key[0]):
            continue
        keys[name].append(key)
    return keys


def _pictures(name: str, row: Mapping[str, Any]) -> frozenset[str]:
    """Returns the files of the stored pictures that a row names, and their thumbnails."""
    if name == "campaign":
        pictures = _SPEC_PICTURE.findall(row["spec"])
    else:
        pictures = [(row["sha256"], row["suffix"])] if row["sha256"] else []
    files = set()
    for sha256, suffix in pictures:
        files.add(f"{sha256}.{suffix}")
        files.add(f"{sha256}.thumb.jpg")
    return frozenset(files)


def _parse_lines(content: bytes, name: str) -> list[dict[str, Any]]:
    """Returns the lines of a batch, its header first. Raises ChangeLogError, which names the file."""
    try:
        lines = [json.loads(line) for line in content.decode().splitlines()]
        schema = lines[0]["schema"]
        has_number = lines[0]["copy"] > 0
        are_changes = all(map(_is_change, lines[1:]))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ChangeLogError(f"{name} {_NOT_WHOLE}") from error
    if not has_number or not are_changes:
        raise ChangeLogError(f"{name} {_NOT_WHOLE}")
    if schema != DIGEST:
        raise ChangeLogError(
            f"{name} was made by a development version. Start with an empty dataset"
        )
    return lines


def _is_change(line: Mapping[str, Any]) -> bool:
    """Whether a line has the members of a changed or deleted row. Raises AttributeError if it is no object."""
    has_members = {"table", "key", "row"} <= line.keys()
    return has_members and isinstance(line["key"], list) and isinstance(line["row"], dict | None)


def fold_files(contents: Iterable[bytes], names: Iterable[str]) -> bytes:
    """Returns one file in place of several, with the last version or deletion of each row. Raises ChangeLogError."""
    header, lines = _merge(contents, names)
    return _json_lines([header, *lines.values()])


def _json_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


class _Merged(NamedTuple):
    """Batches as one."""

    header: dict[str, Any]
    """The latest header."""
    lines: dict[tuple, dict[str, Any]]
    """The latest line of each row, by table and key, with its batch's number."""


def _merge(contents: Iterable[bytes], names: Iterable[str]) -> _Merged:
    """Returns the latest version of each row, from batches in any order. Raises ChangeLogError."""
    latest_header: dict[str, Any] = {"copy": 0, "schema": DIGEST}
    latest: dict[tuple, dict[str, Any]] = {}
    for header, *lines in map(_parse_lines, contents, names):
        if header["copy"] > latest_header["copy"]:
            latest_header = header
        for line in lines:
            key = (line["table"], tuple(line["key"]))
            # A line of a folded file has its own number, which stays.
            numbered_line = {"copy": header["copy"], **line}
            if key not in latest or latest[key]["copy"] <= numbered_line["copy"]:
                latest[key] = numbered_line
    return _Merged(latest_header, latest)


def _key_columns(table: Table, row: str) -> str:
    """Returns the columns of a table's key, in SQL."""
    return ", ".join(f'{row}."{column.name}"' for column in table.primary_key)


def _note_all_rows(connection: Connection, table: Table) -> None:
    """Counts all rows of a table as changed."""
    columns = _key_columns(table, f'"{table.name}"')
    is_sqlite = connection.dialect.name == "sqlite"
    array = f"json_array({columns})" if is_sqlite else f"json_build_array({columns})::text"
    rows = f"SELECT '{table.name}', {array} FROM \"{table.name}\""
    connection.execute(text(f"INSERT INTO outbox (name, key) {rows}"))


def _sqlite_triggers(table: Table) -> list[str]:
    """Returns the statements that create a table's triggers. A row whose key changes is gone under its old one."""
    old = f"json_array({_key_columns(table, 'OLD')})"
    new = f"json_array({_key_columns(table, 'NEW')})"
    note_old = f"INSERT INTO outbox (name, key) SELECT '{table.name}', {old}"
    note_new = f"INSERT INTO outbox (name, key) SELECT '{table.name}', {new}"
    notes = {
        "INSERT": note_new,
        "UPDATE": f"{note_new}; {note_old} WHERE {old} != {new}",
        "DELETE": note_old,
    }
    return [
        f'CREATE TRIGGER "outbox_{table.name}_{event.lower()}" AFTER {event} ON "{table.name}" BEGIN {note}; END'
        for event, note in notes.items()
    ]


def _postgresql_triggers(table: Table) -> list[str]:
    """Returns the statements that create a table's trigger and its function."""
    old = _key_columns(table, "OLD")
    new = _key_columns(table, "NEW")
    note = f"INSERT INTO outbox (name, key) SELECT '{table.name}', json_build_array"
    return [
        f"CREATE FUNCTION outbox_{table.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF TG_OP != 'DELETE' THEN {note}({new})::text; END IF; "
        f"IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND ROW({old}) != ROW({new}) "
        f"THEN {note}({old})::text; END IF; "
        "RETURN NULL; END $$",
        f'CREATE TRIGGER "outbox_{table.name}" AFTER INSERT OR UPDATE OR DELETE ON "{table.name}" '
        f"FOR EACH ROW EXECUTE FUNCTION outbox_{table.name}()",
    ]


def _read_rows(
    connection: Connection, table: Table, keys: Sequence[tuple]
) -> dict[tuple, Mapping[str, Any]]:
    """Returns rows by their keys; deleted rows are missing."""
    columns = list(table.primary_key)
    rows: dict[tuple, Mapping[str, Any]] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        wanted = keys[start : start + _KEYS_AT_ONCE]
        is_wanted = tuple_(*columns).in_(wanted)
        if len(columns) == 1:
            is_wanted = columns[0].in_([key[0] for key in wanted])
        for row in connection.execute(select(table).where(is_wanted)):
            rows[tuple(row._mapping[column] for column in columns)] = {**row._mapping}
    return rows


def _voter_columns(table: Table) -> frozenset[str]:
    """Returns the columns of a table that name a voter."""
    return frozenset(
        column.name
        for column in table.columns
        for key in column.foreign_keys
        if key.column is VOTER.c.id
    )


def _has_voter_key(table: Table) -> bool:
    """Whether a voter is in a table's key."""
    return not _voter_columns(table).isdisjoint(column.name for column in table.primary_key)


def _times(table: Table, row: Mapping[str, Any]) -> list[datetime]:
    """Returns all times in a row of the backup."""
    moments = []
    for column in table.columns:
        if isinstance(column.type, Moment):
            moment = column.type.process_result_value(row[column.name], None)
            if moment:
                moments.append(moment)
    return moments


def voter_keys(connection: Connection, voters: Collection[int]) -> dict[int, str]:
    """Returns the random key of each voter. New voters get one."""
    take_turn(connection, VOTER_KEY)
    keys: dict[int, str] = {}
    wanted = list(voters)
    for start in range(0, len(wanted), _KEYS_AT_ONCE):
        is_wanted = VOTER_KEY.c.voter_id.in_(wanted[start : start + _KEYS_AT_ONCE])
        for row in connection.execute(select(VOTER_KEY).where(is_wanted)):
            keys[row.voter_id] = row.key
    new = {voter: secrets.token_urlsafe(12) for voter in voters if voter not in keys}
    if new:
        rows = [{"voter_id": voter, "key": key} for voter, key in new.items()]
        connection.execute(insert(VOTER_KEY), rows)
    return keys | new


def _to_json(
    table: Table, row: Mapping[str, Any] | None, keys: Mapping[int, str]
) -> dict[str, Any] | None:
    """Returns a row as JSON, with times in microseconds since 1970 and voters as keys; None for a deleted row."""
    if row is None:
        return None
    voter_columns = _voter_columns(table)
    values: dict[str, Any] = {}
    for column in table.columns:
        value = row[column.name]
        if (table.name, column.name) in LOCAL_COLUMNS or column.computed is not None:
            continue
        if (table.name, column.name) in EMPTIED_COLUMNS:
            value = ""
        elif (table.name, column.name) in KEYED_COLUMNS:
            value = f"copy:{keys.get(row['voter_id'])}"
        elif column.name in voter_columns and value is not None:
            value = keys.get(value)
        elif isinstance(column.type, Moment):
            value = column.type.process_bind_param(value, None)
        values[column.name] = value
    return values


def _from_json(table: Table, row: Mapping[str, Any], voters: Mapping[str, int]) -> dict[str, Any]:
    """Returns a row's columns from JSON, with the ids of voters by their keys; the opposite of `_to_json`."""
    voter_columns = _voter_columns(table)
    values: dict[str, Any] = {}
    for name, value in row.items():
        column_type = table.c[name].type
        if name in voter_columns and value is not None:
            value = voters[value]
        elif isinstance(column_type, Moment):
            value = column_type.process_result_value(value, None)
        values[name] = value
    return values


def _continue_ids(connection: Connection, table: Table) -> None:
    """Sets PostgreSQL's id sequence past the restored rows; SQLite does so by itself."""
    key = [column.name for column in table.primary_key]
    if connection.dialect.name != "postgresql" or key != ["id"]:
        return
    last = f'(SELECT max(id) FROM "{table.name}")'
    sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
    connection.execute(
        text(f"SELECT setval({sequence}, {last}) WHERE {sequence} IS NOT NULL AND {last} > 0")
    )
