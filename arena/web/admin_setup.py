"""The operator's wing: what operators see and may do, and what they publish, built from the settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter

from arena.admin.dashboard import Watch
from arena.admin.public_export import PublicFiles
from arena.admin.service import OperatorDesk
from arena.budget import JUDGE, LIVE, Ceilings, Ledger
from arena.database import Database
from arena.fraud.flags import Flagging
from arena.live.images import OwnImages
from arena.server.hub_backup import Mirror
from arena.settings import Settings
from arena.web import admin_api as routes
from arena.web import export_api as public_routes
from arena.web.admin_auth import Operators


@dataclass(frozen=True)
class OperatorWing:
    """The rooms of the operators."""

    operators: Operators
    watch: Watch
    desk: OperatorDesk
    images: OwnImages
    files: PublicFiles

    @classmethod
    def build(
        cls,
        settings: Settings,
        database: Database,
        operators: Operators,
        mirror: Mirror | None,
        queues: Mapping[str, Callable[[], int]],
    ) -> "OperatorWing":
        """Build the rooms; `queues` tell how many wait in each, by its name."""
        live, judge = settings.live, settings.judge
        ledgers = {
            "Live answers": Ledger(database, Ceilings(live.battle_budget, live.day_budget, live.total_budget), LIVE),
            "Judge": Ledger(database, Ceilings(judge.job_budget, judge.day_budget, judge.total_budget), JUDGE),
        }
        flagged = Flagging(database, settings.counts).flagged
        images = OwnImages(database, settings.own_dir)
        return cls(
            operators,
            Watch(database, settings.data_dir, mirror, ledgers, queues, flagged),
            OperatorDesk(database, images),
            images,
            PublicFiles(database, settings.public_dir),
        )

    def routers(self) -> tuple[APIRouter, APIRouter]:
        """Return the operators' routes, and those for everybody."""
        return routes.routes(self.images, self.operators), public_routes.routes(self.files)
