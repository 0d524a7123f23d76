"""Leaderboard service: boards from the database, each computed once for the votes it counts, not for each visitor.

A board of one source, single or multiple images, follows the win counts kept in each vote's own transaction, less the
votes that may still be undone: only changed rows are read, so that one more vote costs the same at any number. Boards
of some days are counted from the votes themselves. Imported votes are counted when a board with them is first opened
after an import. Intervals and other slow statistics are computed by one background thread.
"""

import logging
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import BoundedSemaphore, Lock
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from arena.battles.settlements import extend_record, read_record
from arena.battles.tables import LAST_LIVE_VOTE, LAST_VOTE, LIVE_VOTE, VOTE, WINS
from arena.clock import ChangesSeen, keep_time
from arena.database import META, Database
from arena.fraud.eligibility import official_board
from arena.fraud.flags import FLAGS_VERSION, FlagService
from arena.imports.tables import imported_sources
from arena.items.store import BANK_VERSION, FAMILY, MODEL
from arena.leaderboard.board import NOTHING, Board, BoardKey, Counts, Entrant, VoteKind, board
from arena.leaderboard.board_state import BoardHealth, BoardState, Version
from arena.leaderboard.queries import (
    LostBattle,
    Table,
    board_name,
    counts_of,
    flagged_counts,
    history_of,
    import_summary_of,
    imported_counts,
    left_out_of,
    lost_battles,
    open_rows,
    votes_of,
    wanted,
)
from arena.leaderboard.selection import (
    BoardSelection,
    BoardSelectionError,
    board_sources,
    day_of,
    first_source,
)
from arena.leaderboard.statistics import FamilyRatings, History, compute_statistics, family_ratings
from arena.leaderboard.win_counts import (
    WinCounts,
    added_counts,
    less_counts,
    same_counts,
    summed_counts,
)
from arena.live.votes import LIVE_CHANGED, LIVE_TOTAL
from arena.ratings.shares import Share
from arena.settings import BoardVoters, CountSettings
from arena.types import REFERENCE

EVERY_SECONDS = 60.0
"""Least seconds between two computations of a board's intervals, its history, or the counts of some days."""
MANY = 1000
"""Votes from which on a board's statistics are computed only every so often."""
MANY_ONE_BY_ONE = 100_000
"""Votes from which on votes are counted one by one, which takes 0.1 s then, only every so often; sooner below."""
KEPT_BOARDS = 64
KEPT_NARROWED = 32
"""Boards of one family or of some days that are kept; they never take the place of whole ones."""
AT_ONCE = 2
PATIENCE_SECONDS = 5.0
"""Boards of some days that are read from the votes at the same time, and how long another one waits for its turn."""
EVERYONE = CountSettings()
WAITING = 4
"""Boards of one family or of some days whose statistics may wait for their turn; others ask again."""

_MINE = (WINS.c.source_id == bindparam("source")) & (WINS.c.multi == bindparam("multi"))
_CHANGED = select(WINS.c.family_id, WINS.c.winner, WINS.c.loser, WINS.c.n, WINS.c.left_n).where(
    _MINE, WINS.c.change >= bindparam("since")
)
_SEEN = select(ChangesSeen(LAST_VOTE))
_LIVE_SEEN = select(ChangesSeen(LAST_LIVE_VOTE))
_TOTAL = select(func.sum(WINS.c.n)).where(_MINE)
_VERSIONS = select(META.c.name, META.c.value).where(
    (META.c.name == BANK_VERSION) | (META.c.name == FLAGS_VERSION)
)

log = logging.getLogger(__name__)


class BoardBusyError(BoardSelectionError):
    """Too many boards of other days are being read."""

    def __init__(self) -> None:
        super().__init__(
            f"Boards of chosen days are read {AT_ONCE} at a time, and others wait: try again in a minute."
        )


