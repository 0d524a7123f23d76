"""Calibrate judges: each one's distance from people over the same marked answers, and beside it people's own and what
a rule without a judge reaches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Marked answers that the judge did not score: they are in no mean."""
    mean: CorrectedMean | None
    """None with too few marks, or where an answer of the file is unscored."""
    groups: Mapping[str, Measures]
    """By what a question tests, where there are enough marks."""
    group_means: Mapping[str, CorrectedMean]


@dataclass(frozen=True)
class Panel:
    """The judges together, as Table 7 has them and as a panel would score."""

    mean_of_deltas: float
    delta_of_mean: float
    delta_of_median: float


@dataclass(frozen=True)
class Calibration:
    """What marks say of judges."""

    answers: int
    """Marked answers; several marks of one are their median."""
    judges: tuple[JudgeCalibration, ...]
    """The nearest to people first, or from too few marks in the order given."""
    baselines: Mapping[str, Measures]
    people: Measures | None
    """A person against another on the same answer: no judge can be expected to be nearer. None without such answers."""
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
    """Compare judges of the same answers with people. Raises MarksError below LEAST_MARKS marked answers.

    `again` are second marks by the same people; `strata` has the stratum of every answer within which those to be
    marked were drawn by lot, None: they were drawn from all.
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
        judges.sort(key=lambda one: one.measures.delta)
    return Calibration(
        answers=len(items),
        judges=tuple(judges),
        baselines=_baselines(files[0], truth),
        people=_people(marks),
        panel=_panel(files, truth),
        repeated=_repeated(marks, again),
    )


def paired_comparisons(files: Sequence[JudgedFile]) -> Mapping[tuple[str, str], Measures]:
    """Each file of scores against each later one, over the answers that both scored; they need no marks.

    The files are of several judges, or of one judge at several times.
    """
    found = {}
    for place, one in enumerate(files):
        for other in files[place + 1 :]:
            pairs = [
                (here.score, there.score)
                for item, here in one.answers.items()
                if (there := other.answers.get(item))
                and here.score is not None
                and there.score is not None
            ]
            if measures := _paired(pairs):
                found[one.name, other.name] = measures
    return found


def _judge(
    file: JudgedFile, truth: Mapping[str, float], strata: Mapping[str, str] | None
) -> JudgeCalibration:
    scored = {item: score for item in truth if (score := file.answers[item].score) is not None}
    groups = sorted({group for item in scored for group in file.answers[item].question.groups})
    of_group = {
        group: [item for item in scored if group in file.answers[item].question.groups]
        for group in groups
    }
    return JudgeCalibration(
        name=file.name,
        measures=_compared(scored, truth),
        unscored=len(truth) - len(scored),
        mean=_mean(file, truth, strata),
        groups={
            group: _compared({item: scored[item] for item in own}, truth)
            for group, own in of_group.items()
            if len(own) >= LEAST_MARKS
        },
        group_means={
            group: found
            for group, own in of_group.items()
            if len(own) >= LEAST_OF_GROUP and (found := _mean(file, truth, strata, group))
        },
    )


def _compared(scores: Mapping[str, float], truth: Mapping[str, float]) -> Measures:
    return compared(np.array(list(scores.values())), np.array([truth[item] for item in scores]))


def _mean(
    file: JudgedFile,
    truth: Mapping[str, float],
    strata: Mapping[str, str] | None,
    group: str | None = None,
) -> CorrectedMean | None:
    here = [
        item for item, one in file.answers.items() if group is None or group in one.question.groups
    ]
    scores = [file.answers[item].score for item in here]
    marked = [place for place, item in enumerate(here) if item in truth]
    if len(marked) < LEAST or None in scores:
        return None
    marks = np.array([truth[here[place]] for place in marked])
    codes = (
        None
        if strata is None
        else np.unique([strata.get(item, "") for item in here], return_inverse=True)[1]
    )
    return corrected_mean(MarkedScores(np.array(scores, float), np.array(marked), marks, codes))


def _baselines(file: JudgedFile, truth: Mapping[str, float]) -> Mapping[str, Measures]:
    """Rules without a judge: keywords, the marks' own mean for all, and the answer's length."""
    answers = [file.answers[item] for item in truth]
    marks = np.array(list(truth.values()))
    words = np.array([len(one.answer.split()) for one in answers], float)
    rules = {
        "keywords": np.array(
            [keyword_score(truth_parts(one.question.truth), one.answer) for one in answers]
        ),
        "the mean mark for all": np.full(len(marks), marks.mean()),
        "length": words / max(1.0, float(words.max())),
    }
    return {name: compared(scores, marks) for name, scores in rules.items()}


def _people(marks: Sequence[PersonMark]) -> Measures | None:
    """Each answer's first marker against its second."""
    by_item = grouped((mark.item, mark.score) for mark in marks)
    return _paired([given[:2] for given in by_item.values() if len(given) > 1])


def _repeated(marks: Sequence[PersonMark], again: Sequence[PersonMark]) -> Measures | None:
    first = {(mark.item, mark.marker): mark.score for mark in marks}
    return _paired(
        [
            (mark.score, first[mark.item, mark.marker])
            for mark in again
            if (mark.item, mark.marker) in first
        ]
    )


def _paired(pairs: Sequence[Sequence[float]]) -> Measures | None:
    """The first of each pair against the second; None from too few."""
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
    each = np.abs(scores - marks).mean(1).tolist()
    return Panel(mean_of_deltas(each), delta_of_mean(scores, marks), delta_of_median(scores, marks))
