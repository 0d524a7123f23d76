"""Flags: the table of flagged voters, and the review of all votes that raises and lifts flags.

A flag changes no vote: votes of flagged voters stay stored, and boards are shown with and without them. One review
covers all votes of this arena, each model of each board separately, and runs outside requests.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Select,
    Table,
    Text,
    case,
    delete,
    func,
    insert,
    select,
    type_coerce,
)

from arena.battles.tables import CONFIRMATIONS, SEAT, VOTER, VOTER_NETWORK
from arena.battles.vote_table import LIVE_ITEM, VoteTable, rows_of, values
from arena.battles.voters import PERSON
from arena.database import METADATA, Database, Moment, bump_counter, counter, now, take_turn
from arena.fraud.cohorts import Cohort
from arena.fraud.detectors import (
    OF_CROWD,
    WEAK,
    Flag,
    Suspicion,
    VoterChoices,
    hasty,
    inattentive,
    one_sided,
)
from arena.fraud.eligibility import CountedVotes, counted_votes
from arena.fraud.review import review
from arena.items.store import ANSWER, MODEL, SOURCE
from arena.ratings.votes import Codes, integer_array
from arena.settings import CountSettings
from arena.types import UNRELATED


def flag_table(name: str) -> Table:
    """Returns a table of flags; `reason`: the name of a `Suspicion`; `model_id`: the model it is about, if any."""
    return Table(
        name,
        METADATA,
        Column("voter_id", ForeignKey("voter.id"), primary_key=True),
        Column("reason", Text, primary_key=True),
        Column("model_id", ForeignKey("model.id")),
        Column("strength", Float, nullable=False),
        Column("raised_at", Moment, nullable=False),
    )


VOTER_FLAG = flag_table("voter_flag")
"""Flags on everyone's board."""
COUNTED_FLAG = flag_table("counted_flag")
"""Flags on the counted board, from its own votes, so that a crowd of guests cannot get eligible voters flagged."""
FLAGS_VERSION = "flags"
"""The counter that is bumped when flags are raised or lifted, so that boards notice."""
GROWTH = 0.01
"""The share that the votes must grow by before all are reviewed again."""
_HALF = 1
_WHOLE = 2
_MODELS = 2**20
"""A number above that of all models."""


@dataclass(frozen=True)
class FlagRow:
    """A raised flag, for the operator."""

    voter: int
    reason: Suspicion
    model: str | None
    """The display name of the model that it concerns."""
    strength: float
    raised_at: datetime
    left_out: bool
    """Whether the default boards exclude the voter. One weak reason or votes like a crowd's are not enough."""


def words_in(text: ColumnElement[str]) -> ColumnElement[int]:
    """Returns the number of words of a column's texts, one more than their spaces; too low for scripts without
    spaces.
    """
    return func.length(text) - func.length(func.replace(text, " ", "")) + 1


def flags_of(counted: CountSettings) -> Table:
    return VOTER_FLAG if counted.rule == "everyone" else COUNTED_FLAG


def flagged_voters(flags: Table) -> Select:
    """Returns a SELECT of the voters that the default board of these flags excludes."""
    weak = flags.c.reason.in_([reason.name for reason in sorted(WEAK)])
    of_crowd = flags.c.reason.in_([reason.name for reason in sorted(OF_CROWD)])
    weight = func.sum(case((weak, _HALF), (of_crowd, 0), else_=_WHOLE))
    return select(flags.c.voter_id).group_by(flags.c.voter_id).having(weight >= _WHOLE)


def like_a_crowd(flags: Table) -> Select:
    """Returns a SELECT of (voter, model) pairs: the default board excludes the voter's votes about the model."""
    return select(flags.c.voter_id, flags.c.model_id).where(
        flags.c.reason.in_([reason.name for reason in sorted(OF_CROWD)])
    )


class CrowdVotes(NamedTuple):
    """The votes that look like a crowd's."""

    votes: npt.NDArray[np.bool_]
    models: npt.NDArray[np.int64]
    """The crowd's model for each vote, 0 if there is none."""


