"""The ledger: what the operator's judge and live models may cost, held before each call and settled after it.

A hold is taken by an UPDATE that finds room under every ceiling: the database decides, however many jobs of however
many servers spend at once. Amounts are millionths of a US dollar.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, delete, insert, select, update

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
)
"""Money on its way; `job` and `day` name the budgets that it is held in, beside the fund's total."""

LOST = timedelta(minutes=10)
"""No call takes that long: who held the money died before the call was settled."""


class BudgetError(RuntimeError):
    """Say which budget has no room for a call; `passing` if it may have some when calls on their way are settled."""

    def __init__(self, text: str, passing: bool) -> None:
        super().__init__(text)
        self.passing = passing


@dataclass(frozen=True)
class Ceilings:
    """What a job, a person in a day (UTC) and all together may cost."""

    job: int
    user_day: int
    total: int


class Fund(NamedTuple):
    """Money of its own: how the names of its budgets begin, and what its messages say."""

    prefix: str
    job: str
    """Whose the smallest budget is."""
    settings: tuple[str, str, str]
    """What sets the ceilings of job, day and total."""
    advice: str


JUDGE = Fund(
    "",
    "this job",
    ("JUDGE_JOB_BUDGET", "JUDGE_DAY_BUDGET", "JUDGE_TOTAL_BUDGET"),
    "go on with a key of your own, or ask the operator to raise",
)
LIVE = Fund(
    "live ",
    "this conversation",
    ("LIVE_BATTLE_BUDGET", "LIVE_DAY_BUDGET", "LIVE_TOTAL_BUDGET"),
    "start a new one, come back tomorrow, or ask the operator to raise",
)


class Spent(NamedTuple):
    """What a job, its person today and all together did cost, without what is on its way."""

    job: int
    user_day: int
    total: int


class Total(NamedTuple):
    """What all together did cost, what is on its way, and what it may come to."""

    spent: int
    held: int
    ceiling: int


class _Limit(NamedTuple):
    name: str
    ceiling: int
    whose: str
    setting: str


class Budget:
    """Keep what is spent and held under each ceiling."""

    def __init__(self, database: Database, ceilings: Ceilings, fund: Fund = JUDGE) -> None:
        self._database = database
        self._ceilings = ceilings
        self._fund = fund
        self._total = f"{fund.prefix}total"

    def for_job(self, job: str, user: str) -> "JobBudget":
        """Return what pays for the calls of a person's job."""
        return JobBudget(self, job, user)

    def reserve(self, job: str, user: str, amount: int) -> int:
        """Hold an amount in the budgets of job, day and total, or in none; return its number. Raises BudgetError."""
        _check(amount)
        limits = self._limits(job, user)
        with self._database.write() as connection:
            for limit in limits:  # always in this order, so that two holds never wait for each other
                self._reserve_in(connection, limit, amount)
            values = {"job": limits[0].name, "day": limits[1].name, "amount": amount, "since": now()}
            return connection.execute(insert(HOLD).values(values).returning(HOLD.c.id)).scalar_one()

    def commit(self, number: int, amount: int) -> None:
        """Replace what was held by what the call cost; what was settled before stays as it is."""
        _check(amount)
        with self._database.write() as connection:
            held = connection.execute(delete(HOLD).where(HOLD.c.id == number).returning(HOLD)).one_or_none()
            if held is None:
                return
            for name in (held.job, held.day, self._total):
                values = {"spent": BUDGET.c.spent + amount, "held": BUDGET.c.held - held.amount}
                connection.execute(update(BUDGET).where(BUDGET.c.name == name).values(values))

    def commit_lost(self) -> int:
        """Count what dead servers held as spent, at its upper bound; return how many calls these were."""
        mine = HOLD.c.job.startswith(f"{self._fund.prefix}job ")
        with self._database.read() as connection:
            lost = connection.execute(select(HOLD.c.id, HOLD.c.amount).where(HOLD.c.since < now() - LOST, mine)).all()
        for number, amount in lost:
            self.commit(number, amount)
        return len(lost)

    def spent(self, job: str, user: str) -> Spent:
        """Return what was spent so far in the budgets of a person's job."""
        names = [limit.name for limit in self._limits(job, user)]
        query = select(BUDGET.c.name, BUDGET.c.spent).where(BUDGET.c.name.in_(names))
        with self._database.read() as connection:
            found = {row.name: row.spent for row in connection.execute(query)}
        return Spent(*(found.get(name, 0) for name in names))

    def total(self) -> Total:
        """Return how the budget of all together stands."""
        query = select(BUDGET.c.spent, BUDGET.c.held).where(BUDGET.c.name == self._total)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return Total(row.spent if row else 0, row.held if row else 0, self._ceilings.total)

    def _limits(self, job: str, user: str) -> tuple[_Limit, _Limit, _Limit]:
        ceilings, (prefix, whose, settings, _) = self._ceilings, self._fund
        return (
            _Limit(f"{prefix}job {job}", ceilings.job, f"for {whose}", settings[0]),
            _Limit(f"{prefix}day {now():%Y-%m-%d} {user}", ceilings.user_day, "for one person and day", settings[1]),
            _Limit(self._total, ceilings.total, "for all together", settings[2]),
        )

    def _reserve_in(self, connection: Connection, limit: _Limit, amount: int) -> None:
        room = BUDGET.c.spent + BUDGET.c.held + amount <= limit.ceiling
        taken = update(BUDGET).where(BUDGET.c.name == limit.name, room).values(held=BUDGET.c.held + amount)
        if connection.execute(taken).rowcount:
            return
        fresh = self._database.insert(BUDGET).values(name=limit.name, spent=0, held=0).on_conflict_do_nothing()
        connection.execute(fresh)
        if not connection.execute(taken).rowcount:
            spent = connection.execute(select(BUDGET.c.spent).where(BUDGET.c.name == limit.name)).scalar_one()
            raise BudgetError(
                f"The operator's budget {limit.whose} is ${limit.ceiling / 1e6:.2f}, of which ${spent / 1e6:.2f} are "
                f"spent, and the next call may cost ${amount / 1e6:.4f}; {self._fund.advice} {limit.setting}",
                passing=spent + amount <= limit.ceiling,
            )


def spend_reserved(database: Database) -> None:
    """Count all that is held as spent, at its upper bound, where a copy came back: who held it is gone."""
    with database.write() as connection:
        connection.execute(update(BUDGET).values(spent=BUDGET.c.spent + BUDGET.c.held, held=0))


@dataclass(frozen=True)
class JobBudget:
    """Pay for the calls of one job out of the ledger."""

    budget: Budget
    job: str
    user: str

    def reserve(self, amount: int) -> int:
        """Hold an upper bound and return its number. Raises BudgetError."""
        return self.budget.reserve(self.job, self.user, amount)

    def commit(self, number: int, amount: int) -> None:
        """Replace what was held by what the call cost."""
        self.budget.commit(number, amount)


def _check(amount: int) -> None:
    if amount < 0:
        raise ValueError(f"an amount is {amount}; money is held and spent, never given back")
