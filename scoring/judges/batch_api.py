"""Batch API: a judge through OpenAI's batches, at half the price and with replies within a day.

A batch is recorded in the database before it is sent, so that a killed run finds it again and sends nothing twice.
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
    final_error,
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
"""Batches in progress. `name` is our own, and part of the batch's metadata; `remote` is the server's id, once known;
`asked` has the digests of the requests in file order."""
MOST_LINES = 50_000
"""Most questions of a batch."""
MOST_BYTES = 190_000_000
"""Largest size of a batch file; OpenAI allows 200 MB."""
AT_ONCE = 10_000
"""Most questions that wait for a batch at the same time."""
TRIES = 3
"""Number of batches that a question is tried in before it fails."""
_ENDPOINT = "/v1/chat/completions"
_METADATA_KEY = "stereoscope"
"""The key of our own name in a batch's metadata."""
_END_STATES = frozenset(("completed", "failed", "expired", "cancelled"))
_MOST_PAGES = 1_000
"""Most pages of 100 batches that are read, in case a server always names a next one."""
_CALL_SECONDS = 120.0
"""Timeout of one call about a batch; the file may be large."""

T = TypeVar("T")


class _WaitingQuestion(NamedTuple):
    """A question that waits for its batch: the request body and the future of its reply."""

    body: Mapping[str, Any]
    reply: "asyncio.Future[JudgeAnswer | Trouble]"


