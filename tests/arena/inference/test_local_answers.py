"""Whole answers of a local model: what no database stores is replaced in them, as in a stream."""

import asyncio

from arena.inference.local_process import LocalVLM
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
