"""Item index: finds the item that a submission's entry means, by its key or by instruction and images."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from arena.types import folded, item_key
from scoring.visit_bench.reader import Entry, last_part


class JoinProblem(StrEnum):
    """Reason why a row is no answer to an item."""

    UNKNOWN = "unknown instances"
    DOUBLE = "instances that stand there more than once"
    SHARED = "instructions that several items share"


FIXES: Mapping[JoinProblem, str] = {
    JoinProblem.UNKNOWN: "correct or delete them, or import their items first",
    JoinProblem.DOUBLE: "keep one of each",
    JoinProblem.SHARED: "add a column image, images or item",
}


class ItemNames(NamedTuple):
    """An item's instruction and image names, its other identifiers beside the key."""

    instruction: str
    names: tuple[str, ...]


class ItemIndex:
    """Index from entries to items."""

    def __init__(self, items: Mapping[str, ItemNames]) -> None:
        self._keys = items.keys()
        self._by_names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        self._by_text: dict[str, list[str]] = {}
        for key, item in items.items():
            text = folded(item.instruction)
            self._by_names.setdefault((text, item.names), []).append(key)
            self._by_text.setdefault(text, []).append(key)

    def join(self, entry: Entry, found: dict[str, str]) -> JoinProblem | None:
        """Add the entry's text to `found` under its item, or return what is wrong with the entry."""
        items = self._meant(entry)
        if len(items) != 1:
            return JoinProblem.SHARED if items else JoinProblem.UNKNOWN
        if items[0] in found:
            return JoinProblem.DOUBLE
        found[items[0]] = entry.text
        return None

    def _meant(self, entry: Entry) -> Sequence[str]:
        if entry.item is not None:
            return [entry.item] if entry.item in self._keys else []
        if not entry.images:
            return self._by_text.get(folded(entry.instruction), [])
        key = item_key(entry.instruction, entry.images)
        names = (folded(entry.instruction), tuple(map(last_part, entry.images)))
        return [key] if key in self._keys else self._by_names.get(names, [])
