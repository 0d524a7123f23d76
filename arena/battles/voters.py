"""Voters: the voter behind a cookie, logins and logouts.

A guest is one cookie. A person who logs in is one voter with a cookie for each login, so that several devices of a
person share their battles and limits. The votes of a browser as a guest before its first login belong to the person
too. A guest's cookie that is used after that login (a stolen or a planted one) is only a guest."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    ForeignKey,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    func,
    literal,
    select,
)

from arena.battles.tables import VOTER
from arena.database import METADATA, Database, Moment, now, take_turn

PERSON = Table(
    "person",
    METADATA,
    Column("voter_id", ForeignKey("voter.id"), primary_key=True),
    Column("subject", Text, nullable=False, unique=True),
    Column("since", Moment, nullable=False),
)
"""Voters who have logged in; `subject` is the hash of the provider's account number."""
ADOPTION = Table(
    "adoption",
    METADATA,
    Column("guest", ForeignKey("voter.id"), primary_key=True),
    Column("person", ForeignKey("voter.id"), nullable=False, index=True),
    Column("until", Moment, nullable=False),
)
"""The guest that a browser was before a login; its votes until then belong to the person."""
LOGIN = Table(
    "login",
    METADATA,
    Column("cookie_hash", Text, primary_key=True),
    Column("voter_id", ForeignKey("voter.id"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("ended_at", Moment),
)
"""Logins; a name is shown to its owner and to operators, never exported, and only copied to campaigns' seats."""
LOGIN_AGE = timedelta(days=30)
PERSON_KEY = "person:"
NOBODY = 0
"""The id of visitors without a voter; voters' ids begin at 1."""


def _guest_query(cookie_hash: str | BindParameter[str]) -> Select:
    return select(VOTER.c.id).where(VOTER.c.cookie_hash == cookie_hash)


_COOKIE = bindparam("cookie", type_=Text)
_IS_VALID = and_(
    LOGIN.c.cookie_hash == _COOKIE,
    LOGIN.c.ended_at.is_(None),
    LOGIN.c.since > bindparam("oldest", type_=Moment),
)
_LOGIN_QUERY = (
    select(PERSON.c.subject, LOGIN.c.name)
    .join(LOGIN, LOGIN.c.voter_id == PERSON.c.voter_id)
    .where(_IS_VALID)
)
_VOTER_QUERY = select(
    func.coalesce(
        select(LOGIN.c.voter_id).where(_IS_VALID).scalar_subquery(),
        _guest_query(_COOKIE).scalar_subquery(),
    )
)
"""The person who has logged in with a cookie, or else its guest; made once, since every event needs it."""
_LOCK_QUERY = select(VOTER.c.id).where(VOTER.c.id == bindparam("voter")).with_for_update()


@dataclass(frozen=True)
class Account:
    """A provider's account: its number at the provider, and the user name."""

    subject: str
    name: str

    @property
    def hashed(self) -> str:
        """The account's `PERSON.subject`."""
        return hashlib.sha256(self.subject.encode()).hexdigest()


class LoggedIn(NamedTuple):
    """The person of a cookie's login."""

    subject_hash: str
    """The account's `PERSON.subject`."""
    name: str


class Voters:
    """Voters by the hash of their cookie; login and logout.

    Every call asks the database, since a server with a cache would still know a visitor whom another server has
    forgotten.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def voter(self, cookie_hash: str, since: datetime | None = None) -> int:
        """Returns the voter of a cookie; the first call creates it, with the time of the cookie's issue."""
        if known := self.known(cookie_hash):
            return known
        values = {"cookie_hash": cookie_hash, "since": since or now()}
        with self._database.write() as connection:
            connection.execute(self._database.insert(VOTER).values(values).on_conflict_do_nothing())
            return connection.execute(_guest_query(cookie_hash)).scalar_one()

    def known(self, cookie_hash: str, _since: datetime | None = None) -> int:
        """Returns the voter of a cookie; NOBODY if it has none yet. Takes what `voter` takes, so as to replace it."""
        with self._database.read() as connection:
            return connection.scalar(_VOTER_QUERY, _cookie_parameters(cookie_hash)) or NOBODY

    def account(self, cookie_hash: str) -> LoggedIn | None:
        """Returns the person of a cookie's login; None for a guest."""
        with self._database.read() as connection:
            login = connection.execute(_LOGIN_QUERY, _cookie_parameters(cookie_hash)).first()
            return LoggedIn(login.subject, login.name) if login else None

    def name(self, cookie_hash: str) -> str | None:
        """Returns the user name of a cookie's login; None for a guest."""
        account = self.account(cookie_hash)
        return account.name if account else None

    def logged_in(self, voters: Collection[int]) -> frozenset[int]:
        """Returns the voters among these who are logged in anywhere."""
        if not voters:
            return frozenset()
        is_valid = LOGIN.c.ended_at.is_(None) & (LOGIN.c.since > now() - LOGIN_AGE)
        with self._database.read() as connection:
            query = select(LOGIN.c.voter_id).where(LOGIN.c.voter_id.in_(voters), is_valid)
            return frozenset(connection.scalars(query))

    def log_in(self, account: Account, old_hash: str, new_hash: str) -> int:
        """Logs an account in with a new cookie, and ends the browser's old one; returns the person's voter.

        Both cookies are given by their hashes.
        """
        with self._database.write() as connection:
            take_turn(connection, PERSON)
            person = self._person(connection, account.hashed)
            guest = connection.scalar(_guest_query(old_hash))
            if guest is not None:
                adoption = {"guest": guest, "person": person, "until": now()}
                connection.execute(
                    self._database.insert(ADOPTION).values(adoption).on_conflict_do_nothing()
                )
            _end_login(connection, old_hash)
            login = {
                "cookie_hash": new_hash,
                "voter_id": person,
                "name": account.name,
                "since": now(),
            }
            connection.execute(LOGIN.insert().values(login))
        return person

    def log_out(self, cookie_hash: str) -> None:
        """Ends the login of a cookie; the same cookie is a new guest afterwards."""
        with self._database.write() as connection:
            _end_login(connection, cookie_hash)

    def _person(self, connection: Connection, subject: str) -> int:
        """Returns the voter of an account, by `PERSON.subject`; makes it at the account's first login."""
        known = connection.scalar(select(PERSON.c.voter_id).where(PERSON.c.subject == subject))
        if known is not None:
            return known
        values = {"cookie_hash": person_key(subject), "since": now()}
        insert = VOTER.insert().values(values).returning(VOTER.c.id)
        voter = connection.execute(insert).scalar_one()
        connection.execute(PERSON.insert().values(voter_id=voter, subject=subject, since=now()))
        return voter


def person_key(subject: str) -> str:
    """Returns a person's key, by `PERSON.subject`, in place of a cookie's hash; no cookie has it."""
    return f"{PERSON_KEY}{subject}"


def key_of(connection: Connection, cookie_hash: str) -> str:
    """Returns the key of the person who is logged in with a cookie; for a guest, the hash itself."""
    account = connection.execute(_LOGIN_QUERY, _cookie_parameters(cookie_hash)).first()
    return person_key(account.subject) if account else cookie_hash


def lock(connection: Connection, voter: int) -> None:
    """Serialises the transactions of a voter, also on PostgreSQL, for several tabs or devices."""
    connection.execute(_LOCK_QUERY, {"voter": voter})


def selves(voter: int | ColumnElement[int]) -> CompoundSelect:
    """Returns a SELECT of a voter's ids: its own, and those of its guests before a login."""
    own = literal(voter) if isinstance(voter, int) else voter
    return select(own).union_all(select(ADOPTION.c.guest).where(ADOPTION.c.person == voter))


def _cookie_parameters(cookie_hash: str) -> Mapping[str, object]:
    """Returns the parameters of _VOTER_QUERY and _LOGIN_QUERY."""
    return {"cookie": cookie_hash, "oldest": now() - LOGIN_AGE}


def _end_login(connection: Connection, cookie_hash: str) -> None:
    is_open = (LOGIN.c.cookie_hash == cookie_hash) & LOGIN.c.ended_at.is_(None)
    connection.execute(LOGIN.update().where(is_open).values(ended_at=now()))