@dataclass(frozen=True, eq=False)
class VoterMarks:
    """The voters who count, and the flagged ones, by a rule."""

    counted: CountedVotes
    is_flagged: npt.NDArray[np.bool_]
    """Whether each voter is flagged, by the voter's id; the last place is for unknown voters."""
    like_a_crowd: npt.NDArray[np.int64]
    """The voters and models with votes like a crowd's, coded as voter * _MODELS + model."""

    def counting(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns the mask of the votes cast here that count."""
        return self.counted.mask(votes)

    def flagged(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns the mask of the votes cast here by flagged voters."""
        return self.is_flagged.take(values(votes, "voter"), mode="clip")

    def of_crowd(self, votes: pd.DataFrame) -> CrowdVotes:
        """Returns the votes cast here that look like a crowd's, except those of flagged voters."""
        models = np.zeros(len(votes), np.int64)
        if len(self.like_a_crowd):
            voter = values(votes, "voter")
            is_suspect = np.isin(voter, self.like_a_crowd // _MODELS)
            is_suspect &= ~values(votes, "tied") & ~self.flagged(votes)
            for side in ("winner", "loser"):
                model = values(votes, side)[is_suspect].astype(np.int64)
                is_like = np.isin(voter[is_suspect] * _MODELS + model, self.like_a_crowd)
                models[is_suspect] = np.where(is_like, model, models[is_suspect])
        return CrowdVotes(models > 0, models)


def voter_marks(connection: Connection, counted: CountSettings) -> VoterMarks:
    flagged = list(connection.scalars(flagged_voters(flags_of(counted))))
    is_flagged = np.zeros(max(flagged, default=0) + 2, bool)
    is_flagged[flagged] = True
    pairs = integer_array(connection.execute(like_a_crowd(flags_of(counted))), 2)
    of_crowd = pairs[:, 0] * _MODELS + pairs[:, 1]
    return VoterMarks(counted_votes(connection, counted), is_flagged, of_crowd)


def raised_flags(connection: Connection, counted: CountSettings) -> tuple[FlagRow, ...]:
    """Returns the flags on the voters of a board, by voter."""
    table = flags_of(counted)
    out = set(connection.scalars(flagged_voters(table)))
    flags = select(table, MODEL.c.display).outerjoin(MODEL)
    return tuple(
        FlagRow(
            voter=row.voter_id,
            reason=Suspicion[row.reason],
            model=row.display,
            strength=row.strength,
            raised_at=row.raised_at,
            left_out=row.voter_id in out,
        )
        for row in connection.execute(flags.order_by(table.c.voter_id, table.c.reason))
    )


class FlagService:
    """The flags on one database's eligible voters."""

    def __init__(self, database: Database, counted: CountSettings, votes: VoteTable) -> None:
        self._database = database
        self._counted_by = counted
        self._votes = votes
        self._flags = flags_of(counted)
        self._looked_at = -1
        """The number of votes at the last review; -1: there was none."""
        self._confirmations = -1
        self._words: Codes = np.zeros(0, np.int64)
        """The number of words of each answer, by its id."""

    def look(self) -> None:
        """Reviews all votes if they have grown by GROWTH since the last review, or if a platform's list changed which
        of them count; raises and lifts flags.

        Takes seconds at a hundred thousand votes, so never call it in a request. Raises DatabaseError.
        """
        votes = self._votes.read().votes
        cast = len(votes)
        is_grown = not 0 <= cast - self._looked_at < GROWTH * self._looked_at
        with self._database.read() as connection:
            confirmations = counter(connection, CONFIRMATIONS)
            if not is_grown and confirmations == self._confirmations:
                return
            flags = frozenset(self._raised(connection, votes))
            known = frozenset(self._stored(connection))
        if flags != known:
            self._store(flags)
        self._looked_at = cast
        self._confirmations = confirmations

    def _raised(self, connection: Connection, votes: pd.DataFrame) -> Iterator[Flag]:
        """Yields the flags that all votes raise, their strengths to three decimals."""
        self._count_words(connection)
        votes = rows_of(votes, voter_marks(connection, self._counted_by).counting(votes))
        is_decided = (values(votes, "outside") == 0) & ~values(votes, "tied")
        votes = rows_of(votes, is_decided)
        check_sources = connection.scalars(_CHECK_SOURCES).all()
        is_check = np.isin(values(votes, "source"), check_sources)
        checks = rows_of(votes, is_check)
        votes = rows_of(votes, ~is_check)
        votes = votes.take(np.argsort(values(votes, "voted_at"), kind="stable"))
        winner = values(votes, "winner").astype(np.int64)
        loser = values(votes, "loser").astype(np.int64)
        models = int(max(winner.max(initial=0), loser.max(initial=0))) + 1
        board = 2 * (values(votes, "source").astype(np.int64) - LIVE_ITEM) + values(votes, "multi")
        codes, place = np.unique(
            [board * models + winner, board * models + loser], return_inverse=True
        )
        won, lost = place.reshape(2, -1)
        chose_a = values(votes, "left")
        voter = values(votes, "voter")
        choices = VoterChoices(
            np.where(chose_a, won, lost), np.where(chose_a, lost, won), chose_a, voter
        )
        for flag in review(choices, len(codes), _cohorts(connection)):
            model = None if flag.model is None else int(codes[flag.model] % models)
            yield flag._replace(model=model, strength=round(flag.strength, 3))
        stored = rows_of(votes, values(votes, "answer_a") > 0)
        words = self._words[values(stored, "answer_a")]
        words = words + self._words[values(stored, "answer_b")]
        unrelated = connection.scalar(select(MODEL.c.id).where(MODEL.c.name == UNRELATED))
        for habit in (
            *one_sided(voter, chose_a),
            *hasty(values(stored, "voter"), values(stored, "milliseconds") / 1000, words),
            *inattentive(values(checks, "voter"), values(checks, "winner") == unrelated),
        ):
            yield habit._replace(strength=round(habit.strength, 3))

    def _count_words(self, connection: Connection) -> None:
        """Counts the words of answers added since the last review; a text never changes."""
        fresh = select(ANSWER.c.id, words_in(ANSWER.c.text)).where(ANSWER.c.id >= len(self._words))
        rows = integer_array(connection.execute(fresh), 2)
        if len(rows):
            more = np.zeros(int(rows[:, 0].max()) + 1, np.int64)
            more[: len(self._words)] = self._words
            more[rows[:, 0]] = rows[:, 1]
            self._words = more

    def _store(self, flags: frozenset[Flag]) -> None:
        with self._database.write() as connection:
            take_turn(connection, self._flags)
            known = frozenset(self._stored(connection))
            raised = {row[:2]: row.raised_at for row in connection.execute(select(self._flags))}
            for flag in known - flags:
                is_flag = (self._flags.c.voter_id == flag.voter) & (
                    self._flags.c.reason == flag.reason.name
                )
                connection.execute(delete(self._flags).where(is_flag))
            rows = [
                {
                    "voter_id": flag.voter,
                    "reason": flag.reason.name,
                    "model_id": flag.model,
                    "strength": flag.strength,
                    "raised_at": raised.get((flag.voter, flag.reason.name), now()),
                }
                for flag in flags - known
            ]
            if rows:
                connection.execute(insert(self._flags), rows)
            bump_counter(connection, FLAGS_VERSION)

    def _stored(self, connection: Connection) -> Iterator[Flag]:
        for row in connection.execute(select(self._flags)):
            yield Flag(row.voter_id, Suspicion[row.reason], row.model_id, row.strength)


def _cohorts(connection: Connection) -> list[Cohort]:
    """Returns the guests of each network, and the guests whose cookies were issued on each day (UTC)."""
    cohorts = []
    for reason, query in ((Suspicion.NETWORK, _BY_NETWORK), (Suspicion.COHORT, _BY_DAY)):
        rows = connection.execute(query.where(_IS_GUEST).order_by(query.selected_columns[1])).all()
        groups = itertools.groupby(rows, key=lambda row: row[1])
        cohorts += [Cohort(reason, np.array([row[0] for row in group])) for _, group in groups]
    return cohorts


_IS_GUEST = VOTER.c.id.not_in(select(PERSON.c.voter_id)) & VOTER.c.id.not_in(
    select(SEAT.c.voter_id)
)
_BY_DAY = select(VOTER.c.id, type_coerce(VOTER.c.since, BigInteger) // (24 * 3600 * 10**6))
_BY_NETWORK = select(VOTER.c.id, VOTER_NETWORK.c.network).join(VOTER_NETWORK)
_CHECK_SOURCES = select(SOURCE.c.id).where(SOURCE.c.kind == "check")
