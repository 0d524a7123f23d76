"""A killed process loses no acknowledged vote and counts none twice: at the store, through HTTP, on PostgreSQL.

`kill -9` shows what a crash of the process leaves, not what a power cut does (that is SQLite's synchronous=FULL).
"""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pgserver
import psutil
import pytest
from sqlalchemy import create_engine, text

from arena.battles.vote_table import VoteTable
from arena.clock import FINAL_SECONDS
from arena.database import Database, DatabaseError
from arena.items.ingest import Ingest
from arena.leaderboard.service import BoardKey, Leaderboard
from tests.support.planting import let_pass
from tests.support.servers import ROOT, AppServer, drafts, new_postgresql_database
from tests.support.visitors import Visitor as Person
from tests.support.voter import EventError, Voter
from tests.support.voting_process import Ask, entries

VOTERS = 50
"""At the store."""
VISITORS = 20
"""Through HTTP."""
KILLS_A_FILE = 50
"""Kills that one database file lives through before a fresh one is begun."""
LIFE = 12
"""A voting process is killed after fewer acknowledged votes than that; one in five is killed while it starts."""
STARTING = 0.15
TERMS = "t" * 3000
"""Longer than what is left of a page, so that a vote needs room on the disk."""

ROWS = """
    SELECT token, choice, taken_back, revealed_at IS NOT NULL AS revealed, final_number
    FROM battle"""
SNAPSHOT: dict[str, dict[str, str]] = {
    "sqlite": {},
    "postgresql": {"isolation_level": "REPEATABLE READ"},
}


