"""Judges that visitors bring: whoever waits for one's server, votes and pages do not."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.judging_process import tls
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_page import upload
from tests.support.screens import DESK, fresh_page, shoot
from tests.support.servers import AppServer
from tests.support.voter import Voter

PREDICT = "/gradio_api/run/predict"
HANGS = 3600.0
NETWORKS = 12
CALLS_EACH = 4
"""Calls of one network that are handled at one time."""
PATIENCE = 15.0
"""Seconds that a visitor waits, for what takes a fraction of one."""
FORM = {
    "benchmark": "MM-Vet",
    "protocol": "Hardened",
    "missing": "stop",
    "judge": "own key",
    "offers": "once",
    "own-url": "https://pictures.example/v1",
    "own-key": "sk-of-a-stranger",
}


@pytest.fixture
def hanging(certificate: Path) -> Iterator[OpenAIServer]:
    """A stranger's server, which takes calls and never answers."""
    with OpenAIServer(latency=HANGS, tls=tls(certificate)) as server:
        yield server


def strangers_judge(server: OpenAIServer, certificate: Path) -> dict[str, str]:
    """The setting by which an app finds every visitor's host at this server."""
    return {"JUDGES_OF_VISITORS": f"{server.port}:{certificate}"}


@dataclass
class Honest:
    """Seconds that honest visitors waited."""

    votes: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    lost: int = 0

    def __str__(self) -> str:
        vote = max(self.votes, default=0)
        page = max(self.pages, default=0)
        return f"a vote and the next battle {vote:.2f} s; newcomers {page:.2f} s at most; {self.lost} lost"


def sent_by(client: httpx.Client) -> dict[str, str]:
    """The headers of a visitor's requests, with its cookies."""
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return {**client.headers, "cookie": cookies}


class Stranger:
    """A visitor of a network of its own, with a file at "Score a model", whose parts `config` names."""

    def __init__(self, address: str, number: int, config: dict[str, Any]) -> None:
        self.events = {event["api_name"]: event for event in config["dependencies"]}
        self.props = {part["id"]: part["props"] for part in config["components"]}
        with httpx.Client(base_url=address, timeout=30) as client:
            client.headers["x-forwarded-for"] = f"11.0.{number}.7"
            client.get("/")
            sent = client.post("/uploads?name=a.json", content=SAMPLE_PREDICTIONS.read_bytes())
            self.headers = sent_by(client)
        self.form = {**FORM, "upload-token": sent.text, "own-model": "test-judge"}

    def body(self, event: str) -> dict[str, Any]:
        """A call of an event with the form as it is filled in."""
        parts = [self.props[part] for part in self.events[event]["inputs"]]
        data = [_value(part, self.form) for part in parts]
        return {"data": data, "fn_index": self.events[event]["id"], "session_hash": "s"}


def _value(part: dict[str, Any], filled: dict[str, object]) -> object:
    if part.get("label") == "Test this judge first":
        return True
    given = filled.get(part.get("elem_id") or "")
    value = part.get("value")
    return given or ("" if value is None else value)


async def timed(what: Callable[[], Awaitable[object]], seconds: list[float]) -> bool:
    begun = time.monotonic()
    try:
        await what()
    except (httpx.HTTPError, AssertionError):
        seconds.append(time.monotonic() - begun)
        return False
    seconds.append(time.monotonic() - begun)
    return True


async def honest_beside(
    server: AppServer, voter: Voter, strangers: list[Stranger], judge: OpenAIServer
) -> Honest:
    """Vote and open the page while each stranger has its judge tried out by as many calls as are handled."""
    seen = Honest()
    async with (
        httpx.AsyncClient(base_url=server.address, timeout=None) as attack,
        httpx.AsyncClient(base_url=server.address, timeout=PATIENCE) as honest,
    ):

        async def call(stranger: Stranger) -> httpx.Response:
            return await attack.post(
                PREDICT,
                json=stranger.body("on_check"),
                headers=stranger.headers,
            )

        async def act(name: str, **sent: str) -> str:
            headers = sent_by(voter.client)
            answer = await honest.post(f"/battle/{name}", json=sent, headers=headers)
            return answer.text

        async def vote() -> None:
            assert "You chose A" in await act("choose", battle=voter.token, value="a")
            await act("names", battle=voter.token)
            assert "pictures/" in await act("next")

        async def newcomer() -> None:
            headers = {"x-forwarded-for": "13.0.0.9"}
            async with httpx.AsyncClient(
                base_url=server.address, timeout=PATIENCE, headers=headers
            ) as fresh:
                await fresh.get("/")
                assert "pictures/" in (await fresh.post("/battle/next", json={})).text

        calls = [
            asyncio.create_task(call(stranger)) for stranger in strangers for _ in range(CALLS_EACH)
        ]
        deadline = time.monotonic() + 30
        while not judge.counts.calls and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert judge.counts.calls, "no stranger's judge was asked"
        await asyncio.sleep(1)
        seen.lost += not await timed(vote, seen.votes)
        for _ in range(3):
            seen.lost += not await timed(newcomer, seen.pages)
        await asyncio.wait(calls, timeout=PATIENCE)
        answered = sum(one.done() for one in calls)
        print(
            f"\n{len(calls)} calls, {answered} answered, {judge.counts.at_once} at the judge; {seen}"
        )
        seen.lost += len(calls) - answered
        for one in calls:
            one.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    return seen


@pytest.mark.timeout(300)
def test_votes_and_newcomers_do_not_wait_for_a_strangers_judge(start_server, hanging, certificate):
    """So many calls at once would hold all of the forty threads of the page's events."""
    server = start_server(TRUSTED_HOPS="1", **strangers_judge(hanging, certificate))
    with Voter(server.address, network="12.0.0.1") as voter:
        config = voter.client.get("/config").json()
        strangers = [Stranger(server.address, number, config) for number in range(NETWORKS)]
        voter.load()
        seen = asyncio.run(honest_beside(server, voter, strangers, hanging))
    assert seen.lost == 0, seen


@pytest.mark.soak
def test_a_page_goes_on_when_its_judge_was_tried_out(browser, start_server, certificate):
    with OpenAIServer(latency=0.2, tls=tls(certificate)) as judge:
        server = start_server(DEMO_BANK="off", **strangers_judge(judge, certificate))
        with fresh_page(browser, DESK) as page:
            page.goto(f"{server.address}/score")
            upload(page, SAMPLE_PREDICTIONS)
            page.get_by_label("Judge model").fill("test-judge")
            page.get_by_label("Key", exact=True).fill("sk-of-a-stranger")
            page.get_by_label("Address").fill("https://pictures.example/v1")
            page.locator("#check").click()
            expect(page.locator("#scoring-problem")).to_contain_text("then press again")
            page.get_by_label("Test this judge first").check()
            page.locator("#check").click()
            expect(page.locator("#scoring-problem .trying")).to_contain_text("Testing test-judge")
            shoot(page, "scoring-trial", whole=True)
            expect(page.locator(".quote")).to_contain_text(
                "We don't know this judge's price", timeout=30_000
            )
            expect(page.locator("#scoring-problem")).to_have_text("")
            page.locator("#confirm").click()
            expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
        assert "sk-of-a-stranger" not in server.log.read_text("utf-8")
