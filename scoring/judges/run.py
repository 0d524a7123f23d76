"""Task runner: the quote for judging tasks, and their run with many calls at once.

A run that is killed and started again ends with the same outcomes, since every reply is in the cache.
"""

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from arena.budget import BudgetError
from arena.database import DatabaseError
from arena.inference.limits import cost
from arena.types import grouped
from scoring.judges.cache import ReplyCache, reply_key
from scoring.judges.client import AskRefused, Judge, JudgeFailed, JudgeStopped, JudgeUnreadable
from scoring.judges.spec import (
    Ask,
    JudgeSpec,
    Price,
    Reply,
    estimated_tokens,
    likely_completion,
    most_cost,
)

PASSES = 2
"""Times that a task with a failed call is tried."""
MARGIN = 3
"""The most that a run may cost, as a multiple of its estimate: a higher cost needs a new consent."""
UNREADABLE_IN_A_ROW = 10
"""Unreadable new replies in a row, over all tasks, that stop a run."""
_UNREADABLE_WITHOUT_MONEY = 3
"""The same for a run that has used up its money."""
_MOST_QUOTED = 100
"""Most characters quoted from a reply."""
RESERVE_SECONDS = 0.5
"""Seconds to wait while only the reservations of running calls leave no room in the budget."""
_REPORTED_AFTER = 4
"""Such waits of one call after which they are reported."""

T = TypeVar("T")


class ScoringStopped(RuntimeError):
    """A run that was stopped from outside; the replies so far are in the cache."""


class Task(NamedTuple, Generic[T]):
    """One outcome to compute."""

    run: int
    """Number of the run; each run has its own calls, with the run as the seed if the judge accepts one."""
    begin: Callable[[], Generator[Ask, Reply, T]]
    refused: Callable[[str], T]
    """The function that makes the outcome from the reason if the judge's server refuses the prompt."""
    seeded: bool = True
    """Whether the run is sent as the seed; a paper's script may send none."""
    name: str = ""
    """The graded thing, for progress reports."""
    is_read: Callable[[T], bool] = lambda outcome: True
    """Whether the last reply behind an outcome could be read. A task asks again only after an unreadable reply."""


@dataclass(frozen=True)
class Quote:
    """The cost estimate of a scoring, before anything is sent."""

    grades: int
    """Number of outcomes, including those of canaries and probes."""
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    most: int
    """Millionths of a US dollar at which the run stops: the worst case of all calls, but at most the larger of `MARGIN`
    times the estimate, and the estimate plus one call's worst case."""
    price: Price | None

    def corrected(self, ratio: float) -> "Quote":
        """The quote corrected by the ratio of the real to the estimated cost of the replies so far."""
        return replace(
            self,
            prompt_tokens=round(self.prompt_tokens * ratio),
            completion_tokens=round(self.completion_tokens * ratio),
        )

    @property
    def dollars(self) -> float | None:
        if self.price is None:
            return None
        return cost(self.price, self.prompt_tokens, self.completion_tokens) / 1e6

    @property
    def most_dollars(self) -> float | None:
        return None if self.price is None else self.most / 1e6


class Progress(NamedTuple):
    """The progress of a scoring, in outcomes."""

    done: int
    total: int
    fresh: int
    """Outcomes that needed a call to the judge in this run."""
    waits: str = ""
    """The rest of a sentence that begins with "it waits": the reason, and until when; empty while calls run."""


