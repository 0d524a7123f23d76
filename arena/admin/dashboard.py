"""Dashboard: an operator's overview of a running arena, read from the database and the disk."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import BigInteger, Connection, Table, func, select, type_coerce

from arena.admin.actions import OperatorAction, latest_actions
from arena.admin.hiding import HiddenItem, hidden_items
from arena.admin.moderation import Uploads, uploads
from arena.battles.tables import LIVE_VOTE, VOTE
from arena.budget import Budget, Total
from arena.database import EPOCH, Database, now
from arena.fraud.flags import FlagRow
from arena.live.pause import paused_since
from arena.live.store import LiveStore
from arena.server.hub_backup import BackupState, HubBackup

HOURS = 24
MOST_ACTS = 50
_HOUR = timedelta(hours=1)


class Disk(NamedTuple):
    """The disk of the data folder, in bytes, as this server sees it."""

    total: int
    free: int


class NamedCount(NamedTuple):
    """A number with a name."""

    name: str
    number: int


class BudgetUse(NamedTuple):
    """The use of a budget, in millionths of a US dollar."""

    name: str
    total: Total


@dataclass(frozen=True)
class Dashboard:
    """Everything on the operator's page."""

    hours: tuple[int, ...]
    """Choices stored in each of the last `HOURS` hours, the present one last."""
    queues: tuple[NamedCount, ...]
    failures: tuple[NamedCount, ...]
    """By model, the most first."""
    flagged: tuple[FlagRow, ...]
    disk: Disk
    copy: BackupState | None
    """None: there is no Hub backup."""
    budgets: tuple[BudgetUse, ...]
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
    flagged: Callable[[Connection], Sequence[FlagRow]]

    def overview(self) -> Dashboard:
        """Return the current state. Raises DatabaseError and OSError."""
        present = now()
        disk = shutil.disk_usage(self.data_dir)
        failures = LiveStore(self.database).failures()
        budgets = tuple(BudgetUse(name, one.total()) for name, one in self.budget_of.items())
        queues = tuple(NamedCount(name, length()) for name, length in self.queues.items())
        copy = self.backup.state() if self.backup else None
        with self.database.read() as connection:
            return Dashboard(
                hours=_hours(connection, present),
                queues=queues,
                failures=tuple(sorted((NamedCount(*one) for one in failures.items()), key=lambda one: -one.number)),
                flagged=tuple(self.flagged(connection)),
                disk=Disk(disk.total, disk.free),
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
        for hour, number in connection.execute(_by_hour(table, EPOCH + (last - HOURS + 1) * _HOUR)):
            if hour in found:
                found[hour] += number
    return tuple(found.values())


def _by_hour(table: Table, since: datetime):
    hour = type_coerce(table.c.voted_at, BigInteger) // (_HOUR // timedelta(microseconds=1))
    return select(hour.label("hour"), func.count()).where(table.c.voted_at >= since).group_by(hour)
