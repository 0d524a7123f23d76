"""Offer: whether a battle about a visitor's own picture can begin now, and what it waits for."""

from typing import Literal, NamedTuple

from arena.inference.weights import Progress, Trouble, host
from arena.live.models import LiveModels

OfferState = Literal["ready", "loading", "offline", "failed", "one", "none", "unset"]


class Offer(NamedTuple):
    """What a visitor can begin now."""

    state: OfferState
    """"unset": the operator has named no models; "none", "one": so many models are ready, and no more will be."""
    progress: Progress | None = None
    """Of the downloads, while they are loading."""
    trouble: Trouble | None = None
    """Why they failed."""
    hub: str = ""
    """Where they come from."""


def offer_of(models: LiveModels, has_catalogue: bool) -> Offer:
    """Return what visitors can begin with these models; `has_catalogue`: whether the operator has named any."""
    usable = len(models.usable)
    if usable > 1:
        return Offer("ready")
    if (progress := models.loading) is not None:
        return Offer("loading", progress, hub=host())
    if (error := models.error) is not None:
        state = "offline" if error.trouble == "offline" else "failed"
        return Offer(state, trouble=error.trouble, hub=host())
    if usable:
        return Offer("one")
    return Offer("none" if has_catalogue else "unset")
