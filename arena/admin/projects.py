"""Projects for operators, who make, watch and pay them: campaigns in which people write items."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from arena.admin.campaigns import check_sources
from arena.admin.seat_admin import SeatAdmin, action_note
from arena.authoring.board import (
    FamilyRow,
    PersonRow,
    QuestionQuality,
    StepMinutes,
    YieldRow,
    agreement,
    due_checks,
    family_rows,
    person_rows,
    quality_rows,
    seat_work,
    step_minutes,
    yield_table,
)
from arena.authoring.checks import LONGEST, DraftError
from arena.authoring.choices import MOST_OPTION, MOST_OPTIONS
from arena.authoring.drafting import Drafting
from arena.authoring.events import Fault, Instruction, Judged
from arena.authoring.projects import Projects
from arena.authoring.spec import KINDS, ProjectSpec, SampleSpec, project_of
from arena.authoring.state import DraftState
from arena.authoring.store import Draft, DraftStore
from arena.budget import DRAFTS, Budget, Ceilings
from arena.database import Database, now
from arena.inference.catalogue import CatalogueError, Models
from arena.io.fetch import FetchError, fetch
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.qualification import Qualification, UnreadAnswer
from arena.seats.seats import Seat
from arena.seats.sheet import SeatWork, pay_rows, pay_sheet, seat_state
from arena.seats.spec import CampaignError, read_spec
from arena.settings import Settings
from arena.sheets import Sheet
from arena.templates import plural

MOST_ITEMS = 200
"""The most items in a project's table, the latest."""
VERDICTS: Mapping[str, bool] = {"good": True, "poor": False}
"""An operator's verdicts on a writer's sample."""
CHECKS: Mapping[Judged, str] = {
    "correct": "Good",
    "answer": "Wrong answer",
    "instruction": "Unclear, or several right",
    "picture": "Picture unusable",
    "harm": "Harmful",
}
"""An operator's judgements of a question, in words; all but the first take it out."""
NO_CEILING = 10_000_000_000
"""Millionths of a US dollar: the highest budget that a project's file can set (`spec.ProjectSpec.budget`). It is also
the ceiling of all projects together, so that usually a project's own budget limits its cost."""
_LONGEST_SIGN = "\U0001f600"
"""A character of four bytes in UTF-8, the most: a price reserves the bytes of a text."""


@dataclass(frozen=True)
class UnreadSample:
    """A caption of the qualification that an operator has to read."""

    answer: UnreadAnswer
    sample: SampleSpec


@dataclass(frozen=True)
class ProjectStanding:
    """A project and its progress."""

    campaign: Campaign
    spec: ProjectSpec
    states: Mapping[str, int]
    """People by state."""
    listed: int
    """People in the platform's list."""
    families: Sequence[FamilyRow]
    yields: Sequence[YieldRow]
    quality: Sequence[QuestionQuality]
    """The quality of multiple-choice questions, otherwise empty."""
    unchecked: Sequence[Draft]
    """Accepted questions that an operator has to check."""
    minutes: Sequence[StepMinutes]
    persons: Sequence[PersonRow]
    agreement: float | None
    drafts: Sequence[Draft]
    """The latest drafts with an instruction, the newest first."""
    spent: int
    """Millionths of a US dollar for draft answers, also failed ones."""
    price: str
    """The most that a draft answer costs, in words."""
    unread: Sequence[UnreadSample]
    """The samples to read, the oldest first."""


def _fetch_example(address: str) -> bytes:
    """Returns the picture of a project's example. Raises OSError."""
    if not address.startswith("https://"):
        raise OSError("it needs an https address")
    try:
        return fetch(address)
    except FetchError as error:
        raise OSError(str(error)) from error


