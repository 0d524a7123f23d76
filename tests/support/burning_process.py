"""The app as a process of its own in which work goes on that no caller waits for: a stand-in for whatever a stranger
may find, in Gradio's threads, in those of the routes and in those of asyncio. `/burn` begins it."""

import asyncio
import sys
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app import AppContext, create_app
from arena.server import uvicorn_server as serving
from arena.settings import Settings


def spin() -> None:
    """Use a processor for ever."""
    while True:
        sum(range(1_000))


def hold() -> None:
    """Hold a thread for ever."""
    while True:
        time.sleep(1)


def burn(_: Request) -> PlainTextResponse:
    """Never answer."""
    spin()
    return PlainTextResponse("never")


async def hold_all(_: Request) -> PlainTextResponse:
    """Let work wait for every thread that asyncio has."""
    await asyncio.gather(*(asyncio.to_thread(hold) for _ in range(100)))
    return PlainTextResponse("never")


def main() -> None:
    settings = Settings.from_env()
    context = AppContext(settings)
    app = create_app(context)
    app.router.routes[:0] = [Route("/burn", burn), Route("/hold", hold_all)]
    serving.bind(settings)(app, settings, context.arena.database.close)


if __name__ == "__main__":
    sys.exit(main())
