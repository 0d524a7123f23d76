"""Benchmarks: what a file will cost to score, and its scoring, many calls at once.

A `draft` is the report of a file before any call: everything that shapes the scores stands in it. `score` asks the
judge whatever the cache does not hold; killed and begun again, it ends with the same report.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakValueDictionary

from arena.database import DatabaseError, now
from arena.ledger import LedgerError
from scoring import defence, mm_vet
from scoring.cache import ReplyCache, reply_key
from scoring.judge import AskRefused, Judge, JudgeFailed, JudgeStopped
from scoring.results import Grade, JudgeStamp, Kind, Protocol, Question, QuestionSet, Report, Row, Table
from scoring.spec import Ask, Grading, JudgeSpec, Price, Reply, cost, estimated_tokens, most_completion, most_cost
from scoring.uploads import Filled, Missing

PASSES = 2
"""How often a grade is tried before the scoring ends without it."""
_TYPICAL = 0.25
"""The share of its room that a judge writes, hidden tokens too."""
PURSE_SECONDS = 0.5
"""How long to wait while only the money of calls on their way leaves no room for another."""


class OptionsError(ValueError):
    """Say which choices do not go together, and what to choose instead."""


class ScoringStopped(RuntimeError):
    """Say that a scoring was told to stop; what the judge replied is in the cache."""


@dataclass(frozen=True)
class Options:
    """What its owner chose for the scoring of a file."""

    protocol: Protocol = "hardened"
    runs: int = 5
    sampled: bool = False
    """Whether the runs are samples of one call."""
    missing: Missing = "stop"
    """What becomes of questions without a prediction."""


@dataclass(frozen=True)
class Benchmark:
    """What one benchmark brings: pure functions; the driving of calls is the same for all."""

    grading: Callable[[Filled, int, Protocol, JudgeSpec, int], Grading]
    """A prediction, its run, protocol, judge and samples a call."""
    prompt_digest: Callable[[Protocol], str]
    parsers: Mapping[Protocol, str]
    flags: Callable[[str, Question], tuple[str, ...]]
    """What makes a prediction look like an attack."""
    canaries: tuple[Filled, ...]
    """Predictions that deserve nothing."""
    swapped: Callable[[Question, str, Sequence[Question]], Question]
    """The question under another truth, with which the prediction cannot be right."""
    withdrawn: Callable[[Grade, Grade], Grade]
    """The grade of a flagged prediction after the probe under another truth."""
    tabulate: Callable[[Report], tuple[Table, ...]]
    files: Callable[[Report], Mapping[str, bytes]]


BENCHMARKS: Mapping[str, Benchmark] = {
    "mm-vet": Benchmark(
        grading=mm_vet.grading,
        prompt_digest=mm_vet.prompt_digest,
        parsers=mm_vet.PARSERS,
        flags=defence.flags,
        canaries=tuple(Filled(canary.question, canary.prediction) for canary in defence.canaries()),
        swapped=defence.swapped,
        withdrawn=mm_vet.withdrawn,
        tabulate=mm_vet.tabulate,
        files=mm_vet.files,
    ),
}


@dataclass(frozen=True)
class Quote:
    """What a scoring will cost, before anything is sent."""

    grades: int
    """Grades that come of it, those of canaries and probes too."""
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
    """How far a scoring is, in grades."""

    done: int
    total: int
    fresh: int
    """Grades that the judge was asked for just now."""


class _Task(NamedTuple):
    """One grade to come: of an item or its probe by the row's place, of a canary by its own."""

    kind: Kind
    place: int
    run: int


class _Found(NamedTuple):
    grade: Grade
    fresh: bool


def draft(
    filled: Sequence[Filled],
    questions: QuestionSet,
    options: Options,
    spec: JudgeSpec,
    address: str,
    file: str,
    title: str,
) -> Report:
    """Return the report of a file before its scoring: without grades, with what looks like an attack flagged.

    `address` is the judge's as it may be shown. Raises OptionsError for samples that the judge does not give.
    """
    if options.sampled and not spec.samples:
        raise OptionsError(f"{spec.model} gives one reply a call; choose separate runs")
    benchmark = BENCHMARKS[questions.benchmark]
    rows = tuple(
        Row(
            one.question,
            one.prediction,
            (),
            () if one.prediction is None else benchmark.flags(one.prediction, one.question),
        )
        for one in filled
    )
    parser = benchmark.parsers[options.protocol]
    return Report(
        benchmark=questions.benchmark,
        questions=questions,
        protocol=options.protocol,
        judge=JudgeStamp(spec.model, (), address, benchmark.prompt_digest(options.protocol), parser),
        runs=options.runs,
        sampled=options.sampled,
        title=title,
        file=file,
        created=now().isoformat(timespec="seconds"),
        rows=rows,
    )


