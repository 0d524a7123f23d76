"""Live models: the models of the catalogue that answer in live battles, their state, and the pairs that may meet."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import combinations

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
        retired: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """`downloads` gets the weights of local models from the Hub; `take_prices` stores the routers' prices.

        `retired` reads the names of retired models, which answer in no battle.
        """
        self.vlms = tuple(vlms)
        self._downloads = downloads
        self._retired = retired
        with_visitor_keys = [vlm for vlm in vlms if vlm.card.visitor_key]
        self.routed = RoutedModels(with_visitor_keys, take_prices)
        """The models that need visitors' keys."""

    @property
    def usable(self) -> tuple[VLM, ...]:
        """The models that can answer now, some of them only with a visitor's key; reads the database."""
        keyless = [vlm for vlm in self.vlms if not vlm.card.visitor_key]
        ready = [vlm for vlm in keyless if self._state(vlm) == "ready"]
        retired = self._retired()
        return tuple(vlm for vlm in (*ready, *self.routed.usable) if vlm.card.name not in retired)

    def usable_with(self, key: Secret | None) -> tuple[VLM, ...]:
        """Returns the models that can answer a visitor with this key, or without a key."""
        return tuple(vlm for vlm in self.usable if key or not vlm.card.visitor_key)

    @property
    def load_progress(self) -> Progress | None:
        """The progress of the downloads; None if no model is being loaded and no router's list is being read."""
        is_loading = any(self._state(vlm) == "loading" for vlm in self.vlms)
        return self._downloads.progress if is_loading or self.routed.is_reading else None

    @property
    def error(self) -> WeightsError | None:
        """The error of the first model that failed."""
        errors = [self._downloads.standing(vlm.card).error for vlm in self.vlms]
        return next(filter(None, errors), None)

    @property
    def load_errors(self) -> Mapping[str, str]:
        """The reasons why local models couldn't be loaded, by the model's name."""
        standings = {vlm.card.name: self._downloads.standing(vlm.card) for vlm in self.vlms}
        return {name: str(standing.error) for name, standing in standings.items() if standing.error}

    @property
    def problems(self) -> tuple[str, ...]:
        """The reasons why models can't answer, each in a line for the operator."""
        failed = [f"{name}: {problem}" for name, problem in self.load_errors.items()]
        loading = [vlm.card.name for vlm in self.vlms if self._state(vlm) == "loading"]
        being_loaded = [f"Being loaded: {', '.join(loading)}."] if loading else []
        all_retired = self._retired()
        names = [vlm.card.name for vlm in self.vlms if vlm.card.name in all_retired]
        retired = [f"Retired: {', '.join(names)}."] if names else []
        return (*failed, *being_loaded, *retired, *self.routed.problems)

    def try_again(self) -> None:
        """Tries failed models again."""
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


def fitting_pairs(vlms_by_name: Mapping[str, VLM], do_visitors_pay: bool) -> list[tuple[str, str]]:
    """Returns the pairs of models, by name, to draw from; `do_visitors_pay`: whether battles use visitors' keys.

    A battle ends when a key that it needs is taken back, expires or is refused. If only some battles needed the key,
    that end would reveal something about their models. So at least one model of every pair uses the key, unless none of
    all these models does.
    """
    pairs = list(combinations(vlms_by_name, 2))
    if not do_visitors_pay:
        return pairs
    with_key = [pair for pair in pairs if any(vlms_by_name[name].card.visitor_key for name in pair)]
    return with_key or pairs


def can_replace(failed: VLM, other: VLM) -> bool:
    """Returns whether `other` may take a failed model's place: if that one uses the visitor's key, so must `other`."""
    return other.card.visitor_key or not failed.card.visitor_key
