"""Live store: transactions of live battles, from the first question to the names."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update

from arena.battles.choices import (
    ChoiceError,
    ChoiceStore,
    attempt_of,
    check_among,
    parse_token,
    phase,
)
from arena.battles.quotas import LIMITS, Quotas
from arena.battles.tables import BATTLE, IS_LIVE, LIVE_FAILURE, TURN
from arena.database import Database, bump_counter, now, take_turn
from arena.items.store import BANK_VERSION, MODEL, SOURCE, model_names
from arena.live.streaming import SideFailure
from arena.settings import VoteLimits
from arena.thinking import ShownAnswer
from arena.types import SIDES, Names, OutsideReason, Phase, Side

MOST_TURNS = 5
MOST_AGE = timedelta(hours=24)
"""The age at which an unfinished battle no longer comes back, and own images are deleted."""


class LiveTurn(NamedTuple):
    """A turn with the answers of both sides; the answers are empty until it is answered."""

    question: str
    a: str
    b: str
    stopped: bool = False
    named: bool = False
    """Whether an answer reveals its model."""
    thinking: tuple[str, str] = ("", "")
    cut: tuple[bool, bool] = (False, False)
    """thinking, cut: for both sides, the model's thinking, and whether its answer ended at the limit of tokens."""
    cost: tuple[int | None, int | None] = (None, None)
    """The costs of both answers, in millionths of a US dollar."""

    def answer(self, side: Side) -> ShownAnswer:
        place = SIDES.index(side)
        text = self.a if side == "a" else self.b
        return ShownAnswer(text, self.thinking[place], self.cut[place])


class Exchange(NamedTuple):
    """A question and one side's answer to it."""

    question: str
    answer: str


@dataclass(frozen=True)
class LiveBattle:
    """A voter's live battle in its current state."""

    id: int
    token: str
    """The browser's handle: an unguessable name and the attempt, 1 or 2."""
    item: int | None
    """The bank's item; None: the voter's own images."""
    images: int
    phase: Phase
    turns: tuple[LiveTurn, ...]
    answered: int
    """The number of answered turns."""
    void: str | None
    """The reason why there is nothing to vote on, if any."""
    choice: Side | None
    outside: OutsideReason | None
    """The reason why the vote is excluded from the ranking, if any."""
    attempt: int

    def history(self, side: Side) -> list[Exchange]:
        """Returns the answered questions, each with the answer of a side."""
        return [
            Exchange(turn.question, turn.a if side == "a" else turn.b)
            for turn in self.turns[: self.answered]
        ]

    def cost(self, side: Side) -> int | None:
        """Returns the cost of all answers of a side, in millionths of a US dollar; None if one is unknown."""
        costs = [turn.cost[SIDES.index(side)] for turn in self.turns]
        known_costs = [cost for cost in costs if cost is not None]
        return sum(known_costs) if len(known_costs) == len(costs) else None

    @property
    def is_settled(self) -> bool:
        """Whether no answer is in progress."""
        return self.answered == len(self.turns)

    @property
    def can_go_on(self) -> bool:
        return self.follow_up_refusal is None

    @property
    def follow_up_refusal(self) -> str | None:
        """The reason why no follow-up may be asked, if any."""
        if self.phase is not Phase.OPEN:
            return "You've already chosen. Start another battle to ask more."
        if not self.is_settled:
            return "The answers aren't finished yet. Ask again when they are."
        if len(self.turns) >= MOST_TURNS:
            return f"A battle has at most {MOST_TURNS} turns. Choose A or B."
        if self.void is not None or self.turns[-1].stopped:
            return "This battle was stopped. Choose A or B, or start another."
        return None


class Opening(NamedTuple):
    """A new live battle."""

    instruction: str
    images: int
    item: int | None = None
    keep: bool = False
    """Whether the voter's own images may be kept."""
    network: str | None = None
    draw_probability: float | None = None
    """The probability of the pair, among all pairs that could answer."""


class TurnAnswers(NamedTuple):
    """Both answers of a turn, and their models' names."""

    models: Names
    answers: tuple[str, str]
    """The texts of both answers."""
    stopped: bool
    """Whether it was stopped before enough was shown for a choice."""
    named: bool
    replaced: bool = False
    """Whether another model answered in place of a drawn one that failed."""
    tokens: tuple[int | None, int | None] = (None, None)
    """The completion tokens of both answers."""
    cost: tuple[int | None, int | None] = (None, None)
    """The costs of both answers, in millionths of a US dollar."""
    thinking: tuple[str, str] = ("", "")
    cut: tuple[bool, bool] = (False, False)


class LiveModelError(ValueError):
    """A model of the catalogue cannot take part; the message says why and how to fix it."""


