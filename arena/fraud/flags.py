"""Flags: the table of flagged voters, and the review of all votes that raises and lifts flags.

A flag changes no vote: votes of flagged voters stay stored, and boards are shown with and without them. A review covers
all votes that count for everyone's board, for the counted one or in a campaign, each model of each board separately. It
runs outside requests.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Integer,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    type_coerce,
)

from arena.battles.tables import CONFIRMATIONS, SEAT, VOTER, VOTER_NETWORK
from arena.battles.vote_table import FORGOTTEN, LIVE_ITEM, VoteTable, rows_of, values
from arena.battles.voters import PERSON
from arena.database import METADATA, Database, Moment, bump_counter, counter, now, take_turn
from arena.fraud.cohorts import Cohort
from arena.fraud.detectors import (
    CROWD_REASONS,
    WEAK_REASONS,
    Flag,
    Suspicion,
    VoterChoices,
    hasty_flags,
    inattentive_flags,
    one_sided_flags,
)
from arena.fraud.eligibility import CountedVoters, counted_voters
from arena.fraud.review import review
from arena.items.store import ANSWER, MODEL, SOURCE
from arena.ratings.votes import Codes, integer_array
from arena.settings import CountSettings
from arena.types import UNRELATED, grouped

VOTER_FLAG = Table(
    "voter_flag",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("review", Text, nullable=False),
    Column("voter_id", ForeignKey("voter.id"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("model_id", ForeignKey("model.id")),
    Column("source", Integer),
    Column("multi", Boolean),
    Column("strength", Float, nullable=False),
    Column("raised_at", Moment, nullable=False),
)
"""Raised flags. A `review` looks only at the votes that count for it, so that a crowd of guests cannot get eligible
voters flagged. `reason`: the name of a `Suspicion`; `model_id`, `source` and `multi`: the model and the board it is
about, if any. A voter in several crowds has a flag for each.
"""
EVERYONE_REVIEW = "everyone"
"""The review of everyone's board."""
COUNTED_REVIEW = "counted"
"""The review of the counted board."""
FLAGS_VERSION = "flags"
"""The counter that is bumped when flags are raised or lifted, so that boards notice."""
GROWTH = 0.01
"""The share that the votes must grow by before all are reviewed again."""
_MOST_REVIEWS = 3
"""The most reviews in a look: each further one replaces one whose flags came too late to be stored."""
_WEAK_WEIGHT = 1
_EXCLUDING_WEIGHT = 2
"""The weight of reasons that excludes a voter: one that is not weak, or two that are."""
_CHECK_SOURCES = select(SOURCE.c.id).where(SOURCE.c.kind == "check")
_DAY_MICROSECONDS = 24 * 3600 * 10**6
_IS_GUEST = VOTER.c.id.not_in(select(PERSON.c.voter_id)) & VOTER.c.id.not_in(
    select(SEAT.c.voter_id)
)
_VOTER_ID = VOTER.c.id.label("voter")
_DAY = type_coerce(VOTER.c.since, BigInteger) // _DAY_MICROSECONDS
_BY_DAY = select(_VOTER_ID, _DAY.label("cohort"))
_BY_NETWORK = select(_VOTER_ID, VOTER_NETWORK.c.network.label("cohort")).join(VOTER_NETWORK)


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


def campaign_review(campaign: str) -> str:
    """Returns the name of the review of a campaign's workers."""
    return f"campaign {campaign}"


def review_of(counted: CountSettings) -> str:
    """Returns the name of the review of a rule's board."""
    return EVERYONE_REVIEW if counted.rule == "everyone" else COUNTED_REVIEW


def flagged_voters(review_name: str) -> Select:
    """Returns a SELECT of the voters whose votes are all left out by a review."""
    is_weak = VOTER_FLAG.c.reason.in_(_names(WEAK_REASONS))
    weight = func.sum(case((is_weak, _WEAK_WEIGHT), (_IS_OF_CROWD, 0), else_=_EXCLUDING_WEIGHT))
    by_voter = select(VOTER_FLAG.c.voter_id).where(VOTER_FLAG.c.review == review_name)
    return by_voter.group_by(VOTER_FLAG.c.voter_id).having(weight >= _EXCLUDING_WEIGHT)


