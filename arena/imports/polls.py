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
_ARE_IN_USE = and_(_A.c.withdrawn_at.is_(None), _B.c.withdrawn_at.is_(None))


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
            bank_query = (
                select(SOURCE.c.name).where(SOURCE.c.kind != "check", is_open).order_by(SOURCE.c.id)
            )
            bank_sources = connection.scalars(bank_query).all()
            imported = imported_sources(connection)
        people_labels = [source.label for source in imported if not source.judge]
        return (*people_labels, *bank_sources)

    def poll(self, source: str) -> Poll:
        """Returns the votes of a source and the verdicts on their contests; an empty poll if there is no such source.

        Votes cast here only count on answers in use; the database allows a voter one vote for each item and pair.
        """
        publish_votes(self._database)
        with self._database.read() as connection:
            imported = imported_sources(connection)
            by_people = {
                imported_source.label: imported_source
                for imported_source in imported
                if not imported_source.judge
            }
            if source in by_people:
                poll = gather_poll([imported_battles(connection, by_people[source])])
            else:
                poll = _bank_poll(connection, source)
            verdicts = list(poll.verdicts)
            for imported_source in imported:
                if imported_source.judge:
                    judge_poll = gather_poll([imported_battles(connection, imported_source)])
                    verdicts += _named_verdicts(poll, judge_poll.verdicts, imported_source.name)
        return replace(poll, verdicts=tuple(verdicts))


def _named_verdicts(poll: Poll, verdicts: Iterable[Verdict], source: str) -> Iterator[Verdict]:
    """Yields the verdicts on a poll's contests, with their source behind the judge's name: "gpt-4o (mine)"."""
    for verdict in verdicts:
        if contest_of(verdict.item, verdict.model_a, verdict.model_b) in poll.choices:
            yield verdict._replace(judge=f"{verdict.judge} ({source})")


def _bank_poll(connection: Connection, source: str) -> Poll:
    """Returns the votes cast here on a source of the item bank."""
    is_of_source = and_(SOURCE.c.id == ITEM.c.source_id, SOURCE.c.name == source)
    columns = (ITEM.c.key, BATTLE.c.winner, BATTLE.c.loser, _ARE_IN_USE.label("are_in_use"))
    votes_query = (
        select(*columns, func.count().label("n"))
        .where(
            IS_FINAL,
            ~IS_LIVE,
            ITEM.c.id == BATTLE.c.item_id,
            is_of_source,
            _A.c.id == BATTLE.c.answer_a,
            _B.c.id == BATTLE.c.answer_b,
        )
        .group_by(*columns)
    )
    texts_query = select(ITEM.c.key, ANSWER.c.model_id, ANSWER.c.text).where(
        ITEM.c.id == ANSWER.c.item_id, is_of_source, ANSWER.c.withdrawn_at.is_(None)
    )
    names = model_names(connection)
    votes: Counter[tuple[Contest, str]] = Counter()
    left_out = 0
    for row in connection.execute(votes_query):
        if not row.are_in_use:
            left_out += row.n
            continue
        winner = names[row.winner]
        votes[contest_of(row.key, winner, names[row.loser]), winner] += row.n
    notices = []
    if left_out:
        notices.append(f"votes left out because their answers were withdrawn: {left_out:,}")
    texts = connection.execute(texts_query)
    return Poll(
        choices=choices_of(votes),
        answers={(row.key, names[row.model_id]): row.text for row in texts},
        notices=tuple(notices),
    )
