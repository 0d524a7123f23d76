"""Task runner: quotes the cost of judging tasks and runs them, many calls at once.

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
MARGIN = 3
"""Times the estimated cost that a run may cost at most: what comes on top is asked for anew."""
UNREADABLE_IN_A_ROW = 10
"""New replies in a row, over all tasks, that cannot be read: then the run stops, however well it began."""
_UNREADABLE = 3
"""As many, where they have used up the money of a run."""
_SHOWN = 100
"""Characters that are shown of a reply."""
RESERVE_SECONDS = 0.5
"""How long to wait while only the reservations of running calls leave no room in the budget."""
_TOLD_AFTER = 4
"""Such waits of one call, after which it is told."""

T = TypeVar("T")


class ScoringStopped(RuntimeError):
    """The run was told to stop; the replies so far are in the cache."""


class Task(NamedTuple, Generic[T]):
    """One outcome to compute."""

    run: int
    """Number of the run; separate runs are asked separately, with the run as the seed if the judge accepts one."""
    begin: Callable[[], Generator[Ask, Reply, T]]
    refused: Callable[[str], T]
    """Makes the outcome when the judge's server refuses the prompt, from the reason."""
    seeded: bool = True
    """Whether the run is sent as the seed; a paper's script may send none."""
    name: str = ""
    """What is graded, for those who watch."""
    is_read: Callable[[T], bool] = lambda outcome: True
    """Whether the last of the judge's replies could be read; those before it could not."""


@dataclass(frozen=True)
class Quote:
    """Cost estimate of a scoring, made before anything is sent."""

    grades: int
    """Number of outcomes, including those of canaries and probes."""
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    most: int
    """Millionths of a US dollar at which the run stops: the worst case of all calls, or if less, `MARGIN` times the
    estimate, and for few calls the estimate and one worst case."""
    price: Price | None

    def corrected(self, ratio: float) -> "Quote":
        """The quote by what the replies so far cost, as a ratio to what they were estimated to cost."""
        prompt, completion = (
            round(tokens * ratio) for tokens in (self.prompt_tokens, self.completion_tokens)
        )
        return replace(self, prompt_tokens=prompt, completion_tokens=completion)

    @property
    def dollars(self) -> float | None:
        return (
            None
            if self.price is None
            else cost(self.price, self.prompt_tokens, self.completion_tokens) / 1e6
        )

    @property
    def most_dollars(self) -> float | None:
        return None if self.price is None else self.most / 1e6


class Progress(NamedTuple):
    """Progress of a scoring, in outcomes."""

    done: int
    total: int
    fresh: int
    """Outcomes that needed a call to the judge in this run."""
    waits: str = ""
    """For what it waits, and until when, where nothing goes on; as "it waits" begins."""


def quote_tasks(
    tasks: Sequence[Task],
    spec: JudgeSpec,
    address: str,
    owner: str | None,
    cache: ReplyCache | None,
) -> Quote:
    """The cost of the tasks as if each new reply could be read, and its bound; without `cache` as if all were new.

    Where a known reply could not be read, the call that follows it is counted.
    """
    calls: dict[str, tuple[Ask, ...]] = {}
    cached = 0
    walks = [walk for walk in map(_Walk, tasks) if walk.asks]
    while walks:
        keyed = grouped((walk.key(spec, address, owner), walk) for walk in walks)
        walks = []
        for key, reply in cache.known(keyed) if cache else ():
            walks += [walk for walk in keyed.pop(key) if walk.goes_on(reply)]
            cached += 1
        for key, left in keyed.items():
            calls[key] = max([calls.get(key, ()), *(walk.asks for walk in left)], key=len)
    wanted = [*calls.values()]
    prompt = sum(estimated_tokens(first.messages) for first, *_ in wanted)
    completion = sum(likely_completion(spec, first) for first, *_ in wanted)
    dearest = max((most_cost(spec, ask) for asks in wanted for ask in asks), default=0)
    likely = cost(spec.price, prompt, completion)
    # a call starts only while its worst case is left
    bound = max(MARGIN * likely, likely + dearest)
    return Quote(
        grades=len(tasks),
        calls=len(wanted),
        cached=cached,
        prompt_tokens=prompt,
        completion_tokens=completion,
        most=min(sum(most_cost(spec, ask) for asks in wanted for ask in asks), bound),
        price=spec.price,
    )


