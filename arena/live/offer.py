"""Offer: whether a battle about a visitor's own picture can begin now, or the reason for a wait."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from arena.inference.limits import cost
from arena.inference.weights import Progress, WeightsTrouble, host
from arena.live.models import LiveModels
from arena.types import VLM, ModelCard, Secret

OfferState = Literal[
    "ready",
    "login",  # the visitor has not lent a key yet
    "own_login",  # the same for an operator who is the only visitor, and whose key comes from this machine
    "loading",
    "offline",
    "failed",
    "unserved",  # a router has too few models
    "one",  # one model is ready, and no more will be
    "none",  # no model is ready, and none will be
    "unset",  # the operator has named no models
]


class _Size(NamedTuple):
    """The tokens of a question and of its answer."""

    prompt: int
    completion: int


_ORDINARY = _Size(1_300, 300)
"""A picture and a sentence."""
_LARGE = _Size(12_000, 512)
"""Four pictures, or a long conversation."""


class Dollars(NamedTuple):
    """A visitor's cost of an ordinary battle and of a large one, in US dollars."""

    ordinary: float
    large: float


class Offer(NamedTuple):
    """The battles that a visitor can begin now."""

    state: OfferState
    progress: Progress | None = None
    """The progress of the downloads, while they are loading."""
    trouble: WeightsTrouble | None = None
    """The reason why the downloads failed."""
    hub: str = ""
    """The host that the downloads come from, or the unreachable router when "unserved"."""
    cost: Dollars | None = None
    """None: a battle costs the visitor nothing."""


def offer_of(
    models: LiveModels, key: Secret | None, keyless: OfferState, has_catalogue: bool
) -> Offer:
    """Returns the offer for a visitor with this key.

    `keyless`: the state of a visitor who needs a key and has none. `has_catalogue`: whether the operator has named
    models.
    """
    usable = models.usable_with(key)
    if len(usable) > 1:
        return Offer("ready", cost=_battle_cost(usable))
    if key is None and len(models.usable) > 1:
        return Offer(keyless, cost=_battle_cost(models.usable))
    if (progress := models.load_progress) is not None:
        return Offer("loading", progress, hub=host())
    if (error := models.error) is not None:
        state = "offline" if error.trouble == "offline" else "failed"
        return Offer(state, trouble=error.trouble, hub=host())
    if models.routed.problems:
        return Offer("unserved", hub=models.routed.unreached_host)
    if usable:
        return Offer("one")
    return Offer("none" if has_catalogue else "unset")


def _battle_cost(vlms: Sequence[VLM]) -> Dollars | None:
    """Returns what the two most expensive models cost a visitor; None if no model needs a visitor's key."""
    cards = [vlm.card for vlm in vlms if vlm.card.visitor_key]
    if not cards:
        return None
    return Dollars(ordinary=_two_dearest(cards, _ORDINARY), large=_two_dearest(cards, _LARGE))


def _two_dearest(cards: Sequence[ModelCard], size: _Size) -> float:
    """Returns the US dollars that an answer of each of the two most expensive models costs."""
    costs = sorted(cost(card.price, size.prompt, size.completion) for card in cards)
    return sum(costs[-2:]) / 1e6
