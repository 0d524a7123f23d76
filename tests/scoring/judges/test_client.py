"""The judge's client against a real server on loopback: faults, pace, money, secrets and addresses."""

import asyncio
import base64
import gzip
import json
import logging
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.inference.endpoint import Endpoint, EndpointError
from arena.inference.limits import cost
from arena.inference.trouble import Retries, Trouble, asked_wait, refusal
from arena.io.fetch import Fetcher
from arena.network import is_public
from arena.types import Secret
from scoring.judges import rate_limit
from scoring.judges.client import (
    AskRefused,
    Judge,
    JudgeAnswer,
    JudgeFailed,
    JudgeStopped,
    JudgeUnknown,
    JudgeUnreadable,
    probe,
    read_answer,
)
from scoring.judges.rate_limit import RateLimiter, RateLimits, ReplyTimes
from scoring.judges.spec import Ask, JudgeSpec, Message, Price, Reply, most_cost
from tests.support.certificates import HOST
from tests.support.judging_process import tls
from tests.support.openai_server import (
    PAID,
    PASSING,
    TEXTS,
    Fault,
    Faults,
    OpenAIServer,
    steady_score,
)
from tests.support.virtual_time import run

KEY = "sk-planted-Zq7_0123456789"
SPEC = JudgeSpec("test-judge", True, "max_tokens", True, True, True, 0, Price(2.0, 8.0))
HASTY = RateLimits(concurrency=8, timeout=30.0, attempts=4, backoff=0.01)
BREAKDOWNS: tuple[Fault, ...] = (*(kind for kind in PASSING if kind not in TEXTS), "drip")
"""Faults that the client itself gets over."""
T = TypeVar("T")


def question(text: str = "What is it? | a cat | a dog | ", **fields: Any) -> Ask:
    return Ask((Message("user", text),), **fields)


def address(server: OpenAIServer) -> Endpoint:
    return Endpoint(server.address, Secret(KEY))


def with_judge(
    server: OpenAIServer,
    work: Callable[[Judge], Awaitable[T]],
    spec: JudgeSpec = SPEC,
    pace: RateLimits = HASTY,
    **more: Any,
) -> T:
    """Return what `work` makes of a judge on this server."""

    async def worked() -> T:
        async with Judge(spec, address(server), pace, **more) as judge:
            return await work(judge)

    return asyncio.run(worked())


def failing(kind: Fault, in_a_row: int = 1000, **fields: Any) -> OpenAIServer:
    return OpenAIServer(faults=Faults(1.0, kinds=(kind,), in_a_row=in_a_row, hang=5.0, **fields))


@dataclass
class Recorder:
    """A purse that remembers."""

    held: list[int] = field(default_factory=list)
    settled: dict[int, int] = field(default_factory=dict)

    def reserve(self, amount: int) -> int:
        """Hold an amount."""
        self.held.append(amount)
        return len(self.held) - 1

    def commit(self, number: int, amount: int) -> None:
        """Settle an amount, once."""
        assert number not in self.settled
        self.settled[number] = amount


def test_a_reply_arrives_whole():
    with OpenAIServer() as server:
        ask = question(temperature=0.0, reply_tokens=3, seed=4)
        reply = with_judge(server, lambda judge: judge.ask(ask))
    (body,) = server.counts.bodies
    assert body["seed"] == 4 and body["max_tokens"] == 3 and "n" not in body
    assert reply.texts == (steady_score(body, 0),) and reply.finish == ("stop",)
    assert (
        reply.model == "test-judge-2026-01-01"
        and reply.prompt_tokens > 0
        and reply.completion_tokens > 0
    )
    assert server.counts.keys == {KEY}


def test_samples_come_in_one_call():
    with OpenAIServer() as server:
        reply = with_judge(server, lambda judge: judge.ask(question(samples=5)))
    assert server.counts.calls == 1 and len(reply.texts) == len(reply.finish) == 5
    assert reply.texts == tuple(steady_score(server.counts.bodies[0], run) for run in range(5))


def test_estimates_are_corrected_by_what_the_replies_say():
    with OpenAIServer() as server:

        async def work(judge: Judge) -> tuple[float, float]:
            before = judge.tokens_per_estimate
            await judge.ask(question("word " * 4000))
            return before, judge.tokens_per_estimate

        before, after = with_judge(server, work)
    assert before == 1.0 and after == pytest.approx(5008 / 5007)


# Faults


def patient_with(kind: Fault) -> RateLimits:
    """A pace that gives a call up soon only where the fault is that it never ends: a machine may stand still."""
    return replace(HASTY, timeout=0.6) if kind in ("hang", "drip") else HASTY


@pytest.mark.parametrize(
    "kind", [*BREAKDOWNS[:-1], pytest.param(BREAKDOWNS[-1], marks=pytest.mark.soak)]
)
def test_a_passing_fault_is_got_over(kind):
    with failing(kind, in_a_row=2) as server:
        reply = with_judge(server, lambda judge: judge.ask(question()), pace=patient_with(kind))
    assert server.counts.calls == 3
    assert reply.texts == (steady_score(server.counts.bodies[0], 0),)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_is_no_score_is_a_reply(kind):
    with failing(kind) as server:
        assert with_judge(server, lambda judge: judge.ask(question())).texts == (TEXTS[kind],)
    assert server.counts.calls == 1


