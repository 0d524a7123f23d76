"""Driving: what the tasks of a scoring will cost, and their asking, many calls at once.

A task is a generator that knows no network: it yields what to ask and is sent the reply. Killed and begun again, a
drive ends with the same outcomes, since whatever the judge replied is in the cache.
"""

import asyncio
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from arena.budget import BudgetError
from arena.database import DatabaseError
from scoring.judges.cache import ReplyCache, reply_key
from scoring.judges.client import AskRefused, Judge, JudgeFailed, JudgeStopped
from scoring.judges.spec import Ask, JudgeSpec, Price, Reply, cost, estimated_tokens, most_completion, most_cost

PASSES = 2
"""How often a task is tried before the scoring ends without it."""
_TYPICAL = 0.25
"""The share of its room that a judge writes, hidden tokens too."""
RESERVE_SECONDS = 0.5
"""How long to wait while only the money of calls on their way leaves no room for another."""

T = TypeVar("T")


class ScoringStopped(RuntimeError):
    """Say that a scoring was told to stop; what the judge replied is in the cache."""


class Task(NamedTuple, Generic[T]):
    """One outcome to come."""

    run: int
    """Separate runs are asked separately; the seed of a judge that takes one."""
    begin: Callable[[], Generator[Ask, Reply, T]]
    """Begin to ask; the quote begins it too."""
    refused: Callable[[str], T]
    """The outcome where the judge's server refuses the prompt, from the reason."""


@dataclass(frozen=True)
class Quote:
    """What a scoring will cost, before anything is sent."""

    grades: int
    """Outcomes that come of it, those of canaries and probes too."""
    calls: int
    cached: int
    """Calls that the cache saves."""
    prompt_tokens: int
    completion_tokens: int
    """About, as all but `most_dollars`."""
    most: int
    """Upper bound of the cost in millionths of a US dollar."""
    price: Price | None

    def corrected(self, ratio: float) -> "Quote":
        """Return the quote after the first replies told how many tokens an estimated one really is."""
        return replace(self, prompt_tokens=round(self.prompt_tokens * ratio))

    @property
    def dollars(self) -> float | None:
        """Return about what it costs in US dollars; None where no price is known."""
        return None if self.price is None else cost(self.price, self.prompt_tokens, self.completion_tokens) / 1e6

    @property
    def most_dollars(self) -> float | None:
        """Return what it costs at most in US dollars; None where no price is known."""
        return None if self.price is None else self.most / 1e6


class Progress(NamedTuple):
    """How far a scoring is, in outcomes."""

    done: int
    total: int
    fresh: int
    """Outcomes that the judge was asked for just now."""


class _KnownOutcome(NamedTuple):
    outcome: Any
    fresh: bool


def quote_tasks(tasks: Sequence[Task], spec: JudgeSpec, address: str, owner: str | None, cache: ReplyCache) -> Quote:
    """Return what the tasks cost: about, if each first reply can be read.

    At most it costs what every call costs that no reply ends; faults on the way come on top. `address` is the judge's
    as it may be shown, `owner` whose judge it is, None for the operator's.
    """
    calls: dict[str, tuple[Ask, ...]] = {}
    for task in tasks:
        asks = _asks(task)
        if asks:
            key = reply_key(spec, address, owner, asks[0], task.run, 0)
            calls[key] = max(calls.get(key, ()), asks, key=len)
    known = cache.known(calls)
    wanted = [asks for key, asks in calls.items() if key not in known]
    return Quote(
        grades=len(tasks),
        calls=len(wanted),
        cached=len(known),
        prompt_tokens=sum(estimated_tokens(first.messages) for first, *_ in wanted),
        completion_tokens=sum(math.ceil(_TYPICAL * most_completion(spec, first)) for first, *_ in wanted),
        most=sum(most_cost(spec, ask) for asks in wanted for ask in asks),
        price=spec.price,
    )


