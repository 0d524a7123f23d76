"""Models that run on this machine, `kind = "local"`: weights in a folder, or at a commit on the Hub."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ValidationInfo, model_validator

from arena.inference.base import CardTable, ModelKind, Stripped
from arena.inference.local_process import LocalChooser, LocalVLM
from arena.types import Device, ModelCard, Precision, Secret
from arena.validation import must_be, number, whole

_COMMIT = re.compile(r"[0-9a-f]{40}")
_HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_COMMIT_WORDS = "the commit on the Hub, 40 hexadecimal digits"


def _weights(folder: str, info: ValidationInfo) -> str:
    """Returns the path of a folder, which is given relative to the catalogue's. Raises ValueError if it has no model.

    With `hub` too, it stays as it is: `_check_weights` refuses both.
    """
    if not folder or info.data.get("hub"):
        return folder
    try:
        path = Path(info.context or ".") / Path(folder).expanduser()
        has_config = (path / "config.json").is_file()
    except (RuntimeError, OSError) as error:  # such as ~nobody
        raise ValueError("it can't be opened. Correct the path or its permissions") from error
    if not has_config:
        raise ValueError(f"there's no config.json in {path}, so it isn't a model's folder")
    return str(path)


class LocalTable(CardTable, frozen=True):
    """Keys of a model on this machine."""

    # `hub` comes first, since `_weights` reads it.
    hub: Annotated[Stripped, must_be("an id on the Hub, as in owner/model", _HUB_ID.fullmatch)] = ""
    folder: Annotated[Stripped, AfterValidator(_weights)] = ""
    revision: Annotated[Stripped, must_be(_COMMIT_WORDS, _COMMIT.fullmatch)] | None = None
    dtype: Precision = ModelCard.dtype
    device: Device = ModelCard.device
    max_side: Annotated[int, whole(16, 10_000)] | None = None
    memory_gb: Annotated[float, number(0.1, 100_000)] | None = None

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if bool(self.folder) == bool(self.hub):
            raise ValueError(
                "A local model needs either folder or hub, which has its weights. Give one of them."
            )
        if self.folder and self.revision is not None:
            raise ValueError("revision is only for models on the Hub. Delete it.")
        if self.hub and self.revision is None:
            raise ValueError(f"revision is missing. Give {_COMMIT_WORDS}.")
        return self

    def other_fields(self, secret: Callable[[str], Secret]) -> dict[str, Any]:
        return {"model": self.folder or self.hub}


LOCAL = ModelKind(LocalTable, LocalVLM, batched=True, chooser=LocalChooser)
