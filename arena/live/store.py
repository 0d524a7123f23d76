"""Live store: transactions of live battles, from the first question to the names.

Each checks voter, token and state in the database and only adds rows (see `live_tables.py`). A choice is acknowledged,
and the names are shown, after the commit. Votes, undos and reveals are idempotent.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select

from arena.battles.live_tables import (
    LIVE_BATTLE,
    LIVE_FAILURE,
    LIVE_QUESTION,
    LIVE_REVEAL,
    LIVE_TURN,
    LIVE_UNDO,
    LIVE_VOID,
    LIVE_VOTE,
    LIVE_WINS,
    live_battle_states,
    open_ranked_votes,
)
from arena.battles.quotas import LIMITS, Quotas
from arena.battles.store import ChoiceError, UnknownBattleError, check_undo
from arena.clock import keep_time, tick
from arena.database import Database, bump_counter, now, take_turn
from arena.items.store import BANK_VERSION, MODEL, SOURCE
from arena.live.streaming import SideFailure
from arena.settings import VoteLimits
from arena.types import SIDES, Names, Phase, Side

MOST_TURNS = 5
MOST_AGE = timedelta(hours=24)
"""Age at which an unfinished battle no longer comes back, and own images are deleted."""
Outside = Literal["stopped", "named itself"]
_TOKEN = re.compile(r"([A-Za-z0-9_-]{1,64})\.([12])")

_PAIR_VOTES = select(LIVE_WINS.c.winner, LIVE_WINS.c.loser, func.sum(LIVE_WINS.c.n).label("n")).group_by(
    LIVE_WINS.c.winner, LIVE_WINS.c.loser
)
_OPEN_PAIR_VOTES = open_ranked_votes(LIVE_VOTE.c.winner, LIVE_VOTE.c.loser, func.count().label("n")).group_by(
    LIVE_VOTE.c.winner, LIVE_VOTE.c.loser
)


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
    keep: bool
    """Whether the voter lets the own images be kept."""
    phase: Phase
    turns: tuple[LiveTurn, ...]
    answered: int
    """Number of answered turns."""
    void: str | None
    """Why there is nothing to vote on, if so."""
    choice: Side | None
    outside: Outside | None
    """Why the vote is excluded from the ranking, if it is."""
    attempt: int
    began_at: datetime

    @property
    def settled(self) -> bool:
        """Whether no answer is in progress."""
        return self.answered == len(self.turns)

    @property
    def can_go_on(self) -> bool:
        """Whether a follow-up may be asked."""
        over = self.void is not None or self.phase is not Phase.OPEN or len(self.turns) >= MOST_TURNS
        return not over and self.settled and not self.turns[-1].stopped


class Opening(NamedTuple):
    """The data of a new live battle."""

    instruction: str
    images: int
    item: int | None = None
    keep: bool = False
    network: str | None = None
    """The network whose daily count this battle adds to; None: no network's."""


class Answered(NamedTuple):
    """Both answers of a turn, and the names of the models that gave them."""

    models: Names
    answers: Names
    stopped: bool
    named: bool


class LiveModelError(ValueError):
    """A model of the catalogue that cannot take part; says why, and how to mend it."""


