"""Board state: a board in the leaderboard service with its inputs, and its health, for operators."""

import math
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import NamedTuple

from arena.battles.vote_table import TableChecks
from arena.leaderboard.board import (
    NO_COUNTS,
    NONE_LEFT_OUT,
    Board,
    BoardKey,
    Counts,
    ExcludedVotes,
    ImportSummary,
)
from arena.leaderboard.board_votes import NO_TALLY, Tally
from arena.leaderboard.statistics import FamilyRatings, History, Statistics


class Version(NamedTuple):
    """Versions that a board's counts depend on, beside new votes; an erased voter makes another edition."""

    edition: int
    """The edition of the vote table."""
    bank: int
    flags: int
    eligible: tuple[int, ...]
    """Numbers that change with the voters who count."""


class BoardHealth(NamedTuple):
    """The health of a board that somebody opened; times are ages, None: not yet."""

    source: str
    key: BoardKey
    votes: int
    computed: timedelta | None
    """The age of its statistics."""
    waits: bool
    """Whether they are being computed again."""
    checked: timedelta | None
    """The time since the votes in memory were last compared with the stored ones."""
    mended: int
    """The number of times that they differed and were read again."""
    problem: str


@dataclass(eq=False)
class BoardState:
    """A board with its inputs."""

    turn: Lock = field(default_factory=Lock)
    """Held while computing for this board, so that others wait for the result."""
    tally: Tally = NO_TALLY
    """The tally of the first `tallied` votes of the vote table."""
    tallied: int = 0
    version: Version | None = None
    counts: Counts = NO_COUNTS
    """The tally's counts, with imported votes if any count."""
    imported: Counts = NO_COUNTS
    import_summary: ImportSummary | None = None
    left_out: ExcludedVotes = NONE_LEFT_OUT
    board: Board | None = None
    basis: tuple[object, ...] = ()
    """The inputs of `board`."""
    statistics: Statistics | None = None
    counted_for: Counts | None = None
    bank_version: int = -1
    """counted_for, bank_version: the counts and the bank's version that `statistics` were computed for."""
    scheduled_at: float = -math.inf
    computed_at: float = -math.inf
    computing: "Future[None] | None" = None
    renewing: "Future[Board] | None" = None
    renewed_at: float = -math.inf
    history: History | None = None
    history_at: float = -math.inf
    families: tuple[FamilyRatings, ...] = ()
    families_of: Statistics | None = None

    @property
    def is_waiting(self) -> bool:
        return self.computing is not None and not self.computing.done()

    @property
    def problem(self) -> str:
        """The error that prevented its statistics; "": none."""
        if self.computing is None or not self.computing.done() or self.computing.cancelled():
            return ""
        error = self.computing.exception()
        return f"{type(error).__name__}. The log has more" if error else ""

    def health(self, source: str, key: BoardKey, checks: TableChecks) -> BoardHealth:
        return BoardHealth(
            source=source,
            key=key,
            votes=self.counts.votes,
            computed=_ago(self.computed_at),
            waits=self.is_waiting,
            checked=_ago(checks.checked_at),
            mended=checks.mended,
            problem=self.problem,
        )


def _ago(moment: float) -> timedelta | None:
    return timedelta(seconds=time.monotonic() - moment) if math.isfinite(moment) else None