async def run_tasks(
    tasks: Sequence[Task[T]], judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event
) -> tuple[T, ...]:
    """Return the outcomes in the order of the tasks; `tell` hears of each, and `stop` ends it before the next call.

    Raises JudgeStopped, JudgeFailed, BudgetError and DatabaseError when the calls on their way have ended, and
    ScoringStopped. Whatever the judge replied is in the cache by then.
    """
    return await _Run(tasks, judge, cache, tell, stop).outcomes()


def _asks(task: Task) -> tuple[Ask, ...]:
    """Return the calls of a task if no reply can be read."""
    asking, asks = task.begin(), list[Ask]()
    try:
        ask = next(asking)
        while True:
            asks.append(_seeded(ask, task.run))
            ask = asking.send(Reply(("",) * ask.samples, ("stop",) * ask.samples, 0, 0, ""))
    except StopIteration:
        return tuple(asks)


def _seeded(ask: Ask, run: int) -> Ask:
    """Return a separate call with its run as the seed; samples of one call are shared by the runs."""
    return replace(ask, seed=run) if ask.samples == 1 else ask


class _Run(Generic[T]):
    """One drive under way: as many workers as the judge may be asked at once."""

    def __init__(
        self,
        tasks: Sequence[Task[T]],
        judge: Judge,
        cache: ReplyCache,
        tell: Callable[[Progress], None],
        stop: asyncio.Event,
    ) -> None:
        self._tasks = tasks
        self._judge, self._cache, self._tell, self._stop = judge, cache, tell, stop
        self._outcomes: dict[int, T] = {}
        self._fresh = 0
        self._ended: Exception | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def outcomes(self) -> tuple[T, ...]:
        """Return all outcomes."""
        for _ in range(PASSES):
            failed: list[JudgeFailed] = []
            left = iter([place for place in range(len(self._tasks)) if place not in self._outcomes])
            async with asyncio.TaskGroup() as group:
                for _ in range(self._judge.pace.concurrency):
                    group.create_task(self._work(left, failed))
            if self._ended:
                raise self._ended
            if not failed:
                return tuple(self._outcomes[place] for place in range(len(self._tasks)))
        missing = len(self._tasks) - len(self._outcomes)
        raise JudgeFailed(
            f"{missing:,} of {len(self._tasks):,} grades are missing; go on later. The last error: {failed[-1]}"
        )

    async def _work(self, left: Iterator[int], failed: list[JudgeFailed]) -> None:
        """Do one task after the other; who meets an end keeps it, and the others finish the call they are at."""
        for place in left:
            if self._ended:
                return
            try:
                outcome, fresh = await self._done(self._tasks[place])
            except JudgeFailed as error:
                failed.append(error)
                continue
            except (JudgeStopped, BudgetError, DatabaseError, ScoringStopped) as error:
                self._ended = self._ended or error
                return
            self._outcomes[place] = outcome
            self._fresh += fresh
            self._tell(Progress(len(self._outcomes), len(self._tasks), self._fresh))

    async def _done(self, task: Task[T]) -> _KnownOutcome:
        asking = task.begin()
        ordinal, fresh = 0, False
        try:
            ask = next(asking)
            while True:
                ask = _seeded(ask, task.run)
                judge = self._judge
                key = reply_key(judge.spec, judge.address.shown, judge.address.owner, ask, task.run, ordinal)
                async with self._locks.setdefault(key, asyncio.Lock()):  # equal calls are made once
                    reply = await asyncio.to_thread(self._cache.get, key)
                    if reply is None:
                        fresh = True
                        reply = await self._asked(ask, key)
                ask = asking.send(reply)
                ordinal += 1
        except StopIteration as end:
            return _KnownOutcome(end.value, fresh)
        except AskRefused as error:
            return _KnownOutcome(task.refused(str(error)), fresh)

    async def _asked(self, ask: Ask, key: str) -> Reply:
        """Ask the judge and keep the reply; wait for money that is only on its way."""
        while True:
            if self._ended or self._stop.is_set():
                raise ScoringStopped("The scoring was stopped; what is judged stays")
            try:
                reply = await self._judge.ask(ask)
            except BudgetError as error:
                if not error.passing:
                    raise
                await asyncio.sleep(RESERVE_SECONDS)
            else:
                return await asyncio.to_thread(self._cache.put, key, reply)
