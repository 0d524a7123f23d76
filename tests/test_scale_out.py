"""Two servers on one PostgreSQL database and one folder, behind a balancer that gives each request to the next one."""

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import httpx
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import create_engine, text

from arena.database import Database
from arena.leaderboard.service import BoardKey, Leaderboard
from arena.leaderboard.shared_cache import FOUND
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.balancer import Balancer
from tests.support.live_visitor import Visitor, card, catalogue, says
from tests.support.openai_server import OpenAIServer, steady_score
from tests.support.servers import AppServer, new_postgresql_database
from tests.support.statistics_parts import parts
from tests.support.voter import EventError, Voter

Result = TypeVar("Result")
TEXT = "The picture is red all over, and nothing else can be seen in it. " * 4
KEY = "sk-planted-4f9a8b7c6d5e"
CALLS = 16 * 5 + 4 * 5
"""What MM-Vet's sample costs: five runs, and the canaries."""


class Two(NamedTuple):
    """Two servers, what stands before them, their database, their judge and their live models."""

    balancer: Balancer
    servers: tuple[AppServer, AppServer]
    url: str
    judge: OpenAIServer
    models: OpenAIServer


@pytest.fixture(scope="module")
def two(postgresql, tmp_path_factory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    url = new_postgresql_database(postgresql)
    with (
        OpenAIServer(score=steady_score) as judge,
        OpenAIServer(says({"one": TEXT, "two": TEXT}), models=("one", "two"), pace=0.02) as models,
    ):
        environ = {
            "DATABASE_URL": url,
            "JUDGE_MODEL": "test-judge",
            "JUDGE_URL": judge.address,
            "OPENAI_API_KEY": KEY,
            "JUDGE_PRICES": str(folder / "prices.csv"),
            "MODELS": catalogue(folder, *(card(f"Model {name}", name, models) for name in models.models)),
            "TRUSTED_HOPS": "1",
        }
        servers = AppServer(folder / "data", **environ), AppServer(folder / "data", **environ)
        with Balancer([server.port for server in servers]) as balancer:
            yield Two(balancer, servers, url, judge, models)
        for server in servers:
            server.stop()


@pytest.fixture
def visit(browser, two) -> Iterator[Page]:
    """A fresh visitor's page behind the balancer; any script error fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 844})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(two.balancer.address)
    yield page
    context.close()
    assert errors == []


def one(url: str, statement: str) -> object:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text(statement)).scalar_one()
    engine.dispose()
    return found


def test_a_battle_begun_at_one_is_voted_undone_and_revealed_at_the_other(two):
    here, there = (Voter(server.address) for server in two.servers)
    there.client.cookies = here.client.cookies
    before = one(two.url, "SELECT count(*) FROM vote")
    with here, there:
        here.load()
        there.choose("a", here.token)
        here.call("on_undo", here.token)
        there.token = here.token
        there.choose("b")
        there.choose("b"), here.choose("b", there.token)
        with pytest.raises(EventError, match="already chose"):
            here.choose("a", there.token)
        revealed = here.call("on_reveal", there.token)
        assert 'data-phase="revealed"' in revealed["status"]
    assert one(two.url, "SELECT count(*) FROM vote") == before + 2, (
        "the choice that was taken back, and the one that stands"
    )


def test_a_visitor_never_notices_that_there_are_two(two, visit):
    """A whole battle in a browser, each request at the next server; then both boards have it."""
    expect(visit.locator("#choose-a")).to_be_visible(timeout=60_000)
    for number in (1, 2):
        visit.click("#choose-a")
        expect(visit.locator(".answer .model")).to_have_count(2, timeout=30_000)
        expect(visit.locator("#counter")).to_have_text(f"Your votes: {number}")
        visit.click("#next")
        expect(visit.locator("#choose-a")).to_be_enabled(timeout=30_000)
    expect(visit.locator("#item img").first).to_be_visible()
    assert all(sum(paths.values()) > 10 for paths in two.balancer.took.values()), "both servers answered"


def test_a_file_uploaded_at_one_is_quoted_judged_and_read_at_any(two, visit):
    tried_out = two.judge.counts.paid
    visit.get_by_role("tab", name="Score outputs").click()
    visit.set_input_files("#drop-file", SAMPLE_PREDICTIONS)
    expect(visit.locator("#drop-state")).to_have_text(SAMPLE_PREDICTIONS.name, timeout=30_000)
    expect(visit.locator("#found")).to_contain_text("16 answers", timeout=30_000)
    visit.locator("#check").click()
    expect(visit.locator("#quote")).to_contain_text("calls to test-judge", timeout=30_000)
    visit.locator("#confirm").click()
    expect(visit.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)
    assert two.judge.counts.paid - tried_out == CALLS, "both servers judge, none asks what the other asked"
    assert one(two.url, "SELECT sum(held) FROM budget") == 0
    link = visit.locator(".mine a").first.get_attribute("href")
    for server in two.servers:
        visit.goto(f"{server.address}/{link}")
        expect(visit.locator(".report-head .total")).to_be_visible(timeout=30_000)


def test_what_one_judged_the_other_has_in_its_cache(two, visit):
    """The same file again, by somebody else: nothing is asked, and nothing is paid."""
    asked, spent = two.judge.counts.paid, one(two.url, "SELECT max(spent) FROM budget")
    visit.get_by_role("tab", name="Score outputs").click()
    visit.set_input_files("#drop-file", SAMPLE_PREDICTIONS)
    expect(visit.locator("#found")).to_contain_text("16 answers", timeout=30_000)
    visit.locator("#check").click()
    expect(visit.locator("#quote")).to_be_visible(timeout=30_000)
    visit.locator("#confirm").click()
    expect(visit.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)
    assert two.judge.counts.paid == asked
    assert one(two.url, "SELECT max(spent) FROM budget") == spent


def in_a_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own: the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def a_battle(address: str) -> list[str]:
    """Fight a whole battle with a follow-up; return the phases that were shown."""
    async with Visitor(address) as visitor:
        token = await visitor.begin("What is this?", images=2)
        path = f"/live/battles/{token}"
        shown = await visitor.watch(path)
        assert any(message["kind"] == "words" for message in shown), "words come while they are written"
        await visitor.post(f"{path}/questions", {"text": "And what else?"})
        async with visitor.watching(path) as messages:
            await anext(messages)
            stopped = await visitor.post(f"{path}/stop")
        voted = await visitor.post(f"{path}/choice", {"choice": "b"})
        again = (await visitor.post(f"{path}/undo"))["battle"]
        await visitor.post(f"/live/battles/{again}/choice", {"choice": "a"})
        revealed = await visitor.post(f"/live/battles/{again}/reveal")
        return [*(message["phase"] for message in (shown[0], shown[-1], stopped, voted, revealed))]


def test_a_live_battle_is_fought_over_two_servers(two):
    async def six() -> list[list[str]]:
        return await asyncio.gather(*(a_battle(two.balancer.address) for _ in range(6)))

    phases = in_a_loop(six())
    assert phases == [["growing", "open", "open", "voted", "revealed"]] * 6
    took = [sum(n for path, n in paths.items() if path.startswith("/live")) for paths in two.balancer.took.values()]
    assert min(took) > 20, "both servers were asked"


def test_a_chat_is_held_over_two_servers(two):
    async def talk() -> str:
        async with Visitor(two.balancer.address) as visitor:
            begun = await visitor.post("/chat/talks", {"model": "Model one", "instruction": "Hello", "images": []})
            path = f"/chat/talks/{begun['talk']}"
            await visitor.watch(path)
            await visitor.post(f"{path}/questions", {"text": "Go on"})
            return str((await visitor.watch(path))[-1])

    async def some() -> list[str]:
        return await asyncio.gather(*(talk() for _ in range(4)))

    assert all(said.count("red all over") >= 2 for said in in_a_loop(some()))


def test_who_closes_a_page_ends_answers_at_their_server(two):
    """Whichever server the page was open at: nothing is generated for nobody."""

    async def leave() -> None:
        async with Visitor(two.balancer.address) as visitor:
            token = await visitor.begin("What is this?")
            async with visitor.watching(f"/live/battles/{token}") as messages:
                await anext(messages)

    async def several() -> None:
        await asyncio.gather(*(leave() for _ in range(4)))
        async with asyncio.timeout(20):
            while two.models.running:
                await asyncio.sleep(0.1)

    in_a_loop(several())


def test_a_dead_server_is_not_missed(two):
    """Who votes while a server is killed asks again, and the other one answers."""
    with Voter(two.balancer.address) as voter:
        voter.load()
        two.servers[0].kill()
        voter.choose("a")
        voter.wait_out_undo()
        voter.next()
    two.servers[0].start()


def test_when_a_server_dies_its_visitors_find_another(two):
    """A server is killed; every visitor fights on at the one that is left."""
    two.servers[0].kill()

    async def some() -> list[str]:
        fought = []
        async with asyncio.timeout(120):
            while len(fought) < 4:
                with suppress(httpx.HTTPError):
                    fought.append((await a_battle(two.balancer.address))[-1])
        return fought

    assert in_a_loop(some()) == ["revealed"] * 4
    two.servers[0].start()


def test_boards_are_computed_once(two):
    """What takes long about a board is found out by the server that comes first; the other reads it."""
    engine = create_engine(two.url)
    with engine.connect() as connection:
        source, multi, votes = connection.execute(
            text("SELECT source_id, multi, sum(n) FROM wins GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 1")
        ).one()
        connection.execute(FOUND.delete())
        connection.commit()
        databases = [Database(two.url) for _ in "12"]
        boards = [Leaderboard(database) for database in databases]
        made = [board.board(BoardKey(source=source, multi=multi), patience=60) for board in boards]
        assert [one.votes for one in made] == [votes, votes]
        assert made[0].statistics and made[1].statistics
        assert parts(made[0].statistics) == parts(made[1].statistics)
        assert connection.execute(text("SELECT count(*) FROM found WHERE made_at IS NOT NULL")).scalar() == 1
    engine.dispose()
    for board, database in zip(boards, databases, strict=True):
        board.close()
        database.close()
