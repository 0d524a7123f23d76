"""Backup status: the age of the votes' backup, in a line for the voter who has just voted."""

from datetime import datetime, timedelta

from arena.locale import t
from arena.server.hub_backup import EVERY, BackupState
from arena.templates import macros

HTML = macros("battle.html")
LATE = EVERY + timedelta(seconds=13)
"""Age at which a backup is late: a commit may take some seconds and several attempts."""


def backup_line(state: BackupState | None, moment: datetime) -> str:
    """Returns the backup's status for a stored vote; empty without a backup, or before its first check."""
    if state is None:
        return ""
    late = is_late(state, moment)
    copied = t("backup.copied_none")
    if state.copied_at:
        age = ago(moment - state.copied_at)
        copied = t("backup.copied_only" if late else "backup.copied", age=age)
    if not late:
        return t("backup.saved", copied=copied)
    if state.problem:
        return HTML.late(t("backup.saved_failed", problem=state.problem, copied=copied))
    return HTML.late(t("backup.saved_late", copied=copied))


def is_late(state: BackupState, moment: datetime) -> bool:
    """Whether a commit failed or the backup is older than it should be."""
    return bool(state.problem) or (state.copied_at is not None and moment - state.copied_at > LATE)


def ago(age: timedelta) -> str:
    """Returns an age in the largest unit that it has two of, as in 90 s or 3 h."""
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return t(f"backup.{unit}", count=seconds // length)
    return t("backup.s", count=seconds)
