"""Routed models: live models that are asked with visitors' keys, as the lists of their routers have them now."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from arena.inference.openai_model import ApiVLM
from arena.inference.router_list import RouterList, UnlistedError
from arena.types import VLM

EVERY_SECONDS = 3600.0
SOON_SECONDS = 60.0
"""Time until a list that could not be read is asked for again."""
LEAST_SECONDS = 10.0
"""Shortest time between two readings, however often visitors ask for one."""


class RoutedModels:
    """The models of a catalogue whose key is the visitor's."""

    def __init__(self, vlms: Sequence[VLM]) -> None:
        self._cards = [vlm.card for vlm in vlms]
        self._lists = {card.address: RouterList(card.address) for card in self._cards}
        self._wanted = asyncio.Event()
        self._read_at = 0.0
        self.usable: tuple[VLM, ...] = ()
        """Those that can be asked now, their cards with today's prices."""
        self.problems: tuple[str, ...] = ()
        """Why the others can't, each in a line for the operator."""
        self._settle()

    def read_soon(self) -> None:
        """Read the lists once more, unless that was done just now."""
        if time.monotonic() - self._read_at > LEAST_SECONDS:
            self._wanted.set()

    async def read(self) -> None:
        """Read the routers' lists."""
        await asyncio.gather(*(router.read() for router in self._lists.values()))
        self._read_at = time.monotonic()
        self._settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the lists now and every hour while the server runs."""
        task = asyncio.create_task(self._keep_reading()) if self._cards else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()

    async def _keep_reading(self) -> None:
        while True:
            await self.read()
            self._wanted.clear()
            is_known = all(router.is_fresh for router in self._lists.values())
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS if is_known else SOON_SECONDS):
                    await self._wanted.wait()

    def _settle(self) -> None:
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