@pytest.mark.parametrize("kind", ["429 with Retry-After", "503", "reset", "drip", "broken JSON"])
def test_a_lasting_fault_ends_after_the_last_attempt(kind):
    """The best of three, so that a busy machine does not decide."""
    took: list[float] = []
    while len(took) < 3 and min(took, default=5.0) >= 5:
        start = time.monotonic()
        with (
            failing(kind) as server,
            pytest.raises(JudgeFailed, match="in 4 attempts. The last failure: "),
        ):
            with_judge(
                server, lambda judge: judge.ask(question()), pace=replace(HASTY, timeout=0.3)
            )
        assert server.counts.calls == 4
        took.append(time.monotonic() - start)
    assert min(took) < 5, took


def test_many_questions_with_faults_get_the_replies_of_the_undisturbed_run():
    asks = [
        question(f"What is {number}? | it | a thing | ", seed=number % 5) for number in range(60)
    ]
    pace = replace(HASTY, concurrency=16, attempts=8, timeout=2.0)

    def texts(faults: Faults) -> list[tuple[str, ...]]:
        with OpenAIServer(faults=faults) as server:
            replies = with_judge(
                server, lambda judge: asyncio.gather(*map(judge.ask, asks)), pace=pace
            )
        assert server.counts.paid <= 1.4 * len(asks)
        return [reply.texts for reply in replies]

    assert texts(Faults(0.3, kinds=BREAKDOWNS, hang=5.0)) == texts(Faults())


@pytest.mark.parametrize(
    ("kind", "said"),
    [("401", "doesn't accept the key"), ("insufficient_quota", "no quota or credit left")],
)
def test_a_hopeless_error_stops_at_once_and_for_all(kind, said):
    with failing(kind) as server:

        async def work(judge: Judge) -> list[object]:
            first = await asyncio.gather(judge.ask(question()), return_exceptions=True)
            more = await asyncio.gather(
                *(judge.ask(question()) for _ in range(20)), return_exceptions=True
            )
            return [*first, *more]

        errors = with_judge(server, work)
    assert server.counts.calls == 1
    assert all(isinstance(error, JudgeStopped) and said in str(error) for error in errors)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"models": ("another",)}, "doesn't know this model"),
        ({"refused": ("temperature",)}, "doesn't accept temperature"),
    ],
)
def test_an_unknown_model_or_a_field_that_it_refuses_stops_at_once(fields, said):
    with OpenAIServer(**fields) as server, pytest.raises(JudgeStopped, match=said):
        with_judge(server, lambda judge: judge.ask(question()))
    assert server.counts.calls == 1


