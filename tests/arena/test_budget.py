"""The ledger: what is spent and held never passes a ceiling, however many ask at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select, update

from arena.budget import (
    BUDGET,
    DAY_LIMITS_PER_NETWORK,
    HOLD,
    JUDGE,
    LIVE,
    LOST_AGE,
    Budget,
    BudgetError,
    Ceilings,
)
from arena.database import Database, now
from tests.support.budgets import Spent, spent_by

WIDE = Ceilings(10**9, 10**9, 10**9)


def sums(database: Database) -> dict[str, tuple[int, int]]:
    """Return what each budget has spent and holds."""
    with database.read() as connection:
        return {row.name: (row.spent, row.held) for row in connection.execute(select(BUDGET))}


def grow_old(database: Database, number: int, age: timedelta) -> None:
    with database.write() as connection:
        connection.execute(update(HOLD).where(HOLD.c.id == number).values(since=now() - age))


@pytest.mark.locks_or_dialect
def test_what_is_reserved_becomes_what_it_cost(database):
    budget = Budget(database, WIDE)
    job_budget = budget.for_job("job", "ada")
    number = job_budget.reserve(500)
    assert set(sums(database).values()) == {(0, 500)}
    assert spent_by(budget, "job", "ada") == Spent(0, 0, 0)
    job_budget.commit(number, 120)
    assert set(sums(database).values()) == {(120, 0)}
    assert spent_by(budget, "job", "ada") == Spent(120, 120, 120)
    assert spent_by(budget, "other", "ada") == Spent(0, 120, 120)
    assert spent_by(budget, "other", "bob") == Spent(0, 0, 120)


def test_a_reservation_is_committed_once(database):
    budget = Budget(database, WIDE)
    job_budget = budget.for_job("job", "ada")
    number = job_budget.reserve(500)
    job_budget.commit(number, 120)
    job_budget.commit(number, 120)
    assert spent_by(budget, "job", "ada").total == 120


@pytest.mark.parametrize(
    ("ceilings", "setting"),
    [
        (Ceilings(100, 10**9, 10**9), "JUDGE_JOB_BUDGET"),
        (Ceilings(10**9, 100, 10**9), "JUDGE_DAY_BUDGET"),
        (Ceilings(10**9, 10**9, 100), "JUDGE_TOTAL_BUDGET"),
    ],
)
def test_the_ceiling_in_the_way_is_named_and_nothing_is_held(database, ceilings, setting):
    budget = Budget(database, ceilings)
    job_budget = budget.for_job("job", "ada")
    job_budget.commit(job_budget.reserve(100), 60)
    with pytest.raises(BudgetError, match=setting) as refused:
        job_budget.reserve(41)
    assert not refused.value.is_temporary
    assert set(sums(database).values()) == {(60, 0)}
    job_budget.commit(job_budget.reserve(40), 40)
    assert spent_by(budget, "job", "ada").total == 100


def test_a_job_that_has_cost_what_it_was_quoted_at_is_to_be_quoted_anew(database):
    """No setting would help it on, nor would a start of the same job."""
    job_budget = Budget(database, WIDE).for_job("job", "ada", most=100)
    job_budget.commit(job_budget.reserve(100), 60)
    with pytest.raises(BudgetError, match="what is judged is kept\\.$") as refused:
        job_budget.reserve(41)
    assert "JUDGE_" not in str(refused.value)
    with pytest.raises(BudgetError, match="JUDGE_JOB_BUDGET"):
        Budget(database, Ceilings(50, 10**9, 10**9)).for_job("other", "ada", most=100).reserve(51)


def test_money_that_is_only_on_its_way_says_so(database):
    job_budget = Budget(database, Ceilings(100, 100, 100)).for_job("job", "ada")
    number = job_budget.reserve(90)
    with pytest.raises(BudgetError) as refused:
        job_budget.reserve(50)
    assert refused.value.is_temporary
    job_budget.commit(number, 10)
    job_budget.reserve(50)


def test_another_job_and_person_have_budgets_of_their_own(database):
    budget = Budget(database, Ceilings(100, 150, 300))
    budget.for_job("one", "ada").reserve(100)
    with pytest.raises(BudgetError, match="this job"):
        budget.for_job("one", "ada").reserve(1)
    budget.for_job("two", "ada").reserve(50)
    with pytest.raises(BudgetError, match="one person and day"):
        budget.for_job("two", "ada").reserve(1)
    budget.for_job("three", "bob").reserve(100)


def test_six_cookies_of_a_network_have_three_day_budgets_together(database):
    budget = Budget(database, Ceilings(100, 100, 10**9))
    taken = []
    for cookie in range(6):
        try:
            number = budget.for_job(f"job {cookie}", f"cookie {cookie}", network="code").reserve(
                100
            )
        except BudgetError as error:
            assert (
                "for one network and day" in str(error)
                and "JUDGE_DAY_BUDGET" in str(error)
                and error.is_temporary
            )
        else:
            taken.append(number)
    assert len(taken) == DAY_LIMITS_PER_NETWORK == 3
    assert sums(database)["total"] == (0, 300), "what the network has no room for is held nowhere"
    budget.commit(taken[0], 40)
    assert sums(database)[f"day {now():%Y-%m-%d} network code"] == (40, 200)
    budget.for_job("job 6", "cookie 6", network="code").reserve(60)
    budget.for_job("job 7", "cookie 7", network="other").reserve(100)
    budget.for_job("job 8", "person 8").reserve(100)


@pytest.mark.locks_or_dialect
def test_a_network_and_its_guests_at_once_never_pass_their_limits(database):
    budget = Budget(database, Ceilings(10**9, 100, 10**9))

    def spend(number: int) -> int:
        job_budget = budget.for_job(f"job {number}", f"cookie {number % 10}", network="code")
        try:
            held = job_budget.reserve(15)
        except BudgetError:
            return 0
        job_budget.commit(held, 10)
        return 10

    with ThreadPoolExecutor(30) as pool:
        spent = sum(pool.map(spend, range(150)))
    found = sums(database)
    assert found["total"] == found[f"day {now():%Y-%m-%d} network code"] == (spent, 0)
    assert max(cost for name, (cost, _) in found.items() if " cookie " in name) <= 100
    assert 250 <= spent <= 300


@pytest.mark.locks_or_dialect
def test_another_day_has_a_budget_of_its_own(database):
    budget = Budget(database, Ceilings(1000, 100, 1000))
    number = budget.for_job("job", "ada").reserve(100)
    with database.write() as connection:  # a day goes by
        connection.execute(
            update(BUDGET).where(BUDGET.c.name.like("day%")).values(name="day 2026-01-01 ada")
        )
        connection.execute(update(HOLD).values(day="day 2026-01-01 ada"))
    budget.for_job("job", "ada").reserve(100)
    budget.for_job("job", "ada").commit(number, 70)
    assert sums(database)["day 2026-01-01 ada"] == (70, 0), (
        "a call is settled on the day that it was held on"
    )
    assert spent_by(budget, "job", "ada") == Spent(70, 0, 70)


@pytest.mark.locks_or_dialect
def test_what_a_dead_server_reserved_counts_as_spent(database):
    budget = Budget(database, Ceilings(100, 100, 100))
    job_budget = budget.for_job("job", "ada")
    lost, fresh = job_budget.reserve(60), job_budget.reserve(10)
    grow_old(database, lost, LOST_AGE + timedelta(seconds=1))
    assert budget.commit_lost() == 1
    assert budget.commit_lost() == 0
    assert set(sums(database).values()) == {(60, 10)}
    job_budget.commit(lost, 5)
    assert spent_by(budget, "job", "ada").total == 60, "the upper bound stays"
    job_budget.commit(fresh, 5)
    with pytest.raises(BudgetError):
        job_budget.reserve(36)


def test_what_was_lost_counts_in_the_fund_that_reserved_it(database):
    judge, live = Budget(database, WIDE), Budget(database, WIDE, LIVE)
    grow_old(database, live.for_job("battle", "ada").reserve(60), LOST_AGE + timedelta(seconds=1))
    assert (judge.commit_lost(), live.commit_lost()) == (0, 1)
    assert (judge.total().spent, live.total().spent) == (0, 60)


@pytest.mark.locks_or_dialect
@pytest.mark.parametrize("fund", [JUDGE, LIVE], ids=["judge", "live"])
def test_the_only_server_counts_at_its_start_what_the_one_before_it_held(database, fund):
    """Of several servers, as PostgreSQL has them, others may live."""
    Budget(database, WIDE, fund).for_job("job", "ada").reserve(60)
    budget = Budget(database, WIDE, fund)
    held = budget.for_job("job", "ada").reserve(10)
    assert budget.commit_lost() == (1 if database.is_sqlite else 0)
    assert set(sums(database).values()) == {(60, 10) if database.is_sqlite else (0, 70)}
    budget.commit(held, 5)


@pytest.mark.locks_or_dialect
def test_who_takes_a_job_over_counts_what_it_held_and_no_other(database):
    dead, budget = Budget(database, WIDE), Budget(database, WIDE)
    lost = dead.for_job("job", "ada", network="code").reserve(60)
    dead.for_job("job 2", "bob").reserve(7)
    assert (budget.commit_job("job"), budget.commit_job("job")) == (1, 0)
    dead.commit(lost, 5)  # it is alive after all
    assert spent_by(budget, "job", "ada") == Spent(60, 60, 60)
    assert sums(database)["total"] == (60, 7)


@pytest.mark.locks_or_dialect
def test_who_finds_no_money_is_told_when_it_is_free_at_the_latest(database):
    budget = Budget(database, Ceilings(100, 100, 150))
    budget.for_job("job", "ada").reserve(90)
    for job, user in (("job", "bob"), ("other", "ada"), ("other", "bob")):
        with pytest.raises(BudgetError) as refused:
            budget.for_job(job, user).reserve(70)
        assert refused.value.is_temporary
        assert abs(refused.value.until - now() - LOST_AGE) < timedelta(minutes=1)
    with pytest.raises(BudgetError) as refused:
        budget.for_job("third", "eve").reserve(101)
    assert refused.value.until is None and not refused.value.is_temporary


@pytest.mark.parametrize("amount", [-1, -(10**12)])
def test_money_is_never_given_back(database, amount):
    job_budget = Budget(database, WIDE).for_job("job", "ada")
    number = job_budget.reserve(5)
    with pytest.raises(ValueError, match="never given back"):
        job_budget.reserve(amount)
    with pytest.raises(ValueError, match="never given back"):
        job_budget.commit(number, amount)


@pytest.mark.parametrize("jobs", [20, pytest.param(200, marks=pytest.mark.soak)])
@pytest.mark.locks_or_dialect
def test_many_jobs_at_once_never_pass_the_ceiling(database, jobs):
    """Each takes what it can get; the highest sum of spent and held, seen at every step, is the ceiling at most."""
    ceiling, step = 25 * jobs, 17
    budget = Budget(database, Ceilings(ceiling, ceiling, ceiling))
    highest = []

    def spend(job: int, tries: int = 5) -> int:
        job_budget, spent = budget.for_job(f"job {job}", f"person {job % 20}"), 0
        for _ in range(tries):
            try:
                number = job_budget.reserve(2 * step)
            except BudgetError:
                continue
            with database.read() as connection:
                query = select(func.max(BUDGET.c.spent + BUDGET.c.held))
                highest.append(connection.execute(query).scalar_one())
            job_budget.commit(number, step)
            spent += step
        return spent

    with ThreadPoolExecutor(40) as pool:
        spent = sum(pool.map(spend, range(jobs)))
    # alone: what others held for a moment is free again
    spent += spend(jobs, tries=ceiling // step)
    assert max(highest) <= ceiling
    assert sums(database)["total"] == (spent, 0)
    assert spent > ceiling - 2 * step, "nearly all of it was to be had"


class Sleepy(Budget):
    """A mutant: looks whether there is room, then takes it, in two transactions."""

    def reserve(
        self, job: str, user: str, amount: int, most: int | None = None, network: str | None = None
    ) -> int:
        with self._database.read() as connection:
            taken = (
                connection.scalar(
                    select(BUDGET.c.spent + BUDGET.c.held).where(BUDGET.c.name == "total")
                )
                or 0
            )
        if taken + amount > self._ceilings.total:
            raise BudgetError("full", False)
        return Budget(self._database, WIDE).reserve(job, user, amount)


@pytest.mark.locks_or_dialect
def test_a_careless_budget_would_be_caught(database):
    """The mutant passes the ceiling where the ledger does not: what the test above measures can fail."""

    def spent(budget: Budget) -> int:
        def reserve(job: int) -> None:
            try:
                budget.for_job(f"{job}", f"{job}").reserve(10)
            except BudgetError:
                return

        with ThreadPoolExecutor(40) as pool:
            list(pool.map(reserve, range(100)))
        return sum(sums(database)["total"])

    sound, careless = Ceilings(10**9, 10**9, 200), Ceilings(10**9, 10**9, 400)
    assert spent(Budget(database, sound)) == 200
    assert spent(Sleepy(database, careless)) > 400


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.booleans()), max_size=30))
def test_any_order_of_holds_and_settlements_adds_up(tmp_path_factory, steps):
    """Without `database`: hypothesis starts anew for each example, on a file of its own."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'arena.db'}")
    budget = Budget(database, Ceilings(200, 200, 200))
    held: dict[int, int] = {}
    spent = 0
    for amount, cost, now_settled in steps:
        try:
            held[budget.reserve("job", "ada", amount)] = amount
            assert spent + sum(held.values()) <= 200
        except BudgetError as error:
            assert spent + sum(held.values()) + amount > 200
            assert error.is_temporary == (spent + amount <= 200)
        if now_settled and held:
            number, most = held.popitem()
            budget.commit(number, min(cost, most))
            spent += min(cost, most)
    assert spent_by(budget, "job", "ada") == Spent(spent, spent, spent)
    database.close()


@pytest.mark.locks_or_dialect
def test_what_this_day_cost_counts_each_cost_once(database):
    """A guest's network has a day budget beside the guest's own; other days and funds are not this day's."""
    judge, live = Budget(database, WIDE), Budget(database, WIDE, LIVE)
    for budget, user, network, amount in (
        (judge, "ada", "n1", 5),
        (judge, "bob", None, 7),
        (live, "ada", None, 90),
    ):
        job_budget = budget.for_job("job", user, network=network)
        job_budget.commit(job_budget.reserve(amount), amount)
    with database.write() as connection:
        connection.execute(insert(BUDGET).values(name="day 2020-01-01 ada", spent=300, held=0))
    assert (judge.total().today, live.total().today) == (12, 90)
