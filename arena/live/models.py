"""Live models: the models of the catalogue that answer in live battles, and which of them can now."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from arena.live.routed_models import RoutedModels
from arena.types import VLM, Secret


class LiveModels:
    """The live models of a catalogue."""

    def __init__(self, vlms: Sequence[VLM]) -> None:
        self.vlms = tuple(vlms)
        self._routed = RoutedModels([vlm for vlm in vlms if vlm.card.visitor_key])

    @property
    def usable(self) -> tuple[VLM, ...]:
        """Those that can answer now, some of them with a visitor's key alone."""
        own = [vlm for vlm in self.vlms if not vlm.card.visitor_key]
        return (*own, *self._routed.usable)

    def usable_with(self, key: Secret | None) -> tuple[VLM, ...]:
        """Those that can answer a visitor who has this key, or none."""
        return tuple(vlm for vlm in self.usable if key or not vlm.card.visitor_key)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the others can't, each in a line for the operator."""
        return self._routed.problems

    def try_again(self) -> None:
        """Try once more what has failed."""
        self._routed.read_soon()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Make models ready in the background while the server runs."""
        async with self._routed.running():
            yield
