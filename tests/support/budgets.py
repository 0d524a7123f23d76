"""What the judge and live models have cost, as tests ask for it."""

from typing import NamedTuple

from sqlalchemy import select

from arena.budget import BUDGET, Budget


class Spent(NamedTuple):
    """Cost so far of a job, of its person today, and in total; without open reservations."""

    job: int
    user_day: int
    total: int


def spent_by(budget: Budget, job: str, user: str) -> Spent:
    names = [limit.name for limit in budget._limits(job, user)]
    with budget._database.read() as connection:
        found = dict(connection.execute(select(BUDGET.c.name, BUDGET.c.spent)).tuples().all())
    return Spent(*(found.get(name, 0) for name in names))