def known_outcomes(
    tasks: Iterable[Task[T]], spec: JudgeSpec, address: str, owner: str | None, cache: ReplyCache
) -> Iterator[tuple[str, T]]:
    """The names and outcomes of those tasks whose replies are all in the cache."""
    for task in tasks:
        asking = task.begin()
        ordinal = 0
        try:
            ask = next(asking)
            while reply := cache.get(
                reply_key(spec, address, owner, _seeded(ask, task), task.run, ordinal)
            ):
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
    """Return the outcomes in task order; every reply is in the cache by then.

    Raises, once the running calls have ended, JudgeStopped, which is JudgeUnreadable if nothing can be read,
    JudgeFailed, BudgetError, DatabaseError, ScoringStopped.
    """
    return await _Run(tasks, judge, cache, tell, stop).outcomes()


class _Walk:
    """A task on its way through known replies; `asks` are the next call and those that may follow it."""

    def __init__(self, task: Task) -> None:
        self.asks = _asks(task)
        self._task = task
        self._asking: Generator[Ask, Reply, object] | None = None
        self._ordinal = 0

    def key(self, spec: JudgeSpec, address: str, owner: str | None) -> str:
        return reply_key(spec, address, owner, self.asks[0], self._task.run, self._ordinal)

    def goes_on(self, reply: Reply) -> bool:
        """Whether a call follows this reply, which becomes the next."""
        if self._asking is None:
            self._asking = self._task.begin()
            next(self._asking)
        try:
            ask = _seeded(self._asking.send(reply), self._task)
        except StopIteration:
            return False
        self.asks = (ask, *self.asks[2:])
        self._ordinal += 1
        return True


