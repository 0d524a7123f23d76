"""Board queries: votes aggregated by the database, for boards of some days and for the statistics.

Votes on stored answers, live votes and imported votes have the same columns. In a tie, side A stands as the winner.
"""

from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    bindparam,
    case,
    exists,
    func,
    literal,
    literal_column,
    select,
    type_coerce,
    union_all,
)

from arena.battles.tables import BANK, BATTLE, LIVE_VOTE, VOTE
from arena.database import EPOCH
from arena.fraud.eligibility import counting_voters
from arena.fraud.flags import flagged_voters, flags_of
from arena.imports.tables import IMPORTED_ITEM, IMPORTED_SOURCE, IMPORTED_VOTE
from arena.items.store import ANSWER, ITEM, SOURCE
from arena.leaderboard.board import BoardKey, Counts, ExcludedVotes, ImportSummary
from arena.leaderboard.statistics import BoardVotes, Crowd, History, history
from arena.leaderboard.win_counts import summed_counts
from arena.live.votes import LIVE_OPEN, live_outside, live_vote_rows
from arena.ratings.clusters import effective_number
from arena.ratings.votes import Outcome, Votes, integers
from arena.settings import CountRule, CountSettings

_DAY = 24 * 3600 * 1_000_000
_LEFT = case((VOTE.c.choice == "a", 1), else_=0)
_OPEN = (
    BANK.open_votes(ITEM.c.family_id, VOTE.c.winner, VOTE.c.loser, func.count(), func.sum(_LEFT))
    .where(BATTLE.c.id == VOTE.c.battle_id, ITEM.c.id == BATTLE.c.item_id)
    .where(ITEM.c.source_id == bindparam("source"), ITEM.c.multi == bindparam("multi"))
    .group_by(ITEM.c.family_id, VOTE.c.winner, VOTE.c.loser)
)
_BOTH_BAD, _TIE = (IMPORTED_VOTE.c.choice == choice for choice in ("both_bad", "tie"))
_SIDES = (
    (IMPORTED_VOTE.c.loser, IMPORTED_VOTE.c.winner),
    (IMPORTED_VOTE.c.winner, IMPORTED_VOTE.c.loser),
)
_ALONE = IMPORTED_VOTE.c.winner == IMPORTED_VOTE.c.loser
_OUT = _BOTH_BAD & (IMPORTED_SOURCE.c.both_bad == "out")

Table = npt.NDArray[np.int64]
_NOBODY = -(2**63)
"""Stands for the voter of a vote that has none."""


class LostBattle(NamedTuple):
    """A final battle that a model lost, without whoever voted; `number` orders them."""

    number: int
    item: int
    winner: int
    lost: str
    """The model's answer."""
    won: str


def imported_counts(connection: Connection, key: BoardKey) -> Table:
    """Count a board's imported votes: rows of family (0: none), winner, loser, 1 if they tied, n, n on the left.

    The key is one of all families and days.
    """
    votes = _imported_vote_rows(key).subquery("votes")
    pair = (votes.c.family, votes.c.winner, votes.c.loser, votes.c.tied)
    return _grouped(connection, pair, votes.c.left)


def wanted(key: BoardKey) -> dict[str, int | bool]:
    """Return the parameters of the win count queries; a bool selects one of the two sources of live votes."""
    return {"source": bool(key.source) if key.kind == "live" else key.source, "multi": key.multi}


def open_rows(connection: Connection, key: BoardKey) -> Table:
    """Return the win counts of a board's source and kind of images that may still be undone.

    Rows of family, winner, loser, 0 (none tied), n, n on the left.
    """
    rows = integers(connection.execute(LIVE_OPEN if key.kind == "live" else _OPEN, wanted(key)), 5)
    return np.insert(rows, 3, 0, axis=1)


