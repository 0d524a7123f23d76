"""Admin setup: the operators' dashboard, actions and public export, built from the settings."""

from collections.abc import Callable, Mapping

from arena.admin.dashboard import DashboardService
from arena.admin.public_export import PublicFiles
from arena.admin.service import AdminService
from arena.budget import JUDGE, Budget, Ceilings
from arena.database import Database
from arena.fraud.flags import FlagService
from arena.server.hub_backup import HubBackup
from arena.settings import Settings
from arena.web import admin_api, export_api
from arena.web.admin_auth import Operators
from arena.web.live_setup import LiveSetup


class AdminSetup:
    """Services behind the operators' tab, and the routers of the operators and of the public export."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        operators: Operators,
        backup: HubBackup | None,
        live: LiveSetup,
        queues: Mapping[str, Callable[[], int]],
    ) -> None:
        """`queues` maps a queue's name to a function that returns its length."""
        judge, images = settings.judge, live.battles.images
        ceilings = Ceilings(judge.job_budget, judge.day_budget, judge.total_budget)
        budgets = {"Live answers": live.budget, "Judge": Budget(database, ceilings, JUDGE)}
        flagged = FlagService(database, settings.counts).flagged
        self.operators, self.service = operators, AdminService(database, images)
        self.watch = DashboardService(database, settings.data_dir, backup, budgets, queues, flagged)
        files = PublicFiles(database, settings.public_dir)
        self.routers = (admin_api.routes(images, operators), export_api.routes(files))