def http(status: int, body: object = b"{}", *headers: str) -> bytes:
    """Return a whole HTTP answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [
        f"HTTP/1.1 {status} Said",
        f"Content-Length: {len(raw)}",
        "Content-Type: application/json",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + raw


def completion(text: object, **fields: object) -> dict[str, object]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return {"model": "m", "choices": [{**choice, **fields}]}


def test_one_refused_prompt_leaves_the_others_alone():
    with OpenAIServer() as server:
        server.answers.append(
            http(400, {"error": {"code": "content_filter", "message": "filtered"}})
        )

        async def work(judge: Judge) -> str:
            with pytest.raises(AskRefused, match="content policy refuses this prompt"):
                await judge.ask(question())
            return (await judge.ask(question())).texts[0]

        assert with_judge(server, work)


def test_a_filtered_and_an_empty_reply_are_replies():
    with OpenAIServer() as server:
        server.answers += [
            http(200, completion(None, finish_reason="content_filter")),
            http(200, completion(None, message={"content": None, "refusal": "No."})),
        ]

        async def work(judge: Judge) -> list[Any]:
            return [await judge.ask(question()), await judge.ask(question())]

        filtered, refused = with_judge(server, work)
    assert (filtered.texts, filtered.finish) == (("",), ("content_filter",))
    assert refused.texts == ("No.",) and refused.prompt_tokens > 0


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (
            400,
            {
                "code": "unsupported_parameter",
                "param": "max_tokens",
                "message": "Unsupported parameter",
            },
            "field",
        ),
        (400, {"code": "unsupported_value", "param": "temperature", "message": "Only 1"}, "field"),
        (422, {"message": "Extra inputs are not permitted: seed"}, "field"),
        (400, {"code": "content_policy_violation", "message": "no"}, "refused"),
        (400, {"code": "invalid_prompt", "message": "flagged as violating"}, "refused"),
        (
            400,
            {"code": "context_length_exceeded", "message": "maximum context length is 8192"},
            "too big",
        ),
        (413, {"message": "Request Entity"}, "too big"),
        (400, {"message": "Something else"}, "refused"),
        (400, {"message": "API key not valid"}, "hopeless"),
        (400, {"message": "foo is not a valid model: unknown model"}, "unknown"),
        (400, {"code": "model_not_found", "message": "?"}, "unknown"),
        (401, {"message": "?"}, "hopeless"),
        (402, {"message": "?"}, "spent"),
        (403, {"message": "?"}, "hopeless"),
        (404, {"message": "?"}, "unknown"),
        (405, {"message": "?"}, "hopeless"),
        (302, {"message": "?"}, "hopeless"),
        (429, {"code": "rate_limit_exceeded", "message": "slow down"}, "busy"),
        (429, {"type": "insufficient_quota", "message": "?"}, "spent"),
        (429, {"code": "billing_hard_limit_reached", "message": "?"}, "spent"),
        (408, {}, "again"),
        (409, {}, "again"),
        (500, {}, "again"),
        (503, {}, "again"),
        (529, {}, "again"),
        (504, {}, "again"),
        (524, {}, "again"),
    ],
)
def test_what_a_status_means(status, error, kind):
    found = refusal(status, {}, {"error": error})
    assert found.kind == kind
    assert refusal(status, {}, error).kind == kind


def test_a_server_that_sends_no_json_with_its_error_is_understood():
    assert refusal(429, {}, "<html>insufficient_quota</html>").kind == "spent"
    assert refusal(502, {}, "<html>").kind == "again"
    assert refusal(400, {}, None).kind == refusal(400, {}, ["?"]).kind == "refused"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:30 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 99999 00:00:30 GMT"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0.5s"}, 360.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "120ms"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, None),
    ],
)
def test_asked_wait(headers, seconds):
    assert asked_wait(headers, now=10.0) == seconds


def test_the_server_is_not_asked_before_it_said():
    """And soon after it: the best of three, so that a busy machine does not decide."""
    waits: list[float] = []
    while len(waits) < 3 and min(waits, default=3.0) >= 3:
        with failing("429 with Retry-After", in_a_row=1, retry_after="0.3") as server:
            with_judge(server, lambda judge: judge.ask(question()))
        first, second = server.counts.times
        waits.append(second - first)
    assert 0.3 <= min(waits) < 3.0, waits


def test_waits_are_short_and_grow_with_jitter_or_are_what_the_server_asked():
    pace = Retries()
    for attempt, most in ((1, 0.05), (2, 0.15), (3, 0.45), (7, 8.0)):
        waits = [pace.seconds_to_wait(attempt, None) for _ in range(100)]
        assert most / 2 <= min(waits) < max(waits) <= most
    assert (
        all(7.0 <= pace.seconds_to_wait(1, 7.0) <= 7.025 for _ in range(100))
        and pace.seconds_to_wait(1, 86400.0) <= 120.025
    )


def test_all_calls_wait_where_the_server_says_so_and_else_only_the_refused_one():
    """Of two questions at once the first is refused."""

    def gap(*headers: str) -> float:
        """Seconds between the two, of which the refused one waits by itself for four to eight."""
        with OpenAIServer() as server:
            server.answers = [http(429, {"error": {"message": "slow down"}}, *headers)]

            async def work(judge: Judge) -> None:
                first = asyncio.create_task(judge.ask(question("first")))
                while server.running or not server.counts.calls:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.5)
                await judge.ask(question("second"))
                first.cancel()

            with_judge(server, work, pace=replace(HASTY, backoff=120.0))
        assert [body["messages"][0]["content"] for body in server.counts.bodies] == [
            "first",
            "second",
        ]
        return server.counts.times[1] - server.counts.times[0]

    assert gap("Retry-After: 1") >= 1.0
    assert gap() < 4.0


def test_a_call_that_hangs_is_given_up_early_once_it_is_known_how_long_replies_take(monkeypatch):
    times = ReplyTimes(60.0)

    async def work() -> str:
        hanging = asyncio.create_task(hang())
        for _ in range(20):
            assert times.limit(1) == 60.0
            async with times.time_call(0):
                await asyncio.sleep(0)
        return await hanging

    async def hang() -> str:
        with pytest.raises(Trouble, match="no reply within 0.2 seconds") as caught:
            async with times.time_call(0):
                await asyncio.sleep(50)
        return caught.value.kind

    with monkeypatch.context() as short:
        short.setattr(rate_limit, "_LEAST_SECONDS", 0.2)
        assert run(work()) == "slow"
    assert [times.limit(given_up) for given_up in range(4)] == [2.0, 8.0, 32.0, 60.0]


def test_a_call_may_take_longer_only_after_one_that_took_too_long(monkeypatch):
    with OpenAIServer() as server:

        async def work(judge: Judge) -> None:
            for number in range(20):
                await judge.ask(question(f"question {number}"))
            server.answers = [http(503, {"error": {}}), http(503, {"error": {}})]
            server.faults = Faults(1.0, kinds=("hang",), in_a_row=1000)
            monkeypatch.setattr(rate_limit, "_LEAST_SECONDS", 0.25)
            monkeypatch.setattr(judge._reply_times, "_slowest", 0.0)
            await judge.ask(question())

        with pytest.raises(
            JudgeFailed,
            match=r"The judge didn't reply in 4 attempts. The last failure: .* 1 second",
        ):
            with_judge(server, work)


def test_many_failures_in_a_row_open_the_circuit_breaker():
    with failing("500") as server:

        async def work(judge: Judge) -> list[object]:
            return await asyncio.gather(
                *(judge.ask(question()) for _ in range(50)), return_exceptions=True
            )

        errors = with_judge(server, work, pace=replace(HASTY, concurrency=2, attempts=100))
    assert all(isinstance(error, JudgeStopped) and "Resume later" in str(error) for error in errors)
    assert 12 <= server.counts.calls <= 12 + 2


def test_a_busy_server_opens_no_breaker_and_is_asked_less_often():
    with failing("429", in_a_row=2) as server:
        asks = [question(f"question {number}") for number in range(40)]
        pace = replace(HASTY, concurrency=20, attempts=8)
        replies = with_judge(server, lambda judge: asyncio.gather(*map(judge.ask, asks)), pace=pace)
    assert len(replies) == 40


# Pace


def test_no_more_calls_at_one_time_than_agreed():
    with OpenAIServer(latency=0.1) as server:
        asks = [question(f"question {number}") for number in range(15)]
        with_judge(
            server,
            lambda judge: asyncio.gather(*map(judge.ask, asks)),
            pace=replace(HASTY, concurrency=5),
        )
    assert server.counts.at_once == 5


def test_a_call_that_waits_for_its_place_is_not_yet_late():
    with OpenAIServer(latency=0.15) as server:
        asks = [question(f"question {number}") for number in range(8)]
        pace = replace(HASTY, concurrency=1, timeout=1.0)
        with_judge(server, lambda judge: asyncio.gather(*map(judge.ask, asks)), pace=pace)
    assert server.counts.calls == 8


class Noting(RateLimiter):
    """A rate limiter that notes when the first call asked for its turn, and when each got it."""

    def __init__(self, pace: RateLimits) -> None:
        super().__init__(pace)
        self._asked: list[float] = []
        self._turns: list[float] = []

    async def wait_turn(self, tokens: int) -> None:
        self._asked.append(time.monotonic())
        await super().wait_turn(tokens)
        self._turns.append(time.monotonic())

    def assert_spaced(self, calls: int, seconds: float) -> None:
        """No call came before its turn, however late a busy machine lets it come."""
        assert len(self._turns) == calls
        for number, at in enumerate(sorted(self._turns)):
            assert at - min(self._asked) >= number * seconds - 0.001, (number, self._turns)


@pytest.mark.parametrize(
    ("pace", "hidden"),
    [
        (RateLimits(requests_per_minute=1200), 0),
        (RateLimits(tokens_per_minute=1200 * 50), 0),
        (RateLimits(tokens_per_minute=1200 * 50), 10),
    ],
    ids=["requests", "tokens", "tokens with hidden ones"],
)
def test_calls_are_spaced_out(pace, hidden):
    reply_tokens = 50 - 33 - hidden
    asks = [question("x" * 100 + f"{number:4}", reply_tokens=reply_tokens) for number in range(10)]
    meter = Noting(pace)
    spec = replace(SPEC, reasoning_tokens=hidden)
    with OpenAIServer(score=lambda _body, _sample: "0.5") as server:
        with_judge(
            server,
            lambda judge: asyncio.gather(*map(judge.ask, asks)),
            spec=spec,
            pace=pace,
            meter=meter,
        )
    meter.assert_spaced(10, 0.05)


def test_judges_that_share_a_key_share_its_pace():
    pace = RateLimits(requests_per_minute=1200)
    meter = Noting(pace)

    async def work(server: OpenAIServer) -> None:
        async with (
            Judge(SPEC, address(server), pace, meter=meter) as one,
            Judge(SPEC, address(server), pace, meter=meter) as two,
        ):
            await asyncio.gather(*(judge.ask(question()) for judge in (one, two) * 5))

    with OpenAIServer() as server:
        asyncio.run(work(server))
    meter.assert_spaced(10, 0.05)


def test_judges_that_share_a_key_share_its_places():
    pace = replace(HASTY, concurrency=2)

    async def work(server: OpenAIServer) -> None:
        meter = RateLimiter(pace)
        async with (
            Judge(SPEC, address(server), pace, meter=meter) as one,
            Judge(SPEC, address(server), pace, meter=meter) as two,
        ):
            await asyncio.gather(*(judge.ask(question()) for judge in (one, two) * 5))

    with OpenAIServer(latency=0.05) as server:
        asyncio.run(work(server))
    assert server.counts.at_once == 2


def test_calls_that_a_pause_holds_back_are_spaced_out_after_it():
    async def turns() -> list[float]:
        meter, begun = RateLimiter(RateLimits(requests_per_minute=3000)), time.monotonic()

        async def turn() -> float:
            await meter.wait_turn(1)
            return time.monotonic() - begun

        asked = asyncio.gather(*(turn() for _ in range(8)))
        await asyncio.sleep(0)
        meter.pause(0.3)
        return sorted(await asked)

    for number, at in enumerate(asyncio.run(turns())[1:]):
        assert at >= 0.29 + number * 0.02


# Money


def test_a_reply_costs_what_its_usage_says():
    job_budget = Recorder()
    with OpenAIServer() as server:
        ask = question(reply_tokens=3)
        reply = with_judge(server, lambda judge: judge.ask(ask), job_budget=job_budget)
    assert job_budget.held == [most_cost(SPEC, ask)]
    assert job_budget.settled == {0: cost(SPEC.price, reply.prompt_tokens, reply.completion_tokens)}
    assert job_budget.settled[0] < job_budget.held[0]


def test_a_reply_whose_prompt_has_no_tokens_costs_its_bound():
    job_budget, usage = Recorder(), {"prompt_tokens": 0, "completion_tokens": 0}
    said = json.dumps(
        {"choices": [{"message": {"content": "1"}, "finish_reason": "stop"}], "usage": usage}
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n".encode()
    with OpenAIServer() as server:
        server.answers = [head + said]
        reply = with_judge(server, lambda judge: judge.ask(question()), job_budget=job_budget)
    assert reply.prompt_tokens > 0 and job_budget.settled == {0: job_budget.held[0]}


@pytest.mark.parametrize(
    "kind", [*BREAKDOWNS[:-1], pytest.param(BREAKDOWNS[-1], marks=pytest.mark.soak)]
)
def test_a_failed_attempt_costs_its_bound_unless_it_cannot_have_been_billed(kind):
    job_budget = Recorder()
    with failing(kind, in_a_row=1) as server:
        with_judge(
            server,
            lambda judge: judge.ask(question()),
            pace=patient_with(kind),
            job_budget=job_budget,
        )
    told = kind in ("no choices", "no finish_reason")
    expected = job_budget.settled[1] if told else job_budget.held[0] if kind in PAID else 0
    assert (
        job_budget.settled[0] == expected and len(job_budget.settled) == len(job_budget.held) == 2
    )


def test_a_refused_connection_costs_nothing():
    job_budget = Recorder()
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        nowhere = Endpoint(f"http://127.0.0.1:{probing.getsockname()[1]}/v1", Secret(KEY))

        async def asked() -> None:
            async with Judge(SPEC, nowhere, HASTY, job_budget) as judge:
                await judge.ask(question())

        with pytest.raises(JudgeFailed, match="can't be reached"):
            asyncio.run(asked())
    assert list(job_budget.settled.values()) == [0, 0, 0, 0]


def test_a_call_that_is_cancelled_costs_its_bound():
    job_budget = Recorder()
    with OpenAIServer(latency=60.0) as server:

        async def work(judge: Judge) -> None:
            task = asyncio.create_task(judge.ask(question()))
            while not server.running:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with_judge(server, work, job_budget=job_budget)
    assert job_budget.settled == {0: job_budget.held[0]}


def test_a_reservation_that_is_cancelled_is_given_back():
    begun, cancelled = threading.Event(), threading.Event()

    class Slow(Recorder):
        def reserve(self, amount: int) -> int:
            begun.set()
            cancelled.wait(60)
            return super().reserve(amount)

    job_budget = Slow()
    with OpenAIServer() as server:

        async def work(judge: Judge) -> None:
            task = asyncio.create_task(judge.ask(question()))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0)
            cancelled.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        with_judge(server, work, job_budget=job_budget)
    assert job_budget.settled == {0: 0} and server.counts.calls == 0


def test_without_money_nothing_is_sent():
    class EmptyError(Exception):
        pass

    class Empty(Recorder):
        def reserve(self, amount: int) -> int:
            raise EmptyError("the job's ceiling is in the way")

    with OpenAIServer() as server, pytest.raises(EmptyError):
        with_judge(server, lambda judge: judge.ask(question()), job_budget=Empty())
    assert server.counts.calls == 0


# Secrets


def traces() -> list[str]:
    """Return how the key may be written, in base64 also after "Bearer "."""
    coded = [base64.b64encode(text.encode()).decode() for text in (KEY, f"Bearer {KEY}")]
    return [KEY, *(code[8:-4] for code in coded), coded[0][:-4]]


@pytest.mark.parametrize(
    "kind", ["401", "insufficient_quota", "500", "429", "HTML", "reset", "hang"]
)
def test_the_key_is_in_no_error_and_no_log(kind, caplog):
    caplog.set_level(logging.DEBUG)
    with failing(kind) as server:

        async def work(judge: Judge) -> str:
            try:
                await judge.ask(question())
            except (JudgeStopped, JudgeFailed) as error:
                logging.getLogger("test").exception("failed")
                return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(judge))
            return ""

        shown = with_judge(server, work, pace=replace(HASTY, timeout=0.3, attempts=2))
    assert shown and caplog.text and server.counts.keys == {KEY}
    assert not any(trace in text for trace in traces() for text in (shown, caplog.text))


@given(
    st.binary(max_size=9),
    st.binary(max_size=9),
    st.text("abcXYZ019-_+/.~", min_size=8, max_size=40),
)
def test_a_key_in_base64_is_taken_out_wherever_it_stands(before, after, key):
    judged = Endpoint("https://judge.example/v1", Secret(key))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        written = encode(before + key.encode() + after).decode()
        assert judged.redact(f"see {written}") != f"see {written}"
    assert key not in judged.redact(f"0.5 {key} 0.5")


def test_a_reply_that_echoes_the_key_arrives_without_it():
    coded = base64.b64encode(f"Bearer {KEY}".encode()).decode()
    with OpenAIServer(score=lambda _body, _sample: f"0.5 {KEY} {coded}") as server:
        reply = with_judge(server, lambda judge: judge.ask(question()))
    assert reply.texts[0].startswith("0.5 [key] ")
    assert not any(trace in repr(reply) for trace in traces())


def test_nothing_of_the_environment_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator-000")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-operator")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-operator")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Operator: yes\nAuthorization: Bearer sk-operator-000"
    )
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with OpenAIServer() as server:
        with_judge(server, lambda judge: judge.ask(question()))
    (headers,) = server.counts.headers
    assert headers["authorization"] == f"Bearer {KEY}" and "operator" not in repr(headers)


# Addresses


@pytest.mark.parametrize(
    "url",
    [
        "ftp://judge.example/v1", "judge.example/v1", "https://", "https://user:pass@judge.example/v1",
        "https://judge.example/v1?key=1", "https://judge.example/v1#x", "https://judge.example/a b", "https://judge.example:99999/v1",
        "https://0177.0.0.1/v1", "",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_unshown(url):
    with pytest.raises(EndpointError) as caught:
        Endpoint(url, Secret(KEY))
    assert "user:pass" not in str(caught.value) and "key=1" not in str(caught.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ключ", "tab\t"])
def test_what_is_no_key_is_refused_unshown(key):
    with pytest.raises(EndpointError, match="spaces. Copy it again.") as caught:
        Endpoint("https://judge.example/v1", Secret(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["http://judge.example/v1", "https://judge.example:8443/v1"])
def test_a_users_address_is_https_on_its_port(url):
    assert Endpoint(url, Secret(KEY)).address == url
    with pytest.raises(EndpointError):
        Endpoint(url, Secret(KEY), owner="user")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "[::1]",
        "[::ffff:127.0.0.1]", "[fd00::1]", "[fe80::1]", "2130706433", "0x7f000001", "127.1",
    ],
)  # fmt: skip
def test_a_users_address_inside_is_never_asked(host):
    async def run() -> None:
        async with Judge(
            SPEC, Endpoint(f"https://{host}/v1", Secret(KEY), owner="user"), HASTY
        ) as judge:
            await judge.ask(question())

    with pytest.raises(JudgeStopped, match="isn't on the public internet|wasn't found"):
        asyncio.run(run())


class Names:
    """A resolver that gives a public address first and loopback after."""

    def __init__(self, *found: list[str]) -> None:
        self.found, self.asked = list(found), 0

    async def resolve(self, _host: str) -> list[str]:
        """Return the next addresses."""
        self.asked += 1
        return self.found.pop(0)


def user_ask(
    server: OpenAIServer, names: Names, certificate: Path, allowed: Callable[[str], bool]
) -> list[Any]:
    """Return what three questions get at a user's address that a resolver finds."""
    trust = ssl.create_default_context(cafile=str(certificate))
    fetcher = Fetcher(names.resolve, allowed, trust, server.port)

    async def run() -> list[Any]:
        user = Endpoint(f"https://{HOST}/v1", Secret(KEY), owner="user")
        async with Judge(SPEC, user, HASTY, fetcher=fetcher) as judge:
            return [await judge.ask(question(f"question {number}")) for number in range(3)]

    return asyncio.run(run())