def import_summary_of(connection: Connection, key: BoardKey) -> ImportSummary | None:
    """Return the summary of a board's imported votes; None without any."""
    vote = IMPORTED_VOTE.c
    source = IMPORTED_SOURCE.c
    told = {
        "ties": _TIE,
        "both_bad": _BOTH_BAD,
        "named": vote.blind.is_(False),
        "no_item": vote.item_id.is_(None),
        "no_voter": vote.voter_id.is_(None),
        "no_time": vote.voted_at.is_(None),
        "no_images": vote.images.is_(None) & ITEM.c.id.is_(None),
    }
    named = (condition.label(name) for name, condition in told.items())
    rows = _imported(key, source.name.label("source"), source.judge, *named).subquery("rows")
    first = (rows.c.nth == 1) | rows.c.alone
    counts = first & ~rows.c.alone & ~rows.c.out
    sums = {
        "votes": counts,
        "both_bad_out": first & ~rows.c.alone & rows.c.out,
        "alone": rows.c.alone,
        "repeated": ~first,
        **{name: counts & rows.c[name] for name in told},
    }
    columns = [
        func.sum(case((condition, 1), else_=0)).label(name) for name, condition in sums.items()
    ]
    of_source = select(rows.c.source, rows.c.judge, *columns).group_by(rows.c.source, rows.c.judge)
    rows = connection.execute(of_source.order_by(rows.c.source)).all()
    if not rows:
        return None
    totals = {name: sum(int(getattr(row, name)) for row in rows) for name in sums}
    return ImportSummary(
        sources=tuple(row.source for row in rows), judge=any(row.judge for row in rows), **totals
    )


def counts_of(connection: Connection, key: BoardKey, who: CountSettings) -> Counts:
    """Count the votes of a board one by one: the win counts distinguish neither days nor voters."""
    return _counts(connection, _vote_rows(connection, key, who))


def flagged_counts(connection: Connection, key: BoardKey, who: CountSettings) -> Counts:
    return _counts(connection, _of_flagged(key, who).subquery("votes"))


def left_out_of(connection: Connection, key: BoardKey, who: CountSettings) -> ExcludedVotes:
    """Return this arena's stored votes that a board excludes, and the flagged voters' votes even if it counts them."""
    if key.kind == "imported":
        return ExcludedVotes()
    votes = _of_flagged(key, who).subquery("votes")
    voters, flagged = connection.execute(
        select(func.count(votes.c.voter.distinct()), func.count(votes.c.winner))
    ).one()
    others = select(func.count()).select_from(
        _own_vote_rows(key).where(~_counts_by(key, who)).subquery()
    )
    uncounted = 0 if who.rule == "everyone" else connection.scalar(others) or 0
    outside = live_outside(connection, key.source, key.multi) if key.kind == "live" else {}
    stopped = outside.get("stopped", 0)
    named = outside.get("named itself", 0)
    return ExcludedVotes(voters, flagged, uncounted, stopped, named, who.rule)


def votes_of(connection: Connection, key: BoardKey, who: CountSettings) -> BoardVotes:
    """Return a board's votes; a vote without a voter has one of its own."""
    votes = _vote_rows(connection, key, who)
    known, tied = (case((of, 1), else_=0) for of in (votes.c.known, votes.c.tied > 0))
    query = select(
        votes.c.item,
        votes.c.family,
        votes.c.winner,
        votes.c.loser,
        tied,
        known,
        votes.c.left,
        votes.c.voter,
    )
    rows = ((*row[:7], _NOBODY if row[7] is None else row[7]) for row in connection.execute(query))
    item, family, *sides, tie, is_known, left, voter = integers(rows, 8).T
    codes, place = np.unique(sides, return_inverse=True)
    winner, loser = place.reshape(2, -1)
    people, cast = np.unique(voter[voter != _NOBODY], return_counts=True)
    crowd = Crowd(
        len(people),
        effective_number(cast),
        int(cast.max(initial=0)),
        len(np.unique(item[is_known > 0])),
    )
    alone = voter.max(initial=0) + 1 + np.arange(len(voter))
    outcome = np.where(tie > 0, Outcome.TIE, Outcome.A).astype(np.int8)
    columns = Votes(
        winner, loser, outcome, len(codes), item, np.where(voter == _NOBODY, alone, voter)
    )
    judge = select(IMPORTED_SOURCE.c.judge).where(IMPORTED_SOURCE.c.id == key.source)
    judged = key.kind == "imported" and bool(connection.scalar(judge))
    return BoardVotes(
        tuple(codes.tolist()), family, left > 0, columns, crowd, bool(is_known.all()), judged
    )


def lost_battles(
    connection: Connection,
    key: BoardKey,
    who: CountSettings,
    model: int,
    before: int | None,
    most: int,
) -> list[LostBattle]:
    """Return the last battles of a bank's board that a model lost, before the one of a number; answers in use alone."""
    votes = _without_flagged(connection, key, who, _own_vote_rows(key).where(_counts_by(key, who)))
    lost = ANSWER.alias("lost")
    won = ANSWER.alias("won")
    both = (BATTLE.c.answer_a, BATTLE.c.answer_b)
    query = votes.with_only_columns(
        BATTLE.c.id,
        BATTLE.c.item_id,
        VOTE.c.winner,
        lost.c.text.label("lost"),
        won.c.text.label("won"),
    )
    query = query.where(VOTE.c.loser == model, lost.c.id.in_(both), lost.c.model_id == VOTE.c.loser)
    query = query.where(won.c.id.in_(both), won.c.model_id == VOTE.c.winner)
    query = query.where(lost.c.withdrawn_at.is_(None), won.c.withdrawn_at.is_(None))
    query = query if before is None else query.where(BATTLE.c.id < before)
    return [
        LostBattle(number=row.id, item=row.item_id, winner=row.winner, lost=row.lost, won=row.won)
        for row in connection.execute(query.order_by(BATTLE.c.id.desc()).limit(most))
    ]


