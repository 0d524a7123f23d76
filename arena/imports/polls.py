"""Polls: the number of people who chose each answer in each contest of a source, with the answers' texts.

A source is one of the item bank, voted on here, or one of imported votes by people; imported verdicts of judges are
added to both.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlalchemy import Connection, and_, func, select

from arena.battles.choices import publish_votes
from arena.battles.tables import BATTLE, IS_FINAL, IS_LIVE
from arena.campaign_battles.spec import closed_sources
from arena.database import Database
from arena.imports.poll_files import choices_of, gather_poll
from arena.imports.tables import imported_battles, imported_sources
from arena.items.store import ANSWER, ITEM, SOURCE, model_names
from arena.ratings.agreement import Contest, Poll, Verdict, contest_of

_A = ANSWER.alias("answer_of_a")
_B = ANSWER.alias("answer_of_b")
_IN_USE = and_(_A.c.withdrawn_at.is_(None), _B.c.withdrawn_at.is_(None))


class Polls:
    """The polls of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sources(self) -> tuple[str, ...]:
        """Returns the names of the sources in the order of their first import, imported votes first.

        A source is left out while a campaign on it is running, so that nobody sees the standings.
        """
        with self._database.read() as connection:
            is_open = SOURCE.c.name.not_in(closed_sources(connection))
            bank = (
                select(SOURCE.c.name).where(SOURCE.c.kind != "check", is_open).order_by(SOURCE.c.id)
            )
            own = connection.scalars(bank).all()
            imported = [
                imported.label for imported in imported_sources(connection) if not imported.judge
            ]
        return (*imported, *own)

    def poll(self, source: str) -> Poll:
        """Returns the votes of a source and the verdicts on their contests; an empty poll if there is no such source.

        Votes cast here only count on answers in use; the database allows a voter one vote for each item and pair.
        """
        publish_votes(self._database)
        with self._database.read() as connection:
            sources = imported_sources(connection)
            people = {imported.label: imported for imported in sources if not imported.judge}
            if source in people:
                poll = gather_poll([imported_battles(connection, people[source])])
            else:
                poll = _own(connection, source)
            verdicts = list(poll.verdicts)
            for judge in sources:
                if judge.judge:
                    judged = gather_poll([imported_battles(connection, judge)]).verdicts
                    verdicts += _on_contests(poll, judged, judge.name)
        return replace(poll, verdicts=tuple(verdicts))


def _on_contests(poll: Poll, verdicts: Iterable[Verdict], source: str) -> Iterator[Verdict]:
    """Yields the verdicts on a poll's contests; the judge's name gets that of the verdicts' source."""
    for verdict in verdicts:
        if contest_of(verdict.item, verdict.model_a, verdict.model_b) in poll.choices:
            yield verdict._replace(judge=f"{verdict.judge} ({source})")


def _own(connection: Connection, source: str) -> Poll:
    in_use = _IN_USE.label("in_use")
    pair = (ITEM.c.key, BATTLE.c.winner, BATTLE.c.loser, in_use)
    query = select(*pair, func.count().label("n")).where(
        IS_FINAL,
        ~IS_LIVE,
        ITEM.c.id == BATTLE.c.item_id,
        SOURCE.c.id == ITEM.c.source_id,
        SOURCE.c.name == source,
        _A.c.id == BATTLE.c.answer_a,
        _B.c.id == BATTLE.c.answer_b,
    )
    texts = select(ITEM.c.key, ANSWER.c.model_id, ANSWER.c.text).where(
        ITEM.c.id == ANSWER.c.item_id,
        SOURCE.c.id == ITEM.c.source_id,
        SOURCE.c.name == source,
        ANSWER.c.withdrawn_at.is_(None),
    )
    names = model_names(connection)
    rows = connection.execute(query.group_by(*pair)).all()
    votes: Counter[tuple[Contest, str]] = Counter()
    for row in rows:
        if row.in_use:
            votes[contest_of(row.key, names[row.winner], names[row.loser]), names[row.winner]] += (
                row.n
            )
    left_out = sum(row.n for row in rows if not row.in_use)
    return Poll(
        choices=choices_of(votes),
        answers={(row.key, names[row.model_id]): row.text for row in connection.execute(texts)},
        notices=(f"votes left out because their answers were withdrawn: {left_out:,}",)
        if left_out
        else (),
    )
