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
    LEAST,
    LEAST_OF_GROUP,
    CorrectedMean,
    MarkedScores,
    corrected_mean,
)
from scoring.people.mark_files import JudgedFile, PersonMark
from scoring.people.measures import (
    LEAST_MARKS,
    LEAST_RANKED,
    MarksError,
    Measures,
    compared,
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
    """None with too few marks, or where an answer of the file is unscored."""
    groups: Mapping[str, Measures]
    """Measures by the capability that a question tests, where there are enough marks."""
    group_means: Mapping[str, CorrectedMean]


@dataclass(frozen=True)
class Panel:
    """The judges together, as Table 7 has them and as a panel would score."""

    mean_of_deltas: float
    delta_of_mean: float
    delta_of_median: float


@dataclass(frozen=True)
class Calibration:
    """Judges against people's marks."""

    answers: int
    """Marked answers; several marks of one answer count as their median."""
    judges: tuple[JudgeCalibration, ...]
    """The nearest to people first; with too few marks, in the order of the files."""
    baselines: Mapping[str, Measures]
    people: Measures | None
    """One person against another on the same answer, or None: no judge can be expected to be nearer."""
    panel: Panel | None
    repeated: Measures | None
    """The same people's second marks of answers against their first."""

    @property
    def is_ranked(self) -> bool:
        return self.answers >= LEAST_RANKED


def calibrate(
    files: Sequence[JudgedFile],
    marks: Sequence[PersonMark],
    again: Sequence[PersonMark] = (),
    strata: Mapping[str, str] | None = None,
) -> Calibration:
    """Compares judges of the same answers with people. Raises MarksError below LEAST_MARKS marked answers.

    `again` are second marks by the same people. `strata` is each answer's stratum, within which the answers to mark
    were drawn by lot; None if they were drawn from all answers.
    """
    by_item = grouped((mark.item, mark.score) for mark in marks)
    items = [item for item in by_item if all(item in file.answers for file in files)]
    if len(items) < LEAST_MARKS:
        raise MarksError(
            f"{len(items)} marked answers that every judge has; nothing is measured below {LEAST_MARKS}"
        )
    truth = {item: float(median(by_item[item])) for item in items}
    judges = [_judge(file, truth, strata) for file in files]
    if len(items) >= LEAST_RANKED:
        judges.sort(key=lambda judge: judge.measures.delta)
    return Calibration(
        answers=len(items),
        judges=tuple(judges),
        baselines=_baselines(files[0], truth),
        people=_people(marks),
        panel=_panel(files, truth),
        repeated=_repeated(marks, again),
    )


def paired_comparisons(files: Sequence[JudgedFile]) -> Mapping[tuple[str, str], Measures]:
    """Each file of scores against each later one, over the answers that both scored, by the two names. No marks needed.

    The files are of several judges, or of one judge at several times.
    """
    comparisons = {}
    for first, second in combinations(files, 2):
        pairs = []
        for item, answer in first.answers.items():
            other = second.answers.get(item)
            if other and answer.score is not None and other.score is not None:
                pairs.append((answer.score, other.score))
        if measures := _paired(pairs):
            comparisons[first.name, second.name] = measures
    return comparisons


def _judge(
    file: JudgedFile, truth: Mapping[str, float], strata: Mapping[str, str] | None
) -> JudgeCalibration:
    scored = {item: score for item in truth if (score := file.answers[item].score) is not None}
    scores_by_group: dict[str, dict[str, float]] = {}
    for item, score in scored.items():
        for group in file.answers[item].question.groups:
            scores_by_group.setdefault(group, {})[item] = score
    groups = {}
    group_means = {}
    for group, scores in sorted(scores_by_group.items()):
        if len(scores) >= LEAST_MARKS:
            groups[group] = _compared(scores, truth)
        if len(scores) >= LEAST_OF_GROUP and (mean := _mean(file, truth, strata, group)):
            group_means[group] = mean
    return JudgeCalibration(
        name=file.name,
        measures=_compared(scored, truth),
        unscored=len(truth) - len(scored),
        mean=_mean(file, truth, strata),
        groups=groups,
        group_means=group_means,
    )


def _compared(scores: Mapping[str, float], truth: Mapping[str, float]) -> Measures:
    return compared(np.array(list(scores.values())), np.array([truth[item] for item in scores]))


def _mean(
    file: JudgedFile,
    truth: Mapping[str, float],
    strata: Mapping[str, str] | None,
    group: str | None = None,
) -> CorrectedMean | None:
    """The mean that people would have given to the file's answers, or to those of a group."""
    items = [
        item
        for item, judged in file.answers.items()
        if group is None or group in judged.question.groups
    ]
    scores = [file.answers[item].score for item in items]
    marked = [place for place, item in enumerate(items) if item in truth]
    if len(marked) < LEAST or None in scores:
        return None
    marks = np.array([truth[items[place]] for place in marked])
    codes = None
    if strata is not None:
        names = [strata.get(item, "") for item in items]
        codes = np.unique(names, return_inverse=True)[1]
    return corrected_mean(MarkedScores(np.array(scores, float), np.array(marked), marks, codes))


def _baselines(file: JudgedFile, truth: Mapping[str, float]) -> Mapping[str, Measures]:
    """Rules without a judge: keywords, the marks' own mean for all, and the answer's length."""
    answers = [file.answers[item] for item in truth]
    marks = np.array(list(truth.values()))
    words = np.array([len(judged.answer.split()) for judged in answers], float)
    keywords = [
        keyword_score(truth_parts(judged.question.truth), judged.answer) for judged in answers
    ]
    rules = {
        "keywords": np.array(keywords),
        "the mean mark for all": np.full(len(marks), marks.mean()),
        "length": words / max(1.0, float(words.max())),
    }
    return {name: compared(scores, marks) for name, scores in rules.items()}


def _people(marks: Sequence[PersonMark]) -> Measures | None:
    """Each answer's first marker against its second."""
    by_item = grouped((mark.item, mark.score) for mark in marks)
    return _paired([scores[:2] for scores in by_item.values() if len(scores) > 1])


def _repeated(marks: Sequence[PersonMark], again: Sequence[PersonMark]) -> Measures | None:
    """The same people's second marks against their first."""
    first_scores = {(mark.item, mark.marker): mark.score for mark in marks}
    pairs = []
    for mark in again:
        first_score = first_scores.get((mark.item, mark.marker))
        if first_score is not None:
            pairs.append((mark.score, first_score))
    return _paired(pairs)


def _paired(pairs: Sequence[Sequence[float]]) -> Measures | None:
    """The first score of each pair against the second; None below LEAST_MARKS pairs."""
    if len(pairs) < LEAST_MARKS:
        return None
    first, second = np.array(pairs).T
    return compared(first, second)


def _panel(files: Sequence[JudgedFile], truth: Mapping[str, float]) -> Panel | None:
    scored = [item for item in truth if all(file.answers[item].score is not None for file in files)]
    if len(files) < 2 or len(scored) < LEAST_MARKS:
        return None
    scores = np.array([[file.answers[item].score for item in scored] for file in files], float)
    marks = np.array([truth[item] for item in scored])
    deltas = np.abs(scores - marks).mean(1).tolist()
    return Panel(
        mean_of_deltas=mean_of_deltas(deltas),
        delta_of_mean=delta_of_mean(scores, marks),
        delta_of_median=delta_of_median(scores, marks),
    )
