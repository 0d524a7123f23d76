"""Readiness: the number of items that can be shown to voters, and the needs of the others."""

from collections import Counter
from collections.abc import Mapping

from arena.items.store import ItemState

_LACKS: Mapping[ItemState, str] = {
    "without picture": "without pictures (import with --fetch-images, or set IMAGE_HOSTS)",
    "without pair": "without answers from two models (python -m arena items answers FILE)",
    "hidden": "hidden by operators",
}


def shown_text(states: Counter[ItemState]) -> str:
    """Returns a sentence with the number of items that can be shown, and the needs of the others."""
    count = f"{states['ready']:,} of {states.total():,} can be shown"
    lacks = lacks_text(states)
    return f"{count}: {lacks}." if lacks else f"{count}."


def lacks_text(states: Counter[ItemState]) -> str:
    """Returns the number of items in each state that hides them from voters, in words; empty if there are none."""
    return "; ".join(f"{states[state]:,} {text}" for state, text in _LACKS.items() if states[state])