class _TrialTasks:
    """The first tasks of a run that need a call: until one of them can be read, no other is asked.

    A task whose call fails or is refused tells nothing of the judge, and makes room for another.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._changed = asyncio.Condition()
        self._is_over = False
        self._begun = 0
        """Tasks under way, and those that could not be read."""
        self._unread = 0

    async def turn(self, is_first: bool) -> None:
        """Wait until a task may be asked, if this is its first call."""
        if not is_first:
            return
        async with self._changed:
            await self._changed.wait_for(lambda: self._is_over or self._begun < self._tasks)
            self._begun += 1

    async def unread(self) -> bool:
        """Count a task that could not be read; return whether all that were tried are such."""
        async with self._changed:
            self._unread += 1
            return not self._is_over and self._unread >= self._tasks

    async def told_nothing(self) -> None:
        async with self._changed:
            self._begun -= 1
            self._changed.notify_all()

    async def end(self) -> None:
        """Let all tasks be asked."""
        if not self._is_over:
            async with self._changed:
                self._is_over = True
                self._changed.notify_all()


def _asks(task: Task) -> tuple[Ask, ...]:
    asking = task.begin()
    asks = list[Ask]()
    try:
        ask = next(asking)
        while True:
            asks.append(_seeded(ask, task))
            ask = asking.send(Reply(("",) * ask.samples, ("stop",) * ask.samples, 0, 0, ""))
    except StopIteration:
        return tuple(asks)


def _seeded(ask: Ask, task: Task) -> Ask:
    return replace(ask, seed=task.run) if task.seeded and ask.samples == 1 else ask


@dataclass
class _Run(Generic[T]):
    """One run in progress: as many workers as the judge allows concurrent calls."""

    _tasks: Sequence[Task[T]]
    _judge: Judge
    _cache: ReplyCache
    _tell: Callable[[Progress], None]
    _stop: asyncio.Event
    _outcomes: dict[int, T] = field(default_factory=dict)
    _fresh: int = 0
    _unread: list[str] = field(default_factory=list)
    """The new replies since the last one that could be read."""
    _ended: Exception | None = None
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def __post_init__(self) -> None:
        self._trial = _TrialTasks(self._judge.trials)

    async def outcomes(self) -> tuple[T, ...]:
        for _ in range(PASSES):
            failed: list[JudgeFailed] = []
            left = [place for place in range(len(self._tasks)) if place not in self._outcomes]
            places = iter(left)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._judge.pace.concurrency, len(left))):
                    group.create_task(self._work(places, failed))
            if self._ended:
                raise self._ended
            if not failed:
                return tuple(self._outcomes[place] for place in range(len(self._tasks)))
        missing = len(self._tasks) - len(self._outcomes)
        raise JudgeFailed(
            f"missing: {missing:,} of {len(self._tasks):,} grades; go on later. The last error: {failed[-1]}"
        )

    async def _work(self, left: Iterator[int], failed: list[JudgeFailed]) -> None:
        """Run one task after the other; a fatal error is kept, and the other workers stop after their current call."""
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
                await self._trial.end()
                return
            self._outcomes[place] = outcome
            self._fresh += fresh
            self._tell(self._progress())

    def _progress(self, waits: str = "") -> Progress:
        return Progress(len(self._outcomes), len(self._tasks), self._fresh, waits)

    async def _done(self, task: Task[T]) -> tuple[T, bool]:
        """Return the outcome, and whether it needed a call to the judge."""
        asking = task.begin()
        ordinal = 0
        fresh = False
        new: Reply | None = None
        """The reply that came last, if it is no cached one."""
        try:
            ask = next(asking)
            while True:
                self._note(new, is_read=False)
                ask = _seeded(ask, task)
                judge = self._judge
                key = reply_key(
                    judge.spec, judge.address.address, judge.address.owner, ask, task.run, ordinal
                )
                reply = await asyncio.to_thread(self._cache.get, key)
                new = None
                if reply is None:
                    await self._trial.turn(is_first=not fresh)
                    fresh = True
                    reply, new = await self._asked_once(ask, key)
                ask = asking.send(reply)
                ordinal += 1
        except StopIteration as end:
            is_read = task.is_read(end.value)
            self._note(new, is_read)
            if fresh:
                await self._tried(is_read)
            return end.value, fresh
        except JudgeFailed:
            await self._trial.told_nothing()
            raise
        except AskRefused as error:
            await self._trial.told_nothing()
            return task.refused(str(error)), fresh

    async def _tried(self, is_read: bool) -> None:
        """Note that a task was read, or not. Raises JudgeUnreadable if none of the first ones was."""
        if is_read:
            await self._trial.end()
        elif await self._trial.unread():
            raise _unreadable(self._judge.spec.model, self._unread)

    async def _asked_once(self, ask: Ask, key: str) -> tuple[Reply, Reply | None]:
        """Return the reply, and it once more if it is new: of equal calls at once, one is made."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = await asyncio.to_thread(self._cache.get, key)
            if known:
                return known, None
            reply = await self._asked(ask, key)
            return reply, reply

    def _note(self, reply: Reply | None, is_read: bool) -> None:
        """Count new replies that cannot be read. Raises JudgeUnreadable at too many in a row."""
        if reply is None:
            return
        if is_read:
            self._unread.clear()
            return
        self._unread.append(next(iter(reply.texts), ""))
        if len(self._unread) >= UNREADABLE_IN_A_ROW:
            raise _unreadable(self._judge.spec.model, self._unread)

    async def _asked(self, ask: Ask, key: str) -> Reply:
        """Ask the judge and cache the reply; wait while the money that is missing is only reserved."""
        waits = 0
        while True:
            if self._ended or self._stop.is_set():
                raise ScoringStopped("The scoring was stopped; what is judged stays")
            try:
                reply = await self._judge.ask(ask)
            except BudgetError as error:
                if not error.passing and len(self._unread) >= _UNREADABLE:
                    raise _unreadable(self._judge.spec.model, self._unread) from error
                if not error.passing:
                    raise
                waits += 1
                if waits > _TOLD_AFTER:
                    self._tell(self._progress(_for_money(error)))
                await asyncio.sleep(RESERVE_SECONDS)
            else:
                return await asyncio.to_thread(self._cache.put, key, reply)


def _for_money(error: BudgetError) -> str:
    until = f", until {error.until:%H:%M} UTC at the latest" if error.until else ""
    return f"for money that other calls hold{until}"


def _unreadable(model: str, replies: Sequence[str]) -> JudgeUnreadable:
    """What is said of a judge none of whose last replies could be read, with two of them that differ if any do."""
    shown = [reply.strip()[:_SHOWN] for reply in dict.fromkeys(replies)][:2]
    told = f"The last {len(replies)} replies of {model} could not be read"
    then = "Choose another judge, then go on"
    such = " and ".join(map(repr, shown))
    return JudgeUnreadable(f"{told}, such as {such}. {then}", f"{told}. {then}")
