"""A server that speaks OpenAI's chat completions on loopback, whole or streamed, as well or as badly as it is told.

`python -m tests.support.openai_server SECONDS` serves in a process of its own with that latency and prints its address.
"""

import asyncio
import base64
import hashlib
import json
import re
import socket
import ssl
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS, own_sample
from scoring.judges.injection import canaries, neutralise
from tests.support.openai_batches import Batches

Body = Mapping[str, Any]
"""A request's JSON."""

_COMPLETIONS = re.compile(
    r"((?:/openai)?/v1|/openai/deployments/[\w-]+)/chat/completions(\?api-version=[\w-]+)?"
)
_TRIAL = "Reply with this and nothing else:"
Fault = Literal[
    "429",
    "429 with Retry-After",
    "500",
    "503",
    "reset",
    "hang",
    "drip",
    "truncated",
    "broken JSON",
    "HTML",
    "no finish_reason",
    "no choices",
    "refusal",
    "nan",
    "1.7",
    "insufficient_quota",
    "401",
    "400",
    "spent",
    "too long",
    "cut",
    "error in stream",
    "1 MB",
    "no words",
    "pings",
]
"""The last five are of streams only: broken off or failed after two words, endless, without any, and kept open."""
PASSING: tuple[Fault, ...] = (
    "429",
    "429 with Retry-After",
    "500",
    "503",
    "reset",
    "hang",
    "truncated",
    "broken JSON",
    "HTML",
    "no finish_reason",
    "no choices",
    "refusal",
    "nan",
    "1.7",
)
"""Faults that a client gets over by asking again."""
_IN_STREAM: tuple[Fault, ...] = (
    "cut",
    "error in stream",
    "1 MB",
    "no words",
    "no finish_reason",
    "pings",
)
PAID = frozenset((*PASSING, "drip", *_IN_STREAM)) - {"429", "429 with Retry-After", "500", "503"}
"""Faults that come after the model has run, so that the call costs money."""
TEXTS: Mapping[str, str] = {
    "refusal": "I'm sorry, but I can't help with that.",
    "nan": "nan",
    "1.7": "1.7",
}
_REFUSALS: Mapping[Fault, tuple[int, str, str]] = {
    "429": (429, "Rate limit reached", "rate_limit_exceeded"),
    "429 with Retry-After": (429, "Rate limit reached", "rate_limit_exceeded"),
    "500": (500, "The server had an error", "server_error"),
    "503": (503, "The server is overloaded", "server_error"),
    "insufficient_quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "401": (401, "Incorrect API key provided", "invalid_api_key"),
    "400": (400, "Invalid request", "invalid_request"),
    "spent": (402, "Payment required", "payment_required"),
    "too long": (400, "This model's maximum context length is 8 tokens", "context_length_exceeded"),
}
"""Status, message (after which the key is echoed) and code."""
_AGAIN = re.compile(r"\n(Predict the correctness|Reply with one number)[^\n]*\Z")
_FENCE = re.compile(
    r"^(BEGIN|END) [0-9a-f]+$|^Correctness of the prediction between .*$", re.MULTILINE
)
_NUMBER = re.compile(r"[01]\.\d+")
_WORDS = re.compile(r"\s*\S+")
_CANARIES = tuple(canary.question.text for canary in canaries())
_SHIPPED = {
    id: neutralise(text) for id, text in json.loads(SAMPLE_PREDICTIONS.read_text("utf-8")).items()
}
_OWN = {question.text: _SHIPPED[question.id] for question in own_sample().questions}
"""Our sample's questions with the answers that we ship."""


