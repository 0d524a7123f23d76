"""Reply cache: no question is asked and paid for twice, after a crash or for the same texts in another file."""

import hashlib
import json
from collections.abc import Iterable, Iterator

from sqlalchemy import Column, Table, Text, select

from arena.database import METADATA, Database, Moment, now
from scoring.judges.spec import Ask, JudgeSpec, Reply, request_body
from scoring.serialize import read_record, record_json

REPLY = Table(
    "reply",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("reply", Text, nullable=False),
    Column("created", Moment, nullable=False),
)
_KEYS_PER_QUERY = 500
_VERSION = 1
"""Version of the key; a new version invalidates every cached reply."""


class ReplyCache:
    """Replies in the database; the first reply under a key stays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Reply | None:
        with self._database.read() as connection:
            text = connection.scalar(select(REPLY.c.reply).where(REPLY.c.key == key))
        if text is None:
            return None
        return read_record(Reply, text)

    def put(self, key: str, reply: Reply) -> Reply:
        """Stores a reply unless another process was faster, and returns the one that is stored."""
        values = {"key": key, "reply": record_json(reply), "created": now()}
        insert = self._database.insert(REPLY).values(values).on_conflict_do_nothing()
        stored = select(REPLY.c.reply).where(REPLY.c.key == key)
        with self._database.write() as connection:
            is_new = connection.execute(insert).rowcount > 0
            if is_new:
                return reply
            return read_record(Reply, connection.execute(stored).scalar_one())

    def cached_replies(self, keys: Iterable[str]) -> Iterator[tuple[str, Reply]]:
        """Yields the cached replies of these keys, each with its key."""
        key_list = list(keys)
        for start in range(0, len(key_list), _KEYS_PER_QUERY):
            part = key_list[start : start + _KEYS_PER_QUERY]
            with self._database.read() as connection:
                rows = connection.execute(
                    select(REPLY.c.key, REPLY.c.reply).where(REPLY.c.key.in_(part))
                ).all()
            yield from ((key, read_record(Reply, reply)) for key, reply in rows)


def reply_key(
    spec: JudgeSpec, address: str, owner: str | None, ask: Ask, run: int, ordinal: int
) -> str:
    """The sha256 of the request, the endpoint and the endpoint's owner (None: the operator), without any secret.

    `ordinal` is the call's position among those of its task. A call for one sample has its own key in each run and at
    each ordinal, so that a later run asks anew. A call for several samples brings the replies of all runs at once, so
    its key depends on neither.
    """
    call = [run, ordinal] if ask.samples == 1 else None
    digested = {
        "version": _VERSION,
        "address": address,
        "owner": owner,
        "call": call,
        "request": request_body(spec, ask),
    }
    return hashlib.sha256(json.dumps(digested, sort_keys=True).encode("ascii")).hexdigest()
