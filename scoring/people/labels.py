"""Label results: which errors a report's answers have, by what people said of them."""

from collections.abc import Mapping
from typing import NamedTuple

from scoring.jobs.store import Job
from scoring.people.error_sample import KnownErrors, known_errors
from scoring.people.error_shares import (
    ErrorShares,
    ScoreBounds,
    error_shares,
    without_annotation_errors,
)
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.label_agreement import (
    DoubtedQuestion,
    LabelAgreement,
    doubted_questions,
    label_agreement,
)
from scoring.people.label_comparison import ErrorComparison, compare_errors
from scoring.people.marking import Marking, shown_answers
from scoring.people.plan import answer_key
from scoring.report import AnyReport

MOST_OTHERS = 8
"""Other labelled reports that one is compared with."""
LEAST_COMMON = 5
"""Questions with labels of both from which two models are compared."""


class LabelResults(NamedTuple):
    """What labels say of a report, and of others of its owner beside it."""

    labels: tuple[Label, ...]
    shares: ErrorShares
    bounds: ScoreBounds | None
    agreement: LabelAgreement
    doubted: tuple[DoubtedQuestion, ...]
    compared: Mapping[str, ErrorComparison]
    """With other reports on the same questions, by their titles."""


def label_results(
    marking: Marking, job: Job, report: AnyReport, beside: bool = True
) -> LabelResults | None:
    """What people's labels say of a report's errors; None without labels."""
    known = known_errors(shown_answers("labels", report))
    labels = labels_of(marking, job, known)
    if not labels:
        return None
    others = _others(marking, job) if beside else {}
    shares = error_shares(labels, known)
    compared = {title: compare_errors(labels, theirs) for title, theirs in others.items()}
    return LabelResults(
        labels=tuple(labels),
        shares=shares,
        bounds=without_annotation_errors(shares, known),
        agreement=label_agreement({job.title: labels}),
        doubted=tuple(doubted_questions({job.title: labels, **others})),
        compared={title: one for title, one in compared.items() if one.items >= LEAST_COMMON},
    )


def labels_of(marking: Marking, job: Job, known: KnownErrors) -> list[Label]:
    """What was said of the known errors of a job's report."""
    groups = {answer_key(one): group for one, group in known.by_item.values()}
    found = []
    for mark in marking.store.of_report("labels", job.link, job.owner, groups):
        main: ErrorKey | None = next((key for key in ERROR_KINDS if key == mark.said.value), None)
        if main:
            further: tuple[ErrorKey, ...] = tuple(
                key for key in ERROR_KINDS if key in mark.said.further
            )
            label = Label(
                item=mark.item,
                group=groups[mark.answer],
                labeller=mark.marker,
                main=main,
                further=further,
                note=mark.said.note,
                round=mark.round,
            )
            found.append(label)
    return found


def _others(marking: Marking, job: Job) -> dict[str, list[Label]]:
    """The labels of its owner's other reports of the same benchmark, by title: the newest of each title."""
    found: dict[str, list[Label]] = {}
    for one in marking.jobs.of_owner(job.owner):
        alike = (
            one.state == "done"
            and one.benchmark == job.benchmark
            and one.title not in (job.title, *found)
        )
        report = marking.jobs.report(one.link) if alike and len(found) < MOST_OTHERS else None
        if report is not None and (
            labels := labels_of(marking, one, known_errors(shown_answers("labels", report)))
        ):
            found[one.title] = labels
    return found
