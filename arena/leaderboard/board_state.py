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
    """Versions that a board's counts depend on, beside new votes."""

    edition: int
    """The edition of the vote table; an erased voter, or an item's new picture, makes another."""
    bank: int
    flags: int
    eligibility: tuple[int, ...]
    """Numbers that change with the voters who count."""


class BoardHealth(NamedTuple):
    """The health of a board that somebody opened; times are ages, None: not yet."""

    source: str
    key: BoardKey
    votes: int
    computed: timedelta | None
    """The age of its statistics."""
    is_waiting: bool
    """Whether they are being computed again."""
    checked: timedelta | None
    """The time since the votes in memory were last compared with the stored ones."""
    mended: int
    """The number of times that they differed and were read again."""
    problem: str


@dataclass(eq=False)
class BoardState:
    """A board with its inputs. Times are seconds of `time.monotonic`; -infinity: not yet."""

    turn: Lock = field(default_factory=Lock)
    """Held while computing for this board, so that others wait for the result."""
    tally: Tally = NO_TALLY
    """The tally of the first `tallied_votes` votes of the vote table."""
    tallied_votes: int = 0
    version: Version | None = None
    """The versions that the tally was made for."""
    counts: Counts = NO_COUNTS
    """The tally's counts, with imported votes if any count."""
    imported: Counts = NO_COUNTS
    """The imported votes that count."""
    import_summary: ImportSummary | None = None
    left_out: ExcludedVotes = NONE_LEFT_OUT
    board: Board | None = None
    basis: tuple[object, ...] = ()
    """The inputs of `board`."""
    statistics: Statistics | None = None
    statistics_counts: Counts | None = None
    """The counts that `statistics` were computed for."""
    statistics_bank: int = -1
    """The bank's version that `statistics` were computed for."""
    statistics_job: "Future[None] | None" = None
    """The last computation of `statistics`, perhaps not done yet."""
    scheduled_at: float = -math.inf
    """The time at which `statistics_job` was scheduled."""
    computed_at: float = -math.inf
    """The time at which `statistics` were computed."""
    update_job: "Future[Board] | None" = None
    """The last update of `board` in the background, perhaps not done yet."""
    update_at: float = -math.inf
    """The time at which `update_job` was scheduled."""
    history: History | None = None
    history_at: float = -math.inf
    """The time at which the votes for `history` were read."""
    families: tuple[FamilyRatings, ...] = ()
    families_statistics: Statistics | None = None
    """The statistics that `families` were computed from."""

    @property
    def is_waiting(self) -> bool:
        """Whether statistics are being computed, or wait for it."""
        return self.statistics_job is not None and not self.statistics_job.done()

    @property
    def problem(self) -> str:
        """The error that prevented its statistics; "": none."""
        job = self.statistics_job
        if job is None or not job.done() or job.cancelled():
            return ""
        error = job.exception()
        return f"{type(error).__name__}. The log has more" if error else ""

    def health(self, source: str, key: BoardKey, checks: TableChecks) -> BoardHealth:
        return BoardHealth(
            source=source,
            key=key,
            votes=self.counts.votes,
            computed=_ago(self.computed_at),
            is_waiting=self.is_waiting,
            checked=_ago(checks.checked_at),
            mended=checks.mended,
            problem=self.problem,
        )


def _ago(moment: float) -> timedelta | None:
    """Returns the time since a moment of `time.monotonic`; None: not yet."""
    return timedelta(seconds=time.monotonic() - moment) if math.isfinite(moment) else None