def test_a_users_host_is_resolved_once_and_shows_the_certificate_of_its_name(certificate):
    context, shown = tls(certificate), set()
    context.sni_callback = lambda _socket, name, _context: shown.add(name)
    with OpenAIServer(tls=context) as server:
        names = Names(["127.0.0.1"])
        assert len(user_ask(server, names, certificate, lambda _address: True)) == 3
    assert names.asked == 1 and shown == {HOST}
    assert all(headers["host"] == HOST for headers in server.counts.headers)


def test_the_next_address_of_a_users_host_is_tried(certificate):
    with OpenAIServer(tls=tls(certificate)) as server:
        names = Names(["127.0.0.2", "127.0.0.1"])
        assert len(user_ask(server, names, certificate, lambda _address: True)) == 3


def test_one_private_address_among_public_ones_is_enough_to_refuse(certificate):
    with OpenAIServer(tls=tls(certificate)) as server:
        with pytest.raises(JudgeStopped, match="isn't on the public internet"):
            user_ask(server, Names(["8.8.8.8", "127.0.0.1"]), certificate, is_public)
        with pytest.raises(JudgeStopped, match="isn't on the public internet"):
            user_ask(server, Names([]), certificate, is_public)
    assert server.counts.calls == 0


def test_a_redirect_is_never_followed():
    with OpenAIServer() as other, OpenAIServer() as server:
        server.answers.append(http(307, b"", f"Location: {other.address}/chat/completions"))
        with pytest.raises(JudgeStopped, match="answered 307"):
            with_judge(server, lambda judge: judge.ask(question()))
    assert other.counts.calls == 0


