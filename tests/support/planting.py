"""Votes put straight into the tables, each with its battle and counted as the store counts; and time that passes."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, insert, select, text, update

from arena.battles.tables import BATTLE, LIVE_VOTE, VOTE, VOTER, WINS
from arena.clock import CLOCK, SECOND, tick
from arena.database import Database, now
from arena.items.store import ITEM, ItemBank


class Planted(NamedTuple):
    """One vote: the models by name, and whether the winner stood on side A."""

    item: int
    winner: str
    loser: str
    left: bool = True
    voter: int | None = None
    """A number of the caller's, for one planting; None: a voter of its own."""
    at: datetime | None = None
    minutes: float = 1.0
    """From the battle to the vote."""


def plant(database: Database, votes: Sequence[Planted]) -> None:
    """Put votes into the tables of a bank."""
    bank = ItemBank(database)
    code = {model.name: place for place, model in enumerate(bank.models(), 1)}
    answers = {
        (item.id, one.model): one.answer
        for item in bank.bank().items.values()
        for one in item.contestants
    }
    with database.write() as connection:
        boards = {row.id: row for row in connection.execute(select(ITEM))}
        last = connection.scalar(select(func.max(BATTLE.c.id))) or 0
        last_voter = connection.scalar(select(func.max(VOTER.c.id))) or 0
        known: dict[int, int] = {}
        voters, battles, rows, wins = {}, [], [], Counter()
        for number, vote in enumerate(votes, last + 1):
            won, lost = code[vote.winner], code[vote.loser]
            name = -number if vote.voter is None else vote.voter
            voter = known.setdefault(name, last_voter + 1 + len(known))
            at, (a, b) = vote.at or now(), (won, lost) if vote.left else (lost, won)
            voters[voter] = {"id": voter, "cookie_hash": f"planted {voter}", "since": at}
            battles.append(
                {
                    "id": number,
                    "token": f"planted-{number}",
                    "voter_id": voter,
                    "item_id": vote.item,
                    "model_low": min(won, lost),
                    "model_high": max(won, lost),
                    "low_is_a": min(won, lost) == a,
                    "answer_a": answers[vote.item, a],
                    "answer_b": answers[vote.item, b],
                    "served_at": at - timedelta(minutes=vote.minutes),
                    "draw": "lot",
                }
            )
            choice = {
                "battle_id": number,
                "attempt": 1,
                "voter_id": voter,
                "choice": "a" if vote.left else "b",
            }
            rows.append({**choice, "winner": won, "loser": lost, "voted_at": at, "terms": "1"})
            item = boards[vote.item]
            wins[item.source_id, item.multi, item.family_id, won, lost, vote.left] += 1
        for table, values in ((VOTER, list(voters.values())), (BATTLE, battles), (VOTE, rows)):
            connection.execute(insert(table), values)
            if connection.dialect.name == "postgresql":
                connection.execute(
                    text(
                        f"SELECT setval('{table.name}_id_seq', (SELECT max(id) FROM {table.name}))"
                    )
                )
        add = database.insert(WINS)
        counted = {"n": WINS.c.n + add.excluded.n, "left_n": WINS.c.left_n + add.excluded.left_n}
        counted["change"] = add.excluded.change
        add = add.on_conflict_do_update(index_elements=WINS.primary_key, set_=counted)
        for (source, multi, family, won, lost, left), n in wins.items():
            board = {
                "source_id": source,
                "multi": multi,
                "family_id": family,
                "winner": won,
                "loser": lost,
            }
            connection.execute(add, {**board, "n": n, "left_n": n * left})


def let_pass(database: Database, seconds: float) -> None:
    """Make all votes older by so many seconds of the database's clock, and store its time."""
    with database.write() as connection:
        present = tick(connection)
        connection.execute(update(CLOCK).where(CLOCK.c.seen < present).values(seen=present))
        for table in (VOTE, LIVE_VOTE):
            connection.execute(update(table).values(tick=table.c.tick - round(seconds * SECOND)))


def set_clock_back(database: Database, seconds: float) -> None:
    """Leave a database as if the machine's clock had been ahead until now, and was set back."""
    let_pass(database, -seconds)
    later = timedelta(seconds=seconds)
    with database.write() as connection:
        for table in (VOTE, LIVE_VOTE):
            for row in connection.execute(select(table.c.id, table.c.voted_at)).all():
                connection.execute(
                    update(table).where(table.c.id == row.id).values(voted_at=row.voted_at + later)
                )
        connection.execute(update(CLOCK).values(seen=CLOCK.c.seen + round(seconds * SECOND)))
