"""Signed voter cookies for tests: of a middleware alone, and of a server's database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from arena.web.cookies import VoterCookies

SIGNER = VoterCookies(bytes(32))


def signer_of(data_dir: Path) -> VoterCookies:
    """Return what signs as the server with this folder does."""
    with closing(sqlite3.connect(data_dir / "arena.db")) as database:
        (key,) = database.execute("SELECT key FROM secret_key WHERE name = 'cookies'").fetchone()
    return VoterCookies(bytes.fromhex(key))