@dataclass
class Count:
    """What the killed processes had acknowledged, and what was found after them."""

    kills: int = 0
    acknowledged: int = 0
    stored: int = 0
    undone: int = 0
    retries: int = 0
    lost: int = 0
    """Acknowledged votes, undos and reveals that are not there; votes that are there with another choice."""
    double: int = 0
    """Battles in which two choices were acknowledged in one attempt; votes with the final number of another."""
    unasked: int = 0
    """Stored votes that nobody asked for."""
    refused: int = 0
    """Repeated votes that were refused though they are stored just so."""
    faults: Counter = field(default_factory=Counter)
    """Answers of other kinds than an acknowledgement and a refusal."""

    @property
    def flaws(self) -> int:
        """Count what must not be."""
        return self.lost + self.double + self.unasked + self.refused + self.faults.total()

    def add(self, other: "Count") -> None:
        """Add the numbers of another database file."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Told:
    """Every call that voters made and every answer they got, kept outside the killed process."""

    asked: set[tuple[str, str]] = field(default_factory=set)
    votes: set[tuple[str, str]] = field(default_factory=set)
    refused: set[tuple[str, str]] = field(default_factory=set)
    undos: set[str] = field(default_factory=set)
    reveals: set[str] = field(default_factory=set)
    retries: int = 0
    folders: list[Path] = field(default_factory=list)
    """Where voters in other processes keep their journals."""
    read: dict[Path, int] = field(default_factory=dict)
    faults: Counter = field(default_factory=Counter)
    lost: set = field(default_factory=set)
    """What was missing after any of the kills, though it may have been asked for again since."""
    excused: frozenset[str] = frozenset()
    """Faults that may be: the call may have been done or not, and nobody was told that it was."""
    excuses: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, mark: str, ask: Ask) -> None:
        """Take down a call (?), its answer (! or -), a fault, or that a call is made again."""
        with self.lock:
            if mark == "retry":
                self.retries += 1
            elif mark.removeprefix("fault:") in self.excused:
                self.excuses += 1
            elif mark.startswith("fault"):
                self.faults[f"{mark.partition(':')[2]} at {ask.what}"] += 1
            elif ask.what == "vote":
                {"?": self.asked, "!": self.votes, "-": self.refused}[mark].add(
                    (ask.token, ask.choice)
                )
            elif mark == "!":
                {"undo": self.undos, "reveal": self.reveals}[ask.what].add(
                    ask.token.rpartition(".")[0]
                )

    def wait_for_more(self, votes: int = 1, excuses: int = 0) -> None:
        """Wait until so many more votes are acknowledged and calls excused, at most two minutes."""
        told, excused, deadline = len(self.votes), self.excuses, time.monotonic() + 120
        while len(self.votes) < told + votes or self.excuses < excused + excuses:
            assert time.monotonic() < deadline, "no vote was acknowledged for two minutes"
            self.look()
            time.sleep(0.01)

    def look(self) -> None:
        """Take down what is new in the journals, where voters keep some."""
        for folder in self.folders:
            for journal in folder.glob("*.journal"):
                text = journal.read_text("utf-8")
                whole = text[: text.rfind("\n") + 1]
                for mark, ask in entries(whole[self.read.get(journal, 0) :]):
                    self.note(mark, ask)
                self.read[journal] = len(whole)

    def check(self, url: str) -> Count:
        """Look into the database, without the arena's code, and compare; others may be voting meanwhile."""
        self.look()
        votes, undos, reveals, refused = (
            set(told) for told in (self.votes, self.undos, self.reveals, self.refused)
        )
        engine = create_engine(url)
        with (
            engine.connect().execution_options(**SNAPSHOT[engine.dialect.name]) as database,
            database.begin(),
        ):
            if engine.dialect.name == "sqlite":
                assert database.execute(text("PRAGMA integrity_check")).all() == [("ok",)]
                assert database.execute(text("PRAGMA foreign_key_check")).all() == []
            rows = database.execute(text(ROWS)).all()
        engine.dispose()
        self.look()
        stored = {
            (f"{row.token}.{1 if row.taken_back is None else 2}", row.choice)
            for row in rows
            if row.choice is not None
        }
        undone = {row.token: row.taken_back for row in rows if row.taken_back is not None}
        stored |= {(f"{token}.1", choice) for token, choice in undone.items()}
        revealed = {row.token for row in rows if row.revealed}
        numbers = [row.final_number for row in rows if row.final_number is not None]
        self.lost |= (votes - stored) | {(token, "undo") for token in undos - set(undone)}
        self.lost |= {(token, "reveal") for token in reveals - revealed}
        accepted = Counter(token for token, _ in votes)
        false_refusals = {
            (token, choice) for token, choice in refused & stored if token[:-2] not in undone
        }
        return Count(
            acknowledged=len(votes),
            stored=len(stored),
            undone=len(undone),
            retries=self.retries,
            lost=len(self.lost),
            double=accepted.total() - len(accepted) + len(numbers) - len(set(numbers)),
            unasked=len(stored - self.asked),
            refused=len(false_refusals),
            faults=Counter(self.faults),
        )


class Killer:
    """A fork server of voting processes on one database, and what their voters were told."""

    def __init__(
        self, folder: Path, url: str, kind: str = "store", told: Told | None = None
    ) -> None:
        self.url = url
        self.told = told or Told()
        self.told.folders.append(folder)
        self._folder = folder
        self._child: int | None = None
        self._server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.support.voting_process",
                str(folder),
                str(VOTERS),
                kind,
                url,
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._says() == "ready"

    def _says(self) -> str:
        return self._server.stdout.readline().strip()

    def start(self, seed: str) -> None:
        """Start a voting process."""
        self._before = self._written()
        self._server.stdin.write(f"{seed}\n")
        self._server.stdin.flush()
        self._child = int(self._says())

    def kill(self) -> None:
        """Kill the voting process."""
        assert self._child is not None
        os.kill(self._child, signal.SIGKILL)
        self._child = None
        assert self._says() == str(-signal.SIGKILL), "the voting process ended by itself"

    def kill_one(self, seed: str) -> Count:
        """Start a voting process, kill it at a random moment, and compare what is there with what was told."""
        luck = random.Random(seed)
        self.start(seed)
        self.wait(luck)
        self.kill()
        return self.told.check(self.url)

    def wait(self, luck: random.Random) -> None:
        """Wait for a random moment: while the process starts, or after it began to vote."""
        if luck.random() < 0.2:
            time.sleep(luck.uniform(0, STARTING))
        else:
            self.told.wait_for_more(luck.randrange(1, LIFE))

    def wait_until_begun(self) -> None:
        """Wait for the process's first call."""
        while self._written() == self._before:
            time.sleep(0.005)

    def _written(self) -> int:
        return sum(journal.stat().st_size for journal in self._folder.glob("*.journal"))

    def close(self) -> None:
        """End both, also where a test failed while they ran."""
        if self._child is not None:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
        self._server.stdin.close()
        self._server.wait(timeout=20)
        self._server.stdout.close()


