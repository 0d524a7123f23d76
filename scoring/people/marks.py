"""Marking results: a report's judge against people's marks of its answers, beside other judges of the same answers."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from arena.types import grouped
from scoring.jobs.store import Job
from scoring.people.calibration import Calibration, calibrate, paired_comparisons
from scoring.people.corrected_mean import (
    LEAST_FOR_GROUP,
    CorrectedMean,
    MarkedScores,
    difference,
)
from scoring.people.mark_files import (
    CANNOT,
    JudgedAnswer,
    JudgedReport,
    PersonMark,
    judge_name,
)
from scoring.people.marking import Marking
from scoring.people.measures import LEAST_MARKS, MarksError, Measures
from scoring.people.plan import answer_key
from scoring.people.store import Mark
from scoring.registry import benchmark_of
from scoring.report import Report

PRICED_ANSWERS = 218
"""Answers for which a judge's cost is shown: MM-Vet's number."""
MOST_JUDGES = 8
"""The most other reports to compare with, of the same answers or of other models."""


class MarkResults(NamedTuple):
    """A judged report against its marks."""

    marks: tuple[Mark, ...]
    answers: int
    """Answers of the report that can be marked."""
    calibration: Calibration | None
    """This report's judge and others that scored the marked answers; None with too few marks."""
    judge_pairs: Mapping[tuple[str, str], Measures]
    """Judge against judge, over all answers that both scored."""
    is_random: bool
    """Whether the marked answers are a random sample: no mark came from a file."""
    judge: str
    """This report's judge, by its name in the calibration."""
    differences: Mapping[str, CorrectedMean]
    """Differences of people's corrected means, other model minus this one, by the title of the other's report.

    Both reports have the same judge.
    """
    dollars: Mapping[str, float]
    """Cost of judging PRICED_ANSWERS answers, by judge, where the price is known."""

    @property
    def marked(self) -> int:
        """Answers that were marked."""
        return len({mark.answer for mark in self.marks if mark.entry.value != CANNOT})

    @property
    def cannot(self) -> int:
        """Times that a person could not judge an answer."""
        return sum(mark.entry.value == CANNOT for mark in self.marks)


def mark_results(
    marking: Marking, job: Job, report: Report, with_others: bool = True
) -> MarkResults:
    """A report against its marks; `with_others` adds its owner's other reports on the same answers."""
    own = judged_report(report)
    marks = marking.store.of_report("marks", job.link, job.owner, own.answers)
    judged_jobs = [_JudgedJob(job, own)]
    if with_others:
        judged_jobs += _others(marking, job, own)
    reports = _with_distinct_judges([judged_job.judged for judged_job in judged_jobs])
    dollars = {}
    for judged_job, judged in zip(judged_jobs, reports, strict=True):
        quoted_dollars = judged_job.job.quote.dollars
        if quoted_dollars and own.answers:
            dollars[judged.judge] = quoted_dollars * PRICED_ANSWERS / len(own.answers)
    is_random = not any(mark.is_from_file for mark in marks)
    strata = _strata(marking, marks) if is_random else None
    person_marks = _person_marks(marks, round=1)
    marked_items = {mark.item for mark in person_marks}
    own_report, *other_reports = reports
    measured_others = [report for report in other_reports if _is_measured(report, marked_items)]
    try:
        calibration = calibrate(
            [own_report, *measured_others], person_marks, _person_marks(marks, round=2), strata
        )
    except MarksError:
        calibration = None
    return MarkResults(
        marks=tuple(marks),
        answers=len(own.answers),
        calibration=calibration,
        judge_pairs=paired_comparisons(reports),
        is_random=is_random,
        judge=own_report.judge,
        differences=_differences(marking, job, own) if with_others else {},
        dollars=dollars,
    )


def _is_measured(report: JudgedReport, marked_items: Collection[str]) -> bool:
    """Whether a judge scored enough of the marked answers to be compared with people."""
    scores = [answer.score for item, answer in report.answers.items() if item in marked_items]
    return len(scores) - scores.count(None) >= LEAST_MARKS


def judged_report(report: Report) -> JudgedReport:
    """A judged report as calibration reads it, with its answers by `answer_key`."""
    scored_answers = benchmark_of(report).scored_answers(report)
    answers = {
        answer_key(answer): JudgedAnswer(row.question, answer.answer, answer.score)
        for row, answer in zip(report.rows, scored_answers, strict=True)
        if answer.answer
    }
    return JudgedReport(judge_name(report), answers)