@dataclass(frozen=True)
class Faults:
    """How often what goes wrong; the same prompt goes wrong at the same times, and seldom more than twice in a row."""

    rate: float = 0.0
    """Share of the calls that go wrong."""
    seed: int = 0
    kinds: tuple[Fault, ...] = PASSING
    in_a_row: int = 2
    """After so many faults in a row a prompt gets its reply."""
    hang: float = 30.0
    """Seconds for which a hanging call is silent, or drips."""
    retry_after: str = "0.05"

    def drawn(self, prompt: str, seen: int) -> Fault | None:
        """Return what goes wrong when a prompt comes for the time after `seen` others."""
        digest = hashlib.sha256(f"{self.seed}\0{seen}\0{prompt}".encode()).digest()
        share = int.from_bytes(digest[:6], "big") / 2**48
        return self.kinds[digest[6] % len(self.kinds)] if share < self.rate else None


def prompt(body: Body) -> str:
    """Return what is asked, without what a client adds when it asks again."""
    return _AGAIN.sub("", str(body["messages"][-1]["content"]))


def steady_score(body: Body, sample: int) -> str:
    """Return a score from 0.0 to 1.0 that follows from question, prediction and run, never from the attempt.

    The run is the sample where several are wanted, else the seed. A canary gets 0.0.
    """
    asked = _FENCE.sub("", prompt(body))
    if any(question in asked for question in _CANARIES) or _is_of_another_question(asked):
        return "0.0"
    run = sample if body.get("n", 1) > 1 else body.get("seed", 0)
    return f"{hashlib.sha256(f'{run} {asked}'.encode()).digest()[0] % 11 / 10}"


def _is_of_another_question(asked: str) -> bool:
    """Whether a shipped answer stands under another question than its own, as in a job's secret canaries."""
    own = next((answer for question, answer in _OWN.items() if question in asked), None)
    return any(answer in asked for answer in _SHIPPED.values() if answer != own)


