"""Live setup: the catalogue's models and live battles, built from the settings on the app's database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import APIRouter

from arena.battles.lending import Lending
from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.budget import LIVE, Budget, Ceilings
from arena.database import Database, DatabaseError, now
from arena.inference.catalogue import Models, read_catalogue
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.items.store import ItemBank
from arena.live.images import OwnImages
from arena.live.pause import check_pause
from arena.live.queue import GenerationQueue
from arena.live.sessions import LiveSessions
from arena.live.store import LiveStore
from arena.settings import Settings, secret
from arena.web.live_api import LiveApi

TIDY_SECONDS = 600

log = logging.getLogger(__name__)


class LiveSetup:
    """Services of live battles."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        items: ItemBank,
        pictures: PictureStore,
        terms: str,
    ) -> None:
        """Raises CatalogueError and SettingError for a wrong catalogue, LiveModelError for a name that is taken."""
        self.models = Models(read_catalogue(settings.models, secret), settings.local_models)
        self.vlms = [self.models.vlm(card.name) for card in self.models.catalogue.live]
        store = LiveStore(database, settings.vote_limits)
        images = OwnImages(database, settings.own_dir)
        store.register_models([vlm.card.name for vlm in self.vlms])
        live = settings.live
        networks = Networks(settings.trusted_hops)
        self.budget = Budget(
            database, Ceilings(live.battle_budget, live.day_budget, live.total_budget), LIVE
        )
        lending = Lending(database, settings.oauth is not None)
        queue = GenerationQueue(live.at_once, partial(check_pause, database))
        sessions = LiveSessions(self.vlms, store, images, self.budget, lending, queue)
        scaled = ScaledPictures(pictures, settings.scaled_dir)
        self.battles = LiveApi(
            sessions, store, images, items, settings.demo_bank, pictures, scaled, terms, networks
        )
        self._voters = Voters(database)

    def router(self) -> APIRouter:
        return self.battles.router(self._voters)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the clean-up while the server runs, and close the models with it."""
        tidying = asyncio.create_task(self._tidy())
        try:
            yield
        finally:
            tidying.cancel()
            await self.models.aclose()

    async def _tidy(self) -> None:
        """Delete expired images and networks, and commit the reservations of dead servers."""
        while True:
            try:
                await asyncio.to_thread(self.battles.images.sweep, now())
                await asyncio.to_thread(self.budget.commit_lost)
                await asyncio.to_thread(self.battles.store.quotas.forget_networks)
            except (DatabaseError, OSError) as error:
                log.warning("own images were not tidied up: %s", error)
            await asyncio.sleep(TIDY_SECONDS)
