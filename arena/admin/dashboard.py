"""Dashboard: an operator's overview of a running arena, read from the database and the disk."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import BigInteger, Connection, func, select, type_coerce

from arena.admin.actions import OperatorAction, latest_actions
from arena.admin.campaigns import CampaignAdmin, CampaignStanding
from arena.admin.checklist import ChecklistEntry, checklist
from arena.admin.flagged import FlaggedVoter, flagged_voters
from arena.admin.moderation import HiddenItem, Uploads, hidden_items, uploads
from arena.admin.projects import ProjectAdmin, ProjectStanding
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.budget import Budget, Total
from arena.database import EPOCH, Database, now
from arena.fraud.eligibility import official_board
from arena.fraud.flags import raised_flags
from arena.items.store import Bank
from arena.live.models import LiveModels
from arena.live.pause import paused_since
from arena.live.store import LiveStore
from arena.server.hub_backup import BackupState, HubBackup
from arena.settings import BoardVoters, CountSettings, Settings

MOST_DAYS = 30
LEAST_DAYS = 7
"""MOST_DAYS, LEAST_DAYS: bounds on the days in the chart of votes, which begins at the first vote."""
FRESH = timedelta(days=7)
"""The age up to which a failure is shown."""
MOST_ACTS = 50
"""The most actions of operators."""
MOST_CAMPAIGNS = 20
"""The most campaigns, and the most projects, the newest ones."""
_DAY = timedelta(days=1)
_DAY_MICROSECONDS = _DAY // timedelta(microseconds=1)


class StoppedJob(NamedTuple):
    """A job that stopped before its end."""

    begun: datetime
    model: str
    problem: str


@dataclass(frozen=True)
class Dashboard:
    """Everything on the operator's page."""

    checklist: tuple[ChecklistEntry, ...]
    live_models: int
    """The number of models that can answer now."""
    live_problems: Sequence[str]
    """The reasons why other models can't."""
    failed_models: Mapping[str, str]
    """The reasons why live models couldn't be loaded, by name."""
    days: Mapping[date, int]
    """Choices stored on each of the last days (UTC), today the last."""
    queues: Mapping[str, int]
    """The length of each queue, by name."""
    stopped: tuple[StoppedJob, ...]
    """The last jobs of the site's judge that stopped."""
    failures: Mapping[str, int]
    """The failures of the last days by model, the most first."""
    counted: CountSettings
    """The operator's settings of votes that count."""
    official: BoardVoters
    """The official board now, by the settings or the database."""
    flagged: tuple[FlaggedVoter, ...]
    """The latest flagged voters on the official board."""
    all_flagged: int
    """The number of all flagged voters."""
    campaigns: tuple[CampaignStanding, ...]
    projects: tuple[ProjectStanding, ...]
    links: Mapping[str, str]
    """The path and query of each common link, by the name of its campaign or project."""
    disk_bytes: int
    """The size of the data folder's disk, as this server sees it."""
    free_bytes: int
    copy: BackupState | None
    """None: there is no Hub backup."""
    budgets: Mapping[str, Total]
    paused_since: datetime | None
    bank: Bank
    hidden: tuple[HiddenItem, ...]
    uploads: Uploads
    acts: tuple[OperatorAction, ...]
    read_at: datetime


@dataclass(frozen=True)
class DashboardService:
    """The sources of the dashboard."""

    database: Database
    settings: Settings
    backup: HubBackup | None
    budget_of: Mapping[str, Budget]
    queues: Mapping[str, Callable[[], int]]
    live_models: LiveModels
    campaigns: CampaignAdmin
    projects: ProjectAdmin
    stopped: Callable[[], Sequence[StoppedJob]] = lambda: ()
    """Returns the last jobs of the site's judge that stopped; the jobs are `scoring`'s."""

    def overview(self) -> Dashboard:
        """Returns the current state. Raises DatabaseError and OSError."""
        present = now()
        disk = shutil.disk_usage(self.settings.data_dir)
        failures = Counter(LiveStore(self.database).failures(present - FRESH)).most_common()
        budgets = {name: budget.total() for name, budget in self.budget_of.items()}
        queues = {name: length() for name, length in self.queues.items()}
        stopped = tuple(self.stopped())
        copy = self.backup.state() if self.backup else None
        campaigns = tuple(self.campaigns.standings(MOST_CAMPAIGNS))
        projects = tuple(self.projects.standings(MOST_CAMPAIGNS))
        links = {
            **self.campaigns.links(standing.campaign for standing in campaigns),
            **self.projects.links(standing.campaign for standing in projects),
        }
        bank = self.campaigns.items.bank()
        counted = self.settings.counted
        live_models = len(self.live_models.usable)
        with self.database.read() as connection:
            official = official_board(connection, counted)
            # The default settings count everyone.
            official_settings = counted if official == "counted" else CountSettings()
            flags = raised_flags(connection, official_settings)
            return Dashboard(
                checklist=checklist(self.settings, connection, live_models),
                live_models=live_models,
                live_problems=self.live_models.problems,
                failed_models=self.live_models.load_errors,
                days=_days(connection, present),
                queues=queues,
                stopped=stopped,
                failures=dict(failures),
                counted=counted,
                official=official,
                flagged=flagged_voters(connection, flags),
                all_flagged=len({flag.voter for flag in flags}),
                campaigns=campaigns,
                projects=projects,
                links=links,
                disk_bytes=disk.total,
                free_bytes=disk.free,
                copy=copy,
                budgets=budgets,
                paused_since=paused_since(connection),
                bank=bank,
                hidden=hidden_items(connection),
                uploads=uploads(connection),
                acts=latest_actions(connection, MOST_ACTS),
                read_at=present,
            )


def _days(connection: Connection, present: datetime) -> dict[date, int]:
    """Returns the number of choices by day (UTC). Until the last line, a day is its number since 1970."""
    today = (present - EPOCH) // _DAY
    voted_at = type_coerce(BATTLE.c.voted_at, BigInteger)  # microseconds since 1970
    first_vote = connection.scalar(select(func.min(voted_at)).where(HAS_CHOICE))
    voted_day = (voted_at // _DAY_MICROSECONDS).label("day")
    is_recent = BATTLE.c.voted_at >= EPOCH + (today - MOST_DAYS + 1) * _DAY
    query = select(voted_day, func.count()).where(HAS_CHOICE, is_recent).group_by(voted_day)
    choices = Counter({day: number for day, number in connection.execute(query)})
    all_days = 0 if first_vote is None else today - first_vote // _DAY_MICROSECONDS + 1
    shown_days = min(max(all_days, LEAST_DAYS), MOST_DAYS)
    days = range(today - shown_days + 1, today + 1)
    return {(EPOCH + day * _DAY).date(): choices[day] for day in days}