class LiveStore(ChoiceStore[LiveBattle]):
    """Live battles in the database."""

    def __init__(self, database: Database, limits: VoteLimits = LIMITS) -> None:
        super().__init__(database, IS_LIVE, _battle)
        self.quotas = Quotas(database, limits)

    def register_models(self, models: Sequence[str]) -> None:
        """Adds models that are not in the bank yet, by name. Raises LiveModelError for a name that is taken."""
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            known_names = set(connection.scalars(select(MODEL.c.name)))
            by_display = {
                row.display: row.name
                for row in connection.execute(select(MODEL.c.display, MODEL.c.name))
            }
            new_names = [name for name in models if name not in known_names]
            if taken_names := [name for name in new_names if name in by_display]:
                owner = by_display[taken_names[0]]
                raise LiveModelError(
                    f"The models file's {taken_names[0]!r} has the same name as {owner!r} here. Rename one."
                )
            if new_names:
                connection.execute(
                    insert(MODEL), [{"name": name, "display": name} for name in new_names]
                )
                bump_counter(connection, BANK_VERSION)

    def begin(self, voter: int, opening: Opening) -> LiveBattle:
        """Stores a new battle with its first question, which this server answers. Raises LimitError."""
        values = {
            "token": secrets.token_urlsafe(16),
            "voter_id": voter,
            "item_id": opening.item,
            "images": opening.images,
            "keep": opening.keep,
            "began_at": now(),
        }
        if opening.draw_probability is not None:
            values |= {"draw": "lot", "draw_probability": opening.draw_probability}
        with self._database.write() as connection:
            self.quotas.count_live_battle(connection, voter, opening.item, opening.network)
            insertion = insert(BATTLE).values(values).returning(*BATTLE.c)
            row = connection.execute(insertion).one()
            self._ask(connection, row.id, 1, opening.instruction)
            return _battle(connection, row)

    def ask(self, voter: int, token: str, text: str) -> LiveBattle:
        """Stores a follow-up question, which this server answers. Raises ChoiceError when none can be asked."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            battle = _battle(connection, row)
            if battle.follow_up_refusal:
                raise ChoiceError(battle.follow_up_refusal)
            self._ask(connection, row.id, len(battle.turns) + 1, text)
            return _battle(connection, row)

    def answer(self, battle: int, answered: TurnAnswers) -> None:
        """Stores both answers; without their texts if the question was erased meanwhile."""
        newest = select(TURN.c.number, TURN.c.question).where(TURN.c.battle_id == battle)
        newest = newest.order_by(TURN.c.number.desc()).limit(1).with_for_update()
        with self._database.write() as connection:
            turn = connection.execute(newest).one()
            is_erased = not turn.question
            answer_a, answer_b = ("", "") if is_erased else answered.answers
            thinking_a, thinking_b = ("", "") if is_erased else answered.thinking
            tokens_a, tokens_b = answered.tokens
            cost_a, cost_b = answered.cost
            cut_a, cut_b = answered.cut
            values = {
                "answer_a": answer_a,
                "answer_b": answer_b,
                "answered_at": now(),
                "tokens_a": tokens_a,
                "tokens_b": tokens_b,
                "cost_a": cost_a,
                "cost_b": cost_b,
                "stopped": answered.stopped,
                "named": answered.named,
                "thinking_a": thinking_a,
                "thinking_b": thinking_b,
                "cut_a": cut_a,
                "cut_b": cut_b,
            }
            is_turn = (TURN.c.battle_id == battle) & (TURN.c.number == turn.number)
            connection.execute(update(TURN).where(is_turn).values(values))
            update_battle = update(BATTLE).where(BATTLE.c.id == battle)
            if turn.number == 1:
                model_a, model_b = _model_ids(connection, answered.models)
                connection.execute(update_battle.values(model_a=model_a, model_b=model_b))
            if answered.replaced:
                # This pair was not drawn.
                connection.execute(update_battle.values(draw=None, draw_probability=None))
        self._database.release(_hold_name(battle))

    def end(self, battle: int, reason: str) -> None:
        """Stores the reason why there is nothing to vote on; an earlier reason stays, and so does a choice."""
        with self._database.write() as connection:
            row = connection.execute(
                select(BATTLE).where(BATTLE.c.id == battle).with_for_update()
            ).one()
            if row.ended is None and row.choice is None:
                self._end(connection, battle, reason)
        self._database.release(_hold_name(battle))

    def is_elsewhere(self, battle: int) -> bool:
        """Returns whether another server is answering in a battle."""
        return self._database.is_held_elsewhere(_hold_name(battle))

    def store_failures(self, failures: Sequence[SideFailure]) -> None:
        """Stores failures of models, as of now."""
        with self._database.write() as connection:
            ids = _model_ids(connection, [failure.model for failure in failures])
            for model_id, failure in zip(ids, failures, strict=True):
                values = {"model_id": model_id, "kind": failure.kind, "failed_at": now()}
                connection.execute(insert(LIVE_FAILURE).values(values))

    def unfinished(self, voter: int) -> LiveBattle | None:
        """Returns the voter's last battle if it waits for a choice, for answers or for its reveal."""
        is_recent = (BATTLE.c.voter_id == voter) & (BATTLE.c.began_at > now() - MOST_AGE)
        query = select(BATTLE).where(IS_LIVE, is_recent).order_by(BATTLE.c.id.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
            if row is None or row.revealed_at is not None or row.ended is not None:
                return None
            return _battle(connection, row)

    def vote(self, voter: int, token: str, choice: Side, terms: str) -> LiveBattle:
        """Stores a choice as `BattleStore.vote` does. Raises ChoiceError also while answers are in progress."""
        check_among(choice, SIDES, "choice")
        with self._database.write() as connection:
            row = self._find(connection, voter, token, lock=True)
            if row.ended is not None:
                raise ChoiceError("There's nothing to vote on in this battle. Start another.")
            stored = _turns_of(connection, row.id)
            if stored.answered == 0 or stored.answered != len(stored.turns):
                raise ChoiceError(
                    "The answers aren't finished yet. Choose when they are, or press Stop."
                )
            outside: OutsideReason | None = None
            if any(turn.stopped for turn in stored.turns):
                outside = "stopped"
            elif any(turn.named for turn in stored.turns):
                outside = "named itself"
            return self._choose(connection, row, parse_token(token).attempt, choice, terms, outside)

    def models(self, battle: int) -> Names:
        """Returns the bank's names of a battle's models, which no page may show.

        Raises ChoiceError before the first answer.
        """
        with self._database.read() as connection:
            row = connection.execute(
                select(BATTLE.c.model_a, BATTLE.c.model_b).where(BATTLE.c.id == battle)
            ).one()
            if row.model_a is None:
                raise ChoiceError("The answers aren't finished yet. Ask again when they are.")
            name = model_names(connection)
        return Names(name[row.model_a], name[row.model_b])

    def model_ids(self, models: Sequence[str]) -> dict[str, int]:
        """Returns the ids of models by their names."""
        with self._database.read() as connection:
            return dict(zip(models, _model_ids(connection, models), strict=True))

    def failures(self, since: datetime) -> dict[str, int]:
        """Returns the number of failed live answers of each model, by name; models without failures are left out."""
        query = select(MODEL.c.name, func.count().label("n")).join(
            LIVE_FAILURE, LIVE_FAILURE.c.model_id == MODEL.c.id
        )
        query = query.where(LIVE_FAILURE.c.failed_at >= since)
        with self._database.read() as connection:
            return {row.name: row.n for row in connection.execute(query.group_by(MODEL.c.name))}

    def _ask(self, connection: Connection, battle: int, number: int, text: str) -> None:
        """Stores a question, and marks this server as the one that answers it before others can see the question."""
        values = {"battle_id": battle, "number": number, "question": text, "asked_at": now()}
        connection.execute(insert(TURN).values(values))
        self._database.hold(_hold_name(battle))


def _hold_name(battle: int) -> str:
    """Returns the name under which a server holds a battle while it answers there."""
    return f"live battle {battle}"


def _model_ids(connection: Connection, names: Sequence[str]) -> list[int]:
    """Returns the ids of models in the order of `names`."""
    ids = {
        row.name: row.id for row in connection.execute(select(MODEL).where(MODEL.c.name.in_(names)))
    }
    return [ids[name] for name in names]


def _battle(connection: Connection, row: Row) -> LiveBattle:
    attempt = attempt_of(row)
    stored = _turns_of(connection, row.id)
    return LiveBattle(
        id=row.id,
        token=f"{row.token}.{attempt}",
        item=row.item_id,
        images=row.images,
        phase=phase(row),
        turns=stored.turns,
        answered=stored.answered,
        void=row.ended,
        choice=row.choice,
        outside=row.outside,
        attempt=attempt,
    )


class _StoredTurns(NamedTuple):
    """The turns of a battle."""

    turns: tuple[LiveTurn, ...]
    answered: int
    """The number of answered ones."""


def _turns_of(connection: Connection, battle: int) -> _StoredTurns:
    query = select(TURN).where(TURN.c.battle_id == battle).order_by(TURN.c.number)
    rows = connection.execute(query).all()
    turns = tuple(
        LiveTurn(
            question=row.question,
            a=row.answer_a or "",
            b=row.answer_b or "",
            stopped=row.stopped,
            named=row.named,
            thinking=(row.thinking_a or "", row.thinking_b or ""),
            cut=(row.cut_a, row.cut_b),
            cost=(row.cost_a, row.cost_b),
        )
        for row in rows
    )
    return _StoredTurns(turns, sum(row.answered_at is not None for row in rows))
