"""Marking results: what people's marks of a report's answers say of its judge, and of others that judged the same."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from arena.types import grouped
from scoring.jobs.store import Job
from scoring.people.calibration import Calibration, calibrate, paired_comparisons
from scoring.people.corrected_mean import (
    LEAST_OF_GROUP,
    CorrectedMean,
    MarkedScores,
    difference,
)
from scoring.people.mark_files import CANNOT, JudgedAnswer, JudgedFile, PersonMark
from scoring.people.marking import Marking
from scoring.people.measures import MarksError, Measures
from scoring.people.plan import answer_key
from scoring.people.store import Mark
from scoring.registry import benchmark_of
from scoring.report import Report

PER = 218
"""Answers whose cost is shown: MM-Vet's."""
MOST_JUDGES = 8
"""Other reports of the same answers that are set beside one."""


class MarkResults(NamedTuple):
    """What is known of a judged report by its marks."""

    marks: tuple[Mark, ...]
    answers: int
    """Answers of the report that can be marked."""
    calibration: Calibration | None
    """This report's judge and others that scored the marked answers; None with too few marks."""
    between: Mapping[tuple[str, str], Measures]
    """Judge against judge, over all answers that both scored."""
    is_random: bool
    """Whether the marked answers are a random sample: none were brought from a file."""
    judge: str
    """This report's judge, by its name in the calibration."""
    differences: Mapping[str, CorrectedMean]
    """Other models' corrected mean less this one's, by the titles of their reports of the same judge."""
    dollars: Mapping[str, float]
    """What judging 218 answers, MM-Vet's number, costs at each judge whose price is known."""

    @property
    def marked(self) -> int:
        """Answers that were marked."""
        return len({mark.answer for mark in self.marks if mark.said.value != CANNOT})

    @property
    def cannot(self) -> int:
        return sum(mark.said.value == CANNOT for mark in self.marks)


def mark_results(marking: Marking, job: Job, report: Report, beside: bool = True) -> MarkResults:
    """What marks say of a report; `beside`: of other reports of its owner on the same answers too."""
    own = judged_file(report)
    marks = marking.store.of_report("marks", job.link, job.owner, own.answers)
    others = _others(marking, job, own) if beside else []
    files = _named([own, *(file for _, file in others)])
    quotes = [one.quote for one in (job, *(one for one, _ in others))]
    priced = zip(files, quotes, strict=True)
    costs = {
        file.name: quote.dollars * PER / len(own.answers)
        for file, quote in priced
        if quote.dollars and own.answers
    }
    is_random = not any(mark.is_brought for mark in marks)
    first, again = (_person_marks(marks, round) for round in (1, 2))
    try:
        calibration = calibrate(files, first, again, _strata(marking, marks) if is_random else None)
    except MarksError:
        calibration = None
    return MarkResults(
        marks=tuple(marks),
        answers=len(own.answers),
        calibration=calibration,
        between=paired_comparisons(files),
        is_random=is_random,
        judge=files[0].name,
        differences=_differences(marking, job, own) if beside else {},
        dollars=costs,
    )


def judged_file(report: Report) -> JudgedFile:
    """A judged report as calibration reads it, by the hashes of its answers."""
    shown = benchmark_of(report).scored_answers(report)
    answers = {
        answer_key(one): JudgedAnswer(row.question, one.answer, one.score)
        for row, one in zip(report.rows, shown, strict=True)
        if one.answer
    }
    return JudgedFile(f"{report.judge.model}, {report.protocol}", answers)


def _others(marking: Marking, job: Job, own: JudgedFile) -> list[tuple[Job, JudgedFile]]:
    """Other judges' scores of the same answers, out of their owner's reports."""
    found = []
    for one in marking.jobs.of_owner(job.owner):
        if (
            one.state == "done"
            and one.link != job.link
            and one.benchmark == job.benchmark
            and len(found) < MOST_JUDGES
        ):
            report = marking.jobs.report(one.link)
            file = judged_file(report) if isinstance(report, Report) else None
            if file is not None and file.answers.keys() == own.answers.keys():
                found.append((one, file))
    return found


def _differences(marking: Marking, job: Job, own: JudgedFile) -> dict[str, CorrectedMean]:
    """What people would give to other models' answers less what they would give to this one's, question by question."""
    here = _scored(marking, job, own)
    found = {}
    for one in marking.jobs.of_owner(job.owner):
        alike = (
            one.state == "done"
            and one.benchmark == job.benchmark
            and one.title not in (job.title, *found)
        )
        report = marking.jobs.report(one.link) if alike and len(found) < MOST_JUDGES else None
        file = judged_file(report) if isinstance(report, Report) else None
        if file is None or file.name != own.name:
            continue
        there = _scored(marking, one, file)
        both = sorted(here.keys() & there.keys())
        first, second = (_marked([side[item] for item in both]) for side in (here, there))
        if len(np.intersect1d(first.marked, second.marked)) >= LEAST_OF_GROUP:
            found[one.title] = difference(second, first)
    return found


def _scored(marking: Marking, job: Job, file: JudgedFile) -> dict[str, tuple[float, float | None]]:
    """The judge's score and the median mark (None: unmarked) of each question that the judge scored."""
    marks = _person_marks(marking.store.of_report("marks", job.link, job.owner, file.answers), 1)
    given = grouped((mark.item, mark.score) for mark in marks)
    return {
        one.question.id: (one.score, median(given[key]) if key in given else None)
        for key, one in file.answers.items()
        if one.score is not None
    }


def _marked(answers: Sequence[tuple[float, float | None]]) -> MarkedScores:
    places = [place for place, (_, mark) in enumerate(answers) if mark is not None]
    marks = [mark for _, mark in answers if mark is not None]
    return MarkedScores(
        np.array([score for score, _ in answers]), np.array(places, int), np.array(marks)
    )


def _named(files: Sequence[JudgedFile]) -> list[JudgedFile]:
    """The files under names of their own."""
    times: dict[str, int] = {}
    named = []
    for file in files:
        times[file.name] = times.get(file.name, 0) + 1
        named.append(
            file
            if times[file.name] == 1
            else file._replace(name=f"{file.name} ({times[file.name]})")
        )
    return named


def _person_marks(marks: Sequence[Mark], round: int) -> list[PersonMark]:
    return [
        PersonMark(mark.answer, mark.marker, mark.score)
        for mark in marks
        if mark.round == round and mark.said.value != CANNOT
    ]


def _strata(marking: Marking, marks: Sequence[Mark]) -> Mapping[str, str] | None:
    """The strata out of which the marks were drawn; None if they were not drawn under one report that is still here."""
    drawn = {mark.report for mark in marks}
    material = marking.material("marks", drawn.pop()) if len(drawn) == 1 else None
    return {one.key: one.stratum for one in material.plan} if material else None