def quote(draft: Report, spec: JudgeSpec, owner: str | None, cache: ReplyCache) -> Quote:
    """Return what the scoring of a draft costs, canaries and probes too: about, if each first reply can be read.

    At most it costs what every call costs that no reply ends; faults on the way come on top. `owner` is whose judge
    it is, None for the operator's.
    """
    plan = _Plan(draft, spec)
    calls: dict[str, tuple[Ask, ...]] = {}
    for task in plan.tasks:
        asks = plan.asks(task)
        if asks:
            key = reply_key(spec, draft.judge.address, owner, asks[0], task.run, 0)
            calls[key] = max(calls.get(key, ()), asks, key=len)
    known = cache.known(calls)
    wanted = [asks for key, asks in calls.items() if key not in known]
    return Quote(
        grades=len(plan.tasks),
        calls=len(wanted),
        cached=len(known),
        prompt_tokens=sum(estimated_tokens(first.messages) for first, *_ in wanted),
        completion_tokens=sum(math.ceil(_TYPICAL * most_completion(spec, first)) for first, *_ in wanted),
        most=sum(most_cost(spec, ask) for asks in wanted for ask in asks),
        price=spec.price,
    )


async def score(
    draft: Report, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event
) -> Report:
    """Return the draft with its grades; `tell` hears of each, and `stop` ends it before the next call.

    Raises JudgeStopped, JudgeFailed, LedgerError and DatabaseError when the calls on their way have ended, and
    ScoringStopped. Whatever the judge replied is in the cache by then.
    """
    return await _Scoring(draft, judge, cache, tell, stop).report()


class _Plan:
    """What a draft needs: its tasks and their gradings."""

    def __init__(self, draft: Report, spec: JudgeSpec) -> None:
        self.draft = draft
        self.benchmark = BENCHMARKS[draft.benchmark]
        self._spec = spec
        self._samples = draft.runs if draft.sampled else 1
        hardened = draft.protocol == "hardened"
        self._answered: Mapping[Kind, Mapping[int, Filled]] = {
            "item": {place: Filled(row.question, row.prediction) for place, row in enumerate(draft.rows)},
            "canary": dict(enumerate(self.benchmark.canaries)) if hardened else {},
            "probe": dict(self._probes()) if hardened else {},
        }
        self.tasks = tuple(
            _Task(kind, place, run)
            for run in range(draft.runs)  # run by run: the samples of one call are then seldom waited for at once
            for kind, answered in self._answered.items()
            for place in answered
        )
        """Every grade to come."""

    def question(self, task: _Task) -> Question:
        """Return the question of a task."""
        return self._answered[task.kind][task.place].question

    def grading(self, task: _Task) -> Grading:
        """Begin the grading of a task."""
        answered = self._answered[task.kind][task.place]
        return self.benchmark.grading(answered, task.run, self.draft.protocol, self._spec, self._samples)

    def asks(self, task: _Task) -> tuple[Ask, ...]:
        """Return the calls of a task if no reply can be read."""
        grading, asks = self.grading(task), list[Ask]()
        try:
            ask = next(grading)
            while True:
                asks.append(self.seeded(ask, task.run))
                ask = grading.send(Reply(("",) * ask.samples, ("stop",) * ask.samples, 0, 0, ""))
        except StopIteration:
            return tuple(asks)

    def seeded(self, ask: Ask, run: int) -> Ask:
        """Return a separate call with its run as the seed; samples of one call are shared by the runs."""
        return replace(ask, seed=run) if ask.samples == 1 else ask

    def report(self, grades: Mapping[_Task, Grade]) -> Report:
        """Return the draft with all grades."""
        runs = range(self.draft.runs)
        rows = []
        for place, row in enumerate(self.draft.rows):
            given = tuple(grades[_Task("item", place, run)] for run in runs)
            if place in self._answered["probe"]:
                probe = max((grades[_Task("probe", place, run)] for run in runs), key=_worst)
                given = tuple(self.benchmark.withdrawn(grade, probe) for grade in given)
            rows.append(replace(row, grades=given))
        canaries = tuple(grades[_Task("canary", place, run)] for place in self._answered["canary"] for run in runs)
        versions = tuple(sorted({grade.model for grade in grades.values()} - {""}))
        judge = replace(self.draft.judge, versions=versions)
        return replace(self.draft, judge=judge, rows=tuple(rows), canaries=canaries)

    def _probes(self) -> Iterator[tuple[int, Filled]]:
        questions = self.draft.questions.questions
        for place, row in enumerate(self.draft.rows):
            if row.flags and row.prediction is not None:
                yield place, Filled(self.benchmark.swapped(row.question, row.prediction, questions), row.prediction)


