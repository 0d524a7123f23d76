"""Two servers on one PostgreSQL database and one folder, behind nginx with the lines of docs/host.md."""

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import create_engine, text

from arena.web.cookies import COOKIE
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.live_pages import opened, phase, photo
from tests.support.live_visitor import Visitor, card, catalogue
from tests.support.openai_server import Body, OpenAIServer, steady_score
from tests.support.servers import ROOT, AppServer, free_port, new_postgresql_database
from tests.support.voter import Voter

pytestmark = pytest.mark.soak
Result = TypeVar("Result")
TEXT = "The picture is red all over, and nothing else can be seen in it. " * 12
AT_LENGTH = "Describe it at length."
SECRET = 5
"""Canaries that are drawn for one job alone."""
CALLS = 16 * 5 + 4 * 5 + SECRET
"""What MM-Vet's sample costs: five runs, and the canaries."""
SENTENCE = "This battle runs on another server"
AROUND = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    log_format took '$upstream_addr $cookie_{cookie} $request_uri';
    access_log {folder}/took.log took;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {lines}
}}
"""
"""nginx's settings around the lines of the document: where a test's own nginx puts its files, and what it notes."""


def said(body: Body, _: int) -> str:
    """Say something for three seconds, or for half a minute."""
    return TEXT * (10 if AT_LENGTH in str(body["messages"]) else 1)


class Balancer:
    """nginx with the lines that docs/host.md gives, in front of two servers."""

    def __init__(self, folder: Path, program: str, ports: list[int]) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._log = folder / "took.log"
        lines = re.findall(
            r"```nginx\n(.*?)```", (ROOT / "docs/host.md").read_text("utf-8"), re.DOTALL
        )[0]
        here = {"listen 80;": f"listen 127.0.0.1:{self.port};"}
        here |= {
            f"server 10.0.0.{n}:7860;": f"server 127.0.0.1:{port};"
            for n, port in enumerate(ports, 1)
        }
        for theirs, ours in here.items():
            assert lines.count(theirs) == 1, theirs
            lines = lines.replace(theirs, ours)
        user = "user root;" if folder.owner() == "root" else ""
        (folder / "nginx.conf").write_text(
            AROUND.format(user=user, folder=folder, cookie=COOKIE, lines=lines)
        )
        self.process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                httpx.get(f"{self.address}/healthz")
                return
            time.sleep(0.05)
        raise RuntimeError((folder / "error.log").read_text())

    def took(self) -> dict[str, set[str]]:
        """Return the servers that answered the requests of each cookie so far."""
        took: dict[str, set[str]] = defaultdict(set)
        for line in self._log.read_text().splitlines():
            *servers, cookie, _ = line.split(" ")
            if cookie != "-":
                took[cookie].add(" ".join(servers))
        return took


class Two(NamedTuple):
    """Two servers, what stands before them, their database, their judge and their live models."""

    balancer: Balancer
    servers: tuple[AppServer, AppServer]
    url: str
    judge: OpenAIServer
    models: OpenAIServer

    def owner(self, visitor: Visitor | str) -> int:
        """Return which server, 0 or 1, has had all requests of a visitor, or of a cookie, so far."""
        cookie = visitor if isinstance(visitor, str) else visitor.client.cookies[COOKIE]
        ports = [f"127.0.0.1:{server.port}" for server in self.servers]
        deadline = time.monotonic() + 10
        while not (took := self.balancer.took().get(cookie)) and time.monotonic() < deadline:
            time.sleep(0.05)  # nginx notes an answer after it is sent
        (address,) = took or ()
        return ports.index(address)


@pytest.fixture(scope="module")
def two(postgresql, tmp_path_factory) -> Iterator[Two]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no nginx here; install nginx-light")
    folder = tmp_path_factory.mktemp("two")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    url = new_postgresql_database(postgresql)
    with (
        OpenAIServer(score=steady_score) as judge,
        OpenAIServer(said, models=("one", "two"), pace=0.02) as models,
    ):
        environ = {
            "DATABASE_URL": url,
            "JUDGE_MODEL": "test-judge",
            "JUDGE_URL": judge.address,
            "OPENAI_API_KEY": "sk-planted-4f9a8b7c6d5e",
            "JUDGE_PRICES": str(folder / "prices.csv"),
            "MODELS": catalogue(
                folder, *(card(f"Model {name}", name, models) for name in models.models)
            ),
            "TRUSTED_HOPS": "1",
        }
        servers = AppServer(folder / "data", **environ), AppServer(folder / "data", **environ)
        balancer = Balancer(folder, program, [server.port for server in servers])
        yield Two(balancer, servers, url, judge, models)
        balancer.process.terminate()
        balancer.process.wait()
        for server in servers:
            server.stop()


def one(url: str, statement: str) -> object:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text(statement)).scalar_one()
    engine.dispose()
    return found


def in_a_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own: the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@asynccontextmanager
async def visitors_of_both(two: Two) -> AsyncIterator[list[Visitor]]:
    """Bring visitors until each server has at least two."""
    async with AsyncExitStack() as stack:
        visitors: list[Visitor] = []
        owners: Counter[int] = Counter()
        while min(owners[0], owners[1]) < 2:
            visitors.append(await stack.enter_async_context(Visitor(two.balancer.address)))
            await visitors[-1].client.get("/live/unfinished")
            owners[two.owner(visitors[-1])] += 1
        yield visitors


async def fight(visitor: Visitor) -> list[str]:
    """Fight a whole battle with a follow-up; return the phases that were shown."""
    token = await visitor.begin("What is this?", images=2)
    path = f"/live/battles/{token}"
    shown = await visitor.watch(path)
    assert sum(message["kind"] == "words" for message in shown) > 3, (
        "words come while they are written"
    )
    await visitor.post(f"{path}/questions", {"text": "And what else?"})
    async with visitor.watching(path) as messages:
        await anext(messages)
        stopped = await visitor.post(f"{path}/stop")
    voted = await visitor.post(f"{path}/choose", {"value": "b"})
    again = (await visitor.post(f"{path}/undo"))["battle"]
    await visitor.post(f"/live/battles/{again}/choose", {"value": "a"})
    revealed = await visitor.post(f"/live/battles/{again}/names")
    return [message["phase"] for message in (shown[0], shown[-1], stopped, voted, revealed)]


def test_live_battles_stay_at_one_server(two):
    chosen = "SELECT count(*) FROM battle WHERE answer_a IS NULL AND choice IS NOT NULL"
    ranked = f"{chosen} AND outside IS NULL"
    before = [one(two.url, query) for query in (chosen, ranked)]

    async def visit(visitor: Visitor) -> list[str]:
        phases = await fight(visitor)
        two.owner(visitor)
        return phases

    async def run() -> list[list[str]]:
        async with visitors_of_both(two) as visitors:
            return await asyncio.gather(*(visit(visitor) for visitor in visitors))

    phases = in_a_loop(run())
    assert phases == [["growing", "open", "open", "voted", "revealed"]] * len(phases)
    again = f"{chosen} AND taken_back IS NOT NULL"
    assert one(two.url, again) == len(phases), "each was taken back, and chosen anew"
    assert one(two.url, chosen) == before[0] + len(phases)
    assert one(two.url, ranked) == before[1], "a stopped answer is not ranked"


def test_a_page_that_strays_shows_the_sentence(two, browser):
    with opened(browser, two.balancer.address, 1280) as page:
        page.set_input_files("#live-files", photo())
        expect(page.locator("#live-send")).to_be_enabled()
        page.fill("#live-text", AT_LENGTH)
        page.press("#live-text", "Enter")
        phase(page, "growing")
        (cookie,) = (kept["value"] for kept in page.context.cookies() if kept["name"] == COOKIE)
        strayed = page.context.new_page()
        strayed.goto(
            f"{two.servers[1 - two.owner(cookie)].address}/own"
        )  # cookies go to every port
        expect(strayed.locator("#live-form-problem")).to_contain_text(SENTENCE)
        phase(strayed, "form")
        phase(page, "growing")
        page.click("#stop")
        phase(page, "open")


def score(page: Page) -> None:
    """Upload MM-Vet's sample and have it judged."""
    page.set_input_files("#drop-file", SAMPLE_PREDICTIONS)
    expect(page.locator("#found")).to_contain_text("16 answers", timeout=60_000)
    page.locator("#check").click()
    expect(page.locator(".progress[data-state=done]")).to_be_visible(timeout=120_000)


