"""Batches: the same scores as call by call, whatever the order and the losses; nothing is sent twice."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from arena.database import Database, DatabaseError
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.cli import progress
from scoring.judges import batch_api
from scoring.judges.batch_api import BATCH, BatchJudge, _file_parts, _WaitingQuestion, half_price
from scoring.judges.cache import ReplyCache
from scoring.judges.client import Judge, JudgeError, JudgeStopped
from scoring.judges.spec import Ask, Message, Price
from scoring.registry import score
from scoring.report import Report
from tests.support.commands import Command
from tests.support.forked_app import FORKS
from tests.support.judging_process import CALLS, SPEC, drafted, scores
from tests.support.openai_batches import Batch, Batches
from tests.support.openai_server import OpenAIServer


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield opened
    opened.close()


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(batches=Batches()) as running:
        yield running


def judged(server: OpenAIServer, database: Database, batch: bool = True) -> Report:
    """Score the sample's outputs, in batches or call by call."""

    async def work() -> Report:
        address, cache = Endpoint(server.address, Secret("sk-test")), ReplyCache(database)
        asked = (
            BatchJudge(SPEC, address, database, quiet_seconds=0.25, poll_seconds=0.02)
            if batch
            else Judge(SPEC, address)
        )
        async with asked as judge:
            return await score(
                drafted(server.address), judge, cache, lambda progress: None, asyncio.Event()
            )

    return asyncio.run(asyncio.wait_for(work(), 60))


def rows(database: Database) -> list:
    with database.read() as connection:
        return list(connection.execute(BATCH.select()).all())


def wordings(batches: Batches) -> Counter[str]:
    return Counter(json.dumps(line["body"], sort_keys=True) for line in batches.lines)


def test_a_batch_gives_the_same_scores_as_call_by_call(server, database, tmp_path):
    alone = Database(f"sqlite:///{tmp_path / 'alone.db'}")
    one_by_one = judged(server, alone, batch=False)
    alone.close()
    asked = server.counts.calls
    assert scores(judged(server, database)) == scores(one_by_one)
    assert server.counts.calls == asked, "no call is made by itself"
    assert len(server.batches.begun) == 1 and len(server.batches.lines) == CALLS
    assert all(
        line["method"] == "POST" and line["url"] == "/v1/chat/completions"
        for line in server.batches.lines
    )
    assert rows(database) == [], "what is done with is not kept"
    judged(server, database)
    assert len(server.batches.begun) == 1, "the second time all is in the cache"


@pytest.mark.parametrize(
    "faults", [{"lost": 0.3}, pytest.param({"failing": 0.3}, marks=pytest.mark.soak)], ids=str
)
def test_what_a_batch_did_not_bring_goes_into_the_next(faults, server, database):
    whole = scores(judged(server, database))
    again = Database("sqlite:///" + str(database.url.database).replace("arena.db", "again.db"))
    server.batches = Batches(**faults)
    assert scores(judged(server, again)) == whole
    again.close()
    first, *more = server.batches.begun.values()
    missing = len(server.batches.lines) - CALLS
    assert len(more) == 1 and 0 < missing < CALLS
    assert sorted(wordings(server.batches).values()) == [1] * (CALLS - missing) + [2] * missing


ODD = tuple(
    json.dumps({"custom_id": number, "response": response}).encode()
    for number, response in (
        ("-1", {"status_code": 500, "body": {"error": {"message": "of another question"}}}),
        (str(CALLS), {"status_code": 500, "body": None}),
        ("0", "gone"),
        (float("inf"), None),
        ([], None),
    )
)


def test_lines_that_answer_no_question_are_left_out(server, database, tmp_path):
    alone = Database(f"sqlite:///{tmp_path / 'alone.db'}")
    expected = scores(judged(server, alone, batch=False))
    alone.close()
    server.batches = Batches(odd=(*ODD, b"[]", b"null", b"{", b""))
    assert scores(judged(server, database)) == expected
    assert len(server.batches.begun) == 1


def test_what_never_comes_ends_with_what_to_do(server, database):
    server.batches = Batches(lost=1.0, always=True)
    with pytest.raises(JudgeError, match="The judge didn't reply in 3 batches"):
        judged(server, database)


def test_a_refused_batch_says_why_and_the_same_command_goes_on(server, database):
    server.batches.refused = "token_limit_exceeded"
    with pytest.raises(
        JudgeStopped, match=r"refused: token_limit_exceeded: Too much is enqueued\. Correct that"
    ):
        judged(server, database)
    server.batches.refused = ""
    assert judged(server, database).rows
    assert len(server.batches.begun) == 2


def test_a_database_that_fails_ends_the_run_and_leaves_nobody_waiting(server, database):
    with database.write() as connection:
        BATCH.drop(connection)
    with pytest.raises(DatabaseError, match="can't be read"):
        judged(server, database)


def test_a_batch_whose_beginning_got_no_answer_is_not_begun_again(server, database):
    server.batches.deaf_after_create = 1
    judged(server, database)
    assert len(server.batches.begun) == 1


def test_a_batch_is_found_behind_hundreds_of_later_ones(server, database):
    for number in range(250):
        name = f"batch-{number}"
        server.batches.begun[name] = Batch(name, "file-0", {"stereoscope": f"name-{number}"})

    async def look_for(*names: str) -> list[str | None]:
        address = Endpoint(server.address, Secret("sk-test"))
        async with BatchJudge(SPEC, address, database) as judge:
            return [await judge._remote_of(name, in_all=True) for name in names]

    assert asyncio.run(look_for("name-249", "name-0", "never")) == ["batch-249", "batch-0", None]


