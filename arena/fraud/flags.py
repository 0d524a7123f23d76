"""Flags: the table of flagged voters, and the review of all votes that raises and lifts flags.

A flag changes no vote: votes of flagged voters stay stored, and boards are shown with and without them. One review
covers all votes of this arena, each model of each board separately, and runs outside requests.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
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
    and_,
    case,
    delete,
    func,
    insert,
    select,
    type_coerce,
)

from arena.battles.tables import (
    BANK,
    BATTLE,
    LIVE_BATTLE,
    LIVE_VOTE,
    SEAT,
    VOTE,
    VOTER,
    VOTER_NETWORK,
    ranked_votes,
)
from arena.battles.voters import PERSON
from arena.database import METADATA, Database, Moment, bump_counter, now, take_turn
from arena.fraud.cohorts import Cohort, in_cohorts
from arena.fraud.detectors import (
    ENOUGH,
    WEAK,
    Flag,
    Suspicion,
    VoterChoices,
    evidence,
    hasty,
    inattentive,
    one_sided,
)
from arena.fraud.eligibility import counting_voters
from arena.items.store import ANSWER, ITEM, MODEL, SOURCE
from arena.ratings.votes import Codes, integers
from arena.settings import CountSettings
from arena.types import UNRELATED


def flag_table(name: str) -> Table:
    """Return a table of flags; `reason`: the name of a `Suspicion`; `model_id`: the model it is about, if any."""
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
"""Flags on the counted board, found among its own votes: a crowd of guests cannot have those who count flagged."""
FLAGS_VERSION = "flags"
"""Counter that is bumped when flags are raised or lifted, so that boards see it."""
GROWTH = 0.01
"""Share by which the votes must grow before all are reviewed again."""
_HALF = 1
_WHOLE = 2


@dataclass(frozen=True)
class FlagRow:
    """A raised flag, for the operator."""

    voter: int
    reason: Suspicion
    model: str | None
    """The display name of the model it is about."""
    strength: float
    raised_at: datetime
    left_out: bool
    """Whether the default boards exclude the voter: not for one weak reason alone."""


def words_in(text: ColumnElement[str]) -> ColumnElement[int]:
    """Return the number of words of a column's texts, one more than their spaces: too few where a script has none."""
    return func.length(text) - func.length(func.replace(text, " ", "")) + 1


def flags_of(who: CountSettings) -> Table:
    return VOTER_FLAG if who.rule == "everyone" else COUNTED_FLAG


def flagged_voters(flags: Table) -> Select:
    """Return a SELECT of the voters whom the board of these flags excludes, unless it is asked to include them."""
    weak = flags.c.reason.in_([reason.name for reason in sorted(WEAK)])
    weight = func.sum(case((weak, _HALF), else_=_WHOLE))
    return select(flags.c.voter_id).group_by(flags.c.voter_id).having(weight >= _WHOLE)


