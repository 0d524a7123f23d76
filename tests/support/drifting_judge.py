"""A judge whose scores are noisy as judges' are, and that can be moved; its acceptance and looks, at any time."""

import asyncio
import hashlib
from datetime import timedelta
from functools import cache

from sqlalchemy import BigInteger, type_coerce, update

from arena.database import Database
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.calibration.drift_store import JUDGE_BASELINE, JUDGE_LOOK, DriftHistory, DriftStore, FrozenScores, JudgeKey
from scoring.calibration.drift_watch import ask_frozen, look_tasks
from scoring.calibration.frozen_answers import frozen_answers, ways
from scoring.judges.client import Judge
from tests.support.judging_process import HASTY, SPEC
from tests.support.openai_server import Body, OpenAIServer, prompt, steady_score

HARDENED, *_ = ways().values()
ANSWERS = len(frozen_answers())


def is_frozen(body: Body) -> bool:
    """Whether a request asks for the score of a frozen answer that is partly right."""
    asked = prompt(body)
    return any(one.question.text in asked and (one.prediction or "-") in asked for one in frozen_answers()[:60])


class DriftingJudge:
    """Scores of frozen answers on tenths, noisy by the seed; all else as `steady_score`. Give it to a server."""

    def __init__(self) -> None:
        self.shift = 0.0
        """How much more it gives on average than it did: to a share of the answers, a tenth."""
        self.unreadable = False
        """Whether its replies on frozen answers hold no score."""

    def __call__(self, body: Body, sample: int) -> str:
        if not is_frozen(body):
            return steady_score(body, sample)
        if self.unreadable:
            return "I would rather not say."
        asked = hashlib.sha256(prompt(body).encode()).digest()
        noise = hashlib.sha256(f"{body.get('seed')}".encode() + asked).digest()[0]
        tenths = 3 + asked[0] % 5 + (noise < 48) - (noise >= 208) + (asked[1] < 256 * 10 * self.shift)
        return f"{tenths / 10}"


def key(server: OpenAIServer) -> JudgeKey:
    return JudgeKey(server.address, SPEC.model, HARDENED.prompt)


def accept(database: Database, server: OpenAIServer) -> DriftHistory:
    """Accept the judge of a server as what it gives now."""
    return DriftStore(database).accept(key(server), _asked(server, None))


def looked_at(database: Database, server: OpenAIServer, history: DriftHistory) -> DriftHistory:
    """Look once at an accepted judge."""
    return DriftStore(database).add_look(history.baseline, _asked(server, history))


def steady(database: Database, server: OpenAIServer) -> DriftHistory:
    """Accept the judge of a server as what one gives that has not moved, without asking it."""
    return DriftStore(database).accept(key(server), _steady_scores())


@cache
def _steady_scores() -> FrozenScores:
    with OpenAIServer(DriftingJudge()) as server:
        return _asked(server, None)


def _asked(server: OpenAIServer, history: DriftHistory | None) -> FrozenScores:
    tasks = look_tasks(HARDENED, SPEC, history)

    async def run() -> FrozenScores:
        async with Judge(SPEC, Endpoint(server.address, Secret("sk-test")), HASTY) as judge:
            return await ask_frozen(tasks, judge)

    return asyncio.run(run())


def age(database: Database, days: float) -> None:
    """Let so many days pass: every acceptance and look was so much earlier."""
    earlier = timedelta(days=days) // timedelta(microseconds=1)
    with database.write() as connection:
        for table, name in ((JUDGE_BASELINE, "accepted_at"), (JUDGE_LOOK, "looked_at")):
            moment = type_coerce(table.c[name], BigInteger) - earlier
            connection.execute(update(table).values({name: moment}))
