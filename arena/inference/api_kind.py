"""Models behind OpenAI-compatible servers, `kind = "api"`."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from arena.inference.base import CardTable, ModelKind, Stripped, Text
from arena.inference.endpoint import Endpoint
from arena.inference.openai_model import ApiVLM
from arena.types import Secret
from arena.validation import must_be

_VARIABLE = re.compile(r"([A-Za-z_]\w*)?", re.ASCII)


class ApiTable(CardTable, frozen=True):
    """Keys of a server's model."""

    model: Text
    address: Text
    key_from: Annotated[
        Stripped,
        must_be("the name of an environment variable, as in OPENAI_API_KEY", _VARIABLE.fullmatch, hidden="a key"),
    ] = ""

    def own(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        """Address and key. Raises EndpointError."""
        key = secret(self.key_from) if self.key_from else Secret("")
        return {"address": Endpoint(self.address, key).shown, "key": key}


API = ModelKind(ApiTable, lambda card, _: ApiVLM(card))
