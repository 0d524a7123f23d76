"""Model kinds by the `kind` of a catalogue's table, in the only list of them."""

from arena.inference.base import ModelKind
from arena.inference.local_kind import LOCAL
from arena.inference.openai_model import API

KINDS: dict[str, ModelKind] = {"api": API, "local": LOCAL}
