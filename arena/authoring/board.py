"""Owner's board: a project's progress, its yield as in VisIT-Bench's Table 2, minutes, and each person's work."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import ceil
from statistics import fmean, median, pstdev
from typing import Literal, NamedTuple

import numpy as np

from arena.authoring.checks import tokens
from arena.authoring.events import (
    KIND_OF,
    Captions,
    DraftAnswer,
    DraftEvent,
    EventKind,
    Instruction,
    Judged,
    Pass,
    Verification,
)
from arena.authoring.spec import ProjectSpec, project_of
from arena.authoring.state import DraftState
from arena.authoring.store import Draft
from arena.ratings.shares import Share, shares
from arena.seats.campaigns import Campaign
from arena.seats.quality import RestAgreement, agreement_with_rest, lot, pairwise_agreement
from arena.seats.seats import Seat
from arena.seats.sheet import SeatWork
from arena.seats.task import FEWEST_TIMED
from arena.types import grouped

CHECKED_SHARE = 0.5
"""The share of a family's accepted questions that an operator checks."""
MOST_CHECKED = 100
"""The most questions of a family that an operator checks."""
Metric = Literal["correct", "caption", "answer", "other"]
_METRICS: tuple[Metric, ...] = ("correct", "caption", "answer", "other")


class FamilyRow(NamedTuple):
    """A family's drafts, counted by step."""

    family: str
    wanted: int
    accepted: int
    instruction: int
    caption: int
    answer: int
    verify: int
    rejected: int


class YieldRow(NamedTuple):
    """A row of Table 2: the share of items whose first answer got this judgement, with Wilson's interval."""

    metric: Metric
    """correct; caption, answer: the faulty part; other: harm, picture, instruction, or no reason given."""
    overall: Share
    single: Share
    multi: Share
    """single, multi: the same for items with one picture and with several."""


class QuestionQuality(NamedTuple):
    """The quality of a family's questions, or of all (family is empty), by people, a text-only model and checks.

    MMT-Bench's authors checked half of each data set, 100 at most, by hand (appendix I.1).
    """

    family: str
    accepted: int
    same_as_key: Share
    """The share of judged questions where the others chose the key."""
    without_picture: Share
    """The share that the text-only model got right, of accepted questions that it answered with a letter."""
    chance: float | None
    """The expected share for guessing on the same questions."""
    spread: float | None
    """Words: the standard deviation of option lengths within a question, averaged over accepted questions."""
    wanted: int
    """The number of questions that an operator is to check."""
    checked: int
    good: Share
    """The share of checked questions without a fault."""


class StepMinutes(NamedTuple):
    """The minutes that a step takes, counted from its claim."""

    kind: EventKind
    number: int
    median: float | None
    total: float


class PersonRow(NamedTuple):
    """The work of a seat and its fate."""

    person: str
    instructions: int
    captions: int
    answers: int
    verdicts: int
    skipped: int
    """The steps that the person left to others."""
    accepted: Share
    """The share of the person's decided texts that became part of accepted items."""
    agreed: int
    others: int
    """agreed, others: verdicts of other people on the same answers: those that agree, and all."""
    minutes: float


def family_rows(drafts: Sequence[Draft], spec: ProjectSpec) -> list[FamilyRow]:
    """Returns a row for each family of the project, then for other families among its drafts."""
    counts = Counter((draft.family, draft.state.step) for draft in drafts)
    wanted = {family.name: family.wanted for family in spec.families}
    names = dict.fromkeys([*wanted, *(draft.family for draft in drafts)])
    return [
        FamilyRow(
            family=name,
            wanted=wanted.get(name, 0),
            accepted=counts[name, "accepted"],
            instruction=counts[name, "instruction"],
            caption=counts[name, "caption"],
            answer=counts[name, "answer"],
            verify=counts[name, "verify"],
            rejected=counts[name, "rejected"],
        )
        for name in names
    ]


