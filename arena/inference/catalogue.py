"""Model catalogue: the cards in the `[[models]]` tables of a TOML file, and the models that the cards describe."""

import asyncio
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena.inference.base import ModelKind
from arena.inference.endpoint import EndpointError
from arena.inference.local_kind import LOCAL
from arena.inference.local_process import ProcessPool
from arena.inference.openai_model import API
from arena.types import VLM, Alternatives, Answerer, ModelCard, Secret
from arena.validation import one_line

KINDS: dict[str, ModelKind] = {"api": API, "local": LOCAL}
"""All kinds of models, by the `kind` of a table."""
MAX_BYTES = 1_000_000


class CatalogueError(ValueError):
    """The catalogue is wrong; the message says why and how to fix it, and never shows a key."""


@dataclass(frozen=True)
class Catalogue:
    """Model cards in file order; names are unique."""

    cards: tuple[ModelCard, ...]

    @property
    def live(self) -> tuple[ModelCard, ...]:
        return tuple(card for card in self.cards if card.live)

    def card(self, name: str) -> ModelCard:
        """Returns the card of this name. Raises CatalogueError, which lists the known names."""
        for card in self.cards:
            if card.name == name:
                return card
        names = ", ".join(repr(card.name) for card in self.cards)
        known = f"Models: {names}." if names else "Set MODELS to a models file."
        raise CatalogueError(f"There is no model named {name!r}. {known}")


def read_catalogue(path: Path | None, secret: Callable[[str], Secret]) -> Catalogue:
    """Reads a catalogue file, if there is one.

    Raises CatalogueError, and the error of `secret` for a missing variable.
    """
    if path is None:
        return Catalogue(())
    try:
        tables = model_tables(path)
    except OSError as error:
        raise CatalogueError(
            f"{path} can't be read ({error.strerror}). Set MODELS to a TOML file."
        ) from error
    cards = tuple(_read_card(path, number, table, secret) for number, table in enumerate(tables, 1))
    names: set[str] = set()
    for card in cards:
        if card.name in names:
            raise CatalogueError(f"{path.name}: two models are named {card.name!r}. Rename one.")
        names.add(card.name)
    return Catalogue(cards)


def model_tables(path: Path) -> list[dict[str, Any]]:
    """Returns the `[[models]]` tables of a TOML file. Raises CatalogueError for other content, and OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CatalogueError(
            f"{path.name} is over {MAX_BYTES:,} bytes, too large for a models file. Choose another."
        )
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        problem = str(error)[:200]
        raise CatalogueError(f"{path.name} isn't valid TOML: {problem}. Correct it.") from error
    tables = content.pop("models", None)
    are_tables = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if content or not are_tables:
        others = f" Remove: {', '.join(content)}." if content else ""
        raise CatalogueError(f"{path.name} must have [[models]] tables and nothing else.{others}")
    return tables


def _read_card(
    path: Path, number: int, table: dict[str, Any], secret: Callable[[str], Secret]
) -> ModelCard:
    """Returns the card of a table. Raises CatalogueError with the table's number and name."""
    name = table.get("name")
    kind = str(table.get("kind"))
    where = f"{path.name}, model {number}" + (f" ({name!r})" if isinstance(name, str) else "")
    if kind not in KINDS:
        value = repr(kind[:60]) if "kind" in table else "missing"
        raise CatalogueError(f"{where}: kind is {value}. It must be one of {', '.join(KINDS)}.")
    schema = KINDS[kind].table
    folder = path.absolute().parent  # paths in a table are relative to its file
    try:
        validated = schema.model_validate(table, context=folder)
    except ValidationError as error:
        unknown_key = (
            f"isn't a key of a model of kind {kind}. Keys: {', '.join(schema.model_fields)}."
        )
        raise CatalogueError(f"{where}: {one_line(error, unknown=unknown_key)}") from None
    try:
        return validated.card(secret)
    except EndpointError as error:
        raise CatalogueError(f"{where}: {error}") from None


class Models:
    """Models of a catalogue, ready to answer."""

    def __init__(self, catalogue: Catalogue, local_models: int) -> None:
        """Loads nothing before the first question; keeps at most `local_models` in memory."""
        self.catalogue = catalogue
        self._process_pool = ProcessPool(local_models)
        self._vlms: dict[str, VLM] = {}

    def vlm(self, name: str) -> VLM:
        """Returns the model of this name. Raises CatalogueError."""
        if name not in self._vlms:
            card = self.catalogue.card(name)
            self._vlms[name] = KINDS[card.kind].vlm(card, self._process_pool)
        return self._vlms[name]

    def chooser(self, name: str) -> Answerer[Alternatives]:
        """Returns an answerer that weighs texts by this model's likelihoods. Raises CatalogueError if it has none."""
        card = self.catalogue.card(name)
        chooser = KINDS[card.kind].chooser
        if chooser is None:
            able = ", ".join(kind for kind, model_kind in KINDS.items() if model_kind.chooser)
            raise CatalogueError(
                f"{name!r} is a model of kind {card.kind}, whose server doesn't say how "
                f"likely a given text is. Choose a model of kind {able}, or leave out --choose-by likelihood."
            )
        return chooser(card, self._process_pool)

    def load(self, card: ModelCard) -> None:
        """Loads a model that runs on this machine. Raises ModelError with the reason for a failure."""
        self._process_pool.load(card)

    async def aclose(self) -> None:
        for vlm in self._vlms.values():
            await vlm.aclose()
        await asyncio.to_thread(self._process_pool.close)
