"""Write batch: group commit of votes that arrive at the same time, each answered after the commit.

A durable commit waits for the disk, and votes committed one by one each wait for it. PostgreSQL groups the commits of
its connections by itself; on SQLite, which has one writer, they are grouped here.
"""

import asyncio

from arena.battles.store import BattleStore, VoteRequest
from arena.types import Battle


class WriteBatch:
    """Group commit of votes from handlers of one event loop."""

    def __init__(self, store: BattleStore) -> None:
        self._store = store
        self._pending: list[tuple[VoteRequest, asyncio.Future[Battle]]] = []
        self._flushing: asyncio.Task[None] | None = None

    async def vote(self, vote_request: VoteRequest) -> Battle:
        """Stores a choice as `BattleStore.vote` does, even if its voter leaves meanwhile. Raises the same errors."""
        if not self._store.gathers_votes:
            return await asyncio.to_thread(
                self._store.vote,
                voter=vote_request.voter,
                token=vote_request.token,
                choice=vote_request.choice,
                terms=vote_request.terms,
            )
        stored: asyncio.Future[Battle] = asyncio.get_running_loop().create_future()
        self._pending.append((vote_request, stored))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await stored

    async def _flush(self) -> None:
        while self._pending:
            batch = self._pending
            self._pending = []
            try:
                outcomes = await asyncio.to_thread(
                    self._store.vote_all, [vote_request for vote_request, _ in batch]
                )
            except Exception as error:  # noqa: BLE001 - Any error has to reach the waiting callers.
                outcomes = [error] * len(batch)
            for (_, stored), outcome in zip(batch, outcomes, strict=True):
                if stored.done():  # its request was cancelled
                    continue
                if isinstance(outcome, Battle):
                    stored.set_result(outcome)
                else:
                    stored.set_exception(outcome)