def quote_tasks(
    tasks: Sequence[Task],
    spec: JudgeSpec,
    address: str,
    owner: str | None,
    cache: ReplyCache | None,
) -> Quote:
    """The cost of the tasks if each new reply can be read, and its bound; without `cache`, all replies are new.

    If a cached reply could not be read, the call that follows it is counted.
    """
    calls: dict[str, tuple[Ask, ...]] = {}
    """By key, a new call and those that may follow it: the longest series of all tasks that share the call."""
    cached = 0
    walks = [walk for walk in map(_Walk, tasks) if walk.asks]
    while walks:
        walks_by_key = grouped((walk.key(spec, address, owner), walk) for walk in walks)
        walks = []
        cached_replies = [*cache.cached_replies(walks_by_key)] if cache else []
        for key, reply in cached_replies:
            for walk in walks_by_key.pop(key):
                if walk.advance(reply):
                    walks.append(walk)
            cached += 1
        for key, uncached_walks in walks_by_key.items():
            possible_asks = [walk.asks for walk in uncached_walks]
            calls[key] = max([calls.get(key, ()), *possible_asks], key=len)
    first_asks = [asks[0] for asks in calls.values()]
    prompt = sum(estimated_tokens(ask.messages) for ask in first_asks)
    completion = sum(likely_completion(spec, ask) for ask in first_asks)
    likely = cost(spec.price, prompt, completion)
    worst_costs = [most_cost(spec, ask) for asks in calls.values() for ask in asks]
    # A call starts only while the budget has room for its worst case.
    bound = max(MARGIN * likely, likely + max(worst_costs, default=0))
    return Quote(
        grades=len(tasks),
        calls=len(calls),
        cached=cached,
        prompt_tokens=prompt,
        completion_tokens=completion,
        most=min(sum(worst_costs), bound),
        price=spec.price,
    )


def known_outcomes(
    tasks: Iterable[Task[T]], spec: JudgeSpec, address: str, owner: str | None, cache: ReplyCache
) -> Iterator[tuple[str, T]]:
    """Yields the names and outcomes of the tasks with all replies in the cache."""
    for task in tasks:
        asking = task.begin()
        ordinal = 0
        try:
            ask = next(asking)
            while True:
                key = reply_key(spec, address, owner, _with_seed(ask, task), task.run, ordinal)
                reply = cache.get(key)
                if reply is None:
                    break
                ask = asking.send(reply)
                ordinal += 1
        except StopIteration as end:
            yield task.name, end.value


async def run_tasks(
    tasks: Sequence[Task[T]],
    judge: Judge,
    cache: ReplyCache,
    tell: Callable[[Progress], None],
    stop: asyncio.Event,
) -> tuple[T, ...]:
    """Runs the tasks and returns their outcomes in order; every reply is then in the cache.

    Raises JudgeStopped, which is JudgeUnreadable if nothing can be read, JudgeFailed, BudgetError, DatabaseError and
    ScoringStopped, each after the running calls have ended.
    """
    return await _Run(tasks, judge, cache, tell, stop).outcomes()


class _Walk:
    """A task that advances through known replies; `asks` are its next call and those that may follow."""

    def __init__(self, task: Task) -> None:
        self.asks = _possible_asks(task)
        self._task = task
        self._asking: Generator[Ask, Reply, object] | None = None
        self._ordinal = 0

    def key(self, spec: JudgeSpec, address: str, owner: str | None) -> str:
        return reply_key(spec, address, owner, self.asks[0], self._task.run, self._ordinal)

    def advance(self, reply: Reply) -> bool:
        """Advances to the call after this reply; returns whether there is one."""
        if self._asking is None:
            self._asking = self._task.begin()
            next(self._asking)
        try:
            ask = _with_seed(self._asking.send(reply), self._task)
        except StopIteration:
            return False
        # Takes the place of the call that would follow if no reply could be read.
        self.asks = (ask, *self.asks[2:])
        self._ordinal += 1
        return True


class _TrialTasks:
    """The first tasks of a run that need a call: until one of them can be read, no other task starts.

    A task with a failed or refused call shows nothing about the judge, and makes room for another.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._changed = asyncio.Condition()
        self._is_over = False
        self._begun = 0
        """Number of tasks that run or could not be read."""
        self._unread = 0
        """Number of tasks that could not be read."""

    async def wait_turn(self) -> None:
        """Waits until another task may make its first call."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or self._begun < self._tasks)
            self._begun += 1

    async def count_unread(self) -> bool:
        """Counts a task that could not be read; returns whether no task could be read."""
        async with self._changed:
            self._unread += 1
            return not self._is_over and self._unread >= self._tasks

    async def drop(self) -> None:
        """Makes room for another task in place of one with a failed call."""
        async with self._changed:
            self._begun -= 1
            self._changed.notify_all()

    async def end(self) -> None:
        """Lets all tasks start."""
        if not self._is_over:
            async with self._changed:
                self._is_over = True
                self._changed.notify_all()


