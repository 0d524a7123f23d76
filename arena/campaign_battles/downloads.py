"""Campaign downloads: the quality of a campaign's workers and its votes as tables, for operators only."""

from collections.abc import Iterable, Mapping
from math import isnan
from typing import NamedTuple

from arena.campaign_battles.report import Judgement, Quality, WorkerQuality
from arena.seats.seats import Seat
from arena.sheets import Sheet, record_sheet


class QualityRow(NamedTuple):
    """The quality of a worker, or of all workers together.

    The row of all workers has the agreement and the correlations of the votes that count.
    """

    person: str
    votes: int
    checks_passed: int
    checks: int
    checks_share: object = ""
    checks_low: object = ""
    checks_high: object = ""
    agreed_with_others: object = ""
    answers_of_others: object = ""
    agreement: object = ""
    shared_tuples: object = ""
    says_first_where_first_is_better: object = ""
    says_second_where_second_is_better: object = ""
    dawid_skene_accuracy: object = ""
    correlation_within_tuple: object = ""
    correlation_within_item: object = ""
    correlation_within_worker: object = ""


class VoteRow(NamedTuple):
    """A vote with its worker."""

    time: str
    person: str
    session: str
    seat: int
    item: str
    family: str
    model_a: str
    model_b: str
    choice: str
    seconds: float
    """The seconds from display to choice."""
    kind: str
    """Either "check" or "work"."""
    passed: str
    """For a check "yes" or "no", else blank."""
    draw_probability: float | None
    """The probability of drawing this pair of models, from started tuples alone if there were any; None for a check."""
    counts: str
    """Whether it is on the campaign's board: "yes" or "no"."""


def quality_sheet(quality: Quality) -> Sheet:
    """Returns a row for all workers, then a row for each."""
    workers = quality.workers
    rho = quality.correlations
    everyone = QualityRow(
        person="all workers",
        votes=sum(worker.votes for worker in workers),
        checks_passed=sum(worker.checks.hits for worker in workers),
        checks=sum(worker.checks.n for worker in workers),
        agreement=_digits(quality.agreement),
        shared_tuples=quality.tuples,
        correlation_within_tuple=_digits(rho.within_tuple if rho else None),
        correlation_within_item=_digits(rho.within_item if rho else None),
        correlation_within_worker=_digits(rho.within_worker if rho else None),
    )
    rows = [everyone, *map(_quality_row, workers)]
    return record_sheet("quality", "Quality", QualityRow, rows)


def _quality_row(worker: WorkerQuality) -> QualityRow:
    checks = worker.checks
    return QualityRow(
        person=worker.person,
        votes=worker.votes,
        checks_passed=checks.hits,
        checks=checks.n,
        checks_share=_digits(checks.value),
        checks_low=_digits(checks.low),
        checks_high=_digits(checks.high),
        agreed_with_others=worker.agreed,
        answers_of_others=worker.others,
        agreement=_digits(worker.agreed / worker.others if worker.others else None),
        shared_tuples=worker.shared,
        says_first_where_first_is_better=_digits(worker.says_first),
        says_second_where_second_is_better=_digits(worker.says_second),
        dawid_skene_accuracy=_digits(worker.accuracy),
    )


def votes_sheet(
    judgements: Iterable[Judgement], seats: Mapping[int, Seat], uncounted: frozenset[int]
) -> Sheet:
    """Returns every vote with its worker, including checks; `uncounted` are the seats whose votes don't count."""
    rows = [
        _vote_row(judgement, seats[judgement.seat], judgement.seat in uncounted)
        for judgement in judgements
    ]
    return record_sheet("votes", "Votes", VoteRow, rows)


def _vote_row(judgement: Judgement, seat: Seat, is_uncounted: bool) -> VoteRow:
    duration = judgement.voted_at - judgement.shown_at
    passed = ""
    if judgement.is_check:
        passed = "yes" if judgement.is_right else "no"
    return VoteRow(
        time=judgement.voted_at.isoformat(),
        person=seat.person,
        session=seat.session,
        seat=judgement.seat,
        item=judgement.item,
        family=judgement.family,
        model_a=judgement.model_a,
        model_b=judgement.model_b,
        choice=judgement.choice,
        seconds=round(duration.total_seconds(), 1),
        kind="check" if judgement.is_check else "work",
        passed=passed,
        draw_probability=judgement.probability,
        counts="no" if judgement.is_check or is_uncounted else "yes",
    )


def _digits(value: float | None) -> str:
    """Returns a number with three decimals; blank for an unknown one."""
    return "" if value is None or isnan(value) else f"{value:.3f}"
