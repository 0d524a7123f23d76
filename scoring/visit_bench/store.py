"""Submission store: submitted models and their texts, and every verdict on a public leaderboard.

A judging is a judge with its protocol and prompt; a board never mixes two of them. A withdrawn submission keeps its
number and results; its answers and the judge's replies about them are deleted.
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
    renamed,
    steadiness,
    ungraded_note,
    winner_of_verdicts,
)

_JUDGING_COLUMNS = ("model", "address", "protocol", "reference", "context", "prompt")
JUDGING = Table(
    "judging",
    METADATA,
    Column("id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in _JUDGING_COLUMNS),
    UniqueConstraint(*_JUDGING_COLUMNS),
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
"""`a_first`, `b_first`: the winners when the judge saw A's or B's answer first; NULL if unscored."""
_ROWS_AT_ONCE = 500


class SubmissionError(ValueError):
    """A submission cannot be entered or withdrawn; the message says why, and what to do."""


@dataclass(frozen=True)
class Judging:
    """A judge with its protocol, material and prompt."""

    id: int
    model: str
    address: str
    protocol: Protocol
    reference: ReferenceUse
    context: Context
    prompt: str

    @property
    def place(self) -> str:
        """The judge's address as the public may see it."""
        return place_of(self.address)

    def __str__(self) -> str:
        images = ", with the images" if self.context == "images" else ""
        return f"{self.model}, reference-{self.reference}{images}, {self.protocol}"


@dataclass(frozen=True)
class Submission:
    """A submitted model."""

    owner: str
    source: str
    title: str
    name: str
    number: int
    """The number of the submission among the submitter's tries on this source, from 1."""
    created: datetime
    is_withdrawn: bool


class JudgeBoardKey(NamedTuple):
    """Identity of an existing board."""

    judging: Judging
    source: str
    multi: bool
    matches: int
    """All matches: with and without a result, also on items that voters may still see."""

    @property
    def title(self) -> str:
        return f"{self.source}, {'multiple images' if self.multi else 'single image'}"

    @property
    def key(self) -> str:
        return f"{self.judging.id}-{'multiple' if self.multi else 'single'}-{self.source}"


class Standings(NamedTuple):
    """A board and its judge's steadiness."""

    board: AutomaticBoard
    steadiness: Mapping[str, Part]


class EnteredReport(NamedTuple):
    """A report that is on its boards."""

    name: str
    """The model's name there."""
    number: int | None
    """None for a model of the item bank."""
    matches: int
    """New matches on the boards."""


def _no_items(_: Container[str]) -> frozenset[str]:
    """Without an item bank, voters see no items."""
    return frozenset()


class _BoardRows(NamedTuple):
    """The rows that a board may show, and the items of the matches that it may have to hide."""

    rows: Sequence[Row]
    mixed_items: frozenset[str]
    """The items of matches between a submission and a bank model."""
    blind_items: frozenset[str]
    """Those of them that voters may still see. Mixed matches on these are not among the rows."""


class _CachedStandings(NamedTuple):
    """A computed board, with the number of matches and the items that it was computed from."""

    matches: int
    mixed_items: frozenset[str]
    blind_items: frozenset[str]
    standings: Standings


