"""Owners: a person's reports in several browsers, which a code brings together.

A report belongs to the cookie under which it was scored, or to the account that was logged in. When one browser shows a
code, and another enters it within minutes, the reports of both get one owner, and both browsers act as that owner. This
is the browser that shows the code, unless only the other one has an account. Only the code's digest is stored.

A login makes the browser's own reports the account's. The guest's cookie owns none of them any more: somebody may have
planted it. After a logout the browser owns nothing.
"""

import hashlib
import re
import secrets
from datetime import timedelta

from sqlalchemy import (
    Column,
    Connection,
    Table,
    Text,
    column,
    delete,
    insert,
    inspect,
    select,
    table,
    update,
)

from arena.battles.voters import PERSON_KEY, Account, key_of, person_key
from arena.database import METADATA, Database, Moment, now, take_turn

REPORT_CODE = Table(
    "report_code",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("until", Moment, nullable=False),
)
"""Codes that were shown and not entered yet; not in the backup."""
REPORT_BROWSER = Table(
    "report_browser",
    METADATA,
    Column("cookie", Text, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
)
"""The owner with whom a browser or account was merged; `cookie` is its key by `key_of`.

Not in the backup, whose reports have no owner.
"""
OWNED_TABLES = tuple(
    table(name, column("owner")) for name in ("job", "submission", "mark", "secret_report")
)
"""The tables whose rows belong to an owner."""
CODE_LIFETIME = timedelta(minutes=10)
_CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_LENGTH = 20
"""20 of 30 letters: 98 bits."""
_GAPS = re.compile(r"[\s-]")


class CodeError(ValueError):
    """A code that opens nothing; the message says what to do."""


class ReportOwners:
    """Owners by the hashes of their browsers' cookies, and the codes of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owner_of(self, cookie: str) -> str:
        """Returns the owner of a browser's reports: itself or its account, unless it entered another owner's code."""
        with self._database.read() as connection:
            return _owner_of_cookie(connection, cookie)

    def show_code(self, cookie: str) -> str:
        """Returns a fresh code of a browser's owner, which replaces any earlier one."""
        code = "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_LENGTH))
        with self._database.write() as connection:
            take_turn(connection, REPORT_CODE)
            owner = _owner_of_cookie(connection, cookie)
            is_old = (REPORT_CODE.c.owner == owner) | (REPORT_CODE.c.until < now())
            connection.execute(delete(REPORT_CODE).where(is_old))
            values = {"digest": _digest(code), "owner": owner, "until": now() + CODE_LIFETIME}
            connection.execute(insert(REPORT_CODE).values(values))
        return "-".join(code[start : start + 4] for start in range(0, _CODE_LENGTH, 4))

    def enter_code(self, cookie: str, typed: str) -> None:
        """Merges a browser's reports with those of the code's owner, and uses the code up. Raises CodeError."""
        digest = _digest(_GAPS.sub("", typed[:100]).upper())
        is_valid = (REPORT_CODE.c.digest == digest) & (REPORT_CODE.c.until >= now())
        with self._database.write() as connection:
            take_turn(connection, REPORT_CODE)
            spend_code = delete(REPORT_CODE).where(is_valid).returning(REPORT_CODE.c.owner)
            code_owner = connection.scalar(spend_code)
            if code_owner is None:
                raise CodeError(
                    "This code opens nothing: it was used, is older than 10 minutes, or has a typo."
                )
            # Since it showed the code, the owner may have been merged with another.
            showing_owner = _owner_of_cookie(connection, code_owner)
            entering_owner = _owner_of_cookie(connection, cookie)
            if entering_owner == showing_owner:
                return
            # an account stays the owner, whoever logs in at the other browser
            if entering_owner.startswith(PERSON_KEY) and not showing_owner.startswith(PERSON_KEY):
                _merge(connection, showing_owner, new_owner=entering_owner)
            else:
                _merge(connection, entering_owner, new_owner=showing_owner)

    def log_in(self, account: Account, guest: str) -> None:
        """Moves a guest's reports to the account that has just logged in.

        `guest`: the hash of the guest's cookie. Reports that the guest shares by another owner's code stay there.
        """
        with self._database.write() as connection:
            take_turn(connection, REPORT_CODE)
            # No browser that shares the guest's reports, or could by a code, gets to share the account's.
            connection.execute(delete(REPORT_BROWSER).where(REPORT_BROWSER.c.owner == guest))
            connection.execute(delete(REPORT_CODE).where(REPORT_CODE.c.owner == guest))
            owner = _final_owner(connection, person_key(account.hashed))
            _move_reports(connection, guest, owner)


def _move_reports(connection: Connection, old_owner: str, new_owner: str) -> None:
    """Gives one owner's reports to another."""
    for owned_table in OWNED_TABLES:
        # A table is missing until the module that defines it is loaded.
        if not inspect(connection).has_table(owned_table.name):
            continue
        rows = update(owned_table).where(owned_table.c.owner == old_owner)
        connection.execute(rows.values(owner=new_owner))


def _merge(connection: Connection, old_owner: str, new_owner: str) -> None:
    """Makes one owner part of another: its reports of today and later, and the browsers that were merged with it."""
    _move_reports(connection, old_owner, new_owner)
    browsers = update(REPORT_BROWSER).where(REPORT_BROWSER.c.owner == old_owner)
    connection.execute(browsers.values(owner=new_owner))
    connection.execute(insert(REPORT_BROWSER).values(cookie=old_owner, owner=new_owner))


def _owner_of_cookie(connection: Connection, cookie: str) -> str:
    """Returns the owner of a browser's reports, from the hash of its cookie."""
    return _final_owner(connection, key_of(connection, cookie))


def _final_owner(connection: Connection, key: str) -> str:
    """Returns the owner with whom this browser or account was merged, else itself."""
    query = select(REPORT_BROWSER.c.owner).where(REPORT_BROWSER.c.cookie == key)
    return connection.scalar(query) or key


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
