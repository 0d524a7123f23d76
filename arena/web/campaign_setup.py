"""Campaign setup: the services behind workers' pages."""

from collections.abc import Mapping

from arena.admin.campaigns import KINDS, CampaignAdmin
from arena.battles.quotas import Networks
from arena.battles.store import BattleStore
from arena.campaign_battles.spec import TASK
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.io.scaled_pictures import ScaledPictures
from arena.seats.campaigns import CampaignStore
from arena.seats.qualification import Qualification
from arena.seats.spec import CampaignSpec
from arena.seats.task import SeatTask
from arena.settings import Settings
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages


def build_campaigns(
    settings: Settings,
    database: Database,
    admin: CampaignAdmin,
    scaled: ScaledPictures,
    terms: str,
    others: Mapping[str, tuple[type[CampaignSpec], SeatTask]],
) -> CampaignPages:
    """Return the campaigns' pages; battles share the states of the operators' side, `others` are more kinds of task."""
    work = BattleWork(database, BattleStore(database, settings.vote_limits), admin.items, admin.states)
    kinds = KINDS | {name: spec for name, (spec, _) in others.items()}
    tasks: dict[str, SeatTask] = {TASK: BattleTask(work, scaled, terms)} | {
        name: one for name, (_, one) in others.items()
    }
    stores = (CampaignStore(database, kinds), admin.seats, Qualification(database))
    return CampaignPages(*stores, tasks, Networks(settings.trusted_hops), settings.mturk_hosts)
