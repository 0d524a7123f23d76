"""A killed process loses no acknowledged vote and counts none twice: at the store, and through HTTP.

`kill -9` shows what a crash of the process leaves, not what a power cut does (that is SQLite's synchronous=FULL).
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from arena.database import Database
from arena.intake import Intake
from arena.leaderboard import BoardKey, Leaderboard
from tests.conftest import ROOT, AppServer, drafts
from tests.voter import EventError, Voter
from tests.voting_process import Ask, entries

VOTERS = 20
KILLS_A_FILE = 50
"""Kills that one database file lives through before a fresh one is begun."""
LIFE = 0.3
"""Most seconds that a voting process lives after its first vote; one in five is killed while it starts."""
STARTING = 0.15

STORED = "SELECT b.token || '.' || v.attempt, v.choice FROM vote v JOIN battle b ON b.id = v.battle_id"
UNDONE = "SELECT b.token FROM undo u JOIN battle b ON b.id = u.battle_id"
REVEALED = "SELECT b.token FROM reveal r JOIN battle b ON b.id = r.battle_id"
COUNTED = """
    SELECT v.battle_id, i.source_id, i.multi, i.family_id,
           CASE WHEN (v.choice = 'a') = b.low_is_a THEN b.model_low ELSE b.model_high END,
           CASE WHEN (v.choice = 'a') = b.low_is_a THEN b.model_high ELSE b.model_low END
    FROM vote v JOIN battle b ON b.id = v.battle_id JOIN item i ON i.id = b.item_id
    LEFT JOIN undo u ON u.battle_id = b.id WHERE v.attempt = 2 OR u.battle_id IS NULL"""


@dataclass
class Tally:
    """What the killed processes had acknowledged, and what was found after them."""

    kills: int = 0
    acknowledged: int = 0
    stored: int = 0
    undone: int = 0
    retries: int = 0
    lost: int = 0
    """Acknowledged votes, undos and reveals that are not there; votes that are there with another choice."""
    double: int = 0
    """Votes stored or counted more than once."""
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

    def add(self, other: "Tally") -> None:
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
    faults: Counter = field(default_factory=Counter)
    lost: set = field(default_factory=set)
    """What was missing after any of the kills, though it may have been asked for again since."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, mark: str, ask: Ask) -> None:
        """Take down a call (?), its answer (! or -), a fault, or that a call is made again."""
        with self.lock:
            if mark == "retry":
                self.retries += 1
            elif mark.startswith("fault"):
                self.faults[f"{mark.partition(':')[2]} at {ask.what}"] += 1
            elif ask.what == "vote":
                {"?": self.asked, "!": self.votes, "-": self.refused}[mark].add((ask.token, ask.choice))
            elif mark == "!":
                {"undo": self.undos, "reveal": self.reveals}[ask.what].add(ask.token.rpartition(".")[0])

    def wait_for_more(self) -> None:
        """Wait until a vote more is acknowledged, at most a minute."""
        before, deadline = len(self.votes), time.monotonic() + 60
        while len(self.votes) == before:
            assert time.monotonic() < deadline, "no vote was acknowledged for a minute"
            time.sleep(0.01)

    def check(self, path: Path) -> Tally:
        """Open the database file, by SQLite alone, and compare."""
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            rows = Counter(database.execute(STORED).fetchall())
            undone = {token for (token,) in database.execute(UNDONE)}
            revealed = {token for (token,) in database.execute(REVEALED)}
            counted = database.execute(COUNTED).fetchall()
            wins = dict((tuple(row[:5]), row[5]) for row in database.execute("SELECT * FROM wins WHERE n <> 0"))
        stored = set(rows)
        recount = Counter(tuple(row[1:]) for row in counted)
        once = Counter(row[0] for row in counted)
        false_refusals = {(token, choice) for token, choice in self.refused & stored if token[:-2] not in undone}
        self.lost |= (self.votes - stored) | {(token, "undo") for token in self.undos - undone}
        self.lost |= {(token, "reveal") for token in self.reveals - revealed}
        return Tally(
            acknowledged=len(self.votes),
            stored=rows.total(),
            undone=len(undone),
            retries=self.retries,
            lost=len(self.lost),
            double=rows.total()
            - len({token for token, _ in stored})
            + once.total()
            - len(once)
            + sum(abs(n - recount[key]) for key, n in wins.items())
            + sum(n for key, n in recount.items() if key not in wins),
            unasked=len(stored - self.asked),
            refused=len(false_refusals),
            faults=Counter(self.faults),
        )


