"""A judged report on a database, and people who mark or label it as their pages do."""

from dataclasses import dataclass

from arena.database import Database
from arena.seats.links import Arrival
from arena.seats.seats import Seat, SeatStore
from scoring.jobs.store import Job, Jobs
from scoring.people.marking import Marking
from scoring.people.spec import MarkKind
from scoring.people.store import MarkEntry
from scoring.report import AnyReport
from tests.support.mm_vet_reports import mm_vet_report

OWNER = "ada"


@dataclass
class MarkedReport:
    """A report and its marks."""

    database: Database
    marking: Marking
    job: Job

    @classmethod
    def on(
        cls, database: Database, report: AnyReport | None = None, owner: str = OWNER
    ) -> "MarkedReport":
        jobs = Jobs(database)
        return cls(
            database, Marking(database, jobs), jobs.add_done(owner, report or mm_vet_report())
        )

    def seat(self, person: str = "owner", kind: MarkKind = "marks") -> Seat:
        campaign = self.marking.open(self.job.owner, self.job.link, kind)
        return SeatStore(self.database).enter(campaign, Arrival(f"{campaign.name}.{person}"), None)

    def mark(self, seat: Seat, value: str, times: int = 1) -> list[str]:
        """Say the same of the next answers; return their tokens."""
        tokens = []
        for _ in range(times):
            drawn = self.marking.draw(seat)
            assert drawn
            self.marking.store.enter(seat, drawn[0].token, MarkEntry(value))
            tokens.append(drawn[0].token)
        return tokens

    def marks(self, kind: MarkKind = "marks"):
        material = self.marking.material(kind, self.job.link)
        assert material
        return self.marking.store.of_report(kind, self.job.link, self.job.owner, material.answers)