class _JudgedJob(NamedTuple):
    """A job with its judged report."""

    job: Job
    judged: JudgedReport


def _others(marking: Marking, job: Job, own: JudgedReport) -> list[_JudgedJob]:
    """Other judges' scores of the same answers, from the owner's other reports; at most MOST_JUDGES."""
    others = []
    for other in marking.jobs.of_owner(job.owner):
        if len(others) == MOST_JUDGES:
            break
        if other.link == job.link:
            continue
        judged = _judged_report_of(marking, other, job.benchmark)
        if judged is not None and judged.answers.keys() == own.answers.keys():
            others.append(_JudgedJob(other, judged))
    return others


def _judged_report_of(marking: Marking, job: Job, benchmark: str) -> JudgedReport | None:
    """A job's report as calibration reads it; None unless it is a finished, judged report of the benchmark."""
    if job.state != "done" or job.benchmark != benchmark:
        return None
    report = marking.jobs.readable_report(job.link)
    return judged_report(report) if isinstance(report, Report) else None


def _differences(marking: Marking, job: Job, own: JudgedReport) -> dict[str, CorrectedMean]:
    """Differences of people's corrected means, other model minus this one, by the title of the other model's report.

    Over the questions that the judge scored for both. Of several reports with one title, the newest that can be
    compared counts.
    """
    own_scores = _marked_questions(marking, job, own)
    differences = {}
    for other in marking.jobs.of_owner(job.owner):
        if len(differences) == MOST_JUDGES:
            break
        if other.title in (job.title, *differences):
            continue
        judged = _judged_report_of(marking, other, job.benchmark)
        if judged is None or judged.judge != own.judge:
            continue
        other_scores = _marked_questions(marking, other, judged)
        question_ids = sorted(own_scores.keys() & other_scores.keys())
        own_marks = _marked_scores([own_scores[id] for id in question_ids])
        other_marks = _marked_scores([other_scores[id] for id in question_ids])
        if len(np.intersect1d(own_marks.marked, other_marks.marked)) >= LEAST_FOR_GROUP:
            differences[other.title] = difference(other_marks, own_marks)
    return differences


class _ScoredQuestion(NamedTuple):
    """A judge's score of a question, beside people's."""

    score: float
    median_mark: float | None
    """None if nobody marked it."""


def _marked_questions(
    marking: Marking, job: Job, judged: JudgedReport
) -> dict[str, _ScoredQuestion]:
    """The questions that the judge scored, by id, with people's marks of the first round."""
    stored_marks = marking.store.of_report("marks", job.link, job.owner, judged.answers)
    marks = _person_marks(stored_marks, round=1)
    marks_by_answer = grouped((mark.item, mark.score) for mark in marks)
    questions = {}
    for key, answer in judged.answers.items():
        if answer.score is not None:
            mark = median(marks_by_answer[key]) if key in marks_by_answer else None
            questions[answer.question.id] = _ScoredQuestion(answer.score, mark)
    return questions


def _marked_scores(questions: Sequence[_ScoredQuestion]) -> MarkedScores:
    """The scores and marks of questions as arrays."""
    scores = [question.score for question in questions]
    places = []
    marks = []
    for place, question in enumerate(questions):
        if question.median_mark is not None:
            places.append(place)
            marks.append(question.median_mark)
    return MarkedScores(np.array(scores), np.array(places, int), np.array(marks))


def _with_distinct_judges(reports: Sequence[JudgedReport]) -> list[JudgedReport]:
    """The reports with distinct names of judges: a repeated name gets its number."""
    times: Counter[str] = Counter()
    renamed = []
    for report in reports:
        times[report.judge] += 1
        number = times[report.judge]
        name = report.judge if number == 1 else f"{report.judge} ({number})"
        renamed.append(report._replace(judge=name))
    return renamed


def _person_marks(marks: Sequence[Mark], round: int) -> list[PersonMark]:
    """People's grades of a round; in round 2 a person marks an answer for the second time."""
    return [
        PersonMark(mark.answer, mark.person, mark.score)
        for mark in marks
        if mark.round == round and mark.entry.value != CANNOT
    ]


def _strata(marking: Marking, marks: Sequence[Mark]) -> Mapping[str, str] | None:
    """Each answer's stratum in the draw of the marks; None unless all were drawn under one report that still exists."""
    reports = {mark.report for mark in marks}
    if len(reports) != 1:
        return None
    material = marking.material("marks", reports.pop())
    if material is None:
        return None
    return {planned.key: planned.stratum for planned in material.plan}