def history_of(connection: Connection, key: BoardKey, who: CountSettings) -> History:
    """Return the ratings of a board day by day, from the votes that have a time."""
    votes = _vote_rows(connection, key, who)
    day = (type_coerce(votes.c.voted_at, BigInteger) // literal_column(str(_DAY))).label("day")
    dated = (
        select(day, votes.c.winner, votes.c.loser, votes.c.tied)
        .where(votes.c.voted_at.is_not(None))
        .subquery()
    )
    table = _grouped(connection, tuple(dated.c))
    days, on = np.unique(table[:, 0], return_inverse=True)
    codes, place = np.unique(table[:, 1:3], return_inverse=True)
    winner, loser = place.reshape(-1, 2).T
    wins = np.zeros((len(days), len(codes), len(codes)))
    half = np.where(table[:, 3] > 0, 0.5, 0.0) * table[:, 4]
    np.add.at(wins, (on, winner, loser), table[:, 4] - half)
    np.add.at(wins, (on, loser, winner), half)
    return history(
        [(EPOCH + timedelta(days=one)).date() for one in days.tolist()], codes.tolist(), wins
    )


def _counts(connection: Connection, votes: FromClause) -> Counts:
    return summed_counts(
        _grouped(connection, (votes.c.winner, votes.c.loser, votes.c.tied), votes.c.left)
    )


def _grouped(
    connection: Connection, columns: tuple[ColumnElement, ...], *sums: ColumnElement
) -> Table:
    """Return each combination of values in the columns, with the number of its rows and sums over them."""
    query = select(*columns, func.count(), *map(func.sum, sums)).group_by(*columns)
    return integers(connection.execute(query), len(columns) + 1 + len(sums))


def _vote_rows(connection: Connection, key: BoardKey, who: CountSettings) -> FromClause:
    """Return the votes that count on a board: this arena's and, where set, the imported ones.

    Columns: item, known (whether the item is), family, winner, loser, tied, left (1: the winner was), voter, voted_at.
    """
    if key.kind == "imported":
        return _imported_vote_rows(key).subquery("votes")
    own = _without_flagged(connection, key, who, _own_vote_rows(key).where(_counts_by(key, who)))
    told = select(exists().where(IMPORTED_SOURCE.c.into_live, IMPORTED_SOURCE.c.counted_to > 0))
    if key.kind == "bank" and connection.scalar(told):
        return union_all(own, _imported_vote_rows(key)).subquery("votes")
    return own.subquery("votes")


def _without_flagged(
    connection: Connection, key: BoardKey, who: CountSettings, votes: Select
) -> Select:
    flagged = flagged_voters(flags_of(who))
    excludes = key.unflagged and connection.scalar(select(flagged.exists()))
    return votes.where(_voter(key).not_in(flagged)) if excludes else votes


def _of_flagged(key: BoardKey, who: CountSettings) -> Select:
    return _own_vote_rows(key).where(
        _counts_by(key, who), _voter(key).in_(flagged_voters(flags_of(who)))
    )


def _counts_by(key: BoardKey, who: CountSettings) -> ColumnElement[bool]:
    return counting_voters(who, _voter(key), (LIVE_VOTE if key.kind == "live" else VOTE).c.voted_at)


def _voter(key: BoardKey) -> ColumnElement[int]:
    return LIVE_VOTE.c.voter_id if key.kind == "live" else VOTE.c.voter_id


def _own_vote_rows(key: BoardKey) -> Select:
    """Return a SELECT over a board's votes that were cast here, flagged voters' included."""
    if key.kind == "live":
        return _narrowed(
            live_vote_rows(key.source, key.multi), key, literal_column("0"), LIVE_VOTE.c.voted_at
        )
    query = BANK.final_votes(
        BATTLE.c.item_id.label("item"),
        literal(True).label("known"),
        ITEM.c.family_id.label("family"),
        VOTE.c.winner,
        VOTE.c.loser,
        literal_column("0").label("tied"),
        _LEFT.label("left"),
        VOTE.c.voter_id.label("voter"),
        VOTE.c.voted_at,
    )
    of_battle = BATTLE.c.id == VOTE.c.battle_id
    of_item = ITEM.c.id == BATTLE.c.item_id
    query = query.where(
        of_battle, of_item, ITEM.c.source_id == key.source, ITEM.c.multi == key.multi
    )
    return _narrowed(query, key, ITEM.c.family_id, VOTE.c.voted_at)


def _imported_vote_rows(key: BoardKey) -> Select:
    """Return a SELECT over a board's imported votes; each vote without an item counts as a negative item of its own."""
    vote = IMPORTED_VOTE.c
    known = vote.item_id.is_not(None)
    own = func.coalesce(vote.item_id, -vote.id)
    rows = _imported(
        key,
        (ITEM.c.id if key.kind == "bank" else own).label("item"),
        known.label("known"),
        func.coalesce(_family(key), 0).label("family"),
        vote.winner,
        vote.loser,
        case((_BOTH_BAD | _TIE, 1), else_=0).label("tied"),
        case((vote.choice == "a", 1), else_=0).label("left"),
        # Negative, since their voters are others than this arena's.
        (-vote.voter_id).label("voter"),
        vote.voted_at,
    ).subquery("rows")
    counted = (column for column in rows.c if column.name not in ("alone", "out", "nth"))
    return select(*counted).where(~rows.c.alone, ~rows.c.out, rows.c.nth == 1)


def _imported(key: BoardKey, *columns: ColumnElement) -> Select:
    """Return a SELECT over a board's imported votes, with columns by which some are excluded.

    `alone`: on a model against itself; `out`: "both bad", if it does not count; `nth`: 1 for the last vote of a voter
    on a conversation, 2 for the one before. What a vote does not say about its item (family, images) comes from the
    item bank, if it has the item.
    """
    vote = IMPORTED_VOTE.c
    source = IMPORTED_SOURCE.c
    joined = (
        IMPORTED_VOTE.join(IMPORTED_SOURCE)
        .outerjoin(IMPORTED_ITEM)
        .outerjoin(ITEM, ITEM.c.key == IMPORTED_ITEM.c.key)
    )
    left, right = (case((vote.choice == "b", one), else_=other) for one, other in _SIDES)
    told = case((vote.conversation.is_not(None) & vote.voter_id.is_not(None), 0), else_=vote.id)
    same = (vote.source_id, vote.conversation, vote.voter_id, left, right, told)
    nth = func.row_number().over(partition_by=same, order_by=vote.id.desc()).label("nth")
    columns = (*columns, _ALONE.label("alone"), _OUT.label("out"), nth)
    query = select(*columns).select_from(joined).where(vote.id <= source.counted_to)
    if key.kind == "bank":
        query = query.where(
            source.into_live, ITEM.c.source_id == key.source, ITEM.c.multi == key.multi
        )
    else:
        images = func.coalesce(vote.images, case((ITEM.c.multi, 2), else_=1))
        query = query.where(vote.source_id == key.source, (images > 1) == key.multi)
    return _narrowed(query, key, _family(key), vote.voted_at)


def _family(key: BoardKey) -> ColumnElement:
    return (
        ITEM.c.family_id
        if key.kind == "bank"
        else func.coalesce(IMPORTED_VOTE.c.family_id, ITEM.c.family_id)
    )


def _narrowed(
    query: Select, key: BoardKey, family: ColumnElement, voted_at: ColumnElement
) -> Select:
    """Return a SELECT of votes with the condition that they are of the board's family and days."""
    if key.family is not None:
        query = query.where(family == key.family)
    if key.since is not None:
        query = query.where(voted_at >= datetime.combine(key.since, time.min, UTC))
    if key.until is not None:
        query = query.where(
            voted_at < datetime.combine(key.until + timedelta(days=1), time.min, UTC)
        )
    return query


def board_name(connection: Connection, key: BoardKey, rule: CountRule) -> str | None:
    """Return the name under which a board has its record; None for one that somebody narrowed.

    Sources go by their names: imported ones are not in the backup, and get other codes after a wipe.
    """
    if key.narrowed or not key.unflagged:
        return None
    source = {"bank": SOURCE.c, "imported": IMPORTED_SOURCE.c}.get(key.kind)
    name = (
        connection.scalar(select(source.name).where(source.id == key.source))
        if source
        else key.source
    )
    return f"{key.kind}, {'multiple' if key.multi else 'single'}, {rule}: {name}"
