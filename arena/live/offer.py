"""Offer: whether a battle about a visitor's own picture can begin now, and what it waits for."""

from typing import Literal, NamedTuple

from arena.live.models import LiveModels

OfferState = Literal["ready", "one", "none", "unset"]


class Offer(NamedTuple):
    """What a visitor can begin now."""

    state: OfferState
    """"unset": the operator has named no models; "none", "one": so many of the models are ready."""


def offer_of(models: LiveModels, has_catalogue: bool) -> Offer:
    if len(models.usable) > 1:
        return Offer("ready")
    if models.usable:
        return Offer("one")
    return Offer("none" if has_catalogue else "unset")
