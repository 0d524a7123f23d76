"""Item bank store: items, their images and the models' answers.

The same content is the same item in any file (`types.item_key`). `ingest.py` changes the bank; this file reads it.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from threading import Lock
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    false,
    select,
)
from sqlalchemy.sql import func

from arena.database import METADATA, Database, Moment, counter
from arena.thinking import ShownAnswer
from arena.types import Contestant, Image, Item, SourceKind, grouped

SOURCE = Table(
    "source",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
)
FAMILY = Table(
    "family",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)
MODEL = Table(
    "model",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("display", Text, nullable=False, unique=True),
    Column("retired_at", Moment),
)
"""Models by their own names; pages show `display`."""
ITEM = Table(
    "item",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("source_id", ForeignKey("source.id"), nullable=False),
    Column("family_id", ForeignKey("family.id"), nullable=False),
    Column("instruction", Text, nullable=False),
    Column("multi", Boolean, nullable=False),
    Column("language", Text),
)
IMAGE = Table(
    "image",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("url", Text),
    Column("sha256", Text),
    Column("look", Text),
    Column("suffix", Text, nullable=False),
    Column("caption", Text, nullable=False),
    Column("credit", Text, nullable=False),
    Column("licence", Text, nullable=False),
    UniqueConstraint("item_id", "position"),
)
"""Images of items. `key`: the source key, see `ingest.ImageDraft`; `look`: the perceptual hash."""
PREDICTIONS = Table(
    "predictions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("model_id", ForeignKey("model.id"), nullable=False),
    Column("file", Text, nullable=False),
    Column("imported_at", Moment, nullable=False),
    Column("withdrawn_at", Moment),
)
ANSWER = Table(
    "answer",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("model_id", ForeignKey("model.id"), nullable=False),
    Column("predictions_id", ForeignKey("predictions.id")),
    Column("text", Text, nullable=False),
    Column("thinking", Text),  # split from the start of the text
    Column("cut", Boolean, nullable=False, server_default=false()),  # at the limit of tokens
    Column("withdrawn_at", Moment),
)
Index(
    "answer_in_use",
    ANSWER.c.item_id,
    ANSWER.c.model_id,
    unique=True,
    sqlite_where=ANSWER.c.withdrawn_at.is_(None),
    postgresql_where=ANSWER.c.withdrawn_at.is_(None),
)
Index("answer_of_predictions", ANSWER.c.predictions_id)
HIDDEN_ITEM = Table(
    "hidden_item",
    METADATA,
    Column("item_id", ForeignKey("item.id"), primary_key=True),
    Column("hidden_at", Moment, nullable=False),
)
"""Items that operators took out of sampling; their votes stay."""

_SOURCES_QUERY = select(SOURCE).order_by(SOURCE.c.id)
_ANSWERS_QUERY = select(ANSWER.c.id, ANSWER.c.text, ANSWER.c.thinking, ANSWER.c.cut).where(
    ANSWER.c.id.in_(bindparam("answers", expanding=True))
)

BANK_VERSION = "bank"
"""The counter that every change of the bank increments, so that running servers notice it."""


ItemState = Literal["ready", "hidden", "without picture", "without pair"]
"""Whether an item can be voted on, or the reason: hidden by an operator, a missing image, fewer than two answers."""


class Source(NamedTuple):
    """Origin of items; each source has its own boards."""

    id: int
    name: str
    kind: SourceKind


class Contribution(NamedTuple):
    """The answers from a predictions file."""

    file: str
    model: str
    answers: int
    withdrawn: bool


class KeptPicture(NamedTuple):
    """A picture in the picture store."""

    sha256: str
    suffix: str
    look: str | None
    """See `io.images.difference_hash`."""


class KnownModel(NamedTuple):
    """A model in the bank."""

    name: str
    display: str
    retired: bool


class KnownItem(NamedTuple):
    """An item by the names that a predictions file may use."""

    id: int
    key: str
    instruction: str
    image_names: tuple[str, ...]


@dataclass(frozen=True)
class Bank:
    """Snapshot of every item that can be shown, with its contestants."""

    version: int
    sources: tuple[Source, ...]
    items: Mapping[int, Item]
    states: Mapping[int, Counter[ItemState]]
    """How many items are in each state, by the source's id."""
    hidden_pictures: frozenset[str]
    """The hashes of pictures that only hidden items have."""

    @property
    def items_without_picture(self) -> int:
        """The number of items left out because an image is missing."""
        return sum(states["without picture"] for states in self.states.values())

    def states_of(self, kinds: Sequence[SourceKind]) -> Counter[ItemState]:
        """Returns the number of items in each state, of all sources of these kinds."""
        total: Counter[ItemState] = Counter()
        for source in self.sources:
            if source.kind in kinds:
                total.update(self.states[source.id])
        return total

    def by_key(self, key: str) -> Item | None:
        """Returns the item with this public id; None if it can't be shown."""
        return next((item for item in self.items.values() if item.key == key), None)

    def checks(self, source: str = "") -> list[Item]:
        """Returns the check items of the source of this name; without a name, of all sources."""
        ids = set()
        for check_source in self.sources:
            is_wanted = not source or check_source.name == source
            if check_source.kind == "check" and is_wanted:
                ids.add(check_source.id)
        return [item for item in self.items.values() if item.source in ids]


