"""Model catalogue: a TOML file whose `[[models]]` tables become cards, and the models that answer for them.

[[models]]
name = "SmolVLM"
kind = "local"
hub = "HuggingFaceTB/SmolVLM-256M-Instruct"
revision = "7e3e67edbbed1bf9888184d9df282b700a323964"
live = true
"""

import asyncio
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from arena.inference.endpoint import Endpoint, EndpointError
from arena.inference.local_process import LocalVLM, ProcessPool
from arena.inference.openai_model import ApiVLM
from arena.types import (
    Device,
    Generation,
    ModelCard,
    ModelKind,
    Precision,
    Price,
    Secret,
)

MAX_BYTES = 1_000_000
_Choice = TypeVar("_Choice", bound=str)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SHARED = (
    *("name", "kind", "images", "prompt_tokens", "image_tokens", "system", "max_tokens", "temperature", "top_p"),
    *("seed", "prompt_price", "completion_price", "timeout", "at_once", "live"),
)
_OWN: Mapping[ModelKind, tuple[str, ...]] = {
    "api": ("model", "address", "key_from"),
    "local": ("folder", "hub", "revision", "dtype", "device", "memory_gb"),
}
_NEEDED: Mapping[ModelKind, tuple[str, ...]] = {"api": ("model", "address"), "local": ()}


class CatalogueError(ValueError):
    """The catalogue is wrong; the message says what and how to mend it, and never shows a key."""


@dataclass(frozen=True)
class Catalogue:
    """Model cards in file order; names are unique."""

    cards: tuple[ModelCard, ...]

    @property
    def live(self) -> tuple[ModelCard, ...]:
        """Cards enabled for live battles."""
        return tuple(card for card in self.cards if card.live)

    def card(self, name: str) -> ModelCard:
        """The card of this name. Raises CatalogueError, which lists the known names."""
        for card in self.cards:
            if card.name == name:
                return card
        there = ", ".join(repr(card.name) for card in self.cards) or "none; set MODELS to a catalogue"
        raise CatalogueError(f"There is no model named {name!r}; there are: {there}")


def read_catalogue(path: Path | None, secret: Callable[[str], Secret]) -> Catalogue:
    """Read a catalogue file; None gives an empty catalogue. `secret` returns the key in an environment variable.

    Raises CatalogueError with file, model and key, and what `secret` raises for a variable that is not set.
    """
    if path is None:
        return Catalogue(())
    tables = _tables(path)
    cards = tuple(_CardTable(path, number, table).card(secret) for number, table in enumerate(tables, 1))
    for number, card in enumerate(cards):
        if card.name in [other.name for other in cards[:number]]:
            raise CatalogueError(f"{path.name}: two models are named {card.name!r}; give one another name")
    return Catalogue(cards)


def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CatalogueError(f"{path.name} has over {MAX_BYTES:,} bytes; it is no catalogue of models")
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CatalogueError(f"{path} cannot be read ({error.strerror}); set MODELS to a TOML file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path.name} is no TOML: {error}") from error
    tables = content.pop("models", None)
    if content or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        found = ", ".join(content) or "none"
        raise CatalogueError(f"{path.name}: expected tables [[models]] and nothing else, found others: {found}")
    return tables


class Models:
    """Models of a catalogue, ready to answer."""

    def __init__(self, catalogue: Catalogue, local_models: int) -> None:
        """Connect and load nothing before the first question; keep at most `local_models` in memory."""
        self.catalogue = catalogue
        self._process_pool = ProcessPool(local_models)
        self._vlms: dict[str, ApiVLM | LocalVLM] = {}

    def vlm(self, name: str) -> ApiVLM | LocalVLM:
        """The model of this name. Raises CatalogueError."""
        if name not in self._vlms:
            card = self.catalogue.card(name)
            self._vlms[name] = ApiVLM(card) if card.kind == "api" else LocalVLM(card, self._process_pool)
        return self._vlms[name]

    async def aclose(self) -> None:
        """Close all connections and end all processes."""
        for vlm in self._vlms.values():
            if isinstance(vlm, ApiVLM):
                await vlm.aclose()
        await asyncio.to_thread(self._process_pool.close)