ZIPPED = gzip.compress(json.dumps(completion("0.5")).encode())


@pytest.mark.parametrize(
    "answer",
    [
        http(200, b" " * 400_001),
        http(500, b" " * 400_001),
        http(200, ZIPPED, "Content-Encoding: gzip"),
    ],
    ids=["long", "long error", "compressed"],
)
def test_a_reply_too_long_or_compressed_is_an_error(answer):
    with OpenAIServer() as server:
        server.answers += [answer] * 4
        with pytest.raises(JudgeFailed, match="more than 400,000 bytes|compressed reply"):
            with_judge(server, lambda judge: judge.ask(question()))


# Replies

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "finish_reason", "usage", "model", "index", "x"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_json_breaks_the_reading(found):
    for whole in (
        found,
        {"choices": found},
        {"choices": [found]},
        {"choices": [{"message": found}], "usage": found},
    ):
        answer = read_answer(json.dumps(whole).encode())
        assert isinstance(answer, JudgeAnswer | Trouble)
        if isinstance(answer, JudgeAnswer):
            assert answer.texts and all(answer.finish) and len(answer.texts) == len(answer.finish)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading(content):
    assert isinstance(read_answer(content), Trouble)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "0."}, {"type": "text", "text": "7"}], "0.7"),
        ([{"type": "output_text", "text": "0.7"}], "0.7"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "0.2"}]}, {"type": "text", "text": "0.7"}], "0.7"),
        ([{"type": "reasoning", "text": "0.2"}, {"text": "0.7"}], "0.7"),
        ([], ""),
    ],
)  # fmt: skip
def test_a_list_of_content_parts_is_the_text_of_those_that_are_text(content, text):
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    answer = read_answer(json.dumps({"choices": [choice]}).encode())
    assert isinstance(answer, JudgeAnswer) and answer.texts == (text,)