class Killer:
    """A fork server of voting processes on one database file, and what their voters were told."""

    def __init__(self, folder: Path, kind: str = "store") -> None:
        self.path = folder / "arena.db"
        self.told = Told()
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.voting_process", str(folder), str(VOTERS), kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._says() == "ready"

    def _says(self) -> str:
        return self._server.stdout.readline().strip()

    def kill_one(self, seed: str) -> Tally:
        """Start a voting process, kill it at a random moment, and compare what is there with what was told."""
        luck = random.Random(seed)
        before = self._written()
        self._server.stdin.write(f"{seed}\n")
        self._server.stdin.flush()
        child = int(self._says())
        if luck.random() < 0.2:
            time.sleep(luck.uniform(0, STARTING))
        else:
            while self._written() == before:
                time.sleep(0.005)
            time.sleep(luck.uniform(0, LIFE))
        os.kill(child, signal.SIGKILL)
        assert self._says() == str(-signal.SIGKILL), "the voting process ended by itself"
        for journal in self._journals():
            text = journal.read_text("utf-8")
            for mark, ask in entries(text[self._read.get(journal, 0) :]):
                self.told.note(mark, ask)
            self._read[journal] = len(text)
        return self.told.check(self.path)

    def _journals(self) -> list[Path]:
        return list(self._folder.glob("*.journal"))

    def _written(self) -> int:
        return sum(journal.stat().st_size for journal in self._journals())

    def close(self) -> None:
        self._server.stdin.close()
        self._server.wait(timeout=20)
        self._server.stdout.close()


@contextmanager
def killer(folder: Path, kind: str = "store", unique: bool = True) -> Iterator[Killer]:
    """Make a database with a bank, and a killer on it; the keys of its vote table can be left out."""
    folder.mkdir()
    database = Database(f"sqlite:///{folder / 'arena.db'}")
    Intake(database).add_items("test", "folder", drafts(items=60))
    database.close()
    if not unique:
        with closing(sqlite3.connect(folder / "arena.db")) as raw:
            (create,) = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'vote'").fetchone()
            without = create.replace("UNIQUE (battle_id, attempt),", "")
            assert without != create
            raw.executescript(f"DROP TABLE vote; {without}")
    made = Killer(folder, kind)
    try:
        yield made
    finally:
        made.close()


def kill_at_store(folder: Path, kills: int, kind: str = "store", unique: bool = True) -> Tally:
    """Kill as often as asked, at random moments, on one database file."""
    seed = random.randrange(1000)
    with killer(folder, kind, unique) as at_store:
        for number in range(kills):
            tally = at_store.kill_one(f"{kind}-{seed}-{number}")
        tally.kills = kills
        if not tally.flaws:
            database = Database(f"sqlite:///{at_store.path}")
            on_board = Leaderboard(database).board(BoardKey(source=1, multi=False))
            database.close()
            assert on_board.votes == tally.stored - undone_votes(at_store.path)
            assert sum(standing.votes for standing in on_board.standings) == 2 * on_board.votes
    return tally


