"""Trials of visitors' judges: a few at a time, each over within its limit, and what it ended with is told."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from arena.inference.endpoint import Endpoint
from arena.io.fetch import Fetcher
from arena.types import Secret
from scoring.jobs import trials
from scoring.jobs.trials import TrialError, TrialRuns, Trials
from scoring.judges.client import JudgeError
from scoring.judges.spec import JudgeSpec
from tests.support.job_worker import wait_for
from tests.support.judging_process import Own, tls
from tests.support.openai_server import Faults, OpenAIServer

MODEL = "test-judge"


@contextmanager
def trying(fetcher: Fetcher) -> Iterator[Trials]:
    """Trials in a loop that runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    tried = Trials(fetcher)
    tried.run_in(loop)
    try:
        yield tried
    finally:
        ending = asyncio.run_coroutine_threadsafe(_end(), loop)
        ending.result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


async def _end() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Desk:
    """Visitors who bring the judge of one server."""

    def __init__(self, tried: Trials, own: Own) -> None:
        self.tried = tried
        self.own = own

    def key(self, owner: str, key: str) -> Endpoint:
        return Endpoint(self.own.address, Secret(key), owner)

    def asks(self, owner: str, network: str | None = None, key: str = "sk-own") -> JudgeSpec:
        return self.tried.spec(owner, self.key(owner, key), MODEL, network)

    def begins(self, owner: str, network: str | None = None, key: str = "sk-own") -> None:
        with pytest.raises(TrialRuns, match="Testing test-judge, for 60 seconds at most"):
            self.asks(owner, network, key)

    def ends(self, owner: str, key: str = "sk-own") -> None:
        wait_for(lambda: self.tried.state(owner, self.key(owner, key), MODEL) == "over", 30)


@contextmanager
def desk(certificate: Path, **server: object) -> Iterator[tuple[Desk, OpenAIServer]]:
    with OpenAIServer(tls=tls(certificate), **server) as judge:
        own = Own(judge.port, certificate)
        with trying(own.fetcher) as tried:
            yield Desk(tried, own), judge


def test_what_was_found_out_is_told_until_another_judge_is_tried(certificate):
    with desk(certificate) as (visitors, judge):
        visitors.begins("ada")
        visitors.ends("ada")
        found = visitors.asks("ada")
        assert (found.model, found.samples) == (MODEL, True)
        assert visitors.asks("ada") == found
        assert judge.counts.calls == 5
        visitors.begins("ada", key="sk-other")
        visitors.begins("bob")
        for owner, key in (("ada", "sk-other"), ("bob", "sk-own")):
            visitors.ends(owner, key)
        assert judge.counts.keys == {"sk-own", "sk-other"}


def test_four_are_tried_at_a_time_and_one_of_a_network(certificate):
    with desk(certificate, latency=3600) as (visitors, judge):
        visitors.begins("ada", "a network")
        with pytest.raises(TrialError, match="for your network. Press again in a minute"):
            visitors.asks("bob", "a network")
        for number in range(1, trials.AT_ONCE):
            visitors.begins(f"visitor {number}", f"network {number}")
        with pytest.raises(TrialError, match="4 other judges are being tested"):
            visitors.asks("bob", "bob's network")
        visitors.begins("ada", "a network")
        visitors.begins("ada", "a network", key="sk-other")  # in place of the first
        wait_for(lambda: judge.running == trials.AT_ONCE, 30)
        assert judge.counts.at_once <= trials.AT_ONCE + 1


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (lambda patch: patch.setattr(trials, "SECONDS", 0.5), "took over 0.5 seconds"),
        (
            lambda patch: patch.setattr(trials, "_PACE", replace(trials._PACE, timeout=0.3)),
            "no reply within 0.3 seconds",
        ),
    ],
    ids=["all calls", "each call"],
)
def test_a_judge_that_hangs_is_given_up(certificate, monkeypatch, limit, told):
    assert (trials.SECONDS, trials._PACE.timeout) == (60, 20)
    limit: Callable[[pytest.MonkeyPatch], None]
    limit(monkeypatch)
    with desk(certificate, latency=3600) as (visitors, _):
        with pytest.raises(TrialRuns):
            visitors.asks("ada")
        visitors.ends("ada")
        with pytest.raises(JudgeError, match=told):
            visitors.asks("ada")
        with pytest.raises(TrialRuns):  # what went wrong is told once
            visitors.asks("ada")


def test_a_trial_ends_when_its_page_was_left(certificate, monkeypatch):
    monkeypatch.setattr(trials, "ABANDONED_SECONDS", 0.5)
    with desk(certificate, latency=3600) as (visitors, judge):
        for number in range(trials.AT_ONCE):
            visitors.begins(f"visitor {number}")
        wait_for(lambda: judge.running > 0, 30)
        tried = visitors.tried._trials.values()
        wait_for(lambda: all(trial.outcome.done() for trial in tried), 30)
        visitors.begins("bob")
        with pytest.raises(JudgeError, match="its page was closed"):
            visitors.asks("visitor 0")


def test_a_refused_key_is_told_and_another_tried(certificate):
    with desk(certificate, faults=Faults(1.0, kinds=("401",), in_a_row=10**6)) as (visitors, judge):
        visitors.begins("ada")
        visitors.ends("ada")
        judge.faults = Faults()
        with pytest.raises(JudgeError, match="doesn't accept the key"):
            visitors.asks("ada")
        visitors.begins("ada")
        visitors.ends("ada")
        assert visitors.asks("ada").model == MODEL


def test_a_server_that_ends_says_so(certificate):
    own = Own(9, certificate)
    with pytest.raises(TrialError, match="starting or stopping"):
        Desk(Trials(own.fetcher), own).asks("ada")
    with desk(certificate, latency=3600) as (visitors, _):
        visitors.begins("ada")
        asyncio.run_coroutine_threadsafe(_end(), visitors.tried._loop).result(20)
        with pytest.raises(TrialError, match="cut off. Press again"):
            visitors.asks("ada")


def test_names_that_are_never_found_keep_no_other_work_waiting(monkeypatch):
    """A stranger's name server that says nothing: threads that ask it are their own."""
    never = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: never.wait(60))

    async def others_work() -> str:
        looked_up = [
            asyncio.create_task(Fetcher().public_addresses("slow.example")) for _ in range(40)
        ]
        await asyncio.sleep(0.1)
        try:
            return await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 10)
        finally:
            for task in looked_up:
                task.cancel()
            never.set()

    assert asyncio.run(others_work()) == "done"