class ItemBank:
    """Reader of one database's item bank; `image_hosts`: the hosts whose remote images a browser may load."""

    CHECK_SECONDS = 2.0
    """Seconds for which a snapshot is returned without looking for changes."""

    def __init__(self, database: Database, image_hosts: Sequence[str] = ()) -> None:
        self._database = database
        self._hosts = tuple(image_hosts)
        self._lock = Lock()
        self._bank: Bank | None = None
        self._checked_at = 0.0

    def __reduce__(self) -> tuple[object, ...]:
        """Opens the same bank in a child process, which reads large files."""
        return ItemBank, (self._database, self._hosts)

    def bank(self) -> Bank:
        """Returns the current snapshot; changes by other processes are seen within CHECK_SECONDS."""
        with self._lock:
            if self._bank is not None and time.monotonic() - self._checked_at < self.CHECK_SECONDS:
                return self._bank
            with self._database.read() as connection:
                version = counter(connection, BANK_VERSION)
                if self._bank is None or self._bank.version != version:
                    self._bank = load_bank(connection, self._hosts)
            self._checked_at = time.monotonic()
            return self._bank

    def shown_answers(self, answers: Sequence[int]) -> tuple[ShownAnswer, ...]:
        """Returns answers by id as people read them, in the same order."""
        with self._database.read() as connection:
            rows = connection.execute(_ANSWERS_QUERY, {"answers": answers})
            by_id = {row.id: ShownAnswer(row.text, row.thinking or "", row.cut) for row in rows}
        return tuple(by_id[answer] for answer in answers)

    def kept_pictures(self) -> dict[str, KeptPicture]:
        """Returns the stored pictures by their images' source keys."""
        columns = (IMAGE.c.key, IMAGE.c.sha256, IMAGE.c.suffix, IMAGE.c.look)
        query = select(*columns).where(IMAGE.c.sha256.is_not(None))
        with self._database.read() as connection:
            return {
                row.key: KeptPicture(row.sha256, row.suffix, row.look)
                for row in connection.execute(query)
            }

    def known_items(self) -> list[KnownItem]:
        """Returns every item with the names in predictions files; check items take no predictions."""
        image_query = select(IMAGE.c.item_id, IMAGE.c.name).order_by(IMAGE.c.position)
        item_query = (
            select(ITEM.c.id, ITEM.c.key, ITEM.c.instruction)
            .join(SOURCE)
            .where(SOURCE.c.kind != "check")
            .order_by(ITEM.c.id)
        )
        with self._database.read() as connection:
            names = grouped(connection.execute(image_query))
            rows = connection.execute(item_query).all()
        return [KnownItem(row.id, row.key, row.instruction, tuple(names[row.id])) for row in rows]

    def models(self) -> list[KnownModel]:
        """Returns every model in order of arrival."""
        with self._database.read() as connection:
            rows = connection.execute(select(MODEL).order_by(MODEL.c.id)).all()
        return [KnownModel(row.name, row.display, row.retired_at is not None) for row in rows]

    def retired_models(self) -> frozenset[str]:
        """Returns the names of retired models."""
        return frozenset(model.name for model in self.models() if model.retired)

    def is_model(self, name: str, closed: Collection[str]) -> bool:
        """Returns whether a model has this name or display name.

        A model with answers in `closed` sources only doesn't count, so that nobody learns of it.
        """
        models = select(MODEL.c.id).where((MODEL.c.name == name) | (MODEL.c.display == name))
        sources = (
            select(SOURCE.c.name)
            .join(ITEM, ITEM.c.source_id == SOURCE.c.id)
            .join(ANSWER, ANSWER.c.item_id == ITEM.c.id)
            .where(ANSWER.c.model_id.in_(models))
            .distinct()
        )
        with self._database.read() as connection:
            if connection.scalar(models) is None:
                return False
            answered_sources = set(connection.scalars(sources))
        has_no_answers = not answered_sources
        has_open_answers = bool(answered_sources - set(closed))
        return has_no_answers or has_open_answers

    def answered_items(self, model: str) -> frozenset[int]:
        """Returns the ids of the items to which a model has an answer in use."""
        query = (
            select(ANSWER.c.item_id)
            .join(MODEL, MODEL.c.id == ANSWER.c.model_id)
            .where(MODEL.c.name == model, ANSWER.c.withdrawn_at.is_(None))
        )
        with self._database.read() as connection:
            return frozenset(connection.scalars(query))

    def contributions(self) -> list[Contribution]:
        """Returns the contribution of each predictions file, in the order of import."""
        query = (
            select(
                PREDICTIONS.c.file,
                MODEL.c.name,
                func.count(ANSWER.c.id).label("answers"),
                PREDICTIONS.c.withdrawn_at.is_not(None).label("withdrawn"),
            )
            .join(MODEL, MODEL.c.id == PREDICTIONS.c.model_id)
            .join(ANSWER, ANSWER.c.predictions_id == PREDICTIONS.c.id)
            .group_by(
                PREDICTIONS.c.id, PREDICTIONS.c.file, MODEL.c.name, PREDICTIONS.c.withdrawn_at
            )
            .order_by(PREDICTIONS.c.id)
        )
        with self._database.read() as connection:
            return [
                Contribution(
                    file=row.file, model=row.name, answers=row.answers, withdrawn=row.withdrawn
                )
                for row in connection.execute(query)
            ]


