"""Campaign setup: the services behind workers' pages."""

from arena.admin.campaigns import CampaignAdmin
from arena.battles.quotas import Networks
from arena.battles.store import BattleStore
from arena.campaign_battles.spec import TASK
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.io.scaled_pictures import ScaledPictures
from arena.seats.qualification import Qualification
from arena.settings import Settings
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages


def build_campaigns(
    settings: Settings, database: Database, admin: CampaignAdmin, scaled: ScaledPictures, terms: str
) -> CampaignPages:
    """Return the campaigns' pages, with the task of each kind; they share the states of the operators' side."""
    work = BattleWork(database, BattleStore(database, settings.vote_limits), admin.items, admin.states)
    tasks, networks = {TASK: BattleTask(work, scaled, terms)}, Networks(settings.trusted_hops)
    return CampaignPages(admin.store, admin.seats, Qualification(database), tasks, networks, settings.mturk_hosts)
