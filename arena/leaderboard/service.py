"""Leaderboard service: boards from the votes in memory, each computed once for the votes it counts.

A board remembers how many votes it has counted, and counts only those behind them, so that one more vote costs the same
at any number. It is counted anew when what decides about votes has changed: the bank, flags, who counts. Intervals and
other slow statistics are computed by one background thread.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import pandas as pd
from sqlalchemy import Connection, select

from arena.battles.settlements import extend_record, read_record, source_board
from arena.battles.vote_table import VoteTable, rows_of, values
from arena.campaign_battles.spec import closed_sources
from arena.database import Database
from arena.fraud.eligibility import official_board
from arena.fraud.flags import FlagService, VoterMarks
from arena.imports.tables import IMPORTED_SOURCE
from arena.items.store import ANSWER, SOURCE
from arena.leaderboard.board import NONE_LEFT_OUT, NOTHING, Board, BoardKey, board
from arena.leaderboard.board_inputs import BoardInputs, InputReader
from arena.leaderboard.board_state import BoardHealth, BoardState, Version
from arena.leaderboard.board_votes import (
    NO_TALLY,
    BoardFrames,
    added_counts,
    counted_imported,
    counts_of,
    families_of,
    frames_of,
    history_of,
    import_summary,
    lost_by,
    same_counts,
    tally,
    votes_of,
)
from arena.leaderboard.selection import (
    BoardSelection,
    BoardSelectionError,
    bank_sources,
    board_sources,
    closed_labels,
    day_of,
    first_source,
)
from arena.leaderboard.statistics import FamilyRatings, History, compute_statistics, family_ratings
from arena.leaderboard.takeover import takeover
from arena.ratings.shares import Share
from arena.settings import BoardVoters, CountRule, CountSettings

EVERY_SECONDS = 60.0
"""Least seconds between two computations of a board's intervals or of its history."""
MANY = 1000
"""Votes from which on a board's statistics are computed only every so often."""
RENEW_SECONDS = 1.0
"""A board that many ask for at one time is brought up to date so often."""
KEPT_BOARDS = 64
KEPT_NARROWED = 32
"""Boards of one family or of some days that are kept; they never take the place of whole ones."""
EVERYONE = CountSettings()
LOST_AT_ONCE = 100
"""Lost battles whose answers are read at once."""
WAITING = 4
"""Boards of one family or of some days whose statistics may wait for their turn; others ask again."""

log = logging.getLogger(__name__)


class LostBattle(NamedTuple):
    """A final battle that a model lost, without whoever voted."""

    battle: int
    """Its id, by which they are ordered."""
    item: int
    winner: int
    lost: str
    """The model's answer."""
    won: str


