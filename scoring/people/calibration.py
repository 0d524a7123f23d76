"""Calibration of judges: each judge's distance from people over the same marked answers, beside people's distance from
one another and that of rules without a judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

from arena.types import grouped
from scoring.benchmarks.mm_vet_questions import truth_parts
from scoring.people.corrected_mean import (
    LEAST_FOR_GROUP,
    LEAST_FOR_MEAN,
    CorrectedMean,
    MarkedScores,
    corrected_mean,
)
from scoring.people.mark_files import JudgedReport, PersonMark
from scoring.people.measures import (
    LEAST_MARKS,
    LEAST_RANKED,
    MarksError,
    Measures,
    compare_scores,
    delta_of_mean,
    delta_of_median,
    keyword_score,
    mean_of_deltas,
)


@dataclass(frozen=True)
class JudgeCalibration:
    """One judge against people."""

    name: str
    measures: Measures
    unscored: int
    """Marked answers without a score by the judge: they are in no mean."""
    mean: CorrectedMean | None
    """None with too few marks, or where an answer of the report is unscored."""
    groups: Mapping[str, Measures]
    """Measures by the capability that a question tests, where there are enough marks."""
    group_means: Mapping[str, CorrectedMean]


@dataclass(frozen=True)
class Panel:
    """The distance of several judges together from people."""

    mean_of_deltas: float
    """Mean of the judges' own deltas, as in MM-Vet's Table 7."""
    delta_of_mean: float
    """Delta of the judges' mean scores."""
    delta_of_median: float
    """Delta of the judges' median scores."""


@dataclass(frozen=True)
class Calibration:
    """Judges against people's marks."""

    answers: int
    """Marked answers; several marks of one answer count as their median."""
    judges: tuple[JudgeCalibration, ...]
    """The nearest to people first; with too few marks, in the order of the reports."""
    baselines: Mapping[str, Measures]
    people: Measures | None
    """One person against another on the same answer, the nearest that a judge can be expected to come.

    None with too few answers that two people marked.
    """
    panel: Panel | None
    repeated: Measures | None
    """The same people's second marks of answers against their first."""

    @property
    def is_ranked(self) -> bool:
        return self.answers >= LEAST_RANKED


def calibrate(
    reports: Sequence[JudgedReport],
    marks: Sequence[PersonMark],
    second_marks: Sequence[PersonMark] = (),
    strata: Mapping[str, str] | None = None,
) -> Calibration:
    """Compares judges of the same answers with people.

    Raises MarksError below LEAST_MARKS marked answers, or if a judge scored fewer of them.

    `second_marks` are by the same people. `strata` is each answer's stratum, within which the answers to mark were
    drawn by lot; None if they were drawn from all answers.
    """
    by_item = grouped((mark.item, mark.score) for mark in marks)
    items = [item for item in by_item if all(item in report.answers for report in reports)]
    if len(items) < LEAST_MARKS:
        raise MarksError(
            f"This needs {LEAST_MARKS} marked answers that every judge scored, and has {len(items)}. Mark more."
        )
    median_marks = {item: float(median(by_item[item])) for item in items}
    judges = [_calibrate_judge(report, median_marks, strata) for report in reports]
    if len(items) >= LEAST_RANKED:
        judges.sort(key=lambda judge: judge.measures.delta)
    return Calibration(
        answers=len(items),
        judges=tuple(judges),
        baselines=_baselines(reports[0], median_marks),
        people=_people(marks),
        panel=_panel(reports, median_marks),
        repeated=_repeated(marks, second_marks),
    )


def paired_comparisons(reports: Sequence[JudgedReport]) -> Mapping[tuple[str, str], Measures]:
    """Compares each report with each later one, over the answers that both scored; by the names of the two judges.

    No marks are needed. The reports are of several judges, or of one judge at several times.
    """
    comparisons = {}
    for first, second in combinations(reports, 2):
        pairs = []
        for item, answer in first.answers.items():
            other = second.answers.get(item)
            if other and answer.score is not None and other.score is not None:
                pairs.append((answer.score, other.score))
        if measures := _paired_measures(pairs):
            comparisons[first.judge, second.judge] = measures
    return comparisons


