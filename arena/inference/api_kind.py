"""Models behind OpenAI-compatible servers, `kind = "api"`."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from arena.inference.base import CardTable, ModelKind, Stripped, Text
from arena.inference.openai_model import ApiVLM
from arena.types import Secret
from arena.validation import must_be

_ADDRESS = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?(/[\w.~%/-]*)?", re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)


class ApiTable(CardTable):
    """Keys of a server's model."""

    model: Text
    address: Annotated[
        Stripped,
        must_be(
            "an address as in https://api.example.org/v1, without user, password or query",
            _ADDRESS.fullmatch,
            hidden="a key",
        ),
    ]
    key_from: Annotated[
        Stripped,
        must_be(
            "the name of an environment variable, as in OPENAI_API_KEY",
            _VARIABLE.fullmatch,
            hidden="a key",
        ),
    ] = ""

    def own(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        return {"address": self.address.rstrip("/"), "key": secret(self.key_from) if self.key_from else Secret("")}


API = ModelKind(ApiTable, lambda card, _: ApiVLM(card))
