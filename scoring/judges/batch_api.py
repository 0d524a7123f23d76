"""Batch API: a judge through OpenAI's batches, at half the price and with replies within a day.

A batch is recorded in the database before it is sent: a killed run finds it again, and nothing is sent twice.
"""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from sqlalchemy import Column, Table, Text, delete, insert, select, update

from arena.database import METADATA, Database, Moment, now
from arena.inference.endpoint import Endpoint
from arena.inference.openai_client import OpenAIClient
from arena.inference.trouble import PASSING, Trouble, refusal
from arena.io.images import PictureStore
from arena.types import grouped
from scoring.judges.client import (
    Judge,
    JudgeAnswer,
    JudgeError,
    JudgeFailed,
    JudgeStopped,
    final,
    read_answer,
)
from scoring.judges.rate_limit import RateLimits
from scoring.judges.spec import JudgeSpec, Price

BATCH = Table(
    "batch",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("remote", Text),
    Column("asked", Text, nullable=False),
    Column("created", Moment, nullable=False),
)
"""Batches in progress. `name` is our own and stands in the batch's metadata; `remote` is the server's id, once known;
`asked` holds the digests of the requests in file order."""
MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""Maximum size of a batch file; OpenAI allows 200 MB."""
AT_ONCE = 10_000
"""Maximum number of questions that wait for a batch at the same time."""
TRIES = 3
"""Batches that a question goes into before it fails."""
_ENDPOINT = "/v1/chat/completions"
_MARK = "stereoscope"
_ENDED = frozenset(("completed", "failed", "expired", "cancelled"))
_SECONDS = 120.0
"""Timeout of one call about a batch; the file may be large."""

T = TypeVar("T")


class _Waiting(NamedTuple):
    """Question waiting for its batch: the request body and the future of its reply."""

    body: Mapping[str, Any]
    reply: "asyncio.Future[JudgeAnswer | Trouble]"


class BatchJudge(Judge):
    """Judge asked in batches: one is closed after `quiet` seconds without a question, and polled every `every`."""

    trials: ClassVar[int] = AT_ONCE
    """A batch of a few first would have the others wait for another day."""

    def __init__(
        self,
        spec: JudgeSpec,
        address: Endpoint,
        database: Database,
        pictures: PictureStore | None = None,
        tell: Callable[[str], None] = lambda line: None,
        quiet: float = 2.0,
        every: float = 30.0,
    ) -> None:
        pace = RateLimits(concurrency=AT_ONCE, timeout=_SECONDS)
        super().__init__(replace(spec, price=half(spec.price)), address, pace, pictures=pictures)
        self._client = OpenAIClient(address, _SECONDS, 4, most=2 * MOST_BYTES)
        self._database = database
        self._say = tell
        self._quiet = quiet
        self._every = every
        self._waiting: list[_Waiting] = []
        self._news = asyncio.Event()
        self._names: list[str] = []

    async def __aenter__(self) -> "BatchJudge":
        """Resolve the endpoint and start collecting. Raises JudgeStopped if the endpoint is not allowed."""
        await super().__aenter__()
        self._collector = asyncio.create_task(self._collect())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Stop collecting; after a run without errors, delete its batch records."""
        self._collector.cancel()
        await asyncio.wait([self._collector])
        await super().__aexit__(kind, *rest)
        if kind is None:
            with self._database.write() as connection:
                connection.execute(delete(BATCH).where(BATCH.c.name.in_(self._names)))

    async def _answer(self, body: Mapping[str, Any], tokens: int, bound: int) -> JudgeAnswer:
        """Wait for the question's batch; if its reply is missing, try another batch, up to `TRIES`."""
        for _ in range(TRIES):
            if self._stopped:
                raise self._again()
            waiting = _Waiting(body, asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            self._news.set()
            outcome = await waiting.reply
            if isinstance(outcome, JudgeAnswer):
                return outcome
            if outcome.kind not in PASSING:
                break
        raise final(outcome, f"{TRIES} batches")

    async def _collect(self) -> None:
        """Send waiting questions in batches, round by round; an error is raised where its questions wait."""
        while True:
            await self._news.wait()
            while self._news.is_set():
                self._news.clear()
                await asyncio.sleep(self._quiet)
            asked = self._waiting
            self._waiting = []
            try:
                for part in _parts(asked):
                    await self._round(part)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for ever
                if isinstance(error, JudgeError):
                    stopped = error if isinstance(error, JudgeStopped) else JudgeStopped(str(error))
                    self._stopped = stopped
                for waiting in asked:
                    if not waiting.reply.done():
                        waiting.reply.set_exception(self._again() if self._stopped else error)

    async def _round(self, asked: Sequence[_Waiting]) -> None:
        places = grouped((_digest(waiting.body), waiting) for waiting in asked)
        for row in self._left(frozenset(places)):
            self._names.append(row.name)
            if any(places.get(digest) for digest in json.loads(row.asked)):
                self._give(await self._fetched(row.name, row.remote), json.loads(row.asked), places)
        rest = [waiting for each in places.values() for waiting in each]
        if rest:
            digests = [_digest(waiting.body) for waiting in rest]
            name = await asyncio.to_thread(self._noted, digests)
            self._names.append(name)
            file = b"".join(_line(number, waiting.body) for number, waiting in enumerate(rest))
            remote = await self._submitted(name, file)
            self._say(
                f"{len(rest):,} questions are in batch {remote}; it may take a day, and this may be stopped"
            )
            self._give(await self._fetched(name, remote), digests, places)
            for waiting in rest:
                if not waiting.reply.done():
                    waiting.reply.set_result(Trouble("again", "the batch ended without its reply"))

    def _give(
        self,
        found: Mapping[int, JudgeAnswer | Trouble],
        digests: Sequence[str],
        places: dict[str, list[_Waiting]],
    ) -> None:
        """Assign each reply to one question with the same request; equal questions are samples of each other."""
        for line, outcome in found.items():
            waiting = places.get(digests[line]) if 0 <= line < len(digests) else None
            if waiting:
                waiting.pop().reply.set_result(outcome)

    # Calls to the server.
    async def _submitted(self, name: str, content: bytes) -> str:
        """Upload a file, start its batch unless a call whose reply was lost already did, and return its id."""
        file = (f"{name}.jsonl", content)
        sent = await self._reliable(
            lambda: self._client.api.files.create(file=file, purpose="batch")
        )

        async def begin() -> str:
            begun = await self._found(name)
            if begun is not None:
                return begun
            made = await self._client.api.batches.create(
                input_file_id=sent.id,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_MARK: name},
            )
            return made.id

        remote = await self._reliable(begin)
        with self._database.write() as connection:
            connection.execute(update(BATCH).where(BATCH.c.name == name).values(remote=remote))
        return remote

    async def _found(self, name: str) -> str | None:
        page = await self._client.api.batches.list(limit=100)
        return next((one.id for one in page.data if (one.metadata or {}).get(_MARK) == name), None)

    async def _fetched(self, name: str, remote: str | None) -> dict[int, JudgeAnswer | Trouble]:
        """Wait for a batch and return its outcomes by line of the file; {} if the batch was never started."""
        remote = remote or await self._reliable(lambda: self._found(name))
        if remote is None:
            return {}
        while True:
            batch = await self._reliable(lambda: self._client.api.batches.retrieve(remote))
            if batch.status in _ENDED:
                break
            await asyncio.sleep(self._every)
        if batch.status == "failed":
            problems = (batch.errors and batch.errors.data) or []
            words = self.address.redacted(
                "; ".join(f"{one.code}: {one.message}" for one in problems)[:300]
            )
            with self._database.write() as connection:
                connection.execute(delete(BATCH).where(BATCH.c.name == name))
            raise JudgeStopped(
                f"the batch {remote} was refused ({words}); mend that and give the same command"
            )
        found: dict[int, JudgeAnswer | Trouble] = {}
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                sent = await self._reliable(lambda file=file: self._client.api.files.content(file))
                found |= _read(sent.content, self.address)
        return found

    async def _reliable(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call about files or batches, with retries. Raises JudgeStopped and JudgeFailed."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._client.call(call())
            except Trouble as error:
                trouble = error
            if trouble.kind not in PASSING:
                raise JudgeStopped(trouble.words)
            if not await self.pace.another(attempt, trouble):
                raise JudgeFailed(
                    f"no answer about the batch; the last: {trouble.words}; the same command goes on"
                )

    # Batch records.
    def _noted(self, digests: Sequence[str]) -> str:
        name = secrets.token_hex(16)
        row = {
            "name": name,
            "address": self.address.address,
            "model": self.spec.model,
            "remote": None,
        }
        with self._database.write() as connection:
            connection.execute(
                insert(BATCH).values(**row, asked=json.dumps(digests), created=now())
            )
        return name

    def _left(self, digests: frozenset[str]) -> list[Any]:
        mine = (BATCH.c.address == self.address.address) & (BATCH.c.model == self.spec.model)
        with self._database.read() as connection:
            rows = connection.execute(select(BATCH).where(mine).order_by(BATCH.c.created)).all()
        return [
            row
            for row in rows
            if row.name not in self._names and digests & frozenset(json.loads(row.asked))
        ]


def half(price: Price | None) -> Price | None:
    return price and Price(price.prompt / 2, price.completion / 2)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8")).hexdigest()


def _line(number: int, body: Mapping[str, Any]) -> bytes:
    asked = {"custom_id": str(number), "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(asked).encode("ascii") + b"\n"


def _parts(asked: Sequence[_Waiting]) -> list[list[_Waiting]]:
    parts: list[list[_Waiting]] = [[]]
    size = 0
    for waiting in asked:
        bytes_ = len(_line(MOST_LINES, waiting.body))
        if parts[-1] and (size + bytes_ > MOST_BYTES or len(parts[-1]) == MOST_LINES):
            parts.append([])
            size = 0
        parts[-1].append(waiting)
        size += bytes_
    return parts


def _read(content: bytes, address: Endpoint) -> dict[int, JudgeAnswer | Trouble]:
    """Return the outcomes in an output or error file, by line number; unreadable lines are skipped."""
    found: dict[int, JudgeAnswer | Trouble] = {}
    for line in content.splitlines():
        try:
            said = json.loads(line)
            number = int(said["custom_id"])
            response = said.get("response") or {}
            status = response.get("status_code")
            body = response.get("body")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            continue
        if status == 200:
            found[number] = read_answer(json.dumps(body).encode("utf-8"))
        elif isinstance(status, int):
            found[number] = refusal(status, {}, body, address.redacted)
        else:
            found[number] = Trouble("again", "the batch ended before its turn")
    return found