def yield_table(drafts: Iterable[Draft]) -> list[YieldRow]:
    """Counts the first judgement of each item, as the paper does: its authors returned no item for another try."""
    single: list[Judged] = []
    multi: list[Judged] = []
    for draft in drafts:
        if draft.state.judgements and draft.state.instruction:
            group = multi if len(draft.state.instruction.pictures) > 1 else single
            group.append(draft.state.judgements[0])
    groups = [[*single, *multi], single, multi]
    counts = [
        Counter(judgement if judgement in _METRICS else "other" for judgement in group)
        for group in groups
    ]
    sizes = np.array([len(group) for group in groups])
    rows = []
    for metric in _METRICS:
        hits = np.array([count[metric] for count in counts])
        overall, single_share, multi_share = shares(hits, sizes)
        rows.append(
            YieldRow(metric=metric, overall=overall, single=single_share, multi=multi_share)
        )
    return rows


def quality_rows(drafts: Sequence[Draft], spec: ProjectSpec) -> list[QuestionQuality]:
    """Returns a row for each family of a multiple-choice project, then a row for all questions."""
    by_family = grouped((draft.family, draft) for draft in drafts)
    names = dict.fromkeys([*spec.by_name, *by_family])
    rows = [_quality(name, by_family.get(name, ())) for name in names]
    total = _quality("", drafts)
    return [*rows, total._replace(wanted=sum(row.wanted for row in rows))]


def _quality(family: str, drafts: Iterable[Draft]) -> QuestionQuality:
    """Returns the row of these drafts; `family` is "" for all."""
    states = [draft.state for draft in drafts]
    accepted = [state for state in states if state.step == "accepted" and state.instruction]
    judged = [state.judgements[0] for state in states if state.judgements]
    blind = [state for state in accepted if state.blind_is_right is not None]
    options = [state.instruction.options for state in accepted if state.instruction]
    checks = [state.check for state in states if state.check]
    guesses = [1 / len(state.instruction.options) for state in blind if state.instruction]
    blind_hits = sum(bool(state.blind_is_right) for state in blind)
    hits = np.array([judged.count("correct"), blind_hits, checks.count("correct")])
    sizes = np.array([len(judged), len(blind), len(checks)])
    same_as_key, without_picture, good = shares(hits, sizes)
    return QuestionQuality(
        family=family,
        accepted=len(accepted),
        same_as_key=same_as_key,
        without_picture=without_picture,
        chance=fmean(guesses) if guesses else None,
        spread=fmean(map(_spread, options)) if options else None,
        wanted=_checks_wanted(states),
        checked=len(checks),
        good=good,
    )


def _spread(options: Iterable[str]) -> float:
    return pstdev(len(tokens(option)) for option in options)


def _checks_wanted(states: Iterable[DraftState]) -> int:
    """Returns the number of these items that an operator checks: half, 100 at most, of those accepted or checked."""
    accepted_or_checked = sum(
        state.step == "accepted" or state.check is not None for state in states
    )
    return min(MOST_CHECKED, ceil(CHECKED_SHARE * accepted_or_checked))


def due_checks(drafts: Iterable[Draft], project: Campaign) -> list[Draft]:
    """Returns the accepted questions that an operator has yet to check, drawn by lot within each family."""
    if not project_of(project.spec).is_choice:
        return []
    lot_key = project.key.hex()
    due = []
    for family in grouped((draft.family, draft) for draft in drafts).values():
        states = [draft.state for draft in family]
        checks_left = _checks_wanted(states) - sum(state.check is not None for state in states)
        unchecked = [
            draft for draft in family if draft.state.step == "accepted" and not draft.state.check
        ]
        due += sorted(unchecked, key=lambda draft: lot(lot_key, draft.id))[: max(checks_left, 0)]
    return due


def step_minutes(drafts: Iterable[Draft]) -> list[StepMinutes]:
    """Returns the minutes of each kind of step that people take."""
    minutes: dict[EventKind, list[float]] = {
        "instruction": [],
        "caption": [],
        "answer": [],
        "verdict": [],
    }
    for event in _work_events(drafts):
        minutes[KIND_OF[type(event.value)]].append(_minutes(event))
    return [
        StepMinutes(
            kind=kind,
            number=len(durations),
            median=median(durations) if durations else None,
            total=sum(durations),
        )
        for kind, durations in minutes.items()
    ]


def step_seconds(drafts: Iterable[Draft]) -> float | None:
    """Returns the usual seconds of a step: the mean of the kinds' medians, weighted by their number.

    None if people have done too few steps.
    """
    kinds = [kind for kind in step_minutes(drafts) if kind.median is not None]
    steps = sum(kind.number for kind in kinds)
    if steps < FEWEST_TIMED:
        return None
    return 60 * sum(kind.number * (kind.median or 0.0) for kind in kinds) / steps


