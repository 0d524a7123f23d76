"""Types of the arena: frozen records shared by its modules (items, battles, models under test, conversations)."""

import hashlib
import hmac
import string
import unicodedata
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from arena.model_facts import NOTHING_STATED, StatedFacts

K = TypeVar("K")
V = TypeVar("V")
Q_contra = TypeVar("Q_contra", contravariant=True)

Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")

SkipReason = Literal["cannot judge", "image broken", "offensive"]

SourceKind = Literal["demo", "visit", "folder", "check"]
"""Kinds of sources of items; items of kind `check` are attention tests, which no board counts."""
OWN_KINDS: tuple[SourceKind, ...] = ("visit", "folder")
"""Kinds of sources with items that an operator imports for votes."""

REFERENCE = "human-verified reference"
"""The name of the model whose answers are the human-verified references."""

DATASET_ANSWER = "dataset answer"
"""The name of the model whose answers are VisIT-Bench's `reference_output` column."""

RIGHT = "right answer"
UNRELATED = "unrelated answer"
"""RIGHT, UNRELATED: the names of the two models of a check item."""

_MARKS = string.punctuation + "‘’“”…¡¿«»。，、？！：；（）"
"""Punctuation around words."""


def folded(text: str) -> str:
    """Returns a text in NFC, with runs of white space collapsed to one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def bare(text: str) -> str:
    """Returns a text in lower case without the marks around its words; a text of marks alone keeps them."""
    words = [word.strip(_MARKS) for word in folded(text).casefold().split()]
    bare_text = " ".join(filter(None, words))
    return bare_text or folded(text)


def item_key(instruction: str, image_keys: Sequence[str]) -> str:
    """Returns the first 16 hex digits of sha256 over the folded instruction and the image source keys, one per line."""
    lines = [folded(instruction), *image_keys]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Returns the values by key, both in their original order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


@dataclass(frozen=True)
class Image:
    """One image of an item."""

    sha256: str | None
    """Hash of the stored picture; None if none is stored."""
    suffix: str
    """File suffix of the stored picture: jpg or png."""
    url: str | None
    """Source URL of the image, if it has one."""
    caption: str
    """Instruction-conditioned caption; empty if there is none."""
    credit: str
    licence: str


class Contestant(NamedTuple):
    """One model's answer to an item, by their ids in the database."""

    model: int
    answer: int


@dataclass(frozen=True)
class Item:
    """One or more images and an instruction, with the models' answers."""

    id: int
    key: str
    """Public id: the first 16 hex digits of sha256 over instruction and image source keys."""
    source: int
    """Id of its source in the database."""
    family: str
    instruction: str
    images: tuple[Image, ...]
    contestants: tuple[Contestant, ...]

    @property
    def multi(self) -> bool:
        """Whether it has several images."""
        return len(self.images) > 1

    @cached_property
    def search_text(self) -> str:
        """The instruction as searches compare it."""
        return self.instruction.casefold()


Confirmation = Literal["pending", "confirmed", "rejected"]
"""The platform's decision on the worker of a seat. Other seats than Prolific's and MTurk's are confirmed at once."""
OutsideReason = Literal["stopped", "named itself"]
"""Why a live vote is excluded from the ranking: an answer was stopped, or named its model."""


class Phase(Enum):
    """State of a battle for its voter."""

    OPEN = "open"
    """Both answers are shown; nothing is chosen."""
    VOTED = "voted"
    """A choice is stored; the names are not yet shown."""
    REVEALED = "revealed"
    """The voter has seen the names, so the choice is final."""
    SKIPPED = "skipped"
    """The voter skipped this battle."""


@dataclass(frozen=True)
class Battle:
    """Two answers to one item, served to one voter."""

    id: int
    token: str
    """Token sent to the browser: an unguessable id and the attempt, 1 or 2."""
    item: int
    answer_a: int
    answer_b: int
    seat: int | None
    """Campaign seat that it was served under, if any."""
    began_at: datetime
    phase: Phase
    choice: Side | None
    attempt: int
    """2 once the first choice was taken back."""
    voted_at: datetime | None

    @property
    def link(self) -> str:
        """The last part of its page's address after its vote is final."""
        return self.token.partition(".")[0]


class Names(NamedTuple):
    """Display names of the models on both sides of a battle."""

    a: str
    b: str


class Secret:
    """A key that only `reveal` returns: no log, error, page, file or pickle can show it by accident."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Returns the key."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(
            self._value.encode(), other._value.encode()
        )

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
    """US dollars per million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class Generation:
    """Generation parameters; None: the model's default."""

    max_tokens: int = 512
    """Most tokens of one answer."""
    temperature: float | None = None
    """0: greedy decoding."""
    top_p: float | None = None
    seed: int | None = None


