"""Drift watch: the server looks at its own judge each week, and before a job that would come later than that."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from arena.budget import Budget, BudgetError, JobBudget
from arena.database import DatabaseError, now
from scoring.calibration.drift import BASELINE_RUNS, EVERY_DAYS
from scoring.calibration.drift_store import DriftError, DriftHistory, DriftStore, FrozenScores, JudgeKey, same_answers
from scoring.calibration.frozen_answers import AskedWay, frozen_answers, frozen_digest, frozen_tasks, ways
from scoring.jobs.worker import Operator
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeError
from scoring.judges.run import Quote, Task, quote_tasks, run_tasks
from scoring.judges.spec import JudgeSpec, Reply
from scoring.report import Grade

LOOK_SECONDS = 600.0
"""How long a look may keep a job waiting."""
RETRY = timedelta(hours=6)
"""A look that failed is not tried again for so long."""
PAYER = "drift"
"""Whose day budget pays for looks: the host's own, which is as large as one person's."""

log = logging.getLogger(__name__)


class FreshReplies(ReplyCache):
    """Keeps nothing: a judge that is looked at must be asked, and a kept reply would be as it was for ever."""

    def __init__(self) -> None:
        pass

    def get(self, key: str) -> Reply | None:
        return None

    def put(self, key: str, reply: Reply) -> Reply:
        return reply

    def known(self, keys: object) -> frozenset[str]:
        return frozenset()


def look_tasks(way: AskedWay, spec: JudgeSpec, history: DriftHistory | None) -> Sequence[Task[Grade]]:
    """What a judge is asked: the runs of its acceptance, or one more run for a look, with a seed of its own.

    Raises DriftError where it was accepted with other answers.
    """
    if history:
        same_answers(history.baseline, frozen_digest())
    first = BASELINE_RUNS + len(history.looks) if history else 0
    runs = range(first, first + 1) if history else range(BASELINE_RUNS)
    return frozen_tasks(way, spec, runs)


def look_quote(tasks: Sequence[Task[Grade]], spec: JudgeSpec, address: str) -> Quote:
    return quote_tasks(tasks, spec, address, None, FreshReplies())


async def ask_frozen(tasks: Sequence[Task[Grade]], judge: Judge) -> FrozenScores:
    """Ask a judge that is open for its scores. Raises JudgeError and BudgetError."""
    grades = await run_tasks(tasks, judge, FreshReplies(), lambda progress: None, asyncio.Event())
    return FrozenScores.of(frozen_digest(), len(frozen_answers()), grades, judge.fingerprints)


class DriftWatch:
    """Looks at the operator's judge; one that fails, or cannot be paid, is a line in the log and stops nothing."""

    def __init__(self, store: DriftStore, budget: Budget, operator: Operator | None) -> None:
        self._store, self._budget, self._operator = store, budget, operator
        self._turn = asyncio.Lock()
        self._failed: dict[JudgeKey, datetime] = {}

    async def look(self, judge_for: Callable[[JobBudget], Judge], prompt: str | None = None) -> None:
        """Look at the operator's judge where a look is due: asked by this prompt, or by each way to ask.

        `judge_for` returns a client of it that pays from a budget.
        """
        for way in ways().values():
            if self._operator and prompt in (None, way.prompt):
                judge = JudgeKey(self._operator.address.shown, self._operator.spec.model, way.prompt)
                async with self._turn:  # of jobs that begin together, one has it looked at
                    await self._look(judge, way, self._operator.spec, judge_for)

    async def _look(
        self, judge: JudgeKey, way: AskedWay, spec: JudgeSpec, judge_for: Callable[[JobBudget], Judge]
    ) -> None:
        history = None
        try:
            history = await asyncio.to_thread(self._store.history, judge)
            if history and self._is_due(history):
                await self._looked(history, way, spec, judge_for)
        except TimeoutError:
            self._say(judge, history, f"it did not reply within {LOOK_SECONDS / 60:.0f} minutes")
        except (JudgeError, BudgetError, DriftError, DatabaseError) as error:
            self._say(judge, history, str(error))
        except Exception as error:  # noqa: BLE001 no look stops a job
            self._say(judge, history, f"an error that should not happen, {error!r}")

    async def _looked(
        self, history: DriftHistory, way: AskedWay, spec: JudgeSpec, judge_for: Callable[[JobBudget], Judge]
    ) -> None:
        tasks = look_tasks(way, spec, history)
        most = look_quote(tasks, spec, history.baseline.judge.address).most
        paying = self._budget.for_job(f"{PAYER} {secrets.token_hex(8)}", PAYER, most)
        async with asyncio.timeout(LOOK_SECONDS), judge_for(paying) as asked:
            scores = await ask_frozen(tasks, asked)
        found = await asyncio.to_thread(self._store.add_look, history.baseline, scores)
        state = found.at(found.seen_at)
        level = logging.WARNING if state.state == "moved" else logging.INFO
        log.log(level, "drift: the judge %s (%s) was looked at: %s", spec.model, way, state)

    def _is_due(self, history: DriftHistory) -> bool:
        """Whether a week has passed since the last look; one that moved waits to be accepted anew."""
        at, judge = now(), history.baseline.judge
        failed = self._failed.get(judge)
        waits = failed is not None and at - failed < RETRY
        return not waits and at - history.seen_at >= timedelta(days=EVERY_DAYS) and history.at(at).state != "moved"

    def _say(self, judge: JudgeKey, history: DriftHistory | None, reason: str) -> None:
        self._failed[judge] = now()
        waited = f" for {(now() - history.seen_at).days} days" if history else ""
        log.warning("drift: the judge %s was not looked at%s: %s", judge.model, waited, reason)
