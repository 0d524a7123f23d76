"""Write batch: group commit of votes that arrive at the same time, each answered after the commit.

A durable commit waits for the disk, and votes committed one by one each wait for it. PostgreSQL groups the commits of
its connections by itself; on SQLite, which has one writer, they are grouped here.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from arena.battles.store import BattleStore, VoteRequest
from arena.types import Battle


class WriteBatch:
    """Group commit of votes from handlers in threads: one thread writes, each time all that wait."""

    def __init__(self, store: BattleStore) -> None:
        self._store = store
        self._pending = SimpleQueue[tuple[VoteRequest, Future[Battle]]]()
        self._writer = ThreadPoolExecutor(1, "votes")

    def vote(self, vote_request: VoteRequest) -> Battle:
        """Store a choice as `BattleStore.vote` does; the same errors."""
        if not self._store.gathers_votes:
            return self._store.vote(*vote_request)
        answer = Future[Battle]()
        self._pending.put((vote_request, answer))
        self._writer.submit(self._flush)
        return answer.result()

    def _flush(self) -> None:
        cast = [self._pending.get() for _ in range(self._pending.qsize())]
        try:
            outcomes = self._store.vote_all([vote_request for vote_request, _ in cast]) if cast else []
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for ever
            outcomes = [error] * len(cast)
        for (_, answer), outcome in zip(cast, outcomes, strict=True):
            if isinstance(outcome, Battle):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)