Precision = Literal["float32", "bfloat16", "float16", "auto"]
"""auto: bfloat16 where the processor computes in it, else float32."""
Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class ModelCard:
    """One model of the catalogue: its name, its address and its limits."""

    name: str
    """Display name, also used in the item bank."""
    kind: str
    """Key of `KINDS` in `arena/inference/catalogue.py`: api, local."""
    model: str
    """Model id on the server; for a local model, its folder or its id on the Hub."""
    address: str = ""
    """Base URL of the server."""
    key: Secret = Secret("")
    revision: str | None = None
    """Commit on the Hub, 40 hexadecimal digits; None: `model` is a folder, or an id on a server."""
    images: int = 1
    """Most images per conversation."""
    prompt_tokens: int = 8_000
    """Most text tokens per conversation, by our estimate."""
    image_tokens: int = 5_400
    """Upper bound on the tokens of one image, to bound a call's cost; see `LONG_PICTURE_PIXELS` in `io/images.py`."""
    system: str = ""
    generation: Generation = Generation()
    dtype: Precision = "float32"
    device: Device = "auto"
    """auto: the first GPU if there is one."""
    max_side: int | None = None
    """Longest side of a picture that a local model sees, in pixels; None: what its processor makes of it."""
    memory_gb: float | None = None
    """Most resident memory of a local model's process; None: three quarters of the machine's."""
    price: Price | None = None
    """None: its tokens cost nothing."""
    timeout: float = 60.0
    """Most seconds without new text; a whole answer may take ten times as long."""
    at_once: int = 8
    """Concurrent answers of an offline run: calls to a server, or the batch size of a local model."""
    live: bool = False
    """Whether it answers in live battles."""
    visitor_key: bool = False
    """Whether live battles use the visitor's own key; `key` is then the operator's, if any, for other work."""
    facts: StatedFacts = NOTHING_STATED
    """Facts stated by the operator, for pages; open battles do not show them."""


@dataclass(frozen=True)
class Turn:
    """One message of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()
    """PNG or JPEG files as `arena/io/images.py` makes them (`read_picture`)."""
    places: tuple[int, ...] = ()
    """Position of each image in the text, in characters; empty: all before it."""

    @property
    def parts(self) -> Iterator[str | bytes]:
        """Images and texts in the order in which a model reads them; the last is a text."""
        start = 0
        places = self.places
        if not places:
            places = (0,) * len(self.images)
        for image, place in zip(self.images, places, strict=True):
            if place > start:
                yield self.text[start:place]
                start = place
            yield image
        yield self.text[start:]


Conversation: TypeAlias = Sequence[Turn]
"""Turns so far, the user's last."""


class Alternatives(NamedTuple):
    """A conversation and the texts that may answer it."""

    turns: Conversation
    texts: Sequence[str]


class Usage(NamedTuple):
    """Token counts and cost of one answer."""

    prompt: int
    """Prompt tokens, images included."""
    completion: int
    """Completion tokens, hidden ones included."""
    cost: int
    """Millionths of a US dollar."""
    cut: bool = False
    """Whether the answer ended at the limit of tokens."""


ModelTrouble = Literal[
    "down", "slow", "cut", "refused", "too big", "blank", "bad reply", "spent", "unpaid"
]
"""unpaid: nobody pays for the answer, which is not the model's fault."""


class ModelError(RuntimeError):
    """A model failed to give a whole answer; the message is for the operator and never has a key.

    In a battle the visitor reads only the meaning of `kind`, since the message may identify the model.
    """

    def __init__(self, kind: ModelTrouble, text: str, status: int | None = None) -> None:
        """`status` is the HTTP status of a refused call, as in `Trouble` (`inference/trouble.py`)."""
        super().__init__(text)
        self.kind: ModelTrouble = kind
        self.status = status


def pass_over(_: Usage) -> None:
    """Ignores the usage of an answer."""


class Answerer(Protocol[Q_contra]):
    """A model or judge that answers in batches, for offline runs."""

    @property
    def card(self) -> ModelCard: ...

    async def answers(
        self,
        conversations: Sequence[Q_contra],
        settings: Generation,
        note: Callable[[Usage], None] = pass_over,
    ) -> tuple[str, ...]:
        """Returns whole answers to a batch. Raises ModelError if one of them fails.

        `note` gets their usage, in one call or several.
        """
        ...


class VLM(Answerer[Conversation], Protocol):
    """A model under test."""

    def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        """Yields the answer in pieces of text. Raises ModelError if it fails, also in mid-answer.

        A `thinking.Thought` is not part of the answer; a `thinking.Loading` means that the model is being loaded.
        The generator's `aclose()` stops it. `note` gets the usage of each attempt that was sent, also after an error.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections and processes of the model."""