class LiveStore:
    """Live battles in the database; every method for a visitor is one transaction that checks the voter first."""

    def __init__(self, database: Database, limits: VoteLimits = LIMITS) -> None:
        self._database = database
        self.quotas = Quotas(database, limits)

    def register_models(self, models: Sequence[str]) -> None:
        """Add models that the bank does not know yet, by name. Raises LiveModelError for a name that is taken."""
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            known = set(connection.scalars(select(MODEL.c.name)))
            shown = {row.display: row.name for row in connection.execute(select(MODEL.c.display, MODEL.c.name))}
            fresh = [name for name in models if name not in known]
            if taken := [name for name in fresh if name in shown]:
                raise LiveModelError(
                    f"The catalogue's model {taken[0]!r} has the name that {shown[taken[0]]!r} is shown by; rename one"
                )
            if fresh:
                connection.execute(insert(MODEL), [{"name": name, "display": name} for name in fresh])
                bump_counter(connection, BANK_VERSION)

    def begin(self, voter: int, opening: Opening) -> LiveBattle:
        """Store a new battle with its first question, which this server answers.

        Raises LimitError when the voter or network has reached its limit.
        """
        values = {"token": secrets.token_urlsafe(16), "voter_id": voter, "item_id": opening.item}
        values |= {"images": opening.images, "keep": opening.keep, "began_at": now()}
        with self._database.write() as connection:
            self.quotas.count_live_battle(connection, voter, opening.item, opening.network)
            battle = connection.execute(insert(LIVE_BATTLE).values(values).returning(LIVE_BATTLE.c.id)).scalar_one()
            self._ask(connection, battle, 1, opening.instruction)
            return _stored(connection, battle)

    def ask(self, voter: int, token: str, text: str) -> LiveBattle:
        """Store a follow-up question, which this server answers.

        Raises UnknownBattleError, or ChoiceError when none can be asked.
        """
        with self._database.write() as connection:
            row = self._find(connection, voter, token)
            battle = _battle(connection, row)
            if not battle.can_go_on:
                raise ChoiceError(_why_no_more(battle))
            self._ask(connection, row.id, len(battle.turns) + 1, text)
            return _stored(connection, row.id)

    def answer(self, battle: int, answered: Answered) -> None:
        """Store the answers to the newest question."""
        values = dict(zip(("answer_a", "answer_b"), answered.answers, strict=True))
        with self._database.write() as connection:
            models = dict(zip(("model_a", "model_b"), _codes(connection, answered.models), strict=True))
            number = select(func.max(LIVE_QUESTION.c.number)).where(LIVE_QUESTION.c.battle_id == battle)
            state = {"stopped": answered.stopped, "named": answered.named, "ended_at": now()}
            numbered = {"battle_id": battle, "number": connection.execute(number).scalar_one()}
            connection.execute(insert(LIVE_TURN).values({**numbered, **models, **values, **state}))
        self._database.release(_held(battle))

    def end(self, battle: int, reason: str) -> None:
        """Store that there is nothing to vote on, and why."""
        values = {"battle_id": battle, "reason": reason, "ended_at": now()}
        with self._database.write() as connection:
            connection.execute(self._database.insert(LIVE_VOID).values(values).on_conflict_do_nothing())
        self._database.release(_held(battle))

    def is_elsewhere(self, battle: int) -> bool:
        """Whether another server answers the newest question of a battle."""
        return self._database.is_held_elsewhere(_held(battle))

    def fail(self, failures: Sequence[SideFailure]) -> None:
        """Store failures, each for its model."""
        if failures:
            with self._database.write() as connection:
                codes = _codes(connection, [failure.model for failure in failures])
                rows = [
                    {"model_id": code, "kind": failure.kind, "failed_at": now()}
                    for code, failure in zip(codes, failures, strict=True)
                ]
                connection.execute(insert(LIVE_FAILURE), rows)

    def find(self, voter: int, token: str) -> LiveBattle:
        """Return a battle in its current state. Raises UnknownBattleError."""
        with self._database.read() as connection:
            return _battle(connection, self._find(connection, voter, token))

    def unfinished(self, voter: int) -> LiveBattle | None:
        """Return the voter's last battle if it waits for a choice, for answers or for its reveal."""
        mine = LIVE_BATTLE.c.voter_id == voter, LIVE_BATTLE.c.began_at > now() - MOST_AGE
        query = live_battle_states().where(*mine).order_by(LIVE_BATTLE.c.id.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None or row.revealed or row.reason else _battle(connection, row)

    def vote(self, voter: int, token: str, choice: str, terms: str) -> LiveBattle:
        """Store a choice and return the battle; repeating the same choice changes nothing.

        Raises UnknownBattleError, or ChoiceError when answers are in progress, there is nothing to vote on, or another
        choice is stored.
        """
        side: Side | None = next((side for side in SIDES if side == choice), None)
        if side is None:
            raise ChoiceError("The choice must be one of: a, b.")
        with self._database.write() as connection:
            row = self._find(connection, voter, token)
            attempt = int(token[-1])
            _check_vote(row, attempt)
            winner, loser = _winner_and_loser(connection, row.id, side)
            values = {"battle_id": row.id, "attempt": attempt, "voter_id": voter, "choice": side, "terms": terms}
            values |= {"winner": winner, "loser": loser, "turns": row.answered, "voted_at": now()}
            values["outside"] = outside = _outside(connection, row.id)
            values["tick"] = tick(connection)
            fresh = self._database.insert(LIVE_VOTE).values(values).on_conflict_do_nothing().returning(LIVE_VOTE.c.id)
            if connection.scalar(fresh) is not None and outside is None:
                self._add_to_win_counts(connection, row, side, +1)
            stored = _stored(connection, row.id)
        if stored.choice != side:
            raise ChoiceError(f"You already chose {(stored.choice or '').upper()} in this battle; that choice stands.")
        return stored

    def undo(self, voter: int, token: str) -> LiveBattle:
        """Undo the first choice, once, within UNDO_SECONDS and before the reveal; return the open battle.

        Raises UnknownBattleError, or ChoiceError when there is nothing to undo or it is too late.
        """
        with self._database.write() as connection:
            row = self._find(connection, voter, token)
            if row.choice is not None:
                check_undo(connection, row)
                connection.execute(insert(LIVE_UNDO).values(battle_id=row.id, undone_at=now()))
                if row.outside is None:
                    self._add_to_win_counts(connection, row, row.choice, -1)
            elif not row.undone:
                raise ChoiceError("There is no choice to take back yet.")
            return _stored(connection, row.id)

    def reveal(self, voter: int, token: str) -> LiveBattle:
        """Make the choice final and return the battle; from here on its names may be shown."""
        with self._database.write() as connection:
            row = self._find(connection, voter, token)
            if row.choice is None:
                raise ChoiceError("Choose A or B first; the names appear after that.")
            values = {"battle_id": row.id, "revealed_at": now()}
            connection.execute(self._database.insert(LIVE_REVEAL).values(values).on_conflict_do_nothing())
            return _stored(connection, row.id)

    def names(self, voter: int, token: str) -> Names:
        """Return the display names of the models of a revealed battle. Raises ChoiceError before the reveal."""
        with self._database.read() as connection:
            row = self._find(connection, voter, token)
            if not row.revealed:
                raise ChoiceError("The names appear after your choice.")
            turn = connection.execute(select(LIVE_TURN).where(LIVE_TURN.c.battle_id == row.id).limit(1)).one()
            shown = {one.id: one.display for one in connection.execute(select(MODEL.c.id, MODEL.c.display))}
        return Names(shown[turn.model_a], shown[turn.model_b])

    def models(self, battle: int) -> Names:
        """Return the bank's names of the models of a battle that has a turn; never for a page.

        Raises ChoiceError before the first turn is answered.
        """
        with self._database.read() as connection:
            turn = connection.execute(select(LIVE_TURN).where(LIVE_TURN.c.battle_id == battle).limit(1)).one_or_none()
            if turn is None:
                raise ChoiceError("The answers are still coming; ask when both have ended.")
            name = {row.id: row.name for row in connection.execute(select(MODEL.c.id, MODEL.c.name))}
        return Names(name[turn.model_a], name[turn.model_b])

    def pair_votes(self) -> dict[frozenset[str], int]:
        """Return the number of final ranked votes of each pair of models, by name."""
        keep_time(self._database, LIVE_VOTE)
        pairs: dict[frozenset[str], int] = {}
        with self._database.read() as connection:
            names = {one.id: one.name for one in connection.execute(select(MODEL.c.id, MODEL.c.name))}
            for query, sign in ((_PAIR_VOTES, 1), (_OPEN_PAIR_VOTES, -1)):
                for row in connection.execute(query):
                    pair = frozenset((names[row.winner], names[row.loser]))
                    pairs[pair] = pairs.get(pair, 0) + sign * int(row.n)
        return pairs

    def failures(self) -> dict[str, int]:
        """Return the number of failed live answers of each model, by name; models without any are left out."""
        query = select(MODEL.c.name, func.count().label("n")).join(LIVE_FAILURE, LIVE_FAILURE.c.model_id == MODEL.c.id)
        with self._database.read() as connection:
            return {row.name: row.n for row in connection.execute(query.group_by(MODEL.c.name))}

    def _ask(self, connection: Connection, battle: int, number: int, text: str) -> None:
        """Store a question; before it can be seen, others can see that this server answers it."""
        values = {"battle_id": battle, "number": number, "text": text, "asked_at": now()}
        connection.execute(insert(LIVE_QUESTION).values(values))
        self._database.hold(_held(battle))

    def _find(self, connection: Connection, voter: int, token: str) -> Row:
        """Return the battle of a token with its events; its row is locked where the transaction writes."""
        found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
        if found is None:
            raise UnknownBattleError
        mine = (LIVE_BATTLE.c.token == found[1]) & (LIVE_BATTLE.c.voter_id == voter)
        if not self._database.is_sqlite:
            connection.execute(select(LIVE_BATTLE.c.id).where(mine).with_for_update())
        row = connection.execute(live_battle_states().where(mine)).one_or_none()
        if row is None or (found[2] == "2" and not row.undone):
            raise UnknownBattleError
        return row

    def _add_to_win_counts(self, connection: Connection, row: Row, choice: Side, by: int) -> None:
        """Update the boards' win counts in the vote's own transaction."""
        winner, loser = _winner_and_loser(connection, row.id, choice)
        fresh = self._database.insert(LIVE_WINS).values(
            own=row.item_id is None,
            multi=row.images > 1,
            winner=winner,
            loser=loser,
            n=by,
            left_n=by if choice == "a" else 0,
        )
        more = {"n": LIVE_WINS.c.n + fresh.excluded.n, "left_n": LIVE_WINS.c.left_n + fresh.excluded.left_n}
        changed = {**more, "change": fresh.excluded.change}
        connection.execute(fresh.on_conflict_do_update(index_elements=LIVE_WINS.primary_key, set_=changed))


def _held(battle: int) -> str:
    """Return the name that the server which answers a battle holds."""
    return f"live battle {battle}"


def _codes(connection: Connection, names: Sequence[str]) -> list[int]:
    """Return the integer codes of models by name."""
    known = {row.name: row.id for row in connection.execute(select(MODEL).where(MODEL.c.name.in_(names)))}
    return [known[name] for name in names]


def _stored(connection: Connection, battle: int) -> LiveBattle:
    return _battle(connection, connection.execute(live_battle_states().where(LIVE_BATTLE.c.id == battle)).one())


def _battle(connection: Connection, row: Row) -> LiveBattle:
    attempt = 2 if row.undone else 1
    phase = Phase.OPEN if row.choice is None else Phase.REVEALED if row.revealed else Phase.VOTED
    return LiveBattle(
        id=row.id,
        token=f"{row.token}.{attempt}",
        item=row.item_id,
        images=row.images,
        keep=row.keep,
        phase=phase,
        turns=_turns(connection, row.id),
        answered=row.answered,
        void=row.reason,
        choice=row.choice,
        outside=row.outside,
        attempt=attempt,
        began_at=row.began_at,
    )


def _turns(connection: Connection, battle: int) -> tuple[LiveTurn, ...]:
    turn = LIVE_TURN.c
    same = (turn.battle_id == LIVE_QUESTION.c.battle_id) & (turn.number == LIVE_QUESTION.c.number)
    query = select(LIVE_QUESTION.c.text, turn.answer_a, turn.answer_b, turn.stopped, turn.named)
    mine = query.select_from(LIVE_QUESTION.outerjoin(LIVE_TURN, same)).where(LIVE_QUESTION.c.battle_id == battle)
    rows = connection.execute(mine.order_by(LIVE_QUESTION.c.number))
    return tuple(
        LiveTurn(row.text, row.answer_a or "", row.answer_b or "", bool(row.stopped), bool(row.named)) for row in rows
    )


def _winner_and_loser(connection: Connection, battle: int, choice: Side) -> tuple[int, int]:
    query = select(LIVE_TURN.c.model_a, LIVE_TURN.c.model_b).where(LIVE_TURN.c.battle_id == battle).limit(1)
    a, b = connection.execute(query).one()
    return (a, b) if choice == "a" else (b, a)


def _outside(connection: Connection, battle: int) -> Outside | None:
    turns = _turns(connection, battle)
    if any(turn.stopped for turn in turns):
        return "stopped"
    return "named itself" if any(turn.named for turn in turns) else None


def _check_vote(row: Row, attempt: int) -> None:
    if row.reason is not None:
        raise ChoiceError("There is nothing to vote on in this battle; start another.")
    if row.answered == 0 or row.answered != row.asked:
        raise ChoiceError("The answers are still coming; choose when both have ended, or press Stop.")
    if attempt == 1 and row.undone:
        raise ChoiceError("That choice was taken back in another tab; reload the page to choose again.")


def _why_no_more(battle: LiveBattle) -> str:
    if battle.phase is not Phase.OPEN:
        return "You have chosen; start another battle to ask more."
    if not battle.settled:
        return "The answers are still coming; ask when both have ended."
    if len(battle.turns) >= MOST_TURNS:
        return f"A battle has at most {MOST_TURNS} turns. Choose A or B."
    return "This battle was stopped; choose A or B, or start another."
