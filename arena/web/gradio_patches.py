"""Sessions that keep nothing.

Gradio keeps for every session a copy of the page's whole configuration: 370 kB and 19 ms here, for whatever name of a
session anyone invents. Our page holds no state: a battle stands in the database, and what a visitor chose comes with
each call. So a session is made anew at each call, in a tenth of a millisecond, and any server answers any visitor.
"""

from copy import copy

from fastapi import FastAPI
from gradio import Blocks
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.routing import Mount


class _Passing(SessionState):
    """The components as the page was built, for one call; nothing is noted for deep links, which are closed."""

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
    def __getitem__(self, session_id: str) -> SessionState:
        return _Passing(self.blocks)


def keep_no_sessions(app: FastAPI, page: Blocks) -> None:
    """Let the page that is mounted on an app keep nothing between two calls."""
    holder = _NoSessions()
    holder.set_blocks(page)
    for route in app.routes:
        if isinstance(route, Mount) and isinstance(route.app, App):
            route.app.state_holder = holder
