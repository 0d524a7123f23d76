"""The store against a model of it: whatever two voters do in whatever order, with every token ever seen."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import func, select

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import BattleStore
from arena.battles.tables import BANK, BATTLE, UNDO, VOTE, WINS
from arena.database import Database
from arena.items.ingest import Ingest
from arena.items.store import ITEM
from arena.types import Battle, Phase
from tests.support.servers import drafts
from tests.support.visitors import TERMS, chooser

VOTERS = st.integers(0, 1)
PLACE = st.integers(0, 5)
MINE = st.integers(0, 5).map(bool)
"""Whether the battle's own voter acts."""
STALE = st.integers(0, 5).map(lambda chance: chance == 5)
"""Whether the token is of the attempt that it is not."""
SIDE = st.sampled_from("ab")


@dataclass
class Expected:
    """What should be true of one battle."""

    voter: int
    served: Battle
    choices: dict[int, str] = field(default_factory=dict)
    undone: bool = False
    revealed: bool = False
    skipped: bool = False

    @property
    def attempt(self) -> int:
        return 2 if self.undone else 1

    @property
    def choice(self) -> str | None:
        return self.choices.get(self.attempt)

    @property
    def phase(self) -> Phase:
        if self.skipped:
            return Phase.SKIPPED
        if self.choice is None:
            return Phase.OPEN
        return Phase.REVEALED if self.revealed else Phase.VOTED


