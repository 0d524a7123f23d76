"""Budget: limits on the costs of the operator's judge and live models, reserved before each call, committed after it.

A reservation is an UPDATE that succeeds only if every limit has room, so limits also hold for many jobs on many
servers. Amounts are in millionths of a US dollar.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from arena.database import METADATA, Database, Moment, now

BUDGET = Table(
    "budget",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("spent", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
)
HOLD = Table(
    "hold",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", Text, nullable=False),
    Column("day", Text, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("since", Moment, nullable=False, index=True),
    Column("network", Text),
)
"""Open reservations. `job`, `day` and `network` name the budgets they count against, besides the fund's total."""

LOST = timedelta(minutes=10)
"""Age at which a reservation is from a process that died, since no call takes this long."""
NETWORK_DAYS = 3
"""Limit of all guests of one network together, in daily limits of one person."""


class BudgetError(RuntimeError):
    """A budget has no room for a call; with `passing`, running calls may free some when they are committed.

    `until` is the latest time at which the last of them is committed.
    """

    def __init__(self, text: str, passing: bool, until: datetime | None = None) -> None:
        super().__init__(text)
        self.passing = passing
        self.until = until


class Ceilings(NamedTuple):
    """Limits per job, per person and day (UTC; NETWORK_DAYS times that for a network's guests), and in total."""

    job: int
    user_day: int
    total: int


class Fund(NamedTuple):
    """A separate fund: the prefix of its budgets' names, and texts of its messages."""

    prefix: str
    job: str
    """Owner of the smallest budget, in words."""
    settings: tuple[str, str, str]
    """Names of the settings that limit job, day and total."""
    advice: str
    quoted: str = ""
    """Advice if a job reaches the price that it was quoted, which no setting raises."""


JUDGE = Fund(
    "",
    "this job",
    ("JUDGE_JOB_BUDGET", "JUDGE_DAY_BUDGET", "JUDGE_TOTAL_BUDGET"),
    "Use your own key, or ask the operator to raise",
    "Score the file again to continue. It was quoted at no more, and what is judged is kept",
)
LIVE = Fund(
    "live ",
    "this conversation",
    ("LIVE_BATTLE_BUDGET", "LIVE_DAY_BUDGET", "LIVE_TOTAL_BUDGET"),
    "Start a new one, come back tomorrow, or ask the operator to raise",
)

DRAFTS = Fund(
    "drafts ",
    "this project",
    ("budget in its file", "budget in its file", "budget in its file"),
    "A person writes this answer. A new project can have a larger",
)


class Total(NamedTuple):
    """Cost of this day (UTC), cost in all, reserved amount, and the limit."""

    today: int
    spent: int
    held: int
    ceiling: int


class _Limit(NamedTuple):
    name: str
    ceiling: int
    whose: str
    advice: str


