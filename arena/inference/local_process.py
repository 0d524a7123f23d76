"""Local model processes: each model runs in its own process, which may crash or hang without harm.

A limited number is loaded at a time; for another model, the least recently used idle one is ended. A process that is
silent for too long, or takes too much memory, is also ended, and restarted by the next request.
"""

import asyncio
import base64
import itertools
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil

from arena.inference.limits import WHOLE_ANSWER_TIMEOUTS, check_limits, cost
from arena.inference.weights import weights_folder
from arena.io.strict_json import storable
from arena.settings import environ_without_hub_token
from arena.types import (
    Alternatives,
    Conversation,
    Generation,
    ModelCard,
    ModelError,
    ModelTrouble,
    Turn,
    Usage,
    pass_over,
)

_LOG = logging.getLogger(__name__)
_ROOT = Path(__file__).parents[2]
_LOAD_SECONDS = 1800.0
"""Loading may mean a download."""
_RELOAD_SECONDS = 60.0
"""The seconds before weights that could not be loaded are tried again."""
_WATCH_SECONDS = 0.1
"""The interval at which processes are checked for silence and memory."""
_POLL_SECONDS = 0.05
"""The interval at which a request that waits for a process looks for a free one."""

Message = Mapping[str, Any]
"""A JSON line to or from the process."""


class _EndReason(NamedTuple):
    """The reason why a process ended."""

    kind: ModelTrouble
    text: str


_UNLOADED = _EndReason("down", "the model was unloaded")


class _Request:
    """A generation in progress, for its caller."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.prompt = 0
        self.tokens = 0
        """prompt, tokens: the tokens read and written so far."""
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[Message | _EndReason] = asyncio.Queue()

    def put(self, message: Message | _EndReason) -> None:
        """Passes on a message from another thread; a closed loop gets none."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._messages.put_nowait, message)

    async def get(self, deadline: float | None = None) -> Message:
        """Returns the next message of this generation. Raises ModelError when there will be none."""
        try:
            async with asyncio.timeout_at(deadline):
                message = await self._messages.get()
        except TimeoutError as error:
            raise ModelError("slow", "no complete answer within ten times its timeout") from error
        if isinstance(message, _EndReason):
            raise ModelError(message.kind, message.text)
        if message["kind"] == "failed":
            raise ModelError(message["trouble"], message["text"])
        self.prompt = message.get("prompt", self.prompt)
        self.tokens = message.get("tokens", self.tokens)
        return message


