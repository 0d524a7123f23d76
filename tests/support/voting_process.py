"""Voters in a process that is to be killed: `python -m tests.support.voting_process FOLDER VOTERS KIND DATABASE_URL`.

A fork server: it imports the arena once; each line on its input (a seed) starts a child in which the voters vote at the
store of that database, and its number is printed. The child votes until it is killed. Each of its hands (a voter
has two, for double clicks) appends to a journal of its own: a line before it calls the store, a line after the store
answered. What stands in a journal stands outside the killed process. After a restart each hand first asks again what
was left without an answer.
"""

import hashlib
import logging
import os
import queue
import random
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from arena.battles.choices import ChoiceError, parse_token
from arena.battles.store import BattleStore, Draw
from arena.database import Database, DatabaseError
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.types import SIDES, Battle, Item, Phase, Side
from tests.support.servers import drafts

TERMS = "test"


class Ask(NamedTuple):
    """One call at the store: a vote for a choice, an undo or a reveal."""

    what: str
    cookie: str
    token: str
    choice: str = "-"


class HastyDatabase(Database):
    """A mutant: says that a transaction is stored before the commit, which takes as long as on a slow disk."""

    COMMIT_SECONDS = 0.003

    def __init__(self, url: str) -> None:
        self.waiting = threading.local()
        super().__init__(url)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with super().write() as connection:
            yield connection
            tell = getattr(self.waiting, "tell", None)
            if tell is not None:
                tell()
                time.sleep(self.COMMIT_SECONDS)


class CarelessStore(BattleStore):
    """A mutant: looks at a battle in one transaction, without its lock, and stores the choice in a later one."""

    SECONDS_BETWEEN = 0.005

    def vote(self, voter: int, token: str, choice: Side, terms: str) -> Battle:
        with self._database.read() as connection:
            row = self._find(connection, voter, token)
        time.sleep(self.SECONDS_BETWEEN)
        with self._database.write() as connection:
            return self._choose(connection, row, parse_token(token).attempt, choice, terms)


class Hand:
    """Calls the store and keeps the journal of its calls."""

    def __init__(self, store: BattleStore, database: Database, journal: Path) -> None:
        self._store = store
        self._database = database
        self._voters: dict[str, int] = {}
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._unanswered = unanswered(journal)

    def retry(self) -> None:
        """Ask again what the killed process left without an answer."""
        if self._unanswered is not None:
            self._note("retry", self._unanswered)
            self.ask(self._unanswered)

    def ask(self, ask: Ask) -> str | None:
        """Call the store; return the battle's token from here on, or None if the store refused or failed."""
        self._note("?", ask)
        if isinstance(self._database, HastyDatabase):
            self._database.waiting.tell = lambda: self._note("!", ask)
        try:
            battle = self._call(ask)
        except ChoiceError:
            self._note("-", ask)
            return None
        except Exception as error:  # noqa: BLE001 what a healthy store never raises is what the test looks for
            self._note(f"fault:{type(error).__name__}", ask)
            time.sleep(0.05)
            return None
        finally:
            if isinstance(self._database, HastyDatabase):
                self._database.waiting.tell = None
        self._note("!", ask)
        return battle.token

    def voter(self, cookie: str) -> int:
        """Return the voter of a cookie."""
        if cookie not in self._voters:
            self._voters[cookie] = self._store.voter(hashlib.sha256(cookie.encode()).hexdigest())
        return self._voters[cookie]

    def _call(self, ask: Ask):
        voter = self.voter(ask.cookie)
        if ask.what == "vote":
            return self._store.vote(voter, ask.token, ask.choice, TERMS)
        return {"undo": self._store.undo, "reveal": self._store.reveal}[ask.what](voter, ask.token)

    def _note(self, mark: str, ask: Ask) -> None:
        os.write(self._journal, f"{mark} {' '.join(ask)}\n".encode())


def entries(text: str) -> Iterator[tuple[str, Ask]]:
    """Return the marks and calls of a journal's text."""
    for line in text.splitlines():
        mark, *call = line.split(" ")
        yield mark, Ask(*call)


