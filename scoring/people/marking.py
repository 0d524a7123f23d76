"""Marking work: what is marked, labelled or read of a report, by whom, and what was said."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, get_args

from arena.database import Database, now
from arena.kept import Kept
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import made_link
from arena.seats.seats import Seat
from arena.seats.spec import CampaignError, read_spec
from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.mm_vet import MMVet
from scoring.jobs.store import Job, Jobs
from scoring.people.error_sample import draw, known_errors
from scoring.people.open_answers import draw_open, open_answers
from scoring.people.plan import Planned, answer_key, mark_plan, planned
from scoring.people.spec import KINDS, MarkKind, MarkSpec, campaign_name
from scoring.people.store import OWNER, MarkError, MarkStore, ShownAnswer
from scoring.registry import benchmark_of
from scoring.report import AnyReport

MOST = 1000
"""Answers that one person is shown of a report."""
MINUTES = 60
DAYS = 180
"""For which a link holds."""
HELPERS = 4
"""People whom a report's owner may send a link, beside the own one."""


class Material(NamedTuple):
    """What is shown of a report."""

    answers: Mapping[str, ScoredAnswer]
    """By their key."""
    plan: tuple[Planned, ...]


def _answers_of(material: Material | None) -> int:
    return 1 + len(material.answers) if material else 1


class Marking:
    """Marks, labels and readings under the reports of one database."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self.store = MarkStore(database)
        self.jobs = jobs
        self._campaigns = CampaignStore(database, KINDS)
        self._kept: Kept[Material | None] = Kept(100_000, 60, weigh=_answers_of)

    def material(self, kind: MarkKind, link: str) -> Material | None:
        """What there is to mark, label or read under a report's link; None without a report."""
        if not self.jobs.find(link):
            return None
        return self._kept.of((kind, link), lambda: self._read(kind, link))

    def _read(self, kind: MarkKind, link: str) -> Material | None:
        report = self.jobs.report(link)
        if report is None:
            return None
        answers = {answer_key(one): one for one in shown_answers(kind, report)}
        return Material(answers, plan_of(kind, list(answers.values()), link))

    def open(self, owner: str, link: str, kind: MarkKind) -> Campaign:
        """The campaign in which people see an owner's report, made by the first call. Raises MarkError."""
        self.job_of(owner, link)
        if found := self.opened(link, kind):
            return found
        material = self.material(kind, link)
        if material is None or not material.plan:
            raise MarkError("There is nothing to rate in this report.")
        shown = min(MOST, len(material.plan) + sum(one.comes_again for one in material.plan))
        name = campaign_name(kind, link)
        values: dict[str, Any] = {"name": name, "report": link}
        values |= {"seat": {"votes": shown, "minutes": MINUTES, "pay": 0}, "valid_days": DAYS}
        try:
            return self._campaigns.create(kind, read_spec(MarkSpec, values))
        except CampaignError:  # made by another request meanwhile
            return self._campaigns.get(name)

    def opened(self, link: str, kind: MarkKind) -> Campaign | None:
        """The campaign of a report, where it was made."""
        return self._campaigns.find(campaign_name(kind, link))

    def drop(self, owner: str, link: str) -> None:
        """Delete what was said under an owner's report. Raises MarkError."""
        job = self.job_of(owner, link)
        self.store.drop(job.owner, job.link)

    def job_of(self, owner: str, link: str) -> Job:
        """An owner's finished report. Raises MarkError."""
        job = self.jobs.find(link)
        if job is None or job.owner != owner or job.state != "done":
            raise MarkError(
                "There is no such report of yours. Open it in the browser in which you scored it."
            )
        return job

    @staticmethod
    def links(campaign: Campaign) -> Mapping[str, str]:
        """The path of each person's link, by name: the owner's, and those of helpers."""
        until = (now() + timedelta(days=DAYS + 1)).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        names = (OWNER, *(f"helper-{number}" for number in range(1, HELPERS + 1)))
        return {
            name: made_link(campaign.key, campaign.spec, until, f"{campaign.name}.{name}")
            for name in names
        }

    def campaign(self, name: str) -> Campaign | None:
        return self._campaigns.find(name)

    def answer(self, seat: Seat, token: str) -> ScoredAnswer | None:
        """The answer that a seat was shown; None where its report was deleted. Raises MarkError."""
        kind, link = of_seat(seat)
        material = self.material(kind, link)
        return material and material.answers.get(self.store.find(seat, token).answer)

    def draw(self, seat: Seat) -> tuple[ShownAnswer, ScoredAnswer] | None:
        """What a seat is shown next; None where nothing is left, or the report was deleted."""
        kind, link = of_seat(seat)
        material = self.material(kind, link)
        job = self.jobs.find(link)
        if material is None or job is None:
            return None
        shown = self.store.draw(seat, kind, link, job.owner, material.plan)
        return shown and (shown, material.answers[shown.answer])


def of_seat(seat: Seat) -> tuple[MarkKind, str]:
    """A seat's kind of work, and its report's link."""
    spec = seat.campaign.spec
    assert isinstance(spec, MarkSpec)
    return kind_named(seat.campaign.task), spec.report


def kind_named(name: str) -> MarkKind:
    """The kind of work of a name that stands for one. Raises MarkError."""
    for kind in get_args(MarkKind):
        if kind == name:
            return kind
    raise MarkError("There is nothing to rate in this report.")


def shown_answers(kind: MarkKind, report: AnyReport) -> Sequence[ScoredAnswer]:
    """The answers of a report that may be marked or read, or hold errors to be labelled."""
    if kind == "readings":
        return open_answers(report)
    benchmark: Any = benchmark_of(report)
    answers: Sequence[ScoredAnswer] = benchmark.scored_answers(report)
    is_marked_in_tenths = isinstance(benchmark, MMVet)
    return [
        one
        for one in answers
        if one.answer and one.truth and (kind == "labels" or is_marked_in_tenths)
    ]


def plan_of(kind: MarkKind, answers: Sequence[ScoredAnswer], seed: str) -> tuple[Planned, ...]:
    if kind == "marks":
        return mark_plan(answers, seed)
    if kind == "readings":
        return tuple(planned(answer_key(one), one.id, "open", seed) for one in draw_open(answers))
    return tuple(
        planned(answer_key(one.answer), one.answer.id, one.group, seed)
        for one in draw(known_errors(answers))
    )
