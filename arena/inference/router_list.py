"""Router's list: the models that a router of Hugging Face offers now, and their prices.

`GET /models` has each model's input modalities, and each provider's status and prices in dollars per million tokens
(https://huggingface.co/docs/inference-providers/hub-api). It is read without a key. Its content comes from a stranger,
so malformed parts count as absent.
"""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import httpx2

from arena.inference.openai_client import tls_context
from arena.io.strict_json import JSON, FileLimits, RowsError, parse_json
from arena.types import ModelCard, Price

MOST_BYTES = 3_000_000
_LIST_SECONDS = 15.0
_LIMITS = FileLimits(bytes=MOST_BYTES, rows=None)
_CHEAPEST = "cheapest"
_POLICIES = frozenset((_CHEAPEST, "fastest", "preferred"))
"""The policies that may follow a model's colon, in place of a provider's name."""
_MOST_DOLLARS = 100_000

JSONObject: TypeAlias = Mapping[str, JSON]

log = logging.getLogger(__name__)


class ListError(RuntimeError):
    """A router's list can't be read; the message says why."""


class UnlistedError(LookupError):
    """A router's list doesn't offer a card's model; the message tells the operator why."""


class RouterList:
    """The last list of one router."""

    def __init__(self, address: str) -> None:
        """Reads nothing yet; `address` is the router's base URL, as in its cards."""
        self._address = address
        self._models: Mapping[str, JSONObject] | None = None
        self.is_fresh = False
        """Whether the last reading succeeded."""

    async def read(self) -> None:
        """Reads the list; if that fails, the last one stays."""
        try:
            content = await fetch_list(f"{self._address}/models")
            self._models = await asyncio.to_thread(models_of, content)
            self.is_fresh = True
        except ListError as error:
            self.is_fresh = False
            log.warning("the list of models at %s was not read: %s", self._address, error)

    def price(self, card: ModelCard) -> Price:
        """Returns the price of the live provider that the router chooses for a card. Raises UnlistedError.

        Unless that is the cheapest one or a named one, it may be any: then these are the highest prices.
        """
        if self._models is None:
            raise UnlistedError(
                f"not checked: the list at {self._address}/models can't be read yet"
            )
        # A card's model may end in ":" and a provider's name, or a policy by which the router chooses one.
        model, _, provider = card.model.partition(":")
        model_entry = self._models.get(model)
        if model_entry is None:
            raise UnlistedError(f"the router doesn't list {model}")
        if not _takes_images(model_entry):
            raise UnlistedError(f"the router lists {model} without image input")
        offers = _only_objects(model_entry.get("providers"))
        if provider and provider not in _POLICIES:
            offers = [offer for offer in offers if offer.get("provider") == provider]
        live = [offer for offer in offers if offer.get("status") == "live"]
        if not live:
            raise UnlistedError(f"no provider of {model} is live")
        prices = [price for price in map(_price, live) if price is not None]
        if not prices:
            raise UnlistedError(f"no live provider of {model} gives its price")
        if provider == _CHEAPEST:
            return min(prices, key=lambda price: (price.completion, price.prompt))
        return Price(
            prompt=max(price.prompt for price in prices),
            completion=max(price.completion for price in prices),
        )


async def fetch_list(url: str) -> bytes:
    """Returns the body at a router's address, without a key and without redirects. Raises ListError."""
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    # Without https, as in tests, certificates need not be loaded.
    verify = tls_context() if url.startswith("https:") else False
    try:
        async with (
            asyncio.timeout(_LIST_SECONDS),
            httpx2.AsyncClient(verify=verify, timeout=_LIST_SECONDS) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise ListError(f"it answered {answer.status_code}")
            body = bytearray()
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_BYTES:
                    raise ListError(f"it has more than {MOST_BYTES:,} bytes")
            return bytes(body)
    except TimeoutError as error:
        raise ListError(f"no answer within {_LIST_SECONDS:g} seconds") from error
    except httpx2.HTTPError as error:
        raise ListError(f"no connection ({type(error).__name__})") from error


def models_of(content: bytes) -> Mapping[str, JSONObject]:
    """Returns the models of a list by their ids. Raises ListError for anything but a list of models."""
    try:
        listing = parse_json(content.decode(), _LIMITS)
    except (UnicodeDecodeError, RowsError) as error:
        raise ListError("it isn't JSON") from error
    data = listing.get("data") if isinstance(listing, dict) else None
    models = {str(model["id"]): model for model in _only_objects(data) if model.get("id")}
    if not models:
        raise ListError("it lists no models")
    return models


def _only_objects(value: JSON) -> Sequence[JSONObject]:
    """Returns the objects in a list; none for any other value."""
    if not isinstance(value, list):
        return []
    return [part for part in value if isinstance(part, dict)]


def _takes_images(model: JSONObject) -> bool:
    architecture = model.get("architecture")
    modalities = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    return isinstance(modalities, list) and "image" in modalities


def _price(offer: JSONObject) -> Price | None:
    """Returns a provider's price; None if it is absent or malformed."""
    pricing = offer.get("pricing")
    if not isinstance(pricing, dict):
        return None
    prompt = _dollars(pricing.get("input"))
    completion = _dollars(pricing.get("output"))
    if prompt is None or completion is None:
        return None
    return Price(prompt, completion)


def _dollars(value: JSON) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= _MOST_DOLLARS else None