def test_a_server_without_batches_is_told_in_one_line(database):
    with OpenAIServer() as server, pytest.raises(JudgeError, match="404"):
        judged(server, database)


def one_run(address: str, database_url: str) -> None:
    """Judge in a process of its own."""
    judged(SimpleNamespace(address=address), Database(database_url))


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_killed_runs_send_nothing_twice(server, database, kills):
    """Killed while the batch is sent, while it is waited for, and while its replies are kept."""
    whole = Database("sqlite:///" + str(database.url.database).replace("arena.db", "whole.db"))
    expected = scores(judged(server, whole))
    whole.close()
    server.batches = Batches(looks=10**9)
    luck = random.Random()
    for number in range(kills):
        if number == max(kills - 2, 0):
            server.batches.looks = 1
        run = FORKS.Process(target=one_run, args=(server.address, str(database.url)), daemon=True)
        run.start()
        deadline = time.monotonic() + 120
        while run.is_alive() and not rows(database) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(luck.uniform(0, 0.4))
        run.kill()
        run.join()
    assert scores(judged(server, database)) == expected
    assert len(server.batches.lines) == CALLS and len(server.batches.begun) == 1
    assert rows(database) == []


def test_an_earlier_batch_also_answers_questions_that_come_later(server, database):
    """A run that goes on may ask in several rounds what the stopped one asked in one."""
    asks = [Ask((Message("user", f"Question {number}"),)) for number in range(2)]

    async def stop_in_batch(work: Coroutine[Any, Any, None]) -> None:
        run = asyncio.create_task(work)
        while not any(row.remote for row in rows(database)):
            await asyncio.sleep(0.01)
        run.cancel()
        await asyncio.wait([run])

    async def ask(*groups: list[Ask]) -> None:
        address = Endpoint(server.address, Secret("sk-test"))
        async with BatchJudge(
            SPEC, address, database, quiet_seconds=0.1, poll_seconds=0.02
        ) as judge:
            for group in groups:
                await asyncio.gather(*map(judge.ask, group))

    server.batches = Batches(looks=10**9)
    asyncio.run(asyncio.wait_for(stop_in_batch(ask(asks)), 60))
    server.batches.looks = 1
    asyncio.run(asyncio.wait_for(ask(asks[:1], asks[1:]), 60))
    assert len(server.batches.begun) == 1 and len(server.batches.lines) == 2


class ThreeExpired(Batches):
    """The first three batches expire without a reply."""

    def _faulty(self, batch: Batch) -> bool:
        return [*self.begun].index(batch.id) < 3


def test_failures_in_earlier_batches_are_no_tries_of_this_run(server, database):
    asks = [Ask((Message("user", f"Question {number}"),)) for number in range(3)]
    server.batches = ThreeExpired(looks=1, lost=1.0)

    async def ask_after(judge: BatchJudge, batches: int, ask: Ask) -> None:
        while len(server.batches.begun) < batches:
            await asyncio.sleep(0.01)
        await judge.ask(ask)

    async def run(delays: tuple[int, ...]) -> None:
        address = Endpoint(server.address, Secret("sk-test"))
        async with BatchJudge(
            SPEC, address, database, quiet_seconds=0.2, poll_seconds=0.02
        ) as judge:
            await asyncio.gather(
                *(ask_after(judge, *each) for each in zip(delays, asks, strict=True))
            )

    with pytest.raises(JudgeError, match="didn't reply in 3 batches"):
        asyncio.run(asyncio.wait_for(run((0, 1, 2)), 60))
    assert len(server.batches.lines) == 1 + 2 + 3
    asyncio.run(asyncio.wait_for(run((0, 0, 0)), 60))
    assert len(server.batches.begun) == 4 and len(server.batches.lines) == 1 + 2 + 3 + 3
    assert rows(database) == []


def test_a_file_holds_what_a_server_takes(monkeypatch):
    assert batch_api.MOST_LINES <= 50_000 and batch_api.MOST_BYTES <= 200_000_000
    monkeypatch.setattr(batch_api, "MOST_LINES", 50)
    monkeypatch.setattr(batch_api, "MOST_BYTES", 19_000)
    small = [_WaitingQuestion({"n": number}, None) for number in range(51)]
    assert [len(part) for part in _file_parts(small)] == [50, 1]
    large = [_WaitingQuestion({"picture": "x" * 8_000}, None) for _ in range(3)]
    assert [len(part) for part in _file_parts(large)] == [2, 1]


def test_a_batch_costs_half():
    assert half_price(Price(2.0, 8.0)) == Price(1.0, 4.0) and half_price(None) is None


def test_the_command_tells_the_half_price_and_scores(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "BatchJudge", partial(BatchJudge, quiet_seconds=0.25))
    (tmp_path / "prices.csv").write_text("model,prompt,completion\ntest-judge,2000,8000\n")
    with OpenAIServer(batches=Batches(looks=1)) as judge:
        command = Command(tmp_path, JUDGE_PRICES=str(tmp_path / "prices.csv"))
        words = (
            "score",
            "--benchmark=mm-vet",
            "-o",
            "sample=true",
            SAMPLE_PREDICTIONS,
            "--judge",
            "test-judge",
            "--base-url",
            judge.address,
        )
        told = {}
        for more in ((), ("--batch",)):
            declined = command(*words, *more, answer="y\nn\n")
            told[more] = float(
                declined.out.partition("at most $")[2].split()[0].rstrip(".").replace(",", "")
            )
        assert told[("--batch",)] == pytest.approx(told[()] / 2, rel=0.01)
        done = command(*words, "--yes", "--batch")
        assert done.code == 0, done.err
        assert "105 questions are in batch batch-0" in done.out
        assert len(command.files()) == 10 and len(judge.batches.lines) == 105
