"""Gradio patches: sessions without state, and one server app a start.

For every session Gradio keeps a copy of the page's whole configuration: 370 kB and 19 ms here, for any session name
that anyone invents. Our page has no state: battles are in the database, and a visitor's input comes with each call. So
each call gets a new session, in 0.1 ms, and any server can answer any visitor.

While pages are built, Gradio makes a server app of them at each step: two for the first page, one for each other page
and one for the queue. Mounting makes one more, and only that one serves. The others took half of a start.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

from fastapi import FastAPI
from gradio import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.routing import Mount


class _OneCallSession(SessionState):
    """The session of one call, with the components as built. Deep links are disabled, so that it records nothing."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values = {}
        self.state_data = {}
        self._state_ttl = {}
        self.is_closed = False

    def __setitem__(self, key: int, value: object) -> None:
        self.blocks_config.blocks[key] = value  # pyright: ignore[reportArgumentType]

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: object) -> None:
        pass


class _NoSessions(StateHolder):
    """A store of sessions that makes a new one for each call."""

    def __getitem__(self, session_id: str) -> SessionState:
        return _OneCallSession(self.blocks)


def keep_no_sessions(app: FastAPI, page: Blocks) -> None:
    """Gives a page mounted on an app a session store that keeps nothing."""
    holder = _NoSessions()
    holder.set_blocks(page)
    for route in app.routes:
        if isinstance(route, Mount) and isinstance(route.app, App):
            route.app.state_holder = holder


@contextmanager
def without_server_apps() -> Iterator[None]:
    """Keeps Gradio from making server apps of pages while they are built."""
    create_app = App.create_app
    App.create_app = staticmethod(lambda *_, **__: None)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        App.create_app = staticmethod(create_app)