def undone_votes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT count(*) FROM vote v JOIN undo u ON u.battle_id = v.battle_id WHERE v.attempt = 1"
        ).fetchone()[0]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_kills_at_the_store_lose_no_vote_and_count_none_twice(kills, tmp_path):
    total = Tally()
    for number in range(kills // KILLS_A_FILE):
        total.add(kill_at_store(tmp_path / str(number), KILLS_A_FILE))
    print(f"\n{total}")
    assert total.kills == kills
    assert total.acknowledged > 3 * kills and total.retries > 3 * kills and total.undone > 0
    assert total.flaws == 0


def test_the_harness_sees_votes_stored_twice(tmp_path):
    """A store that looks first and inserts then stores double clicks twice; with the unique key it cannot."""
    broken = kill_at_store(tmp_path / "without", 8, "careless", unique=False)
    print(f"\n{broken}")
    assert broken.double > 0
    held = kill_at_store(tmp_path / "with", 8, "careless")
    print(held)
    assert held.double == 0


def test_the_harness_sees_a_missing_unique_key(tmp_path):
    """Without the unique key a double click is stored twice, and the harness counts it."""
    broken = kill_at_store(tmp_path / "without", 8, unique=False)
    print(f"\n{broken}")
    assert broken.double > 0


def test_the_harness_sees_an_acknowledgement_before_the_commit(tmp_path):
    broken = kill_at_store(tmp_path / "hasty", 20, "hasty")
    print(f"\n{broken}")
    assert broken.lost > 0


class Visitor:
    """A voter's two tabs in a browser that outlives the server: what got no answer is asked again after the restart."""

    def __init__(self, name: str, server: AppServer, told: Told, up: threading.Event, over: threading.Event) -> None:
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
        clicks = [Ask("vote", self._name, token, self._luck.choice("ab")) for _ in range(self._luck.choice((1, 1, 2)))]
        other = [threading.Thread(target=self._ask, args=(ask, 1)) for ask in clicks[1:]]
        for thread in other:
            thread.start()
        self._ask(clicks[0])
        for thread in other:
            thread.join()

    def _ask(self, ask: Ask, tab: int = 0) -> bool:
        """Call an event and note the answer; return whether it was an acknowledgement."""
        self._told.note("?", ask)
        events = {"vote": f"on_choose_{ask.choice}", "undo": "on_undo", "reveal": "on_reveal"}
        answer = self._certain(lambda: self._tabs[tab].call(events[ask.what], ask.token), ask)
        acknowledged = answer is not None and (ask.what != "reveal" or 'data-phase="revealed"' in answer["status"])
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
                    words in str(error) for words in ("already chose", "taken back", "take back", "Choose A or B")
                )
                if ask:
                    self._told.note("-" if known else f"fault:{error}", ask)
                return None
        return None


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_of_the_server_lose_no_vote_and_count_none_twice(kills, start_server):
    """The voters keep their cookies over the restarts and send the same token again."""
    server = start_server(DEMO_BANK="off")
    database = Database(f"sqlite:///{server.data_dir / 'arena.db'}")
    Intake(database).add_items("test", "folder", drafts(items=100, models=tuple(f"m{n}" for n in range(8))))
    database.close()
    told, up, over = Told(), threading.Event(), threading.Event()
    up.set()
    visitors = [Visitor(str(number), server, told, up, over) for number in range(VOTERS)]
    for visitor in visitors:
        visitor.thread.start()
    try:
        for _ in range(kills):
            told.wait_for_more()
            time.sleep(random.uniform(0, 1.5))
            up.clear()
            server.kill()
            tally = told.check(server.data_dir / "arena.db")
            assert tally.flaws == 0, tally
            server.start()
            up.set()
        time.sleep(1)
    finally:
        over.set()
        up.set()
        for visitor in visitors:
            visitor.thread.join()
            visitor.close()
    tally = told.check(server.data_dir / "arena.db")
    tally.kills = kills
    print(f"\n{tally}")
    assert tally.flaws == 0, tally
    assert tally.acknowledged > 3 * kills and tally.retries > 3 * kills
