"""What is kept to be used again: by a digest, never by strangers' text itself, and bounded in weight and time."""

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
    """Values by the digest of what they were made of; of more weight than `most`, the least recently used go.

    A value that nobody asked for in `seconds` goes with the next `tidy`.
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

    def of(self, made_of: object, make: Callable[[], T]) -> T:
        """Returns the value made of what `made_of` shows by `repr`: texts, numbers, records and tuples of them."""
        key = hashlib.blake2b(repr(made_of).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            if found := self._values.get(key):
                self._values[key] = (found[0], found[1], time.monotonic())
                self._values.move_to_end(key)
                return found[0]
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
    """Drops what nobody has asked for in a while, and give memory that is free back to the system, where it can."""
    for kept in [*_ALL]:
        kept.drop_old()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
