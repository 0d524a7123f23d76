"""Work aside whose helper is forked from a process that has loaded the program: to load it takes seconds."""

import socket
from collections.abc import Sequence
from multiprocessing.process import BaseProcess

from arena.io import aside
from tests.support.forked_app import FORKS


class _Helper:
    """A helper's process, with the methods of `Popen` that are used there."""

    def __init__(self, control: socket.socket, modules: Sequence[str]) -> None:
        self._process: BaseProcess = FORKS.Process(
            target=_help, args=(control, *modules), daemon=True
        )
        self._process.start()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> None:
        self._process.join()


class ForkedAside(aside.Aside):
    """Work aside as a server has it, but for how its helper starts."""

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._helper = _Helper(theirs, self._modules)  # type: ignore[assignment]


def _help(control: socket.socket, *modules: str) -> None:
    aside.main(str(control.detach()), *modules)