def agreement(drafts: Iterable[Draft]) -> float | None:
    """Returns the share of pairs of verdicts on one answer that agree; None if no answer was judged twice."""
    return pairwise_agreement(_verdicts(drafts).values())


def person_rows(drafts: Sequence[Draft], seats: Iterable[Seat]) -> list[PersonRow]:
    """Returns a row for each seat, in order of arrival."""
    events = [event for draft in drafts for event in draft.events]
    counts = Counter((event.seat, type(event.value)) for event in events)
    minutes: defaultdict[int | None, float] = defaultdict(float)
    for event in _work_events(drafts):
        minutes[event.seat] += _minutes(event)
    fates = [fate for draft in drafts for fate in _fates(draft)]
    agreements = agreement_with_rest(_verdicts(drafts))
    rows = []
    for seat in seats:
        own_fates = [fate.is_accepted for fate in fates if fate.seat == seat.id]
        (accepted,) = shares(np.array([sum(own_fates)]), np.array([len(own_fates)]))
        with_rest = agreements.get(seat.id, RestAgreement())
        rows.append(
            PersonRow(
                person=seat.person,
                instructions=counts[seat.id, Instruction],
                captions=counts[seat.id, Captions],
                answers=counts[seat.id, DraftAnswer],
                verdicts=counts[seat.id, Verification],
                skipped=counts[seat.id, Pass],
                accepted=accepted,
                agreed=with_rest.agreed,
                others=with_rest.others,
                minutes=minutes[seat.id],
            )
        )
    return rows


def seat_work(drafts: Sequence[Draft], seats: Iterable[Seat]) -> dict[int, SeatWork]:
    """Returns the work of each seat, for `seats.sheet.pay_sheet`."""
    last: dict[int | None, datetime] = {}
    steps: Counter[int | None] = Counter()
    for event in _work_events(drafts):
        steps[event.seat] += 1
        last[event.seat] = max(event.at, last.get(event.seat, event.at))
    agreements = agreement_with_rest(_verdicts(drafts))
    work = {}
    for seat in seats:
        with_rest = agreements.get(seat.id, RestAgreement())
        work[seat.id] = SeatWork(
            votes=steps[seat.id],
            last=last.get(seat.id),
            agreed=with_rest.agreed,
            others=with_rest.others,
        )
    return work


def _work_events(drafts: Iterable[Draft]) -> Iterable[DraftEvent]:
    """Yields the events of seats, except passes."""
    for draft in drafts:
        for event in draft.events:
            if event.seat is not None and not isinstance(event.value, Pass):
                yield event


def _minutes(event: DraftEvent) -> float:
    """Returns the minutes from a step's claim to its end; 0 without a claim."""
    if event.began_at is None:
        return 0.0
    return (event.at - event.began_at).total_seconds() / 60


def _verdicts(drafts: Iterable[Draft]) -> Mapping[tuple[int, int], list[tuple[int, str]]]:
    """Returns pairs of a seat and its verdict by draft and number of the answer.

    For a question, the verdict is the chosen letter, and its author's key is one of them.
    """
    verdicts: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for draft in drafts:
        answers = 0
        for event in draft.events:
            value = event.value
            if isinstance(value, DraftAnswer):
                answers += 1
            if event.seat is None:
                continue
            if isinstance(value, Instruction) and value.options:
                verdicts[draft.id, answers] = [(event.seat, value.answer)]
            elif isinstance(value, Verification):
                verdict = (event.seat, value.chosen or value.said)
                verdicts.setdefault((draft.id, answers), []).append(verdict)
    return verdicts


class _Fate(NamedTuple):
    """The fate of a part of a draft."""

    seat: int
    is_accepted: bool


def _fates(draft: Draft) -> Iterator[_Fate]:
    """Yields the fate of each part that a seat wrote, if it is decided.

    A part that was replaced has failed. The last part of an open draft is undecided.
    """
    for kind in (Instruction, Captions, DraftAnswer):
        authors = [event.seat for event in draft.events if isinstance(event.value, kind)]
        if not authors:
            continue
        *replaced, last = authors
        for seat in replaced:
            if seat is not None:
                yield _Fate(seat, False)
        if last is not None and not draft.state.is_open:
            yield _Fate(last, draft.state.step == "accepted")