class SubmissionStore:
    """Submissions and verdicts in the database."""

    def __init__(
        self,
        database: Database,
        find_blind_items: Callable[[Container[str]], frozenset[str]] = _no_items,
    ) -> None:
        """`find_blind_items` returns the items, out of the given ones, that voters may still see."""
        self._database = database
        self._find_blind_items = find_blind_items
        self._turn = Lock()
        self._standings: dict[str, _CachedStandings] = {}
        """By the key of the board."""

    def __reduce__(self) -> tuple[object, ...]:
        """Opens the same store in a child process, which reads large files and shows no board."""
        return SubmissionStore, (self._database,)

    def enter(self, owner: str, report: MatchReport) -> EnteredReport:
        """Puts a report on its boards, as a variant if its name is taken.

        Raises SubmissionError if an answer is missing, or too little was graded.
        """
        problem = ungraded_note(report)
        if problem:
            raise SubmissionError(
                f"{report.title} can't enter a public board. {problem.rstrip('.')}."
            )
        if not report.complete:
            raise SubmissionError(
                f"{report.title} can't enter a public board, as not every item has an answer from the model. "
                "Answer all of them."
            )
        with self._database.write() as connection:
            take_turn(connection, SUBMISSION)
            name = report.title
            number = None
            if not report.stored:
                submission = self._find_or_add_submission(connection, owner, report)
                name = submission.name
                number = submission.number
            is_withdrawn = SUBMISSION.c.withdrawn_at.is_not(None)
            withdrawn_query = select(SUBMISSION.c.name).where(
                is_withdrawn, SUBMISSION.c.source == report.source
            )
            withdrawn_names = frozenset(connection.scalars(withdrawn_query))
            judging_id = self._find_or_add_judging(connection, report)
            rows = _match_rows(report, name, judging_id, withdrawn_names)
            new_matches = self._add_matches(connection, rows)
        return EnteredReport(name, number, new_matches)

    def withdraw(self, owner: str, source: str, name: str) -> None:
        """Deletes a submission's texts and the judges' replies about them; its number and results stay.

        Raises SubmissionError if the owner has no such submission.
        """
        is_chosen = (
            (SUBMISSION.c.owner == owner)
            & (SUBMISSION.c.source == source)
            & (SUBMISSION.c.name == name)
        )
        with self._database.write() as connection:
            take_turn(connection, SUBMISSION)
            submission_id = connection.scalar(select(SUBMISSION.c.id).where(is_chosen))
            if submission_id is None:
                raise SubmissionError(f"You have no submission {name!r}. Choose another name.")
            connection.execute(delete(SUBMITTED).where(SUBMITTED.c.submission_id == submission_id))
            has_submission = (JUDGED.c.source == source) & (
                (JUDGED.c.a == name) | (JUDGED.c.b == name)
            )
            connection.execute(update(JUDGED).where(has_submission).values(replies="[]"))
            connection.execute(update(SUBMISSION).where(is_chosen).values(withdrawn_at=now()))
        self._database.empty_log()  # it still has the deleted texts

    def submissions(self, source: str | None = None) -> tuple[Submission, ...]:
        query = select(SUBMISSION).order_by(SUBMISSION.c.id)
        if source is not None:
            query = query.where(SUBMISSION.c.source == source)
        with self._database.read() as connection:
            return tuple(map(_read_submission, connection.execute(query)))

    def answers(self, source: str) -> Mapping[str, Mapping[str, str]]:
        """The submitted texts of a source, by the submission's name, then item."""
        query = select(SUBMISSION.c.name, SUBMITTED.c.item, SUBMITTED.c.text).join(
            SUBMITTED, SUBMITTED.c.submission_id == SUBMISSION.c.id
        )
        texts: dict[str, dict[str, str]] = {}
        with self._database.read() as connection:
            for row in connection.execute(query.where(SUBMISSION.c.source == source)):
                texts.setdefault(row.name, {})[row.item] = row.text
        return texts

    def board_keys(self) -> tuple[JudgeBoardKey, ...]:
        """Every board with a result, the one with the most matches first."""
        # The two texts, joined, are NULL if one is NULL, so this counts the matches with both.
        has_result = func.count(JUDGED.c.a_first + JUDGED.c.b_first) > 0
        boards_query = (
            select(JUDGED.c.judging_id, JUDGED.c.source, JUDGED.c.multi, func.count().label("n"))
            .group_by(JUDGED.c.judging_id, JUDGED.c.source, JUDGED.c.multi)
            .having(has_result)
        )
        with self._database.read() as connection:
            judgings = {row.id: _read_judging(row) for row in connection.execute(select(JUDGING))}
            rows = sorted(
                connection.execute(boards_query),
                key=lambda row: (-row.n, row.judging_id, row.source, row.multi),
            )
        return tuple(
            JudgeBoardKey(judgings[row.judging_id], row.source, row.multi, row.n) for row in rows
        )

    def standings(self, board_key: JudgeBoardKey) -> Standings:
        """A board, recomputed when its number of matches changes, or the items that voters may still see."""
        with self._turn:
            cached = self._standings.get(board_key.key)
            if cached is None or not self._is_current(cached, board_key):
                cached = self._compute_standings(board_key)
                self._standings[board_key.key] = cached
            return cached.standings

    def _is_current(self, cached: _CachedStandings, board_key: JudgeBoardKey) -> bool:
        if cached.matches != board_key.matches:
            return False
        return self._find_blind_items(cached.mixed_items) == cached.blind_items

    def matches(self, board_key: JudgeBoardKey) -> tuple[Match, ...]:
        return tuple(map(_read_match, self._board_rows(board_key).rows))

    def verdicts(self, source: str) -> Sequence[agreement.Verdict]:
        """The results of a source's matches on all boards, each with its judge's label."""
        board_keys = [board_key for board_key in self.board_keys() if board_key.source == source]
        labels = judging_labels(board_key.judging for board_key in board_keys)
        verdicts = []
        for board_key in board_keys:
            label = labels[board_key.judging.id]
            for match in self.matches(board_key):
                if match.winner is not None:
                    verdicts.append(
                        agreement.Verdict(match.item, match.a, match.b, match.winner, label)
                    )
        return verdicts

    def _board_rows(self, board_key: JudgeBoardKey) -> _BoardRows:
        """The rows of a board, without matches of a submission and a bank model on items that voters may still see.

        A submission can be a copy of an answer that voters see without its model's name. One more match in that model's
        counts would reveal the name.
        """
        query = select(JUDGED).where(
            JUDGED.c.judging_id == board_key.judging.id,
            JUDGED.c.source == board_key.source,
            JUDGED.c.multi == board_key.multi,
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(JUDGED.c.id)).all()
        submitted = {submission.name for submission in self.submissions(board_key.source)}
        mixed_items = frozenset(row.item for row in rows if _is_mixed(row, submitted))
        blind_items = self._find_blind_items(mixed_items)
        shown_rows = [
            row for row in rows if row.item not in blind_items or not _is_mixed(row, submitted)
        ]
        return _BoardRows(shown_rows, mixed_items, blind_items)

    def _compute_standings(self, board_key: JudgeBoardKey) -> _CachedStandings:
        board_rows = self._board_rows(board_key)
        rows = board_rows.rows
        pairs: list[Pair] = [(row.a_first, row.b_first) for row in rows]
        played = [
            PlayedMatch(
                item=row.item,
                family=row.family,
                multi=row.multi,
                a=row.a,
                b=row.b,
                winner=winner_of_verdicts(row.a_first, row.b_first),
            )
            for row in rows
        ]
        return _CachedStandings(
            matches=board_key.matches,
            mixed_items=board_rows.mixed_items,
            blind_items=board_rows.blind_items,
            standings=Standings(automatic_board(played, board_key.multi), steadiness(pairs)),
        )

    def _find_or_add_submission(
        self, connection: Connection, owner: str, report: MatchReport
    ) -> Row:
        """The owner's submission with these answers, added if it is new."""
        texts = {
            response.item: response.text
            for response in report.responses
            if response.model == report.title
        }
        content = json.dumps([report.title, sorted(texts.items())])
        digest = hashlib.sha256(content.encode()).hexdigest()
        is_owners = (SUBMISSION.c.owner == owner) & (SUBMISSION.c.source == report.source)
        same_query = select(SUBMISSION).where(is_owners, SUBMISSION.c.digest == digest)
        known_submission = connection.execute(same_query).one_or_none()
        if known_submission is not None:
            return known_submission
        tries = connection.scalar(select(func.count()).select_from(SUBMISSION).where(is_owners))
        number = (tries or 0) + 1
        values = {
            "owner": owner,
            "source": report.source,
            "title": report.title,
            "name": self._free_name(connection, report, number),
            "number": number,
            "digest": digest,
            "file": report.file,
            "created": now(),
        }
        add = insert(SUBMISSION).values(values).returning(SUBMISSION)
        submission = connection.execute(add).one()
        rows = [
            {"submission_id": submission.id, "item": item, "text": text}
            for item, text in texts.items()
        ]
        connection.execute(insert(SUBMITTED), rows)
        return submission

    def _free_name(self, connection: Connection, report: MatchReport, number: int) -> str:
        """The report's title, or the first variant of it that the source does not have."""
        names = select(SUBMISSION.c.name).where(SUBMISSION.c.source == report.source)
        taken = set(connection.scalars(names))
        variant = f"{report.title} (variant {number})"
        for name in (report.title, variant):
            if name not in taken:
                return name
        variants = (f"{variant}, {repeat}" for repeat in itertools.count(2))
        return next(name for name in variants if name not in taken)

    def _add_matches(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> int:
        """Adds the matches that are not on the boards yet, and returns their number."""
        count_query = select(func.count()).select_from(JUDGED)
        before = connection.scalar(count_query) or 0
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            add = self._database.insert(JUDGED).values(rows[start : start + _ROWS_AT_ONCE])
            connection.execute(add.on_conflict_do_nothing())
        after = connection.scalar(count_query) or 0
        return after - before

    def _find_or_add_judging(self, connection: Connection, report: MatchReport) -> int:
        """The id of the report's judging, added if it is new."""
        judge = report.judge
        values = {
            "model": judge.model,
            "address": judge.address,
            "prompt": judge.prompt,
            "protocol": report.protocol,
            "reference": report.reference,
            "context": report.context,
        }
        connection.execute(self._database.insert(JUDGING).values(values).on_conflict_do_nothing())
        are_equal = [JUDGING.c[name] == value for name, value in values.items()]
        return connection.execute(select(JUDGING.c.id).where(*are_equal)).scalar_one()


def judging_labels(judgings: Iterable[Judging]) -> Mapping[int, str]:
    """A distinct label for each judging, by its id."""
    by_id = {judging.id: judging for judging in judgings}
    times = Counter(map(str, by_id.values()))
    label_by_id = {}
    for judging_id, judging in by_id.items():
        label = str(judging)
        if times[label] > 1:
            label = f"{label} ({judging.place}, prompt {judging.prompt[:6]}, no. {judging_id})"
        label_by_id[judging_id] = label
    return label_by_id


def _match_rows(
    report: MatchReport, name: str, judging_id: int, withdrawn_names: frozenset[str]
) -> list[dict[str, object]]:
    """Database rows of a report's matches under the submission's name, without replies about withdrawn submissions."""
    rows = []
    for report_match in report.matches:
        match = renamed(report_match, report.title, name)
        instance = report.by_item[match.item]
        is_withdrawn = bool(withdrawn_names & {match.a, match.b})
        replies = [] if is_withdrawn else [verdict.replies for verdict in match.verdicts]
        rows.append(
            {
                "judging_id": judging_id,
                "source": report.source,
                "multi": instance.multi,
                "family": instance.family,
                "item": match.item,
                "a": match.a,
                "b": match.b,
                "a_first": match.verdicts[0].winner,
                "b_first": match.verdicts[1].winner,
                "replies": json.dumps(replies),
            }
        )
    return rows


def _is_mixed(row: Row, submitted: Container[str]) -> bool:
    """Whether a match is between a submission and a model of the bank, other than the reference."""
    if REFERENCES & {row.a, row.b}:
        return False
    return (row.a in submitted) != (row.b in submitted)


def _read_submission(row: Row) -> Submission:
    return Submission(
        owner=row.owner,
        source=row.source,
        title=row.title,
        name=row.name,
        number=row.number,
        created=row.created,
        is_withdrawn=row.withdrawn_at is not None,
    )


def _read_judging(row: Row) -> Judging:
    return Judging(
        id=row.id,
        model=row.model,
        address=row.address,
        protocol=row.protocol,
        reference=row.reference,
        context=row.context,
        prompt=row.prompt,
    )


def _read_match(row: Row) -> Match:
    replies = json.loads(row.replies) or [[], []]  # none if they were deleted
    verdicts = (
        Verdict(row.a_first, replies=tuple(replies[0])),
        Verdict(row.b_first, replies=tuple(replies[1])),
    )
    return Match(row.item, row.a, row.b, verdicts)
