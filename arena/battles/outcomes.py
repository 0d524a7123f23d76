"""Outcomes: the facts that a voter sees with the names of a finished battle, from final votes.

These are others' choices on the same item and pair, the reference's answer, and the voter's preferences so far.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Integer, bindparam, func, select

from arena.battles.choices import publish_votes
from arena.battles.tables import BATTLE, IS_FINAL, IS_LIVE
from arena.battles.voters import selves
from arena.database import Database
from arena.items.store import ANSWER, ITEM, MODEL, SOURCE
from arena.thinking import ShownAnswer
from arena.types import REFERENCE, Battle, Names, Side

_LINK = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SELVES = selves(bindparam("voter", type_=Integer))
_PAIR = (BATTLE.c.item_id, BATTLE.c.model_low, BATTLE.c.model_high)
_THIS_BATTLE = BATTLE.alias("this")
_VOTES_OF_EVERYBODY = (
    select(BATTLE.c.winner, func.count())
    .where(IS_FINAL, ~IS_LIVE, _THIS_BATTLE.c.id == bindparam("battle"))
    .where(*(column == _THIS_BATTLE.c[column.name] for column in _PAIR))
    .group_by(BATTLE.c.winner)
)
"""The numbers of final votes by winner, on one battle's item and pair."""
_VOTES_OF_OTHERS = _VOTES_OF_EVERYBODY.where(BATTLE.c.voter_id.not_in(_SELVES))
_WINNER_QUERY = select(BATTLE.c.winner).where(BATTLE.c.id == bindparam("battle"))
_SOURCE_QUERY = select(SOURCE.c.name).join(ITEM).where(ITEM.c.id == bindparam("item"))
_REFERENCE_QUERY = (
    select(ANSWER.c.id, ANSWER.c.text)
    .join(MODEL, MODEL.c.id == ANSWER.c.model_id)
    .where(
        ANSWER.c.item_id == bindparam("item"),
        MODEL.c.name == REFERENCE,
        ANSWER.c.withdrawn_at.is_(None),
    )
)
_ANSWER_A = ANSWER.alias("a")
_ANSWER_B = ANSWER.alias("b")
_MODEL_A = MODEL.alias("model_a")
_MODEL_B = MODEL.alias("model_b")
_FINISHED_QUERY = (
    select(
        BATTLE.c.id,
        BATTLE.c.item_id,
        BATTLE.c.answer_a,
        BATTLE.c.answer_b,
        _MODEL_A.c.display.label("name_a"),
        _MODEL_B.c.display.label("name_b"),
        BATTLE.c.choice,
        _ANSWER_A.c.text.label("text_a"),
        _ANSWER_B.c.text.label("text_b"),
        _ANSWER_A.c.thinking.label("thinking_a"),
        _ANSWER_B.c.thinking.label("thinking_b"),
        _ANSWER_A.c.cut.label("cut_a"),
        _ANSWER_B.c.cut.label("cut_b"),
        BATTLE.c.winner,
    )
    .where(IS_FINAL, BATTLE.c.token == bindparam("token"))
    .where(BATTLE.c.answer_a == _ANSWER_A.c.id, BATTLE.c.answer_b == _ANSWER_B.c.id)
    .where(_ANSWER_A.c.model_id == _MODEL_A.c.id, _ANSWER_B.c.model_id == _MODEL_B.c.id)
    .where(_ANSWER_A.c.withdrawn_at.is_(None), _ANSWER_B.c.withdrawn_at.is_(None))
    .where(BATTLE.c.item_id == ITEM.c.id, ITEM.c.source_id == SOURCE.c.id, SOURCE.c.kind != "check")
)
_RESULTS_OF_VOTER = select(BATTLE.c.winner, BATTLE.c.loser).where(
    BATTLE.c.voter_id.in_(_SELVES),
    BATTLE.c.revealed_at.is_not(None),
    BATTLE.c.draw != "check",
    ~IS_LIVE,
)


class BattleOutcome(NamedTuple):
    """The outcome of a finished battle."""

    alike: int
    """The number of others with this voter's choice."""
    others: int
    """The number of others who compared these two models on this item."""
    reference: str | None
    """The reference's answer, unless it was one of the two."""
    is_closed: bool = False
    """Whether others' choices are not shown yet."""