class StoreMachine(RuleBasedStateMachine):
    """Two voters, six items, three models; tokens of both attempts are used at any time, by either voter."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'arena.db'}"
        self.database = Database(self.url)
        Ingest(self.database).add_items("test", "folder", drafts(items=4))
        self.store = BattleStore(self.database)
        self.voters = [self.store.voter(name) for name in ("one", "two")]
        self.battles: list[Expected] = []
        self.restarts = 0

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def _pick(self, place: int, mine: bool, stale: bool) -> tuple[Expected, int, int]:
        """Return one of the latest battles, the voter who acts and the attempt that the token names."""
        battle = self.battles[-1 - place % len(self.battles)]
        return (
            battle,
            battle.voter if mine else 1 - battle.voter,
            3 - battle.attempt if stale else battle.attempt,
        )

    def _refusal(self, battle: Expected, voter: int, attempt: int) -> type[Exception] | None:
        foreign = battle.voter != voter
        return UnknownBattleError if foreign or (attempt == 2 and not battle.undone) else None

    def _try(self, refusal: type[Exception] | None, call, battle: Expected) -> None:
        if refusal is not None:
            with pytest.raises(refusal):
                call()
            return
        answer = call()
        assert (answer.id, answer.phase, answer.choice, answer.attempt) == (
            battle.served.id,
            battle.phase,
            battle.choice,
            battle.attempt,
        )

    @rule(voter=VOTERS)
    def serve(self, voter: int) -> None:
        mine = [battle for battle in self.battles if battle.voter == voter]
        waiting = [battle for battle in mine if battle.phase in (Phase.OPEN, Phase.VOTED)]
        served = self.store.serve(self.voters[voter], chooser(self.database))
        if waiting:
            assert served is not None
            assert (served.id, served.phase) == (waiting[0].served.id, waiting[0].phase)
        elif len(mine) == 12:
            assert served is None
        else:
            assert served is not None
            assert served.id not in {battle.served.id for battle in self.battles}
            self.battles.append(Expected(voter, served))

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE, choice=SIDE)
    def vote(self, place: int, mine: bool, stale: bool, choice: str) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        late = (
            battle.skipped
            or (attempt == 1 and battle.undone)
            or battle.choices.get(attempt, choice) != choice
        )
        if refusal is None and late:
            refusal = ChoiceError
        if refusal is None:
            battle.choices[attempt] = choice
        self._try(
            refusal, lambda: self.store.vote(self.voters[voter], token, choice, TERMS), battle
        )

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE)
    def undo(self, place: int, mine: bool, stale: bool) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        final = battle.undone or battle.revealed if battle.choice else not battle.undone
        if refusal is None and final:
            refusal = ChoiceError
        if refusal is None:
            battle.undone = True
        self._try(refusal, lambda: self.store.undo(self.voters[voter], token), battle)

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE)
    def reveal(self, place: int, mine: bool, stale: bool) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        if refusal is None and battle.choice is None:
            refusal = ChoiceError
        if refusal is None:
            battle.revealed = True
        self._try(refusal, lambda: self.store.reveal(self.voters[voter], token), battle)

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE)
    def names(self, place: int, mine: bool, stale: bool) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        if refusal is None and not battle.revealed:
            refusal = ChoiceError
        if refusal is not None:
            with pytest.raises(refusal):
                self.store.names(self.voters[voter], token)
        else:
            assert len(set(self.store.names(self.voters[voter], token))) == 2

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE)
    def skip(self, place: int, mine: bool, stale: bool) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        skips = sum(other.skipped for other in self.battles if other.voter == voter)
        if refusal is None and (battle.choice is not None or (skips >= 5 and not battle.skipped)):
            refusal = ChoiceError
        if refusal is None:
            battle.skipped = True
        self._try(
            refusal, lambda: self.store.skip(self.voters[voter], token, "cannot judge"), battle
        )

    @precondition(lambda self: self.battles)
    @rule(place=PLACE, mine=MINE, stale=STALE)
    def find(self, place: int, mine: bool, stale: bool) -> None:
        battle, voter, attempt = self._pick(place, mine, stale)
        token = f"{battle.served.token[:-1]}{attempt}"
        refusal = self._refusal(battle, voter, attempt)
        self._try(refusal, lambda: self.store.find(self.voters[voter], token), battle)

    @precondition(lambda self: len(self.battles) > self.restarts)
    @rule()
    def restart(self) -> None:
        self.restarts += 1
        self.database.close()
        self.database = Database(self.url)
        self.store = BattleStore(self.database)

    @invariant()
    def the_counted_votes_are_the_models(self) -> None:
        expected = {
            battle.served.id: battle.choice for battle in self.battles if battle.choice is not None
        }
        with self.database.read() as connection:
            counted = {
                row[0]: row[1]
                for row in connection.execute(BANK.counted_votes(VOTE.c.battle_id, VOTE.c.choice))
            }
            assert counted == expected
            assert connection.scalar(select(func.count()).select_from(VOTE)) == sum(
                len(battle.choices) for battle in self.battles
            )
            assert connection.scalar(select(func.count()).select_from(UNDO)) == sum(
                battle.undone for battle in self.battles
            )
        for number, voter in enumerate(self.voters):
            mine = [
                battle
                for battle in self.battles
                if battle.voter == number and battle.choice is not None
            ]
            assert self.store.votes_of(voter) == len(mine)

    @invariant()
    def the_tally_is_a_recount(self) -> None:
        board = (ITEM.c.source_id, ITEM.c.multi, ITEM.c.family_id, VOTE.c.winner, VOTE.c.loser)
        recount = (
            BANK.counted_votes(*board, func.count())
            .join(BATTLE, BATTLE.c.id == VOTE.c.battle_id)
            .join(ITEM, ITEM.c.id == BATTLE.c.item_id)
            .group_by(*board)
        )
        with self.database.read() as connection:
            votes = {tuple(row[:5]): row[5] for row in connection.execute(recount)}
            count = {tuple(row[:5]): row[5] for row in connection.execute(select(WINS)) if row[5]}
            assert count == votes
            final = connection.execute(
                BANK.final_votes(VOTE.c.battle_id, VOTE.c.winner, VOTE.c.loser)
            ).all()
        chosen = [battle for battle in self.battles if battle.choice is not None]
        assert {row.battle_id for row in final} == {
            battle.served.id for battle in chosen if battle.revealed or battle.attempt == 2
        }
        pairs = Counter((min(row.winner, row.loser), max(row.winner, row.loser)) for row in final)
        assert {pair: number for pair, number in self.store.pair_votes().items() if number} == {
            **pairs
        }


def examples(number: int) -> settings:
    return settings(
        max_examples=number,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class TestStoreMachine(StoreMachine.TestCase):
    settings = examples(4)


@pytest.mark.soak
class TestStoreMachineForLong(StoreMachine.TestCase):
    settings = examples(20)