def unanswered(journal: Path) -> Ask | None:
    """Return the call that a journal ends with, if it has no answer."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - 200))
        last = list(entries(file.read().decode().rpartition("\n")[0].rpartition("\n")[2]))
    return last[0][1] if last and last[0][0] in ("?", "retry") else None


class Voter:
    """One voter with two hands, who clicks twice, changes the mind, and takes choices back."""

    def __init__(
        self, name: str, seed: str, store: BattleStore, items: list[Item], hands: tuple[Hand, Hand]
    ) -> None:
        self._name = name
        self._luck = random.Random(f"{seed}-{name}")
        self._store = store
        self._items = items
        self._hands = hands
        self._generation = 0
        self._clicks: queue.SimpleQueue[Ask] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin to vote, and never stop."""
        threading.Thread(target=self._lead, daemon=True).start()
        threading.Thread(target=self._follow, daemon=True).start()

    def _lead(self) -> None:
        self._hands[0].retry()
        while True:
            cookie = f"{self._name}-{self._generation}"
            with suppress(LookupError), patience():
                voter = self._hands[0].voter(cookie)
                battle = self._store.serve(voter, self.draw)
                if battle is not None and self.vote_on(cookie, battle.token, battle.phase):
                    continue
            self._generation += 1

    def _follow(self) -> None:
        self._hands[1].retry()
        while True:
            self._hands[1].ask(self._clicks.get())

    def vote_on(self, cookie: str, token: str, phase: Phase) -> bool:
        """Vote, with some luck undo and vote again, then ask for the names; return whether the reveal was stored."""
        if phase is Phase.OPEN:
            self._choose(cookie, token)
            if self._luck.random() < 0.3:
                again = self._twice(Ask("undo", cookie, token), 0.3)
                if again is not None:
                    self._choose(cookie, again)
        revealed = self._twice(Ask("reveal", cookie, token), 0.2)
        if self._luck.random() < 0.2:
            self._hands[0].ask(Ask("undo", cookie, token))
            self._hands[0].ask(Ask("vote", cookie, token, self._luck.choice(SIDES)))
        return revealed is not None

    def _choose(self, cookie: str, token: str) -> None:
        """Choose once; or twice at once, the same or the other; or replay it later, the same or the other."""
        choice = self._luck.choice(SIDES)
        other = self._luck.choice(SIDES)
        if self._luck.random() < 0.5:
            self._clicks.put(Ask("vote", cookie, token, other))
        self._hands[0].ask(Ask("vote", cookie, token, choice))
        if self._luck.random() < 0.2:
            self._hands[0].ask(Ask("vote", cookie, token, other))

    def _twice(self, ask: Ask, chance: float) -> str | None:
        if self._luck.random() < chance:
            self._clicks.put(ask)
        return self._hands[0].ask(ask)

    def draw(self, seen) -> Draw | None:
        """Draw an item and a pair that this voter has not had."""
        items = self._luck.sample(self._items, len(self._items))
        for item in items:
            for one, other in combinations(item.contestants, 2):
                if (item.id, one.model, other.model) not in seen:
                    a, b = self._luck.sample((one, other), 2)
                    return Draw(item.id, a.model, b.model, a.answer, b.answer)
        return None


@contextmanager
def patience() -> Iterator[None]:
    """Wait a little when the database cannot be read just now."""
    try:
        yield
    except DatabaseError:
        time.sleep(0.05)


def warm_up(folder: Path) -> None:
    """Vote once on a small bank, so that the children find all imported and compiled that can be."""
    database = Database(f"sqlite:///{folder / 'warm.db'}")
    Ingest(database).add_items("test", "folder", drafts(items=60))
    store = BattleStore(database)
    items = list(ItemBank(database).bank().items.values())
    hand = Hand(store, database, folder / "warm")
    voter = Voter("warm", "", store, items, (hand, hand))
    for _ in range(10):
        battle = store.serve(hand.voter("warm"), voter.draw)
        voter.vote_on("warm", battle.token, battle.phase)
    database.close()


def vote_until_killed(folder: Path, voters: int, kind: str, url: str, seed: str) -> None:
    """Open the database and vote with every voter at once, for ever."""
    database = (HastyDatabase if kind == "hasty" else Database)(url)
    store = (CarelessStore if kind == "careless" else BattleStore)(database)
    items = list(ItemBank(database).bank().items.values())

    def hand(name: str) -> Hand:
        return Hand(store, database, folder / f"{name}.journal")

    everyone = [
        Voter(str(number), seed, store, items, (hand(f"{number}-left"), hand(f"{number}-right")))
        for number in range(voters)
    ]
    for voter in everyone:
        voter.start()
    threading.Event().wait()


def main(folder: str, voters: str, kind: str, url: str) -> None:
    """Fork a voting process for each seed that is read; print its number, and when it is gone its exit status."""
    logging.disable()  # a refused call stands in the journal

    def say(words: object) -> None:
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()

    warm_up(Path(folder))
    say("ready")
    for seed in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                vote_until_killed(Path(folder), int(voters), kind, url, seed.strip())
            except Exception:  # noqa: BLE001 shown, and then this process must not go on as a second fork server
                traceback.print_exc()
            os._exit(1)
        say(child)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
