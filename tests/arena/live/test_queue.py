"""The queue of live answers: no network takes what all share."""

import asyncio
from contextlib import aclosing

import pytest

import arena.live.queue
from arena.live.queue import (
    MOST_OF_NETWORK,
    MOST_WAITING,
    GenerationQueue,
    GenerationTask,
    LiveError,
)
from arena.live.streaming import SideBySide
from tests.support.scripted_vlm import ScriptedVLM

CROWD = "198.51.100.0/24"


def asked(
    queue: GenerationQueue,
    network: str | None,
    begun: list[str | None],
    *alone: str,
    may_show_place: bool = True,
) -> GenerationTask:
    """Ask a model that never comes to an end; `begun` tells the networks in the order of their turns."""
    vlm = ScriptedVLM("endless", first=3_600.0)

    def ask(_, vlm: ScriptedVLM):
        begun.append(network)
        return vlm.stream((), None)  # pyright: ignore[reportArgumentType]

    async def finish(_: SideBySide) -> None:
        """Nothing is kept."""

    side_by_side = SideBySide({"a": vlm}, ask)  # pyright: ignore[reportArgumentType]
    return GenerationTask(queue, side_by_side, finish, network, frozenset(alone), may_show_place)


async def rest() -> None:
    """Let the tasks come as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def stopped(tasks: list[GenerationTask]) -> None:
    for task in reversed(tasks):
        await task.stop()


def test_one_network_never_fills_the_queue_for_others():
    async def run() -> None:
        queue, tasks = GenerationQueue(2), []
        while len(tasks) < MOST_OF_NETWORK:
            await queue.check_room(CROWD)
            tasks.append(asked(queue, CROWD, []))
            await rest()
        with pytest.raises(LiveError, match=f"{MOST_OF_NETWORK} others on your network"):
            await queue.check_room(CROWD)
        await queue.check_room("203.0.113.0/24")
        await queue.check_room(None)
        await stopped(tasks)
        await queue.check_room(CROWD)

    asyncio.run(run())


def test_battles_wait_for_a_model_that_answers_one_at_a_time():
    async def run() -> None:
        queue = GenerationQueue(20)
        tasks = [
            asked(queue, CROWD, [], *alone)
            for alone in (("one", "two"), ("two", "three"), ("four",), ("one", "two"))
        ]
        await rest()
        assert [queue.ahead(task) for task in tasks] == [0, 1, 0, 2]
        assert queue.waiting == 2
        await tasks[0].stop()
        await rest()
        assert [queue.ahead(task) for task in tasks[1:]] == [0, 0, 1]
        await stopped(tasks[1:])
        assert queue.waiting == 0

    asyncio.run(run())


def test_who_waits_for_a_model_of_its_kind_is_told_so_only_where_all_are_of_that_kind():
    async def run() -> None:
        queue = GenerationQueue(3)
        tasks = [
            asked(queue, CROWD, [], *alone, may_show_place=False)
            for alone in (("one",), ("one",), ("one",), (), ("one",))
        ]
        await rest()
        assert [queue.ahead(task) for task in tasks] == [0, 1, 2, 1, 3]
        assert [queue.public_ahead(task) for task in tasks] == [0, 0, 0, 1, 2]
        await stopped(tasks)
        assert queue.public_ahead(tasks[4]) == 0

    asyncio.run(run())


def test_a_page_hears_something_while_no_word_comes(monkeypatch):
    """No proxy takes the line for dead: a stream is silent for KEEPALIVE_SECONDS at most."""
    monkeypatch.setattr(arena.live.queue, "KEEPALIVE_SECONDS", 0.01)

    async def run() -> None:
        task = asked(GenerationQueue(1), CROWD, [])
        async with aclosing(task.watch()) as news, asyncio.timeout(20):
            assert [await anext(news) for _ in range(3)] == [{"a": ""}] * 3
        await task.stop()

    asyncio.run(run())


def test_when_many_networks_wait_the_first_of_another_still_finds_room():
    async def run() -> None:
        queue = GenerationQueue(2)
        tasks = [asked(queue, f"net {number % 6}", []) for number in range(2 + MOST_WAITING)]
        await rest()
        for known in (None, "net 0"):
            with pytest.raises(LiveError, match=f"{MOST_WAITING} others are waiting"):
                await queue.check_room(known)
        await queue.check_room("another net")
        await stopped(tasks)

    asyncio.run(run())


def test_the_first_of_a_network_goes_before_the_many_of_another():
    async def run() -> None:
        queue, begun = GenerationQueue(2), list[str | None]()
        tasks = [asked(queue, CROWD, begun) for _ in range(30)]
        await rest()
        late = [asked(queue, network, begun) for network in ("b", "c", None, "b")]
        await rest()
        assert [queue.ahead(task) for task in late] == [1, 2, 3, 4]
        for task in (*tasks[:2], *late[:3]):
            await task.stop()
            await rest()
        assert begun[2:] == ["b", "c", None, "b", CROWD]
        await stopped([*tasks, *late])

    asyncio.run(run())