@pytest.mark.parametrize(
    "choice",
    [
        None, [], {}, {"message": {"content": "1"}}, {"message": {"content": "1"}, "finish_reason": None},
        {"message": {"content": "1"}, "finish_reason": ""}, {"message": {"content": "1"}, "finish_reason": 1},
        {"finish_reason": "stop"}, {"message": "1", "finish_reason": "stop"},
        {"message": {"content": 1}, "finish_reason": "stop"}, {"message": {"content": ["1"]}, "finish_reason": "stop"},
    ],
)  # fmt: skip
def test_a_choice_without_text_or_finish_reason_is_no_answer(choice):
    whole = completion("0.5")["choices"]
    assert isinstance(whole, list)
    found = read_answer(json.dumps({"choices": [*whole, choice]}).encode())
    assert isinstance(found, Trouble) and found.kind == "bad reply"


@pytest.mark.parametrize(("text", "choices"), [("1" * 30_001, 1), ("1", 101)])
def test_more_than_any_judge_says_is_not_read(text, choices):
    (choice,) = completion(text)["choices"]
    usage = {"prompt_tokens": 3, "completion_tokens": 9_000}
    found = read_answer(json.dumps({"choices": [choice] * choices, "usage": usage}).encode())
    assert isinstance(found, Trouble) and found.kind == "bad reply"
    assert found.tokens == (3, 9_000), "it is paid all the same"


