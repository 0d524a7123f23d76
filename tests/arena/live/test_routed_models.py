"""Routed models: what a router lists can be asked at its price; the rest is left out with a reason."""

import asyncio
from collections.abc import Callable, Mapping

from arena.inference.openai_model import ApiVLM
from arena.live import routed_models
from arena.live.routed_models import RoutedModels
from arena.types import ModelCard, Price
from tests.support.router_server import MODELS, RouterServer, listed, offer


def routed(
    router: RouterServer, take_prices: Callable[[Mapping[str, Price]], None] = print
) -> RoutedModels:
    return RoutedModels(
        [
            ApiVLM(ModelCard(name, "api", f"{model}:cheapest", router.address, visitor_key=True))
            for model, name in MODELS.items()
        ],
        take_prices,
    )


def names(models: RoutedModels) -> list[str]:
    return [vlm.card.name for vlm in models.usable]


def test_models_come_and_go_with_the_list():
    one, two, three = MODELS
    with RouterServer() as router:
        models = routed(router)
        assert models.usable == () and len(models.problems) == 3
        assert "not checked" in models.problems[0] and models.unreached_host == "127.0.0.1"
        router.list = [listed(one, offer(input=1, output=2)), listed(two, offer(status="error"))]
        asyncio.run(models.read())
        assert names(models) == [MODELS[one]]
        assert models.usable[0].card.price == Price(1.0, 2.0)
        assert models.problems == (
            f"{MODELS[two]}: no provider of {two} is live.",
            f"{MODELS[three]}: the router doesn't list {three}.",
        )
        assert models.unreached_host == ""
    asyncio.run(models.read())
    assert names(models) == [MODELS[one]], "an unreachable router leaves the last list"


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.01)


def test_prices_are_told_with_each_list_and_a_failure_ends_nothing(monkeypatch, caplog):
    monkeypatch.setattr(routed_models, "LEAST_SECONDS", 0.0)
    one, two, _ = MODELS
    told: list[Mapping[str, Price]] = []

    def take(prices: Mapping[str, Price]) -> None:
        told.append(prices)
        if len(told) == 1:
            raise RuntimeError("the database is away")

    async def run() -> None:
        with RouterServer() as router:
            models = routed(router, take)
            router.list = [listed(one, offer(input=1, output=2)), listed(two, inputs=("text",))]
            async with models.running():
                await until(lambda: len(told) == 1)
                router.list = [listed(one, offer(input=1, output=3)), listed(two)]
                models.read_soon()
                await until(lambda: len(told) == 2)
                router.list = []
                models.read_soon()
                await until(lambda: not models.is_reading)

    asyncio.run(run())
    assert told == [
        {MODELS[one]: Price(1.0, 2.0)},
        {MODELS[one]: Price(1.0, 3.0), MODELS[two]: Price(0.3, 1.0)},
    ], "a list that could not be read tells no price of today"
    assert "the database is away" in caplog.text


def test_without_such_models_no_price_stays():
    told: list[Mapping[str, Price]] = []

    async def run() -> None:
        async with RoutedModels([], told.append).running():
            assert told == [{}]

    asyncio.run(run())


def test_a_visitor_who_tries_again_has_the_list_read(monkeypatch):
    monkeypatch.setattr(routed_models, "LEAST_SECONDS", 0.0)

    async def run() -> None:
        with RouterServer() as router:
            models = routed(router)
            listing = router.list
            router.list = []
            async with models.running():
                await until(lambda: not models.is_reading)
                assert models.usable == ()
                router.list = listing
                await asyncio.to_thread(models.read_soon)
                assert models.is_reading
                await until(lambda: not models.is_reading)
                assert len(models.usable) == 3

    asyncio.run(run())


def test_a_list_that_is_being_read_is_not_read_again(monkeypatch):
    class SlowList:
        is_fresh = True
        readings = 0

        def __init__(self, address: str) -> None:
            pass

        async def read(self) -> None:
            SlowList.readings += 1
            await asyncio.sleep(0.05)

        def price(self, card: ModelCard) -> Price:
            return Price(1.0, 2.0)

    monkeypatch.setattr(routed_models, "RouterList", SlowList)

    async def run() -> None:
        models = RoutedModels([ApiVLM(ModelCard("a", "api", "m", "http://router"))], lambda _: None)
        async with models.running():
            await until(lambda: SlowList.readings == 1)
            models.read_soon()
            await until(lambda: not models.is_reading)
            await asyncio.sleep(0.05)
            assert SlowList.readings == 1

    asyncio.run(run())
