"""Marking work: the answers of a report to mark, label or read, the people's links, and their marks."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, get_args

from arena.cache import Cache
from arena.database import Database, now
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import made_link
from arena.seats.seats import Seat
from arena.seats.spec import CampaignError, read_spec
from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.mm_vet import MMVet
from scoring.jobs.store import Job, Jobs
from scoring.people.error_sample import draw_errors, known_errors
from scoring.people.open_answers import draw_open, open_answers
from scoring.people.plan import PlannedAnswer, answer_key, mark_plan, plan_answer
from scoring.people.spec import KINDS, MarkKind, MarkSpec, campaign_name
from scoring.people.store import OWNER, MarkError, MarkStore, ShownAnswer
from scoring.registry import benchmark_of
from scoring.report import AnyReport
from scoring.visit_bench.benchmark import VISIT_BENCH
from scoring.visit_bench.matches import MatchReport

MOST_ANSWERS = 1000
"""Answers of a report for one person."""
MINUTES = 60
"""Minutes that an answer waits for a person's mark before somebody else gets it."""
DAYS = 180
"""Days until a link expires, at the end of the last one."""
HELPERS = 4
"""Links for other people, beside the owner's own."""


class Material(NamedTuple):
    """A report's answers for people, and their order."""

    answers: Mapping[str, ScoredAnswer]
    """Answers by their key."""
    plan: tuple[PlannedAnswer, ...]


class DrawnAnswer(NamedTuple):
    """An answer drawn for a seat: its token and round, and its text with the question."""

    shown: ShownAnswer
    answer: ScoredAnswer


class SeatWork(NamedTuple):
    """The work of a seat: its kind, and the link of the report."""

    kind: MarkKind
    link: str


def _weight(material: Material | None) -> int:
    """Weight in the cache, whose limit is about the number of answers."""
    return 1 + len(material.answers) if material else 1


class Marking:
    """Marks, labels and readings under the reports of one database."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self.store = MarkStore(database)
        self.jobs = jobs
        self._campaigns = CampaignStore(database, KINDS)
        self._materials: Cache[Material | None] = Cache(100_000, 60, weigh=_weight)

    def material(self, kind: MarkKind, link: str) -> Material | None:
        """The answers to mark, label or read under a report's link; None without a report that can be read."""
        if not self.jobs.find(link):
            return None
        return self._materials.get((kind, link), lambda: self._read_material(kind, link))

    def _read_material(self, kind: MarkKind, link: str) -> Material | None:
        report = self.jobs.readable_report(link)
        if report is None:
            return None
        answers = {answer_key(answer): answer for answer in answers_for(kind, report)}
        return Material(answers, plan_of(kind, list(answers.values()), link))

    def open(self, owner: str, link: str, kind: MarkKind) -> Campaign:
        """The campaign in which people see an owner's report, created by the first call. Raises MarkError."""
        self.job_of(owner, link)
        if existing := self.find_campaign(link, kind):
            return existing
        material = self.material(kind, link)
        if material is None or not material.plan:
            raise MarkError("There is nothing to rate in this report.")
        repeated = sum(planned.comes_again for planned in material.plan)
        answers = min(MOST_ANSWERS, len(material.plan) + repeated)
        name = campaign_name(kind, link)
        values: dict[str, Any] = {
            "name": name,
            "report": link,
            "seat": {"votes": answers, "minutes": MINUTES, "pay": 0},
            "valid_days": DAYS,
        }
        try:
            return self._campaigns.create(kind, read_spec(MarkSpec, values))
        except CampaignError:  # made by another request meanwhile
            return self._campaigns.get(name)

    def find_campaign(self, link: str, kind: MarkKind) -> Campaign | None:
        """A report's campaign, if it was created."""
        return self._campaigns.find(campaign_name(kind, link))

    def drop(self, owner: str, link: str) -> None:
        """Deletes all marks, labels and readings under an owner's report. Raises MarkError."""
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
        """The path of each person's link, by name: the owner's and the helpers'."""
        day_after = now() + timedelta(days=DAYS + 1)
        # From midnight, so that the links are the same all day.
        until = day_after.replace(hour=0, minute=0, second=0, microsecond=0)
        names = (OWNER, *(f"helper-{number}" for number in range(1, HELPERS + 1)))
        return {
            name: made_link(campaign.key, campaign.spec, until, f"{campaign.name}.{name}")
            for name in names
        }

    def campaign(self, name: str) -> Campaign | None:
        return self._campaigns.find(name)

    def answer(self, seat: Seat, token: str) -> ScoredAnswer | None:
        """The answer that a seat was shown; None where its report was deleted. Raises MarkError."""
        kind, link = seat_work(seat)
        material = self.material(kind, link)
        if material is None:
            return None
        return material.answers.get(self.store.find(seat, token).answer)

    def draw(self, seat: Seat) -> DrawnAnswer | None:
        """The next answer for a seat; None if nothing is left, or the report was deleted."""
        kind, link = seat_work(seat)
        material = self.material(kind, link)
        job = self.jobs.find(link)
        if material is None or job is None:
            return None
        shown = self.store.draw(seat, kind, link, job.owner, material.plan)
        if shown is None:
            return None
        return DrawnAnswer(shown, material.answers[shown.answer])

    def waits(self, seat: Seat) -> bool:
        """Whether a seat without an answer may get one later, since somebody else is at work on it."""
        kind, link = seat_work(seat)
        material = self.material(kind, link)
        return material is not None and self.store.waits(seat, kind, link, material.plan)


def seat_work(seat: Seat) -> SeatWork:
    spec = seat.campaign.spec
    assert isinstance(spec, MarkSpec)
    return SeatWork(kind_named(seat.campaign.task), spec.report)


def kind_named(name: str) -> MarkKind:
    """The kind of work with this name. Raises MarkError for another name."""
    for kind in get_args(MarkKind):
        if kind == name:
            return kind
    raise MarkError("There is nothing to rate in this report.")


def answers_for(kind: MarkKind, report: AnyReport) -> Sequence[ScoredAnswer]:
    """The answers of a report that may be marked or read, or whose errors may be labelled."""
    if kind == "readings":
        return open_answers(report)
    benchmark: Any = benchmark_of(report)
    answers: Sequence[ScoredAnswer]
    if isinstance(report, MatchReport):
        # Each answer once, not once for each of its matches.
        answers = VISIT_BENCH.answers_by_item(report)
    else:
        answers = benchmark.scored_answers(report)
    is_graded_in_tenths = isinstance(benchmark, MMVet)
    if kind == "marks" and not is_graded_in_tenths:
        return []
    return [answer for answer in answers if answer.answer and answer.truth]


def plan_of(
    kind: MarkKind, answers: Sequence[ScoredAnswer], seed: str
) -> tuple[PlannedAnswer, ...]:
    """The order in which people see the answers of a report."""
    if kind == "marks":
        return mark_plan(answers, seed)
    if kind == "readings":
        return tuple(
            plan_answer(answer_key(answer), answer.id, "open", seed)
            for answer in draw_open(answers)
        )
    return tuple(
        plan_answer(answer_key(error.answer), error.answer.id, error.group, seed)
        for error in draw_errors(known_errors(answers))
    )