def test_deep_nesting_is_no_answer():
    assert isinstance(read_answer(b"[" * 200_000), Trouble)


def test_texts_can_be_stored():
    answer = read_answer(json.dumps(completion("a\0b\ud800c")).encode())
    assert isinstance(answer, JudgeAnswer) and answer.texts == ("a\ufffdb\ufffdc",)


def test_samples_stand_in_the_order_of_their_index():
    choices = [
        {"index": n, "message": {"content": str(n)}, "finish_reason": "stop"} for n in (2, 0, 1)
    ]
    answer = read_answer(json.dumps({"choices": choices, "usage": {"prompt_tokens": -1}}).encode())
    assert (
        isinstance(answer, JudgeAnswer)
        and answer.texts == ("0", "1", "2")
        and answer.tokens is None
    )


# Probing


@pytest.mark.parametrize(
    ("server", "found"),
    [
        (
            OpenAIServer(score=lambda _body, _sample: "0.5"),
            JudgeSpec("test-judge", True, "max_tokens", True, True, True, 0, None),
        ),
        (
            OpenAIServer(refused=("temperature", "max_tokens", "n", "seed"), reasoning=300),
            JudgeSpec("test-judge", False, "max_completion_tokens", False, False, True, 4096, None),
        ),
        (
            OpenAIServer(
                refused=("n", "response_format"), faults=Faults(0.5, kinds=("500", "429"))
            ),
            JudgeSpec("test-judge", True, "max_tokens", False, True, False, 0, None),
        ),
    ],
    ids=["allows all", "reasons", "some, with faults"],
)
def test_what_a_model_allows_is_found_out(server, found):
    with server:
        assert asyncio.run(probe(address(server), "test-judge", HASTY)) == found
    assert server.counts.calls - server.counts.faults.total() <= 6


def test_a_model_that_is_not_there_is_not_probed_on():
    with (
        OpenAIServer(models=()) as server,
        pytest.raises(JudgeStopped, match="doesn't know this model"),
    ):
        asyncio.run(probe(address(server), "test-judge", HASTY))
    assert server.counts.calls == 1