class _CardTable:
    """Parser of one `[[models]]` table."""

    def __init__(self, path: Path, number: int, values: dict[str, Any]) -> None:
        self._folder = path.absolute().parent
        self._values = values
        name = values.get("name")
        self._where = f"{path.name}, model {number}" + (f" ({name!r})" if isinstance(name, str) else "")

    def card(self, secret: Callable[[str], Secret]) -> ModelCard:
        """The table's card. Raises CatalogueError."""
        kind = self._one_of("kind", get_args(ModelKind), None)
        self._check_keys(kind)
        local = kind == "local"
        key = self._key(secret)
        model, revision = self._weights() if local else (self._text("model"), None)
        return ModelCard(
            name=self._text("name"),
            kind=kind,
            model=model,
            address="" if local else self._address(key),
            key=key,
            revision=revision,
            images=self._whole("images", ModelCard.images, 0, 100),
            prompt_tokens=self._whole("prompt_tokens", ModelCard.prompt_tokens, 1, 10_000_000),
            image_tokens=self._whole("image_tokens", ModelCard.image_tokens, 1, 1_000_000),
            system=self._text("system", ""),
            generation=self._generation(),
            dtype=self._one_of("dtype", get_args(Precision), ModelCard.dtype),
            device=self._one_of("device", get_args(Device), ModelCard.device),
            memory_gb=self._number("memory_gb", 0.1, 100_000),
            price=self._price(),
            timeout=self._number("timeout", 0.1, 3600) or ModelCard.timeout,
            at_once=self._whole("at_once", ModelCard.at_once, 1, 1000),
            live=self._flag("live"),
        )

    def _wrong(self, key: str, expected: str) -> CatalogueError:
        if key not in self._values:
            return CatalogueError(f"{self._where}: {key} is missing; it must be {expected}")
        return CatalogueError(f"{self._where}: {key} is {str(self._values[key])[:60]!r}; it must be {expected}")

    def _check_keys(self, kind: ModelKind) -> None:
        known = (*_SHARED, *_OWN[kind])
        if unknown := [key for key in self._values if key not in known]:
            raise CatalogueError(
                f"{self._where}: {unknown[0]!r} is no key of a model of kind {kind}; known are {', '.join(known)}"
            )
        for key in ("name", *_NEEDED[kind]):
            if key not in self._values:
                raise self._wrong(key, "there for this kind of model")

    def _text(self, key: str, default: str | None = None) -> str:
        value = self._values.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self._wrong(key, "text in quotes")
        return value.strip()

    def _one_of(self, key: str, choices: tuple[_Choice, ...], default: _Choice | None) -> _Choice:
        value = self._values.get(key, default)
        for choice in choices:
            if value == choice:
                return choice
        raise self._wrong(key, f"one of {', '.join(choices)}")

    def _whole(self, key: str, default: int, least: int, most: int) -> int:
        value = self._values.get(key, default)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(key, f"a whole number from {least} to {most}")
        return value

    def _number(self, key: str, least: float, most: float) -> float | None:
        value = self._values.get(key)
        if value is not None and (type(value) not in (int, float) or not least <= value <= most):
            raise self._wrong(key, f"a number from {least:g} to {most:g}")
        return None if value is None else float(value)

    def _flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def _generation(self) -> Generation:
        return Generation(
            max_tokens=self._whole("max_tokens", Generation.max_tokens, 1, 1_000_000),
            temperature=self._number("temperature", 0, 2),
            top_p=self._number("top_p", 0, 1),
            seed=self._whole("seed", 0, 0, 2**31 - 1) if "seed" in self._values else None,
        )

    def _price(self) -> Price | None:
        prompt, completion = (self._number(f"{part}_price", 0, 1_000_000) for part in ("prompt", "completion"))
        if prompt is None and completion is None:
            return None
        if prompt is None or completion is None:
            missing = "prompt_price" if prompt is None else "completion_price"
            raise self._wrong(missing, "US dollars for a million tokens, beside the other price")
        return Price(prompt, completion)

    def _address(self, key: Secret) -> str:
        try:
            return Endpoint(self._text("address"), key).shown
        except EndpointError as error:
            raise CatalogueError(f"{self._where}: {error}") from error

    def _key(self, secret: Callable[[str], Secret]) -> Secret:
        name = self._text("key_from", "")
        if name and not _VARIABLE.fullmatch(name):
            raise CatalogueError(
                f"{self._where}: key_from must be the name of an environment variable, as in OPENAI_API_KEY "
                "(it is not shown: it may be a key)"
            )
        return secret(name) if name else Secret("")

    def _weights(self) -> tuple[str, str | None]:
        """The folder, or the Hub's id and commit."""
        folder, hub = self._text("folder", ""), self._text("hub", "")
        if bool(folder) == bool(hub):
            raise CatalogueError(f"{self._where}: expected either folder or hub, with the weights of the model")
        if hub:
            if not _HUB_ID.fullmatch(hub):
                raise self._wrong("hub", "an id on the Hub, as in owner/model")
            revision = self._text("revision", "")
            if not _COMMIT.fullmatch(revision):
                raise self._wrong("revision", "the commit on the Hub, 40 hexadecimal digits")
            return hub, revision
        if "revision" in self._values:
            raise CatalogueError(f"{self._where}: revision is for models on the Hub; delete it")
        path = self._folder / Path(folder).expanduser()
        if not (path / "config.json").is_file():
            raise CatalogueError(f"{self._where}: folder {str(path)!r} holds no model (no config.json in it)")
        return str(path), None
