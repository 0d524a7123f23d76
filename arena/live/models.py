"""Live models: the models of the catalogue that answer in live battles, and which of them can now."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from arena.types import VLM


class LiveModels:
    """The live models of a catalogue."""

    def __init__(self, vlms: Sequence[VLM]) -> None:
        self.vlms = tuple(vlms)

    @property
    def usable(self) -> tuple[VLM, ...]:
        """Those that can answer now."""
        return self.vlms

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the others can't, each in a line for the operator."""
        return ()

    def try_again(self) -> None:
        """Try once more what has failed."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Make models ready in the background while the server runs."""
        yield
