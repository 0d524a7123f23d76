"""Hub facts: a model's facts from its repository on the Hugging Face Hub, read every week without a token.

A repository that the Hub marks as a conversion of another's weights has the other's maker, age, size and conditions of
access. The size is taken only if all weights are floats: packed weights hold several parameters in a number.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.hf_api import ModelInfo

from arena.database import now
from arena.io.strict_json import storable
from arena.items.fact_store import FactStore
from arena.model_facts import MOST_LETTERS, ON_HUB, fact_text, is_link, is_repository
from arena.server.hub_requests import TIMEOUT_SECONDS, HubError, status_of

EVERY = timedelta(days=7)
"""The age at which facts are read again."""
LOOK_SECONDS = 3600.0
"""Seconds between two looks for repositories that are due."""
_FLOATS = frozenset(("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"))
"""Types of weights with one parameter in a number."""
_FIELDS: Any = ["author", "baseModels", "cardData", "createdAt", "gated", "safetensors", "tags"]

log = logging.getLogger(__name__)


def read_facts(repository: str, hub: HfApi | None = None) -> dict[str, str]:
    """Returns the facts of a repository, by field. Raises HubError."""
    api = hub or HfApi()
    info = _read_info(api, repository)
    original = _original_repository(info)
    original_info = _read_info(api, original) if original else info
    return _facts(repository, info, original_info)


def _read_info(api: HfApi, repository: str) -> ModelInfo:
    """Returns the Hub's answer about a repository, read without a token. Raises HubError."""
    try:
        return api.model_info(repository, expand=_FIELDS, timeout=TIMEOUT_SECONDS, token=False)
    except (HfHubHTTPError, httpx2.HTTPError, OSError, ValueError, LookupError, TypeError) as error:
        status = status_of(error)
        if status in (401, 404):
            raise HubError(f"The Hub has no public model {repository}. Check the name.") from error
        if status:
            raise HubError(f"The Hub answered {status} for {repository}. Try again.") from error
        raise HubError(
            f"The Hub can't be reached for {repository} ({type(error).__name__}). Try again later."
        ) from error


def _original_repository(info: ModelInfo) -> str:
    """Returns the repository whose weights this one has in another form; "" if it has its own."""
    bases = info.base_models
    if not isinstance(bases, dict) or bases.get("relation") != "quantized":
        return ""
    models = bases.get("models")
    names = [str(model.get("id")) for model in models or () if isinstance(model, dict)]
    # Weights that are merged from several repositories have no single original.
    if len(names) != 1 or not is_repository(names[0]):
        return ""
    return names[0]


def _facts(repository: str, info: ModelInfo, original: ModelInfo) -> dict[str, str]:
    """Returns the facts of a repository, by field. `original` is `info` itself, except for a conversion."""
    licence = _licence(info) or _licence(original)
    parameters = _parameters(original) or _parameters(info)
    owner = original.id.partition("/")[0]
    facts = {
        "organisation": _bounded_line(original.author) or _bounded_line(owner),
        **licence,
        "parameters": fact_text(parameters) if parameters else "",
        # Without this format nothing is known: the weights may be open in another one.
        "open": "yes" if info.safetensors or original.safetensors else "",
        "gated": fact_text(original.gated in ("auto", "manual")),
        ON_HUB: original.created_at.date().isoformat() if original.created_at else "",
        "link": f"https://huggingface.co/{repository}",
        "repository": repository,
    }
    return {field: value for field, value in facts.items() if value}


def _licence(info: ModelInfo) -> dict[str, str]:
    """Returns the fields of the licence; none if the card names no licence."""
    card = info.card_data
    name = _bounded_line(getattr(card, "license", None))
    if name != "other":
        return {"licence": name} if name else {}
    link = getattr(card, "license_link", None)
    return {
        "licence": _bounded_line(getattr(card, "license_name", None)) or name,
        "licence_link": link if isinstance(link, str) and is_link(link) else "",
    }


def _parameters(info: ModelInfo) -> int:
    """Returns the number of parameters; 0 if it is unknown."""
    weights = info.safetensors
    if weights is None or not isinstance(weights.total, int):
        return 0
    return weights.total if weights.parameters.keys() <= _FLOATS else 0


def _bounded_line(value: object) -> str:
    """Returns a text of the Hub as one line of bounded length; "" for anything else."""
    if not isinstance(value, str):
        return ""
    text = " ".join(storable(value[: 4 * MOST_LETTERS]).split())[:MOST_LETTERS]
    return text if text.isprintable() else ""


def refresh(store: FactStore, hub: HfApi | None = None) -> None:
    """Reads the repositories that are due. If the Hub doesn't answer, a model's facts stay as they were."""
    for model in store.unread_models(now() - EVERY):
        try:
            store.keep_hub_facts(model, read_facts(model.repository, hub))
        except HubError as error:
            log.warning("facts of %s stay as they are: %s", model.repository, error)
        except Exception:
            log.exception(
                "facts of %s stay as they are, after an unforeseen error", model.repository
            )


@asynccontextmanager
async def refreshing(store: FactStore) -> AsyncIterator[None]:
    """Reads repositories again while the server runs."""
    task = asyncio.create_task(_refresh_hourly(store))
    try:
        yield
    finally:
        task.cancel()


async def _refresh_hourly(store: FactStore) -> None:
    while True:
        try:
            await asyncio.to_thread(refresh, store)
        except Exception:
            log.exception("facts of models could not be read; they are tried again in an hour")
        await asyncio.sleep(LOOK_SECONDS)