def line_process(module: str) -> subprocess.Popen[str]:
    """Starts a process that runs a module of this program, with lines of text to and from it.

    It may download weights, but without the operator's token, as `weights.py` does.
    """
    return subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=_ROOT,
        env=environ_without_hub_token(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


class Worker:
    """The process of one model."""

    def __init__(self, card: ModelCard) -> None:
        """Starts the process; it loads while the first requests wait."""
        self.card = card
        self.last_used = time.monotonic()
        self._process = line_process("arena.inference.local_model")
        self.pid = self._process.pid
        self._requests: dict[int, _Request] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        """Guards `_requests` and `_state`."""
        self._write_lock = threading.Lock()
        """Guards the process's stdin; held alone, since writing may take long."""
        self._last_heard = time.monotonic()
        self._failed_to_load = False
        self._load_end = threading.Event()
        """Set once the model is loaded, or loading has failed."""
        self._state: Literal["loading", "ready"] | _EndReason = "loading"
        self.reader = threading.Thread(target=self._read, daemon=True)
        """Ends once the process has ended and its pipes are closed."""
        self.reader.start()
        folder = weights_folder(card)
        self._write(
            {
                "model": str(folder or card.model),
                "revision": None if folder else card.revision,
                "dtype": card.dtype,
                "device": card.device,
                "max_side": card.max_side,
            }
        )

    @property
    def is_alive(self) -> bool:
        return not isinstance(self._state, _EndReason)

    @property
    def is_hopeless(self) -> bool:
        """Whether loading its weights has just failed, so that all requests fail with the reason."""
        return self._failed_to_load and time.monotonic() - self._last_heard < _RELOAD_SECONDS

    @property
    def request_count(self) -> int:
        """The number of generations in progress or waiting."""
        return len(self._requests)

    @property
    def is_busy(self) -> bool:
        """Whether it is being loaded, or is answering."""
        return self._state == "loading" or bool(self._requests)

    def wait(self) -> None:
        """Waits until the model is loaded. Raises ModelError with the reason for a failure."""
        self._load_end.wait()
        if isinstance(self._state, _EndReason):
            raise ModelError(self._state.kind, self._state.text)

    async def start(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        texts: Sequence[Sequence[str]] | None = None,
    ) -> _Request:
        """Sends a batch and returns its request. Raises ModelError if the process has ended.

        `texts` are the texts to weigh as answers to each conversation; without them, the model writes its own.
        """
        request = _Request(next(self._numbers))
        with self._lock:
            if isinstance(self._state, _EndReason):
                raise ModelError(self._state.kind, self._state.text)
            if not self._requests:  # an idle process is silent: only silence from now on counts
                self._last_heard = time.monotonic()
            self._requests[request.number] = request
            self.last_used = time.monotonic()
        sending = asyncio.create_task(
            asyncio.to_thread(self._send, request, conversations, settings, texts)
        )
        try:
            # The request is sent even if the caller is cancelled. The process ignores a stop for a request that it
            # doesn't have, so the stop has to come after the request.
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            sending.add_done_callback(lambda _: self.stop(request))
            raise
        return request

    def stop(self, request: _Request) -> None:
        """Ends a generation at its next token, if it is still in progress."""
        if request.number in self._requests:
            # In a thread, since this is called on the event loop, and writing may wait for another request.
            threading.Thread(
                target=self._write, args=({"stop": request.number},), daemon=True
            ).start()

    def watch(self) -> None:
        """Ends the process if it is silent for too long or takes too much memory."""
        if not self.is_alive:
            return
        most_bytes = 0.75 * psutil.virtual_memory().total
        if self.card.memory_gb is not None:
            most_bytes = self.card.memory_gb * 1e9
        try:
            taken_bytes = psutil.Process(self.pid).memory_info().rss
        except psutil.NoSuchProcess:
            return
        silent_seconds = time.monotonic() - self._last_heard
        if taken_bytes > most_bytes:
            self.end(
                _EndReason(
                    "down",
                    f"the model took more than {most_bytes / 1e9:.1f} GB of memory and was stopped",
                )
            )
        elif self._state == "loading" and silent_seconds > _LOAD_SECONDS:
            self.end(
                _EndReason("slow", f"the model didn't load within {_LOAD_SECONDS:.0f} seconds")
            )
        elif self._state == "ready" and self._requests and silent_seconds > self.card.timeout:
            self.end(
                _EndReason("slow", f"the model said nothing for {self.card.timeout:g} seconds")
            )

    def end(self, reason: _EndReason = _UNLOADED) -> None:
        """Kills the process; waiting callers get the reason."""
        with self._lock:
            if not isinstance(self._state, _EndReason):
                self._state = reason
        self._process.kill()

    def _send(
        self,
        request: _Request,
        conversations: Sequence[Conversation],
        settings: Generation,
        texts: Sequence[Sequence[str]] | None,
    ) -> None:
        system = self.card.system
        conversation_messages = [
            {"system": system, "turns": [_turn_message(turn) for turn in turns]}
            for turns in conversations
        ]
        message = {
            "id": request.number,
            "conversations": conversation_messages,
            "settings": asdict(settings),
        }
        self._write(message if texts is None else {**message, "texts": texts})

    def _write(self, message: Message) -> None:
        """Writes a line; the reader notices if the process has ended."""
        assert self._process.stdin
        line = json.dumps(message) + "\n"
        with self._write_lock:
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):
                _LOG.info("the process of %s takes no more requests", self.card.name)

    def _read(self) -> None:
        """Passes on what the process says, until it ends."""
        assert self._process.stdout
        for line in self._process.stdout:
            if not line.endswith("\n"):
                break  # killed in mid-line
            message = json.loads(line)
            self._last_heard = time.monotonic()
            if message["kind"] == "loaded":
                with self._lock:
                    if self.is_alive:  # otherwise it was ended meanwhile, and keeps the reason
                        self._state = "ready"
                self._load_end.set()
            elif message["kind"] == "unloadable":
                with self._lock:
                    self._state = _EndReason("down", message["text"])
                self._failed_to_load = True
            else:
                self._hand_over(message)
        self._finish()

    def _finish(self) -> None:
        """Waits for the end of the process, gives its callers the reason, and closes its pipes."""
        assert self._process.stdout and self._process.stdin
        code = self._process.wait()
        with self._lock:
            if not isinstance(self._state, _EndReason):
                self._state = _EndReason(
                    "down",
                    "the model's process ended by itself. It restarts at the next question",
                )
            requests = list(self._requests.values())
            self._requests = {}
        self._load_end.set()
        level = logging.INFO if self._state == _UNLOADED else logging.WARNING
        _LOG.log(level, "the process of %s ended (%s): %s", self.card.name, code, self._state.text)
        for request in requests:
            request.put(self._state)
        self._process.stdout.close()
        with self._write_lock:
            try:
                self._process.stdin.close()
            except OSError:
                _LOG.debug("the last request was not read")

    def _hand_over(self, message: Message) -> None:
        with self._lock:
            request = self._requests.get(message["id"])
            if message["kind"] in ("end", "failed"):
                self._requests.pop(message["id"], None)
                self.last_used = time.monotonic()
        if request:
            request.put(message)