class Budget:
    """Spent and reserved amounts of each limit, in the database."""

    def __init__(self, database: Database, ceilings: Ceilings, fund: Fund = JUDGE) -> None:
        self._database = database
        self._ceilings = ceilings
        self._fund = fund
        self._total = f"{fund.prefix}total"
        self._begun = now()

    def for_job(
        self, job: str, user: str, most: int | None = None, network: str | None = None
    ) -> "JobBudget":
        """Returns the budget of one job, which may have a lower ceiling of its own.

        `network` is the code of a guest's network, whose day budget is charged too, since guests can drop their
        cookie.
        """
        return JobBudget(self, job, user, most, network)

    def reserve(
        self, job: str, user: str, amount: int, most: int | None = None, network: str | None = None
    ) -> int:
        """Reserves an amount in the budgets of job, days and total, or in none; returns its id. Raises BudgetError."""
        _check(amount)
        limits = self._limits(job, user, most, network)
        with self._database.write() as connection:
            for limit in limits:  # always in this order, so that two reservations never deadlock
                self._reserve_in(connection, limit, amount)
            values = {
                "job": limits[0].name,
                "day": limits[1].name,
                "amount": amount,
                "since": now(),
            }
            values |= {"network": limits[2].name} if network else {}
            return connection.execute(insert(HOLD).values(values).returning(HOLD.c.id)).scalar_one()

    def commit(self, number: int, amount: int) -> None:
        """Replaces a reservation by the actual cost; does nothing if it is committed already."""
        _check(amount)
        with self._database.write() as connection:
            held = connection.execute(
                delete(HOLD).where(HOLD.c.id == number).returning(HOLD)
            ).one_or_none()
            if held is None:
                return
            for name in filter(None, (held.job, held.day, held.network, self._total)):
                values = {"spent": BUDGET.c.spent + amount, "held": BUDGET.c.held - held.amount}
                connection.execute(update(BUDGET).where(BUDGET.c.name == name).values(values))

    def commit_lost(self) -> int:
        """Commits the reservations of dead servers at their upper bounds; returns their number.

        SQLite has one server, so reservations older than this process are of a dead one.
        """
        before = now() - LOST
        if self._database.is_sqlite:
            before = max(before, self._begun)
        return self._commit_bounds(and_(HOLD.c.since < before, self._of_fund()))

    def commit_of(self, job: str) -> int:
        """Commits the reservations of a job at their upper bounds, after this server has taken the job over.

        If the other server is still alive, its calls are thereby paid for already.
        """
        return self._commit_bounds(HOLD.c.job == f"{self._fund.prefix}job {job}")

    def _of_fund(self) -> ColumnElement[bool]:
        return HOLD.c.job.startswith(f"{self._fund.prefix}job ")

    def _commit_bounds(self, which: ColumnElement[bool]) -> int:
        with self._database.read() as connection:
            lost = connection.execute(select(HOLD.c.id, HOLD.c.amount).where(which)).all()
        for number, amount in lost:
            self.commit(number, amount)
        return len(lost)

    def total(self) -> Total:
        query = select(BUDGET.c.spent, BUDGET.c.held).where(BUDGET.c.name == self._total)
        day = f"{self._fund.prefix}day {now():%Y-%m-%d} "
        networks = BUDGET.c.name.contains(" network ")
        of_day = select(func.coalesce(func.sum(BUDGET.c.spent), 0)).where(
            BUDGET.c.name.startswith(day), ~networks
        )
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
            today = int(connection.execute(of_day).scalar_one())
        return Total(today, row.spent if row else 0, row.held if row else 0, self._ceilings.total)

    def _limits(
        self, job: str, user: str, most: int | None = None, network: str | None = None
    ) -> list[_Limit]:
        ceilings = self._ceilings
        (prefix, whose, settings, advice, quoted) = self._fund
        by_job, by_day, by_total = (f"{advice} {setting}" for setting in settings)
        ceiling = ceilings.job
        if most is not None and most < ceiling:
            ceiling = most
            by_job = quoted or by_job
        day = f"{prefix}day {now():%Y-%m-%d}"
        shared = NETWORK_DAYS * ceilings.user_day
        of_network = [_Limit(f"{day} network {network}", shared, "for one network and day", by_day)]
        return [
            _Limit(f"{prefix}job {job}", ceiling, f"for {whose}", by_job),
            _Limit(f"{day} {user}", ceilings.user_day, "for one person and day", by_day),
            *(of_network if network else []),
            _Limit(self._total, ceilings.total, "for all together", by_total),
        ]

    def _reserve_in(self, connection: Connection, limit: _Limit, amount: int) -> None:
        room = BUDGET.c.spent + BUDGET.c.held + amount <= limit.ceiling
        taken = (
            update(BUDGET)
            .where(BUDGET.c.name == limit.name, room)
            .values(held=BUDGET.c.held + amount)
        )
        if connection.execute(taken).rowcount:
            return
        fresh = (
            self._database.insert(BUDGET)
            .values(name=limit.name, spent=0, held=0)
            .on_conflict_do_nothing()
        )
        connection.execute(fresh)
        if not connection.execute(taken).rowcount:
            spent = connection.execute(
                select(BUDGET.c.spent).where(BUDGET.c.name == limit.name)
            ).scalar_one()
            raise BudgetError(
                f"The operator's budget {limit.whose} is ${limit.ceiling / 1e6:.2f}. ${spent / 1e6:.2f} is spent, "
                f"and the next call may cost ${amount / 1e6:.4f}. {limit.advice}.",
                passing=spent + amount <= limit.ceiling,
                until=self._held_until(connection, limit.name),
            )

    def _held_until(self, connection: Connection, name: str) -> datetime | None:
        """Returns the latest time at which the last reservation in a budget is committed."""
        of_budget = or_(HOLD.c.job == name, HOLD.c.day == name, HOLD.c.network == name)
        held = self._of_fund() if name == self._total else of_budget
        last = connection.scalar(select(func.max(HOLD.c.since)).where(held))
        return last and last + LOST


def spend_reserved(connection: Connection) -> None:
    """Counts all reservations as spent, at their upper bounds, after a restore, since their servers are gone."""
    connection.execute(update(BUDGET).values(spent=BUDGET.c.spent + BUDGET.c.held, held=0))


@dataclass(frozen=True)
class JobBudget:
    """The budget of one job."""

    budget: Budget
    job: str
    user: str
    most: int | None = None
    network: str | None = None

    def reserve(self, amount: int) -> int:
        return self.budget.reserve(self.job, self.user, amount, self.most, self.network)

    def commit(self, number: int, amount: int) -> None:
        self.budget.commit(number, amount)


class RunBudget:
    """The budget of one run with the user's own key, in memory."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._lock = Lock()
        self._held: dict[int, int] = {}
        self._spent = self._last = 0

    def reserve(self, amount: int) -> int:
        with self._lock:
            if self._spent + sum(self._held.values()) + amount > self._ceiling:
                raise BudgetError(
                    f"This run's budget is ${self._ceiling / 1e6:.2f}. ${self._spent / 1e6:.2f} is spent, and "
                    f"the next call may cost ${amount / 1e6:.4f}. Give a larger budget. What is judged is kept.",
                    passing=self._spent + amount <= self._ceiling,
                )
            self._last += 1
            self._held[self._last] = amount
            return self._last

    def commit(self, number: int, amount: int) -> None:
        with self._lock:
            if self._held.pop(number, None) is not None:
                self._spent += amount


class Reservation:
    """Money held for one call."""

    spent = 0
    """Actual cost, to be set before the reservation ends."""


@asynccontextmanager
async def reserved(budget: JobBudget | RunBudget | None, amount: int) -> AsyncIterator[Reservation]:
    """Reserves an upper bound during a call and commits its cost, also when cancelled. Raises BudgetError."""
    held = Reservation()
    if budget is None:
        yield held
        return
    reserving = asyncio.ensure_future(asyncio.to_thread(budget.reserve, amount))
    try:
        number = await asyncio.shield(reserving)
    except asyncio.CancelledError:
        with suppress(BudgetError):
            await asyncio.to_thread(budget.commit, await reserving, 0)
        raise
    try:
        yield held
    finally:
        await asyncio.shield(asyncio.to_thread(budget.commit, number, held.spent))


def _check(amount: int) -> None:
    if amount < 0:
        raise ValueError(f"an amount is {amount}; money is held and spent, never given back")
