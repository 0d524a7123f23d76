"""Offer: whether a battle about a visitor's own picture can begin now, and what it waits for."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from arena.inference.limits import cost
from arena.inference.weights import Progress, Trouble, host
from arena.live.models import LiveModels
from arena.types import VLM, ModelCard, Secret

OfferState = Literal[
    "ready",
    "login",
    "own_login",
    "loading",
    "offline",
    "failed",
    "unserved",
    "one",
    "none",
    "unset",
]
_ORDINARY = (1_300, 300)
_LARGE = (12_000, 512)
"""Tokens of a question and its answer: a picture and a sentence; four pictures, or a long conversation."""


class Dollars(NamedTuple):
    """What a battle costs a visitor, in US dollars: an ordinary one and a large one."""

    ordinary: float
    large: float


class Offer(NamedTuple):
    """What a visitor can begin now."""

    state: OfferState
    """"unset": the operator has named no models; "none", "one": so many models are ready, and no more will be.

    "login": the visitor has not lent a key yet, "own_login": nor has the operator, whose machine it is; "unserved": a
    router has too few models.
    """
    progress: Progress | None = None
    """Of the downloads, while they are loading."""
    trouble: Trouble | None = None
    """Why they failed."""
    hub: str = ""
    """Where they come from; or the router that could not be reached, when "unserved"."""
    cost: Dollars | None = None
    """None: a battle costs the visitor nothing."""


def offer_of(
    models: LiveModels, key: Secret | None, keyless: OfferState, has_catalogue: bool
) -> Offer:
    """Returns what a visitor with this key can begin.

    `keyless`: where a visitor stands who has none and needs one. `has_catalogue`: whether the operator has named any.
    """
    usable = models.usable_with(key)
    if len(usable) > 1:
        return Offer("ready", cost=_cost(usable))
    if key is None and len(models.usable) > 1:
        return Offer(keyless, cost=_cost(models.usable))
    if (progress := models.loading) is not None:
        return Offer("loading", progress, hub=host())
    if (error := models.error) is not None:
        state = "offline" if error.trouble == "offline" else "failed"
        return Offer(state, trouble=error.trouble, hub=host())
    if models.routed.problems:
        return Offer("unserved", hub=models.routed.unreached)
    if usable:
        return Offer("one")
    return Offer("none" if has_catalogue else "unset")


def _cost(vlms: Sequence[VLM]) -> Dollars | None:
    """Returns what the dearest two models cost a visitor."""
    cards = [vlm.card for vlm in vlms if vlm.card.visitor_key]
    return Dollars(_dearest(cards, *_ORDINARY), _dearest(cards, *_LARGE)) if cards else None


def _dearest(cards: Sequence[ModelCard], prompt: int, completion: int) -> float:
    micros = sorted(cost(card.price, prompt, completion) for card in cards)
    return sum(micros[-2:]) / 1e6
