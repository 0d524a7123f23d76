"""Hub token: the operator's own login at Hugging Face, for models that answer with a visitor's key.

On a site without login, the operator is the visitor. On other sites the server's own token is never used for a model:
on a Space it belongs to the backup of the votes.
"""

import logging
from collections.abc import Callable

import httpx2
from huggingface_hub import get_token
from huggingface_hub.errors import HfHubHTTPError

from arena.inference.openai_model import VISITOR
from arena.settings import Settings, secret
from arena.types import Secret

log = logging.getLogger(__name__)


def operator_token() -> Secret:
    """Returns the token in HF_TOKEN, or that of `hf auth login`; empty if there is none."""
    try:
        return Secret(get_token() or "")
    except (HfHubHTTPError, httpx2.HTTPError, OSError, ValueError) as error:
        log.warning("the login at Hugging Face cannot be used (%s)", type(error).__name__)
        return Secret("")


def catalogue_keys(settings: Settings) -> Callable[[str], Secret]:
    """Returns a function from a model's `key_from` to its key: `key_from` names a variable, or is VISITOR."""

    def key(name: str) -> Secret:
        if name != VISITOR:
            return secret(name)
        return operator_token() if operator_is_visitor(settings) else Secret("")

    return key


def operator_is_visitor(settings: Settings) -> bool:
    """Whether the operator is the only visitor with a key, because the site has no login."""
    return settings.oauth is None and not settings.space
