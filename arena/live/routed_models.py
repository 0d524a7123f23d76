"""Routed models: live models with visitors' keys, by the current lists of their routers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import httpx2

from arena.inference.openai_model import ApiVLM
from arena.inference.router_list import RouterList, UnlistedError
from arena.types import VLM, Price

EVERY_SECONDS = 3600.0
"""The time between two readings of the lists."""
SOON_SECONDS = 60.0
"""The time before another try to read a list."""
LEAST_SECONDS = 10.0
"""The shortest time between two readings."""

log = logging.getLogger(__name__)


class RoutedModels:
    """The models of a catalogue that need a visitor's key."""

    def __init__(
        self, vlms: Sequence[VLM], take_prices: Callable[[Mapping[str, Price]], None]
    ) -> None:
        """`take_prices` gets the prices of usable models, by name, each time that all lists have been read."""
        self._take_prices = take_prices
        self._cards = [vlm.card for vlm in vlms]
        self._lists = {card.address: RouterList(card.address) for card in self._cards}
        self._read_request = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._read_at = 0.0
        """The monotonic time of the last reading's end."""
        self.usable: tuple[VLM, ...] = ()
        """The usable models, with today's prices on their cards."""
        self.problems: tuple[str, ...] = ()
        """The reasons why others aren't usable, each in a line for the operator."""
        self.is_reading = bool(vlms)
        """Whether the lists are being read, so that more may be usable in a moment."""
        self._update_usable()

    @property
    def unreached_host(self) -> str:
        """The host of a router whose list could not be read the last time, or not yet; "" if there is none."""
        addresses = [address for address, router in self._lists.items() if not router.is_fresh]
        return httpx2.URL(addresses[0]).host if addresses else ""

    def read_soon(self) -> None:
        """Requests another reading of the lists, unless one runs or has just ended; may be called in any thread."""
        has_just_read = time.monotonic() - self._read_at < LEAST_SECONDS
        if self._loop is None or self.is_reading or has_just_read:
            return
        self.is_reading = True
        self._loop.call_soon_threadsafe(self._read_request.set)

    async def read(self) -> None:
        """Reads the routers' lists."""
        self.is_reading = True
        try:
            await asyncio.gather(*(router.read() for router in self._lists.values()))
            self._update_usable()
        finally:
            self._read_at = time.monotonic()
            self.is_reading = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Reads the lists now and every hour while the server runs."""
        if not self._cards:
            # This deletes the prices of models that were in the file before.
            await asyncio.to_thread(self._take_prices, {})
            yield
            return
        self._loop = asyncio.get_running_loop()
        task = asyncio.create_task(self._keep_reading())
        try:
            yield
        finally:
            task.cancel()

    async def _keep_reading(self) -> None:
        while True:
            self._read_request.clear()
            all_read = False
            try:
                await self.read()
                all_read = all(router.is_fresh for router in self._lists.values())
                if all_read:
                    await asyncio.to_thread(self._take_prices, self._prices())
            except Exception:
                log.exception("the lists of routers, or their prices, could not be taken")
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS if all_read else SOON_SECONDS):
                    await self._read_request.wait()

    def _prices(self) -> dict[str, Price]:
        cards = [vlm.card for vlm in self.usable]
        return {card.name: card.price for card in cards if card.price}

    def _update_usable(self) -> None:
        """Sets the usable models and the problems by the last lists."""
        usable: list[VLM] = []
        problems: list[str] = []
        for card in self._cards:
            try:
                price = self._lists[card.address].price(card)
            except UnlistedError as error:
                problems.append(f"{card.name}: {error}.")
            else:
                usable.append(ApiVLM(replace(card, price=price)))
        self.usable = tuple(usable)
        self.problems = tuple(problems)
