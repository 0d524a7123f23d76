"""Work aside: functions that read large uploaded files run in bounded, low-priority processes of their own.

Votes do not wait for them, and their memory is freed when the process ends. A helper process that has loaded the
program forks a process for each call, and kills it as soon as its caller hangs up. On systems that cannot fork, the
function runs in the caller's process.
"""

import gc
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from arena.io.bounded_reader import bound_process

T = TypeVar("T")

_ROOT = Path(__file__).parents[2]
_NICENESS = 15
"""Lowered priority of the processes; 19 is the lowest."""
_LOOK_SECONDS = 0.2
"""Seconds between two checks of whether a process has ended and whether its caller still waits."""
_LENGTH = struct.Struct("!Q")
"""The length of a message in bytes, sent before it."""
_still_waits: ContextVar[Callable[[], bool]] = ContextVar("still_waits", default=lambda: True)


class AsideError(ValueError):
    """The call was refused, was too large, or nobody waits for it any more; the message says what to do."""


class ProcessBounds(NamedTuple):
    """Limits of one process, and of the number of processes and callers."""

    memory: int = 2_000_000_000
    """Bytes of address space."""
    seconds: int = 120
    """CPU time."""
    at_once: int = max(1, (os.cpu_count() or 1) // 2)
    """Processes that work at the same time."""
    waiting: int = 16
    """Callers at the same time, including those whose process runs; each holds a thread."""
    of_network: int = 4
    """Callers at the same time from one network."""


BOUNDS = ProcessBounds()

_TOO_LARGE = "This file takes too much time or memory to read here. Split it, or score it on the command line."
_BUSY = "Too many files are being read right now. Try again in a minute."
_LEFT = "Nobody is waiting for this file any more. Choose it again."


@contextmanager
def while_waited(still_waits: Callable[[], bool]) -> Iterator[None]:
    """Stops calls of `Aside.run` in this block as soon as `still_waits` returns False."""
    token = _still_waits.set(still_waits)
    try:
        yield
    finally:
        _still_waits.reset(token)


class Aside:
    """The helper process of one server, started at the first call; it imports these modules and calls their `warm`."""

    def __init__(self, modules: Sequence[str], bounds: ProcessBounds = BOUNDS) -> None:
        self._modules = modules
        self._bounds = bounds
        self._turns = threading.BoundedSemaphore(bounds.at_once)
        self._lock = threading.Lock()
        self._callers: Counter[str | None] = Counter()
        self._helper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def run(self, function: Callable[..., T], *arguments: Any, network: str | None = None) -> T:
        """Calls a function in a process of its own; function, arguments, result and exceptions must be picklable.

        Raises AsideError if a limit is reached or nobody waits any more.
        """
        if not hasattr(os, "fork"):
            return function(*arguments)
        still_waits = _still_waits.get()
        with ExitStack() as stack:
            stack.enter_context(self._count_caller(network))
            while not self._turns.acquire(timeout=_LOOK_SECONDS):
                if not still_waits():
                    raise AsideError(_LEFT)
            stack.callback(self._turns.release)
            line = stack.enter_context(self._start_process())
            try:
                _send(line, (function, arguments, self._bounds))
                poll = select.poll()
                poll.register(line, select.POLLIN)
                while not poll.poll(1_000 * _LOOK_SECONDS):
                    if not still_waits():
                        raise AsideError(_LEFT)
                has_failed, result = _receive(line)
            except (EOFError, ConnectionError) as error:
                raise AsideError(_TOO_LARGE) from error
        if has_failed:
            raise result
        return result

    def stop(self) -> None:
        """Ends the helper, and with it all running calls."""
        with self._lock:
            helper = self._helper
            self._helper = None
            if helper is not None and self._control is not None:
                self._control.close()
                helper.wait()

    @contextmanager
    def _count_caller(self, network: str | None) -> Iterator[None]:
        """Counts a caller during the block. Raises AsideError if there are too many, in all or from one network."""
        with self._lock:
            network_callers = self._callers[network] if network else 0
            is_full = self._callers.total() >= self._bounds.waiting
            if is_full or network_callers >= self._bounds.of_network:
                raise AsideError(_BUSY)
            self._callers[network] += 1
        try:
            yield
        finally:
            with self._lock:
                self._callers[network] -= 1
                if not self._callers[network]:
                    del self._callers[network]

    def _start_process(self) -> socket.socket:
        """Lets the helper fork a process; returns our end of the connection to it, whose closing ends the process.

        Raises AsideError if the helper is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            if self._helper is None or self._helper.poll() is not None:
                self._start()
            assert self._control is not None
            try:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise AsideError(_BUSY) from error
        return ours

    def _start(self) -> None:
        """Starts the helper."""
        self._control, theirs = socket.socketpair()
        command = [sys.executable, "-m", "arena.io.aside", str(theirs.fileno()), *self._modules]
        with theirs:
            self._helper = subprocess.Popen(
                command, cwd=_ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )


def _send(line: socket.socket, message: object) -> None:
    data = pickle.dumps(message)
    line.sendall(_LENGTH.pack(len(data)))
    line.sendall(data)


def _receive(line: socket.socket) -> Any:
    """Returns the next message. Raises EOFError if there is none, or only a part of it."""
    with line.makefile("rb") as file:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise EOFError
        (length,) = _LENGTH.unpack(head)
        data = file.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


# The helper, and the processes that it forks.
def help_out(control: socket.socket) -> None:
    """Forks a process for each connection handed over, kills those whose caller hung up, and ends with the server."""
    control.setblocking(False)
    lines: dict[int, socket.socket] = {}
    """The connections of running processes, by the process's id."""
    while True:
        _wait(control, lines)
        _remove_ended(lines)
        try:
            _data, numbers, *_others = socket.recv_fds(control, 1, 1)
        except BlockingIOError:  # no new connection
            continue
        if not numbers:  # the server has ended
            break
        line = socket.socket(fileno=numbers[0])
        pid = _fork(line, [control, *lines.values()])
        lines[pid] = line
    for pid in lines:
        _kill(pid)


def _wait(control: socket.socket, lines: Mapping[int, socket.socket]) -> None:
    """Waits for a connection, only a moment if processes run; kills those whose callers hang up meanwhile."""
    pids = {line.fileno(): pid for pid, line in lines.items()}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    for number in pids:
        poll.register(number, 0)  # a hang-up alone
    for number, _event in poll.poll(1_000 * _LOOK_SECONDS if lines else None):
        if number in pids:
            _kill(pids[number])


def _remove_ended(lines: dict[int, socket.socket]) -> None:
    for pid in list(lines):
        ended_pid, _status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            _kill(pid)  # the processes that it started
            lines.pop(pid).close()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _fork(line: socket.socket, others: Sequence[socket.socket]) -> int:
    """Forks a process that answers one call; returns its id. The process never returns, and closes the others."""
    pid = os.fork()
    if pid:
        with suppress(OSError):  # the child does the same, and one of both is first
            os.setpgid(pid, pid)
        return pid
    status = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.nice(_NICENESS)
        for other in others:
            other.close()
        _work(line)
        status = 0
    finally:
        os._exit(status)


def _work(line: socket.socket) -> None:
    """Answers one call with whether it failed, and its result or exception; with nothing if memory does not suffice.

    The answer is a plain tuple: a class of this file would be pickled as one of `__main__`, which the server lacks.
    """
    function, arguments, bounds = _receive(line)
    bound_process(bounds.memory, bounds.seconds)
    try:
        has_failed = False
        result = function(*arguments)
    except MemoryError:
        return
    except Exception as error:  # noqa: BLE001  the caller raises it
        error.add_note(traceback.format_exc())
        has_failed = True
        result = error
    _send(line, (has_failed, result))


def main(number: str, *modules: str) -> None:
    """Runs the helper; `number` is the file descriptor of its connection to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's own end ends it
    for module in modules:
        warm = getattr(import_module(module), "warm", None)
        if warm is not None:
            warm()
    gc.freeze()  # forked processes share what is loaded, which a collection would copy
    help_out(socket.socket(fileno=int(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
