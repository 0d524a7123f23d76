"""Routed models: what a router lists can be asked at its price; the rest is left out with a reason."""

import asyncio

from arena.inference.openai_model import ApiVLM
from arena.live import routed_models
from arena.live.routed_models import RoutedModels
from arena.types import ModelCard, Price
from tests.support.router_server import MODELS, RouterServer, listed, offer


def routed(router: RouterServer) -> RoutedModels:
    return RoutedModels(
        [
            ApiVLM(ModelCard(name, "api", f"{model}:cheapest", router.address, visitor_key=True))
            for model, name in MODELS.items()
        ]
    )


def names(models: RoutedModels) -> list[str]:
    return [vlm.card.name for vlm in models.usable]


def test_models_come_and_go_with_the_list():
    one, two, three = MODELS
    with RouterServer() as router:
        models = routed(router)
        assert models.usable == () and len(models.problems) == 3
        assert "not checked" in models.problems[0]
        router.list = [listed(one, offer(input=1, output=2)), listed(two, offer(status="error"))]
        asyncio.run(models.read())
        assert names(models) == [MODELS[one]]
        assert models.usable[0].card.price == Price(1.0, 2.0)
        assert models.problems == (
            f"{MODELS[two]}: no provider of {two} is live.",
            f"{MODELS[three]}: the router doesn't list {three}.",
        )
    asyncio.run(models.read())
    assert names(models) == [MODELS[one]], "an unreachable router leaves the last list"


def test_a_visitor_who_tries_again_has_the_list_read(monkeypatch):
    monkeypatch.setattr(routed_models, "LEAST_SECONDS", 0.0)

    async def until(is_so) -> None:
        async with asyncio.timeout(10):
            while not is_so():
                await asyncio.sleep(0.01)

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
