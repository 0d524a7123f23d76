"""Cache in memory, bounded in weight and time; its keys are digests, so it never holds texts of visitors as keys."""

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

_ALL: "WeakSet[Kept[Any]]" = WeakSet()


class Kept(Generic[T]):
    """Values by the digest of their sources; above a weight of `most`, the least recently used are dropped.

    The next `tidy` drops values that were not used for `seconds`.
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

    def of(self, source: object, make: Callable[[], T]) -> T:
        """Returns the value for a source: texts, numbers, records and tuples of them, which `repr` tells apart."""
        key = hashlib.blake2b(repr(source).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if entry := self._values.get(key):
                self._values[key] = (entry[0], entry[1], time.monotonic())
                self._values.move_to_end(key)
                return entry[0]
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
            for key in [key for key, (_, _, used) in self._values.items() if used < oldest]:
                self._drop(key)

    def _drop(self, key: bytes) -> None:
        self._weight -= self._values.pop(key)[1]


def tidy() -> None:
    """Drops values that were not used for a while, and returns free memory to the system where possible."""
    for cache in [*_ALL]:
        cache.drop_old()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
