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
"""Budgets, named "total", "job JOB", "day DAY PERSON" or "day DAY network NETWORK" after their fund's prefix."""
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

LOST_AGE = timedelta(minutes=10)
"""Age at which a reservation is from a process that died, since no call takes this long."""
DAY_LIMITS_PER_NETWORK = 3
"""All guests of a network together may spend this many times one person's daily limit."""


class BudgetError(RuntimeError):
    """A budget has no room for a call; with `is_temporary`, running calls may free enough when they are committed.

    By `until`, if it is known, all of them are committed. `public_message` names no amounts, which would reveal the
    length of a secret text that is sent.
    """

    def __init__(
        self,
        text: str,
        is_temporary: bool,
        until: datetime | None = None,
        public_message: str = "",
    ) -> None:
        super().__init__(text)
        self.is_temporary = is_temporary
        self.until = until
        self.public_message = public_message or text


class Ceilings(NamedTuple):
    """Limits per job, per person and day (UTC), and in total."""

    job: int
    user_day: int
    total: int


class Fund(NamedTuple):
    """A separate fund: the prefix of its budgets' names, and texts of its messages."""

    prefix: str
    job_words: str
    """What a job is called in messages."""
    job_setting: str
    """Name of the setting that limits a job; `day_setting` and `total_setting` limit a day and the total."""
    day_setting: str
    total_setting: str
    advice: str
    """What to do when a limit is reached; the setting's name follows."""
    quote_advice: str = ""
    """Advice if a job reaches the price that it was quoted, which no setting raises."""


JUDGE = Fund(
    prefix="",
    job_words="this job",
    job_setting="JUDGE_JOB_BUDGET",
    day_setting="JUDGE_DAY_BUDGET",
    total_setting="JUDGE_TOTAL_BUDGET",
    advice="Use your own key, or ask the operator to raise",
    quote_advice="Score the file again to continue. It was quoted at no more, and what is judged is kept",
)
LIVE = Fund(
    prefix="live ",
    job_words="this conversation",
    job_setting="LIVE_BATTLE_BUDGET",
    day_setting="LIVE_DAY_BUDGET",
    total_setting="LIVE_TOTAL_BUDGET",
    advice="Start a new one, come back tomorrow, or ask the operator to raise",
)
DRAFTS = Fund(
    prefix="drafts ",
    job_words="this project",
    job_setting="budget in its file",
    day_setting="budget in its file",
    total_setting="budget in its file",
    advice="A person writes this answer. A new project can have a larger",
)


class Total(NamedTuple):
    """Cost of this day (UTC), cost in all, reserved amount, and the limit."""

    today: int
    spent: int
    held: int
    ceiling: int


class _Limit(NamedTuple):
    """A row of the budget table with its ceiling, and texts of the message when it is reached."""

    name: str
    ceiling: int
    scope: str
    advice: str


class _Limits(NamedTuple):
    """The limits that a call must keep; `network` is None unless a guest's network is known."""

    job: _Limit
    day: _Limit
    network: _Limit | None
    total: _Limit


