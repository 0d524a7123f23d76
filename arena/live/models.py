"""Live models: the models of the catalogue that answer in live battles, and which of them can now."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from arena.inference.weights import Downloads, Progress, WeightsError
from arena.live.routed_models import RoutedModels
from arena.types import VLM, Price, Secret


class LiveModels:
    """The live models of a catalogue."""

    def __init__(
        self,
        vlms: Sequence[VLM],
        downloads: Downloads,
        take_prices: Callable[[Mapping[str, Price]], None],
    ) -> None:
        """`downloads` gets the weights of those that run here and are on the Hub; `take_prices` what routers ask."""
        self.vlms = tuple(vlms)
        self._downloads = downloads
        routed = [vlm for vlm in vlms if vlm.card.visitor_key]
        self.routed = RoutedModels(routed, take_prices)
        """Those that are asked with visitors' keys."""

    @property
    def usable(self) -> tuple[VLM, ...]:
        """Those that can answer now, some of them with a visitor's key alone."""
        own = [vlm for vlm in self.vlms if not vlm.card.visitor_key]
        return (*(vlm for vlm in own if self._state(vlm) == "ready"), *self.routed.usable)

    def usable_with(self, key: Secret | None) -> tuple[VLM, ...]:
        """Those that can answer a visitor who has this key, or none."""
        return tuple(vlm for vlm in self.usable if key or not vlm.card.visitor_key)

    @property
    def loading(self) -> Progress | None:
        """How far the downloads are; None when nothing is awaited."""
        is_loading = any(self._state(vlm) == "loading" for vlm in self.vlms)
        return self._downloads.progress if is_loading or self.routed.is_reading else None

    @property
    def error(self) -> WeightsError | None:
        """Why the first model that failed did."""
        errors = [self._downloads.standing(vlm.card).error for vlm in self.vlms]
        return next(filter(None, errors), None)

    @property
    def failed(self) -> Mapping[str, str]:
        """Why models that run here couldn't be loaded, by the model's name."""
        standings = {vlm.card.name: self._downloads.standing(vlm.card) for vlm in self.vlms}
        return {name: str(at.error) for name, at in standings.items() if at.error}

    @property
    def problems(self) -> tuple[str, ...]:
        """Why models can't answer, each in a line for the operator."""
        failed = [f"{name}: {problem}" for name, problem in self.failed.items()]
        loading = [vlm.card.name for vlm in self.vlms if self._state(vlm) == "loading"]
        being_loaded = [f"Being loaded: {', '.join(loading)}."] if loading else []
        return (*failed, *being_loaded, *self.routed.problems)

    def try_again(self) -> None:
        """Try once more what has failed."""
        self._downloads.start()
        self.routed.read_soon()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Makes models ready in the background while the server runs."""
        self._downloads.start()
        try:
            async with self.routed.running():
                yield
        finally:
            self._downloads.stop()

    def _state(self, vlm: VLM) -> str:
        return self._downloads.standing(vlm.card).state