@contextmanager
def two_killers(folder: Path, url: str, told: Told) -> Iterator[list[Killer]]:
    """Two voting processes on one database, whose voters are the same people."""
    with ExitStack() as stack:
        both = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            both.append(stack.enter_context(closing(Killer(folder / name, url, told=told))))
            both[-1].start(name)
        yield both


def fill(url: str) -> None:
    """Put a bank into a database."""
    database = Database(url)
    Ingest(database).add_items("test", "folder", drafts(items=60))
    database.close()


@contextmanager
def killer(folder: Path, kind: str = "store") -> Iterator[Killer]:
    """Make a database with a bank, and a killer on it."""
    folder.mkdir()
    url = f"sqlite:///{folder / 'arena.db'}"
    fill(url)
    made = Killer(folder, url, kind)
    try:
        yield made
    finally:
        made.close()


def kill_at_store(folder: Path, kills: int, kind: str = "store") -> Count:
    """Kill at random moments, on one database file: as often as asked, and on until much was voted and undone."""
    seed = random.randrange(1000)
    with killer(folder, kind) as at_store:
        for number in itertools.count(1):
            count = at_store.kill_one(f"{kind}-{seed}-{number}")
            if number >= kills and is_busy(count, kills):
                break
        count.kills = number
        if not count.flaws:
            check_board(at_store.url, count)
    return count


def is_busy(count: Count, kills: int) -> bool:
    """Tell whether the killed processes did enough for the kills to prove something."""
    enough = 3 * kills
    return count.acknowledged > enough and count.retries > enough and count.undone > 0


def check_board(url: str, count: Count) -> None:
    """The board has every vote that stands, once."""
    database = Database(url)
    let_pass(database, FINAL_SECONDS)
    leaderboard = Leaderboard(database, VoteTable(database))
    on_board = leaderboard.board(BoardKey(source=1, multi=False))
    leaderboard.close()
    database.close()
    assert on_board.votes == count.stored - count.undone
    assert sum(standing.votes for standing in on_board.standings) == 2 * on_board.votes


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", [5, pytest.param(1000, marks=pytest.mark.soak)])
def test_kills_at_the_store_lose_no_vote_and_count_none_twice(kills, tmp_path):
    total = Count()
    for number in range(0, kills, KILLS_A_FILE):
        total.add(kill_at_store(tmp_path / str(number), min(KILLS_A_FILE, kills - number)))
    print(f"\n{total}")
    assert total.kills >= kills
    assert total.flaws == 0


@pytest.mark.soak
def test_the_harness_sees_a_forgotten_lock(tmp_path):
    """Both of two clicks are acknowledged, and the second overwrites the first."""
    for number in range(10):  # a busy machine may take few votes in one round
        broken = kill_at_store(tmp_path / f"careless {number}", 4, "careless")
        print(f"\n{broken}")
        if broken.double > 0:
            return
    pytest.fail("no double vote was seen")


@pytest.mark.soak
def test_the_harness_sees_an_acknowledgement_before_the_commit(tmp_path):
    broken = kill_at_store(tmp_path / "hasty", 20, "hasty")
    print(f"\n{broken}")
    assert broken.lost > 0


