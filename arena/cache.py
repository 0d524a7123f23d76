"""A cache in memory, bounded in weight and time. Its keys are digests: it holds no texts of visitors as keys."""

import ctypes
import hashlib
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_ALL: "WeakSet[Cache[Any]]" = WeakSet()


class Cache(Generic[T]):
    """A cache of values by the digest of their sources.

    Above a weight of `most`, the least recently used values are dropped. `tidy` drops values that weren't used for
    `seconds`.
    """

    def __init__(
        self, most: int, seconds: float = 600, weigh: Callable[[T], int] = lambda value: 1
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._weigh = weigh
        self._lock = Lock()
        self._values: OrderedDict[bytes, tuple[T, int, float]] = OrderedDict()
        self._weight = 0
        _ALL.add(self)

    def get(self, source: object, make: Callable[[], T]) -> T:
        """Returns the value for a source, which `make` computes if it isn't cached.

        `source`: texts, numbers, records, and tuples of them. Equal sources have an equal `repr`.
        """
        key = hashlib.blake2b(repr(source).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if key in self._values:
                value, weight, _ = self._values[key]
                self._values[key] = (value, weight, time.monotonic())
                self._values.move_to_end(key)
                return value
        value = make()
        weight = self._weigh(value)
        with self._lock:
            if weight <= self._most and key not in self._values:
                self._values[key] = (value, weight, time.monotonic())
                self._weight += weight
            while self._weight > self._most:
                self._drop(next(iter(self._values)))
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._weight = 0

    def drop_old(self) -> None:
        oldest = time.monotonic() - self._seconds
        with self._lock:
            old = [key for key, (_, _, used_at) in self._values.items() if used_at < oldest]
            for key in old:
                self._drop(key)

    def _drop(self, key: bytes) -> None:
        _, weight, _ = self._values.pop(key)
        self._weight -= weight


def tidy() -> None:
    """Drops values that were not used for a while, and returns free memory to the system where possible."""
    for cache in [*_ALL]:
        cache.drop_old()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
