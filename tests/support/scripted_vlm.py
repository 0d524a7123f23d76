"""Models at the seam of live answers: they say what they are told, as fast or as badly as they are told."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import ClassVar

from arena.inference.local_process import LocalVLM, ProcessPool
from arena.inference.weights import Downloads
from arena.live.models import LiveModels
from arena.types import (
    Conversation,
    Generation,
    ModelCard,
    ModelError,
    ModelTrouble,
    Price,
    Usage,
    pass_over,
)


class ScriptedVLM:
    """A model that says words with pauses; it counts its running streams and keeps what it was asked."""

    running: ClassVar[int] = 0

    def __init__(
        self,
        name: str,
        text: str | Callable[[Conversation], str] = "one two three four five",
        seconds: float = 0.0,
        first: float = 0.0,
        fails: tuple[int, ModelTrouble] | None = None,
        images: int = 10,
        price: Price | None = None,
        coin: random.Random | None = None,
    ) -> None:
        """`seconds` between words, `first` before them; fails after so many words; with a coin pauses vary."""
        self.card = ModelCard(
            name, "api", f"id-of-{name}", f"http://{name}.example", images=images, price=price
        )
        self._text, self._seconds, self._first, self._fails, self._coin = (
            text,
            seconds,
            first,
            fails,
            coin,
        )
        self.asked: list[Conversation] = []
        self.closed = 0

    async def stream(
        self, turns: Conversation, settings: Generation, note: Callable[[Usage], None] = pass_over
    ) -> AsyncGenerator[str, None]:
        self.asked.append(turns)
        ScriptedVLM.running += 1
        said = 0
        try:
            await asyncio.sleep(self._first)
            text = self._text if isinstance(self._text, str) else self._text(turns)
            for word in pieces(text):
                if self._fails is not None and said >= self._fails[0]:
                    raise ModelError(self._fails[1], "it went wrong")
                await asyncio.sleep(
                    self._seconds * (self._coin.uniform(0.5, 1.5) if self._coin else 1)
                )
                yield word
                said += 1
            if self._fails is not None:
                raise ModelError(self._fails[1], "it went wrong")
        finally:
            ScriptedVLM.running -= 1
            self.closed += 1
            note(Usage(10, said, 10 + said if self.card.price else 0))


def pieces(text: str) -> Sequence[str]:
    """Cut a text before its spaces, as tokens are."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])]


def two_models() -> LiveModels:
    """Return two live models that are ready."""
    cards = [ModelCard(name, "api", f"id-of-{name}") for name in ("one", "two")]
    vlms = [LocalVLM(card, ProcessPool(1)) for card in cards]
    return LiveModels(vlms, Downloads((), print), print)
