"""How the tabs' events are bound, and what a late answer leaves alone.

While an event's answer is on its way, Gradio drops what triggers it again (`trigger_mode="once"`), and an answer may
come after that of a newer event.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyio import from_thread

BINDING: Mapping[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
"""Beside Gradio's queue, so that a vote never waits behind other events."""
RAW: Mapping[str, Any] = {**BINDING, "preprocess": False}
"""For a handler that looks up by itself whatever the browser sends."""
LATEST: Mapping[str, Any] = {**RAW, "trigger_mode": "always_last"}
"""For what is chosen, typed or sent: what comes while an answer is on its way is asked for after it."""
EACH: Mapping[str, Any] = {**RAW, "trigger_mode": "multiple"}
"""For what is to be done as often as it is asked for."""


def offered(choices: Sequence[str], value: str, sent: object) -> dict[str, Any]:
    """Return what a list offers, and its value where another was sent: a choice made since is not written over."""
    return {"choices": list(choices)} if value == sent else {"choices": list(choices), "value": value}


def still_there(request: Any) -> Callable[[], bool]:
    """Return what tells a handler, which runs in a thread, whether the page still waits for its answer."""
    return lambda: not from_thread.run(request.is_disconnected)