class BatchJudge(Judge):
    """A judge asked in batches: a batch is closed after `quiet_seconds` without a question, and polled every
    `poll_seconds`."""

    trials: ClassVar[int] = AT_ONCE
    """All tasks: a first batch of only a few would make the others wait for another day."""

    def __init__(
        self,
        spec: JudgeSpec,
        address: Endpoint,
        database: Database,
        pictures: PictureStore | None = None,
        tell: Callable[[str], None] = lambda line: None,
        quiet_seconds: float = 2.0,
        poll_seconds: float = 30.0,
    ) -> None:
        pace = RateLimits(concurrency=AT_ONCE, timeout=_CALL_SECONDS)
        super().__init__(
            replace(spec, price=half_price(spec.price)), address, pace, pictures=pictures
        )
        self._client = OpenAIClient(
            address, _CALL_SECONDS, connections=4, most_bytes=2 * MOST_BYTES
        )
        self._database = database
        self._tell = tell
        self._quiet_seconds = quiet_seconds
        self._poll_seconds = poll_seconds
        self._waiting: list[_WaitingQuestion] = []
        self._has_news = asyncio.Event()
        self._names: list[str] = []
        """Names of the batches that this run has sent or has read again."""
        self._unclaimed: dict[str, list[JudgeAnswer | Trouble]] = {}
        """Outcomes in earlier batches for questions that this run hasn't asked yet, by the digest of the request."""

    async def __aenter__(self) -> "BatchJudge":
        """Resolves the endpoint and starts collecting. Raises JudgeStopped if the endpoint is not allowed."""
        await super().__aenter__()
        self._collector = asyncio.create_task(self._collect())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Stops collecting; after a run without errors, deletes its batch records."""
        self._collector.cancel()
        await asyncio.wait([self._collector])
        await super().__aexit__(kind, *rest)
        if kind is None:
            with self._database.write() as connection:
                connection.execute(delete(BATCH).where(BATCH.c.name.in_(self._names)))

    async def _answer(self, body: Mapping[str, Any], tokens: int, bound: int) -> JudgeAnswer:
        """Waits for the question's batch; if its reply is missing, tries another batch, up to `TRIES`."""
        for _ in range(TRIES):
            if self._stopped:
                raise self._stop_error()
            waiting = _WaitingQuestion(body, asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            self._has_news.set()
            outcome = await waiting.reply
            if isinstance(outcome, JudgeAnswer):
                return outcome
            if outcome.kind not in PASSING:
                break
        raise final_error(outcome, f"{TRIES} batches")

    async def _collect(self) -> None:
        """Sends waiting questions in batches, round by round; an error is raised for the questions that wait."""
        while True:
            await self._has_news.wait()
            while self._has_news.is_set():
                self._has_news.clear()
                await asyncio.sleep(self._quiet_seconds)
            questions = self._waiting
            self._waiting = []
            try:
                for part in _file_parts(questions):
                    await self._ask_in_batches(part)
            except Exception as error:  # noqa: BLE001 - no question may wait for ever
                self._fail(questions, error)

    def _fail(self, questions: Sequence[_WaitingQuestion], error: Exception) -> None:
        """Raises an error for the questions that still wait; a JudgeError stops the judge for later ones too."""
        if isinstance(error, JudgeStopped):
            self._stopped = error
        elif isinstance(error, JudgeError):
            self._stopped = JudgeStopped(str(error))
        for question in questions:
            if not question.reply.done():
                question.reply.set_exception(self._stop_error() if self._stopped else error)

    async def _ask_in_batches(self, questions: Sequence[_WaitingQuestion]) -> None:
        """Answers questions from earlier batches, then sends the others in a new batch and waits for it."""
        waiting = grouped((_digest(question.body), question) for question in questions)
        for digest, equal_questions in waiting.items():
            unclaimed = self._unclaimed.get(digest, [])
            while equal_questions and unclaimed:
                equal_questions.pop().reply.set_result(unclaimed.pop())
        for row in self._earlier_batches(frozenset(waiting)):
            self._names.append(row.name)
            digests = json.loads(row.asked)
            if any(waiting.get(digest) for digest in digests):
                outcomes = await self._fetch_outcomes(row.name, row.remote)
                # What failed there for a while is asked again, and counts as no try of this run.
                lasting = {
                    line: outcome
                    for line, outcome in outcomes.items()
                    if isinstance(outcome, JudgeAnswer) or outcome.kind not in PASSING
                }
                self._assign_outcomes(lasting, digests, waiting)
        unsent = [question for equal_questions in waiting.values() for question in equal_questions]
        if not unsent:
            return
        digests = [_digest(question.body) for question in unsent]
        name = await asyncio.to_thread(self._record_batch, digests)
        self._names.append(name)
        file = b"".join(_line(number, question.body) for number, question in enumerate(unsent))
        remote = await self._submit_batch(name, file)
        self._tell(
            f"{len(unsent):,} questions are in batch {remote}. This may take a day, and you can stop meanwhile."
        )
        self._assign_outcomes(await self._fetch_outcomes(name, remote), digests, waiting)
        for question in unsent:
            if not question.reply.done():
                question.reply.set_result(Trouble("again", "the batch ended without its reply"))

    def _assign_outcomes(
        self,
        outcomes: Mapping[int, JudgeAnswer | Trouble],
        digests: Sequence[str],
        waiting: dict[str, list[_WaitingQuestion]],
    ) -> None:
        """Assigns each outcome to a question with the same request, and takes it from `waiting`.

        An outcome without such a question is kept, since the question may come later.
        Equal questions are repeated samples of one request, so it doesn't matter which of them has which outcome.
        """
        for line, outcome in outcomes.items():
            if not 0 <= line < len(digests):
                continue
            if questions := waiting.get(digests[line]):
                questions.pop().reply.set_result(outcome)
            else:
                self._unclaimed.setdefault(digests[line], []).append(outcome)

    # Calls to the server.
    async def _submit_batch(self, name: str, content: bytes) -> str:
        """Uploads a file, starts its batch unless an earlier call with a lost reply did, and returns its id."""
        file = (f"{name}.jsonl", content)
        uploaded = await self._call_with_retries(
            lambda: self._client.api.files.create(file=file, purpose="batch")
        )

        async def begin() -> str:
            started = await self._remote_of(name)
            if started is not None:
                return started
            batch = await self._client.api.batches.create(
                input_file_id=uploaded.id,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_METADATA_KEY: name},
            )
            return batch.id

        remote = await self._call_with_retries(begin)
        with self._database.write() as connection:
            connection.execute(update(BATCH).where(BATCH.c.name == name).values(remote=remote))
        return remote

    async def _remote_of(self, name: str, in_all: bool = False) -> str | None:
        """The server's id of the batch with our name; None if it isn't among the latest 100.

        With `in_all`, it is searched for in up to _MOST_PAGES pages of 100.
        """
        page = await self._client.api.batches.list(limit=100)
        for _ in range(_MOST_PAGES):
            for batch in page.data:
                if (batch.metadata or {}).get(_METADATA_KEY) == name:
                    return batch.id
            if not (in_all and page.has_more and page.data):
                break
            page = await page.get_next_page()
        return None

    async def _fetch_outcomes(
        self, name: str, remote: str | None
    ) -> dict[int, JudgeAnswer | Trouble]:
        """Waits for a batch and returns its outcomes by line of the file; {} if the batch was never started."""
        remote = remote or await self._call_with_retries(lambda: self._remote_of(name, in_all=True))
        if remote is None:
            return {}
        while True:
            batch = await self._call_with_retries(lambda: self._client.api.batches.retrieve(remote))
            if batch.status in _END_STATES:
                break
            await asyncio.sleep(self._poll_seconds)
        if batch.status == "failed":
            problems = batch.errors.data if batch.errors and batch.errors.data else []
            words = "; ".join(f"{problem.code}: {problem.message}" for problem in problems)
            words = self.address.redact(words[:300])
            with self._database.write() as connection:
                connection.execute(delete(BATCH).where(BATCH.c.name == name))
            raise JudgeStopped(
                f"The batch {remote} was refused: {words.rstrip('.')}. Correct that, and run the same command again."
            )
        outcomes: dict[int, JudgeAnswer | Trouble] = {}
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                download = await self._call_with_retries(
                    lambda file=file: self._client.api.files.content(file)
                )
                outcomes |= _read_outcomes(download.content, self.address)
        return outcomes

    async def _call_with_retries(self, call: Callable[[], Awaitable[T]]) -> T:
        """Makes a call about files or batches, with retries. Raises JudgeStopped and JudgeFailed."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._client.call(call())
            except Trouble as error:
                trouble = error
            if trouble.kind not in PASSING:
                raise JudgeStopped(trouble.words)
            if not await self.pace.wait_to_retry(attempt, trouble):
                raise JudgeFailed(
                    f"The server doesn't answer about the batch: {trouble.words.rstrip('.')}. "
                    "Run the same command again to continue."
                )

    # Batch records.
    def _record_batch(self, digests: Sequence[str]) -> str:
        """Adds the record of a batch before it is sent, and returns its name."""
        name = secrets.token_hex(16)
        row = {
            "name": name,
            "address": self.address.address,
            "model": self.spec.model,
            "remote": None,
            "asked": json.dumps(digests),
            "created": now(),
        }
        with self._database.write() as connection:
            connection.execute(insert(BATCH).values(row))
        return name

    def _earlier_batches(self, digests: frozenset[str]) -> list[Any]:
        """The rows of an earlier run's batches with some of these requests."""
        is_judges = (BATCH.c.address == self.address.address) & (BATCH.c.model == self.spec.model)
        query = select(BATCH).where(is_judges).order_by(BATCH.c.created)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [
            row
            for row in rows
            if row.name not in self._names and digests & frozenset(json.loads(row.asked))
        ]


