"""Submission store: submitted models and their texts, and every verdict on a public leaderboard.

A judging is a judge and how it was asked; a board never mixes two of them. When a submission is withdrawn, it keeps its
number and results, and its answers and the judge's replies about them are deleted.
"""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    insert,
    select,
    update,
)

from arena.database import METADATA, Database, Moment, now, take_turn
from arena.inference.endpoint import place_of
from arena.ratings import agreement
from scoring.report import Protocol
from scoring.visit_bench.leaderboard import AutomaticBoard, PlayedMatch, automatic_board
from scoring.visit_bench.matches import (
    REFERENCES,
    Context,
    Match,
    MatchReport,
    Pair,
    Part,
    ReferenceUse,
    Verdict,
    decided,
    steadiness,
    ungraded,
)

_JUDGED_BY = ("model", "address", "protocol", "reference", "context", "prompt")
JUDGING = Table(
    "judging",
    METADATA,
    Column("id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in _JUDGED_BY),
    UniqueConstraint(*_JUDGED_BY),
)
SUBMISSION = Table(
    "submission",
    METADATA,
    Column("id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("owner", "source", "title", "name")),
    Column("number", Integer, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("digest", "file")),
    Column("created", Moment, nullable=False),
    Column("withdrawn_at", Moment),
    UniqueConstraint("source", "name"),
)
SUBMITTED = Table(
    "submitted",
    METADATA,
    Column("submission_id", ForeignKey("submission.id"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
JUDGED = Table(
    "judged",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("judging_id", ForeignKey("judging.id"), nullable=False),
    Column("source", Text, nullable=False),
    Column("multi", Boolean, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("family", "item", "a", "b")),
    Column("a_first", Text),
    Column("b_first", Text),
    Column("replies", Text, nullable=False),
    UniqueConstraint("judging_id", "source", "item", "a", "b"),
    Index("judged_of_board", "source", "judging_id", "multi"),
)
_AT_ONCE = 500


class SubmissionError(ValueError):
    """A submission cannot be entered or withdrawn; the message says why, and what to do."""


@dataclass(frozen=True)
class Judging:
    """A judge, and how it was asked."""

    id: int
    model: str
    address: str
    protocol: Protocol
    reference: ReferenceUse
    context: Context
    prompt: str

    @property
    def place(self) -> str:
        """Where the judge is, for the public."""
        return place_of(self.address)

    def __str__(self) -> str:
        seen = ", with the images" if self.context == "images" else ""
        return f"{self.model}, reference-{self.reference}{seen}, {self.protocol}"


@dataclass(frozen=True)
class Submission:
    """A submitted model."""

    owner: str
    source: str
    title: str
    name: str
    number: int
    """Counts the submitter's submissions to this source, from 1: how often they tried."""
    created: datetime
    withdrawn: bool


class JudgeBoardKey(NamedTuple):
    """Identity of an existing board."""

    judging: Judging
    source: str
    multi: bool
    matches: int
    """With and without a result; a board changes only when this grows."""

    @property
    def title(self) -> str:
        return f"{self.source}, {'multiple images' if self.multi else 'single image'}"

    @property
    def key(self) -> str:
        return f"{self.judging.id}-{'multiple' if self.multi else 'single'}-{self.source}"


class Standings(NamedTuple):
    """A board, and its judge's steadiness."""

    board: AutomaticBoard
    steadiness: Mapping[str, Part]


class Entered(NamedTuple):
    """Result of entering a report."""

    name: str
    number: int | None
    """None for a model of the item bank."""
    matches: int


def _all_told(_: Container[str]) -> frozenset[str]:
    return frozenset()


class SubmissionStore:
    """Submissions and verdicts in the database."""

    def __init__(
        self, database: Database, blind: Callable[[Container[str]], frozenset[str]] = _all_told
    ) -> None:
        """`blind` returns those of some items that voters may be asked about."""
        self._database = database
        self._blind = blind
        self._turn = Lock()
        self._kept: dict[str, tuple[int, Standings]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return SubmissionStore, (self._database,)

    def enter(self, owner: str, report: MatchReport) -> Entered:
        """Put a complete report on its boards once, as a variant where its name is taken. Raises SubmissionError."""
        if nothing := ungraded(report):
            raise SubmissionError(f"{nothing}: {report.title} gets no place on a public board")
        if not report.complete:
            raise SubmissionError(
                f"{report.title} answers some items only: it gets a report, and no place on a public board"
            )
        with self._database.write() as connection:
            take_turn(connection, SUBMISSION)
            name = report.title
            number = None
            if not report.stored:
                kept = self._submission(connection, owner, report)
                name = kept.name
                number = kept.number
            before = connection.scalar(select(func.count()).select_from(JUDGED)) or 0
            gone = SUBMISSION.c.withdrawn_at.is_not(None) & (SUBMISSION.c.source == report.source)
            withdrawn = frozenset(connection.scalars(select(SUBMISSION.c.name).where(gone)))
            rows = _rows(report, name, self._judging(connection, report), withdrawn)
            for start in range(0, len(rows), _AT_ONCE):
                add = self._database.insert(JUDGED).values(rows[start : start + _AT_ONCE])
                connection.execute(add.on_conflict_do_nothing())
            after = connection.scalar(select(func.count()).select_from(JUDGED)) or 0
        return Entered(name, number, after - before)

    def withdraw(self, owner: str, source: str, name: str) -> None:
        """Delete a submission's texts and the judges' replies about them; its number and results stay."""
        with self._database.write() as connection:
            its = (
                (SUBMISSION.c.owner == owner)
                & (SUBMISSION.c.source == source)
                & (SUBMISSION.c.name == name)
            )
            number = connection.scalar(select(SUBMISSION.c.id).where(its))
            if number is None:
                raise SubmissionError(f"There is no submission {name!r} of yours")
            connection.execute(delete(SUBMITTED).where(SUBMITTED.c.submission_id == number))
            played = (JUDGED.c.source == source) & ((JUDGED.c.a == name) | (JUDGED.c.b == name))
            connection.execute(update(JUDGED).where(played).values(replies="[]"))
            connection.execute(update(SUBMISSION).where(its).values(withdrawn_at=now()))
        self._database.empty_log()

    def submissions(self, source: str | None = None) -> tuple[Submission, ...]:
        query = select(SUBMISSION).order_by(SUBMISSION.c.id)
        if source is not None:
            query = query.where(SUBMISSION.c.source == source)
        with self._database.read() as connection:
            return tuple(map(_submission, connection.execute(query)))

    def answers(self, source: str) -> Mapping[str, Mapping[str, str]]:
        query = select(SUBMISSION.c.name, SUBMITTED.c.item, SUBMITTED.c.text).join(
            SUBMITTED, SUBMITTED.c.submission_id == SUBMISSION.c.id
        )
        found: dict[str, dict[str, str]] = {}
        with self._database.read() as connection:
            for row in connection.execute(query.where(SUBMISSION.c.source == source)):
                found.setdefault(row.name, {})[row.item] = row.text
        return found

    def board_keys(self) -> tuple[JudgeBoardKey, ...]:
        """Every board with a result, the one with the most matches first."""
        counted = (
            select(JUDGED.c.judging_id, JUDGED.c.source, JUDGED.c.multi, func.count().label("n"))
            .group_by(JUDGED.c.judging_id, JUDGED.c.source, JUDGED.c.multi)
            .having(func.count(JUDGED.c.a_first + JUDGED.c.b_first) > 0)
        )
        with self._database.read() as connection:
            judgings = {row.id: _judging(row) for row in connection.execute(select(JUDGING))}
            rows = sorted(
                connection.execute(counted),
                key=lambda row: (-row.n, row.judging_id, row.source, row.multi),
            )
        return tuple(
            JudgeBoardKey(judgings[row.judging_id], row.source, row.multi, row.n) for row in rows
        )

    def standings(self, board_key: JudgeBoardKey) -> Standings:
        """A board, recomputed when its number of matches changes."""
        with self._turn:
            matches, standings = self._kept.get(board_key.key, (0, None))
            if standings is None or matches != board_key.matches:
                standings = self._computed(board_key)
                self._kept[board_key.key] = board_key.matches, standings
            return standings

    def matches(self, board_key: JudgeBoardKey) -> tuple[Match, ...]:
        return tuple(map(_match, self._judged(board_key)))

    def verdicts(self, source: str) -> Sequence[agreement.Verdict]:
        board_keys = [board_key for board_key in self.board_keys() if board_key.source == source]
        names = labels(board_key.judging for board_key in board_keys)
        return [
            agreement.Verdict(
                match.item, match.a, match.b, match.winner, names[board_key.judging.id]
            )
            for board_key in board_keys
            for match in self.matches(board_key)
            if match.winner is not None
        ]

    def _judged(self, board_key: JudgeBoardKey) -> Sequence[Row]:
        """The rows of a board: of submissions on secret items, only matches with the reference and each other.

        One more match of a copy of a secret, in the counts of a model, would tell whose it is.
        """
        on = (JUDGED.c.judging_id == board_key.judging.id) & (JUDGED.c.source == board_key.source)
        query = select(JUDGED).where(on, JUDGED.c.multi == board_key.multi).order_by(JUDGED.c.id)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        submitted = {one.name for one in self.submissions(board_key.source)}
        mixed = [row for row in rows if _is_mixed(row, submitted)]
        blind = self._blind({row.item for row in mixed}) if mixed else frozenset[str]()
        return [row for row in rows if row.item not in blind or not _is_mixed(row, submitted)]

    def _computed(self, board_key: JudgeBoardKey) -> Standings:
        rows = self._judged(board_key)
        pairs: list[Pair] = [(row.a_first, row.b_first) for row in rows]
        played = [
            PlayedMatch(
                item=row.item,
                family=row.family,
                multi=row.multi,
                a=row.a,
                b=row.b,
                winner=decided(row.a_first, row.b_first),
            )
            for row in rows
        ]
        return Standings(automatic_board(played, board_key.multi), steadiness(pairs))

    def _submission(self, connection: Connection, owner: str, report: MatchReport) -> Row:
        texts = {
            response.item: response.text
            for response in report.responses
            if response.model == report.title
        }
        digest = hashlib.sha256(
            json.dumps([report.title, sorted(texts.items())]).encode()
        ).hexdigest()
        its = (SUBMISSION.c.owner == owner) & (SUBMISSION.c.source == report.source)
        known = connection.execute(
            select(SUBMISSION).where(its, SUBMISSION.c.digest == digest)
        ).one_or_none()
        if known is None:
            number = (
                connection.scalar(select(func.count()).select_from(SUBMISSION).where(its)) or 0
            ) + 1
            name = self._free_name(connection, report, number)
            values = {
                "owner": owner,
                "source": report.source,
                "title": report.title,
                "name": name,
                "number": number,
            }
            values |= {"digest": digest, "file": report.file, "created": now()}
            known = connection.execute(
                insert(SUBMISSION).values(values).returning(SUBMISSION)
            ).one()
            rows = [
                {"submission_id": known.id, "item": item, "text": text}
                for item, text in texts.items()
            ]
            connection.execute(insert(SUBMITTED), rows)
        return known

    def _free_name(self, connection: Connection, report: MatchReport, number: int) -> str:
        taken = set(
            connection.scalars(
                select(SUBMISSION.c.name).where(SUBMISSION.c.source == report.source)
            )
        )
        variant = f"{report.title} (variant {number})"
        names = itertools.chain(
            (report.title, variant), (f"{variant}, {again}" for again in itertools.count(2))
        )
        return next(name for name in names if name not in taken)

    def _judging(self, connection: Connection, report: MatchReport) -> int:
        judge = report.judge
        values = {"model": judge.model, "address": judge.address, "prompt": judge.prompt}
        values |= {
            "protocol": report.protocol,
            "reference": report.reference,
            "context": report.context,
        }
        connection.execute(self._database.insert(JUDGING).values(values).on_conflict_do_nothing())
        same = [JUDGING.c[name] == value for name, value in values.items()]
        return connection.execute(select(JUDGING.c.id).where(*same)).scalar_one()


def labels(judgings: Iterable[Judging]) -> Mapping[int, str]:
    known = {judging.id: judging for judging in judgings}
    times = Counter(map(str, known.values()))
    return {
        number: f"{judging} ({judging.place}, prompt {judging.prompt[:6]}, no. {number})"
        if times[str(judging)] > 1
        else str(judging)
        for number, judging in known.items()
    }


def _rows(
    report: MatchReport, name: str, judging: int, withdrawn: frozenset[str]
) -> list[dict[str, object]]:
    """Database rows of a report's matches under the submission's name on the board, withdrawn replies left out."""
    rows = []
    for match in report.matches:
        instance = report.by_item[match.item]
        a, b = (name if model == report.title else model for model in (match.a, match.b))
        said = [] if withdrawn & {a, b} else [verdict.replies for verdict in match.verdicts]
        rows.append(
            {
                "judging_id": judging,
                "source": report.source,
                "multi": instance.multi,
                "family": instance.family,
                "item": match.item,
                "a": a,
                "b": b,
                "a_first": match.verdicts[0].winner,
                "b_first": match.verdicts[1].winner,
                "replies": json.dumps(said),
            }
        )
    return rows


def _is_mixed(row: Row, submitted: Container[str]) -> bool:
    """Whether a submission met a model of the bank that is no reference."""
    if REFERENCES & {row.a, row.b}:
        return False
    return (row.a in submitted) != (row.b in submitted)


def _submission(row: Row) -> Submission:
    return Submission(
        owner=row.owner,
        source=row.source,
        title=row.title,
        name=row.name,
        number=row.number,
        created=row.created,
        withdrawn=row.withdrawn_at is not None,
    )


def _judging(row: Row) -> Judging:
    return Judging(
        id=row.id,
        model=row.model,
        address=row.address,
        protocol=row.protocol,
        reference=row.reference,
        context=row.context,
        prompt=row.prompt,
    )


def _match(row: Row) -> Match:
    replies = json.loads(row.replies) or [[], []]
    winners = (row.a_first, row.b_first)
    verdicts = tuple(
        Verdict(winner, "", tuple(said)) for winner, said in zip(winners, replies, strict=True)
    )
    return Match(row.item, row.a, row.b, verdicts)