class ProcessPool:
    """Processes of all local models, at most `most_processes` at a time."""

    def __init__(self, most_processes: int) -> None:
        self._most_processes = most_processes
        self._workers: dict[ModelCard, Worker] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The processes that take requests."""
        return tuple(worker for worker in self._workers.values() if worker.is_alive)

    async def worker(self, card: ModelCard) -> Worker:
        """Returns a card's process; waits while all others are busy.

        Raises ModelError: "slow" if they stay busy for too long, "down" if the pool is closed or the process cannot be
        started.
        """
        deadline = time.monotonic() + WHOLE_ANSWER_TIMEOUTS * card.timeout
        while (worker := self._worker_for(card)) is None:
            if time.monotonic() > deadline:
                raise ModelError("slow", "all models on this machine are busy")
            await asyncio.sleep(_POLL_SECONDS)
        return worker

    def load(self, card: ModelCard) -> None:
        """Loads a card's model, even if that has just failed. Raises ModelError."""
        with self._lock:
            if card in self._workers and not self._workers[card].is_alive:
                del self._workers[card]
        while (worker := self._worker_for(card)) is None:
            time.sleep(_POLL_SECONDS)
        worker.wait()

    def close(self) -> None:
        """Ends all processes; later requests are refused."""
        self._closed.set()
        with self._lock:
            for worker in self._workers.values():
                worker.end()
            for worker in self._workers.values():
                worker.reader.join()
            self._workers.clear()

    def _worker_for(self, card: ModelCard) -> Worker | None:
        """Returns a card's process, started if needed; None while all others are busy.

        Raises ModelError once the pool is closed, and if the process cannot be started.
        """
        with self._lock:
            if self._closed.is_set():
                raise ModelError("down", "the models are shut down")
            worker = self._workers.get(card)
            if worker and (worker.is_alive or worker.is_hopeless):
                worker.last_used = time.monotonic()
                return worker
            workers = self.workers
            if len(workers) >= self._most_processes:
                idle = [worker for worker in workers if not worker.is_busy]
                if not idle:
                    return None
                min(idle, key=lambda worker: worker.last_used).end()
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
            try:
                self._workers[card] = Worker(card)
            except OSError as error:
                text = f"the model's process can't be started ({error.strerror})"
                raise ModelError("down", text) from error
            return self._workers[card]

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH_SECONDS):
            for worker in tuple(self._workers.values()):
                worker.watch()


class _ProcessModel:
    """A model on this machine, which answers in its own process."""

    def __init__(self, card: ModelCard, process_pool: ProcessPool) -> None:
        self.card = card
        self._process_pool = process_pool

    @asynccontextmanager
    async def _batch(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        note: Callable[[Usage], None],
        texts: Sequence[Sequence[str]] | None = None,
    ) -> AsyncIterator[_Request]:
        """Starts a batch; at the end of the block, stops it and notes its usage."""
        for turns in conversations:
            check_limits(self.card, turns)
        worker = await self._process_pool.worker(self.card)
        request = await worker.start(conversations, settings, texts)
        try:
            yield request
        finally:
            worker.stop(request)
            spent = cost(self.card.price, request.prompt, request.tokens)
            is_cut = len(conversations) == 1 and request.tokens >= settings.max_tokens
            note(Usage(request.prompt, request.tokens, spent, is_cut))


class LocalVLM(_ProcessModel):
    """A model on this machine."""

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        deadline = None
        async with self._batch([turns], settings, note) as request:
            while (message := await request.get(deadline))["kind"] != "end":
                if message["kind"] == "started":  # Loading and queueing don't count.
                    most_seconds = WHOLE_ANSWER_TIMEOUTS * self.card.timeout
                    deadline = asyncio.get_running_loop().time() + most_seconds
                elif message["text"]:
                    yield storable(message["text"])

    async def answers(
        self,
        conversations: Sequence[Conversation],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        async with self._batch(conversations, settings, note) as request:
            while (message := await request.get())["kind"] != "end":
                continue
        return tuple(map(storable, message["texts"]))

    async def aclose(self) -> None:
        """Closes nothing: the pool ends its process."""


class LocalChooser(_ProcessModel):
    """Weighs texts as answers by a local model's likelihoods."""

    async def answers(
        self,
        conversations: Sequence[Alternatives],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        """Returns a JSON list for each conversation, with a number for each of its texts.

        It is the mean natural log-likelihood of the text's tokens, null without tokens.
        """
        turns = [alternatives.turns for alternatives in conversations]
        texts = [alternatives.texts for alternatives in conversations]
        async with self._batch(turns, settings, note, texts) as request:
            while (message := await request.get())["kind"] != "end":
                continue
        return tuple(map(json.dumps, message["likelihoods"]))


def _turn_message(turn: Turn) -> Message:
    parts = [
        {"text": part} if isinstance(part, str) else {"image": base64.b64encode(part).decode()}
        for part in turn.parts
    ]
    return {"role": turn.role, "parts": parts}
