"""Label results: the kinds of error in a report's answers, by people's labels."""

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
from scoring.people.errors import KEYS, ErrorKey, Label
from scoring.people.label_agreement import (
    DoubtedQuestion,
    ErrorComparison,
    LabelAgreement,
    compare_errors,
    doubted_questions,
    label_agreement,
)
from scoring.people.marking import Marking, answers_for
from scoring.people.plan import answer_key
from scoring.report import AnyReport

MOST_OTHERS = 8
"""The most other labelled reports to compare with."""
LEAST_COMMON = 5
"""The fewest questions with labels of both models for a comparison."""


class LabelResults(NamedTuple):
    """A report's labels, beside other reports of its owner."""

    labels: tuple[Label, ...]
    shares: ErrorShares
    bounds: ScoreBounds | None
    """The score without wrong questions; None if no answer is scored."""
    agreement: LabelAgreement
    doubted: tuple[DoubtedQuestion, ...]
    comparisons: Mapping[str, ErrorComparison]
    """Comparisons with other reports on the same questions, by their titles."""


def label_results(
    marking: Marking, job: Job, report: AnyReport, with_others: bool = True
) -> LabelResults | None:
    """A report's errors by people's labels; None if it has no labels.

    `with_others` adds comparisons with its owner's other reports.
    """
    known = known_errors(answers_for("labels", report))
    labels = labels_of(marking, job, known)
    if not labels:
        return None
    others = _others(marking, job) if with_others else {}
    shares = error_shares(labels, known)
    comparisons = {}
    for title, other_labels in others.items():
        comparison = compare_errors(labels, other_labels)
        if comparison.items >= LEAST_COMMON:
            comparisons[title] = comparison
    return LabelResults(
        labels=tuple(labels),
        shares=shares,
        bounds=without_annotation_errors(shares, known),
        agreement=label_agreement({job.title: labels}),
        doubted=tuple(doubted_questions({job.title: labels, **others})),
        comparisons=comparisons,
    )


def labels_of(marking: Marking, job: Job, known: KnownErrors) -> list[Label]:
    """People's labels of the known errors of a job's report; "cannot" is not a label."""
    groups = {answer_key(answer): group for answer, group in known.by_item.values()}
    labels = []
    for mark in marking.store.of_report("labels", job.link, job.owner, groups):
        main: ErrorKey | None = next((key for key in KEYS if key == mark.entry.value), None)
        if main is None:
            continue
        further: list[ErrorKey] = [key for key in KEYS if key in mark.entry.further]
        label = Label(
            item=mark.item,
            group=groups[mark.answer],
            labeller=mark.person,
            main=main,
            further=tuple(further),
            note=mark.entry.note,
            round=mark.round,
            marker=mark.marker,
        )
        labels.append(label)
    return labels


def _others(marking: Marking, job: Job) -> dict[str, list[Label]]:
    """The labels of the owner's other reports of the same benchmark, by title: the newest labels of each title."""
    others: dict[str, list[Label]] = {}
    for other in marking.jobs.of_owner(job.owner):
        if len(others) == MOST_OTHERS:
            break
        is_comparable = (
            other.state == "done"
            and other.benchmark == job.benchmark
            and other.title not in (job.title, *others)
        )
        report = marking.jobs.readable_report(other.link) if is_comparable else None
        if report is None:
            continue
        labels = labels_of(marking, other, known_errors(answers_for("labels", report)))
        if labels:
            others[other.title] = labels
    return others
