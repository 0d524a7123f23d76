"""Campaign report: each worker's answers, the workers' agreement, and every vote with its worker, for operators."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import nan
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, func, select

from arena.battles.tables import BATTLE, HAS_CHOICE, IS_SKIPPED
from arena.campaign_battles.layout import Layout
from arena.campaign_battles.votes import (
    CHECK,
    counted_votes,
    left_out_seats,
    uncounted_seats,
)
from arena.fraud.detectors import CROWD_REASONS, WORDS_A_MINUTE, Suspicion
from arena.fraud.flags import VOTER_FLAG, campaign_review, words_in
from arena.items.store import ANSWER, FAMILY, ITEM, MODEL, model_names
from arena.ratings.dawid_skene import dawid_skene
from arena.ratings.planner import Correlations, measured_correlations
from arena.ratings.shares import Share, shares
from arena.ratings.votes import Codes
from arena.seats.campaigns import Campaign
from arena.seats.quality import RestAgreement, agreement_with_rest, pairwise_agreement
from arena.seats.seats import Seat
from arena.seats.sheet import SeatWork
from arena.seats.tables import SEAT_ENTRY, SEAT_TRY
from arena.types import UNRELATED, grouped

_ANSWER_A = ANSWER.alias("said_a")
_ANSWER_B = ANSWER.alias("said_b")
_UNKNOWN_CORRELATIONS = Correlations(nan, nan, nan)
_Winners = dict[tuple[str, str, str], list[tuple[int, str]]]
"""Pairs of seat and winner by tuple, in order of the tuples' names, without checks."""


class Judgement(NamedTuple):
    """A worker's choice in a battle or a check, as it is stored now: the last one may still be undone."""

    seat: int
    item: str
    """The item's key."""
    family: str
    model_a: str
    model_b: str
    choice: str
    shown_at: datetime
    voted_at: datetime
    draw: str
    probability: float | None
    words: int
    """The words of both answers."""

    @property
    def is_hasty(self) -> bool:
        """Whether it came faster than anybody reads the answers."""
        return (self.voted_at - self.shown_at).total_seconds() < self.words * 60 / WORDS_A_MINUTE

    @property
    def winner(self) -> str:
        return self.model_a if self.choice == "a" else self.model_b

    @property
    def is_check(self) -> bool:
        return self.draw == CHECK

    @property
    def is_right(self) -> bool:
        """Whether a check was passed."""
        return self.winner != UNRELATED

    @property
    def tuple_name(self) -> tuple[str, str, str]:
        """The item's key and the models' names, in order."""
        return self.item, min(self.model_a, self.model_b), max(self.model_a, self.model_b)


def judgements(connection: Connection, campaign: Campaign) -> list[Judgement]:
    """Returns the answers of a campaign's seats, including checks, in order of time."""
    names = model_names(connection)
    query = select(
        BATTLE.c.seat_id,
        ITEM.c.key,
        FAMILY.c.name.label("family"),
        BATTLE.c.winner,
        BATTLE.c.loser,
        BATTLE.c.choice,
        BATTLE.c.began_at,
        BATTLE.c.voted_at,
        BATTLE.c.draw,
        BATTLE.c.draw_probability,
        (words_in(_ANSWER_A.c.text) + words_in(_ANSWER_B.c.text)).label("words"),
    ).where(
        _ANSWER_A.c.id == BATTLE.c.answer_a,
        _ANSWER_B.c.id == BATTLE.c.answer_b,
        HAS_CHOICE,
        ITEM.c.id == BATTLE.c.item_id,
        FAMILY.c.id == ITEM.c.family_id,
        SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id,
        SEAT_ENTRY.c.campaign_id == campaign.id,
    )
    return [
        _judgement(row, names)
        for row in connection.execute(query.order_by(BATTLE.c.voted_at, BATTLE.c.id))
    ]


def _judgement(row: Row, names: Mapping[int, str]) -> Judgement:
    winner = names[row.winner]
    loser = names[row.loser]
    return Judgement(
        seat=row.seat_id,
        item=row.key,
        family=row.family,
        model_a=winner if row.choice == "a" else loser,
        model_b=loser if row.choice == "a" else winner,
        choice=row.choice,
        shown_at=row.began_at,
        voted_at=row.voted_at,
        draw=row.draw,
        probability=row.draw_probability,
        words=row.words,
    )


