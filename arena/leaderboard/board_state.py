"""Board state: what the leaderboard service keeps of each board, and how that stands, for operators."""

import math
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import NamedTuple

from arena.battles.vote_table import TableChecks
from arena.leaderboard.board import (
    NONE_LEFT_OUT,
    NOTHING,
    Board,
    BoardKey,
    Counts,
    ExcludedVotes,
    ImportSummary,
)
from arena.leaderboard.board_votes import NO_TALLY, Tally
from arena.leaderboard.statistics import FamilyRatings, History, Statistics


class Version(NamedTuple):
    """What a board's counts depend on beside new votes; an erased voter makes another edition."""

    edition: int
    """Of the vote table."""
    bank: int
    flags: int
    eligible: tuple[int, ...]
    """Numbers by which it is known whose votes count."""


class BoardHealth(NamedTuple):
    """How a board stands that somebody looked at; times are counted back from now, None: not yet."""

    source: str
    key: BoardKey
    votes: int
    computed: timedelta | None
    """When its statistics were."""
    waits: bool
    """Whether they are being computed anew."""
    checked: timedelta | None
    """When the votes in memory were last compared with the stored ones."""
    mended: int
    """How often they differed, and were read anew."""
    problem: str


@dataclass(eq=False)
class BoardState:
    """A board with what it was made of."""

    turn: Lock = field(default_factory=Lock)
    """Held while computing for this board, so that others wait for the result."""
    tally: Tally = NO_TALLY
    """Of the first `seen` votes of the vote table."""
    seen: int = 0
    version: Version | None = None
    counts: Counts = NOTHING
    """The tally's, with imported votes where some count."""
    imported: Counts = NOTHING
    import_summary: ImportSummary | None = None
    left_out: ExcludedVotes = NONE_LEFT_OUT
    board: Board | None = None
    basis: tuple[object, ...] = ()
    """The inputs of `board`."""
    statistics: Statistics | None = None
    found_for: Counts | None = None
    found_bank: int = -1
    """The counts and the version of the bank that `statistics` are of."""
    found_at: float = -math.inf
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
        """What kept its statistics from being computed; "": nothing."""
        done = (
            self.computing
            if self.computing and self.computing.done() and not self.computing.cancelled()
            else None
        )
        error = done and done.exception()
        return f"{type(error).__name__}; the log has more" if error else ""

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
