"""Leaderboard service: boards from the votes in memory, each computed once for the votes it counts.

A board remembers the number of votes that it has counted and adds only later ones, so that one more vote costs the same
at any number. It is counted anew when the bank, the flags or the voters who count have changed. Intervals and other
slow statistics are computed by one background thread."""

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import pandas as pd
from sqlalchemy import Connection, select

from arena.battles.settlements import extend_record, read_record, source_board_name
from arena.battles.vote_table import VoteTable, rows_of, values
from arena.campaign_battles.spec import closed_sources
from arena.database import Database
from arena.fraud.eligibility import official_board
from arena.fraud.flags import FlagService, VoterMarks
from arena.imports.tables import IMPORTED_SOURCE
from arena.items.store import ANSWER, SOURCE
from arena.leaderboard.board import NO_COUNTS, NONE_LEFT_OUT, Board, BoardKey, board
from arena.leaderboard.board_inputs import BoardInputs, InputReader
from arena.leaderboard.board_state import BoardHealth, BoardState, Version
from arena.leaderboard.board_votes import (
    NO_TALLY,
    BoardFrames,
    added_counts,
    counts_of,
    families_of,
    frames_of,
    history_of,
    import_summary,
    imported_mask,
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
    default_first,
    parse_day,
)
from arena.leaderboard.statistics import (
    FamilyRatings,
    History,
    Statistics,
    compute_statistics,
    family_ratings,
)
from arena.leaderboard.takeover import takeover
from arena.ratings.shares import Share
from arena.settings import BoardVoters, CountSettings

EVERY_SECONDS = 60.0
"""The least seconds between two computations of a board's intervals or of its history."""
MANY_VOTES = 1000
"""The votes from which a board waits the whole EVERY_SECONDS; smaller boards are computed sooner."""
RENEW_SECONDS = 1.0
"""The least seconds between two updates of a board that many visitors open at once."""
CACHED_BOARDS = 128
"""The most whole boards in memory: those of the overview, and others that people open."""
CACHED_NARROWED = 32
"""The most boards of one family or of some days in memory; they never displace whole ones."""
EVERYONE = CountSettings()
"""The settings under which every voter counts."""
LOST_AT_ONCE = 100
"""The lost battles that are read at once, with their answers."""
MOST_WAITING = 4
"""The boards of one family or of some days that may wait for statistics; others have to ask again."""

log = logging.getLogger(__name__)


class LostBattle(NamedTuple):
    """A final battle that a model lost, without its voter."""

    battle: int
    """The battle's id; battles are sorted by it."""
    item: int
    winner: int
    """The code of the other model."""
    losing_answer: str
    winning_answer: str


class _CountableVotes(NamedTuple):
    """The votes that a board may count, and the marks of their voters."""

    frames: BoardFrames
    marks: VoterMarks