def seat_work(
    connection: Connection, campaign: Campaign, seats: Sequence[Seat]
) -> dict[int, SeatWork]:
    """Returns the work of each seat, for the pay sheet."""
    answers = judgements(connection, campaign)
    withdrew = {seat.id for seat in seats if seat.end == "withdrew"}
    remaining = [answer for answer in answers if answer.seat not in withdrew]
    agreement = agreement_with_rest(_winners(remaining))
    by_seat = grouped((answer.seat, answer) for answer in answers)
    flags = flags_in_words(connection, campaign)
    last = last_answers(connection, campaign)
    skipped = skipped_checks(connection, campaign)
    work = {}
    for seat in seats:
        seat_answers = by_seat.get(seat.id, [])
        checks = [answer.is_right for answer in seat_answers if answer.is_check]
        with_rest = agreement.get(seat.id, RestAgreement())
        work[seat.id] = SeatWork(
            votes=len(seat_answers) - len(checks),
            checks=len(checks),
            failed_checks=checks.count(False),
            last=last.get(seat.id),
            agreed=with_rest.agreed,
            others=with_rest.others,
            flags=flags.get(seat.voter, ()),
            skipped_checks=skipped.get(seat.id, 0),
            hasty=sum(answer.is_hasty for answer in seat_answers),
        )
    return work


def skipped_checks(connection: Connection, campaign: Campaign) -> dict[int, int]:
    """Returns the number of checks that each seat skipped."""
    query = select(BATTLE.c.seat_id, func.count()).where(
        IS_SKIPPED,
        BATTLE.c.draw == CHECK,
        SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id,
        SEAT_ENTRY.c.campaign_id == campaign.id,
    )
    return {seat: number for seat, number in connection.execute(query.group_by(BATTLE.c.seat_id))}


def last_answers(connection: Connection, campaign: Campaign) -> dict[int, datetime]:
    """Returns the time of each seat's last answer, also in the qualification."""
    is_of_campaign = SEAT_ENTRY.c.campaign_id == campaign.id
    tries = (
        select(SEAT_TRY.c.seat_id, func.max(SEAT_TRY.c.at))
        .where(SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id, is_of_campaign)
        .group_by(SEAT_TRY.c.seat_id)
    )
    votes = (
        select(BATTLE.c.seat_id, func.max(BATTLE.c.voted_at))
        .where(HAS_CHOICE, SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id, is_of_campaign)
        .group_by(BATTLE.c.seat_id)
    )
    # The qualification is over before the first vote, so a vote is always later.
    rows = [*connection.execute(tries), *connection.execute(votes)]
    return {seat: at for seat, at in rows}


def flags_in_words(connection: Connection, campaign: Campaign) -> dict[int, tuple[str, ...]]:
    """Returns the reasons for the flags on each voter, from the campaign's own votes.

    Haste is left out, since the seat's own answers show it. Voting like a crowd is left out, since such a voter may be
    honest, and is paid.
    """
    unlisted = [reason.name for reason in sorted({Suspicion.HASTY, *CROWD_REASONS})]
    reasons: dict[int, list[str]] = defaultdict(list)
    query = select(VOTER_FLAG.c.voter_id, VOTER_FLAG.c.reason, MODEL.c.display).outerjoin(MODEL)
    query = query.where(
        VOTER_FLAG.c.review == campaign_review(campaign.name),
        VOTER_FLAG.c.reason.not_in(unlisted),
    )
    by_voter = query.order_by(VOTER_FLAG.c.voter_id, VOTER_FLAG.c.reason)
    for voter, reason, model in connection.execute(by_voter):
        words = str(Suspicion[reason])
        if model:
            words = f"{words}: {model}"
        # A source's boards of one and of several images may each have a crowd for the same model.
        if words not in reasons[voter]:
            reasons[voter].append(words)
    return {voter: tuple(words) for voter, words in reasons.items()}