@dataclass
class _SharedCall:
    """A call that is made once for all running tasks that need its reply."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    reply: Reply | None = None


def _possible_asks(task: Task) -> tuple[Ask, ...]:
    """All calls that a task makes if no reply can be read."""
    asking = task.begin()
    asks = list[Ask]()
    try:
        ask = next(asking)
        while True:
            asks.append(_with_seed(ask, task))
            ask = asking.send(Reply(("",) * ask.samples, ("stop",) * ask.samples, 0, 0, ""))
    except StopIteration:
        return tuple(asks)


def _with_seed(ask: Ask, task: Task) -> Ask:
    """The ask with the run as its seed, if the task sends one; several samples of one call serve all runs."""
    if task.seeded and ask.samples == 1:
        return replace(ask, seed=task.run)
    return ask


class _TaskResult(NamedTuple, Generic[T]):
    """A task's outcome, and whether it needed a call to the judge."""

    outcome: T
    is_fresh: bool


class _SharedReply(NamedTuple):
    """A reply, and whether this task made the call: other tasks wait for equal calls."""

    reply: Reply
    is_new: bool


@dataclass
class _Run(Generic[T]):
    """A run in progress, with as many workers as the judge allows concurrent calls."""

    _tasks: Sequence[Task[T]]
    _judge: Judge
    _cache: ReplyCache
    _tell: Callable[[Progress], None]
    _stop: asyncio.Event
    _outcomes: dict[int, T] = field(default_factory=dict)
    _fresh: int = 0
    _unread: list[str] = field(default_factory=list)
    """The new replies since the last readable one."""
    _fatal_error: Exception | None = None
    """The error that ends the run; None while it goes on."""
    _calls: WeakValueDictionary[str, _SharedCall] = field(default_factory=WeakValueDictionary)
    """The calls of the running tasks, by key."""

    def __post_init__(self) -> None:
        self._trial = _TrialTasks(self._judge.trials)

    async def outcomes(self) -> tuple[T, ...]:
        for _ in range(PASSES):
            failed: list[JudgeFailed] = []
            left = [place for place in range(len(self._tasks)) if place not in self._outcomes]
            shared_places = iter(left)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._judge.pace.concurrency, len(left))):
                    group.create_task(self._work(shared_places, failed))
            if self._fatal_error:
                raise self._fatal_error
            if not failed:
                return tuple(self._outcomes[place] for place in range(len(self._tasks)))
        missing = len(self._tasks) - len(self._outcomes)
        raise JudgeFailed(
            f"{missing:,} of {len(self._tasks):,} grades are missing. Resume later. The last error: {failed[-1]}"
        )

    async def _work(self, shared_places: Iterator[int], failed: list[JudgeFailed]) -> None:
        """Runs one task after the other, by places that all workers share, and adds the errors of failed ones.

        After a fatal error all workers stop at the end of their current call.
        """
        for place in shared_places:
            if self._fatal_error:
                return
            try:
                result = await self._run_task(self._tasks[place])
            except JudgeFailed as error:
                failed.append(error)
                continue
            except (JudgeStopped, BudgetError, DatabaseError, ScoringStopped) as error:
                self._fatal_error = self._fatal_error or error
                await self._trial.end()
                return
            self._outcomes[place] = result.outcome
            if result.is_fresh:
                self._fresh += 1
            self._tell(self._progress())

    def _progress(self, waits: str = "") -> Progress:
        return Progress(len(self._outcomes), len(self._tasks), self._fresh, waits)

    async def _run_task(self, task: Task[T]) -> _TaskResult[T]:
        asking = task.begin()
        ordinal = 0
        is_fresh = False
        new_reply: Reply | None = None
        """The last reply, if this task made the call for it."""
        try:
            ask = next(asking)
            while True:
                # A task asks again only if the last reply couldn't be read.
                self._count_reply(new_reply, is_read=False)
                ask = _with_seed(ask, task)
                judge = self._judge
                key = reply_key(
                    judge.spec, judge.address.address, judge.address.owner, ask, task.run, ordinal
                )
                # before the cache is read, so that a reply is found either there or in the call
                call = self._calls.setdefault(key, _SharedCall())
                reply = await asyncio.to_thread(self._cache.get, key)
                new_reply = None
                if reply is None:
                    if not is_fresh:
                        await self._trial.wait_turn()
                    is_fresh = True
                    shared = await self._ask_once(ask, key, call)
                    reply = shared.reply
                    new_reply = reply if shared.is_new else None
                ask = asking.send(reply)
                ordinal += 1
        except StopIteration as end:
            is_read = task.is_read(end.value)
            self._count_reply(new_reply, is_read)
            if is_fresh:
                await self._count_task(is_read)
            return _TaskResult(end.value, is_fresh)
        except JudgeFailed:
            await self._trial.drop()
            raise
        except AskRefused as error:
            await self._trial.drop()
            return _TaskResult(task.refused(str(error)), is_fresh)

    async def _count_task(self, is_read: bool) -> None:
        """Counts a task as read or unread. Raises JudgeUnreadable if none of the first tasks was read."""
        if is_read:
            await self._trial.end()
        elif await self._trial.count_unread():
            raise _unreadable_error(self._judge.spec.model, self._unread)

    async def _ask_once(self, ask: Ask, key: str, call: _SharedCall) -> _SharedReply:
        """Makes a call, or waits for an equal one that another task makes at the same time."""
        async with call.lock:
            if call.reply:
                return _SharedReply(call.reply, is_new=False)
            call.reply = await self._ask(ask, key)
            return _SharedReply(call.reply, is_new=True)

    def _count_reply(self, reply: Reply | None, is_read: bool) -> None:
        """Counts unreadable new replies, one after the other; None is no new reply.

        Raises JudgeUnreadable at too many in a row.
        """
        if reply is None:
            return
        if is_read:
            self._unread.clear()
            return
        self._unread.append(next(iter(reply.texts), ""))
        if len(self._unread) >= UNREADABLE_IN_A_ROW:
            raise _unreadable_error(self._judge.spec.model, self._unread)

    async def _ask(self, ask: Ask, key: str) -> Reply:
        """Asks the judge and caches the reply; waits while the missing money is only reserved."""
        waits = 0
        while True:
            if self._fatal_error or self._stop.is_set():
                raise ScoringStopped("Scoring was stopped. What has been judged is kept.")
            try:
                reply = await self._judge.ask(ask)
            except BudgetError as error:
                if not error.is_temporary and len(self._unread) >= _UNREADABLE_WITHOUT_MONEY:
                    raise _unreadable_error(self._judge.spec.model, self._unread) from error
                if not error.is_temporary:
                    raise
                waits += 1
                if waits > _REPORTED_AFTER:
                    self._tell(self._progress(_money_wait(error)))
                await asyncio.sleep(RESERVE_SECONDS)
            else:
                return await asyncio.to_thread(self._cache.put, key, reply)


def _money_wait(error: BudgetError) -> str:
    """The rest of a sentence that begins with "it waits"."""
    if error.until is None:
        return "for money that other calls hold"
    return f"for money that other calls hold, until {error.until:%H:%M} UTC at the latest"


def _unreadable_error(model: str, replies: Sequence[str]) -> JudgeUnreadable:
    """The error of a judge with only unreadable replies, with up to two different replies as examples."""
    distinct = list(dict.fromkeys(replies))[:2]
    examples = " and ".join(repr(reply.strip()[:_MOST_QUOTED]) for reply in distinct)
    count = len(replies)
    return JudgeUnreadable(
        f"We couldn't read the last {count} replies of {model}, such as {examples}. Choose another judge, then resume.",
        f"We couldn't read the last {count} replies of {model}. Choose another judge, then resume.",
    )
