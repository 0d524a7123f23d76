"""Campaigns of the toy task: their pages, made as the app makes those of battles."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update
from starlette.testclient import TestClient

from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.database import Database, now
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import made_link
from arena.seats.qualification import Qualification
from arena.seats.seats import SeatStore
from arena.seats.spec import read_spec
from arena.seats.tables import SEAT_ENTRY
from arena.settings import MTURK_HOSTS
from arena.web.campaign_api import CampaignPages
from tests.support.campaign_worker import Worker, client_of
from tests.support.toy_task import EXAM, ToySpec, ToyTask, right

TASK = "toy"
EXAMINED = {"qualify": {"items": EXAM, "asked": 3, "pass": 2, "tries": 2}}
PROLIFIC = {
    "platform": {
        "kind": "prolific",
        "study": "S1",
        "done": "C-DONE",
        "failed": "C-FAILED",
        "full": "C-FULL",
    }
}
MTURK = {"platform": {"kind": "mturk"}}


@dataclass
class Toys:
    """The toy task's pages on one database, and one server's client."""

    pages: CampaignPages
    task: ToyTask
    client: TestClient
    database: Database

    @classmethod
    def on(cls, database: Database, task: ToyTask | None = None) -> "Toys":
        task, campaigns = task or ToyTask(), CampaignStore(database, {TASK: ToySpec})
        stores = (campaigns, SeatStore(database), Qualification(database), {TASK: task})
        pages = CampaignPages(*stores, Voters(database), Networks(1), MTURK_HOSTS)
        return cls(pages, task, client_of(pages), database)

    def campaign(self, **changes) -> Campaign:
        """A campaign of three numbers a worker, and one check."""
        values = {"name": "evens", "seat": {"votes": 3, "minutes": 10, "pay": 1.5}, **changes}
        return self.pages.campaigns.create(TASK, read_spec(ToySpec, values))

    def link(self, campaign: Campaign, person: str = "w1", session: str = "s1") -> str:
        """The campaign's link as the platform fills it in for a person."""
        made = made_link(campaign.key, campaign.spec, now() + timedelta(days=1), person)
        if campaign.spec.platform.kind == "prolific":
            for name, value in (
                ("PROLIFIC_PID", person),
                ("STUDY_ID", "S1"),
                ("SESSION_ID", session),
            ):
                made = made.replace(f"{{{{%{name}%}}}}", value)
        elif campaign.spec.platform.kind == "mturk":
            made += f"&hitId=H1&assignmentId={session}&workerId={person}&turkSubmitTo=https%3A%2F%2Fwww.mturk.com"
        return made

    def worker(
        self, campaign: Campaign, person: str = "w1", session: str = "s1", **options
    ) -> Worker:
        return Worker(self.client, self.link(campaign, person, session), **options)

    def let_minutes_pass(self, minutes: float) -> None:
        """Make every seat and answer earlier."""
        earlier = timedelta(minutes=minutes)
        with self.database.write() as connection:
            for row in connection.execute(select(SEAT_ENTRY)).all():
                mine = update(SEAT_ENTRY).where(SEAT_ENTRY.c.seat_id == row.seat_id)
                connection.execute(mine.values(arrived_at=row.arrived_at - earlier))
        for shown in self.task.shown.values():
            for one in shown:
                one.answered_at = one.answered_at and one.answered_at - earlier


def do_all(worker: Worker) -> Worker:
    """Work until the end, every number rightly."""
    for _ in range(60):
        if worker.kind != "work":
            return worker
        worker.decide(right(int(worker.number)))
    raise AssertionError("the work does not end")


def take_exam(worker: Worker, *are_right: bool) -> Worker:
    """Answer so many questions of the qualification, each rightly or wrongly."""
    for is_right in are_right:
        side = right(int(worker.number))
        worker.answer(side if is_right else {"a": "b", "b": "a"}[side])
    return worker
