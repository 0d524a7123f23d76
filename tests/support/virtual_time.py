"""Virtual time: seconds that pass at once, so that a machine that stands still changes nothing."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    """Puts the loop's clock forward instead of waiting for a timer."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(timeout and 0.0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run work that waits for nothing but time; its loop's clock begins at 0."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


def now() -> float:
    """The running loop's time, in seconds."""
    return asyncio.get_running_loop().time()