class FlagService:
    """The flags of one database, on the voters whose votes count."""

    def __init__(self, database: Database, who: CountSettings) -> None:
        self._database = database
        self._flags = flags_of(who)
        self._bank = _BANK.where(counting_voters(who))
        self._live = _LIVE.where(counting_voters(who, LIVE_VOTE.c.voter_id, LIVE_VOTE.c.voted_at))
        self._looked_at = -1
        """Number of votes cast at the last review; -1: there was none."""
        self._words: Codes = np.zeros(0, np.int64)
        """Number of words of each answer, by its id."""

    def flagged(self, connection: Connection) -> tuple[FlagRow, ...]:
        out = set(connection.scalars(flagged_voters(self._flags)))
        flags = select(self._flags, MODEL.c.display).outerjoin(MODEL)
        return tuple(
            FlagRow(
                voter=row.voter_id,
                reason=Suspicion[row.reason],
                model=row.display,
                strength=row.strength,
                raised_at=row.raised_at,
                left_out=row.voter_id in out,
            )
            for row in connection.execute(
                flags.order_by(self._flags.c.voter_id, self._flags.c.reason)
            )
        )

    def look(self) -> None:
        """Review all votes if they have grown by GROWTH since the last review; raise and lift flags.

        Takes seconds at a hundred thousand votes, so never call it in a request. Raises DatabaseError.
        """
        with self._database.read() as connection:
            cast = sum(
                connection.scalar(select(func.max(table.c.id))) or 0 for table in (VOTE, LIVE_VOTE)
            )
            if 0 <= cast - self._looked_at < GROWTH * self._looked_at:
                return
            flags = frozenset(self._found(connection))
            known = frozenset(self._stored(connection))
        if flags != known:
            self._store(flags)
        self._looked_at = cast

    def _found(self, connection: Connection) -> Iterator[Flag]:
        """Yield the flags that all votes give rise to, their strengths to three decimals."""
        bank = integers(connection.execute(self._bank), 9)
        live = integers(connection.execute(self._live), 6)
        self._count_words(connection)
        votes = np.concatenate([bank[:, :6], live])
        votes = votes[np.argsort(votes[:, 0], kind="stable")]
        models = len(votes) and int(votes[:, 2:4].max()) + 1
        codes, place = np.unique(votes[:, 1:2] * models + votes[:, 2:4], return_inverse=True)
        winner, loser = place.reshape(-1, 2).T
        chose_a = votes[:, 4] > 0
        voter = votes[:, 5]
        choices = VoterChoices(
            np.where(chose_a, winner, loser), np.where(chose_a, loser, winner), chose_a, voter
        )
        alone = [one for one in evidence(choices, len(codes)) if one.strength >= ENOUGH]
        out = np.array([one.voter for one in alone], np.int64)
        for one in (*alone, *in_cohorts(choices, len(codes), _cohorts(connection), out)):
            model = None if one.model is None else int(codes[one.model] % models)
            yield one._replace(model=model, strength=round(one.strength, 3))
        seconds = (bank[:, 0] - bank[:, 6]) / 1e6
        checks = integers(connection.execute(_CHECKS), 2)
        for habit in (
            *one_sided(voter, chose_a),
            *hasty(bank[:, 5], seconds, self._words[bank[:, 7]] + self._words[bank[:, 8]]),
            *inattentive(checks[:, 0], checks[:, 1] > 0),
        ):
            yield habit._replace(strength=round(habit.strength, 3))

    def _count_words(self, connection: Connection) -> None:
        """Count the words of answers added since the last review; a text never changes."""
        fresh = select(ANSWER.c.id, words_in(ANSWER.c.text)).where(ANSWER.c.id >= len(self._words))
        rows = integers(connection.execute(fresh), 2)
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
                mine = (self._flags.c.voter_id == flag.voter) & (
                    self._flags.c.reason == flag.reason.name
                )
                connection.execute(delete(self._flags).where(mine))
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
    """The guests of each network, and those whose cookies were issued on each day (UTC)."""
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
_JOINED = and_(
    BATTLE.c.id == VOTE.c.battle_id,
    ITEM.c.id == BATTLE.c.item_id,
    SOURCE.c.id == ITEM.c.source_id,
)
# Microseconds, board (odd: live), winner, loser, 1 for the left, voter; for stored answers also when they were served,
# and both answers.
_BANK = BANK.final_votes(
    type_coerce(VOTE.c.voted_at, BigInteger),
    4 * ITEM.c.source_id + case((ITEM.c.multi, 2), else_=0),
    VOTE.c.winner,
    VOTE.c.loser,
    case((VOTE.c.choice == "a", 1), else_=0),
    VOTE.c.voter_id,
    type_coerce(BATTLE.c.served_at, BigInteger),
    BATTLE.c.answer_a,
    BATTLE.c.answer_b,
).where(_JOINED, SOURCE.c.kind != "check")
_LIVE = ranked_votes(
    type_coerce(LIVE_VOTE.c.voted_at, BigInteger),
    case((LIVE_BATTLE.c.item_id.is_(None), 1), else_=5)
    + case((LIVE_BATTLE.c.images > 1, 2), else_=0),
    LIVE_VOTE.c.winner,
    LIVE_VOTE.c.loser,
    case((LIVE_VOTE.c.choice == "a", 1), else_=0),
    LIVE_VOTE.c.voter_id,
)
_CHECKS = (
    BANK.final_votes(VOTE.c.voter_id, case((MODEL.c.name == UNRELATED, 1), else_=0))
    .where(_JOINED, SOURCE.c.kind == "check", MODEL.c.id == VOTE.c.winner)
    .order_by(VOTE.c.id)
)
