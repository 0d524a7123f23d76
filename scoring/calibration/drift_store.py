"""Drift store: what judges were when the operator accepted them, and what each look since then found; append-only.

Both tables are copied by the backup, name nobody (so that nothing of them is forgotten with a visitor), and are in no
public export: a judge's address may be inside the operator's network.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
)

from arena.database import METADATA, Database, Moment, now, take_turn
from arena.ratings.votes import Floats
from scoring.calibration.drift import BASELINE_RUNS, Drift, DriftLook, drift, looked
from scoring.report import Grade

JUDGE_BASELINE = Table(
    "judge_baseline",
    METADATA,
    Column("id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("address", "model", "prompt")),
    Column("frozen", Text, nullable=False),
    Column("scores", Text, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("versions", "fingerprints")),
    Column("accepted_at", Moment, nullable=False),
)
"""Judges as they were accepted: `frozen` is the hash of the answers, `scores` a list for each run, null: unscored."""
JUDGE_LOOK = Table(
    "judge_look",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("baseline_id", ForeignKey("judge_baseline.id"), nullable=False),
    Column("number", Integer, nullable=False),
    *(Column(name, Float, nullable=False) for name in ("shift", "p", "level")),
    Column("scores", Text, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("versions", "fingerprints")),
    Column("looked_at", Moment, nullable=False),
    UniqueConstraint("baseline_id", "number"),
)
"""Looks at an accepted judge, from number 1; what they found stays as it was computed then."""
LEAST_SCORED = 0.75
"""Share of the answers that must have a score in every run that is compared."""


class DriftError(RuntimeError):
    """A judge cannot be accepted or looked at; the message says why and what to do."""


class JudgeKey(NamedTuple):
    """What makes two judges the same one."""

    address: str
    """As reports keep it; never shown."""
    model: str
    prompt: str
    """sha256 of the prompt's fixed part."""


class FrozenScores(NamedTuple):
    """What a judge gave to a frozen set, with the names that its server gave the model and its machine."""

    frozen: str
    """Hash of the set."""
    runs: tuple[tuple[float | None, ...], ...]
    versions: tuple[str, ...]
    fingerprints: tuple[str, ...]

    @classmethod
    def of(cls, frozen: str, size: int, grades: Sequence[Grade], fingerprints: Iterable[str]) -> "FrozenScores":
        """Return the scores of grades that stand run by run, each of `size` answers."""
        runs = tuple(tuple(one.score for one in grades[start : start + size]) for start in range(0, len(grades), size))
        return cls(frozen, runs, tuple(sorted({one.model for one in grades} - {""})), tuple(sorted(fingerprints)))

    @property
    def matrix(self) -> Floats:
        """Runs x answers; NaN where there is no score."""
        return np.array(self.runs, float)

    @property
    def named(self) -> str:
        machines = f"fingerprint {', '.join(self.fingerprints)}" if self.fingerprints else ""
        return ", ".join(filter(None, (*self.versions, machines)))


class Baseline(NamedTuple):
    """A judge as it was accepted."""

    id: int
    judge: JudgeKey
    scores: FrozenScores
    accepted_at: datetime


class StoredLook(NamedTuple):
    """A look at an accepted judge."""

    at: datetime
    found: DriftLook
    scores: FrozenScores


class DriftHistory(NamedTuple):
    """An accepted judge and the looks at it, the oldest first."""

    baseline: Baseline
    looks: tuple[StoredLook, ...]

    def at(self, moment: datetime) -> Drift:
        """Where the judge stood at a moment, by the looks until then."""
        return drift([(look.at, look.found) for look in self.looks if look.at <= moment], moment)

    @property
    def seen_at(self) -> datetime:
        """When it was last looked at; its acceptance counts."""
        return self.looks[-1].at if self.looks else self.baseline.accepted_at