@dataclass(frozen=True)
class WorkerQuality:
    """The quality of a worker's answers, by checks, by others' answers and by Dawid-Skene."""

    person: str
    votes: int
    checks: Share
    """The share of passed checks, with Wilson's interval."""
    agreed: int
    others: int
    """agreed, others: as in `RestAgreement`."""
    shared: int
    """Answers to tuples that others judged too; the chances below are fitted to them."""
    says_first: float | None
    """The chance to choose the first model of a tuple where it is better. None, as below, without shared answers."""
    says_second: float | None
    """The chance to choose the second model of a tuple where that is better."""
    accuracy: float | None


@dataclass(frozen=True)
class Quality:
    """The quality of a campaign's answers."""

    workers: Sequence[WorkerQuality]
    agreement: float | None
    """The share of pairs of answers to one tuple that agree, among the answers that count."""
    tuples: int
    """Tuples that several workers judged."""
    correlations: Correlations | None
    """Correlations of the votes that count, NaN without two votes to compare; None without votes."""


def quality(
    connection: Connection, campaign: Campaign, seats: Sequence[Seat], layout: Layout | None
) -> Quality:
    """Returns the quality of a campaign's workers, except those who withdrew consent."""
    people = [seat for seat in seats if seat.end != "withdrew"]
    remaining = {seat.id for seat in people}
    answers = [answer for answer in judgements(connection, campaign) if answer.seat in remaining]
    winners = _winners(answers)
    shared_winners = {name: choices for name, choices in winners.items() if len(choices) > 1}
    uncounted = uncounted_seats(connection, campaign, left_out_seats(connection, campaign))
    counted = [
        [(seat, winner) for seat, winner in choices if seat not in uncounted]
        for choices in shared_winners.values()
    ]
    votes = counted_votes(connection, campaign, layout, uncounted) if layout else None
    correlations = None
    if votes:
        correlations = measured_correlations(votes, _UNKNOWN_CORRELATIONS)
    return Quality(
        workers=_worker_qualities(people, answers, winners, shared_winners),
        agreement=pairwise_agreement(counted),
        tuples=len(shared_winners),
        correlations=correlations,
    )


def _worker_qualities(
    people: Sequence[Seat],
    answers: Sequence[Judgement],
    winners: _Winners,
    shared_winners: _Winners,
) -> list[WorkerQuality]:
    """Returns the quality of each worker; `shared_winners` are those of tuples with several answers."""
    agreement = agreement_with_rest(winners)
    by_seat = grouped((answer.seat, answer) for answer in answers)
    seat_answers = [by_seat.get(seat.id, []) for seat in people]
    checks = [
        [answer.is_right for answer in own_answers if answer.is_check]
        for own_answers in seat_answers
    ]
    passed = shares(
        np.array([sum(results) for results in checks]),
        np.array([len(results) for results in checks]),
    )
    worker, task, chose_first = _choices(people, shared_winners)
    fitted = dawid_skene(worker, task, chose_first)
    shared = np.bincount(worker, minlength=len(people))
    workers = []
    for number, seat in enumerate(people):
        is_fitted = shared[number] > 0
        with_rest = agreement.get(seat.id, RestAgreement())
        workers.append(
            WorkerQuality(
                person=seat.person,
                votes=len(seat_answers[number]) - len(checks[number]),
                checks=passed[number],
                agreed=with_rest.agreed,
                others=with_rest.others,
                shared=int(shared[number]),
                # In `choice_chances`, answer 1 is the first model.
                says_first=float(fitted.choice_chances[number, 1, 1]) if is_fitted else None,
                says_second=float(fitted.choice_chances[number, 0, 0]) if is_fitted else None,
                accuracy=float(fitted.accuracy[number]) if is_fitted else None,
            )
        )
    return workers


def _choices(people: Sequence[Seat], shared_winners: _Winners) -> Codes:
    """Returns 3 x choices: the worker's place in `people`, the tuple's number, and 1 for its first model, else 0."""
    places = {seat.id: place for place, seat in enumerate(people)}
    rows = []
    for number, (name, choices) in enumerate(shared_winners.items()):
        _, first_model, _ = name
        rows += [(places[seat], number, int(winner == first_model)) for seat, winner in choices]
    return np.array(rows, np.int64).reshape(-1, 3).T


def _winners(answers: Iterable[Judgement]) -> _Winners:
    work = sorted(
        (answer for answer in answers if not answer.is_check), key=lambda answer: answer.tuple_name
    )
    return grouped((answer.tuple_name, (answer.seat, answer.winner)) for answer in work)
