"""Needs: what an operator has to do now, the most urgent first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arena.admin.dashboard import FRESH, Dashboard
from arena.admin.projects import ProjectStanding
from arena.leaderboard.board_state import BoardHealth
from arena.templates import plural
from arena.web.backup_status import ago, is_late

LITTLE_DISK = 0.1
MUCH_MONEY = 0.9
"""Share of a disk that is little, and share of a budget that is much."""
_DAYS = f"in the last {FRESH.days} days"


class Need(NamedTuple):
    """One thing to do."""

    what: str
    text: str
    place: str
    """The section of the page where it is done, or read in full."""
    of: str = ""
    """The campaign or project of the section that it is about."""

    @property
    def anchor(self) -> str:
        return f"{self.place}:{self.of}" if self.of else self.place


def needs(seen: Dashboard, boards: Sequence[BoardHealth]) -> list[Need]:
    """Return what an operator has to do; empty: nothing."""
    return [
        *_unsafe(seen),
        *_failing(seen, boards),
        *_money(seen),
        *_stopped(seen),
        *_waiting(seen),
    ]


def is_little(seen: Dashboard) -> bool:
    """Whether little of the disk is free."""
    return seen.free_bytes <= LITTLE_DISK * seen.disk_bytes


def _unsafe(seen: Dashboard) -> Iterator[Need]:
    for entry in seen.checklist:
        if entry.is_urgent and not entry.is_there:
            yield Need(entry.what, entry.told, "setup")
    if is_little(seen):
        share = seen.free_bytes / seen.disk_bytes
        yield Need("Disk almost full", f"{share:.0%} is free. Make room.", "copy")
    if seen.copy is not None and is_late(seen.copy, seen.read_at):
        yield Need("The copy is late", copy_text(seen), "copy")


def _failing(seen: Dashboard, boards: Sequence[BoardHealth]) -> Iterator[Need]:
    for board in boards:
        if board.problem:
            yield Need(f"Board {board.source}", f"can't be computed. {board.problem}.", "boards")
    for campaign in seen.campaigns:
        if campaign.problem and not campaign.campaign.ended_at:
            name = campaign.campaign.name
            yield Need(f"Campaign {name}", campaign.problem, "campaigns", name)


def copy_text(seen: Dashboard) -> str:
    """Return how fresh the copy is, in words."""
    if seen.copy is None:
        return "No copy: MIRROR isn't set."
    copied = "Nothing is copied yet."
    if seen.copy.copied_at:
        copied = f"Copied up to {ago(seen.read_at - seen.copy.copied_at)} ago."
    waiting = plural(seen.copy.waiting, "change")
    return f"{copied} {waiting} waiting. Last error: {seen.copy.problem or 'none'}."


def _money(seen: Dashboard) -> Iterator[Need]:
    for name, total in seen.budgets.items():
        used = total.spent + total.held
        if total.ceiling and used >= MUCH_MONEY * total.ceiling:
            spent = f"${used / 1e6:,.2f} of ${total.ceiling / 1e6:,.2f} is used."
            yield Need(f"Money for {name.lower()}", spent, "money")


def _stopped(seen: Dashboard) -> Iterator[Need]:
    jobs = [job for job in seen.stopped if seen.read_at - job.begun <= FRESH]
    if jobs:
        what = f"{plural(len(jobs), 'scoring job')} stopped"
        yield Need(what, f"the latest with {jobs[0].model}: {jobs[0].problem}", "queues")
    for model, problem in seen.failed_models.items():
        yield Need(f"Live model {model}", f"can't be loaded. {problem}", "live")
    for model, number in seen.failures.items():
        yield Need(f"Live model {model}", f"failed {plural(number, 'time')} {_DAYS}.", "live")
    if seen.paused_since:
        yield Need("Live battles are paused", "no live battle can start.", "live")


def _waiting(seen: Dashboard) -> Iterator[Need]:
    flagged = sum(
        any(seen.read_at - flag.raised_at <= FRESH for flag in voter.flags)
        for voter in seen.flagged
    )
    if flagged:
        yield Need(f"{plural(flagged, 'voter')} flagged", f"new {_DAYS}.", "flagged")
    for campaign in seen.campaigns:
        if campaign.pending:
            name = campaign.campaign.name
            waiting = plural(campaign.pending, "vote")
            votes = f"{waiting} waiting for the platform's list. Upload it."
            yield Need(f"Campaign {name}", votes, "campaigns", name)
    for project in seen.projects:
        yield from _of_project(project)
    if seen.uploads.unseen:
        yield Need(f"{plural(seen.uploads.unseen, 'image')} to review", "", "images")


def _of_project(project: ProjectStanding) -> Iterator[Need]:
    name = project.campaign.name
    what = f"Project {name}"
    if project.unread:
        yield Need(what, f"{plural(len(project.unread), 'sample')} to read.", "projects", name)
    if project.unchecked:
        yield Need(
            what, f"{plural(len(project.unchecked), 'question')} to check.", "projects", name
        )
    has_list = project.listed or not project.spec.platform.must_confirm
    if project.states and not has_list:
        missing = "the platform's list is missing. Upload it to pay people."
        yield Need(what, missing, "projects", name)
