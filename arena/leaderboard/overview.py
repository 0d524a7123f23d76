"""Overview: every board that has votes, the one with the most first, and the model that leads on each."""

import time
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from arena.leaderboard.board import Board
from arena.leaderboard.board_state import BoardHealth
from arena.leaderboard.headline import leaders
from arena.leaderboard.selection import BoardSelection
from arena.leaderboard.service import Leaderboard

SECONDS = 10.0
"""The age at which the list of boards is read again: every visitor needs it, and each board costs a reading."""
EARLY_SECONDS = 2.0
"""The same while ranks are being computed."""
MOST_SOURCES = 40
"""The most sources listed: first those of the bank, then live and imported ones, the newest of each kind first."""


class BoardEntry(NamedTuple):
    """A board of the overview: a source's items with one picture, or with several."""

    source: str
    images: str
    """As `Leaderboard.choose` takes it: single or multiple."""
    votes: int
    leaders: Sequence[str] | None
    """The names of the first models; empty if no model has a rank, None while ranks are being computed."""
    models: frozenset[str]
    """The names of all of the board's models."""


class Overview:
    """The official boards that have votes, read every `seconds` at most, sooner while ranks are being computed."""

    def __init__(self, leaderboard: Leaderboard, seconds: float = SECONDS) -> None:
        self._leaderboard = leaderboard
        self._seconds = seconds
        self._lock = Lock()
        self._entries: tuple[BoardEntry, ...] = ()
        self._read_at: float | None = None

    def entries(self) -> tuple[BoardEntry, ...]:
        """Returns the boards, the one with the most votes first."""
        with self._lock:
            seconds = self._seconds
            if any(entry.leaders is None for entry in self._entries):
                seconds = min(seconds, EARLY_SECONDS)
            if self._read_at is None or time.monotonic() - self._read_at >= seconds:
                self._entries = tuple(self._read())
                self._read_at = time.monotonic()
            return self._entries

    def health(self) -> list[BoardHealth]:
        """Returns the health of every board with votes."""
        self.entries()  # The leaderboard reports on cached boards, and this caches all of them.
        return self._leaderboard.health()

    def choose(
        self, source: str = "", images: str = "", model: str | None = None, **narrowed: str
    ) -> BoardSelection | None:
        """Returns the board of these names as `Leaderboard.choose` does.

        Without names, or with an unknown source, it is the board with most votes; `model`: among this model's boards.
        `narrowed` are the other parameters of `Leaderboard.choose`. Raises BoardSelectionError.
        """
        if not (source and images):
            for entry in self.entries():
                has_source = not source or entry.source == source
                has_images = not images or entry.images == images
                has_model = model is None or model in entry.models
                if has_source and has_images and has_model:
                    choice = self._leaderboard.choose(entry.source, entry.images, **narrowed)
                    # A campaign may have closed the source since the entries were read.
                    if choice is None or choice.source == entry.source:
                        return choice
        choice = self._leaderboard.choose(source, images, **narrowed)
        if choice is None or source in ("", choice.source):
            return choice
        # The source is unknown, and the leaderboard chose another by its own rule.
        return self.choose("", images, model, **narrowed)

    def _read(self) -> list[BoardEntry]:
        entries = []
        for source in self._leaderboard.sources(MOST_SOURCES):
            for images in ("single", "multiple"):
                choice = self._leaderboard.choose(source, images)
                board = choice and self._leaderboard.board(choice.key)
                if board and board.votes:
                    entries.append(_entry(source, images, board))
        return sorted(entries, key=lambda entry: -entry.votes)


def _entry(source: str, images: str, board: Board) -> BoardEntry:
    return BoardEntry(
        source=source,
        images=images,
        votes=board.votes,
        leaders=None if board.statistics is None else leaders(board),
        models=frozenset(line.model for line in board.standings),
    )
