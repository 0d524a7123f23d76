"""ZeroGPU Spaces: the same app, middleware included, behind Gradio's launch(), the only way such a Space starts.

launch() serves an empty front that forwards every request to our app, so nothing that launch() adds can be reached. The
GPU stays unused: models answer through their APIs.
"""

import signal
import sys
from collections.abc import Callable
from threading import Event

import gradio as gr
from gradio.routes import App
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.inference.catalogue import CatalogueError, read_catalogue
from arena.server.hub_token import catalogue_keys
from arena.server.logs import start_logging
from arena.server.uvicorn_server import CLOSING_SECONDS, allow_many_connections, exit_at_once
from arena.settings import SettingError, Settings, known_secrets

_LAUNCH = "/gradio_api/startup-events"
"""URL that launch() requests, once, when the server listens."""


class Front(App):
    """The app that launch() serves. It forwards requests to ours."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app
        self._has_launched = False
        self.closed = Event()
        """Set when the app has shut down."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._has_launched or not _is_launch(scope):
            await self._app(scope, receive, send)
            if scope["type"] == "lifespan":
                self.closed.set()
            return
        self._has_launched = True
        await PlainTextResponse("true")(scope, receive, send)


def _is_launch(scope: Scope) -> bool:
    """Whether launch() sent the request, which comes from this machine and without a proxy."""
    if scope["type"] != "http" or scope["path"] != _LAUNCH:
        return False
    peer = scope.get("client")
    is_local = peer is not None and peer[0] in ("127.0.0.1", "::1")
    return is_local and "x-forwarded-for" not in Headers(scope=scope)


def prepare(settings: Settings) -> None:
    """Prepares the app for a ZeroGPU Space. Raises CatalogueError for a local model, SettingError without `spaces`."""
    for card in read_catalogue(settings.models, catalogue_keys(settings)).cards:
        if card.kind == "local":
            raise CatalogueError(
                f"{card.name!r} is a local model, which this app can't run on a ZeroGPU Space. "
                "Remove it from MODELS, or give it an address (kind api)."
            )
    try:
        import spaces  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise SettingError(
            "SPACES_ZERO_GPU is set, but the package spaces is missing. Run: pip install spaces"
        ) from error
    spaces.GPU(_gpu_placeholder)  # The platform refuses an app without such a function.


def _gpu_placeholder() -> None:
    """Does nothing, and is never called."""


def serve(app: ASGIApp, settings: Settings, close: Callable[[], None]) -> None:
    """Serves through launch(). After a signal, finishes open requests and exits with 0, as `uvicorn_server.serve`."""
    allow_many_connections()
    start_logging(known_secrets())
    ended = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with gr.Blocks(analytics_enabled=False) as empty_page:
        pass
    try:
        front = Front(app)
        empty_page.launch(
            _app=front,
            server_name=settings.host,
            server_port=settings.port,
            prevent_thread_lock=True,
            quiet=True,
            share=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            run_history=False,
            enable_monitoring=False,
            num_workers=0,
        )
    except OSError:  # Gradio's message is about its own settings.
        sys.exit(
            f"Stereoscope didn't start: port {settings.port} is taken. Set PORT to a free one."
        )
    server = empty_page.server
    # These headers reveal the server software.
    server.config.encoded_headers = []
    server.server_state.default_headers = []
    server.config.timeout_graceful_shutdown = CLOSING_SECONDS
    ended.wait()
    server.should_exit = True
    front.closed.wait()
    exit_at_once(close)
