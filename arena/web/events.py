"""How the tabs' events are bound, what they take, and what a late answer leaves alone.

While an event's answer is on its way, Gradio drops what triggers it again (`trigger_mode="once"`), and an answer may
come after that of a newer event.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from anyio import from_thread

MOST_TEXT = 8_000
"""Characters of what is typed or chosen, where a component has no `max_length`."""
MOST_NUMBER = 1e300
"""Above it stand infinity and what is no number; a place that does not exist is for the handler."""

BINDING: Mapping[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
"""Beside Gradio's queue, so that a vote never waits behind other events."""
RAW: Mapping[str, Any] = {**BINDING, "preprocess": False}
"""For a handler that looks up by itself whatever the browser sends."""
LATEST: Mapping[str, Any] = {**RAW, "trigger_mode": "always_last"}
"""For what is chosen, typed or sent: what comes while an answer is on its way is asked for after it."""
EACH: Mapping[str, Any] = {**RAW, "trigger_mode": "multiple"}
"""For what is to be done as often as it is asked for."""

_TAKEN: Mapping[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(("textbox", "dropdown", "radio", "datetime"), ("text", (str,))),
    "checkbox": ("true or false", (bool,)),
    "number": ("a number", (int, float)),
}
"""What a browser sends for each kind of component."""


class Argument(NamedTuple):
    """What an event takes from one component, if anything: `most` are characters, or how large a number may be."""

    label: str
    taken: str
    types: tuple[type, ...]
    most: float

    @classmethod
    def of(cls, component: str, label: str, max_length: int | None) -> "Argument":
        """Return what a component of a kind sends."""
        taken, types = _TAKEN[component]
        return cls(label or "This event", taken, types, max_length or (MOST_TEXT if types == (str,) else MOST_NUMBER))

    def misfit(self, value: object) -> str | None:
        """Say what is wrong with a value, if anything: the browser's own bounds are no protection."""
        if value is None:
            return None
        if type(value) in self.types and isinstance(value, str) and len(value) > self.most:
            return (
                f"{self.label} takes at most {self.most:,} characters, and these are {len(value):,}. Make it shorter."
            )
        fits = type(value) in self.types and (not isinstance(value, int | float) or abs(value) <= self.most)
        return None if fits else f"{self.label} takes {self.taken}."


def misfit(arguments: Sequence[Argument], sent: object) -> str | None:
    """Say what is wrong with what is sent to an event, if anything."""
    if not isinstance(sent, list) or len(sent) != len(arguments):
        count = f", and these are {len(sent)}" if isinstance(sent, list) else ""
        return f"This event takes a list of {len(arguments)} values{count}."
    return next(filter(None, (argument.misfit(value) for argument, value in zip(arguments, sent, strict=True))), None)


def offered(choices: Sequence[str], value: str, sent: object) -> dict[str, Any]:
    """Return what a list offers, and its value where another was sent: a choice made since is not written over."""
    return {"choices": list(choices)} if value == sent else {"choices": list(choices), "value": value}


def still_there(request: Any) -> Callable[[], bool]:
    """Return what tells a handler, which runs in a thread, whether the page still waits for its answer."""
    return lambda: not from_thread.run(request.is_disconnected)
