"""What an attack must leave as it was: the tables, the log, and an answer that tells nothing."""

import hashlib
import json
import re
import sqlite3
from contextlib import closing

from tests.support.servers import ROOT, AppServer


def fingerprint(server: AppServer) -> dict[str, tuple[int, str]]:
    """Return how many rows each table has, and a hash of them.

    The clock goes on by itself, and a board notes its models whenever somebody reads it.
    """
    with closing(sqlite3.connect(server.data_dir / "arena.db")) as database:
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('clock', 'board_model')"
        ).fetchall()
        rows = {
            name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for (name,) in tables
        }
    return {
        name: (len(found), hashlib.sha256(repr(found).encode()).hexdigest())
        for name, found in rows.items()
    }


def assert_tells_nothing(text: str) -> None:
    """An answer holds no traceback, no path of ours, no statement and no file."""
    for word in (
        "Traceback",
        'File "',
        str(ROOT),
        "sqlalchemy",
        "sqlite",
        "SELECT ",
        "INSERT ",
        "root:x:",
        "/gradio_api/file=",
    ):
        assert word not in text, text[:2000]


def log_text(server: AppServer) -> str:
    """Return what the log says, without the JSON around it."""
    texts = []
    for line in server.log.read_text("utf-8").splitlines():
        record = json.loads(line) if line.startswith("{") else {"text": line}
        texts += [record["text"], record.get("error", "")]
    return "\n".join(texts) + "\n"


def faults_of_ours(server: AppServer) -> list[str]:
    """Return the places in our own files where the log's tracebacks end."""
    place = r'((?:app\.py|(?:arena|scoring)/[\w/]+\.py)", line \d+, in \w+)'
    ours = rf'File "{re.escape(str(ROOT))}/{place}\n(?:    .*\n)*(?=\S)'
    return re.findall(ours, log_text(server))