@dataclass
class Counts:
    """What a server has seen; read it when the calls have ended."""

    calls: int = 0
    paid: int = 0
    """Calls for which the model ran."""
    at_once: int = 0
    """Most calls under way at one time."""
    keys: set[str] = field(default_factory=set)
    bodies: list[Body] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each call came, by the monotonic clock."""
    faults: Counter[Fault] = field(default_factory=Counter)


class OpenAIServer:
    """Serve from a thread for the length of a `with` block."""

    def __init__(
        self,
        score: Callable[[Body, int], str] = steady_score,
        faults: Faults | None = None,
        latency: float = 0.0,
        models: tuple[str, ...] = ("test-judge",),
        refused: tuple[str, ...] = (),
        reasoning: int = 0,
        tls: ssl.SSLContext | None = None,
        pace: float = 0.0,
        batches: Batches | None = None,
        trial: str | None = '{"score": 1}',
    ) -> None:
        self.score, self.faults, self.latency = score, faults or Faults(), latency
        self.models = models
        """The models that there are; others are unknown."""
        self.refused = refused
        """Fields of a request that this model does not take."""
        self.reasoning = reasoning
        """Hidden tokens that it tells of."""
        self.pace = pace
        """Seconds before each further word of a stream."""
        self._said_most: int | None = None
        self.counts = Counts()
        self.answers: list[bytes] = []
        """Whole HTTP answers that are given first, before any other."""
        self.batches = batches
        """None: there is no Batch API."""
        self.trial = trial
        """What it says to the trial calls of a judge; None: as to any other."""
        self._tls = tls
        self._seen: Counter[str] = Counter()
        self._in_a_row: Counter[str] = Counter()
        self._busy = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    @contextmanager
    def silent_after(self, words: int) -> Iterator[None]:
        """Let each stream say so many words, and the rest when the block ends."""
        before, self._said_most = self._said_most, words
        try:
            yield
        finally:
            self._said_most = before

    @property
    def running(self) -> int:
        """How many calls are under way."""
        return self._busy

    @property
    def address(self) -> str:
        """The base URL of its API."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/v1"

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._connection, "127.0.0.1", 0, ssl=self._tls, backlog=1000
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; False where the connection ends with it."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split(" ")[1]
        if path == "/v1/models":
            await _send(writer, 200, self.listing())
            return True
        if self.batches and path.startswith(("/v1/files", "/v1/batches")):
            answer = self.batches.answer(
                first.split(" ")[0], path, headers, content, self._completion
            )
            if answer is None:
                return False
            await _send(writer, *answer)
            return True
        if not _COMPLETIONS.fullmatch(path):
            await _send(writer, 404, _error("no such path", "not_found"))
            return True
        self._busy += 1
        self.counts.paths.append(path)
        self._note(headers, body := json.loads(content))
        try:
            return await self._complete(body, headers.get("authorization", ""), writer)
        finally:
            self._busy -= 1

    def _note(self, headers: Mapping[str, str], body: Body) -> None:
        counts = self.counts
        counts.calls += 1
        counts.at_once = max(counts.at_once, self._busy)
        counts.keys.add(headers.get("authorization", "").removeprefix("Bearer "))
        counts.bodies.append(body)
        counts.headers.append(headers)
        counts.times.append(time.monotonic())

    def listing(self) -> Mapping[str, Any]:
        """What it says of its models."""
        return {"data": [{"id": model, "object": "model"} for model in self.models]}

    def refusal(self, body: Body) -> tuple[int, Mapping[str, Any]] | None:
        """Status and content of what it always answers to a request, if it does."""
        return None

    async def _complete(self, body: Body, authorization: str, writer: asyncio.StreamWriter) -> bool:
        if self.answers:
            writer.write(self.answers.pop(0))
            await writer.drain()
            return True
        if refusal := self.refusal(body):
            await _send(writer, *refusal)
            return True
        if body["model"] not in self.models:
            await _send(
                writer,
                404,
                _error(f"The model `{body['model']}` does not exist", "model_not_found"),
            )
            return True
        if unsupported := next((name for name in self.refused if name in body), None):
            message = f"Unsupported parameter: '{unsupported}' is not supported with this model."
            await _send(writer, 400, _error(message, "unsupported_parameter", unsupported))
            return True
        fault = self._fault(body)
        if fault is None or fault in PAID:
            self.counts.paid += 1
            await asyncio.sleep(self.latency)
        if body.get("stream") and fault in (None, *TEXTS, *_IN_STREAM):
            return await self._stream(fault, body, writer)
        if fault is None or fault in TEXTS:
            await _send(writer, 200, self._completion(body, TEXTS.get(fault or "")))
            return True
        return await self._fail(fault, body, authorization, writer)

    async def _stream(self, fault: Fault | None, body: Body, writer: asyncio.StreamWriter) -> bool:
        """Answer word by word; False where the connection ends with it."""
        endless = ("word" * 250 + " ") * 1_048
        texts = {**TEXTS, "1 MB": endless, "no words": ""}
        text = texts[fault] if fault in texts else self.score(body, 0)
        words = _WORDS.findall(text)
        lines = [
            "HTTP/1.1 200 Said",
            "Content-Type: text/event-stream",
            "Transfer-Encoding: chunked",
            "",
            "",
        ]
        writer.write("\r\n".join(lines).encode())
        for _ in range(round(20 * self.faults.hang) if fault == "pings" else 0):
            writer.write(b"6\r\n: ok\n\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
        for number, word in enumerate(words):
            await self._turn(number)
            if number == 2 and fault == "error in stream":
                await _event(writer, _error("The server had an error", "server_error"))
                break
            if number == 2 and fault == "cut":
                return False
            await _event(
                writer,
                {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]},
            )
        else:
            if fault != "no finish_reason":
                await _event(
                    writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                )
            if (body.get("stream_options") or {}).get("include_usage"):
                usage = {"prompt_tokens": 10, "completion_tokens": len(words)}
                await _event(writer, {"choices": [], "usage": usage})
            await _event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _turn(self, number: int) -> None:
        """Wait until a stream may say its next word, which comes after so many."""
        if number:
            await asyncio.sleep(self.pace)
        while self._said_most is not None and number >= self._said_most:
            await asyncio.sleep(0.01)

    def _fault(self, body: Body) -> Fault | None:
        asked = json.dumps([prompt(body), body.get("seed"), body.get("n")])
        fault = self.faults.drawn(asked, self._seen[asked])
        self._seen[asked] += 1
        if fault is None or self._in_a_row[asked] >= self.faults.in_a_row:
            self._in_a_row[asked] = 0
            return None
        self._in_a_row[asked] += 1
        self.counts.faults[fault] += 1
        return fault

    async def _fail(
        self, fault: Fault, body: Body, authorization: str, writer: asyncio.StreamWriter
    ) -> bool:
        whole = json.dumps(self._completion(body, None)).encode()
        if fault in _REFUSALS:
            status, message, code = _REFUSALS[fault]
            echo = f"{authorization} ({base64.b64encode(authorization.encode()).decode()})"
            wait = (
                {"Retry-After": self.faults.retry_after} if fault == "429 with Retry-After" else {}
            )
            await _send(writer, status, _error(f"{message}: {echo}", code), **wait)
        elif fault == "broken JSON":
            await _send(writer, 200, whole[: len(whole) // 2])
        elif fault == "HTML":
            await _send(writer, 200, b"<html><body>Bad gateway</body></html>", kind="text/html")
        elif fault in ("no finish_reason", "no choices"):
            await _send(writer, 200, self._without(fault, body))
        else:
            await self._break_off(fault, whole, writer)
            return False
        return True

    async def _break_off(self, fault: Fault, whole: bytes, writer: asyncio.StreamWriter) -> None:
        """Do what ends with the end of the connection."""
        if fault == "hang":
            await asyncio.sleep(self.faults.hang)
        elif fault == "drip":
            writer.write(_head(200, len(whole)))
            for byte in whole[: round(10 * self.faults.hang)]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
        elif fault == "truncated":
            writer.write(_head(200, len(whole)) + whole[: len(whole) // 2])
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        else:
            now = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)

    def _without(self, fault: Fault, body: Body) -> dict[str, Any]:
        completion = self._completion(body, None)
        if fault == "no choices":
            return {**completion, "choices": []}
        return {
            **completion,
            "choices": [{**choice, "finish_reason": None} for choice in completion["choices"]],
        }

    def _completion(self, body: Body, text: str | None) -> dict[str, Any]:
        if text is None and self.trial is not None and _TRIAL in prompt(body):
            text = self.trial
        texts = [
            self.score(body, sample) if text is None else text for sample in range(body.get("n", 1))
        ]
        if text is None and body.get("response_format", {}).get("type") == "json_schema":
            texts = [
                f'{{"score": {score}}}' if _NUMBER.fullmatch(score) else score for score in texts
            ]
        asked = sum(len(message["content"]) for message in body["messages"]) // 4 + 8
        written = sum(len(text) // 4 + 1 for text in texts) + self.reasoning * len(texts)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": f"{body['model']}-2026-01-01",
            "choices": [
                {
                    "index": number,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
                for number, text in enumerate(texts)
            ],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": written,
                "total_tokens": asked + written,
                "completion_tokens_details": {"reasoning_tokens": self.reasoning},
            },
        }


async def _event(writer: asyncio.StreamWriter, data: Mapping[str, Any] | str) -> None:
    raw = f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
    writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
    await writer.drain()


def _error(message: str, code: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code, "param": param}}


def _head(status: int, length: int, kind: str = "application/json", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", f"Content-Length: {length}"]
    return "\r\n".join(
        [*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    ).encode()


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    content: Mapping[str, Any] | bytes,
    kind: str = "application/json",
    **headers: str,
) -> None:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    writer.write(_head(status, len(raw), kind, **headers) + raw)
    await writer.drain()


if __name__ == "__main__":
    with OpenAIServer(latency=float(sys.argv[1])) as server:
        print(server.address, flush=True)
        sys.stdin.read()
