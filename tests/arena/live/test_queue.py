"""The queue of live answers, and the chats in memory: no network takes what all share."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

import arena.live.queue
from arena.battles.lending import Lending
from arena.battles.voters import Voters
from arena.budget import LIVE, Budget, Ceilings
from arena.database import Database, DatabaseError
from arena.live.chat import Chats, UnknownChatError
from arena.live.images import OwnImages
from arena.live.queue import MOST_OF_NETWORK, MOST_WAITING, GenerationQueue, GenerationTask, LiveError
from arena.live.streaming import SideBySide
from tests.support.scripted_vlm import ScriptedVLM

CROWD = "198.51.100.0/24"


def asked(queue: GenerationQueue, network: str | None, begun: list[str | None]) -> GenerationTask:
    """Ask a model that never comes to an end; `begun` tells the networks in the order of their turns."""
    vlm = ScriptedVLM("endless", first=3_600.0)

    def ask(_, vlm: ScriptedVLM):
        begun.append(network)
        return vlm.stream((), None)  # pyright: ignore[reportArgumentType]

    async def finish(_: SideBySide) -> None:
        """Nothing is kept."""

    return GenerationTask(queue, SideBySide({"a": vlm}, ask), finish, network)  # pyright: ignore[reportArgumentType]


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
        with pytest.raises(LiveError, match=f"{MOST_OF_NETWORK} others of your network"):
            await queue.check_room(CROWD)
        await queue.check_room("203.0.113.0/24")
        await queue.check_room(None)
        await stopped(tasks)
        await queue.check_room(CROWD)

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


def chats_with(vlm: ScriptedVLM, database: Database, folder: Path, queue: GenerationQueue) -> Chats:
    images, budget = OwnImages(database, folder / "own"), Budget(database, Ceilings(1, 1, 1), LIVE)
    lending = Lending(database, False, ())
    return Chats([vlm], database, images, budget, lending, queue, most=4)  # pyright: ignore[reportArgumentType]


def test_one_network_does_not_end_the_conversations_of_others(database, tmp_path):
    async def run() -> None:
        chats = chats_with(ScriptedVLM("Talker"), database, tmp_path, GenerationQueue(20))
        voter = Voters(database).voter

        async def begun(name: str, network: str | None) -> tuple[int, str]:
            session = await chats.begin(voter(name), "Talker", "Hello", (), network)
            await chats.stop(session.voter, session.token)
            return session.voter, session.token

        kept = [await begun("honest", "203.0.113.0/24"), await begun("unknown", None)]
        crowd = [await begun(f"cookie {number}", CROWD) for number in range(10)]
        for voter_id, token in [*kept, *crowd[-2:]]:
            assert await chats.find(voter_id, token)
        for voter_id, token in crowd[:-2]:
            with pytest.raises(UnknownChatError):
                await chats.find(voter_id, token)

    asyncio.run(run())


def test_a_conversation_that_the_database_refuses_generates_nothing(database, tmp_path, monkeypatch):
    def refuse(_: str) -> None:
        raise DatabaseError("gone")

    async def run() -> None:
        queue, begun = GenerationQueue(1), list[str | None]()
        chats = chats_with(ScriptedVLM("Talker", first=3_600.0), database, tmp_path, queue)
        monkeypatch.setattr(database, "hold", refuse)
        with pytest.raises(DatabaseError):
            await chats.begin(Voters(database).voter("somebody"), "Talker", "Hello", (), None)
        after = asked(queue, "next", begun)
        await rest()
        assert begun == ["next"]
        await after.stop()

    asyncio.run(run())
