"""Live store: transactions of live battles, from the first question to the names."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update

from arena.battles.choices import ChoiceError, ChoiceStore, check_among, phase, token_parts
from arena.battles.quotas import LIMITS, Quotas
from arena.battles.tables import (
    LIVE,
    LIVE_BATTLE,
    LIVE_BATTLE_STATES,
    LIVE_FAILURE,
    LIVE_QUESTION,
    LIVE_TURN,
    LIVE_VOID,
    open_ranked_votes,
)
from arena.database import Database, bump_counter, now, take_turn
from arena.items.store import BANK_VERSION, MODEL, SOURCE, model_names
from arena.live.streaming import SideFailure
from arena.settings import VoteLimits
from arena.types import SIDES, Names, Phase, Side

MOST_TURNS = 5
MOST_AGE = timedelta(hours=24)
"""Age at which an unfinished battle no longer comes back, and own images are deleted."""
Outside = Literal["stopped", "named itself"]


class LiveTurn(NamedTuple):
    """A turn with the answers of both sides; the answers are empty until it is answered."""

    question: str
    a: str
    b: str
    stopped: bool = False
    named: bool = False
    """Whether an answer reveals its model."""


@dataclass(frozen=True)
class LiveBattle:
    """A voter's live battle in its current state."""

    id: int
    token: str
    """The browser's handle: an unguessable name and the attempt, 1 or 2."""
    item: int | None
    """The bank's item; None: about the voter's own images."""
    images: int
    phase: Phase
    turns: tuple[LiveTurn, ...]
    answered: int
    void: str | None
    """Why there is nothing to vote on, if so."""
    choice: Side | None
    outside: Outside | None
    """Why the vote is excluded from the ranking, if it is."""
    attempt: int

    def said(self, side: Side) -> list[tuple[str, str]]:
        """The questions that are answered, each with the answer of a side."""
        return [
            (turn.question, turn.a if side == "a" else turn.b)
            for turn in self.turns[: self.answered]
        ]

    @property
    def settled(self) -> bool:
        """Whether no answer is in progress."""
        return self.answered == len(self.turns)

    @property
    def can_go_on(self) -> bool:
        return self.closed is None

    @property
    def closed(self) -> str | None:
        """Why no follow-up may be asked, if so."""
        if self.phase is not Phase.OPEN:
            return "You have chosen; start another battle to ask more."
        if not self.settled:
            return "The answers are still coming; ask when both have ended."
        if len(self.turns) >= MOST_TURNS:
            return f"A battle has at most {MOST_TURNS} turns. Choose A or B."
        stopped = self.void is not None or self.turns[-1].stopped
        return "This battle was stopped; choose A or B, or start another." if stopped else None


class Opening(NamedTuple):
    """A new live battle."""

    instruction: str
    images: int
    item: int | None = None
    keep: bool = False
    network: str | None = None
    draw_probability: float | None = None
    """Of the pair that is asked, among all that could answer."""


class Answered(NamedTuple):
    """Both answers of a turn, and the names of the models that gave them."""

    models: Names
    answers: Names
    stopped: bool
    """Whether it was stopped before enough was shown to choose by."""
    named: bool
    replaced: bool = False
    """Whether another model answered for one that was drawn and failed."""


class LiveModelError(ValueError):
    """A model of the catalogue that cannot take part; says why, and how to mend it."""


