"""Dashboard: an operator's overview of a running arena, read from the database and the disk."""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import BigInteger, Connection, func, select, type_coerce

from arena.admin.actions import OperatorAction, latest_actions
from arena.admin.moderation import HiddenItem, Uploads, hidden_items, uploads
from arena.battles.tables import LIVE_VOTE, VOTE
from arena.budget import Budget, Total
from arena.database import EPOCH, Database, now
from arena.fraud.eligibility import official_board
from arena.fraud.flags import FlagRow, FlagService
from arena.live.pause import paused_since
from arena.live.store import LiveStore
from arena.server.hub_backup import BackupState, HubBackup
from arena.settings import BoardVoters, CountSettings

HOURS = 24
MOST_ACTS = 50
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Dashboard:
    """Everything on the operator's page."""

    hours: tuple[int, ...]
    """Choices stored in each of the last `HOURS` hours, the present one last."""
    queues: Mapping[str, int]
    failures: Mapping[str, int]
    """By model, the most first."""
    who: CountSettings
    """Whose votes count, and whether COUNTS names the official board."""
    official: BoardVoters
    flagged: tuple[FlagRow, ...]
    """On the official board."""
    disk_bytes: int
    """Size of the disk of the data folder, as this server sees it."""
    free_bytes: int
    copy: BackupState | None
    """None: there is no Hub backup."""
    budgets: Mapping[str, Total]
    paused_since: datetime | None
    hidden: tuple[HiddenItem, ...]
    uploads: Uploads
    acts: tuple[OperatorAction, ...]
    read_at: datetime


@dataclass(frozen=True)
class DashboardService:
    """The sources of the dashboard."""

    database: Database
    data_dir: Path
    backup: HubBackup | None
    budget_of: Mapping[str, Budget]
    queues: Mapping[str, Callable[[], int]]
    who: CountSettings

    def overview(self) -> Dashboard:
        """Return the current state. Raises DatabaseError and OSError."""
        present = now()
        disk = shutil.disk_usage(self.data_dir)
        failures = Counter(LiveStore(self.database).failures()).most_common()
        budgets = {name: budget.total() for name, budget in self.budget_of.items()}
        queues = {name: length() for name, length in self.queues.items()}
        copy = self.backup.state() if self.backup else None
        with self.database.read() as connection:
            official = official_board(connection, self.who)
            flags = FlagService(self.database, self.who if official == "counted" else CountSettings())
            return Dashboard(
                hours=_hours(connection, present),
                queues=queues,
                failures=dict(failures),
                who=self.who,
                official=official,
                flagged=flags.flagged(connection),
                disk_bytes=disk.total,
                free_bytes=disk.free,
                copy=copy,
                budgets=budgets,
                paused_since=paused_since(connection),
                hidden=hidden_items(connection),
                uploads=uploads(connection),
                acts=latest_actions(connection, MOST_ACTS),
                read_at=present,
            )


def _hours(connection: Connection, present: datetime) -> tuple[int, ...]:
    last = (present - EPOCH) // _HOUR
    found = dict.fromkeys(range(last - HOURS + 1, last + 1), 0)
    for table in (VOTE, LIVE_VOTE):
        hour = (type_coerce(table.c.voted_at, BigInteger) // (_HOUR // timedelta(microseconds=1))).label("hour")
        recent = table.c.voted_at >= EPOCH + min(found) * _HOUR
        for one, number in connection.execute(select(hour, func.count()).where(recent).group_by(hour)):
            if one in found:
                found[one] += number
    return tuple(found.values())
