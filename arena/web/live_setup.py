"""Live setup: the catalogue's models, live battles and the chat, built from the settings on the app's database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter

from arena.battles.quotas import Networks
from arena.battles.store import BattleStore
from arena.budget import LIVE, Budget, Ceilings
from arena.database import Database, DatabaseError, now
from arena.inference.catalogue import Models, read_catalogue
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.live.chat import Chats
from arena.live.images import OwnImages
from arena.live.pause import check_pause
from arena.live.queue import GenerationQueue
from arena.live.sessions import LiveSessions
from arena.live.store import LiveStore
from arena.settings import Settings, secret
from arena.web import chat_api as chat_routes
from arena.web import live_api as routes
from arena.web.live_api import LiveServices

TIDY_SECONDS = 600

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LiveSetup:
    """Services of live battles and the chat."""

    answering: Models
    budget: Budget
    chats: Chats
    services: LiveServices

    @classmethod
    def build(
        cls, settings: Settings, database: Database, items: ItemBank, pictures: PictureStore, terms: str
    ) -> "LiveSetup":
        """Build the services.

        Raises CatalogueError and SettingError for a wrong catalogue, LiveModelError for a name that is taken.
        """
        answering = Models(read_catalogue(settings.models, secret), settings.local_models)
        vlms = [answering.vlm(card.name) for card in answering.catalogue.live]
        store, battle_store = LiveStore(database, settings.vote_limits), BattleStore(database)
        store.register_models([vlm.card.name for vlm in vlms])
        images = OwnImages(database, settings.own_dir)
        live = settings.live
        budget = Budget(database, Ceilings(live.battle_budget, live.day_budget, live.total_budget), LIVE)
        queue = GenerationQueue(live.at_once, partial(check_pause, database))
        sessions = LiveSessions(vlms, store, images, budget, queue)
        services = LiveServices(
            sessions,
            store,
            images,
            battle_store,
            items,
            settings.demo_bank,
            pictures,
            terms,
            Networks(settings.trusted_hops),
        )
        return cls(answering, budget, Chats(vlms, database, images, budget, queue), services)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that answer here."""
        return tuple(self.chats.vlms)

    def routers(self) -> tuple[APIRouter, APIRouter]:
        """Return the routes of battles and chat."""
        return routes.routes(self.services), chat_routes.routes(self.chats, self.services.battle_store)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the clean-up while the server runs, and close the models with it."""
        tidying = asyncio.create_task(self._tidy())
        try:
            yield
        finally:
            tidying.cancel()
            await self.answering.aclose()

    async def _tidy(self) -> None:
        """Delete expired images and networks, and commit the reservations of dead servers."""
        while True:
            try:
                await asyncio.to_thread(self.services.images.sweep, now())
                await asyncio.to_thread(self.budget.commit_lost)
                await asyncio.to_thread(self.services.store.quotas.forget_networks)
            except (DatabaseError, OSError) as error:
                log.warning("own images were not tidied up: %s", error)
            await asyncio.sleep(TIDY_SECONDS)
