"""Owner's board: how far a project is, its yield as VisIT-Bench's Table 2, minutes, and what each person gave."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    Pass,
    Verification,
)
from arena.authoring.spec import ProjectSpec, project_of
from arena.authoring.state import DraftState
from arena.authoring.store import Draft
from arena.ratings.shares import Share, shares
from arena.seats.campaigns import Campaign
from arena.seats.overlap import RestAgreement, agreement_with_rest, lot, pairwise_agreement
from arena.seats.seats import Seat
from arena.seats.sheet import SeatWork
from arena.seats.times import ENOUGH
from arena.types import grouped

CHECKED = 0.5
MOST_CHECKED = 100
"""CHECKED, MOST_CHECKED: the share of a family's accepted questions that an operator checks, and the most of them."""
Metric = Literal["correct", "caption", "answer", "other"]
_METRICS: tuple[Metric, ...] = ("correct", "caption", "answer", "other")


class FamilyRow(NamedTuple):
    """A family's drafts, by where they stand."""

    family: str
    wanted: int
    accepted: int
    instruction: int
    caption: int
    answer: int
    verify: int
    rejected: int


class YieldRow(NamedTuple):
    """A row of Table 2: the share of items whose first answer was judged so, with Wilson's interval."""

    metric: Metric
    """correct; caption, answer: where the fault is; other: harm, picture, instruction, or not told."""
    overall: Share
    single: Share
    multi: Share
    """single, multi: of items with one picture, with several."""


class QuestionQuality(NamedTuple):
    """A family's questions, or all (family is empty): as people and a text-only model answered, and as checked.

    MMT-Bench's authors checked half of each data set, 100 at most, by hand (appendix I.1).
    """

    family: str
    accepted: int
    same: Share
    """Of questions that others answered, those on whose key they agreed."""
    without_picture: Share
    """Of accepted questions that the text-only model answered with a letter, those that it got right."""
    chance: float | None
    """What guessing gets of them."""
    spread: float | None
    """Words: the standard deviation within a question's options, the mean over accepted questions."""
    wanted: int
    """How many an operator checks."""
    checked: int
    good: Share
    """Of those checked."""


class StepMinutes(NamedTuple):
    """How long a step takes, from its claim on."""

    kind: EventKind
    number: int
    median: float | None
    total: float


class PersonRow(NamedTuple):
    """What a seat gave, and what became of it."""

    person: str
    instructions: int
    captions: int
    answers: int
    verdicts: int
    passed: int
    accepted: Share
    """Of what it wrote and that is decided: parts of accepted items."""
    agreed: int
    others: int
    """agreed, others: verdicts of others on the same answers that were the same, and all of them."""
    minutes: float


def family_rows(drafts: Sequence[Draft], spec: ProjectSpec) -> list[FamilyRow]:
    """A row for each family of the project, and for each other that its drafts have."""
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
    """What the first judgement of each item was, which is all that the paper had: it returned nothing."""
    judged: list[tuple[bool, str]] = []
    for draft in drafts:
        if draft.state.judgements and draft.state.instruction:
            judged.append((len(draft.state.instruction.pictures) > 1, draft.state.judgements[0]))
    groups = (
        [said for _, said in judged],
        *([said for multi, said in judged if multi is of] for of in (False, True)),
    )
    counts = [Counter(said if said in _METRICS else "other" for said in group) for group in groups]
    sizes = np.array([len(group) for group in groups])
    rows = []
    for metric in _METRICS:
        overall, single, multi = shares(np.array([count[metric] for count in counts]), sizes)
        rows.append(YieldRow(metric=metric, overall=overall, single=single, multi=multi))
    return rows


def quality_rows(drafts: Sequence[Draft], spec: ProjectSpec) -> list[QuestionQuality]:
    """A row for each family of a multiple-choice project, then one of all."""
    by_family = grouped((draft.family, draft) for draft in drafts)
    names = dict.fromkeys([*spec.by_name, *by_family])
    rows = [_quality(name, by_family.get(name, ())) for name in names]
    total = _quality("", drafts)
    return [*rows, total._replace(wanted=sum(row.wanted for row in rows))]


