"""Campaign setup: the services behind workers' pages."""

from arena.battles.quotas import Networks
from arena.battles.store import BattleStore
from arena.campaign_battles.spec import TASK, BattleSpec
from arena.campaign_battles.state import CampaignStates
from arena.campaign_battles.task import BattleWork
from arena.database import Database
from arena.io.scaled_pictures import ScaledPictures
from arena.items.store import ItemBank
from arena.seats.campaigns import CampaignStore
from arena.seats.qualification import Qualification
from arena.seats.seats import SeatStore
from arena.settings import Settings
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages

KINDS = {TASK: BattleSpec}
"""The spec of each task that a campaign can be of."""


def build_campaigns(
    settings: Settings, database: Database, items: ItemBank, scaled: ScaledPictures, terms: str
) -> CampaignPages:
    """Return the campaigns' pages with one task for each of KINDS."""
    store, campaigns = BattleStore(database, settings.vote_limits), CampaignStore(database, KINDS)
    work = BattleWork(database, store, items, CampaignStates(database, items, campaigns))
    seats, networks = SeatStore(database), Networks(settings.trusted_hops)
    tasks = {TASK: BattleTask(work, scaled, terms)}
    return CampaignPages(campaigns, seats, Qualification(database), tasks, networks, settings.mturk_hosts)
