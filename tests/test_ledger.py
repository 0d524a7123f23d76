"""The ledger: what is spent and held never passes a ceiling, however many ask at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from arena.budget import BUDGET, HOLD, LOST, Ceilings, Ledger, LedgerError, Spent
from arena.database import Database, now

WIDE = Ceilings(10**9, 10**9, 10**9)


def sums(database: Database) -> dict[str, tuple[int, int]]:
    """Return what each budget has spent and holds."""
    with database.read() as connection:
        return {row.name: (row.spent, row.held) for row in connection.execute(select(BUDGET))}


def grow_old(database: Database, number: int, age: timedelta) -> None:
    with database.write() as connection:
        connection.execute(update(HOLD).where(HOLD.c.id == number).values(since=now() - age))


def test_what_is_held_becomes_what_it_cost(database):
    ledger = Ledger(database, WIDE)
    purse = ledger.purse("job", "ada")
    number = purse.hold(500)
    assert set(sums(database).values()) == {(0, 500)}
    assert ledger.spent("job", "ada") == Spent(0, 0, 0)
    purse.settle(number, 120)
    assert set(sums(database).values()) == {(120, 0)}
    assert ledger.spent("job", "ada") == Spent(120, 120, 120)
    assert ledger.spent("other", "ada") == Spent(0, 120, 120)
    assert ledger.spent("other", "bob") == Spent(0, 0, 120)


def test_a_hold_is_settled_once(database):
    ledger = Ledger(database, WIDE)
    purse = ledger.purse("job", "ada")
    number = purse.hold(500)
    purse.settle(number, 120)
    purse.settle(number, 120)
    assert ledger.spent("job", "ada").total == 120


@pytest.mark.parametrize(
    ("ceilings", "setting"),
    [
        (Ceilings(100, 10**9, 10**9), "JUDGE_JOB_BUDGET"),
        (Ceilings(10**9, 100, 10**9), "JUDGE_DAY_BUDGET"),
        (Ceilings(10**9, 10**9, 100), "JUDGE_TOTAL_BUDGET"),
    ],
)
def test_the_ceiling_in_the_way_is_named_and_nothing_is_held(database, ceilings, setting):
    ledger = Ledger(database, ceilings)
    purse = ledger.purse("job", "ada")
    purse.settle(purse.hold(100), 60)
    with pytest.raises(LedgerError, match=setting) as refused:
        purse.hold(41)
    assert not refused.value.passing
    assert set(sums(database).values()) == {(60, 0)}
    purse.settle(purse.hold(40), 40)
    assert ledger.spent("job", "ada").total == 100


def test_money_that_is_only_on_its_way_says_so(database):
    purse = Ledger(database, Ceilings(100, 100, 100)).purse("job", "ada")
    number = purse.hold(90)
    with pytest.raises(LedgerError) as refused:
        purse.hold(50)
    assert refused.value.passing
    purse.settle(number, 10)
    purse.hold(50)


def test_another_job_and_person_have_budgets_of_their_own(database):
    ledger = Ledger(database, Ceilings(100, 150, 300))
    ledger.purse("one", "ada").hold(100)
    with pytest.raises(LedgerError, match="this job"):
        ledger.purse("one", "ada").hold(1)
    ledger.purse("two", "ada").hold(50)
    with pytest.raises(LedgerError, match="one person and day"):
        ledger.purse("two", "ada").hold(1)
    ledger.purse("three", "bob").hold(100)


def test_another_day_has_a_budget_of_its_own(database):
    ledger = Ledger(database, Ceilings(1000, 100, 1000))
    number = ledger.purse("job", "ada").hold(100)
    with database.write() as connection:  # a day goes by
        connection.execute(update(BUDGET).where(BUDGET.c.name.like("day%")).values(name="day 2026-01-01 ada"))
        connection.execute(update(HOLD).values(day="day 2026-01-01 ada"))
    ledger.purse("job", "ada").hold(100)
    ledger.purse("job", "ada").settle(number, 70)
    assert sums(database)["day 2026-01-01 ada"] == (70, 0), "a call is settled on the day that it was held on"
    assert ledger.spent("job", "ada") == Spent(70, 0, 70)


def test_what_a_dead_server_held_counts_as_spent(database):
    ledger = Ledger(database, Ceilings(100, 100, 100))
    purse = ledger.purse("job", "ada")
    lost, fresh = purse.hold(60), purse.hold(10)
    grow_old(database, lost, LOST + timedelta(seconds=1))
    assert ledger.settle_lost() == 1
    assert ledger.settle_lost() == 0
    assert set(sums(database).values()) == {(60, 10)}
    purse.settle(lost, 5)
    assert ledger.spent("job", "ada").total == 60, "the upper bound stays"
    purse.settle(fresh, 5)
    with pytest.raises(LedgerError):
        purse.hold(36)


@pytest.mark.parametrize("amount", [-1, -(10**12)])
def test_money_is_never_given_back(database, amount):
    purse = Ledger(database, WIDE).purse("job", "ada")
    number = purse.hold(5)
    with pytest.raises(ValueError, match="never given back"):
        purse.hold(amount)
    with pytest.raises(ValueError, match="never given back"):
        purse.settle(number, amount)


def test_two_hundred_jobs_at_once_never_pass_the_ceiling(database):
    """Each takes what it can get; the highest sum of spent and held, seen at every step, is the ceiling at most."""
    ceiling, step = 5_000, 17
    ledger = Ledger(database, Ceilings(ceiling, ceiling, ceiling))
    highest = []

    def spend(job: int, tries: int = 5) -> int:
        purse, spent = ledger.purse(f"job {job}", f"person {job % 20}"), 0
        for _ in range(tries):
            try:
                number = purse.hold(2 * step)
            except LedgerError:
                continue
            with database.read() as connection:
                query = select(func.max(BUDGET.c.spent + BUDGET.c.held))
                highest.append(connection.execute(query).scalar_one())
            purse.settle(number, step)
            spent += step
        return spent

    with ThreadPoolExecutor(40) as pool:
        spent = sum(pool.map(spend, range(200)))
    spent += spend(200, tries=ceiling // step)  # alone: what others held for a moment is free again
    assert max(highest) <= ceiling
    assert sums(database)["total"] == (spent, 0)
    assert spent > ceiling - 2 * step, "nearly all of it was to be had"


class Sleepy(Ledger):
    """A mutant: looks whether there is room, then takes it, in two transactions."""

    def hold(self, job: str, user: str, amount: int) -> int:
        with self._database.read() as connection:
            taken = connection.scalar(select(BUDGET.c.spent + BUDGET.c.held).where(BUDGET.c.name == "total")) or 0
        if taken + amount > self._ceilings.total:
            raise LedgerError("full", False)
        return Ledger(self._database, WIDE).hold(job, user, amount)


def test_a_careless_ledger_would_be_caught(database):
    """The mutant passes the ceiling where the ledger does not: what the test above measures can fail."""

    def spent(ledger: Ledger) -> int:
        def hold(job: int) -> None:
            try:
                ledger.purse(f"{job}", f"{job}").hold(10)
            except LedgerError:
                return

        with ThreadPoolExecutor(40) as pool:
            list(pool.map(hold, range(300)))
        return sum(sums(database)["total"])

    sound, careless = Ceilings(10**9, 10**9, 500), Ceilings(10**9, 10**9, 1_000)
    assert spent(Ledger(database, sound)) == 500
    assert spent(Sleepy(database, careless)) > 1_000


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.booleans()), max_size=30))
def test_any_order_of_holds_and_settlements_adds_up(tmp_path_factory, steps):
    """Without `database`: hypothesis starts anew for each example, on a file of its own."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'arena.db'}")
    ledger = Ledger(database, Ceilings(200, 200, 200))
    held: dict[int, int] = {}
    spent = 0
    for amount, cost, now_settled in steps:
        try:
            held[ledger.hold("job", "ada", amount)] = amount
            assert spent + sum(held.values()) <= 200
        except LedgerError as error:
            assert spent + sum(held.values()) + amount > 200
            assert error.passing == (spent + amount <= 200)
        if now_settled and held:
            number, most = held.popitem()
            ledger.settle(number, min(cost, most))
            spent += min(cost, most)
    assert ledger.spent("job", "ada") == Spent(spent, spent, spent)
    database.close()
