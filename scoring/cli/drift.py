"""Commands `drift ...`: accept a judge by five runs over the frozen answers, look at it by one more, list the accepted.

The server looks by itself, each week and before jobs, at its own judge.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from typer import BadParameter, Option, Typer

from arena.budget import BudgetError
from arena.database import Database, now
from arena.settings import Settings
from scoring.calibration.drift_store import DriftError, DriftStore, FrozenScores, JudgeKey
from scoring.calibration.drift_watch import ask_frozen, look_quote, look_tasks
from scoring.calibration.drift_words import drift_list
from scoring.calibration.frozen_answers import EDITIONS, AskedWay
from scoring.cli import progress
from scoring.judges.client import JudgeError
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.report import Grade, Protocol

app, drift = Typer(rich_markup_mode=None), Typer(help="whether a judge still scores as it did")
app.add_typer(drift, name="drift")
JudgeModel = Annotated[str, Option("--judge", metavar="MODEL", help="JUDGE_MODEL without")]
Edition = Annotated[Literal["mm-vet", "mm-vet-v2"], Option(help="whose prompt the judge is asked by")]


@drift.command()
def accept(
    judge: JudgeModel = "",
    base_url: progress.BaseUrl = None,
    benchmark: Edition = "mm-vet",
    protocol: Protocol = "hardened",
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
) -> Iterator[str]:
    """Accept a judge as it is now, by five runs over the frozen answers; one that has moved is accepted anew."""
    serving, way = _judge(judge, base_url, yes, budget), AskedWay(EDITIONS[benchmark], protocol)
    spec = yield from serving.spec()
    scores = yield from _asked(serving, spec, look_tasks(way, spec, None))
    accepted = DriftStore(serving.database).accept(JudgeKey(serving.address.shown, spec.model, way.prompt), scores)
    answers = len(accepted.baseline.scores.runs[0])
    named = f", as {scores.named}" if scores.named else ""
    yield f"Accepted: {spec.model} ({way}), {len(scores.runs)} runs over {answers} frozen answers{named}."
    serving.database.close()


@drift.command()
def look(
    judge: JudgeModel = "",
    base_url: progress.BaseUrl = None,
    benchmark: Edition = "mm-vet",
    protocol: Protocol = "hardened",
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
) -> Iterator[str]:
    """Look at an accepted judge now, by one run over the frozen answers."""
    serving, way = _judge(judge, base_url, yes, budget), AskedWay(EDITIONS[benchmark], protocol)
    spec = yield from serving.spec()
    store = DriftStore(serving.database)
    history = store.history(JudgeKey(serving.address.shown, spec.model, way.prompt))
    if history is None:
        raise DriftError(
            f"{spec.model} ({way}) was not accepted at this address, so there is nothing to compare it with; "
            "accept it first: python -m scoring drift accept"
        )
    scores = yield from _asked(serving, spec, look_tasks(way, spec, history))
    found = store.add_look(history.baseline, scores).looks[-1].found
    state = "moved" if found.has_moved else "steady"
    numbers = f"shift {found.shift:+.3f}, p {found.p:.2g}, moved below {found.level:.2g}"
    yield f"{spec.model} ({way}): {state} ({numbers}{f'; as {scores.named}' if scores.named else ''})."
    serving.database.close()


@drift.command("list")
def accepted() -> Iterator[str]:
    """List the accepted judges, and where they stand."""
    database = Database(Settings.from_env().database_url)
    found = list(drift_list(DriftStore(database), now()))
    yield from found or ["No judge was accepted yet: python -m scoring drift accept"]
    database.close()


def _judge(model: str, base_url: str | None, yes: bool, budget: float | None) -> progress.CommandJudge:
    settings = Settings.from_env()
    if not model and not settings.judge.model:
        raise BadParameter("choose a judge with --judge MODEL, or set JUDGE_MODEL")
    return progress.CommandJudge(settings, model or settings.judge.model, base_url, False, yes, budget)


def _asked(
    serving: progress.CommandJudge, spec: JudgeSpec, tasks: Sequence[Task[Grade]]
) -> progress.Lines[FrozenScores]:
    most = yield from serving.agreed(look_quote(tasks, spec, serving.address.shown), spec.model)

    async def run() -> FrozenScores:
        async with serving.client(spec, most) as judge:
            return await ask_frozen(tasks, judge)

    try:
        return asyncio.run(run())
    except (JudgeError, BudgetError) as error:
        raise progress.StoppedError(f"{error}\nNothing is kept of runs that did not end: begin anew.") from error
