"""Campaign report: what each worker gave, how far workers agree, every vote with its worker. For operators."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from math import nan
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, func, select

from arena.battles.tables import BATTLE, CHOSEN, SKIPPED
from arena.campaign_battles.layout import Layout
from arena.campaign_battles.votes import (
    CHECK,
    counted_votes,
    left_out_seats,
    uncounted_seats,
)
from arena.fraud.detectors import OF_CROWD, WORDS_A_MINUTE, Suspicion
from arena.fraud.flags import COUNTED_FLAG, VOTER_FLAG, words_in
from arena.items.store import ANSWER, FAMILY, ITEM, MODEL, model_names
from arena.ratings.dawid_skene import dawid_skene
from arena.ratings.planner import Correlations, measured_correlations
from arena.ratings.shares import Share, shares
from arena.seats.campaigns import Campaign
from arena.seats.overlap import RestAgreement, agreement_with_rest, pairwise_agreement
from arena.seats.seats import Seat
from arena.seats.sheet import SeatWork
from arena.seats.tables import SEAT_ENTRY, SEAT_TRY
from arena.types import UNRELATED, grouped

_A = ANSWER.alias("said_a")
_B = ANSWER.alias("said_b")
_UNKNOWN = Correlations(nan, nan, nan)


class Judgement(NamedTuple):
    """An answer of a worker, as it counts now."""

    seat: int
    item: str
    """Its key."""
    family: str
    model_a: str
    model_b: str
    choice: str
    shown_at: datetime
    voted_at: datetime
    draw: str
    probability: float | None
    words: int
    """Of both answers."""

    @property
    def is_hasty(self) -> bool:
        """Whether it came sooner than the answers can be read."""
        return (self.voted_at - self.shown_at).total_seconds() < self.words * 60 / WORDS_A_MINUTE

    @property
    def winner(self) -> str:
        return self.model_a if self.choice == "a" else self.model_b

    @property
    def is_check(self) -> bool:
        return self.draw == CHECK

    @property
    def is_right(self) -> bool:
        """Of a check."""
        return self.winner != UNRELATED

    @property
    def tuple_of(self) -> tuple[str, str, str]:
        return self.item, min(self.model_a, self.model_b), max(self.model_a, self.model_b)


def judgements(connection: Connection, campaign: Campaign) -> list[Judgement]:
    """The answers under a campaign's seats, checks among them, in the order they came."""
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
        (words_in(_A.c.text) + words_in(_B.c.text)).label("words"),
    ).where(
        _A.c.id == BATTLE.c.answer_a,
        _B.c.id == BATTLE.c.answer_b,
        CHOSEN,
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
    """What each seat gave, for the pay sheet."""
    given = judgements(connection, campaign)
    withdrew = {seat.id for seat in seats if seat.end == "withdrew"}
    agreement = agreement_with_rest(_answers(one for one in given if one.seat not in withdrew))
    mine = {seat.id: [] for seat in seats} | grouped((one.seat, one) for one in given)
    flags = flags_in_words(connection)
    last = last_answers(connection, campaign)
    skipped = skipped_checks(connection, campaign)
    found = {}
    for seat in seats:
        checks = [one.is_right for one in mine[seat.id] if one.is_check]
        with_rest = agreement.get(seat.id, RestAgreement())
        found[seat.id] = SeatWork(
            votes=len(mine[seat.id]) - len(checks),
            checks=len(checks),
            failed_checks=checks.count(False),
            last=last.get(seat.id),
            agreed=with_rest.agreed,
            others=with_rest.others,
            flags=flags.get(seat.voter, ()),
            skipped_checks=skipped.get(seat.id, 0),
            hasty=sum(one.is_hasty for one in mine[seat.id]),
        )
    return found


def skipped_checks(connection: Connection, campaign: Campaign) -> dict[int, int]:
    """How many checks each seat skipped."""
    checks = select(BATTLE.c.seat_id, func.count()).where(SKIPPED, BATTLE.c.draw == CHECK)
    mine = checks.where(
        SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id, SEAT_ENTRY.c.campaign_id == campaign.id
    )
    return {seat: number for seat, number in connection.execute(mine.group_by(BATTLE.c.seat_id))}


def last_answers(connection: Connection, campaign: Campaign) -> dict[int, datetime]:
    """When each seat gave its last answer, in the qualification too."""
    mine = SEAT_ENTRY.c.campaign_id == campaign.id
    tries = select(SEAT_TRY.c.seat_id, func.max(SEAT_TRY.c.at)).group_by(SEAT_TRY.c.seat_id)
    votes = select(BATTLE.c.seat_id, func.max(BATTLE.c.voted_at)).group_by(BATTLE.c.seat_id)
    asked = connection.execute(tries.where(SEAT_ENTRY.c.seat_id == SEAT_TRY.c.seat_id, mine))
    given = connection.execute(votes.where(CHOSEN, SEAT_ENTRY.c.seat_id == BATTLE.c.seat_id, mine))
    return {seat: at for seat, at in [*asked, *given]}  # who votes has no question left


def flags_in_words(connection: Connection) -> dict[int, tuple[str, ...]]:
    """The reasons for which each voter is flagged, on any board.

    Of haste the seat's own answers tell; who only votes like a crowd may be honest, and is paid.
    """
    untold = [reason.name for reason in sorted({Suspicion.HASTY, *OF_CROWD})]
    found: dict[int, dict[str, None]] = defaultdict(dict)
    for flags in (VOTER_FLAG, COUNTED_FLAG):
        query = select(flags.c.voter_id, flags.c.reason, MODEL.c.display).outerjoin(MODEL)
        query = query.where(flags.c.reason.not_in(untold)).order_by(
            flags.c.voter_id, flags.c.reason
        )
        for voter, reason, model in connection.execute(query):
            found[voter][f"{Suspicion[reason]}: {model}" if model else str(Suspicion[reason])] = (
                None
            )
    return {voter: tuple(reasons) for voter, reasons in found.items()}


@dataclass(frozen=True)
class WorkerQuality:
    """How good a worker's answers are, by checks, by others' answers and by Dawid-Skene."""

    person: str
    votes: int
    checks: Share
    """Checks that were passed, with Wilson's interval."""
    agreed: int
    others: int
    shared: int
    """Answers to tuples that others judged too: what the confusion is fitted to."""
    confusion: tuple[float, float] | None
    """How often he chooses the model with the first name where it is the better one, and the second where that is."""
    accuracy: float | None


@dataclass(frozen=True)
class Quality:
    """The quality of a campaign's answers."""

    workers: Sequence[WorkerQuality]
    agreement: float | None
    """Share of pairs of answers to one tuple that agree."""
    tuples: int
    """Tuples that several workers judged."""
    correlations: Correlations | None
    """Of the votes that count, NaN where no two votes tell; None while there are none."""


def quality(
    connection: Connection, campaign: Campaign, seats: Sequence[Seat], layout: Layout | None
) -> Quality:
    """How far a campaign's workers agree and pass its checks; those who took consent back are left out."""
    people = [seat for seat in seats if seat.end != "withdrew"]
    code = {seat.id: number for number, seat in enumerate(people)}
    given = [one for one in judgements(connection, campaign) if one.seat in code]
    out = uncounted_seats(connection, campaign, left_out_seats(connection, campaign))
    mine = {seat: [] for seat in code} | grouped((one.seat, one) for one in given)
    answers = _answers(given)
    several = {of: chosen for of, chosen in answers.items() if len(chosen) > 1}
    agreement = agreement_with_rest(answers)
    rows = [
        (code[seat], number, int(winner == of[1]))
        for number, (of, chosen) in enumerate(several.items())
        for seat, winner in chosen
    ]
    worker, task, first = np.array(rows, np.int64).reshape(-1, 3).T
    fitted = dawid_skene(worker, task, first)
    shared = np.bincount(worker, minlength=len(people))
    checks = {seat: [one.is_right for one in mine[seat] if one.is_check] for seat in code}
    passed = shares(
        np.array([sum(checks[seat]) for seat in code]),
        np.array([len(checks[seat]) for seat in code]),
    )
    told = []
    for number, seat in enumerate(people):
        knows = shared[number] > 0
        says = (
            (float(fitted.says[number, 1, 1]), float(fitted.says[number, 0, 0])) if knows else None
        )
        with_rest = agreement.get(seat.id, RestAgreement())
        told.append(
            WorkerQuality(
                person=seat.person,
                votes=len(mine[seat.id]) - len(checks[seat.id]),
                checks=passed[number],
                agreed=with_rest.agreed,
                others=with_rest.others,
                shared=int(shared[number]),
                confusion=says,
                accuracy=float(fitted.accuracy[number]) if knows else None,
            )
        )
    counted = [[one for one in chosen if one[0] not in out] for chosen in several.values()]
    votes = counted_votes(connection, campaign, layout, out) if layout else None
    rho = measured_correlations(votes, _UNKNOWN) if votes and len(votes) else None
    return Quality(told, pairwise_agreement(counted), len(several), rho)


def _answers(given: Iterable[Judgement]) -> dict[tuple[str, str, str], list[tuple[int, str]]]:
    """(worker, winner) by tuple, without checks."""
    work = sorted((one for one in given if not one.is_check), key=lambda one: one.tuple_of)
    return {
        of: [(one.seat, one.winner) for one in mine]
        for of, mine in groupby(work, lambda one: one.tuple_of)
    }
