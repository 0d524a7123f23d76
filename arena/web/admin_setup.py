"""Admin setup: the operators' dashboard, actions and public export, built from the settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter

from arena.admin.dashboard import DashboardService
from arena.admin.public_export import PublicFiles
from arena.admin.service import AdminService
from arena.budget import JUDGE, LIVE, Budget, Ceilings
from arena.database import Database
from arena.fraud.flags import FlagService
from arena.live.images import OwnImages
from arena.server.hub_backup import HubBackup
from arena.settings import Settings
from arena.web import admin_api as routes
from arena.web import export_api
from arena.web.admin_auth import Operators


@dataclass(frozen=True)
class AdminSetup:
    """Services behind the operators' tab and routes."""

    operators: Operators
    watch: DashboardService
    service: AdminService
    images: OwnImages
    files: PublicFiles

    @classmethod
    def build(
        cls,
        settings: Settings,
        database: Database,
        operators: Operators,
        backup: HubBackup | None,
        queues: Mapping[str, Callable[[], int]],
    ) -> "AdminSetup":
        """Build the services; `queues` maps a queue's name to a function that returns its length."""
        live, judge = settings.live, settings.judge
        budgets = {
            "Live answers": Budget(database, Ceilings(live.battle_budget, live.day_budget, live.total_budget), LIVE),
            "Judge": Budget(database, Ceilings(judge.job_budget, judge.day_budget, judge.total_budget), JUDGE),
        }
        flagged = FlagService(database, settings.counts).flagged
        images = OwnImages(database, settings.own_dir)
        return cls(
            operators,
            DashboardService(database, settings.data_dir, backup, budgets, queues, flagged),
            AdminService(database, images),
            images,
            PublicFiles(database, settings.public_dir),
        )

    def routers(self) -> tuple[APIRouter, APIRouter]:
        """Return the operators' routes, and the public ones."""
        return routes.routes(self.images, self.operators), export_api.routes(self.files)
