"""Backup status: the age of the votes' backup, in a line for the voter who has just voted."""

from datetime import datetime, timedelta

from arena.server.hub_backup import EVERY, BackupState
from arena.templates import macros
from arena.web.words import ENGLISH, Words

HTML = macros("battle.html")
LATE = EVERY + timedelta(seconds=13)
"""Age at which a backup is late: a commit may take some seconds and several attempts."""


def backup_line(state: BackupState | None, moment: datetime, words: Words = ENGLISH) -> str:
    """Render the backup's status for a stored vote; empty without a backup, or before its first check."""
    if state is None:
        return ""
    late = is_late(state, moment)
    copied = words["copied_none"]
    if state.copied_at:
        copied = words["copied_only" if late else "copied"].format(
            ago(moment - state.copied_at, words)
        )
    if not late:
        return words["saved"].format(copied)
    return HTML.late(
        words["saved_late"].format(f"{state.problem}; {copied}" if state.problem else copied)
    )


def is_late(state: BackupState, moment: datetime) -> bool:
    """Whether a commit failed or the backup is older than it should be."""
    return bool(state.problem) or (state.copied_at is not None and moment - state.copied_at > LATE)


def ago(age: timedelta, words: Words = ENGLISH) -> str:
    """Format an age in its largest unit, as in 20 s or 3 h."""
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return words[unit].format(seconds // length)
    return words["s"].format(seconds)
