"""A local model's process as its callers see it: whole answers that can be stored, and calls that are given up."""

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from arena.inference import local_process
from arena.inference.local_process import LocalVLM, Worker
from arena.types import Generation, ModelCard, Turn


class Finished:
    """A process, and its request, whose model has answered already."""

    prompt = 1
    tokens = 1

    async def start(self, *_: object) -> "Finished":
        return self

    async def get(self) -> dict[str, object]:
        return {"kind": "end", "texts": ["a\0b", "c"]}

    def stop(self, _: object) -> None: ...


class Pool:
    async def worker(self, _: ModelCard) -> Finished:
        return Finished()


def test_a_whole_answer_can_be_stored():
    vlm = LocalVLM(ModelCard("Model X", "local", "ada/x"), Pool())
    turns = [[Turn("user", "One?")], [Turn("user", "Two?")]]
    assert asyncio.run(vlm.answers(turns, Generation())) == ("a\ufffdb", "c")


ENDS_WHAT_IS_STOPPED = """
import json, sys
begun = set()
for line in sys.stdin:
    message = json.loads(line)
    if message.get("stop") in begun:
        print(json.dumps({"kind": "end", "id": message["stop"]}), flush=True)
    begun.add(message.get("id"))
"""
"""A process that answers a request once it is stopped, and knows no stop before its request."""


def test_a_call_given_up_before_it_is_sent_leaves_the_process_free(monkeypatch):
    def stand_in(_: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", ENDS_WHAT_IS_STOPPED]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    async def given_up() -> None:
        is_free = threading.Event()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        blocked = loop.run_in_executor(None, is_free.wait)
        call = asyncio.create_task(worker.start([[Turn("user", "One?")]], Generation()))
        await asyncio.sleep(0)
        assert worker.request_count == 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        is_free.set()
        await blocked
        async with asyncio.timeout(10):
            while worker.request_count:
                await asyncio.sleep(0.01)

    monkeypatch.setattr(local_process, "line_process", stand_in)
    worker = Worker(ModelCard("Model X", "local", "ada/x"))
    try:
        asyncio.run(given_up())
    finally:
        worker.end()
        worker.reader.join()