class Leaderboard:
    """Computes and caches boards of the votes that count by `counted`, and of everyone's votes.

    `every` is the least number of seconds between two computations of a board's statistics.
    """

    def __init__(
        self,
        database: Database,
        votes: VoteTable,
        counted: CountSettings = EVERYONE,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._database = database
        self._votes = votes
        self.counted = counted
        self._every = every
        self._lock = Lock()
        """Guards the caches of boards, and the scheduling of statistics.

        Where both are needed, a board's `turn` is taken first, then this lock.
        """
        self._whole: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._narrowed: OrderedDict[BoardKey, BoardState] = OrderedDict()
        self._narrowed_jobs: list[Future[None]] = []
        self._inputs = InputReader({counted, EVERYONE})
        self._flag_services = {
            settings: FlagService(database, settings, votes) for settings in (counted, EVERYONE)
        }
        self._executor = ThreadPoolExecutor(1, "boards")

    @property
    def families(self) -> Mapping[int, str]:
        """Names by code, as of the last board."""
        return self._inputs.latest.families

    def close(self) -> None:
        """Finishes the computation in progress and starts no other."""
        self._executor.shutdown(cancel_futures=True)

    def sources(self, most: int) -> list[str]:
        """Returns the labels of up to this many sources, the default one first."""
        cast = self._votes.read().votes
        with self._database.read() as connection:
            sources = board_sources(connection, cast)
        return [source.label for source in default_first(sources)[:most]]

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

        `images`: "single" or "multiple". `since` and `until`: days, as in 2026-01-31. `voters`: "all" to count flagged
        voters too. `votes`: "counted" for the board of the voters who count by the operator's rule, "everyone" for that
        of all voters; by default the official one of the two.
        Raises BoardSelectionError for a malformed day, a first day after the last, or votes that have no board.
        """
        first = parse_day(since)
        last = parse_day(until)
        if first and last and first > last:
            raise BoardSelectionError(
                f"The first day, {first}, is after the last, {last}. Exchange them."
            )
        cast = self._votes.read().votes
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
            sources = board_sources(connection, cast)
            if not sources:
                return None
            with_label = [candidate for candidate in sources if candidate.label == source]
            chosen = with_label[0] if with_label else default_first(sources)[0]
            is_imported = chosen.kind == "imported"
            board_voters = None if is_imported else self._board_voters(connection, votes)
        whole = BoardKey(
            source=chosen.code,
            multi=images == "multiple",
            kind=chosen.kind,
            unflagged=voters != "all" or is_imported,
            everyone=board_voters == "everyone",
        )
        codes = families_of(frames_of(cast, inputs.imported, whole), whole)
        family_codes = {inputs.families[code]: code for code in codes}
        family_name = family if isinstance(family, str) and family in family_codes else None
        family_code = None if family_name is None else family_codes[family_name]
        return BoardSelection(
            key=replace(whole, family=family_code, since=first, until=last),
            source=chosen.label,
            family=family_name,
            votes=board_voters,
            sources=tuple(candidate.label for candidate in sources),
            families=tuple(sorted(family_codes, key=str.casefold)),
        )

    def closed_sources(self) -> frozenset[str]:
        """Returns the sources with boards that are closed while a campaign on them is running."""
        with self._database.read() as connection:
            return closed_sources(connection)

    def official_key(self, source: int, multi: bool) -> BoardKey | None:
        """Returns the key of a bank's official board; None while it is closed."""
        with self._database.read() as connection:
            if source not in {bank.code for bank in bank_sources(connection)}:
                return None
            voters = self._board_voters(connection, None)
            return BoardKey(source, multi, everyone=voters == "everyone")

    def _board_voters(self, connection: Connection, votes: object) -> BoardVoters | None:
        """Returns the voters of the board that `votes` names, or of the official board; None if there is one board."""
        boards: tuple[BoardVoters, ...] = ("counted", "everyone")
        if self.counted.rule == "everyone":
            boards = ("everyone",)
        if votes and votes not in boards:
            raise BoardSelectionError(
                f"The boards here have the votes of {' or '.join(boards)}, not {votes!r:.20}."
            )
        if len(boards) == 1:
            return None
        # `votes` is one of these names or empty; the loop gives it their type.
        for name in boards:
            if name == votes:
                return name
        return official_board(connection, self.counted)

    def _settings(self, key: BoardKey) -> CountSettings:
        """Returns the settings of the voters who count on a board."""
        return EVERYONE if key.everyone else self.counted

    def board(self, key: BoardKey, patience: float = 0.0) -> Board:
        """Returns a board with every vote final before the call.

        If it has no statistics yet, it waits for them at most `patience` seconds.
        """
        state = self._cached(key)
        board_ = self._board(key, state)
        if board_.statistics is None and patience and state.statistics_job is not None:
            wait([state.statistics_job], patience)
            board_ = self._board(key, state)
        return board_

    def latest(self, key: BoardKey) -> Board | None:
        """Returns a board as it was last computed, at once; None if it never was.

        It is updated in the background, unless that happened in the last RENEW_SECONDS.
        """
        state = self._cached(key)
        is_updating = state.update_job is not None and not state.update_job.done()
        if not is_updating and time.monotonic() - state.update_at > RENEW_SECONDS:
            state.update_at = time.monotonic()
            with suppress(RuntimeError):  # The executor is shut down.
                state.update_job = self._executor.submit(self.board, key)
                state.update_job.add_done_callback(_log_error)
        return state.board

    def history(self, key: BoardKey) -> History:
        """Returns a board's ratings over time, read at most every `every` seconds."""
        state = self._cached(key)
        with state.turn:
            if state.history is None or time.monotonic() - state.history_at > self._every:
                read_at = time.monotonic()
                frames, marks = self._countable_votes(key)
                state.history = history_of(frames, key, marks)
                state.history_at = read_at
            return state.history

    def family_ratings(self, board_: Board) -> Mapping[str, FamilyRatings]:
        """Returns the ratings of a board's models by family name; empty until the board has statistics."""
        if board_.statistics is None:
            return {}
        state = self._cached(board_.key)
        with state.turn:
            if state.families_statistics is not board_.statistics:
                state.families = family_ratings(board_.statistics.board_votes)
                state.families_statistics = board_.statistics
            return {
                self.families[ratings.family]: ratings
                for ratings in state.families
                if ratings.family in self.families
            }

    def reference_shares(self, board_: Board) -> Mapping[str, Mapping[int, Share]]:
        """Returns the shares won against the reference, by family name and model; empty until there are statistics."""
        if board_.statistics is None or board_.statistics.against is None:
            return {}
        codes = board_.statistics.codes
        return {
            self.families[family]: dict(zip(codes, shares, strict=True))
            for family, shares in board_.statistics.against.families.items()
            if family in self.families
        }

    def lost_battles(
        self, key: BoardKey, model: int, before: int | None, most: int
    ) -> list[LostBattle]:
        """Returns the last battles on a bank's own items that a model lost, before the battle of this number."""
        if key.kind != "bank":
            return []
        frames, marks = self._countable_votes(key)
        lost = lost_by(frames.cast, key, marks, model)
        if before is not None:
            lost = rows_of(lost, values(lost, "battle") < before)
        battles: list[LostBattle] = []
        for start in range(0, len(lost), LOST_AT_ONCE):
            battles += self._read_lost_battles(lost.iloc[start : start + LOST_AT_ONCE])
            if len(battles) >= most:
                break
        return battles[:most]

    def _read_lost_battles(self, lost: pd.DataFrame) -> list[LostBattle]:
        """Returns lost battles with their answers, except battles with a withdrawn answer."""
        answers = {*values(lost, "answer_a").tolist(), *values(lost, "answer_b").tolist()}
        query = select(ANSWER.c.id, ANSWER.c.text).where(
            ANSWER.c.id.in_(answers), ANSWER.c.withdrawn_at.is_(None)
        )
        with self._database.read() as connection:
            texts = {row.id: row.text for row in connection.execute(query)}
        columns = ("battle", "item", "winner", "left", "answer_a", "answer_b")
        rows = zip(*(values(lost, name).tolist() for name in columns), strict=True)
        battles = []
        for battle, item, winner, has_left_won, answer_a, answer_b in rows:
            winning = answer_a if has_left_won else answer_b
            losing = answer_b if has_left_won else answer_a
            if winning in texts and losing in texts:
                battles.append(
                    LostBattle(
                        battle=battle,
                        item=item,
                        winner=winner,
                        losing_answer=texts[losing],
                        winning_answer=texts[winning],
                    )
                )
        return battles

    def health(self) -> list[BoardHealth]:
        """Returns the health of the cached whole boards, the largest first."""
        cast = self._votes.read().votes
        with self._database.read() as connection:
            labels = closed_labels(connection)
            for source in board_sources(connection, cast):
                labels[source.kind, source.code] = source.label
        with self._lock:
            boards = list(self._whole.items())
        reports = [
            state.health(labels.get((key.kind, key.source), "removed"), key, self._votes.checks)
            for key, state in boards
            if state.counts.votes
        ]
        return sorted(reports, key=lambda report: -report.votes)

    def _cached(self, key: BoardKey) -> BoardState:
        """Returns a board's state from the cache, a new one if it isn't there, as the most recently used.

        A full cache drops the state that was least recently used.
        """
        boards = self._narrowed if key.narrowed else self._whole
        most = CACHED_NARROWED if key.narrowed else CACHED_BOARDS
        with self._lock:
            state = boards.setdefault(key, BoardState())
            boards.move_to_end(key)
            if len(boards) > most:
                boards.popitem(last=False)
            return state

    def _board(self, key: BoardKey, state: BoardState) -> Board:
        """Counts a board's new votes, and makes the board again if its inputs have changed."""
        with state.turn:
            self._count(key, state)
            entrants = self._inputs.latest.entrants
            statistics = state.statistics
            basis = (state.counts, entrants, statistics, state.import_summary, state.left_out)
            if state.board is None or _is_replaced(state.basis, basis):
                state.board = board(
                    key,
                    state.counts,
                    entrants,
                    statistics,
                    import_summary=state.import_summary,
                    left_out=state.left_out,
                    before=state.board,
                )
                state.basis = basis
            self._schedule_statistics(key, state)
            return state.board

    def _count(self, key: BoardKey, state: BoardState) -> None:
        """Updates a board's counts: adds the votes since the last count, or counts all votes anew."""
        final = self._votes.read()
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
        settings = self._settings(key)
        version = Version(
            edition=final.edition,
            bank=inputs.bank_version,
            flags=inputs.flags_version,
            eligibility=inputs.eligibility[settings],
        )
        is_counted_anew = version != state.version
        if is_counted_anew:
            state.tally = NO_TALLY
            state.tallied_votes = 0
        frames = frames_of(final.votes, inputs.imported, key)
        has_new_votes = len(frames.cast) > state.tallied_votes
        if not has_new_votes and not is_counted_anew:
            return
        if has_new_votes:
            new_votes = frames.cast.iloc[state.tallied_votes :]
            state.tally = state.tally + tally(new_votes, key, inputs.marks[settings])
            state.tallied_votes = len(frames.cast)
        state.version = version
        left_out = NONE_LEFT_OUT
        if key.kind != "imported":
            left_out = state.tally.excluded(settings.rule)
        # An equal value is not replaced, since the board is made again for another object.
        if left_out != state.left_out:
            state.left_out = left_out
        if is_counted_anew:
            self._count_imported(key, state, frames, inputs)
        counts = added_counts(state.tally.counts, state.imported)
        if not same_counts(counts, state.counts):
            state.counts = counts

    @staticmethod
    def _count_imported(
        key: BoardKey, state: BoardState, frames: BoardFrames, inputs: BoardInputs
    ) -> None:
        state.imported = NO_COUNTS
        state.import_summary = None
        if frames.imported is not None:
            state.imported = counts_of(frames.imported, imported_mask(frames.imported, key))
            state.import_summary = import_summary(frames.imported, key, inputs.imported_sources)

    def _countable_votes(self, key: BoardKey) -> _CountableVotes:
        final = self._votes.read()
        with self._database.read() as connection:
            inputs = self._inputs.read(connection)
        frames = frames_of(final.votes, inputs.imported, key)
        return _CountableVotes(frames, inputs.marks[self._settings(key)])

    def _schedule_statistics(self, key: BoardKey, state: BoardState) -> None:
        """Schedules statistics for new counts, and a check of the counts, at most every `every` seconds.

        On a board of few votes, which costs little, they follow sooner.
        """
        with self._lock:
            self._narrowed_jobs = [job for job in self._narrowed_jobs if not job.done()]
            is_full = key.narrowed and len(self._narrowed_jobs) >= MOST_WAITING
            pause = self._every * min(1, state.counts.votes / MANY_VOTES)
            if state.is_waiting or is_full or time.monotonic() - state.scheduled_at < pause:
                return
            state.scheduled_at = time.monotonic()
            with suppress(RuntimeError):  # The executor is shut down.
                state.statistics_job = self._executor.submit(self._compute_statistics, key, state)
                state.statistics_job.add_done_callback(_log_error)
                if key.narrowed:
                    self._narrowed_jobs.append(state.statistics_job)

    def _compute_statistics(self, key: BoardKey, state: BoardState) -> None:
        """Computes a board's statistics if its counts or the bank are new; then compares the votes with stored ones."""
        counts = state.counts
        bank = state.version.bank if state.version else -1
        is_outdated = counts is not state.statistics_counts or bank != state.statistics_bank
        try:
            if is_outdated and counts.votes:
                self._flag_services[self._settings(key)].look()
                statistics = self._new_statistics(key, before=state.statistics)
                if statistics:
                    state.statistics = statistics
                    state.computed_at = time.monotonic()
                state.statistics_counts = counts
                state.statistics_bank = bank
        finally:
            self._votes.check()

    def _new_statistics(self, key: BoardKey, before: Statistics | None) -> Statistics | None:
        """Returns a board's statistics, with the settled orders of its record; None without votes.

        Orders that are settled by these votes are added to the record.
        """
        frames, marks = self._countable_votes(key)
        entrants = self._inputs.latest.entrants
        source = self._inputs.latest.imported_sources.get(key.source)
        is_judged = key.kind == "imported" and source is not None and source.judge
        board_votes = votes_of(frames, key, marks, is_judged)
        with self._database.read() as connection:
            # Without a name there is no record, and with one there always is.
            name = record_name(connection, key, self._settings(key))
            record = read_record(connection, name) if name else None
        if not len(board_votes.votes):
            return None
        references = [code for code, model in entrants.items() if model.is_reference]
        reference = references[0] if references else None
        models_ever = len(record.models.union(board_votes.codes)) if record else None
        statistics = compute_statistics(board_votes, before, reference, models_ever)
        if name and record:
            record = extend_record(self._database, name, record, statistics.codes, statistics.look)
            statistics = replace(statistics, settled=record.settled)
        if name and key.kind != "imported":
            earlier = before.takeover if before else None
            statistics = replace(statistics, takeover=takeover(board_votes, statistics, earlier))
        return statistics


def _is_replaced(old: Sequence[object], new: Sequence[object]) -> bool:
    """Returns whether any input of a board is another object: `_count` keeps counts that stay equal."""
    return any(before is not after for before, after in zip(old, new, strict=True))


def record_name(connection: Connection, key: BoardKey, counted: CountSettings) -> str | None:
    """Returns the name of a board's record; None for a board without one: narrowed, or with flagged votes."""
    if key.narrowed or not key.unflagged:
        return None
    columns = {"bank": SOURCE.c, "imported": IMPORTED_SOURCE.c}.get(key.kind)
    name = key.source  # Live sources have a number only.
    if columns:
        name = connection.scalar(select(columns.name).where(columns.id == key.source))
    return source_board_name(key.kind, key.multi, counted, str(name))


def _log_error(job: "Future[Any]") -> None:
    """Logs an error that kept a board or its statistics from being computed."""
    if job.cancelled():
        return
    error = job.exception()
    if error is not None:
        log.error("a board or its intervals could not be computed", exc_info=error)
