"""A run's first tasks try its judge out: one that nobody can read is stopped before the rest is paid."""

import asyncio
from collections.abc import Callable, Generator, Sequence

import pytest

from arena.budget import RunBudget
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.judges import run
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeUnreadable
from scoring.judges.rate_limit import RateLimits
from scoring.judges.run import Task, run_tasks
from scoring.judges.spec import Ask, Message, Reply
from tests.support import judged_reports
from tests.support.judging_process import HASTY, SPEC
from tests.support.openai_server import OpenAIServer, prompt

database, cache = judged_reports.database, judged_reports.cache
ATTEMPTS = 3
TOO_LONG = (400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
Answer = str | None


def asking(text: str) -> Generator[Ask, Reply, Answer]:
    """Ask until a reply is a number, three times at most."""
    for _ in range(ATTEMPTS):
        reply = yield Ask((Message("user", text),))
        if reply.texts[0].isdecimal():
            return reply.texts[0]
    return None


def tasks(texts: Sequence[str]) -> list[Task[Answer]]:
    def begun(text: str) -> Callable[[], Generator[Ask, Reply, Answer]]:
        return lambda: asking(text)

    return [Task(0, begun(text), str, is_read=lambda answer: answer is not None) for text in texts]


def outcomes(
    server: OpenAIServer, cache: ReplyCache, texts: Sequence[str], pace: RateLimits = HASTY
) -> tuple[Answer, ...]:
    async def work() -> tuple[Answer, ...]:
        async with Judge(SPEC, Endpoint(server.address, Secret("sk-test")), pace) as judge:
            return await run_tasks(tasks(texts), judge, cache, lambda told: None, asyncio.Event())

    return asyncio.run(asyncio.wait_for(work(), 60))


def test_a_run_says_that_it_waits_for_money_that_its_own_calls_hold(cache, monkeypatch):
    monkeypatch.setattr(run, "RESERVE_SECONDS", 0.01)
    budget = RunBudget(1_000_000)
    held = budget.reserve(999_999)
    waits = set()

    def tell(progress: run.Progress) -> None:
        waits.add(progress.waits)
        if progress.waits:
            budget.commit(held, 0)

    async def work(address: str) -> tuple[Answer, ...]:
        endpoint = Endpoint(address, Secret("sk-test"))
        async with Judge(SPEC, endpoint, HASTY, budget) as judge:
            return await run_tasks(tasks(["question 1."]), judge, cache, tell, asyncio.Event())

    with OpenAIServer(lambda body, sample: "7") as server:
        assert asyncio.run(asyncio.wait_for(work(server.address), 60)) == ("7",)
    assert "for money that other calls hold" in waits


TEXTS = [f"question {number}." for number in range(40)]


def number_of(body) -> int:
    return int(prompt(body).removeprefix("question ").removesuffix("."))


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_judge_that_nobody_can_read_is_asked_six_questions(cache, concurrency):
    pace = RateLimits(concurrency=concurrency)
    with (
        OpenAIServer(lambda body, sample: f"Hm, {number_of(body)}") as server,
        pytest.raises(JudgeUnreadable) as stopped,
    ):
        outcomes(server, cache, TEXTS, pace)
    asked = {number_of(body) for body in server.counts.bodies}
    assert len(asked) <= 6 and server.counts.calls < 6 * ATTEMPTS
    assert "couldn't read the last 10 replies of test-judge, such as 'Hm, " in str(stopped.value)
    assert "' and 'Hm, " in str(stopped.value) and "Choose another judge" in str(stopped.value)


def test_six_outcomes_without_a_reading_are_enough(cache, monkeypatch):
    """Where a protocol asks but once, ten replies would be ten questions."""
    monkeypatch.setattr("tests.scoring.judges.test_run.ATTEMPTS", 1)
    with OpenAIServer(lambda body, sample: "Hm.") as server, pytest.raises(JudgeUnreadable):
        outcomes(server, cache, TEXTS)
    assert server.counts.calls == 6


def test_one_reading_among_six_lets_all_be_asked(cache):
    def reply(body, sample: int) -> str:
        return "Hm." if number_of(body) < 5 and len(server.counts.bodies) < 10 else "7"

    with OpenAIServer(reply) as server:
        found = outcomes(server, cache, TEXTS)
    assert found == ("7",) * 40


def test_nothing_else_is_asked_before_a_reply_is_read(cache):
    with OpenAIServer(lambda body, sample: "7", latency=0.05) as server:
        assert outcomes(server, cache, TEXTS) == ("7",) * 40
    assert len({number_of(body) for body in server.counts.bodies}) == 40
    assert server.counts.times[6] - server.counts.times[0] >= 0.05


def test_few_questions_are_judged_to_their_end(cache):
    with OpenAIServer(lambda body, sample: "Hm.") as server:
        assert outcomes(server, cache, TEXTS[:3]) == (None,) * 3
    assert server.counts.calls == 3 * ATTEMPTS


def test_refused_questions_tell_nothing_of_a_judge(cache):
    with OpenAIServer(lambda body, sample: "7") as server:
        server.refusal = lambda body: TOO_LONG if number_of(body) < 10 else None
        answers = outcomes(server, cache, TEXTS)
    assert all("too long" in answer for answer in answers[:10]), "the reason is the outcome"
    assert answers[10:] == ("7",) * 30


def test_equal_questions_do_not_wait_for_one_another(cache):
    with OpenAIServer(lambda body, sample: "Hm.") as server, pytest.raises(JudgeUnreadable):
        outcomes(server, cache, TEXTS[:1] * 40)
    assert server.counts.calls == ATTEMPTS, "equal calls are made once"


def test_a_stopped_run_goes_on_where_it_was(cache):
    with OpenAIServer(lambda body, sample: "Hm.") as server:
        with pytest.raises(JudgeUnreadable):
            outcomes(server, cache, TEXTS)
        paid = server.counts.calls
        server.score = lambda body, sample: str(number_of(body))
        found = outcomes(server, cache, TEXTS)
    assert found.count(None) <= paid // ATTEMPTS, "of these all replies are known"
    assert all(answer in (None, str(number)) for number, answer in enumerate(found))
    assert server.counts.calls <= paid + 40