def _calibrate_judge(
    report: JudgedReport, median_marks: Mapping[str, float], strata: Mapping[str, str] | None
) -> JudgeCalibration:
    scores = {item: report.answers[item].score for item in median_marks}
    scored = {item: score for item, score in scores.items() if score is not None}
    scores_by_group: dict[str, dict[str, float]] = {}
    for item, score in scored.items():
        for group in report.answers[item].question.groups:
            scores_by_group.setdefault(group, {})[item] = score
    groups = {}
    group_means = {}
    for group, group_scores in sorted(scores_by_group.items()):
        if len(group_scores) >= LEAST_MARKS:
            groups[group] = _measures(group_scores, median_marks)
        if len(group_scores) >= LEAST_FOR_GROUP:
            mean = _people_mean(report, median_marks, strata, group)
            if mean is not None:
                group_means[group] = mean
    return JudgeCalibration(
        name=report.judge,
        measures=_measures(scored, median_marks),
        unscored=len(median_marks) - len(scored),
        mean=_people_mean(report, median_marks, strata),
        groups=groups,
        group_means=group_means,
    )


def _measures(scores: Mapping[str, float], median_marks: Mapping[str, float]) -> Measures:
    return compare_scores(
        np.array(list(scores.values())), np.array([median_marks[item] for item in scores])
    )


def _people_mean(
    report: JudgedReport,
    median_marks: Mapping[str, float],
    strata: Mapping[str, str] | None,
    group: str | None = None,
) -> CorrectedMean | None:
    """Returns the mean that people would have given to the report's answers, or to those of a group."""
    items = [
        item
        for item, answer in report.answers.items()
        if group is None or group in answer.question.groups
    ]
    scores = [report.answers[item].score for item in items]
    marked_places = [place for place, item in enumerate(items) if item in median_marks]
    if len(marked_places) < LEAST_FOR_MEAN or None in scores:
        return None
    marks = np.array([median_marks[items[place]] for place in marked_places])
    strata_codes = None
    if strata is not None:
        names = [strata.get(item, "") for item in items]
        strata_codes = np.unique(names, return_inverse=True)[1]
    return corrected_mean(
        MarkedScores(np.array(scores, float), np.array(marked_places), marks, strata_codes)
    )


def _baselines(report: JudgedReport, median_marks: Mapping[str, float]) -> Mapping[str, Measures]:
    """Returns the measures of rules without a judge: keywords, the marks' own mean for all, and the answer's length."""
    answers = [report.answers[item] for item in median_marks]
    marks = np.array(list(median_marks.values()))
    words = np.array([len(answer.answer.split()) for answer in answers], float)
    keywords = [
        keyword_score(truth_parts(answer.question.truth), answer.answer) for answer in answers
    ]
    rules = {
        "keywords": np.array(keywords),
        "the mean mark for all": np.full(len(marks), marks.mean()),
        "length": words / max(1.0, float(words.max())),
    }
    return {name: compare_scores(scores, marks) for name, scores in rules.items()}


def _people(marks: Sequence[PersonMark]) -> Measures | None:
    """Compares each answer's first marker with its second."""
    by_item = grouped((mark.item, mark.score) for mark in marks)
    return _paired_measures([scores[:2] for scores in by_item.values() if len(scores) > 1])


def _repeated(marks: Sequence[PersonMark], second_marks: Sequence[PersonMark]) -> Measures | None:
    """Compares the same people's second marks with their first."""
    first_scores = {(mark.item, mark.marker): mark.score for mark in marks}
    pairs = []
    for mark in second_marks:
        first_score = first_scores.get((mark.item, mark.marker))
        if first_score is not None:
            pairs.append((mark.score, first_score))
    return _paired_measures(pairs)


def _paired_measures(pairs: Sequence[Sequence[float]]) -> Measures | None:
    """Compares the first score of each pair with the second; None below LEAST_MARKS pairs."""
    if len(pairs) < LEAST_MARKS:
        return None
    first, second = np.array(pairs).T
    return compare_scores(first, second)


def _panel(reports: Sequence[JudgedReport], median_marks: Mapping[str, float]) -> Panel | None:
    """Over the answers that all judges scored; None for a single judge, and below LEAST_MARKS such answers."""
    scored = [
        item
        for item in median_marks
        if all(report.answers[item].score is not None for report in reports)
    ]
    if len(reports) < 2 or len(scored) < LEAST_MARKS:
        return None
    scores = np.array(
        [[report.answers[item].score for item in scored] for report in reports], float
    )
    marks = np.array([median_marks[item] for item in scored])
    deltas = np.abs(scores - marks).mean(1).tolist()
    return Panel(
        mean_of_deltas=mean_of_deltas(deltas),
        delta_of_mean=delta_of_mean(scores, marks),
        delta_of_median=delta_of_median(scores, marks),
    )
