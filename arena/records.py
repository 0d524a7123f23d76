"""The nouns of the arena: frozen records that the rooms hand to each other."""

import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Literal, NamedTuple

Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")

SkipReason = Literal["cannot judge", "image broken", "offensive"]

SourceKind = Literal["demo", "visit", "folder"]

REFERENCE = "human-verified reference"
"""Name of the contestant whose answers are the human-verified references."""

DATASET_ANSWER = "dataset answer"
"""Name of the contestant whose answers are VisIT-Bench's `reference_output` column."""


@dataclass(frozen=True)
class Image:
    """One image of an item."""

    sha256: str | None
    """Hash of the kept picture; None while there is none."""
    suffix: str
    """File suffix of the kept picture: jpg or png."""
    url: str | None
    """Where the image came from, if it has an address."""
    caption: str
    """Instruction-conditioned caption; empty if there is none."""
    credit: str
    licence: str


class Contestant(NamedTuple):
    """One model's answer to an item, without its text."""

    model: int
    answer: int


@dataclass(frozen=True)
class Item:
    """One or more images and an instruction, with the answers that models gave."""

    id: int
    key: str
    """First 16 hex digits of the sha256 over instruction and image source keys: the item's public name."""
    source: int
    family: str
    instruction: str
    images: tuple[Image, ...]
    contestants: tuple[Contestant, ...]

    @property
    def multi(self) -> bool:
        """Tell whether the item has several images."""
        return len(self.images) > 1


class Phase(Enum):
    """Where a voter stands with a battle."""

    OPEN = "open"
    """Both answers are shown; nothing is chosen."""
    VOTED = "voted"
    """A choice is stored; the names are not shown yet."""
    REVEALED = "revealed"
    """The names have been shown; the choice is final."""
    SKIPPED = "skipped"
    """The voter passed this battle by."""


@dataclass(frozen=True)
class Battle:
    """One pair of answers to one item, served to one voter."""

    id: int
    token: str
    """What the browser sends back: an unguessable name and the attempt, 1 or 2."""
    item: int
    answer_a: int
    answer_b: int
    seat: int | None
    """The campaign seat it was served under, if any."""
    served_at: datetime
    phase: Phase
    choice: Side | None
    attempt: int
    voted_at: datetime | None


class Names(NamedTuple):
    """The names behind both sides of a battle, as people read them."""

    a: str
    b: str


class Secret:
    """Hold a key so that only `reveal` gives it out: no log, error, page, file or pickle can show it by accident."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key, for the one request that needs it."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(...)" if self._value else "Secret(none)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self):
        raise TypeError("a Secret stays in its process")