def _quality(family: str, drafts: Iterable[Draft]) -> QuestionQuality:
    states = [draft.state for draft in drafts]
    accepted = [one for one in states if one.step == "accepted" and one.instruction]
    judged = [one.judgements[0] for one in states if one.judgements]
    blind = [one for one in accepted if one.blind_is_right is not None]
    options = [one.instruction.options for one in accepted if one.instruction]
    checks = [one.check for one in states if one.check]
    guesses = [1 / len(one.instruction.options) for one in blind if one.instruction]
    same, without_picture, good = shares(
        np.array(
            [
                judged.count("correct"),
                sum(bool(one.blind_is_right) for one in blind),
                checks.count("correct"),
            ]
        ),
        np.array([len(judged), len(blind), len(checks)]),
    )
    return QuestionQuality(
        family=family,
        accepted=len(accepted),
        same=same,
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
    """How many of these items an operator checks: of those that came as far as acceptance, half, 100 at most."""
    there = sum(state.step == "accepted" or state.check is not None for state in states)
    return min(MOST_CHECKED, ceil(CHECKED * there))


def due_checks(drafts: Iterable[Draft], project: Campaign) -> list[Draft]:
    """The accepted questions that an operator has yet to check, drawn by lot within each family."""
    if not project_of(project.spec).is_choice:
        return []
    draw = project.key.hex()
    due = []
    for family in grouped((draft.family, draft) for draft in drafts).values():
        states = [draft.state for draft in family]
        missing = _checks_wanted(states) - sum(state.check is not None for state in states)
        left = [one for one in family if one.state.step == "accepted" and not one.state.check]
        due += sorted(left, key=lambda one: lot(draw, one.id))[: max(missing, 0)]
    return due


def step_minutes(drafts: Iterable[Draft]) -> list[StepMinutes]:
    found: dict[EventKind, list[float]] = {
        "instruction": [],
        "caption": [],
        "answer": [],
        "verdict": [],
    }
    for event in _by_people(drafts):
        found[KIND_OF[type(event.value)]].append(_minutes(event))
    return [
        StepMinutes(kind, len(took), median(took) if took else None, sum(took))
        for kind, took in found.items()
    ]


def step_seconds(drafts: Iterable[Draft]) -> float | None:
    """How long a step usually takes: the mean of the kinds' medians, by how often each was done; None of too few."""
    kinds = [kind for kind in step_minutes(drafts) if kind.median is not None]
    steps = sum(kind.number for kind in kinds)
    if steps < ENOUGH:
        return None
    return 60 * sum(kind.number * (kind.median or 0.0) for kind in kinds) / steps


def agreement(drafts: Iterable[Draft]) -> float | None:
    """Share of pairs of verdicts on one answer that agree; None without an answer judged twice."""
    return pairwise_agreement(_verdicts(drafts).values())


def person_rows(drafts: Sequence[Draft], seats: Iterable[Seat]) -> list[PersonRow]:
    """A row for each seat, in order of arrival."""
    kinds = Counter((event.seat, type(event.value)) for draft in drafts for event in draft.events)
    minutes: defaultdict[int | None, float] = defaultdict(float)
    for event in _by_people(drafts):
        minutes[event.seat] += _minutes(event)
    fates = [fate for draft in drafts for fate in _fates(draft)]
    agreement = agreement_with_rest(_verdicts(drafts))
    rows = []
    for seat in seats:
        mine = [is_accepted for of, is_accepted in fates if of == seat.id]
        (accepted,) = shares(np.array([sum(mine)]), np.array([len(mine)]))
        with_rest = agreement.get(seat.id, RestAgreement())
        rows.append(
            PersonRow(
                person=seat.person,
                instructions=kinds[seat.id, Instruction],
                captions=kinds[seat.id, Captions],
                answers=kinds[seat.id, DraftAnswer],
                verdicts=kinds[seat.id, Verification],
                passed=kinds[seat.id, Pass],
                accepted=accepted,
                agreed=with_rest.agreed,
                others=with_rest.others,
                minutes=minutes[seat.id],
            )
        )
    return rows


def seat_work(drafts: Sequence[Draft], seats: Iterable[Seat]) -> dict[int, SeatWork]:
    """What each seat gave, for `seats.sheet.pay_sheet`."""
    last: dict[int | None, datetime] = {}
    steps: Counter[int | None] = Counter()
    for event in _by_people(drafts):
        steps[event.seat] += 1
        last[event.seat] = max(event.at, last.get(event.seat, event.at))
    agreement = agreement_with_rest(_verdicts(drafts))
    work = {}
    for seat in seats:
        with_rest = agreement.get(seat.id, RestAgreement())
        work[seat.id] = SeatWork(
            votes=steps[seat.id],
            last=last.get(seat.id),
            agreed=with_rest.agreed,
            others=with_rest.others,
        )
    return work


def _by_people(drafts: Iterable[Draft]) -> Iterable[DraftEvent]:
    """What was done in seats, without what was left to others."""
    for draft in drafts:
        yield from (
            one for one in draft.events if one.seat is not None and not isinstance(one.value, Pass)
        )


def _minutes(event: DraftEvent) -> float:
    return (event.at - event.began_at).total_seconds() / 60 if event.began_at else 0.0


def _verdicts(drafts: Iterable[Draft]) -> Mapping[tuple[int, int], list[tuple[int, str]]]:
    """(seat, verdict) by draft and answer; of a question (seat, chosen letter), its author's among them."""
    found: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for draft in drafts:
        answers = 0
        for event in draft.events:
            value = event.value
            answers += isinstance(value, DraftAnswer)
            if event.seat is None:
                continue
            if isinstance(value, Instruction) and value.options:
                found[draft.id, answers] = [(event.seat, value.answer)]
            elif isinstance(value, Verification):
                told = (event.seat, value.chosen or value.said)
                found.setdefault((draft.id, answers), []).append(told)
    return found


def _fates(draft: Draft) -> Iterable[tuple[int, bool]]:
    """Who wrote a part of a draft whose fate is decided, and whether it is part of an accepted item."""
    for kind in (Instruction, Captions, DraftAnswer):
        parts = [event.seat for event in draft.events if isinstance(event.value, kind)]
        fates = [False] * (len(parts) - 1) + (
            [] if draft.state.is_open else [draft.state.step == "accepted"]
        )
        yield from (
            (seat, fate) for seat, fate in zip(parts, fates, strict=False) if seat is not None
        )
