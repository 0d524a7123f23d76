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
    limits = budget._limits(job, user, most=None, network=None)
    with budget._database.read() as connection:
        spent = dict(connection.execute(select(BUDGET.c.name, BUDGET.c.spent)).tuples().all())
    names = (limits.job.name, limits.day.name, limits.total.name)
    return Spent(*(spent.get(name, 0) for name in names))