def model_names(connection: Connection) -> dict[int, str]:
    """Returns the models' names by their codes."""
    return {code: name for code, name in connection.execute(select(MODEL.c.id, MODEL.c.name))}


def sources_of(connection: Connection) -> tuple[Source, ...]:
    """Returns every source, in the order of its first import."""
    rows = connection.execute(_SOURCES_QUERY)
    return tuple(Source(id=row.id, name=row.name, kind=row.kind) for row in rows)


def load_bank(connection: Connection, hosts: Sequence[str]) -> Bank:
    """Reads the current bank; `hosts`: the hosts that a browser may load images from."""
    version = counter(connection, BANK_VERSION)
    families = {row.id: row.name for row in connection.execute(select(FAMILY))}
    images = _images_by_item(connection)
    contestants = _contestants_by_item(connection)
    hidden = frozenset(connection.scalars(select(HIDDEN_ITEM.c.item_id)))
    states: defaultdict[int, Counter[ItemState]] = defaultdict(Counter)
    items = {}
    for row in connection.execute(select(ITEM).order_by(ITEM.c.id)):
        state: ItemState = "hidden"
        if row.id not in hidden:
            item = Item(
                id=row.id,
                key=row.key,
                source=row.source_id,
                family=families[row.family_id],
                instruction=row.instruction,
                images=tuple(images[row.id]),
                contestants=tuple(contestants.get(row.id, ())),
            )
            state = _state(item, hosts)
            if state != "without picture":
                items[row.id] = item
        states[row.source_id][state] += 1
    sources = sources_of(connection)
    return Bank(
        version=version,
        sources=sources,
        items=items,
        states={source.id: states[source.id] for source in sources},
        hidden_pictures=_hidden_pictures(images, hidden),
    )


def _images_by_item(connection: Connection) -> dict[int, list[Image]]:
    rows = connection.execute(select(IMAGE).order_by(IMAGE.c.item_id, IMAGE.c.position))
    return grouped(
        (row.item_id, Image(row.sha256, row.suffix, row.url, row.caption, row.credit, row.licence))
        for row in rows
    )


def _contestants_by_item(connection: Connection) -> dict[int, list[Contestant]]:
    """Returns the answers in use, by models that aren't retired."""
    query = (
        select(ANSWER.c.item_id, ANSWER.c.model_id, ANSWER.c.id)
        .join(MODEL, MODEL.c.id == ANSWER.c.model_id)
        .where(ANSWER.c.withdrawn_at.is_(None), MODEL.c.retired_at.is_(None))
        .order_by(ANSWER.c.item_id, ANSWER.c.model_id)
    )
    rows = connection.execute(query)
    return grouped((row.item_id, Contestant(row.model_id, row.id)) for row in rows)


def _hidden_pictures(images: Mapping[int, Sequence[Image]], hidden: Set[int]) -> frozenset[str]:
    """Returns the hashes of pictures that only hidden items have."""
    of_hidden: set[str] = set()
    of_others: set[str] = set()
    for item, item_images in images.items():
        hashes = of_hidden if item in hidden else of_others
        hashes.update(image.sha256 for image in item_images if image.sha256)
    return frozenset(of_hidden - of_others)


def _state(item: Item, hosts: Sequence[str]) -> ItemState:
    """Returns the state of an item that isn't hidden."""
    if not all(can_show(image, hosts) for image in item.images):
        return "without picture"
    return "ready" if len(item.contestants) > 1 else "without pair"


def can_show(image: Image, hosts: Sequence[str]) -> bool:
    """Returns whether a browser can show the image: it is stored here, or on a host that the operator allows."""
    if image.sha256 is not None:
        return True
    return image.url is not None and urlsplit(image.url).hostname in hosts


_LACKS: Mapping[ItemState, str] = {
    "without picture": "without pictures (import with --fetch-images, or set IMAGE_HOSTS)",
    "without pair": "without answers from two models (python -m arena items answers FILE)",
    "hidden": "hidden by operators",
}


def shown_text(states: Counter[ItemState]) -> str:
    """Returns a sentence with the number of items that can be shown, and the needs of the others."""
    sentence = f"{states['ready']:,} of {states.total():,} can be shown"
    lacks = lacks_text(states)
    if lacks:
        sentence += f": {lacks}"
    return f"{sentence}."


def lacks_text(states: Counter[ItemState]) -> str:
    """Returns the number of items in each state that hides them from voters, in words; "" if there are none."""
    parts = [f"{states[state]:,} {text}" for state, text in _LACKS.items() if states[state]]
    return "; ".join(parts)
