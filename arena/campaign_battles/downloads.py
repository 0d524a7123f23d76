"""Campaign downloads: the quality of a campaign's workers and its votes as tables, for operators alone."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

from arena.campaign_battles.report import Judgement, Quality
from arena.seats.seats import Seat

Rows = list[Sequence[object]]
"""A table: its head, then its rows."""


class QualityRow(NamedTuple):
    """A worker, or all of them; the correlations are of all votes."""

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
    """An answer with its worker."""

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
    kind: str
    passed: str
    draw_probability: float | None
    counts: str


def quality_table(found: Quality) -> Rows:
    """A row of all workers, then one of each."""
    rho = found.correlations
    correlations = (
        (rho.within_tuple, rho.within_item, rho.within_worker) if rho else (None, None, None)
    )
    everyone = QualityRow(
        *("all workers", sum(one.votes for one in found.workers)),
        *(
            sum(one.checks.hits for one in found.workers),
            sum(one.checks.n for one in found.workers),
        ),
        agreement=_digits(found.agreement),
        shared_tuples=found.tuples,
        correlation_within_tuple=_digits(correlations[0]),
        correlation_within_item=_digits(correlations[1]),
        correlation_within_worker=_digits(correlations[2]),
    )
    workers = []
    for one in found.workers:
        checks = one.checks
        agreement = one.agreed / one.others if one.others else None
        confusion = (*(one.confusion or (None, None)), one.accuracy)
        given = (one.person, one.votes, checks.hits, checks.n)
        passed = map(_digits, (checks.value, checks.low, checks.high))
        alike = (one.agreed, one.others, _digits(agreement), one.shared)
        workers.append(
            QualityRow._make((*given, *passed, *alike, *map(_digits, confusion), "", "", ""))
        )
    return [QualityRow._fields, everyone, *workers]


def votes_table(
    given: Iterable[Judgement], seats: Mapping[int, Seat], left_out: frozenset[int]
) -> Rows:
    """Every answer with its worker, checks among them; `counts`: whether it stands on the campaign's board."""
    rows = []
    for one in given:
        who = seats[one.seat]
        seconds = round((one.voted_at - one.shown_at).total_seconds(), 1)
        battle = (one.item, one.family, one.model_a, one.model_b, one.choice, seconds)
        passed = ("yes" if one.is_right else "no") if one.is_check else ""
        counts = "no" if one.is_check or one.seat in left_out else "yes"
        kind = ("check" if one.is_check else "work", passed, one.probability, counts)
        rows.append(
            VoteRow(one.voted_at.isoformat(), who.person, who.session, one.seat, *battle, *kind)
        )
    return [VoteRow._fields, *rows]


def _digits(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.3f}"
