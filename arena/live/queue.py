"""Generation queue: live answers in progress, as many at once as the operator allows, each watched by a page."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

from arena.budget import Budget, BudgetError, reserved
from arena.errors import VoterError
from arena.inference.limits import most_cost
from arena.live.credits import LOGIN_OVER, ROUTER_FAULTS, refusal_of, with_key
from arena.live.streaming import SideBySide
from arena.types import VLM, Conversation, ModelError, Secret, Side, Usage, pass_over

MOST_WAITING = 200
"""The most waiting visitors; as many again may wait if they are the first of their network."""
MOST_OF_NETWORK = 40
"""The most visitors of a network who are answered or wait, so that none takes the whole queue."""
DISCONNECT_SECONDS = 5.0
"""The time that answers run on without a page, so that a reloaded page finds them, even on a slow line."""
KEEPALIVE_SECONDS = 15.0
"""The longest silence towards a page, so that no proxy takes the connection for dead."""
OPENING_SECONDS = 10.0
"""The longest time that answers run before a page shows them."""

log = logging.getLogger(__name__)


class LiveError(VoterError):
    """A question is refused; the message says why, and what the visitor can do."""


class ElsewhereError(RuntimeError):
    """A battle's answers are in the memory of another server."""

    def __init__(self) -> None:
        super().__init__(
            "This battle runs on another server, and your request didn't reach it. Reload "
            "the page, or ask the operator to turn on session affinity."
        )


