"""Campaign setup: the services behind workers' pages."""

from collections.abc import Mapping

from arena.admin.campaigns import CampaignAdmin
from arena.battles.quotas import Networks
from arena.battles.store import BattleStore
from arena.battles.voters import Voters
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.io.scaled_pictures import ScaledPictures
from arena.seats.campaigns import CampaignStore
from arena.seats.qualification import Qualification
from arena.seats.seats import SeatStore
from arena.seats.spec import CampaignSpec
from arena.seats.task import SeatTask
from arena.settings import Settings
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages


def battle_task(
    settings: Settings, database: Database, admin: CampaignAdmin, scaled: ScaledPictures, terms: str
) -> BattleTask:
    """Return the task of battles, which shares the states of the operators' side."""
    work = BattleWork(
        database, BattleStore(database, settings.vote_limits), admin.items, admin.states
    )
    return BattleTask(work, scaled, terms)


def build_campaigns(
    settings: Settings, database: Database, tasks: Mapping[str, tuple[type[CampaignSpec], SeatTask]]
) -> CampaignPages:
    """Return the campaigns' pages; `tasks`: of each kind of campaign its spec, and what its people do."""
    kinds = {name: spec for name, (spec, _) in tasks.items()}
    does = {name: one for name, (_, one) in tasks.items()}
    stores = (CampaignStore(database, kinds), SeatStore(database), Qualification(database))
    return CampaignPages(
        *stores, does, Voters(database), Networks(settings.trusted_hops), settings.mturk_hosts
    )
