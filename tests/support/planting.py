"""Final votes put straight into the tables; and time that passes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, insert, select, text, update

from arena.battles.tables import BATTLE, HAS_CHOICE, VOTER
from arena.clock import CLOCK, SECOND, tick
from arena.database import Database, now
from arena.items.store import ItemBank


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
        last = connection.scalar(select(func.max(BATTLE.c.id))) or 0
        last_voter = connection.scalar(select(func.max(VOTER.c.id))) or 0
        last_final = connection.scalar(select(func.max(BATTLE.c.final_number))) or 0
        known: dict[int, int] = {}
        voters, battles = {}, []
        for place, vote in enumerate(votes, 1):
            number = last + place
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
                    "images": 1,
                    "model_a": a,
                    "model_b": b,
                    "answer_a": answers[vote.item, a],
                    "answer_b": answers[vote.item, b],
                    "began_at": at - timedelta(minutes=vote.minutes),
                    "draw": "lot",
                    "choice": "a" if vote.left else "b",
                    "voted_at": at,
                    "terms": "1",
                    "final_number": last_final + place,
                }
            )
        for table, values in ((VOTER, list(voters.values())), (BATTLE, battles)):
            connection.execute(insert(table), values)
            if connection.dialect.name == "postgresql":
                connection.execute(
                    text(
                        f"SELECT setval('{table.name}_id_seq', (SELECT max(id) FROM {table.name}))"
                    )
                )


def let_pass(database: Database, seconds: float) -> None:
    """Make all votes older by so many seconds of the database's clock, and store its time."""
    with database.write() as connection:
        present = tick(connection)
        connection.execute(update(CLOCK).where(CLOCK.c.seen < present).values(seen=present))
        older = BATTLE.c.tick - round(seconds * SECOND)
        connection.execute(update(BATTLE).where(HAS_CHOICE).values(tick=older))


def set_clock_back(database: Database, seconds: float) -> None:
    """Leave a database as if the machine's clock had been ahead until now, and was set back."""
    let_pass(database, -seconds)
    later = timedelta(seconds=seconds)
    with database.write() as connection:
        for row in connection.execute(
            select(BATTLE.c.id, BATTLE.c.voted_at).where(HAS_CHOICE)
        ).all():
            moved = update(BATTLE).where(BATTLE.c.id == row.id)
            connection.execute(moved.values(voted_at=row.voted_at + later))
        connection.execute(update(CLOCK).values(seen=CLOCK.c.seen + round(seconds * SECOND)))