class DriftStore:
    """Baselines and looks in the database; a judge that is accepted anew has a new baseline, and the old one stays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accept(self, judge: JudgeKey, scores: FrozenScores) -> DriftHistory:
        """Raises DriftError where too many answers have no score in some run."""
        assert len(scores.runs) == BASELINE_RUNS
        _compared(scores.matrix)
        values = {**judge._asdict(), "frozen": scores.frozen, **_columns(scores), "accepted_at": now()}
        made = insert(JUDGE_BASELINE).values(values).returning(JUDGE_BASELINE)
        with self._database.write() as connection:
            return _history(connection, connection.execute(made).one())

    def add_look(self, baseline: Baseline, scores: FrozenScores) -> DriftHistory:
        """Compare one run with the baseline, and keep what comes out. Raises DriftError."""
        same_answers(baseline, scores.frozen)
        both = np.concatenate([baseline.scores.matrix, scores.matrix])
        kept = _compared(both)
        with self._database.write() as connection:
            take_turn(connection, JUDGE_LOOK)  # the number decides the level
            number = 1 + len(_looks(connection, baseline))
            found = looked(both[:-1, kept], both[-1, kept], number)
            values = {"baseline_id": baseline.id, "number": number, **found._asdict(), **_columns(scores)}
            connection.execute(insert(JUDGE_LOOK).values({**values, "looked_at": now()}))
            return DriftHistory(baseline, _looks(connection, baseline))

    def history(self, judge: JudgeKey, until: datetime | None = None) -> DriftHistory | None:
        """The judge as it was last accepted before a moment, or up to now; None if it was not."""
        mine = [JUDGE_BASELINE.c[name] == value for name, value in judge._asdict().items()]
        mine += [JUDGE_BASELINE.c.accepted_at <= until] if until else []
        with self._database.read() as connection:
            query = select(JUDGE_BASELINE).where(*mine).order_by(JUDGE_BASELINE.c.id.desc()).limit(1)
            row = connection.execute(query).one_or_none()
            return _history(connection, row) if row else None

    def accepted(self) -> list[DriftHistory]:
        """Every judge that was accepted, as it was accepted last."""
        with self._database.read() as connection:
            rows = connection.execute(select(JUDGE_BASELINE).order_by(JUDGE_BASELINE.c.id))
            last = {(row.address, row.model, row.prompt): row for row in rows}
            return [_history(connection, row) for row in last.values()]


def same_answers(baseline: Baseline, frozen: str) -> None:
    """Raises DriftError where a frozen set is not the one that a judge was accepted with."""
    if frozen != baseline.scores.frozen:
        raise DriftError(
            "the frozen answers are others than when the judge was accepted, and cannot be compared; accept it anew: "
            "python -m scoring drift accept"
        )


def _compared(scores: Floats) -> list[int]:
    """Places of the answers that have a score in every run. Raises DriftError if these are too few."""
    answers = scores.shape[1]
    kept = [place for place in range(answers) if not np.isnan(scores[:, place]).any()]
    if len(kept) < LEAST_SCORED * answers:
        raise DriftError(
            f"only {len(kept)} of the {answers} frozen answers got a score in every run; "
            "see whether the judge follows its prompt, and try again"
        )
    return kept


def _columns(scores: FrozenScores) -> dict[str, str]:
    names = {"versions": scores.versions, "fingerprints": scores.fingerprints}
    return {"scores": json.dumps(scores.runs), **{name: json.dumps(value) for name, value in names.items()}}


def _scores(row: Row, frozen: str) -> FrozenScores:
    runs = tuple(map(tuple, json.loads(row.scores)))
    return FrozenScores(frozen, runs, tuple(json.loads(row.versions)), tuple(json.loads(row.fingerprints)))


def _looks(connection: Connection, baseline: Baseline) -> tuple[StoredLook, ...]:
    mine = select(JUDGE_LOOK).where(JUDGE_LOOK.c.baseline_id == baseline.id).order_by(JUDGE_LOOK.c.number)
    return tuple(
        StoredLook(row.looked_at, DriftLook(row.shift, row.p, row.level), _scores(row, baseline.scores.frozen))
        for row in connection.execute(mine)
    )


def _history(connection: Connection, row: Row) -> DriftHistory:
    judge = JudgeKey(row.address, row.model, row.prompt)
    baseline = Baseline(row.id, judge, _scores(row, row.frozen), row.accepted_at)
    return DriftHistory(baseline, _looks(connection, baseline))
