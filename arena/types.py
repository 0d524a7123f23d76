"""The nouns of the arena: frozen records that the rooms hand to each other."""

import hashlib
import hmac
import unicodedata
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeAlias

Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")

SkipReason = Literal["cannot judge", "image broken", "offensive"]

SourceKind = Literal["demo", "visit", "folder", "check"]
"""Items of kind `check` are attention tests, which no board counts."""

REFERENCE = "human-verified reference"
"""Name of the contestant whose answers are the human-verified references."""

DATASET_ANSWER = "dataset answer"
"""Name of the contestant whose answers are VisIT-Bench's `reference_output` column."""

RIGHT, UNRELATED = "right answer", "unrelated answer"
"""Names of the two contestants of a check item."""


def folded(text: str) -> str:
    """Return a text in NFC with every run of white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def item_key(instruction: str, image_keys: Sequence[str]) -> str:
    """Return the first 16 hex digits of sha256 over the folded instruction and the image source keys, a line each."""
    return hashlib.sha256("\n".join([folded(instruction), *image_keys]).encode()).hexdigest()[:16]


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

    @cached_property
    def folded(self) -> str:
        """Return the instruction as a search reads it."""
        return self.instruction.casefold()


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


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Generation:
    """How an answer is generated; None leaves a choice to the model."""

    max_tokens: int = 512
    """Most tokens of one answer."""
    temperature: float | None = None
    """0: always the likeliest word."""
    top_p: float | None = None
    seed: int | None = None


ModelKind = Literal["api", "local"]
Precision = Literal["float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class ModelCard:
    """One model of the catalogue: what people read, where it is asked, and what it may be asked."""

    name: str
    """As people read it, and as the item bank knows it."""
    kind: ModelKind
    """api: an OpenAI-compatible server; local: transformers on this machine."""
    model: str
    """What the server calls it; of a local model its folder or its id on the Hub."""
    address: str = ""
    """Base URL of the server."""
    key: Secret = Secret("")
    revision: str | None = None
    """Commit on the Hub, 40 hexadecimal digits; None: `model` is a folder."""
    images: int = 1
    """Most images of one conversation."""
    prompt_tokens: int = 8_000
    """Most tokens of a conversation's text, by our estimate."""
    image_tokens: int = 4_000
    """Most tokens that one image is counted as, for the bound of a call's cost."""
    system: str = ""
    generation: Generation = Generation()
    dtype: Precision = "float32"
    device: Device = "auto"
    """auto: the first GPU if there is one."""
    memory_gb: float | None = None
    """Most resident memory of a local model's process; None: three quarters of the machine's."""
    price: Price | None = None
    """None: nobody pays for its tokens."""
    timeout: float = 60.0
    """Most seconds without a new word; a whole answer may take ten times as long."""
    at_once: int = 8
    """Answers of an offline run under way at one time: calls to a server, or one batch of a local model."""
    live: bool = False
    """Whether it answers in live battles and in the chat."""


@dataclass(frozen=True)
class Turn:
    """One message of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()
    """PNG or JPEG files as `pictures.read_picture` makes them."""


Conversation: TypeAlias = Sequence[Turn]
"""The turns so far, the last one the user's."""


class Usage(NamedTuple):
    """What one answer took."""

    prompt: int
    """Tokens asked, images included."""
    completion: int
    """Tokens answered, hidden ones included."""
    cost: int
    """Millionths of a US dollar."""
    estimated: bool
    """Whether the tokens are our bound, because the model did not tell them."""


ModelTrouble = Literal["down", "slow", "cut", "refused", "too big", "blank", "bad reply", "spent"]


class ModelError(RuntimeError):
    """Say why a model gave no (whole) answer, in words for the operator that show no key.

    In a battle a visitor is told what its `kind` means, and not these words: they may give the model away.
    """

    def __init__(self, kind: ModelTrouble, text: str) -> None:
        super().__init__(text)
        self.kind: ModelTrouble = kind


def pass_over(_: Usage) -> None:
    """Note nothing: for streams whose usage nobody wants."""


class VLM(Protocol):
    """A model that answers a conversation word by word."""

    @property
    def card(self) -> ModelCard:
        """Its card."""
        ...

    def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yield the answer in pieces of text; raise ModelError where it fails, also in mid-answer.

        `aclose()` stops the generation. `note` is called once with what it took, however it ends, if the model ran.
        """
        ...