class LiveBudget:
    """The payer of a visitor's battle.

    The most that an answer may cost the operator is reserved before the request. A request with the visitor's key costs
    the operator nothing, unless it is the operator's own key.
    """

    def __init__(
        self,
        budget: Budget,
        battle: str,
        voter: int,
        network: str | None = None,
        key: Callable[[], Secret | None] = lambda: None,
        does_visitor_pay: bool = True,
    ) -> None:
        """`network` is the code of the network that shares the visitor's limit.

        `key` returns the visitor's key, if there is one; it is called before each answer, after a possible logout.
        `does_visitor_pay` is False if that key is the operator's own.
        """
        self._budget = budget.for_job(battle, str(voter), network=network)
        self._key = key
        self._does_visitor_pay = does_visitor_pay
        self.closing_reason: str | None = None
        """The reason why nothing more is paid for, if any; it names neither a model nor a side."""

    async def stream_answer(
        self, vlm: VLM, turns: Conversation, on_usage: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yields a model's answer. Raises ModelError, also when the budget has no room for it."""
        settings = vlm.card.generation
        key = await asyncio.to_thread(self._key) if vlm.card.visitor_key else None
        if vlm.card.visitor_key and key is None:
            self.closing_reason = self.closing_reason or LOGIN_OVER
            raise ModelError("unpaid", "the visitor has no key any more")
        is_free = vlm.card.visitor_key and self._does_visitor_pay
        most = 0 if is_free else most_cost(vlm.card, turns, settings)
        try:
            async with (
                reserved(self._budget if most else None, most) as reservation,
                with_key(vlm, key) as paid_vlm,
            ):

                def note(usage: Usage) -> None:
                    reservation.spent += 0 if is_free else usage.cost
                    on_usage(usage)

                async with aclosing(paid_vlm.stream(turns, settings, note)) as pieces:
                    async for piece in pieces:
                        yield piece
        except BudgetError as error:
            self.closing_reason = str(error)
            raise ModelError(
                "unpaid", "the budget for live answers has no room for another"
            ) from error
        except ModelError as error:
            refusal = refusal_of(vlm, error)
            if refusal is None:
                raise
            self.closing_reason = self.closing_reason or refusal
            if error.status in ROUTER_FAULTS:
                raise  # counted as the model's failure, which "unpaid" is not
            raise ModelError("unpaid", str(error)) from error


class GenerationQueue:
    """Limits concurrent generation tasks; in the queue, each network's first task comes before any second one."""

    def __init__(self, at_once: int, check: Callable[[], None] = lambda: None) -> None:
        """`check` is called before each question, and raises LiveError while none is allowed."""
        self._at_once = at_once
        self._check = check
        self._generations: list[GenerationTask] = []
        """The tasks in the order of the queue.

        A new task never goes before a running one. A waiting one can still be before a running one: it waits for a
        model that the other doesn't need.
        """

    @property
    def waiting(self) -> int:
        return sum(not generation.is_running for generation in self._generations)

    async def check_room(self, network: str | None = None) -> None:
        """Raises LiveError when too many of this network wait or are answered, when too many wait in all, or while no
        questions are allowed.

        A task counts from its place in the queue on, so a few visitors who come at the same moment may exceed a limit.
        """
        await asyncio.to_thread(self._check)
        network_tasks = 0 if network is None else self._network_count(network)
        if network_tasks >= MOST_OF_NETWORK:
            raise LiveError(
                "{} others on your network are waiting for answers. Please come back in a "
                "few minutes.",
                network_tasks,
            )
        is_first_of_network = network is not None and network_tasks == 0
        most_waiting = 2 * MOST_WAITING if is_first_of_network else MOST_WAITING
        if self.waiting >= most_waiting:
            raise LiveError(
                "{} others are waiting for answers. Please come back in a few minutes.",
                self.waiting,
            )

    def ahead(self, generation: "GenerationTask") -> int:
        """Returns the number of tasks that must end before this one runs; 0 for one that runs or isn't in the queue.

        It is the larger of two numbers: the tasks that must end before the limit has room, and the tasks before this
        one that share a model which answers one question at a time.
        """
        if generation.is_running or generation not in self._generations:
            return 0
        before = self._generations[: self._generations.index(generation)]
        sharing = sum(bool(other.one_at_a_time & generation.one_at_a_time) for other in before)
        return max(self._tasks_over_limit(generation), sharing)

    def public_ahead(self, generation: "GenerationTask") -> int:
        """Returns `ahead` for a page; a wait must not reveal the kind of the battle's models."""
        ahead = self.ahead(generation)
        if ahead == 0 or generation.may_show_place:
            return ahead
        return self._tasks_over_limit(generation)

    @asynccontextmanager
    async def turn(self, generation: "GenerationTask") -> AsyncIterator[None]:
        """Holds a place in the queue, and enters when no task is ahead or this one was stopped."""
        generation.rank = (
            0 if generation.network is None else self._network_count(generation.network)
        )
        self._generations.insert(self._place_of_rank(generation.rank), generation)
        try:
            version = 0
            while self.ahead(generation) and generation.side_by_side.ending is None:
                version = await generation.next_version(version)
            generation.is_running = True
            yield
        finally:
            self._generations.remove(generation)
            for other in self._generations:
                other.notify()

    def _tasks_over_limit(self, generation: "GenerationTask") -> int:
        """Returns the number of tasks that must end before the limit has room for this one."""
        return max(0, self._generations.index(generation) + 1 - self._at_once)

    def _network_count(self, network: str) -> int:
        """Returns the number of a network's tasks, running or waiting."""
        return sum(generation.network == network for generation in self._generations)

    def _place_of_rank(self, rank: int) -> int:
        """Returns the place of a new task: after the running ones, and after waiting ones of the same or a lower
        rank.
        """
        place = len(self._generations)
        while place and self._is_passed(self._generations[place - 1], rank):
            place -= 1
        return place

    def _is_passed(self, other: "GenerationTask", rank: int) -> bool:
        return not other.is_running and other.rank > rank


class GenerationTask:
    """A turn in progress: it waits in the queue, is answered, and stops when nobody watches it any more."""

    rank = 0
    """The number of its network's tasks in the queue when it came."""
    is_running = False

    def __init__(
        self,
        queue: GenerationQueue,
        side_by_side: SideBySide,
        finish: Callable[[SideBySide], Awaitable[None]],
        network: str | None = None,
        one_at_a_time: frozenset[str] = frozenset(),
        may_show_place: bool = True,
    ) -> None:
        """Starts the task; `finish` is awaited when the answers have ended.

        `one_at_a_time` names its models that answer one question at a time. `may_show_place`: whether all or none of
        the possible models answer one at a time, so that waiting for them reveals nothing.
        """
        self.side_by_side = side_by_side
        self.network = network
        self.one_at_a_time = one_at_a_time
        self.may_show_place = may_show_place
        self._queue = queue
        self._watchers = 0
        self._news = asyncio.Event()
        self._version = 0
        self._stop_timer: asyncio.TimerHandle | None = None
        self._task = asyncio.create_task(self._run(finish))
        self._task.add_done_callback(self._on_done)
        self._stop_unwatched_after(OPENING_SECONDS)

    @property
    def is_over(self) -> bool:
        """Whether its end is stored."""
        return self._task.done()

    async def next_version(self, version: int) -> int:
        """Waits until the version differs from `version` or the task is over, at most KEEPALIVE_SECONDS.

        Returns the version to wait with next.
        """
        try:
            async with asyncio.timeout(KEEPALIVE_SECONDS):
                while self._version == version and not self.is_over:
                    await self._news.wait()
        except TimeoutError:
            return version
        return self._version

    def notify(self) -> None:
        """Wakes all who wait for the next version."""
        self._version += 1
        news = self._news
        self._news = asyncio.Event()
        news.set()

    async def stop(self) -> None:
        """Ends the answers and waits until that is stored."""
        self.side_by_side.stop()
        self.notify()
        await asyncio.wait([self._task])

    async def watch(self) -> AsyncGenerator[dict[Side, str], None]:
        """Yields each side's new words at every change, and at least every KEEPALIVE_SECONDS, even if there are none.

        Words that come with the end are not among them. The task keeps running while a page watches.
        """
        self._watchers += 1
        try:
            version = -1  # none yet: the first wait ends at once, so that no change is missed
            words_yielded = dict.fromkeys(self.side_by_side.side_texts, 0)
            while not self.is_over:
                side_texts = self.side_by_side.side_texts
                texts: dict[Side, str] = {
                    side: side_text.since(words_yielded[side])
                    for side, side_text in side_texts.items()
                }
                words_yielded = {
                    side: side_text.words_shown for side, side_text in side_texts.items()
                }
                yield texts
                version = await self.next_version(version)
        finally:
            self._watchers -= 1
            self._stop_unwatched_after(DISCONNECT_SECONDS)

    async def _run(self, finish: Callable[[SideBySide], Awaitable[None]]) -> None:
        async with self._queue.turn(self):
            await self.side_by_side.run(self.notify)
        await finish(self.side_by_side)

    def _stop_unwatched_after(self, seconds: float) -> None:
        """Stops if nobody watches after these seconds."""
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        self._stop_timer = asyncio.get_running_loop().call_later(seconds, self._stop_if_unwatched)

    def _stop_if_unwatched(self) -> None:
        if self._watchers == 0:
            self.side_by_side.stop()
            self.notify()

    def _on_done(self, task: "asyncio.Task[None]") -> None:
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a live answer could not be kept", exc_info=error)
        self.notify()
