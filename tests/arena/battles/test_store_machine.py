"""The store against a model of it: whatever two voters do in whatever order, with every token ever seen."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import select

from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, IS_FINAL
from arena.battles.vote_table import VoteTable
from arena.database import Database
from arena.items.ingest import Ingest
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
    def taken_back(self) -> str | None:
        return self.choices[1] if self.undone else None

    @property
    def is_final(self) -> bool:
        return self.choice is not None and (self.revealed or self.undone)

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
        self.final: list[tuple[int, str]] = []
        self.votes = VoteTable(self.database)
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
        self.votes = VoteTable(self.database)

    @invariant()
    def the_rows_are_the_models(self) -> None:
        with self.database.read() as connection:
            rows = {row.id: row for row in connection.execute(select(BATTLE))}
        assert set(rows) == {battle.served.id for battle in self.battles}
        for battle in self.battles:
            row = rows[battle.served.id]
            assert (row.choice, row.taken_back) == (battle.choice, battle.taken_back)
            assert (row.revealed_at is not None, row.ended is not None) == (
                battle.revealed,
                battle.skipped,
            )
        for number, voter in enumerate(self.voters):
            mine = [battle for battle in self.battles if battle.voter == number]
            assert self.store.votes_of(voter) == sum(battle.choice is not None for battle in mine)

    @invariant()
    def what_is_final_stays_as_it_was(self) -> None:
        """The votes in memory, of a process that goes on and of one that starts, are those that cannot be undone."""
        with self.database.read() as connection:
            final = connection.execute(
                select(BATTLE).where(IS_FINAL).order_by(BATTLE.c.final_number)
            ).all()
        assert [row.final_number for row in final] == list(range(1, len(final) + 1))
        assert {row.id for row in final} == {
            battle.served.id for battle in self.battles if battle.is_final
        }
        assert [(row.id, row.choice) for row in final[: len(self.final)]] == self.final
        self.final = [(row.id, row.choice) for row in final]
        expected = [(row.id, row.winner, row.loser) for row in final]
        for table in (self.votes, VoteTable(self.database)):
            votes = table.read().votes[["battle", "winner", "loser"]]
            assert list(votes.itertuples(index=False, name=None)) == expected
        pairs = Counter((row.model_low, row.model_high) for row in final)
        assert self.votes.pair_votes(live=False) == pairs


def examples(number: int) -> settings:
    return settings(
        max_examples=number,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class TestStoreMachine(StoreMachine.TestCase):
    settings = examples(3)


@pytest.mark.soak
class TestStoreMachineForLong(StoreMachine.TestCase):
    settings = examples(20)