class FinishedBattle(NamedTuple):
    """A battle with a final vote, without its voter, and with answers in use."""

    item: int
    names: Names
    answers: tuple[ShownAnswer, ShownAnswer]
    choice: Side
    alike: int
    """The number of people with this choice, of all who compared these two models on this item."""
    people: int
    reference: str | None
    """The reference's answer, unless it was one of the two."""

    @property
    def verdict(self) -> str:
        """A sentence about the choice."""
        if self.choice == "a":
            won = self.names.a
            lost = self.names.b
        else:
            won = self.names.b
            lost = self.names.a
        if self.people == 1:
            return f"One person has compared the two here, and chose {won} over {lost}."
        return f"{self.alike} of {self.people} people chose {won} over {lost}."


class Preference(NamedTuple):
    """A voter's preference for a model: its wins among its battles."""

    model: str
    wins: int
    battles: int


@dataclass(frozen=True)
class Outcomes:
    """Reader of outcomes; `closed_sources` reads the sources where the choices of others are hidden."""

    database: Database
    closed_sources: Callable[[Connection], Collection[str]] = lambda _: ()

    def outcome(self, voter: int, battle: Battle) -> BattleOutcome:
        """Returns the outcome of a revealed battle."""
        publish_votes(self.database)
        with self.database.read() as connection:
            is_closed = self._is_closed(connection, battle.item)
            others = connection.execute(
                _VOTES_OF_OTHERS, {"voter": voter, "battle": battle.id}
            ).all()
            votes = {} if is_closed else dict(others)
            winner = connection.execute(_WINNER_QUERY, {"battle": battle.id}).scalar_one()
            reference = _reference(connection, battle.item, (battle.answer_a, battle.answer_b))
        return BattleOutcome(
            alike=votes.get(winner, 0),
            others=sum(votes.values()),
            reference=reference,
            is_closed=is_closed,
        )

    def find_finished(self, token: str) -> FinishedBattle | None:
        """Returns a battle by its token; None if it isn't finished, or its answers are out of use.

        The token is random, appears only on its voter's page, and changes when the voter is forgotten. So anybody who
        has it got it from somebody who chose there.
        """
        if not _LINK.fullmatch(token):
            return None
        publish_votes(self.database)
        with self.database.read() as connection:
            row = connection.execute(_FINISHED_QUERY, {"token": token}).first()
            if row is None:
                return None
            if self._is_closed(connection, row.item_id):
                return None
            votes = dict(connection.execute(_VOTES_OF_EVERYBODY, {"battle": row.id}).all())
            reference = _reference(connection, row.item_id, (row.answer_a, row.answer_b))
        return FinishedBattle(
            item=row.item_id,
            names=Names(row.name_a, row.name_b),
            answers=(
                ShownAnswer(row.text_a, row.thinking_a or "", row.cut_a),
                ShownAnswer(row.text_b, row.thinking_b or "", row.cut_b),
            ),
            choice=row.choice,
            alike=votes[row.winner],
            people=sum(votes.values()),
            reference=reference,
        )

    def _is_closed(self, connection: Connection, item: int) -> bool:
        source = connection.scalar(_SOURCE_QUERY, {"item": item})
        return source in self.closed_sources(connection)

    def preferences(self, voter: int) -> Sequence[Preference]:
        """Returns the models of a voter's revealed battles, the most preferred first."""
        wins: Counter[int] = Counter()
        battles: Counter[int] = Counter()
        with self.database.read() as connection:
            for winner, loser in connection.execute(_RESULTS_OF_VOTER, {"voter": voter}):
                wins[winner] += 1
                battles.update((winner, loser))
            query = select(MODEL.c.id, MODEL.c.display).where(MODEL.c.id.in_(battles))
            names = dict(connection.execute(query).all())

        def preferred_first(preference: Preference) -> tuple[float, int, str]:
            share = preference.wins / preference.battles
            return -share, -preference.battles, preference.model

        preferences = [Preference(names[model], wins[model], n) for model, n in battles.items()]
        return sorted(preferences, key=preferred_first)


def _reference(connection: Connection, item: int, answers: tuple[int, int]) -> str | None:
    """Returns the text of an item's reference answer, unless it is one of these two."""
    answer = connection.execute(_REFERENCE_QUERY, {"item": item}).first()
    return answer.text if answer and answer.id not in answers else None
