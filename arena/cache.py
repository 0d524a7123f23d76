"""A cache in memory, bounded in weight and time. Its keys are digests: it holds no texts of visitors as keys."""

import ctypes
import hashlib
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_ALL_CACHES: "WeakSet[Cache[Any]]" = WeakSet()


@dataclass
class _Entry(Generic[T]):
    value: T
    weight: int
    used_at: float
    """Time of the last use, by the monotonic clock."""


class Cache(Generic[T]):
    """A cache of values by the digest of their sources.

    Above a weight of `most`, the least recently used values are dropped. `weigh` returns a value's weight. `tidy` drops
    values that weren't used for `seconds`.
    """

    def __init__(
        self, most: int, seconds: float = 600, weigh: Callable[[T], int] = lambda value: 1
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._weigh = weigh
        self._lock = Lock()
        self._entries: OrderedDict[bytes, _Entry[T]] = OrderedDict()
        self._weight = 0
        self._clearings = 0
        """How often the cache was cleared. A value that was begun before the last time is not kept."""
        _ALL_CACHES.add(self)

    def get(self, source: object, make: Callable[[], T]) -> T:
        """Returns the value for a source, which `make` computes if it isn't cached.

        `source`: texts, numbers, records, and tuples of them. Sources are the same if their `repr` is.
        """
        key = hashlib.blake2b(repr(source).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if key in self._entries:
                entry = self._entries[key]
                entry.used_at = time.monotonic()
                self._entries.move_to_end(key)
                return entry.value
            clearings = self._clearings
        value = make()
        weight = self._weigh(value)
        with self._lock:
            is_cached = key in self._entries  # by another thread, meanwhile
            is_outdated = clearings != self._clearings
            if weight <= self._most and not is_cached and not is_outdated:
                self._entries[key] = _Entry(value, weight, time.monotonic())
                self._weight += weight
            while self._weight > self._most:
                least_recent = next(iter(self._entries))
                self._drop(least_recent)
        return value

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._weight = 0
            self._clearings += 1

    def drop_old(self) -> None:
        """Drops values that weren't used for `seconds`."""
        oldest = time.monotonic() - self._seconds
        with self._lock:
            old = [key for key, entry in self._entries.items() if entry.used_at < oldest]
            for key in old:
                self._drop(key)

    def _drop(self, key: bytes) -> None:
        self._weight -= self._entries.pop(key).weight


def tidy() -> None:
    """Drops values that were not used for a while, and returns free memory to the system where possible."""
    for cache in list(_ALL_CACHES):
        cache.drop_old()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
