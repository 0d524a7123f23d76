"""What live answers cost their operator: a question that was sent costs at least its prompt, however it ends."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select

from arena.budget import BUDGET, HOLD, LIVE, Budget, Ceilings
from arena.inference.limits import most_usage
from arena.live.queue import LiveBudget
from arena.types import Generation, ModelCard, Price, Turn
from tests.support.live_visitor import Visitor, card, catalogue, picture, says
from tests.support.openai_server import OpenAIServer
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.servers import AppServer

QUESTION = "What is this? " * 500
PRICE = Price(1.0, 1.0)
TURN = Turn("user", QUESTION.strip(), (picture(),))
PROMPT = most_usage(ModelCard("any", "api", "any", ""), [TURN], Generation(max_tokens=0)).prompt
"""What a question costs in millionths of a dollar, at a dollar for a million tokens."""


@contextmanager
def serving(
    folder: Path, price: Price = PRICE, **environ: str
) -> Iterator[tuple[AppServer, OpenAIServer]]:
    """Serve an app whose two models say nothing for a minute."""
    with OpenAIServer(
        says({"one": "Red.", "two": "Red."}), models=("one", "two"), latency=60.0
    ) as server:
        prices = {"prompt_price": price.prompt, "completion_price": price.completion}
        tables = [card(f"Model {name}", name, server, **prices) for name in server.models]
        app = AppServer(folder / "data", MODELS=catalogue(folder, *tables), **environ)
        yield app, server
        app.stop()


@pytest.fixture(scope="module")
def silent(tmp_path_factory) -> Iterator[tuple[AppServer, OpenAIServer]]:
    with serving(tmp_path_factory.mktemp("silent"), TRUSTED_HOPS="1") as served:
        yield served


def spent(app: AppServer) -> tuple[int, int]:
    """Return what all live answers together did cost, and what is held."""
    with closing(sqlite3.connect(app.data_dir / "arena.db")) as database:
        return database.execute(
            "SELECT spent, held FROM budget WHERE name = 'live total'"
        ).fetchone() or (0, 0)


async def sent(server: OpenAIServer, calls: int) -> None:
    """Wait until so many calls have come."""
    while server.counts.calls < calls:
        await asyncio.sleep(0.02)


def test_battles_that_are_stopped_before_the_first_word_cost_their_prompts(silent):
    app, server = silent
    before, called = spent(app)[0], server.counts.calls

    async def run() -> None:
        async with Visitor(app.address) as visitor:
            for number in range(1, 6):
                path = f"/live/battles/{await visitor.begin(QUESTION)}"
                await sent(server, called + 2 * number)
                assert (await visitor.post(f"{path}/stop"))["phase"] == "void"
                assert spent(app) == (before + 2 * number * PROMPT, 0)

    asyncio.run(run())
    assert server.counts.calls == called + 10


def test_where_people_can_log_in_guests_are_lent_no_model_that_costs(tmp_path):
    with serving(tmp_path, OAUTH_CLIENT_ID="us", OAUTH_CLIENT_SECRET="a secret of ours") as (
        app,
        server,
    ):

        async def run() -> None:
            async with Visitor(app.address) as visitor:
                images = [await visitor.upload(picture())]
                said = await visitor.refused(
                    "/live/battles", {"instruction": QUESTION, "images": images}
                )
                assert said.startswith("This costs the operator money, so")

        asyncio.run(run())
        assert server.counts.calls == 0


def test_where_people_can_log_in_guests_are_lent_models_whose_price_is_nothing(tmp_path):
    login = {"OAUTH_CLIENT_ID": "us", "OAUTH_CLIENT_SECRET": "a secret of ours"}
    with serving(tmp_path, Price(0.0, 0.0), **login) as (app, server):

        async def run() -> None:
            async with Visitor(app.address) as visitor:
                battle = await visitor.begin(QUESTION)
                await sent(server, 2)
                await visitor.post(f"/live/battles/{battle}/stop")

        asyncio.run(run())
        assert spent(app) == (0, 0)


def test_battles_of_a_guest_are_charged_to_the_network_too(silent):
    app, server = silent
    called = server.counts.calls

    def held() -> dict[str, int]:
        with closing(sqlite3.connect(app.data_dir / "arena.db")) as database:
            return dict(
                database.execute("SELECT name, held FROM budget WHERE name LIKE 'live day%'")
            )

    async def run() -> dict[str, int]:
        async with Visitor(app.address) as visitor:
            visitor.client.headers["x-forwarded-for"] = "8.8.8.8"
            battle = await visitor.begin(QUESTION)
            await sent(server, called + 2)
            found = held()
            await visitor.post(f"/live/battles/{battle}/stop")
            return found

    found = asyncio.run(run())
    (network,) = (amount for name, amount in found.items() if " network " in name)
    assert 2 * network == sum(found.values()) > 2 * PROMPT


@pytest.mark.locks_or_dialect
def test_a_reservation_that_is_cancelled_is_given_back(database):
    """A visitor stops while the ledger waits for its turn to write: nothing was sent, and nothing stays held."""
    budget = Budget(database, Ceilings(10**9, 10**9, 10**9), LIVE)
    vlm = ScriptedVLM("one", price=PRICE)

    async def ask() -> None:
        async with aclosing(LiveBudget(budget, "battle", 1).stream_answer(vlm, [TURN])) as pieces:
            async for _ in pieces:
                pass

    async def run() -> None:
        with database.write() as connection:
            if not database.is_sqlite:
                connection.execute(BUDGET.insert().values(name="live job talk", spent=0, held=0))
            asking = asyncio.create_task(ask())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(run())
    with database.read() as connection:
        assert connection.execute(select(HOLD)).all() == []
        assert {
            tuple(row) for row in connection.execute(select(BUDGET.c.spent, BUDGET.c.held))
        } == {(0, 0)}
    assert vlm.asked == []