class ProjectAdmin(SeatAdmin):
    """Operators' acts on projects. The caller has checked that `operator` is one."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        items: ItemBank,
        projects: Projects,
        drafting: Drafting,
        pictures: PictureStore,
    ) -> None:
        super().__init__(settings, database, projects.campaigns)
        self._items = items
        self._projects = projects
        self._qualification = Qualification(database)
        self.drafting = drafting
        self.pictures = pictures

    def make(
        self, operator: str, content: bytes, picture: Callable[[str], bytes] = _fetch_example
    ) -> Campaign:
        """Makes a project from a TOML file; `picture` reads one of its examples. Raises CampaignError."""
        spec = read_spec(ProjectSpec, content)
        self.check_server(spec)
        if spec.checks.items:
            raise CampaignError(
                "checks.items is only for campaigns of battles. Delete it: in a project, people verify the items."
            )
        check_sources(spec, self._items.bank())
        return self._projects.make(
            content, picture, action_note(operator, "made a campaign", spec.name)
        )

    def summary(self, campaign: Campaign) -> list[str]:
        spec = project_of(campaign.spec)
        items = sum(family.wanted for family in spec.families)
        seat = spec.seat
        people = spec.people
        steps = items * people
        seats = ceil(steps / seat.votes)
        families = len(spec.families)
        pay = f"{seats * seat.pay:,.2f} {seat.currency}"
        noun = "question" if spec.is_choice else "item"
        each = "A question" if spec.is_choice else "An item"
        return [
            f"{campaign.name}: {plural(items, noun)} in {families} {'family' if families == 1 else 'families'}, "
            f"{plural(steps, 'step')} or more.",
            f"{plural(seats, 'seat')} with {plural(seat.votes, 'step')} each, for {seat.pay:g} {seat.currency} each: "
            f"{pay} or more, before the platform's fee. {each} takes {people} people.",
            self._price(spec),
            *_qualifying(spec),
        ]

    def _price(self, spec: ProjectSpec) -> str:
        """Returns a sentence on the models that a project asks, and the most that they cost."""
        if not spec.first_model:
            if spec.is_choice:
                return "No model tries the questions without their pictures, because blind_model is empty."
            return "People write the answers, because model is empty."
        options = (_LONGEST_SIGN * MOST_OPTION,) * MOST_OPTIONS if spec.is_choice else ()
        longest = Instruction(
            text=_LONGEST_SIGN * LONGEST["instruction"], pictures=(), options=options
        )
        caption = _LONGEST_SIGN * LONGEST["caption"]
        try:
            most = self.drafting.most_cost(
                spec, DraftState(instruction=longest, captions=(caption,))
            )
            unpriced = " and ".join(self.drafting.unpriced(spec))
        except CatalogueError as error:
            without = "People write the answers"
            if spec.is_choice:
                without = "Nobody tries the questions without their pictures"
            return f"{without}, because a model can't be used. {error}"
        if spec.is_choice:
            act = f"{spec.blind_model} answers without the picture"
            unit = "a question with texts of maximum length"
        else:
            blind = f", and {spec.blind_model} answers without pictures" if spec.blind_model else ""
            act = f"{spec.model} drafts answers{blind}"
            unit = "an item with one picture and texts of maximum length"
        if unpriced:
            return (
                f"{act}. The models file has no price for {unpriced}, so the cost is unknown and the budget can't "
                "limit it."
            )
        return f"{act}: ${most / 1e6:.4f} at most for {unit}, ${spec.budget:,.2f} at most in all."

    def reject(
        self, operator: str, name: str, number: str, why: str, fault: Fault = "picture"
    ) -> str:
        """Takes an item out, mostly because its picture may not be used; returns a message.

        Raises CampaignError and DraftError.
        """
        campaign = self.store.get(name)
        if not why:
            raise DraftError("Say why you're removing the item.")
        _check_number(number)
        note = action_note(operator, "took an item out of a project", f"{name} {number}")
        self._projects.reject(campaign, int(number), fault, why, note)
        return f"Item {number} of {name} is removed. If you've imported it, hide it there too. Its votes stay."

    def check(self, operator: str, name: str, number: str, value: str) -> str:
        """Stores the check of an accepted question; returns a message. Raises CampaignError and DraftError."""
        campaign = self.store.get(name)
        _check_number(number)
        judged = _judgement(value)
        if judged is None:
            raise DraftError(
                "Say whether the question is good, or what's wrong with it: {}.", ", ".join(CHECKS)
            )
        note = action_note(operator, "checked a question", f"{name} {number} {judged}")
        self._projects.check(campaign, int(number), judged, note)
        outcome = "is good" if judged == "correct" else "is removed"
        return f"Question {number} of {name} {outcome}."

    def unread(self, name: str) -> list[UnreadSample]:
        """Returns the captions of a project's samples that an operator has to read. Raises CampaignError."""
        campaign = self.store.get(name)
        return self._unread(campaign, self.seats.all(campaign))

    def _unread(self, campaign: Campaign, seats: Iterable[Seat]) -> list[UnreadSample]:
        samples = project_of(campaign.spec).named_samples
        return [
            UnreadSample(answer, samples[answer.question])
            for answer in self._qualification.unread(campaign, seats)
        ]

    def judge(self, operator: str, name: str, sample: str, verdict: str) -> str:
        """Stores whether a writer's sample is good; returns a message. Raises CampaignError and DraftError."""
        if verdict not in VERDICTS:
            raise DraftError("Say whether the sample is good or poor, as in: 17.1.3 good.")
        answers = {unread.answer.name: unread.answer for unread in self.unread(name)}
        answer = answers.get(sample)
        note = action_note(operator, "judged a writer's sample", f"{name} {sample[:40]} {verdict}")
        if answer is None or not self._qualification.judge(answer, VERDICTS[verdict], note):
            raise DraftError(
                "There's no sample {} of {} to read. Someone may have read it already.",
                sample[:40],
                name,
            )
        return f"Sample {sample} of {name} is {verdict}."

    @property
    def tables(self) -> Mapping[str, Callable[[str], Sheet]]:
        return {"sheet": self.sheet}

    def sheet(self, name: str) -> Sheet:
        """Returns the pay sheet. Raises CampaignError."""
        campaign = self.store.get(name)
        seats = self.seats.all(campaign)
        at = now()
        drafts = self._projects.drafts.drafts(campaign)
        work = self._work(campaign, drafts, seats, self._unread(campaign, seats), at)
        listed = self.seats.participants(campaign)
        return pay_sheet(pay_rows(campaign, seats, work, listed, at))

    def _work(
        self,
        campaign: Campaign,
        drafts: Sequence[Draft],
        seats: Sequence[Seat],
        unread: Sequence[UnreadSample],
        at: datetime,
    ) -> Mapping[int, SeatWork]:
        """Returns the work of each seat.

        A writer without a draft last worked at the last answer of the qualification. One with an unread sample waits
        for an operator, and counts as working now.
        """
        qualified_at = self._qualification.last_answers(campaign)
        qualified_at |= {sample.answer.seat: at for sample in unread}
        work_by_seat = seat_work(drafts, seats)
        return {
            seat: work._replace(last=work.last or qualified_at.get(seat))
            for seat, work in work_by_seat.items()
        }

    def standings(self, most: int | None = None) -> list[ProjectStanding]:
        """Returns the projects with their progress, the newest first."""
        return [self.standing(campaign) for campaign in self.store.all()[:most]]

    def standing(self, campaign: Campaign) -> ProjectStanding:
        spec = project_of(campaign.spec)
        seats = self.seats.all(campaign)
        at = now()
        drafts = self._projects.drafts.drafts(campaign)
        unread = self._unread(campaign, seats)
        work = self._work(campaign, drafts, seats, unread, at)
        begun = [draft for draft in reversed(drafts) if draft.state.instruction]
        return ProjectStanding(
            campaign=campaign,
            spec=spec,
            states=Counter(seat_state(seat, work[seat.id], at) for seat in seats),
            listed=len(self.seats.participants(campaign)),
            families=family_rows(drafts, spec),
            yields=yield_table(drafts),
            quality=quality_rows(drafts, spec) if spec.is_choice else (),
            unchecked=due_checks(drafts, campaign),
            minutes=step_minutes(drafts),
            persons=person_rows(drafts, seats),
            agreement=agreement(drafts),
            drafts=begun[:MOST_ITEMS],
            spent=self.drafting.spent(campaign),
            price=self._price(spec),
            unread=unread,
        )