class _Scoring:
    """One scoring under way: as many workers as the judge may be asked at once."""

    def __init__(
        self, draft: Report, judge: Judge, cache: ReplyCache, tell: Callable[[Progress], None], stop: asyncio.Event
    ) -> None:
        self._plan = _Plan(draft, judge.spec)
        self._judge, self._cache, self._tell, self._stop = judge, cache, tell, stop
        self._grades: dict[_Task, Grade] = {}
        self._fresh = 0
        self._ended: Exception | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def report(self) -> Report:
        """Return the whole report."""
        tasks = self._plan.tasks
        for _ in range(PASSES):
            failed: list[JudgeFailed] = []
            left = iter([task for task in tasks if task not in self._grades])
            async with asyncio.TaskGroup() as group:
                for _ in range(self._judge.pace.concurrency):
                    group.create_task(self._work(left, failed))
            if self._ended:
                raise self._ended
            if not failed:
                return self._plan.report(self._grades)
        missing = len(tasks) - len(self._grades)
        raise JudgeFailed(
            f"{missing:,} of {len(tasks):,} grades are missing; go on later. The last error: {failed[-1]}"
        )

    async def _work(self, left: Iterator[_Task], failed: list[JudgeFailed]) -> None:
        """Grade one task after the other; who meets an end keeps it, and the others finish the call they are at."""
        for task in left:
            if self._ended:
                return
            try:
                grade, fresh = await self._grade(task)
            except JudgeFailed as error:
                failed.append(error)
                continue
            except (JudgeStopped, LedgerError, DatabaseError, ScoringStopped) as error:
                self._ended = self._ended or error
                return
            self._grades[task] = grade
            self._fresh += fresh
            self._tell(Progress(len(self._grades), len(self._plan.tasks), self._fresh))

    async def _grade(self, task: _Task) -> _Found:
        grading = self._plan.grading(task)
        ordinal, fresh = 0, False
        try:
            ask = next(grading)
            while True:
                ask = self._plan.seeded(ask, task.run)
                judge = self._judge
                key = reply_key(judge.spec, judge.address.shown, judge.address.owner, ask, task.run, ordinal)
                async with self._locks.setdefault(key, asyncio.Lock()):  # equal calls are made once
                    reply = await asyncio.to_thread(self._cache.get, key)
                    if reply is None:
                        fresh = True
                        reply = await self._asked(ask, key)
                ask = grading.send(reply)
                ordinal += 1
        except StopIteration as end:
            return _Found(end.value, fresh)
        except AskRefused as error:
            return _Found(Grade(self._plan.question(task).id, task.run, None, str(error)), fresh)

    async def _asked(self, ask: Ask, key: str) -> Reply:
        """Ask the judge and keep the reply; wait for money that is only on its way."""
        while True:
            if self._ended or self._stop.is_set():
                raise ScoringStopped("The scoring was stopped; what is judged stays")
            try:
                reply = await self._judge.ask(ask)
            except LedgerError as error:
                if not error.passing:
                    raise
                await asyncio.sleep(PURSE_SECONDS)
            else:
                return await asyncio.to_thread(self._cache.put, key, reply)


def _worst(probe: Grade) -> float:
    return -1.0 if probe.score is None else probe.score
