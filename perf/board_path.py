"""Cost of one more vote at 10,000 and 1,000,000 votes: `python -m perf.board_path [postgresql]`.

100 models, 70 families; SQLite with synchronous=FULL, or PostgreSQL. One more vote is stored, counted and on the board:
`BattleStore.vote`, committed, and `Leaderboard.board`, which counts what is new in the vote table, fits Bradley-Terry
and rebuilds every line. Between the two, untimed, the names are revealed, which makes the vote final. Both sizes take
turns, so that a busy machine is busy for both. Targets: p99 (median of three rounds) under 10 ms at ten thousand votes,
under 50 ms at a million. Timed separately: the first board after the start, boards that are counted from all votes, the
background statistics (intervals, ranks, Elo over orders), and the disk. Writing and syncing one page of a file is the
lower bound of a vote.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

# before numpy, as in the app: it sets how many threads a board gets
from arena import settings as settings

# isort: split
import numpy as np
import pandas as pd

from arena.battles.store import BattleStore, Draw
from arena.battles.vote_table import VoteTable
from arena.database import Database
from arena.fraud.flags import voter_marks
from arena.items.ingest import ImageDraft, Ingest, ItemDraft
from arena.leaderboard.board import BoardKey
from arena.leaderboard.board_votes import BoardFrames, votes_of
from arena.leaderboard.service import EVERYONE, Leaderboard
from arena.settings import CountSettings
from perf._databases import database_kind, databases, insert_rows

SIZES = (10_000, 1_000_000)
MODELS = 100
FAMILIES = 70
ITEMS = 140
VOTERS = 5_000
WARM_UP_VOTES = 20
"""The first votes, whose times are left out."""
ROUND_VOTES = 400
ROUNDS = 3
TARGET_MS = {10_000: 10.0, 1_000_000: 50.0}
DAY = date(2023, 11, 20)
"""A day among those of the planted votes."""
SINGLE = BoardKey(1, multi=False)
PLANTED_FROM = 1_700_000_000_000_000
"""The time before the planted votes, in microseconds since 1970: 2023-11-14."""
PLANTED_SPAN = 1_000_000_000_000
"""The time that they take, however many they are, in microseconds: 11.6 days."""


class Arena:
    """A database with about this many votes, with its store and leaderboard."""

    def __init__(self, url: str, votes: int) -> None:
        self.database = Database(url)
        drafts = [
            ItemDraft(
                instruction=f"What is in picture {number}?",
                family=f"family {number % FAMILIES}",
                images=(
                    ImageDraft(
                        f"key-{number}", f"{number}.png", sha256=f"{number:064x}", suffix="png"
                    ),
                ),
                answers={
                    f"model-{model:03}": f"Model {model} sees {number}." for model in range(MODELS)
                },
            )
            for number in range(ITEMS)
        ]
        Ingest(self.database).add_items("bench", "folder", drafts)
        self._plant(votes, np.random.default_rng(0))
        self.store = BattleStore(self.database)
        self.votes = VoteTable(self.database)
        self.leaderboard = Leaderboard(self.database, self.votes, every=1e9)

    def _plant(self, votes: int, coin: np.random.Generator) -> None:
        strength = coin.normal(0, 0.63, MODELS)
        a = coin.integers(0, MODELS, votes)
        b = (a + coin.integers(1, MODELS, votes)) % MODELS
        item = coin.integers(0, ITEMS, votes)
        voter = np.arange(votes) // (votes // VOTERS or 1)
        # Only the first vote of a voter on a pair of models and an item stays.
        low = np.minimum(a, b)
        high = np.maximum(a, b)
        _, first_rows = np.unique(
            ((voter * ITEMS + item) * MODELS + low) * MODELS + high, return_index=True
        )
        a = a[first_rows]
        b = b[first_rows]
        item = item[first_rows]
        voter = voter[first_rows]
        a_wins = coin.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
        number = np.arange(len(a)) + 1
        with self.database.write() as connection:
            answer_rows = connection.exec_driver_sql("SELECT item_id, model_id, id FROM answer")
            answer_ids = np.zeros((ITEMS + 1, MODELS + 1), int)
            for item_id, model_id, answer_id in answer_rows:
                answer_ids[item_id, model_id] = answer_id
            people = np.arange(int(voter.max()) + 1)
            voters = {
                "id": people + 1,
                "cookie_hash": [f"v{n}" for n in people],
                "since": PLANTED_FROM,
            }
            insert_rows(connection, "voter", pd.DataFrame(voters))
            battles = {
                "id": number,
                "token": [f"t{n}" for n in number],
                "voter_id": voter + 1,
                "item_id": item + 1,
                "images": 1,
                "model_a": a + 1,
                "model_b": b + 1,
                "answer_a": answer_ids[item + 1, a + 1],
                "answer_b": answer_ids[item + 1, b + 1],
                "began_at": PLANTED_FROM,
                "draw": "lot",
                "choice": np.where(a_wins, "a", "b"),
                "voted_at": PLANTED_FROM + number * (PLANTED_SPAN // votes),
                "terms": "1",
                "final_number": number,
            }
            insert_rows(connection, "battle", pd.DataFrame(battles))

    def vote(self, number: int) -> float:
        """Serves a battle, votes, reveals the names and reads the board; returns the seconds of voting and reading."""
        voter = self.store.voter(f"bench {number}")
        pair = np.random.default_rng(number).choice(MODELS, 2, replace=False) + 1
        model_a = int(pair[0])
        model_b = int(pair[1])
        item = number % ITEMS + 1
        # Answers were stored item by item, in the order of the models, and their ids begin at 1.
        answers_before = (item - 1) * MODELS
        draw = Draw(
            item,
            model_a,
            model_b,
            answers_before + model_a,
            answers_before + model_b,
        )
        battle = self.store.serve(voter, lambda _: draw)
        assert battle is not None
        before = self.leaderboard.board(SINGLE).votes
        start = time.perf_counter()
        self.store.vote(voter, battle.token, "a", "1")
        vote_seconds = time.perf_counter() - start
        self.store.reveal(voter, battle.token)
        start = time.perf_counter()
        board = self.leaderboard.board(SINGLE)
        seconds = vote_seconds + time.perf_counter() - start
        assert board.votes == before + 1
        return seconds

    def recounts(self) -> Iterator[tuple[str, float]]:
        """Yields the title of each count over all votes, with the seconds that it takes once they are loaded."""
        # None of the voters is logged in.
        logged_in_leaderboard = Leaderboard(
            self.database, self.votes, CountSettings("logged-in"), every=1e9
        )
        keys = {
            "the counted board, nobody's votes count": (logged_in_leaderboard, SINGLE),
            "everyone's board on the other rule": (
                logged_in_leaderboard,
                replace(SINGLE, everyone=True),
            ),
            "a board of some days": (self.leaderboard, replace(SINGLE, since=DAY)),
            "a board of a family and some days": (
                self.leaderboard,
                replace(SINGLE, family=3, since=DAY),
            ),
        }
        for title, (leaderboard, key) in keys.items():
            yield title, _seconds(lambda leaderboard=leaderboard, key=key: leaderboard.board(key))
        yield "ratings day by day", _seconds(lambda: self.leaderboard.history(SINGLE))
        yield (
            "the votes of each pair for the sampler",
            _seconds(lambda: self.votes.pair_votes(live=False)),
        )
        yield "the votes for the intervals", _seconds(self._votes_for_intervals)
        logged_in_leaderboard.close()

    def _votes_for_intervals(self) -> None:
        with self.database.read() as connection:
            marks = voter_marks(connection, EVERYONE)
        votes_of(BoardFrames(self.votes.read().votes, None), SINGLE, marks, judged=False)

    def close(self) -> None:
        self.leaderboard.close()
        self.database.close()


class Disk:
    """A one-page file on the database's disk, which is overwritten again and again."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "page").open("wb", buffering=0)

    def write(self) -> float:
        """Writes the page and returns the seconds until it is on the disk."""
        start = time.perf_counter()
        self._file.seek(0)
        self._file.write(bytes(4096))
        os.fsync(self._file.fileno())
        return time.perf_counter() - start

    def close(self) -> None:
        self._file.close()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def percentile(times: Sequence[float], share: float) -> float:
    """Returns a percentile in milliseconds of times in seconds; `share` is 0 to 1."""
    return sorted(times)[int(share * (len(times) - 1))] * 1000