class CrowdModel(NamedTuple):
    """A model on a board with voters who choose for or against it like a crowd."""

    source: int
    multi: bool
    model: int


def crowd_voters(connection: Connection, review_name: str) -> dict[CrowdModel, Codes]:
    """Returns the voters whose votes about a model, on one board, are left out by a review."""
    query = select(VOTER_FLAG).where(VOTER_FLAG.c.review == review_name, _IS_OF_CROWD)
    in_order = query.order_by(VOTER_FLAG.c.source, VOTER_FLAG.c.multi, VOTER_FLAG.c.model_id)
    voters = grouped(
        (CrowdModel(row.source, row.multi, row.model_id), row.voter_id)
        for row in connection.execute(in_order)
    )
    return {crowd: np.array(members, np.int64) for crowd, members in voters.items()}


def _names(reasons: Collection[Suspicion]) -> list[str]:
    """Returns reasons as they are stored, in a stable order."""
    return [reason.name for reason in sorted(reasons)]


_IS_OF_CROWD = VOTER_FLAG.c.reason.in_(_names(CROWD_REASONS))


class CrowdVotes(NamedTuple):
    """The votes that look like a crowd's."""

    mask: npt.NDArray[np.bool_]
    models: npt.NDArray[np.int64]
    """The crowd's model for each vote, 0 if there is none."""