def _judgement(value: str) -> Judged | None:
    """Returns the key of CHECKS that a form sent; None for any other text."""
    for judgement in CHECKS:
        if judgement == value:
            return judgement
    return None


def _check_number(number: str) -> None:
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise DraftError("Give the item's number, as in 17.")


def _qualifying(spec: ProjectSpec) -> list[str]:
    """Returns sentences on the sample tasks that writers do first."""
    if not spec.qualify or not spec.qualify.samples:
        return []
    task = f"Writers do {plural(spec.qualify.samples, 'sample task')} first"
    unread = sum(not sample.known for sample in spec.samples)
    if not unread:
        return [f"{task}. All are checked automatically, by what their captions name."]
    return [
        f"{task}. {unread} of {len(spec.samples)} samples list no names to look for, so you read their captions "
        "while the writers wait."
    ]


def project_admin(
    settings: Settings,
    database: Database,
    items: ItemBank,
    pictures: PictureStore,
    models: Models,
) -> ProjectAdmin:
    """Returns the operators' side of the projects of one database, with the models of a catalogue."""
    campaigns = CampaignStore(database, KINDS)
    drafts = DraftStore(database)
    budget = Budget(database, Ceilings(NO_CEILING, NO_CEILING, NO_CEILING), DRAFTS)
    return ProjectAdmin(
        settings=settings,
        database=database,
        items=items,
        projects=Projects(campaigns, drafts, pictures, models.catalogue),
        drafting=Drafting(drafts, models.vlm, budget),
        pictures=pictures,
    )