class Leaderboard:
    """Computing and caching boards of the votes that count, by `who`, and of everyone's.

    `every` is the least number of seconds between two computations of a board's statistics.
    """

    def __init__(
        self,
        database: Database,
        votes: VoteTable,
        who: CountSettings = EVERYONE,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._database = database
        self._votes = votes
        self.who = who
        self._every = every
        self._lock = Lock()
        """Guards the cache of boards. Lock order: a board's `turn` first, then this one."""
        self._kept: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._narrowed: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._narrowed_jobs: list[Future[None]] = []
        self._inputs = InputReader({who, EVERYONE})
        self._flag_services = {rule: FlagService(database, rule, votes) for rule in (who, EVERYONE)}
        self._finder = ThreadPoolExecutor(1, "boards")

    @property
    def families(self) -> Mapping[int, str]:
        """Names by code, as of the last board."""
        return self._inputs.last.families

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
        """Returns the board of these names, by default the newest bank's single images; None while there is no source.

        `images` is "single" or "multiple", days are written as 2026-01-31; `voters` is "all" to count flagged ones too.
        `votes` is "counted" or "everyone", where there are two boards, by default the official one's.
        Raises BoardSelectionError for a malformed day, a first day after the last, or votes that have no board.
        """
        first = day_of(since)
        last = day_of(until)
        if first and last and first > last:
            raise BoardSelectionError(f"The first day, {first}, comes after the last, {last}.")
        cast = self._votes.read().votes
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
            sources = board_sources(connection, cast)
            if not sources:
                return None
            chosen = next((one for one in sources if one.label == source), first_source(sources))
            shown = self._shown_votes(connection, votes) if chosen.kind != "imported" else None
        unflagged = voters != "all" or chosen.kind == "imported"
        multi = images == "multiple"
        everyone = shown == "everyone"
        whole = BoardKey(
            chosen.code, multi, kind=chosen.kind, unflagged=unflagged, everyone=everyone
        )
        codes = families_of(frames_of(cast, inputs.imported, whole), whole)
        voted = {inputs.families[code]: code for code in codes}
        named = family if isinstance(family, str) and family in voted else None
        key = replace(whole, family=voted[named] if named else None, since=first, until=last)
        names = tuple(sorted(voted, key=str.casefold))
        return BoardSelection(
            key, chosen.label, named, shown, tuple(one.label for one in sources), names
        )

    def closed(self) -> frozenset[str]:
        """Returns the sources whose boards nobody may see while a campaign on them is running."""
        with self._database.read() as connection:
            return closed_sources(connection)

    def official_key(self, source: int, multi: bool) -> BoardKey | None:
        """Returns the key of a bank's official board; None while it is closed."""
        with self._database.read() as connection:
            if source not in {one.code for one in bank_sources(connection)}:
                return None
            shown = self._shown_votes(connection, None)
            return BoardKey(source, multi, everyone=shown == "everyone")

    def _shown_votes(self, connection: Connection, asked: object) -> BoardVoters | None:
        """Returns whose votes to show, by default the official board's; None where there is one board."""
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
        """Returns a board with every vote final before the call.

        If it has no statistics yet, wait for them at most `patience` seconds.
        """
        kept = self._keep(key)
        made = self._board(key, kept)
        if made.statistics is None and patience and kept.computing is not None:
            wait([kept.computing], patience)
            made = self._board(key, kept)
        return made

    def latest(self, key: BoardKey) -> Board | None:
        """Returns a board as it was last computed, at once; None if it never was.

        It is brought up to date after that, unless that was done in the last RENEW_SECONDS.
        """
        kept = self._keep(key)
        is_renewing = kept.renewing is not None and not kept.renewing.done()
        if not is_renewing and time.monotonic() - kept.renewed_at > RENEW_SECONDS:
            kept.renewed_at = time.monotonic()
            with suppress(RuntimeError):  # closed
                kept.renewing = self._finder.submit(self.board, key)
                kept.renewing.add_done_callback(_tell)
        return kept.board

    def history(self, key: BoardKey) -> History:
        kept = self._keep(key)
        with kept.turn:
            if kept.history is None or time.monotonic() - kept.history_at > self._every:
                read_at = time.monotonic()
                frames, marks = self._basis(key)
                kept.history = history_of(frames, key, marks)
                kept.history_at = read_at
            return kept.history

    def family_ratings(self, made: Board) -> Mapping[str, FamilyRatings]:
        """Returns the ratings of a board's models by family name; empty until the board has statistics."""
        if made.statistics is None:
            return {}
        kept = self._keep(made.key)
        with kept.turn:
            if kept.families_of is not made.statistics:
                kept.families = family_ratings(made.statistics.of)
                kept.families_of = made.statistics
            return {
                self.families[one.family]: one
                for one in kept.families
                if one.family in self.families
            }

    def reference_shares(self, made: Board) -> Mapping[str, Mapping[int, Share]]:
        """Returns the shares won against the reference by family name and model; empty until there are statistics."""
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
        """Returns the last battles on a bank's own items that a model lost, before the one of this number."""
        if key.kind != "bank":
            return []
        frames, marks = self._basis(key)
        lost = lost_by(frames.cast, key, marks, model)
        if before is not None:
            lost = rows_of(lost, values(lost, "battle") < before)
        found: list[LostBattle] = []
        for start in range(0, len(lost), LOST_AT_ONCE):
            found += self._in_use(lost.iloc[start : start + LOST_AT_ONCE])
            if len(found) >= most:
                break
        return found[:most]

    def _in_use(self, lost: pd.DataFrame) -> list[LostBattle]:
        """Returns lost battles with their answers, without those whose answers are out of use."""
        answers = {*values(lost, "answer_a").tolist(), *values(lost, "answer_b").tolist()}
        texts = select(ANSWER.c.id, ANSWER.c.text).where(
            ANSWER.c.id.in_(answers), ANSWER.c.withdrawn_at.is_(None)
        )
        with self._database.read() as connection:
            text = {row.id: row.text for row in connection.execute(texts)}
        columns = ("battle", "item", "winner", "left", "answer_a", "answer_b")
        rows = zip(*(values(lost, name).tolist() for name in columns), strict=True)
        found = []
        for battle, item, winner, left, a, b in rows:
            won, other = (a, b) if left else (b, a)
            if won in text and other in text:
                found.append(LostBattle(battle, item, winner, text[other], text[won]))
        return found

    def health(self) -> list[BoardHealth]:
        """Returns how the whole boards that are kept stand, the largest first."""
        cast = self._votes.read().votes
        with self._database.read() as connection:
            labels = closed_labels(connection) | {
                (one.kind, one.code): one.label for one in board_sources(connection, cast)
            }
        with self._lock:
            kept = list(self._kept.items())
        found = [
            one.health(labels.get((key.kind, key.source), "removed"), key, self._votes.checks)
            for key, one in kept
            if one.counts.votes
        ]
        return sorted(found, key=lambda one: -one.votes)

    def _keep(self, key: BoardKey) -> BoardState:
        """Returns a board's cached state as the most recently used; the least recently used is dropped."""
        boards, most = (
            (self._narrowed, KEPT_NARROWED) if key.narrowed else (self._kept, KEPT_BOARDS)
        )
        with self._lock:
            kept = boards.setdefault(key, BoardState())
            boards.move_to_end(key)
            if len(boards) > most:
                boards.popitem(last=False)
            return kept

    def _board(self, key: BoardKey, kept: BoardState) -> Board:
        with kept.turn:
            self._count(key, kept)
            entrants = self._inputs.last.entrants
            statistics = kept.statistics
            basis = (kept.counts, entrants, statistics, kept.import_summary, kept.left_out)
            if kept.board is None or any(
                old is not new for old, new in zip(kept.basis, basis, strict=True)
            ):
                kept.board = board(
                    key,
                    kept.counts,
                    entrants,
                    statistics,
                    import_summary=kept.import_summary,
                    left_out=kept.left_out,
                    before=kept.board,
                )
                kept.basis = basis
            self._schedule_statistics(key, kept)
            return kept.board

    def _count(self, key: BoardKey, kept: BoardState) -> None:
        """Brings a board's counts up to date: by the votes behind those that it has counted, or by all of them."""
        final = self._votes.read()
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
        who = self._who(key)
        version = Version(final.edition, inputs.bank, inputs.flags, inputs.eligible[who])
        is_new = version != kept.version
        if is_new:
            kept.tally = NO_TALLY
            kept.seen = 0
        frames = frames_of(final.votes, inputs.imported, key)
        if len(frames.cast) > kept.seen:
            news = tally(frames.cast.iloc[kept.seen :], key, inputs.marks[who])
            kept.tally = kept.tally + news
            kept.seen = len(frames.cast)
        elif not is_new:
            return
        kept.version = version
        left_out = kept.tally.excluded(who.rule) if key.kind != "imported" else NONE_LEFT_OUT
        kept.left_out = left_out if left_out != kept.left_out else kept.left_out
        if is_new:
            self._count_imported(key, kept, frames, inputs)
        counts = added_counts(kept.tally.counts, kept.imported)
        if not same_counts(counts, kept.counts):
            kept.counts = counts

    @staticmethod
    def _count_imported(
        key: BoardKey, kept: BoardState, frames: BoardFrames, inputs: BoardInputs
    ) -> None:
        kept.imported = NOTHING
        kept.import_summary = None
        if frames.imported is not None:
            kept.imported = counts_of(frames.imported, counted_imported(frames.imported, key))
            kept.import_summary = import_summary(frames.imported, key, inputs.imported_sources)

    def _basis(self, key: BoardKey) -> tuple[BoardFrames, VoterMarks]:
        """Returns the votes that a board may count, and the marks of their voters."""
        final = self._votes.read()
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
        return frames_of(final.votes, inputs.imported, key), inputs.marks[self._who(key)]

    def _schedule_statistics(self, key: BoardKey, kept: BoardState) -> None:
        """Schedule statistics for counts that have none, and a check of the counts, at most every `every` seconds.

        On a board of few votes, which cost little, they follow sooner.
        """
        with self._lock:
            self._narrowed_jobs = [job for job in self._narrowed_jobs if not job.done()]
            if (
                kept.is_waiting
                or (key.narrowed and len(self._narrowed_jobs) >= WAITING)
                or time.monotonic() - kept.found_at < self._every * min(1, kept.counts.votes / MANY)
            ):
                return
            kept.found_at = time.monotonic()
            with suppress(RuntimeError):  # closed
                kept.computing = self._finder.submit(self._compute_statistics, key, kept)
                kept.computing.add_done_callback(_tell)
                if key.narrowed:
                    self._narrowed_jobs.append(kept.computing)

    def _compute_statistics(self, key: BoardKey, kept: BoardState) -> None:
        counts = kept.counts
        bank = kept.version.bank if kept.version else -1
        is_new = counts is not kept.found_for or bank != kept.found_bank
        if is_new and counts.votes:
            self._flag_services[self._who(key)].look()
            frames, marks = self._basis(key)
            source = self._inputs.last.imported_sources.get(key.source)
            judged = key.kind == "imported" and source is not None and source.judge
            cast = votes_of(frames, key, marks, judged)
            with self._database.read() as connection:
                name = board_name(connection, key, self._who(key).rule)
                record = read_record(connection, name) if name else None
            if len(cast.votes):
                reference = next(
                    (
                        code
                        for code, model in self._inputs.last.entrants.items()
                        if model.is_reference
                    ),
                    None,
                )
                shown = len(record.models.union(cast.codes)) if record else None
                found = compute_statistics(cast, kept.statistics, reference, shown)
                if name and record:
                    record = extend_record(self._database, name, record, found.codes, found.look)
                    found = replace(found, settled=record.settled)
                if name and key.kind != "imported":
                    before = kept.statistics and kept.statistics.takeover
                    found = replace(found, takeover=takeover(cast, found, before))
                kept.statistics = found
                kept.computed_at = time.monotonic()
            kept.found_for = counts
            kept.found_bank = bank
        self._votes.check()


def board_name(connection: Connection, key: BoardKey, rule: CountRule) -> str | None:
    """Returns the name under which a board has its record; None for one that somebody narrowed."""
    if key.narrowed or not key.unflagged:
        return None
    source = {"bank": SOURCE.c, "imported": IMPORTED_SOURCE.c}.get(key.kind)
    name = (
        connection.scalar(select(source.name).where(source.id == key.source))
        if source
        else key.source
    )
    return source_board(key.kind, key.multi, rule, str(name))


def _tell(computing: "Future[Any]") -> None:
    """Logs an error that kept a board's statistics from being computed."""
    if not computing.cancelled() and (error := computing.exception()) is not None:
        log.error("a board's intervals could not be computed", exc_info=error)