class Leaderboard:
    """Computing and caching boards of the votes that count, by `who`, and of everyone's.

    `every` is the least number of seconds between two computations of a board's statistics.
    """

    def __init__(
        self, database: Database, who: CountSettings = EVERYONE, every: float = EVERY_SECONDS
    ) -> None:
        self._database = database
        self.who = who
        self._every = every
        self._lock = Lock()
        """Guards the win counts and the cache of boards. Lock order: a board's `turn` first, then this one."""
        self._win_counts_by_board: dict[tuple[VoteKind, int, bool], WinCounts] = {}
        self._kept: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._narrowed: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._dated_turns = BoundedSemaphore(AT_ONCE)
        self._bank = -1
        self._flags = 0
        self._imports_count = False
        """Whether any imported votes were set to count beside this arena's."""
        self._imported: dict[BoardKey, Table] = {}
        """The imported votes of whole boards, as rows of `imported_counts`, since the bank last changed."""
        self._entrants: Mapping[int, Entrant] = {}
        self.families: Mapping[int, str] = {}
        """Names by code, as of the last board."""
        self._flag_services = {rule: FlagService(database, rule) for rule in (who, EVERYONE)}
        self._finder = ThreadPoolExecutor(1, "boards")

    def close(self) -> None:
        """Finish the computation in progress and start no other."""
        self._finder.shutdown(cancel_futures=True)

    def choose(
        self,
        source: object,
        images: object,
        family: object = None,
        since: object = None,
        until: object = None,
        voters: object = None,
        votes: object = None,
    ) -> BoardSelection | None:
        """Return the board of these names, by default the newest bank's single images; None while there is no source.

        `images` is "single" or "multiple", days are written as 2026-01-31; `voters` is "all" to count flagged ones too.
        `votes` is "counted" or "everyone", where there are two boards, by default the official one's.
        Raises BoardSelectionError for a malformed day, a first day after the last, or votes that have no board.
        """
        first = day_of(since)
        last = day_of(until)
        if first and last and first > last:
            raise BoardSelectionError(f"The first day, {first}, comes after the last, {last}.")
        keep_time(self._database, VOTE, LIVE_VOTE)
        with self._database.read() as connection, self._lock:
            self._know_bank(connection)
            sources = board_sources(connection)
            if not sources:
                return None
            chosen = next(
                (known for known in sources if known.label == source), first_source(sources)
            )
            shown = self._votes(connection, votes) if chosen.kind != "imported" else None
            unflagged = voters != "all" or chosen.kind == "imported"
            multi = images == "multiple"
            everyone = shown == "everyone"
            whole = BoardKey(
                chosen.code, multi, kind=chosen.kind, unflagged=unflagged, everyone=everyone
            )
            voted = {self.families[code]: code for code in self._voted_families(connection, whole)}
        named = family if isinstance(family, str) and family in voted else None
        key = replace(whole, family=voted[named] if named else None, since=first, until=last)
        names = tuple(sorted(voted, key=str.casefold))
        return BoardSelection(
            key, chosen.label, named, shown, tuple(known.label for known in sources), names
        )

    def official_key(self, source: int, multi: bool) -> BoardKey | None:
        """Return the key of a bank's official board; None while it is closed."""
        with self._database.read() as connection:
            if ("bank", source) not in {(one.kind, one.code) for one in board_sources(connection)}:
                return None
            return BoardKey(source, multi, everyone=self._votes(connection, None) == "everyone")

    def _votes(self, connection: Connection, asked: object) -> BoardVoters | None:
        """Return whose votes to show, by default the official board's; None where there is one board."""
        boards: tuple[BoardVoters, ...] = (
            ("everyone",) if self.who.rule == "everyone" else ("counted", "everyone")
        )
        if asked and asked not in boards:
            raise BoardSelectionError(
                f"The boards here have the votes of {' or '.join(boards)}, not {asked!r:.20}."
            )
        if len(boards) == 1:
            return None
        return (
            boards[boards.index(asked)] if asked in boards else official_board(connection, self.who)
        )

    def _who(self, key: BoardKey) -> CountSettings:
        return EVERYONE if key.everyone else self.who

    def board(self, key: BoardKey, patience: float = 0.0) -> Board:
        """Return a board with every vote final before the call (one of some days: within EVERY_SECONDS).

        If it has no statistics yet, wait for them at most `patience` seconds. Raises BoardBusyError.
        """
        kept = self._keep(key)
        with self._turn(key, kept.asked_at):
            made = self._board(key, kept)
        if made.statistics is None and patience and kept.computing is not None:
            wait([kept.computing], patience)
            made = self._board(key, kept)
        return made

    def latest(self, key: BoardKey) -> Board | None:
        """Return a board as it was last computed, at once, and bring it up to date after that; None if it never was."""
        kept = self._keep(key)
        if kept.renewing is None or kept.renewing.done():
            with suppress(RuntimeError):  # closed
                kept.renewing = self._finder.submit(self.board, key)
                kept.renewing.add_done_callback(_tell)
        return kept.board

    def history(self, key: BoardKey) -> History:
        keep_time(self._database, VOTE, LIVE_VOTE)
        kept = self._keep(key)
        with self._turn(key, kept.history_at), kept.turn:
            if kept.history is None or time.monotonic() - kept.history_at > self._every:
                with self._database.read() as connection:
                    read_at = time.monotonic()
                    kept.history = history_of(connection, key, self._who(key))
                kept.history_at = read_at
            return kept.history

    def family_ratings(self, made: Board) -> Mapping[str, FamilyRatings]:
        """Return the ratings of a board's models by family name; empty until the board has statistics."""
        if made.statistics is None:
            return {}
        kept = self._keep(made.key)
        read_at = math.inf if kept.families_of is made.statistics else -math.inf
        with self._turn(made.key, read_at), kept.turn:
            if kept.families_of is not made.statistics:
                kept.families = family_ratings(made.statistics.of)
                kept.families_of = made.statistics
            return {
                self.families[one.family]: one
                for one in kept.families
                if one.family in self.families
            }

    def reference_shares(self, made: Board) -> Mapping[str, Mapping[int, Share]]:
        """Return the shares won against the reference by family name and model; empty until there are statistics."""
        if made.statistics is None or made.statistics.against is None:
            return {}
        codes = made.statistics.codes
        found = made.statistics.against.families
        known = {
            self.families[code]: rates for code, rates in found.items() if code in self.families
        }
        return {name: dict(zip(codes, rates, strict=True)) for name, rates in known.items()}

    def lost_battles(
        self, key: BoardKey, model: int, before: int | None, most: int
    ) -> list[LostBattle]:
        """Return the last battles on a bank's own items that a model lost, before the one of this number."""
        if key.kind != "bank":
            return []
        keep_time(self._database, VOTE, LIVE_VOTE)
        with self._database.read() as connection:
            return lost_battles(connection, key, self._who(key), model, before, most)

    def health(self) -> list[BoardHealth]:
        """Return how the whole boards that are kept stand, the largest first."""
        with self._database.read() as connection:
            labels = {(one.kind, one.code): one.label for one in board_sources(connection)}
        with self._lock:
            kept = list(self._kept.items())
        found = [
            one.health(labels.get((key.kind, key.source), "gone"), key)
            for key, one in kept
            if one.counts.votes
        ]
        return sorted(found, key=lambda one: -one.votes)

    def _keep(self, key: BoardKey) -> BoardState:
        """Return a board's cached state as the most recently used; the least recently used is dropped."""
        boards, most = (
            (self._narrowed, KEPT_NARROWED) if key.narrowed else (self._kept, KEPT_BOARDS)
        )
        with self._lock:
            kept = boards.setdefault(key, BoardState())
            boards.move_to_end(key)
            if len(boards) > most:
                boards.popitem(last=False)
            return kept

    @contextmanager
    def _turn(self, key: BoardKey, since: float) -> Iterator[None]:
        """Wait for a turn to read the votes of some days, unless what was read then still holds.

        Nobody waits with a connection or a lock of others. Raises BoardBusyError.
        """
        if not key.dated or time.monotonic() - since < self._every:
            yield
        elif not self._dated_turns.acquire(timeout=PATIENCE_SECONDS):
            raise BoardBusyError
        else:
            try:
                yield
            finally:
                self._dated_turns.release()

    def _board(self, key: BoardKey, kept: BoardState) -> Board:
        with kept.turn:
            self._count(key, kept)
            basis = (
                kept.counts,
                self._entrants,
                kept.statistics,
                kept.import_summary,
                kept.left_out,
            )
            if kept.board is None or any(
                old is not new for old, new in zip(kept.basis, basis, strict=True)
            ):
                kept.board = board(
                    key,
                    kept.counts,
                    self._entrants,
                    kept.statistics,
                    import_summary=kept.import_summary,
                    left_out=kept.left_out,
                    before=kept.board,
                )
                kept.basis = basis
            self._schedule_statistics(key, kept)
            return kept.board

    def _count(self, key: BoardKey, kept: BoardState) -> None:
        """Bring a board's counts up to date: from the win counts, or from the votes where those do not suffice."""
        keep_time(self._database, VOTE, LIVE_VOTE)
        with self._database.read() as connection:
            # Taken before the first statement, so that nobody reads an older state after a newer one.
            with self._lock:
                win_counts, still_open = self._win_counts(connection, key)
                self._know_bank(connection)
                version = Version(self._bank, self._flags, win_counts.version, still_open.tobytes())
                one_by_one = key.dated or (
                    self._who(key).rule != "everyone" and key.kind != "imported"
                )
                follows = one_by_one and not key.dated and key.kind != "imported"
                is_small = follows and win_counts.votes < MANY_ONE_BY_ONE
                pause = self._every * (win_counts.votes / MANY_ONE_BY_ONE if is_small else 1)
                late = time.monotonic() - kept.asked_at >= pause
                if version == kept.counted and not late:
                    return
                counts = less_counts(win_counts.counts(key.family), _of_family(still_open, key))
            if one_by_one and not late:
                return
            if version.bank != kept.counted.bank:
                has_imports = self._imports_count or key.kind == "imported"
                kept.import_summary = import_summary_of(connection, key) if has_imports else None
            if late or version.flags != kept.counted.flags:
                self._ask(connection, key, kept, one_by_one)
            if one_by_one:
                counts = counts_of(connection, key, self._who(key))
            else:
                with self._lock:
                    imported = self._imported_rows(connection, key)
                counts = added_counts(less_counts(counts, kept.flagged), _of_family(imported, key))
            if not same_counts(counts, kept.counts):
                kept.counts = counts
            kept.counted = version

    def _ask(
        self, connection: Connection, key: BoardKey, kept: BoardState, one_by_one: bool
    ) -> None:
        """Query a board's excluded votes, which the win counts do not tell."""
        subtracts = self._flags and key.unflagged and not one_by_one and key.kind != "imported"
        kept.flagged = flagged_counts(connection, key, self._who(key)) if subtracts else NOTHING
        left_out = left_out_of(connection, key, self._who(key))
        kept.left_out = left_out if left_out != kept.left_out else kept.left_out
        kept.asked_at = time.monotonic()

    def _imported_rows(self, connection: Connection, key: BoardKey) -> Table:
        """Return the rows of `imported_counts` of all families, counted once after each import."""
        whole = replace(key, family=None, since=None, until=None, unflagged=True, everyone=False)
        if key.kind == "live" or (key.kind == "bank" and not self._imports_count):
            return _NO_ROWS
        if whole not in self._imported:
            self._imported[whole] = imported_counts(connection, whole)
        return self._imported[whole]

    def _voted_families(self, connection: Connection, key: BoardKey) -> set[int]:
        imported = set(self._imported_rows(connection, key)[:, 0].tolist())
        win_counts, still_open = self._win_counts(connection, key)
        votes = Counter(win_counts.voted_families())
        for family, *_, n, _left in still_open.tolist():
            votes[family] -= n
        return imported.union(family for family, n in votes.items() if n > 0) - {0}

    def _win_counts(self, connection: Connection, key: BoardKey) -> tuple[WinCounts, Table]:
        """Return the up-to-date win counts of a board's source and kind of images, and its `open_rows`.

        Both are of the same moment; nobody may learn of the open rows yet.
        """
        if key.kind == "imported":
            return WinCounts(), _NO_ROWS
        win_counts = self._win_counts_by_board.setdefault(
            (key.kind, key.source, key.multi), WinCounts()
        )
        changed, seen = (LIVE_CHANGED, _LIVE_SEEN) if key.kind == "live" else (_CHANGED, _SEEN)
        news = connection.execute(changed, {**wanted(key), "since": win_counts.seen}).all()
        win_counts.take(news, connection.scalar(seen) or 0)
        return win_counts, open_rows(connection, key)

    def _know_bank(self, connection: Connection) -> None:
        versions = {row.name: row.value for row in connection.execute(_VERSIONS)}
        self._flags = versions.get(FLAGS_VERSION, 0)
        version = versions.get(BANK_VERSION, 0)
        if version != self._bank:
            models = connection.execute(
                select(MODEL.c.id, MODEL.c.name, MODEL.c.display, MODEL.c.retired_at)
            )
            self._entrants = {
                row.id: Entrant(row.display, row.retired_at is not None, row.name == REFERENCE)
                for row in models
            }
            self.families = {row.id: row.name for row in connection.execute(select(FAMILY))}
            self._imports_count = any(source.into_live for source in imported_sources(connection))
            self._imported.clear()
            self._bank = version

    def _schedule_statistics(self, key: BoardKey, kept: BoardState) -> None:
        """Schedule statistics for counts that have none, and a check of the counts, at most every `every` seconds.

        On a board of few votes, which cost little, they follow sooner.
        """
        with self._lock:
            waiting = sum(1 for other in self._narrowed.values() if other.is_waiting)
            if (
                kept.is_waiting
                or (key.narrowed and waiting >= WAITING)
                or time.monotonic() - kept.found_at < self._every * min(1, kept.counts.votes / MANY)
            ):
                return
            kept.found_at = time.monotonic()
            kept.computing = self._finder.submit(
                self._compute_statistics, key, kept, kept.counts is not kept.found_for
            )
            kept.computing.add_done_callback(_tell)
            kept.found_for = kept.counts

    def _compute_statistics(self, key: BoardKey, kept: BoardState, is_new: bool) -> None:
        if is_new and kept.counts.votes:
            self._flag_services[self._who(key)].look()
            with self._database.read() as connection:
                cast = votes_of(connection, key, self._who(key))
                name = board_name(connection, key, self._who(key).rule)
                record = read_record(connection, name) if name else None
            if len(cast.votes):
                reference = next(
                    (code for code, model in self._entrants.items() if model.is_reference), None
                )
                shown = len(record.models.union(cast.codes)) if record else None
                found = compute_statistics(cast, kept.statistics, reference, shown)
                if name and record:
                    record = extend_record(self._database, name, record, found.codes, found.look)
                    found = replace(found, settled=record.settled)
                kept.statistics = found
                kept.computed_at = time.monotonic()
        self._check(key, kept)

    def _check(self, key: BoardKey, kept: BoardState) -> None:
        """Read all win counts anew if some changed unseen, as when somebody else wrote to the database."""
        if key.kind == "imported":
            return
        total = LIVE_TOTAL if key.kind == "live" else _TOTAL
        with self._database.read() as connection, self._lock:
            win_counts, _ = self._win_counts(connection, key)
            if (connection.scalar(total, wanted(key)) or 0) != win_counts.votes:
                win_counts.forget()
                self._win_counts(connection, key)
                kept.mended += 1
            kept.checked_at = time.monotonic()


_NO_ROWS = np.zeros((0, 6), np.int64)


def _of_family(rows: Table, key: BoardKey) -> Counts:
    """Return the counts of a board's family from rows (family, winner, loser, 1 if they tied, n, n on the left)."""
    return summed_counts(
        rows[rows[:, 0] == key.family, 1:] if key.family is not None else rows[:, 1:]
    )


def _tell(computing: "Future[Any]") -> None:
    """Log an error that kept a board's statistics from being computed."""
    if not computing.cancelled() and (error := computing.exception()) is not None:
        log.error("a board's intervals could not be computed", exc_info=error)