def test_outputs_are_judged_once_and_read_at_any_server(two, browser):
    tried_out = two.judge.counts.paid
    with opened(browser, two.balancer.address, 1280, "/score") as page:
        score(page)
        assert two.judge.counts.paid == tried_out + CALLS, (
            "both servers judge, none asks what the other asked"
        )
        assert one(two.url, "SELECT sum(held) FROM budget") == 0
        link = page.locator(".mine a").first.get_attribute("href")
        for server in two.servers:
            page.goto(f"{server.address}/{link}")
            expect(page.locator(".report-head .totals")).to_be_visible(timeout=60_000)
    asked, spent = two.judge.counts.paid, one(two.url, "SELECT max(spent) FROM budget")
    with opened(browser, two.balancer.address, 1280, "/score") as page:
        score(page)
    more = two.judge.counts.paid - asked
    assert more <= SECRET, "what was asked is not asked again"
    assert one(two.url, "SELECT max(spent) FROM budget") <= spent * (1 + 2 * more / CALLS)


def test_who_closes_a_page_ends_the_answers(two):
    """Through the balancer too, nothing is generated for nobody."""

    async def leave() -> None:
        async with Visitor(two.balancer.address) as visitor:
            token = await visitor.begin(AT_LENGTH)
            async with visitor.watching(f"/live/battles/{token}") as messages:
                await anext(messages)

    async def several() -> None:
        await asyncio.gather(*(leave() for _ in range(4)))
        async with asyncio.timeout(15):
            while two.models.running:
                await asyncio.sleep(0.1)

    in_a_loop(several())


def test_when_a_server_dies_the_others_visitors_go_on_and_its_own_find_another(two):
    async def some() -> None:
        async with visitors_of_both(two) as visitors:
            owners = [two.owner(visitor) for visitor in visitors]
            paths = [f"/live/battles/{await visitor.begin(AT_LENGTH)}" for visitor in visitors]
            watched = [
                asyncio.create_task(visitor.watch(path))
                for visitor, path in zip(visitors, paths, strict=True)
            ]
            await asyncio.sleep(1)
            two.servers[0].kill()
            for visitor, path, owner, watching in zip(
                visitors, paths, owners, watched, strict=True
            ):
                if owner:
                    assert (await visitor.post(f"{path}/stop"))["phase"] == "open"
                    assert (await watching)[-1]["phase"] == "open"
                else:
                    with pytest.raises(httpx.HTTPError):
                        await watching
                    assert "were lost" in str((await visitor.watch(path))[-1])
                assert (await fight(visitor))[-1] == "revealed"

    try:
        with Voter(two.balancer.address) as voter:
            voter.load()
            in_a_loop(some())
            voter.choose("a")
            voter.wait_out_undo()
            voter.next()
    finally:
        two.servers[0].start()
