"""Readiness: how many items can be shown to voters, and what the others lack."""

from collections import Counter
from collections.abc import Mapping

from arena.items.store import ItemState

_LACKS: Mapping[ItemState, str] = {
    "without picture": "without pictures (import with --fetch-images, or set IMAGE_HOSTS)",
    "without pair": "without answers from two models (python -m arena items answers FILE)",
    "hidden": "hidden by operators",
}


def shown_text(states: Counter[ItemState]) -> str:
    """Returns how many items can be shown, and what the others lack."""
    shown = f"{states['ready']:,} of {states.total():,} can be shown"
    lacks = lacks_text(states)
    return f"{shown}: {lacks}." if lacks else f"{shown}."


def lacks_text(states: Counter[ItemState]) -> str:
    """Returns how many items are in each state that keeps them from voters; empty if none is."""
    return "; ".join(f"{states[state]:,} {text}" for state, text in _LACKS.items() if states[state])