def half_price(price: Price | None) -> Price | None:
    if price is None:
        return None
    return Price(price.prompt / 2, price.completion / 2)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8")).hexdigest()


def _line(number: int, body: Mapping[str, Any]) -> bytes:
    record = {"custom_id": str(number), "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(record).encode("ascii") + b"\n"


def _file_parts(waiting: Sequence[_WaitingQuestion]) -> list[list[_WaitingQuestion]]:
    """The questions in parts that fit into a batch file."""
    parts: list[list[_WaitingQuestion]] = [[]]
    part_size = 0
    for question in waiting:
        line_size = len(_line(MOST_LINES, question.body))  # no number is longer
        is_full = part_size + line_size > MOST_BYTES or len(parts[-1]) == MOST_LINES
        if parts[-1] and is_full:
            parts.append([])
            part_size = 0
        parts[-1].append(question)
        part_size += line_size
    return parts


def _read_outcomes(content: bytes, address: Endpoint) -> dict[int, JudgeAnswer | Trouble]:
    """The outcomes in an output or error file, by line number; unreadable lines are skipped."""
    outcomes: dict[int, JudgeAnswer | Trouble] = {}
    for line in content.splitlines():
        try:
            record = json.loads(line)
            number = int(record["custom_id"])
            response = record.get("response") or {}
            status = response.get("status_code")
            body = response.get("body")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            continue
        if status == 200:
            outcomes[number] = read_answer(json.dumps(body).encode("utf-8"))
        elif isinstance(status, int):
            outcomes[number] = refusal(status, {}, body, address.redact)
        else:
            outcomes[number] = Trouble("again", "the batch ended before its turn")
    return outcomes