class Budget:
    """Spent and reserved amounts of each limit, in the database."""

    def __init__(self, database: Database, ceilings: Ceilings, fund: Fund = JUDGE) -> None:
        self._database = database
        self._ceilings = ceilings
        self._fund = fund
        self._total_name = f"{fund.prefix}total"
        self._begun = now()

    def for_job(
        self, job: str, user: str, most: int | None = None, network: str | None = None
    ) -> "JobBudget":
        """Returns the budget of one job; `most` is its own ceiling, if that is lower.

        `network` is the code of a guest's network, whose day budget is charged too, since guests can drop their
        cookie.
        """
        return JobBudget(self, job, user, most, network)

    def reserve(
        self, job: str, user: str, amount: int, most: int | None = None, network: str | None = None
    ) -> int:
        """Reserves an amount in the budgets of job, person, network and total, or in none.

        Returns the reservation's number. Raises BudgetError.
        """
        _check_amount(amount)
        limits = self._limits(job, user, most, network)
        hold = insert(HOLD).values(
            job=limits.job.name,
            day=limits.day.name,
            network=limits.network.name if limits.network else None,
            amount=amount,
            since=now(),
        )
        with self._database.write() as connection:
            for limit in limits:  # always in this order, so that two reservations never deadlock
                if limit is not None:
                    self._reserve_in(connection, limit, amount)
            return connection.execute(hold.returning(HOLD.c.id)).scalar_one()

    def commit(self, number: int, amount: int) -> None:
        """Replaces the reservation of this number by the actual cost; does nothing if it is committed already."""
        _check_amount(amount)
        with self._database.write() as connection:
            held = connection.execute(
                delete(HOLD).where(HOLD.c.id == number).returning(HOLD)
            ).one_or_none()
            if held is None:
                return
            values = {"spent": BUDGET.c.spent + amount, "held": BUDGET.c.held - held.amount}
            for name in (held.job, held.day, held.network, self._total_name):
                if name is not None:
                    connection.execute(update(BUDGET).where(BUDGET.c.name == name).values(values))

    def commit_lost(self) -> int:
        """Commits the reservations of dead servers at their upper bounds; returns their number.

        SQLite has one server, so reservations older than this process are of a dead one.
        """
        before = now() - LOST_AGE
        if self._database.is_sqlite:
            before = max(before, self._begun)
        return self._commit_bounds(and_(HOLD.c.since < before, self._is_of_fund()))

    def commit_job(self, job: str) -> int:
        """Commits the reservations of a job at their upper bounds, after this server has taken the job over.

        If the other server is still alive, its calls are thereby paid for already.
        """
        return self._commit_bounds(HOLD.c.job == f"{self._fund.prefix}job {job}")

    def _is_of_fund(self) -> ColumnElement[bool]:
        return HOLD.c.job.startswith(f"{self._fund.prefix}job ")

    def _commit_bounds(self, condition: ColumnElement[bool]) -> int:
        """Commits the reservations that meet a condition, at their upper bounds; returns their number."""
        with self._database.read() as connection:
            holds = connection.execute(select(HOLD.c.id, HOLD.c.amount).where(condition)).all()
        for hold in holds:
            self.commit(hold.id, hold.amount)
        return len(holds)

    def spent(self, job: str) -> int:
        """Returns what a job has cost so far."""
        name = f"{self._fund.prefix}job {job}"
        with self._database.read() as connection:
            return connection.scalar(select(BUDGET.c.spent).where(BUDGET.c.name == name)) or 0

    def total(self) -> Total:
        """Returns the fund's costs so far and its limit."""
        total_query = select(BUDGET.c.spent, BUDGET.c.held).where(BUDGET.c.name == self._total_name)
        # a network's budget repeats what its guests' own budgets count
        today_query = select(func.coalesce(func.sum(BUDGET.c.spent), 0)).where(
            BUDGET.c.name.startswith(f"{self._day_prefix()} "),
            ~BUDGET.c.name.contains(" network "),
        )
        with self._database.read() as connection:
            row = connection.execute(total_query).one_or_none()
            today = int(connection.execute(today_query).scalar_one())
        if row is None:
            return Total(today, spent=0, held=0, ceiling=self._ceilings.total)
        return Total(today, row.spent, row.held, self._ceilings.total)

    def _day_prefix(self) -> str:
        return f"{self._fund.prefix}day {now():%Y-%m-%d}"

    def _limits(self, job: str, user: str, most: int | None, network: str | None) -> _Limits:
        fund = self._fund
        ceilings = self._ceilings
        job_ceiling = ceilings.job
        job_advice = f"{fund.advice} {fund.job_setting}"
        if most is not None and most < ceilings.job:
            job_ceiling = most
            job_advice = fund.quote_advice or job_advice
        day = self._day_prefix()
        day_advice = f"{fund.advice} {fund.day_setting}"
        network_limit = None
        if network:
            network_limit = _Limit(
                name=f"{day} network {network}",
                ceiling=DAY_LIMITS_PER_NETWORK * ceilings.user_day,
                scope="for one network and day",
                advice=day_advice,
            )
        return _Limits(
            job=_Limit(
                name=f"{fund.prefix}job {job}",
                ceiling=job_ceiling,
                scope=f"for {fund.job_words}",
                advice=job_advice,
            ),
            day=_Limit(
                name=f"{day} {user}",
                ceiling=ceilings.user_day,
                scope="for one person and day",
                advice=day_advice,
            ),
            network=network_limit,
            total=_Limit(
                name=self._total_name,
                ceiling=ceilings.total,
                scope="for all together",
                advice=f"{fund.advice} {fund.total_setting}",
            ),
        )

    def _reserve_in(self, connection: Connection, limit: _Limit, amount: int) -> None:
        """Holds an amount in one budget, and creates its row if it is missing. Raises BudgetError."""
        has_room = BUDGET.c.spent + BUDGET.c.held + amount <= limit.ceiling
        hold = (
            update(BUDGET)
            .where(BUDGET.c.name == limit.name, has_room)
            .values(held=BUDGET.c.held + amount)
        )
        if connection.execute(hold).rowcount:
            return
        insert_row = (
            self._database.insert(BUDGET)
            .values(name=limit.name, spent=0, held=0)
            .on_conflict_do_nothing()
        )
        connection.execute(insert_row)
        if not connection.execute(hold).rowcount:
            spent = connection.execute(
                select(BUDGET.c.spent).where(BUDGET.c.name == limit.name)
            ).scalar_one()
            raise BudgetError(
                f"The operator's budget {limit.scope} is ${limit.ceiling / 1e6:.2f}. ${spent / 1e6:.2f} is spent, "
                f"and the next call may cost ${amount / 1e6:.4f}. {limit.advice}.",
                is_temporary=spent + amount <= limit.ceiling,
                until=self._held_until(connection, limit.name),
                public_message=(
                    f"The operator's budget {limit.scope} has no room for the next call. {limit.advice}."
                ),
            )

    def _held_until(self, connection: Connection, name: str) -> datetime | None:
        """Returns the time by which all reservations in a budget are committed; None if it has none."""
        if name == self._total_name:
            is_in_budget = self._is_of_fund()
        else:
            is_in_budget = or_(HOLD.c.job == name, HOLD.c.day == name, HOLD.c.network == name)
        last = connection.scalar(select(func.max(HOLD.c.since)).where(is_in_budget))
        return None if last is None else last + LOST_AGE


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
    """The budget of runs with the user's own key, in memory; `reserve` and `commit` are as in `JobBudget`."""

    def __init__(
        self,
        ceiling: int,
        spent: int = 0,
        advice: str = "Give a larger budget. What is judged is kept",
    ) -> None:
        """`spent` is what earlier runs have cost; `advice` says what to do when the budget is used up."""
        self._ceiling = ceiling
        self._advice = advice
        self._lock = Lock()
        self._held: dict[int, int] = {}
        self.spent = spent
        self._last_number = 0

    def reserve(self, amount: int) -> int:
        with self._lock:
            if self.spent + sum(self._held.values()) + amount > self._ceiling:
                raise BudgetError(
                    f"This run's budget is ${self._ceiling / 1e6:.2f}. ${self.spent / 1e6:.2f} is spent, and "
                    f"the next call may cost ${amount / 1e6:.4f}. {self._advice}.",
                    is_temporary=self.spent + amount <= self._ceiling,
                )
            self._last_number += 1
            self._held[self._last_number] = amount
            return self._last_number

    def commit(self, number: int, amount: int) -> None:
        with self._lock:
            if self._held.pop(number, None) is not None:
                self.spent += amount


class Reservation:
    """Money held for one call."""

    spent = 0
    """Actual cost, to be set before the reservation ends."""


@asynccontextmanager
async def reserved(budget: JobBudget | RunBudget | None, amount: int) -> AsyncIterator[Reservation]:
    """Reserves an upper bound during a call, and commits the cost after it, also when cancelled.

    Does nothing if `budget` is None. Raises BudgetError.
    """
    reservation = Reservation()
    if budget is None:
        yield reservation
        return
    reserving = asyncio.ensure_future(asyncio.to_thread(budget.reserve, amount))
    try:
        number = await asyncio.shield(reserving)
    except asyncio.CancelledError:
        # the thread goes on, so what it reserves is released
        with suppress(BudgetError):
            number = await reserving
            await asyncio.to_thread(budget.commit, number, 0)
        raise
    try:
        yield reservation
    finally:
        await asyncio.shield(asyncio.to_thread(budget.commit, number, reservation.spent))


def _check_amount(amount: int) -> None:
    if amount < 0:
        raise ValueError(f"an amount is {amount}; money is held and spent, never given back")
