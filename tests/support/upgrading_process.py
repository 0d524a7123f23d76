"""Openings of databases that are to be killed: `python -m tests.support.upgrading_process`.

A fork server: each line on its input (an address and a number) starts a child that opens the database and kills itself
before its step of that number: a statement, a commit, or a change of a file. When the child is gone, its exit status is
printed: 0 if it had opened the database before it came so far.
"""

import os
import signal
import sys

from sqlalchemy import Engine, event

from arena.database import Database
from tests.support.schema_fixture import import_tables


def open_until(url: str, last: int) -> None:
    """Open a database, and end this process by SIGKILL before its step `last` (from 1)."""
    steps = 0

    def step(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", step)
    event.listen(Engine, "commit", step)
    files = ("sqlite3.connect", "os.remove", "os.rename", "os.truncate")
    sys.addaudithook(lambda name, _: step() if name in files else None)
    Database(url).close()


def main() -> None:
    """Fork a child for each line that is read."""
    import_tables()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        url, last = line.split()
        child = os.fork()
        if child == 0:
            try:
                open_until(url, int(last))
            except BaseException:  # noqa: BLE001 a child must not go on as a second fork server
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
