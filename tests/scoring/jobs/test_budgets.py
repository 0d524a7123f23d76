"""What a scoring costs: told before, never more than that, and never past a ceiling."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from arena.budget import Budget, BudgetError, Ceilings, RunBudget
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.benchmarks.mm_vet import Options
from scoring.judges import run as judging
from scoring.judges.client import Judge, JudgeUnreadable
from scoring.judges.spec import Ask, Message, likely_completion
from scoring.registry import quote
from tests.support import judged_reports
from tests.support.budgets import spent_by
from tests.support.judge_forms import ask_to_the_end
from tests.support.judged_reports import scored
from tests.support.judging_process import CALLS, HASTY, SPEC, WIDE, drafted
from tests.support.openai_server import OpenAIServer, steady_score

database, cache = judged_reports.database, judged_reports.cache


@pytest.fixture
def short_waits(monkeypatch) -> None:
    monkeypatch.setattr(judging, "RESERVE_SECONDS", 0.02)


def test_a_quote_tells_the_calls_before_and_none_after(cache):
    with OpenAIServer() as server:
        report = drafted(server.address)
        before = quote(report, SPEC, None, cache)
        scored(server, cache, report)
        after = quote(report, SPEC, None, cache)
        assert (before.grades, before.calls, before.cached) == (CALLS, server.counts.calls, 0)
        told = sum(
            len(message["content"]) // 4 + 8
            for body in server.counts.bodies
            for message in body["messages"]
        )
    assert abs(before.prompt_tokens - told) < 0.2 * told
    assert (after.calls, after.cached, after.dollars, after.most_dollars) == (0, CALLS, 0.0, 0.0)
    assert before.dollars and before.most_dollars and 0 < before.dollars < before.most_dollars
    assert before.corrected(2.0).dollars == pytest.approx(2 * before.dollars, rel=0.1)


def test_a_quote_counts_what_follows_known_replies_that_could_not_be_read(cache, monkeypatch):
    monkeypatch.setattr(judging, "UNREADABLE_IN_A_ROW", 1)
    with OpenAIServer(lambda body, sample: "Hm.") as server:
        report = drafted(server.address)
        with pytest.raises(JudgeUnreadable):
            scored(server, cache, report)
        known = server.counts.calls
        told = quote(report, SPEC, None, cache)
        assert (told.calls, told.cached) == (CALLS, known)
        assert told.dollars and told.most_dollars
        server.score = steady_score
        again = scored(server, cache, report)
    assert server.counts.calls == known + CALLS, "what was told is asked, and no more"
    assert all(grade.score is not None for row in again.rows for grade in row.grades)
    assert quote(report, SPEC, None, cache).calls == 0


def test_money_that_unread_replies_used_up_is_told_by_them(
    cache, database, short_waits, monkeypatch
):
    ask_to_the_end(monkeypatch)
    budget = Budget(database, Ceilings(30_000, 10**9, 10**9))
    with (
        OpenAIServer(lambda body, sample: "Hm.") as server,
        pytest.raises(
            JudgeUnreadable, match=r"We couldn't read the last \d+ replies of test-judge"
        ),
    ):
        scored(server, cache, job_budget=budget.for_job("job", "ada"))


def test_a_quote_without_a_price_tells_no_cost(cache):
    told = quote(drafted("http://a"), replace(SPEC, price=None), None, cache)
    assert told.calls == CALLS and told.dollars is None and told.most_dollars is None


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(Options(runs=1), id="hardened"),
        pytest.param(Options("paper", 1), id="paper", marks=pytest.mark.soak),
        pytest.param(Options(runs=2, sampled=True), id="sampled", marks=pytest.mark.soak),
    ],
)
def test_what_it_costs_at_most_is_never_passed(cache, database, options, short_waits, monkeypatch):
    """By a judge whose replies nobody can read, so that more is asked than was estimated: it stops at the bound."""
    ask_to_the_end(monkeypatch)
    budget = Budget(database, WIDE)
    with OpenAIServer(score=lambda body, sample: "well, it depends") as server:
        report = drafted(server.address, options=options)
        before = quote(report, SPEC, None, cache)
        with suppress(JudgeUnreadable):
            scored(server, cache, report, job_budget=budget.for_job("job", "ada", before.most))
        assert server.counts.calls > before.calls
    assert 0 < spent_by(budget, "job", "ada").job <= before.most
    assert before.most_dollars <= 3 * before.dollars + 1e-6


def test_a_run_stops_at_its_own_budget_and_calls_on_their_way_count(cache, short_waits):
    with OpenAIServer(latency=0.01) as server:
        with pytest.raises(BudgetError, match=r"This run's budget is \$0.03. \$0.0\d is spent"):
            scored(server, cache, job_budget=RunBudget(30_000))
        assert 0 < server.counts.calls < CALLS


def test_hidden_tokens_are_estimated_and_corrected_by_the_replies():
    thinker = replace(SPEC, reasoning_tokens=4096)
    ask = Ask((Message("user", "Hello"),), reply_tokens=32)
    assert (likely_completion(SPEC, ask), likely_completion(thinker, ask)) == (8, 308)

    async def ratio(server: OpenAIServer) -> tuple[float, float]:
        async with Judge(thinker, Endpoint(server.address, Secret("sk-test")), HASTY) as judge:
            before = judge.cost_per_estimate
            await judge.ask(ask)
            return before, judge.cost_per_estimate

    with OpenAIServer(lambda body, sample: "0.5", reasoning=1200) as server:
        before, after = asyncio.run(ratio(server))
    assert before == 1.0 and 3 < after < 5, "it thinks four times as long as was assumed"


def test_a_full_budget_stops_it_and_what_is_judged_stays(cache, database, short_waits):
    budget = Budget(database, Ceilings(30_000, 10**9, 10**9))
    with OpenAIServer() as server:
        with pytest.raises(BudgetError, match="JUDGE_JOB_BUDGET"):
            scored(server, cache, job_budget=budget.for_job("job", "ada"))
        calls = server.counts.calls
        assert 0 < calls < CALLS
        assert quote(drafted(server.address), SPEC, None, cache).cached == calls
    assert spent_by(budget, "job", "ada").job <= 30_000


def test_money_on_its_way_is_waited_for(cache, database, short_waits):
    """The ceiling has room for what the calls cost, and for few upper bounds at one time."""
    budget = Budget(database, Ceilings(10**9, 10**9, 60_000))
    with OpenAIServer(latency=0.01) as server:
        report = scored(server, cache, job_budget=budget.for_job("job", "ada"))
        assert server.counts.calls == CALLS
    assert None not in {grade.score for row in report.rows for grade in row.grades}
    assert 30_000 < spent_by(budget, "job", "ada").total <= 60_000