def main(kind: str = "sqlite") -> int:
    """Prints the measurements; returns 1 if a target was missed."""
    names = tuple(f"votes_{votes}" for votes in SIZES)
    with (
        tempfile.TemporaryDirectory() as name,
        databases(kind, Path(name), names) as addresses,
    ):
        arenas = {}
        for votes, address in zip(SIZES, addresses, strict=True):
            print(f"planting {votes:,} votes ...", flush=True)
            arena = Arena(address, votes)
            arenas[votes] = arena
            start = time.perf_counter()
            arena.leaderboard.board(SINGLE)
            first_board = time.perf_counter() - start
            arena.leaderboard.board(SINGLE, 600)  # waits for the background statistics
            statistics_seconds = time.perf_counter() - start - first_board
            print(
                f"  first board {first_board * 1000:.0f} ms, its statistics {statistics_seconds:.1f} s",
                flush=True,
            )
            for title, seconds in arena.recounts():
                print(f"  {title:<42} {seconds * 1000:>8.1f} ms", flush=True)
        os.sync()  # the planted votes are on the disk before anything is timed
        disk = Disk(Path(name))
        disk_times = list[float]()
        times: dict[int, list[float]] = {votes: [] for votes in SIZES}
        for number in range(WARM_UP_VOTES + ROUNDS * ROUND_VOTES):
            disk_times.append(disk.write())
            for votes, arena in arenas.items():
                times[votes].append(arena.vote(number))
        print(
            f"{'votes':>9} {'p50 ms':>7} {'p99 ms':>7}   one more vote: stored, counted, on the board"
        )
        medians = {}  # milliseconds, like all numbers from here on
        missed = False
        for votes, vote_times in times.items():
            median = statistics.median(vote_times[WARM_UP_VOTES:]) * 1000
            medians[votes] = median
            rounds_p99 = [
                percentile(vote_times[first : first + ROUND_VOTES], 0.99)
                for first in range(WARM_UP_VOTES, len(vote_times), ROUND_VOTES)
            ]
            p99 = statistics.median(rounds_p99)
            missed |= p99 > TARGET_MS[votes]
            listed = ", ".join(f"{milliseconds:.2f}" for milliseconds in rounds_p99)
            print(
                f"{votes:>9,} {median:>7.2f} {p99:>7.2f}   "
                f"(target {TARGET_MS[votes]}; each round's p99 {listed})"
            )
        ratio = medians[SIZES[-1]] / medians[SIZES[0]]
        print(f"ratio {ratio:.2f}; {ROUNDS} rounds of {ROUND_VOTES} votes")
        print(
            f"the disk alone: {percentile(disk_times, 0.5):.2f} ms (p50), "
            f"{percentile(disk_times, 0.99):.2f} ms (p99)"
        )
        disk.close()
        for arena in arenas.values():
            arena.close()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(database_kind()))