# Two processes on one PostgreSQL database.


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [200])
@pytest.mark.soak
def test_kills_of_either_of_two_processes_lose_no_vote(kills, postgresql, tmp_path):
    """The same people vote at both; while one is killed and comes back, the other goes on."""
    url, told, luck = new_postgresql_database(postgresql), Told(), random.Random()
    fill(url)
    with two_killers(tmp_path, url, told) as both:
        for number in range(kills):
            killed = luck.choice(both)
            killed.wait(luck)
            killed.kill()
            count = told.check(url)
            assert count.flaws == 0, count
            killed.start(f"again-{number}")
        told.wait_for_more()
        for one in both:
            one.kill()
    count = told.check(url)
    count.kills = kills
    print(f"\n{count}")
    assert count.flaws == 0 and count.acknowledged > 3 * kills and count.retries > 3 * kills
    check_board(url, count)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", [10])
@pytest.mark.soak
def test_kills_of_the_database_server_lose_no_vote(kills, tmp_path):
    """All its processes at once, as it writes; it comes up again by itself, and so do the voters."""
    folder = tempfile.mkdtemp(prefix="stereoscope-postgresql-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    url, told = (
        new_postgresql_database(server.get_uri()),
        Told(excused=frozenset(["DatabaseError"])),
    )
    fill(url)
    with two_killers(tmp_path, url, told) as both:
        for one in both:
            one.wait_until_begun()
        for _ in range(kills):
            told.wait_for_more(votes=50)
            main = psutil.Process(server.get_pid())
            everyone = [main, *main.children(recursive=True)]
            for process in everyone:
                with suppress(psutil.NoSuchProcess):  # who sees the first one die may end by itself
                    process.kill()
            psutil.wait_procs(everyone, timeout=30)
            server.ensure_postgres_running()
            count = told.check(url)
            assert count.flaws == 0, count
        told.wait_for_more(votes=50)
        for one in both:
            one.kill()
    count = told.check(url)
    count.kills = kills
    print(f"\n{count} {told.excuses} calls without an answer")
    server.cleanup()
    assert count.flaws == 0 and count.acknowledged > 50 * kills and told.excuses > 0


# A disk that refuses.


@contextmanager
def trouble(database: Database, kind: str) -> Iterator[None]:
    """Let the database refuse to write for a while, as a full disk, a read-only one and another program make it."""
    if kind == "locked":
        with closing(sqlite3.connect(database.url.database, isolation_level=None)) as other:
            other.execute("PRAGMA busy_timeout=10000")
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    begin, end = {
        "full": ("max_page_count=1", "max_page_count=1000000000"),
        "read-only": ("query_only=ON", "query_only=OFF"),
    }[kind]
    with database.write() as connection:
        writer = connection.connection.driver_connection
    writer.execute(f"PRAGMA {begin}")
    yield
    writer.execute(f"PRAGMA {end}")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("times", [1, pytest.param(34, marks=pytest.mark.soak)])
def test_a_disk_that_refuses_is_told_and_passes(times, tmp_path):
    """Full, read-only, locked in turn: nobody is told of a vote that is not stored; all goes on without a restart."""
    url, told = f"sqlite:///{tmp_path / 'arena.db'}", Told(excused=frozenset(["DatabaseError"]))
    fill(url)
    database = Database(url)
    with database.write() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=50")

    def vote(person: Person, ask: Ask) -> bool:
        told.note("?", ask)
        try:
            person.store.vote(person.id, ask.token, ask.choice, TERMS)
        except DatabaseError:
            told.note("fault:DatabaseError", ask)
            return False
        told.note("!", ask)
        return True

    for number in range(times):
        for kind in ("full", "read-only", "locked"):
            people = [Person(database, f"{kind}-{number}-{one}") for one in range(24)]
            asks = [
                Ask("vote", str(person.id), person.serve().token, random.choice("ab"))
                for person in people
            ]
            with ThreadPoolExecutor(8) as pool:
                with trouble(database, kind):
                    taken = list(pool.map(vote, people, asks))
                    count = told.check(url)
                assert count.flaws == 0, (kind, count)
                assert not all(taken), f"the disk was {kind}"
                assert count.stored == len(told.votes), "what was refused is not there"
                assert all(pool.map(vote, people, asks)), f"after the disk was {kind}"
    count = told.check(url)
    database.close()
    print(f"\n{count} {told.excuses} refusals in {3 * times} troubles")
    assert count.flaws == 0 and count.stored == 3 * 24 * times
    check_board(url, count)


