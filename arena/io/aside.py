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

try:
    import resource
except ImportError:  # Windows
    resource = None

T = TypeVar("T")

_ROOT = Path(__file__).parents[2]
_NICE = 15
_LOOK_SECONDS = 0.2
"""Seconds between two checks of whether a process has ended and whether its caller still waits."""
_LENGTH = struct.Struct("!Q")
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
def while_waited(waits: Callable[[], bool]) -> Iterator[None]:
    """Stops calls of `Aside.run` in this block as soon as `waits` returns False."""
    token = _still_waits.set(waits)
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
        waits = _still_waits.get()
        with ExitStack() as stack:
            stack.enter_context(self._counted(network))
            while not self._turns.acquire(timeout=_LOOK_SECONDS):
                if not waits():
                    raise AsideError(_LEFT)
            stack.callback(self._turns.release)
            ours = stack.enter_context(self._hired())
            _send(ours, (function, arguments, self._bounds))
            poll = select.poll()
            poll.register(ours, select.POLLIN)
            while not poll.poll(1_000 * _LOOK_SECONDS):
                if not waits():
                    raise AsideError(_LEFT)
            try:
                failed, result = _received(ours)
            except (EOFError, ConnectionError) as error:
                raise AsideError(_TOO_LARGE) from error
        if failed:
            raise result
        return result

    def stop(self) -> None:
        """Ends the helper, and with it all running calls."""
        with self._lock:
            helper, self._helper = self._helper, None
            if helper is not None and self._control is not None:
                self._control.close()
                helper.wait()

    @contextmanager
    def _counted(self, network: str | None) -> Iterator[None]:
        with self._lock:
            of_network = self._callers[network] if network else 0
            is_full = self._callers.total() >= self._bounds.waiting
            if is_full or of_network >= self._bounds.of_network:
                raise AsideError(_BUSY)
            self._callers[network] += 1
        try:
            yield
        finally:
            with self._lock:
                self._callers[network] -= 1
                if not self._callers[network]:
                    del self._callers[network]

    def _hired(self) -> socket.socket:
        """Returns our end of a connection to a newly forked process; closing it ends the process."""
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


def _received(line: socket.socket) -> Any:
    """Returns the next message. Raises EOFError if there is none."""
    with line.makefile("rb") as file:
        head = file.read(_LENGTH.size)
        data = file.read(*_LENGTH.unpack(head)) if len(head) == _LENGTH.size else b""
    if not data:
        raise EOFError
    return pickle.loads(data)


# The helper, and the processes that it forks.
def help_out(control: socket.socket) -> None:
    """Forks a process for each connection handed over, kills those whose caller hung up, and ends with the server."""
    control.setblocking(False)
    lines: dict[int, socket.socket] = {}
    handed: list[int] | None = None
    while handed != []:
        handed = _awaited(control, lines)
        for number in handed or ():
            line = socket.socket(fileno=number)
            lines[_forked(line, [control, *lines.values()])] = line
        _bury(lines)
    for pid in lines:
        _kill(pid)


def _awaited(control: socket.socket, lines: Mapping[int, socket.socket]) -> list[int] | None:
    """Waits a moment for a connection and returns its file descriptor; [] after the server ended, None if none came."""
    of_line = {line.fileno(): pid for pid, line in lines.items()}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    for number in of_line:
        poll.register(number, 0)
    for number, _ in poll.poll(1_000 * _LOOK_SECONDS if lines else None):
        if number in of_line:
            _kill(of_line[number])
    try:
        return socket.recv_fds(control, 1, 1)[1]
    except BlockingIOError:
        return None


def _bury(lines: dict[int, socket.socket]) -> None:
    for pid in [*lines]:
        if os.waitpid(pid, os.WNOHANG)[0]:
            _kill(pid)  # the processes that it started
            lines.pop(pid).close()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _forked(line: socket.socket, others: Sequence[socket.socket]) -> int:
    pid = os.fork()
    if pid:
        with suppress(OSError):  # the child does the same, and one of both is first
            os.setpgid(pid, pid)
        return pid
    status = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.nice(_NICE)
        for other in others:
            other.close()
        _work(line)
        status = 0
    finally:
        os._exit(status)


def _work(line: socket.socket) -> None:
    function, arguments, bounds = _received(line)
    if resource is not None:
        for kind, bound in (
            (resource.RLIMIT_AS, bounds.memory),
            (resource.RLIMIT_CPU, bounds.seconds),
            (resource.RLIMIT_CORE, 0),
        ):
            with suppress(ValueError, OSError):  # macOS does not bound address space
                resource.setrlimit(kind, (bound, bound))
    try:
        message: tuple[bool, object] = False, function(*arguments)
    except MemoryError:
        return
    except Exception as error:  # noqa: BLE001  the caller raises it
        error.add_note(traceback.format_exc())
        message = True, error
    _send(line, message)


def main(number: str, *modules: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's own end ends it
    for module in modules:
        warm = getattr(import_module(module), "warm", None)
        if warm is not None:
            warm()
    gc.freeze()
    help_out(socket.socket(fileno=int(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
