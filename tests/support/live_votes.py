"""Live battles with a vote, planted in the database."""

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

from PIL import Image

import app  # noqa: F401 every table is there
from arena.database import Database
from arena.live.images import OwnImages
from arena.live.store import LiveStore, Opening, TurnAnswers
from arena.types import Names

COOKIE = hashlib.sha256(b"the cookie of the one who goes").hexdigest()


SECRET = "What is this mole on my arm?"


def bring(images: OwnImages, voter: int, battle: int, keep: bool) -> str:
    """Bring an image to a battle and return its token."""
    stream = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(stream, "PNG")

    async def chunks() -> AsyncIterator[bytes]:
        yield stream.getvalue()

    with ThreadPoolExecutor(
        1
    ) as apart:  # a test with a browser has a loop of its own in its thread
        token = apart.submit(asyncio.run, images.receive(voter, chunks())).result().token
    images.attach(voter, [token], battle, keep)
    return token


def live_vote(database: Database, voter: int) -> int:
    """Ask live, get answers, vote; return the battle."""
    store = LiveStore(database)
    store.register_models(["one", "two"])
    battle = store.begin(voter, Opening(SECRET, 1, keep=True))
    answers = Names(f"{SECRET} A", f"{SECRET} B")
    thinking = (f"I look: {SECRET}", "")
    store.answer(
        battle.id, TurnAnswers(Names("one", "two"), answers, False, False, thinking=thinking)
    )
    store.vote(voter, battle.token, "a", "terms")
    return battle.id
