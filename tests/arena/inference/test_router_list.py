"""The router's list: which cards can be asked, at which price, and why others can't."""

import asyncio
import json

import pytest

from arena.inference.router_list import (
    MOST_BYTES,
    ListError,
    RouterList,
    UnlistedError,
    models_of,
)
from arena.types import ModelCard, Price
from tests.support.router_server import RouterServer, listed, offer


def router_card(model: str) -> ModelCard:
    return ModelCard("X", "api", model, visitor_key=True)


def read(router: RouterServer) -> RouterList:
    routed = RouterList(router.address)
    asyncio.run(routed.read())
    return routed


def reason(routed: RouterList, model: str) -> str:
    with pytest.raises(UnlistedError) as caught:
        routed.price(router_card(model))
    return str(caught.value)


def test_the_price_is_that_of_the_live_provider_that_the_router_chooses():
    """Unless the card names it or asks for the cheapest, it may be any, and budgets count on the dearest."""
    with RouterServer() as router:
        router.list = [
            listed(
                "org/one",
                offer("dear", input=1, output=3),
                offer("slow", input=2, output=2),
                offer("gone", "error", input=0.01, output=0.01),
                offer("cheap", input=0.2, output=0.8),
            )
        ]
        routed = read(router)
        assert routed.price(router_card("org/one:cheapest")) == Price(0.2, 0.8)
        for any_provider in ("org/one", "org/one:fastest", "org/one:preferred"):
            assert routed.price(router_card(any_provider)) == Price(2.0, 3.0)
        assert routed.price(router_card("org/one:dear")) == Price(1.0, 3.0)
        assert reason(routed, "org/one:gone") == "no provider of org/one is live"
        assert router.counts.keys == set(), "nothing was asked"


def test_what_cannot_be_asked_says_why():
    with RouterServer() as router:
        router.list = [
            listed("org/blind", inputs=("text",)),
            listed("org/free", {"provider": "nova", "status": "live"}),
            listed("org/odd", offer(input=float("1e300"), output=True), {"status": ["live"]}),
            {"id": "org/bare"},
            {"id": 7, "architecture": "image", "providers": {"status": "live"}},
        ]
        routed = read(router)
        assert reason(routed, "org/none:cheapest") == "the router doesn't list org/none"
        assert reason(routed, "org/blind") == "the router lists org/blind without image input"
        assert reason(routed, "org/free") == "no live provider of org/free gives its price"
        assert reason(routed, "org/odd") == "no live provider of org/odd gives its price"
        assert reason(routed, "org/bare") == "the router lists org/bare without image input"
        assert reason(routed, "7") == "the router lists 7 without image input"


def test_a_list_that_cannot_be_read_leaves_the_last_one():
    with RouterServer() as router:
        routed = RouterList(router.address)
        assert reason(routed, "org/one").startswith("not checked")
        asyncio.run(routed.read())
        router.list = []
        asyncio.run(routed.read())
        assert not routed.is_fresh
        assert routed.price(router_card("org/one")) == Price(0.3, 1.0)
    asyncio.run(routed.read())
    assert routed.price(router_card("org/one")) == Price(0.3, 1.0)


def test_a_list_is_bounded():
    with RouterServer() as router:
        router.list = [listed("org/one") | {"x": "y" * MOST_BYTES}]
        assert not read(router).is_fresh


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"[]", b"\xff", b'{"data": {}}', b'{"data": [1, null]}', b"[" * 100_000],
)
def test_what_is_no_list_is_refused(content):
    with pytest.raises(ListError):
        models_of(content)


def test_a_list_is_read_by_id():
    models = models_of(json.dumps({"data": [listed("org/one"), "x", listed("org/two")]}).encode())
    assert list(models) == ["org/one", "org/two"]
