"""Stages: answers on their way, each watched by its visitor's page, as many at one time as the operator allows."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress

from arena.budget import Ledger, LedgerError
from arena.inference.limits import most_cost
from arena.live.streaming import Round
from arena.types import VLM, Conversation, ModelError, Usage

MOST_WAITING = 200
"""Visitors who may wait in line; others are told to come back."""
LEFT_SECONDS = 1.0
"""How long answers go on when the page that showed them is gone: it may come back."""
STILL_SECONDS = 15.0
"""A page hears at least so often, or something on the way would take the connection for dead."""
OPENING_SECONDS = 10.0
"""How long answers go on before a page shows them."""

log = logging.getLogger(__name__)


class LiveError(ValueError):
    """Say why nothing was asked, and what the visitor can do."""


class Purse:
    """Pay for one conversation of one visitor: what an answer may cost is held before it is asked."""

    def __init__(self, ledger: Ledger, conversation: str, voter: int) -> None:
        self._ledger = ledger
        self._names = (conversation, str(voter))
        self.empty: str | None = None
        """Why there is no money left, if so."""

    async def speak(self, vlm: VLM, turns: Conversation) -> AsyncGenerator[str, None]:
        """Yield a model's answer; raises ModelError, also where the budget has no room for it."""
        settings = vlm.card.generation
        held = await self._hold(most_cost(vlm.card, turns, settings))
        used: list[Usage] = []
        try:
            async with aclosing(vlm.stream(turns, settings, used.append)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            if held is not None:
                cost = sum(usage.cost for usage in used)
                await asyncio.shield(asyncio.to_thread(self._ledger.settle, held, cost))

    async def _hold(self, amount: int) -> int | None:
        """Hold an amount; None: it costs nothing. A hold that ends after this task was cancelled is given back."""
        if not amount:
            return None
        holding = asyncio.ensure_future(asyncio.to_thread(self._ledger.hold, *self._names, amount))
        try:
            return await asyncio.shield(holding)
        except asyncio.CancelledError:
            with suppress(LedgerError):
                await asyncio.to_thread(self._ledger.settle, await holding, 0)
            raise
        except LedgerError as error:
            self.empty = str(error)
            raise ModelError("spent", "the budget for live answers has no room for another") from error


class Line:
    """Let so many stages run at one time; others wait in the order they came.

    `check` is called before a question is asked, and raises LiveError while none may be.
    """

    def __init__(self, at_once: int, check: Callable[[], None] = lambda: None) -> None:
        self._at_once = at_once
        self._check = check
        self._stages: list[Stage] = []
        """Those that run come first."""

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return max(0, len(self._stages) - self._at_once)

    async def check_room(self) -> None:
        """Raise LiveError where too many wait, or while nothing may be asked."""
        await asyncio.to_thread(self._check)
        if self.waiting >= MOST_WAITING:
            raise LiveError(f"{self.waiting} others are waiting for answers; please come back in a few minutes")

    def ahead(self, stage: "Stage") -> int:
        """Return how many must go before a stage can run: 0 for one that runs."""
        return max(0, self._stages.index(stage) + 1 - self._at_once) if stage in self._stages else 0

    @asynccontextmanager
    async def turn(self, stage: "Stage") -> AsyncIterator[None]:
        """Hold a place; wait until it is among the first, or the stage was stopped."""
        self._stages.append(stage)
        try:
            seen = 0
            while self.ahead(stage) and stage.round.ending is None:
                seen = await stage.changed(seen)
            yield
        finally:
            self._stages.remove(stage)
            for other in self._stages:
                other.tell()


class Stage:
    """One turn on its way: it waits in line, is answered, and is stopped when nobody watches it any more."""

    def __init__(self, line: Line, round_: Round, finish: Callable[[Round], Awaitable[None]]) -> None:
        """Begin; `finish` is awaited when the answers have ended."""
        self.round = round_
        self._line = line
        self._watchers = 0
        self._news = asyncio.Event()
        self._told = 0
        self._left: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._run(finish))
        self._task.add_done_callback(self._done)
        self._expect(OPENING_SECONDS)

    @property
    def ahead(self) -> int:
        """Return how many wait before it."""
        return self._line.ahead(self)

    @property
    def over(self) -> bool:
        """Tell whether its end is stored."""
        return self._task.done()

    async def changed(self, seen: int) -> int:
        """Wait until more is shown than was `seen`, it moved up in the line, it is over, or STILL_SECONDS are over.

        Return what is seen now.
        """
        try:
            async with asyncio.timeout(STILL_SECONDS):
                while self._told == seen and not self.over:
                    await self._news.wait()
        except TimeoutError:
            return seen
        return self._told

    def tell(self) -> None:
        """Wake those who watch."""
        self._told += 1
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def stop(self) -> None:
        """End the answers and wait until that is stored."""
        self.round.stop()
        self.tell()
        await asyncio.wait([self._task])

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Keep it running for a page."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            self._expect(LEFT_SECONDS)

    async def _run(self, finish: Callable[[Round], Awaitable[None]]) -> None:
        async with self._line.turn(self):
            await self.round.run(self.tell)
        await finish(self.round)

    def _expect(self, seconds: float) -> None:
        """Stop if nobody watches after so many seconds."""
        if self._left is not None:
            self._left.cancel()
        self._left = asyncio.get_running_loop().call_later(seconds, self._leave)

    def _leave(self) -> None:
        if self._watchers == 0:
            self.round.stop()
            self.tell()

    def _done(self, task: "asyncio.Task[None]") -> None:
        if self._left is not None:
            self._left.cancel()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a live answer could not be kept", exc_info=error)
        self.tell()
