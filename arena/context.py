"""Context: creates every service of the arena once, for the server and for commands."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from arena.admin.campaigns import CampaignAdmin
from arena.admin.dashboard import DashboardService, StoppedJob
from arena.admin.projects import project_admin
from arena.admin.public_export import PublicFiles
from arena.admin.service import AdminService
from arena.authoring.draft_worker import DraftWorker
from arena.authoring.store import DraftStore
from arena.authoring.work import Writing
from arena.battles.blindness import Blindness
from arena.battles.lending import Lending
from arena.battles.outcomes import Outcomes
from arena.battles.quotas import Networks
from arena.battles.sampling import PairSampler
from arena.battles.store import BattleStore
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Voters
from arena.budget import JUDGE, LIVE, Budget, Ceilings
from arena.campaign_battles.spec import closed_sources
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.fraud.eligibility import VoteEligibility, choose_first_official
from arena.inference.catalogue import Models, read_catalogue
from arena.inference.local_process import LocalVLM
from arena.inference.weights import Downloads
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.items.fact_store import FactStore
from arena.items.importers import ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.leaderboard.service import Leaderboard
from arena.live.credits import Credits
from arena.live.images import OwnImages
from arena.live.models import LiveModels
from arena.live.pause import check_pause
from arena.live.queue import GenerationQueue
from arena.live.sessions import LiveSessions
from arena.live.store import LiveStore
from arena.live.tidying import Tidier
from arena.server.hub_backup import HubBackup, HubDataset
from arena.server.hub_facts import refreshing
from arena.server.hub_token import catalogue_keys, operator_is_visitor, operator_token
from arena.settings import Settings


class ArenaContext:
    """The arena's services on one database, and its background work."""

    def __init__(self, settings: Settings) -> None:
        """Opens the database, restores it if it is empty, imports the demo items, and creates the services.

        Raises DatabaseError; HubError and ChangeLogError for a copy that cannot be restored; CatalogueError and
        SettingError for a wrong catalogue; LiveModelError for a model's name that is already used.
        """
        self.settings = settings
        self.database = Database(settings.database_url)
        self.database.become_server()
        self.backup = restored_backup(settings, self.database)
        self.networks = Networks(settings.trusted_hops)
        self.voters = Voters(self.database)
        self.credits = Credits(operator_token if operator_is_visitor(settings) else None)
        self.lending = Lending(self.database, login=settings.oauth is not None)
        self.items = ItemBank(self.database, settings.image_hosts)
        self.pictures = PictureStore(settings.pictures_dir)
        self.scaled = ScaledPictures(self.pictures, settings.scaled_dir)
        if settings.demo_bank != "off":
            ItemImporter(Ingest(self.database), self.items, self.pictures).import_demo()
        self.models = models_of(settings)
        self.facts = FactStore(self.database)
        self.live_models = live_models_of(self.models, self.facts, self.items)

        # on a Space with a login, the board of counted voters opens first
        official = "counted" if settings.space and settings.oauth else "everyone"
        choose_first_official(self.database, settings.counted, official)
        self.eligibility = VoteEligibility(self.database, settings.counted)
        self.votes = VoteTable(self.database)
        self.leaderboard = Leaderboard(self.database, self.votes, settings.counted)
        self.outcomes = Outcomes(self.database, closed_sources)
        self.blindness = Blindness(self.database, self.items, settings.demo_bank, closed_sources)

        self.campaign_admin = CampaignAdmin(settings, self.database, self.items, self.votes)
        self.battles = BattleStore(self.database, settings.vote_limits)
        self.sampler = PairSampler(
            self.battles,
            self.items,
            settings.demo_bank,
            self.votes,
            settings.vote_limits,
        )
        self.campaign_battles = BattleWork(
            database=self.database,
            store=self.battles,
            items=self.items,
            states=self.campaign_admin.states,
        )

        live = settings.live
        self.live_images = OwnImages(self.database, settings.own_dir)
        self.live_battles = LiveStore(self.database, settings.vote_limits)
        self.live_battles.register_models([vlm.card.name for vlm in self.live_models.vlms])
        self.facts.take_cards(self.models.catalogue.cards)
        ceilings = Ceilings(live.battle_budget, live.day_budget, live.total_budget)
        self.live_budget = Budget(self.database, ceilings, LIVE)
        self.live_sessions = LiveSessions(
            models=self.live_models,
            store=self.live_battles,
            votes=self.votes,
            images=self.live_images,
            budget=self.live_budget,
            lending=self.lending,
            credits=self.credits,
            queue=GenerationQueue(live.at_once, partial(check_pause, self.database)),
        )

        self.projects = project_admin(
            settings, self.database, self.items, self.pictures, self.models
        )
        self.writing = Writing(DraftStore(self.database), self.pictures)
        self.draft_worker = DraftWorker(self.projects.store, self.projects.drafting)

        self.admin = AdminService(
            database=self.database,
            images=self.live_images,
            counted=settings.counted,
            uploads=settings.uploads_dir,
            credits=self.credits,
        )
        self.public_files = PublicFiles(self.database, settings.public_dir)

    def dashboard(
        self,
        queues: Mapping[str, Callable[[], int]],
        stopped_jobs: Callable[[], Sequence[StoppedJob]] = lambda: (),
    ) -> DashboardService:
        """Returns the service of the operators' overview; `queues` has the lengths of further queues by name.

        `stopped_jobs` returns the last jobs of the site's judge that stopped.
        """
        judge = self.settings.judge
        judge_ceilings = Ceilings(judge.job_budget, judge.day_budget, judge.total_budget)
        return DashboardService(
            database=self.database,
            settings=self.settings,
            backup=self.backup,
            budget_of={
                "Live answers": self.live_budget,
                "Judge": Budget(self.database, judge_ceilings, JUDGE),
                "Draft answers": self.projects.drafting.budget,
            },
            queues={"Live answers": lambda: self.live_sessions.waiting, **queues},
            live_models=self.live_models,
            campaigns=self.campaign_admin,
            projects=self.projects,
            stopped=stopped_jobs,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs backups, tidying, draft answers and the refresh of models' facts, and closes the models at the end."""
        async with AsyncExitStack() as stack:
            if self.backup:
                await asyncio.to_thread(self.backup.start)
                stack.push_async_callback(asyncio.to_thread, self.backup.stop)
            stack.push_async_callback(self.models.aclose)
            tidier = Tidier(
                images=self.live_images,
                budget=self.live_budget,
                quotas=self.live_battles.quotas,
                credits=self.credits,
                voters=self.voters,
            )
            await stack.enter_async_context(tidier.running())
            await stack.enter_async_context(self.live_models.running())
            await stack.enter_async_context(self.draft_worker.running())
            await stack.enter_async_context(refreshing(self.facts))
            yield


def models_of(settings: Settings) -> Models:
    """Returns the models that the operator has named. Raises CatalogueError and SettingError."""
    catalogue = read_catalogue(settings.models, catalogue_keys(settings))
    return Models(catalogue, settings.local_models)


def live_models_of(models: Models, facts: FactStore, items: ItemBank) -> LiveModels:
    """Returns the models of live battles, with those that are loaded on this machine."""
    vlms = [models.vlm(card.name) for card in models.catalogue.live]
    local_cards = [vlm.card for vlm in vlms if isinstance(vlm, LocalVLM)]
    downloads = Downloads(local_cards, models.load)
    return LiveModels(vlms, downloads, facts.take_prices, items.retired_models)


def restored_backup(settings: Settings, database: Database) -> HubBackup | None:
    """Returns the backup on the Hub, if set, after restoring an empty database from it."""
    if settings.backup is None:
        return None
    hub = HubDataset(settings.backup.dataset, settings.backup.token)
    backup = HubBackup(database, settings.pictures_dir, hub)
    backup.restore()
    return backup