@dataclass(frozen=True, eq=False)
class VoterMarks:
    """The voters who count, and the flagged ones, by a rule.

    Masks are of votes cast in this arena, not imported.
    """

    counted: CountedVoters
    is_flagged: npt.NDArray[np.bool_]
    """Whether each voter is flagged, by the voter's id; the last place is for unknown voters."""
    crowds: Mapping[CrowdModel, Codes]
    """The voters with votes like a crowd's, by what these votes are about."""

    def counted_mask(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns the mask of the votes that count."""
        return self.counted.mask(votes)

    def flagged_mask(self, votes: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Returns the mask of the votes by flagged voters."""
        return self.is_flagged.take(values(votes, "voter"), mode="clip")

    def crowd_votes(self, votes: pd.DataFrame) -> CrowdVotes:
        """Returns the votes that look like a crowd's, except those of flagged voters and ties, which help no model."""
        crowd_models = np.zeros(len(votes), np.int64)
        for crowd, voters in self.crowds.items():
            is_about = (values(votes, "winner") == crowd.model) | (
                values(votes, "loser") == crowd.model
            )
            is_about &= values(votes, "source") == crowd.source
            is_about &= values(votes, "multi") == crowd.multi
            is_about &= ~values(votes, "tied")
            places = np.flatnonzero(is_about)
            places = places[np.isin(values(votes, "voter")[places], voters)]
            crowd_models[places] = crowd.model
        crowd_models[self.flagged_mask(votes)] = 0
        return CrowdVotes(crowd_models > 0, crowd_models)


def voter_marks(connection: Connection, counted: CountSettings) -> VoterMarks:
    """Returns the marks of all voters by a rule."""
    review_name = review_of(counted)
    flagged = list(connection.scalars(flagged_voters(review_name)))
    is_flagged = np.zeros(max(flagged, default=0) + 2, bool)
    is_flagged[flagged] = True
    return VoterMarks(
        counted=counted_voters(connection, counted),
        is_flagged=is_flagged,
        crowds=crowd_voters(connection, review_name),
    )


def raised_flags(connection: Connection, counted: CountSettings) -> tuple[FlagRow, ...]:
    """Returns the flags on the voters of a board, by voter."""
    review_name = review_of(counted)
    left_out = set(connection.scalars(flagged_voters(review_name)))
    flags = select(VOTER_FLAG, MODEL.c.display).outerjoin(MODEL)
    flags = flags.where(VOTER_FLAG.c.review == review_name)
    return tuple(
        FlagRow(
            voter=row.voter_id,
            reason=Suspicion[row.reason],
            model=row.display,
            strength=row.strength,
            raised_at=row.raised_at,
            left_out=row.voter_id in left_out,
        )
        for row in connection.execute(flags.order_by(VOTER_FLAG.c.voter_id, VOTER_FLAG.c.reason))
    )


class FlagService:
    """Reviews the voters that a rule counts, and stores their flags."""

    def __init__(
        self, database: Database, counted: CountSettings, votes: VoteTable, review_name: str = ""
    ) -> None:
        """`review_name` is the review that the flags are stored under; by default that of the rule's board."""
        self._database = database
        self._counted = counted
        self._votes = votes
        self._review = review_name or review_of(counted)
        self._reviewed_votes = -1
        """The number of votes that counted at the last review; -1: there was none."""
        self._confirmations = -1
        """The counter of changes by platforms' lists, at the last review."""
        self._words: Codes = np.zeros(0, np.int64)
        """The number of words of each answer, by its id."""

    def look(self) -> None:
        """Reviews all votes that count if they have grown by GROWTH since the last review, or if a platform's list
        changed which of them count; raises and lifts flags.

        Takes seconds at a hundred thousand votes, so never call it in a request. If voters were erased meanwhile, or
        another review stored its flags, it reviews again, up to _MOST_REVIEWS times. Raises DatabaseError.
        """
        for _ in range(_MOST_REVIEWS):
            if self._look_once():
                return

    def _look_once(self) -> bool:
        """Reviews all votes if that is due; returns False if its flags came too late to be stored."""
        with self._database.read() as connection:
            versions = _versions(connection)  # before the votes, so that these are no older
        votes = self._votes.read().votes
        with self._database.read() as connection:
            confirmations = counter(connection, CONFIRMATIONS)
            counted = rows_of(votes, counted_voters(connection, self._counted).mask(votes))
            if confirmations == self._confirmations and not self._has_changed_enough(len(counted)):
                return True
            flags = frozenset(self._find_flags(connection, counted))
            stored_flags = self._stored_flags(connection)
        if flags != stored_flags.keys() and not self._store(flags, versions):
            return False
        self._reviewed_votes = len(counted)
        self._confirmations = confirmations
        return True

    def _has_changed_enough(self, votes: int) -> bool:
        """Returns whether the number of votes that count has grown enough for a review, or has fallen."""
        new_votes = votes - self._reviewed_votes
        return new_votes < 0 or new_votes >= GROWTH * self._reviewed_votes

    def _find_flags(self, connection: Connection, counted: pd.DataFrame) -> Iterator[Flag]:
        """Yields the flags that all votes that count raise, their strengths to three decimals."""
        is_decided = (values(counted, "outside") == 0) & ~values(counted, "tied")
        decided = rows_of(counted, is_decided)
        check_sources = connection.scalars(_CHECK_SOURCES).all()
        is_check = np.isin(values(decided, "source"), check_sources)
        checks = rows_of(decided, is_check)
        no_checks = rows_of(decided, ~is_check)
        # The evidence of patterns is summed up choice by choice, in the order of time.
        in_order = no_checks.take(np.argsort(values(no_checks, "voted_at"), kind="stable"))
        flags = itertools.chain(
            self._pattern_flags(connection, in_order),
            self._habit_flags(connection, in_order, checks),
        )
        for flag in flags:
            yield flag._replace(strength=round(flag.strength, 3))

    def _pattern_flags(self, connection: Connection, votes: pd.DataFrame) -> Iterator[Flag]:
        """Yields the flags of a review, in which each pair of board and model is a model of its own."""
        winner = values(votes, "winner").astype(np.int64)
        loser = values(votes, "loser").astype(np.int64)
        model_limit = int(max(winner.max(initial=0), loser.max(initial=0))) + 1
        source_place = values(votes, "source").astype(np.int64) - LIVE_ITEM  # the lowest source
        board = 2 * source_place + values(votes, "multi")
        won_codes = board * model_limit + winner
        lost_codes = board * model_limit + loser
        # The review numbers its models from 0 up, without gaps: by their places among the codes.
        codes = np.unique([won_codes, lost_codes])
        won = np.searchsorted(codes, won_codes)
        lost = np.searchsorted(codes, lost_codes)
        chose_a = values(votes, "left")
        choices = VoterChoices(
            a=np.where(chose_a, won, lost),
            b=np.where(chose_a, lost, won),
            chose_a=chose_a,
            voter=values(votes, "voter"),
        )
        for flag in review(choices, len(codes), _cohorts(connection)):
            if flag.model is None:
                yield flag
                continue
            board_code, model = divmod(int(codes[flag.model]), model_limit)
            source_place, multi = divmod(board_code, 2)
            yield flag._replace(model=model, source=source_place + LIVE_ITEM, multi=bool(multi))

    def _habit_flags(
        self, connection: Connection, votes: pd.DataFrame, checks: pd.DataFrame
    ) -> Iterator[Flag]:
        """Yields the flags of habits, from votes and from votes on check items."""
        yield from one_sided_flags(values(votes, "voter"), values(votes, "left"))
        self._count_words(connection)
        with_answers = rows_of(votes, values(votes, "answer_a") > 0)  # not live
        words_a = self._words[values(with_answers, "answer_a")]
        words_b = self._words[values(with_answers, "answer_b")]
        seconds = values(with_answers, "milliseconds") / 1000
        yield from hasty_flags(values(with_answers, "voter"), seconds, words_a + words_b)
        unrelated = connection.scalar(select(MODEL.c.id).where(MODEL.c.name == UNRELATED))
        is_wrong = values(checks, "winner") == unrelated
        yield from inattentive_flags(values(checks, "voter"), is_wrong)

    def _count_words(self, connection: Connection) -> None:
        """Counts the words of answers added since the last review; a text never changes."""
        query = select(ANSWER.c.id, words_in(ANSWER.c.text)).where(ANSWER.c.id >= len(self._words))
        rows = integer_array(connection.execute(query), 2)
        if len(rows):
            answer, number = rows.T
            words = np.zeros(int(answer.max()) + 1, np.int64)
            words[: len(self._words)] = self._words
            words[answer] = number
            self._words = words

    def _store(self, flags: frozenset[Flag], versions: tuple[int, int]) -> bool:
        """Raises new flags and lifts old ones; a flag with another strength keeps its time.

        Returns False, and stores nothing, if flags or voters have other `versions` by now.
        """
        with self._database.write() as connection:
            take_turn(connection, VOTER_FLAG)
            if _versions(connection) != versions:
                return False
            stored_flags = self._stored_flags(connection)
            raised_at = {
                flag._replace(strength=0): row.raised_at for flag, row in stored_flags.items()
            }
            lifted = [{"flag": stored_flags[flag].id} for flag in stored_flags.keys() - flags]
            if lifted:
                is_lifted = VOTER_FLAG.c.id == bindparam("flag")
                connection.execute(delete(VOTER_FLAG).where(is_lifted), lifted)
            rows = [
                {
                    "review": self._review,
                    "voter_id": flag.voter,
                    "reason": flag.reason.name,
                    "model_id": flag.model,
                    "source": flag.source,
                    "multi": flag.multi,
                    "strength": flag.strength,
                    "raised_at": raised_at.get(flag._replace(strength=0), now()),
                }
                for flag in flags - stored_flags.keys()
            ]
            if rows:
                connection.execute(insert(VOTER_FLAG), rows)
            bump_counter(connection, FLAGS_VERSION)
            return True

    def _stored_flags(self, connection: Connection) -> dict[Flag, Row]:
        """Returns the stored flags of this review with their rows."""
        rows = connection.execute(select(VOTER_FLAG).where(VOTER_FLAG.c.review == self._review))
        return {
            Flag(
                voter=row.voter_id,
                reason=Suspicion[row.reason],
                model=row.model_id,
                strength=row.strength,
                source=row.source,
                multi=row.multi,
            ): row
            for row in rows
        }


def _versions(connection: Connection) -> tuple[int, int]:
    """Returns the versions of the stored flags, and of the voters: some may be erased."""
    return counter(connection, FLAGS_VERSION), counter(connection, FORGOTTEN)


def _cohorts(connection: Connection) -> list[Cohort]:
    """Returns the guests of each network, and the guests whose cookies were issued on each day (UTC)."""
    cohorts = []
    for reason, query in ((Suspicion.NETWORK, _BY_NETWORK), (Suspicion.COHORT, _BY_DAY)):
        rows = connection.execute(query.where(_IS_GUEST).order_by("cohort")).all()
        for _, group in itertools.groupby(rows, key=lambda row: row.cohort):
            voters = np.array([row.voter for row in group])
            cohorts.append(Cohort(reason, voters))
    return cohorts
