"""Needs: an operator's tasks, the most urgent first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arena.admin.dashboard import FRESH, Dashboard
from arena.admin.projects import ProjectStanding
from arena.leaderboard.board_state import BoardHealth
from arena.templates import plural
from arena.web.backup_status import ago, is_late

LITTLE_DISK = 0.1
"""The largest free share of a disk that counts as almost full."""
MUCH_MONEY = 0.9
"""The smallest used share of a budget that becomes a task."""
_DAYS = f"in the last {FRESH.days} days"


class Need(NamedTuple):
    """A task of an operator."""

    title: str
    text: str
    place: str
    """The section of the page with its form, or its details."""
    campaign: str = ""
    """The campaign or project of the section."""

    @property
    def anchor(self) -> str:
        return f"{self.place}:{self.campaign}" if self.campaign else self.place


def needs(dashboard: Dashboard, boards: Sequence[BoardHealth]) -> list[Need]:
    """Returns an operator's tasks, the most urgent first."""
    return [
        *_unsafe(dashboard),
        *_failing_boards(dashboard, boards),
        *_money(dashboard),
        *_failing_models(dashboard),
        *_waiting(dashboard),
    ]


def is_disk_almost_full(dashboard: Dashboard) -> bool:
    """Whether little of the disk is free; not for a file system of unknown size, which is given as 0."""
    is_size_known = dashboard.disk_bytes > 0
    return is_size_known and dashboard.free_bytes <= LITTLE_DISK * dashboard.disk_bytes


def _unsafe(dashboard: Dashboard) -> Iterator[Need]:
    for entry in dashboard.checklist:
        if entry.is_urgent and not entry.is_there:
            yield Need(entry.what, entry.details, "setup")
    if is_disk_almost_full(dashboard):
        share = dashboard.free_bytes / dashboard.disk_bytes
        yield Need("Disk almost full", f"{share:.0%} is free. Make room.", "copy")
    if dashboard.copy is not None and is_late(dashboard.copy, dashboard.read_at):
        yield Need("The copy is late", copy_text(dashboard), "copy")


def _failing_boards(dashboard: Dashboard, boards: Sequence[BoardHealth]) -> Iterator[Need]:
    """Yields boards that can't be computed, those of campaigns too."""
    for board in boards:
        if board.problem:
            yield Need(f"Board {board.source}", f"can't be computed. {board.problem}.", "boards")
    for campaign in dashboard.campaigns:
        if campaign.problem and not campaign.campaign.ended_at:
            name = campaign.campaign.name
            yield Need(f"Campaign {name}", campaign.problem, "campaigns", name)


def copy_text(dashboard: Dashboard) -> str:
    """Returns the age of the copy, in words."""
    if dashboard.copy is None:
        return "No copy: MIRROR isn't set."
    copied = "Nothing is copied yet."
    if dashboard.copy.copied_at:
        copied = f"Copied up to {ago(dashboard.read_at - dashboard.copy.copied_at)} ago."
    waiting = plural(dashboard.copy.waiting, "change")
    return f"{copied} {waiting} waiting. Last error: {dashboard.copy.problem or 'none'}."


def _money(dashboard: Dashboard) -> Iterator[Need]:
    for name, total in dashboard.budgets.items():
        used = total.spent + total.held
        if total.ceiling and used >= MUCH_MONEY * total.ceiling:
            spent = f"${used / 1e6:,.2f} of ${total.ceiling / 1e6:,.2f} is used."
            yield Need(f"Money for {name.lower()}", spent, "money")


def _failing_models(dashboard: Dashboard) -> Iterator[Need]:
    """Yields stopped jobs of the site's judge, failing live models, and a pause of live battles."""
    jobs = [job for job in dashboard.stopped if dashboard.read_at - job.begun <= FRESH]
    if jobs:
        title = f"{plural(len(jobs), 'scoring job')} stopped"
        yield Need(title, f"the latest used {jobs[0].model}. {jobs[0].problem}", "queues")
    for model, problem in dashboard.failed_models.items():
        yield Need(f"Live model {model}", f"can't be loaded. {problem}", "live")
    for model, number in dashboard.failures.items():
        yield Need(f"Live model {model}", f"failed {plural(number, 'time')} {_DAYS}.", "live")
    if dashboard.paused_since:
        yield Need("Live battles are paused", "no live battle can start.", "live")


def _waiting(dashboard: Dashboard) -> Iterator[Need]:
    since = dashboard.read_at - FRESH
    flagged = sum(
        any(flag.raised_at >= since for flag in voter.flags) for voter in dashboard.flagged
    )
    if flagged:
        yield Need(f"{plural(flagged, 'voter')} flagged", f"new {_DAYS}.", "flagged")
    for campaign in dashboard.campaigns:
        if campaign.pending:
            name = campaign.campaign.name
            waiting = plural(campaign.pending, "vote")
            votes = f"{waiting} waiting for the platform's list. Upload it."
            yield Need(f"Campaign {name}", votes, "campaigns", name)
    for project in dashboard.projects:
        yield from _project_needs(project)
    if dashboard.uploads.unseen:
        yield Need(f"{plural(dashboard.uploads.unseen, 'image')} to review", "", "images")


def _project_needs(project: ProjectStanding) -> Iterator[Need]:
    name = project.campaign.name
    title = f"Project {name}"
    if project.unread:
        yield Need(title, f"{plural(len(project.unread), 'sample')} to read.", "projects", name)
    if project.unchecked:
        yield Need(
            title, f"{plural(len(project.unchecked), 'question')} to check.", "projects", name
        )
    is_list_missing = project.spec.platform.must_confirm and not project.listed
    if project.states and is_list_missing:
        missing = "the platform's list is missing. Upload it to pay people."
        yield Need(title, missing, "projects", name)