class Visitor:
    """A voter's two tabs in a browser that outlives the server: what got no answer is asked again after the restart."""

    def __init__(
        self, name: str, server: AppServer, told: Told, up: threading.Event, over: threading.Event
    ) -> None:
        self._luck = random.Random()
        self._name = name
        self._told = told
        self._up = up
        self._over = over
        self._tabs = Voter(server.address), Voter(server.address)
        self._tabs[1].client.cookies = self._tabs[0].client.cookies
        self.thread = threading.Thread(target=self._visit)

    def close(self) -> None:
        for tab in self._tabs:
            tab.close()

    def _visit(self) -> None:
        while not self._over.is_set():
            if self._certain(lambda: self._tabs[0].next()) is None:
                continue
            token = self._tabs[0].token
            self._choose(token)
            if self._luck.random() < 0.3 and self._ask(Ask("undo", self._name, token)):
                self._choose(f"{token[:-2]}.2")
            self._ask(Ask("reveal", self._name, token))

    def _choose(self, token: str) -> None:
        """Choose once, or at once in both tabs, the same or the other."""
        clicks = [
            Ask("vote", self._name, token, self._luck.choice("ab"))
            for _ in range(self._luck.choice((1, 1, 2)))
        ]
        other = [threading.Thread(target=self._ask, args=(ask, 1)) for ask in clicks[1:]]
        for thread in other:
            thread.start()
        self._ask(clicks[0])
        for thread in other:
            thread.join()

    def _ask(self, ask: Ask, tab: int = 0) -> bool:
        """Act and note the answer; return whether it was an acknowledgement."""
        self._told.note("?", ask)
        acts = {"vote": "choose", "reveal": "names"}
        act = acts.get(ask.what, ask.what)
        voter = self._tabs[tab]
        answer = self._certain(lambda: voter.act(act, battle=ask.token, value=ask.choice), ask)
        acknowledged = answer is not None and (
            ask.what != "reveal" or answer["phase"] == "revealed"
        )
        if acknowledged:
            self._told.note("!", ask)
        return acknowledged

    def _certain(self, call, ask: Ask | None = None) -> dict | None:
        """Call until there is an answer; return None if the page refused, or if all is over."""
        while not self._over.is_set():
            self._up.wait()
            try:
                return call()
            except httpx.TransportError:
                self._told.note("retry", ask)
                time.sleep(0.05)
            except EventError as error:
                known = any(
                    words in str(error)
                    for words in ("already chosen", "undid", "undo", "Choose A or B")
                )
                if ask:
                    self._told.note("-" if known else f"fault:{error}", ask)
                return None
        return None


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_of_the_server_lose_no_vote_and_count_none_twice(kills, start_server):
    """The voters keep their cookies over the restarts and send the same token again."""
    server = start_server(DEMO_BANK="off")
    url = f"sqlite:///{server.data_dir / 'arena.db'}"
    database = Database(url)
    Ingest(database).add_items(
        "test", "folder", drafts(items=100, models=tuple(f"m{n}" for n in range(8)))
    )
    database.close()
    told, up, over = Told(), threading.Event(), threading.Event()
    up.set()
    visitors = [Visitor(str(number), server, told, up, over) for number in range(VISITORS)]
    for visitor in visitors:
        visitor.thread.start()
    try:
        for _ in range(kills):
            told.wait_for_more()
            time.sleep(random.uniform(0, 0.5))
            up.clear()
            server.kill()
            count = told.check(url)
            assert count.flaws == 0, count
            server.start()
            up.set()
        told.wait_for_more()
    finally:
        over.set()
        up.set()
        for visitor in visitors:
            visitor.thread.join()
            visitor.close()
    count = told.check(url)
    count.kills = kills
    print(f"\n{count}")
    assert count.flaws == 0, count
    assert count.acknowledged > 3 * kills and count.retries > 3 * kills
