"""Many voters at one server: `python -m perf.voters [postgresql]`.

200 voters from networks of their own choose, see the names and go on, with 4 to 10 seconds to think before each call.
Targets: 95% of the calls within a second, all votes taken. Then 50 voters think no time at all, which tells at how many
votes a second this machine is saturated; a vote is three calls: the choice, the names, the next battle.
"""

import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from perf._databases import asked_kind, databases
from perf.attacks import TARGET, Seen, honest
from perf.board_path import Arena
from tests.support.servers import AppServer

VOTES = 50_000
"""Votes in the database when the voters come."""
THINKERS = 200
THINKING_SECONDS = 60.0
HASTY = 50
HASTY_SECONDS = 20.0


def seen_by(port: int, voters: int, seconds: float, thinking: Callable[[], float]) -> Seen:
    """Return what so many voters see who vote for so many seconds."""
    seen = Seen()
    asyncio.run(honest(port, seconds, seen, voters, thinking))
    return seen


def main(
    kind: str = "sqlite",
    thinkers: int = THINKERS,
    hasty: int = HASTY,
    share: float = 1.0,
    votes: int = VOTES,
) -> int:
    """Print what the voters saw; `share` shortens both runs. Return 1 if a target was missed."""
    with (
        tempfile.TemporaryDirectory() as name,
        databases(kind, Path(name), ("arena",)) as (address,),
    ):
        Arena(address, votes).close()
        server = AppServer(
            Path(name) / "data", DATABASE_URL=address, TRUSTED_HOPS="1", DEMO_BANK="off"
        )
        try:
            thoughtful = seen_by(
                server.port, thinkers, share * THINKING_SECONDS, lambda: random.uniform(4, 10)
            )
            print(f"{thinkers} voters who think for 4 to 10 s: {thoughtful}", flush=True)
            saturated = seen_by(server.port, hasty, share * HASTY_SECONDS, lambda: 0)
            rate = saturated.votes / (share * HASTY_SECONDS)
            print(
                f"{hasty} voters who do not think: {saturated}; saturated at {rate:.0f} votes a second"
            )
            print(f"load {os.getloadavg()[0]:.1f} on {multiprocessing.cpu_count()} cores")
        finally:
            server.stop()
    return int(thoughtful.p95 > TARGET or bool(thoughtful.failed))


if __name__ == "__main__":
    sys.exit(main(asked_kind()))