class LiveStore(ChoiceStore[LiveBattle]):
    """Live battles in the database."""

    def __init__(self, database: Database, limits: VoteLimits = LIMITS) -> None:
        super().__init__(database, LIVE, LIVE_BATTLE_STATES, open_ranked_votes, _battle)
        self.quotas = Quotas(database, limits)

    def register_models(self, models: Sequence[str]) -> None:
        """Add models that the bank does not know yet, by name. Raises LiveModelError for a name that is taken."""
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            known = set(connection.scalars(select(MODEL.c.name)))
            shown = {
                row.display: row.name
                for row in connection.execute(select(MODEL.c.display, MODEL.c.name))
            }
            fresh = [name for name in models if name not in known]
            if taken := [name for name in fresh if name in shown]:
                raise LiveModelError(
                    f"The catalogue's model {taken[0]!r} has the name that {shown[taken[0]]!r} is shown by; rename one"
                )
            if fresh:
                connection.execute(
                    insert(MODEL), [{"name": name, "display": name} for name in fresh]
                )
                bump_counter(connection, BANK_VERSION)

    def begin(self, voter: int, opening: Opening) -> LiveBattle:
        """Store a new battle with its first question, which this server answers. Raises LimitError."""
        values = {"token": secrets.token_urlsafe(16), "voter_id": voter, "item_id": opening.item}
        values |= {"images": opening.images, "keep": opening.keep, "began_at": now()}
        values |= {"draw_probability": opening.draw_probability}
        with self._database.write() as connection:
            self.quotas.count_live_battle(connection, voter, opening.item, opening.network)
            battle = connection.execute(
                insert(LIVE_BATTLE).values(values).returning(LIVE_BATTLE.c.id)
            ).scalar_one()
            self._ask(connection, battle, 1, opening.instruction)
            return self._stored(connection, battle)

    def ask(self, voter: int, token: str, text: str) -> LiveBattle:
        """Store a follow-up question, which this server answers. Raises ChoiceError when none can be asked."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            battle = _battle(connection, row)
            if battle.closed:
                raise ChoiceError(battle.closed)
            self._ask(connection, row.id, len(battle.turns) + 1, text)
            return self._stored(connection, row.id)

    def answer(self, battle: int, answered: Answered) -> None:
        """Store both answers; not what they say to a question that was erased meanwhile."""
        newest = select(LIVE_QUESTION.c.number, LIVE_QUESTION.c.text).where(
            LIVE_QUESTION.c.battle_id == battle
        )
        newest = newest.order_by(LIVE_QUESTION.c.number.desc()).limit(1).with_for_update()
        values = {
            "battle_id": battle,
            "stopped": answered.stopped,
            "named": answered.named,
            "ended_at": now(),
        }
        with self._database.write() as connection:
            values |= zip(("model_a", "model_b"), _codes(connection, answered.models), strict=True)
            number, question = connection.execute(newest).one()
            a, b = answered.answers if question else ("", "")
            values |= {"number": number, "answer_a": a, "answer_b": b}
            connection.execute(insert(LIVE_TURN).values(values))
            if answered.replaced:
                connection.execute(
                    update(LIVE_BATTLE)
                    .where(LIVE_BATTLE.c.id == battle)
                    .values(draw_probability=None)
                )
        self._database.release(_held(battle))

    def end(self, battle: int, reason: str) -> None:
        """Store that there is nothing to vote on, and why."""
        values = {"battle_id": battle, "reason": reason, "ended_at": now()}
        with self._database.write() as connection:
            connection.execute(
                self._database.insert(LIVE_VOID).values(values).on_conflict_do_nothing()
            )
        self._database.release(_held(battle))

    def is_elsewhere(self, battle: int) -> bool:
        return self._database.is_held_elsewhere(_held(battle))

    def fail(self, failures: Sequence[SideFailure]) -> None:
        with self._database.write() as connection:
            codes = _codes(connection, [failure.model for failure in failures])
            for code, failure in zip(codes, failures, strict=True):
                connection.execute(
                    insert(LIVE_FAILURE).values(model_id=code, kind=failure.kind, failed_at=now())
                )

    def unfinished(self, voter: int) -> LiveBattle | None:
        """The voter's last battle if it waits for a choice, for answers or for its reveal."""
        mine = (LIVE_BATTLE.c.voter_id == voter) & (LIVE_BATTLE.c.began_at > now() - MOST_AGE)
        query = LIVE_BATTLE_STATES.where(mine).order_by(LIVE_BATTLE.c.id.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None or row.revealed or row.reason else _battle(connection, row)

    def vote(self, voter: int, token: str, choice: Side, terms: str) -> LiveBattle:
        """Store a choice as `BattleStore.vote` does. Raises ChoiceError also while answers are in progress."""
        check_among(choice, SIDES, "choice")
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.reason is not None:
                raise ChoiceError("There is nothing to vote on in this battle; start another.")
            if row.answered == 0 or row.answered != row.asked:
                raise ChoiceError(
                    "The answers are still coming; choose when both have ended, or press Stop."
                )
            turns = _turns(connection, row.id)
            named = "named itself" if any(turn.named for turn in turns) else None
            outside: Outside | None = "stopped" if any(turn.stopped for turn in turns) else named
            more = {"turns": row.answered, "outside": outside}
            self._insert(connection, row, token_parts(token)[1], choice, terms, **more)
            return self._standing(connection, row.id, choice)

    def models(self, battle: int) -> Names:
        """The bank's names of a battle's models, never for a page. Raises ChoiceError before a turn is answered."""
        with self._database.read() as connection:
            turn = connection.execute(
                select(LIVE_TURN).where(LIVE_TURN.c.battle_id == battle).limit(1)
            ).one_or_none()
            if turn is None:
                raise ChoiceError("The answers are still coming; ask when both have ended.")
            name = model_names(connection)
        return Names(name[turn.model_a], name[turn.model_b])

    def named_pair_votes(self) -> dict[frozenset[str], int]:
        """Number of final ranked votes of each pair of models, by name."""
        pairs = self.pair_votes()
        with self._database.read() as connection:
            names = model_names(connection)
        return {frozenset((names[low], names[high])): n for (low, high), n in pairs.items()}

    def failures(self) -> dict[str, int]:
        """Number of failed live answers of each model, by name; models without any are left out."""
        query = select(MODEL.c.name, func.count().label("n")).join(
            LIVE_FAILURE, LIVE_FAILURE.c.model_id == MODEL.c.id
        )
        with self._database.read() as connection:
            return {row.name: row.n for row in connection.execute(query.group_by(MODEL.c.name))}

    def _ask(self, connection: Connection, battle: int, number: int, text: str) -> None:
        """Store a question; before it can be seen, others can see that this server answers it."""
        values = {"battle_id": battle, "number": number, "text": text, "asked_at": now()}
        connection.execute(insert(LIVE_QUESTION).values(values))
        self._database.hold(_held(battle))


def _held(battle: int) -> str:
    return f"live battle {battle}"


def _codes(connection: Connection, names: Sequence[str]) -> list[int]:
    known = {
        row.name: row.id for row in connection.execute(select(MODEL).where(MODEL.c.name.in_(names)))
    }
    return [known[name] for name in names]


def _battle(connection: Connection, row: Row) -> LiveBattle:
    attempt = 2 if row.undone else 1
    return LiveBattle(
        id=row.id,
        token=f"{row.token}.{attempt}",
        item=row.item_id,
        images=row.images,
        phase=phase(row),
        turns=_turns(connection, row.id),
        answered=row.answered,
        void=row.reason,
        choice=row.choice,
        outside=row.outside,
        attempt=attempt,
    )


def _turns(connection: Connection, battle: int) -> tuple[LiveTurn, ...]:
    turn = LIVE_TURN.c
    same = (turn.battle_id == LIVE_QUESTION.c.battle_id) & (turn.number == LIVE_QUESTION.c.number)
    query = select(LIVE_QUESTION.c.text, turn.answer_a, turn.answer_b, turn.stopped, turn.named)
    mine = query.select_from(LIVE_QUESTION.outerjoin(LIVE_TURN, same)).where(
        LIVE_QUESTION.c.battle_id == battle
    )
    rows = connection.execute(mine.order_by(LIVE_QUESTION.c.number))
    return tuple(
        LiveTurn(
            row.text, row.answer_a or "", row.answer_b or "", bool(row.stopped), bool(row.named)
        )
        for row in rows
    )
