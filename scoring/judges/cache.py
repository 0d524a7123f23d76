"""The cache: what a judge replied, kept by everything that shaped the reply.

Nothing is asked and paid twice: not after a kill, not for the same texts in another file.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Column, Table, Text, select

from arena.database import METADATA, Database, Moment, now
from scoring.judges.spec import Ask, JudgeSpec, Reply, request

REPLY = Table(
    "reply",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("reply", Text, nullable=False),
    Column("created", Moment, nullable=False),
)
_KEYS_A_QUERY = 500
_VERSION = 1
"""Of the key; another one makes every reply be asked anew."""


class ReplyCache:
    """Keep replies in the database; the first one under a key stays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Reply | None:
        """Return the reply under a key, None if there is none."""
        with self._database.read() as connection:
            text = connection.scalar(select(REPLY.c.reply).where(REPLY.c.key == key))
        return None if text is None else _reply(text)

    def put(self, key: str, reply: Reply) -> Reply:
        """Keep a reply and return the one that is kept: another server may have been first."""
        values = {"key": key, "reply": json.dumps(asdict(reply)), "created": now()}
        with self._database.write() as connection:
            connection.execute(self._database.insert(REPLY).values(values).on_conflict_do_nothing())
            return _reply(connection.execute(select(REPLY.c.reply).where(REPLY.c.key == key)).scalar_one())

    def known(self, keys: Iterable[str]) -> frozenset[str]:
        """Return those of the keys that have a reply."""
        wanted, found = list(keys), set[str]()
        with self._database.read() as connection:
            for start in range(0, len(wanted), _KEYS_A_QUERY):
                part = wanted[start : start + _KEYS_A_QUERY]
                found |= set(connection.scalars(select(REPLY.c.key).where(REPLY.c.key.in_(part))))
        return frozenset(found)


def reply_key(spec: JudgeSpec, address: str, owner: str | None, ask: Ask, run: int, ordinal: int) -> str:
    """Return the sha256 of all that shapes a reply, with nothing secret in it.

    That is the request as it is sent, and whose address it goes to: `owner` is None for the operator's. Separate calls
    differ by their run and their place in its grading; the samples of one call serve all runs.
    """
    call = [run, ordinal] if ask.samples == 1 else None
    shaping = {"version": _VERSION, "address": address, "owner": owner, "call": call, "request": request(spec, ask)}
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode("ascii")).hexdigest()


def _reply(text: str) -> Reply:
    values = json.loads(text)
    return Reply(**{**values, "texts": tuple(values["texts"]), "finish": tuple(values["finish"])})