@pytest.mark.parametrize(
    "said",
    [
        "The score is 1.",
        "The score is 1.<|im_end|>",
        '```json\n{"score": 1}\n```',
        "<think>They want a score.</think>1</s>",
        '{"score": 1}\n\nExplanation: I was told so.',
    ],
)
def test_trial_replies_are_read_as_those_of_a_job(said):
    with OpenAIServer(trial=said) as server:
        spec = asyncio.run(probe(address(server), "test-judge", HASTY))
    assert spec.json_schema is False
    assert spec.reasoning_tokens == (4096 if "think" in said else 0)


@pytest.mark.parametrize("said", ["How can I help you?", "", "<think>They want", "7", "0 or 1"])
def test_a_judge_whose_trial_replies_cannot_be_read_is_refused_with_one(said):
    with (
        OpenAIServer(trial=said) as server,
        pytest.raises(JudgeUnreadable, match="Choose another judge") as refused,
    ):
        asyncio.run(probe(address(server), "test-judge", HASTY))
    assert repr(said) in str(refused.value) and "5 replies" in str(refused.value)


def test_filtered_trial_replies_are_not_read():
    filtered = http(200, completion("1", finish_reason="content_filter"))
    with OpenAIServer() as server, pytest.raises(JudgeUnreadable):
        server.answers = [filtered] * 5
        asyncio.run(probe(address(server), "test-judge", HASTY))


def test_a_trial_reply_is_shown_without_the_key():
    with (
        OpenAIServer(trial="Your key is sk-test-key-1234.") as server,
        pytest.raises(JudgeUnreadable) as refused,
    ):
        asyncio.run(
            probe(Endpoint(server.address, Secret("sk-test-key-1234")), "test-judge", HASTY)
        )
    assert "sk-test" not in str(refused.value) and "Your key is [key]." in str(refused.value)


KEY = "sk-proj-abcdefghijklmnop"
GONE = (
    (404, "The model `gpt-4-vision-preview` has been deprecated, learn more here: https://a.b/c", "longer offers"),
    (400, "The model `llama-3.2-90b-vision` has been decommissioned and is no longer supported.", "longer offers"),
    (410, "The model deployment was retired.", "longer offers"),
    (404, "The model `x` does not exist or you do not have access to it.", "this key has no access"),
    (403, "Project `proj_1234567890` does not have access to model `gpt-5`", "this key has no access"),
    (404, 'model "llava" not found, try pulling it first', "doesn't know this model (404)"),
    (404, "models/gemini-1.0 is not found for API version v1beta", "doesn't know this model (404)"),
    (400, "foo/bar is not a valid model ID", "Check its spelling"),
    (404, "The API deployment for this resource does not exist.", "doesn't know this model (404)"),
    (404, "Invalid URL (POST /v1/chat)", "doesn't know this model or address"),
)  # fmt: skip


@pytest.mark.parametrize(("status", "sentence", "advice"), GONE)
def test_a_servers_sentence_on_its_models_is_repeated_with_advice(status, sentence, advice):
    found = refusal(status, {}, {"error": {"message": sentence}})
    assert found.kind == "unknown" and advice in found.words
    shown = sentence.replace("proj_1234567890", "[hidden]")
    assert f"The server says: {shown!r}" in found.words


def test_a_servers_sentence_is_short_and_holds_no_secret():
    told = (
        f"The model x does not exist for Bearer {KEY} or {KEY}, or {'QUJD' * 12}== " + "so " * 500
    )
    endpoint = Endpoint("https://api.example.org/v1", Secret(KEY))
    words = refusal(404, {}, {"message": told}, endpoint.redact).words
    assert KEY not in words and "QUJD" not in words and len(words) < 400 and words.endswith("...'")
    assert "says" not in refusal(404, {}, "<html>Not found</html>").words


def test_an_unknown_model_is_an_error_of_its_own_for_every_question():
    async def work(judge: Judge) -> list[object]:
        asks = [judge.ask(question()) for _ in range(3)]
        return await asyncio.gather(*asks, return_exceptions=True)

    with OpenAIServer(models=("another",)) as server:
        errors = with_judge(server, work)
    assert all(isinstance(error, JudgeUnknown) for error in errors)
    assert "The server says: 'The model `test-judge` does not exist'" in str(errors[0])


@pytest.mark.parametrize(
    "place", ["deployments/test-judge?api-version=2024-10-21", "v1/?api-version=preview"]
)
def test_azure_is_asked_at_its_path_with_its_key_in_its_header(place):
    with OpenAIServer(lambda body, sample: "0.7") as server:
        base = server.address.removesuffix("/v1")
        url = f"{base}/openai/{place}"
        judged = Endpoint(url, Secret(KEY))

        async def asked() -> Reply:
            async with Judge(SPEC, judged, HASTY) as judge:
                return await judge.ask(question())

        assert asyncio.run(asked()).texts == ("0.7",)
    (headers,) = server.counts.headers
    assert headers["api-key"] == KEY and "authorization" not in headers
    folder, _, version = place.partition("?")
    assert server.counts.paths == [f"/openai/{folder.rstrip('/')}/chat/completions?{version}"]
