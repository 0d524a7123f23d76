"""Reading results: agreement of the extractors of a report's open answers with people who read the same answers."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from scoring.benchmarks.choice_report import ChoiceReport, decide_rows
from scoring.jobs.store import Job
from scoring.multiple_choice.types import PASS, Decided
from scoring.people.mark_files import CANNOT
from scoring.people.marking import Marking
from scoring.people.open_answers import open_answer, open_rows
from scoring.people.plan import answer_key
from scoring.people.readings import (
    Alignment,
    AnswerKey,
    PairedChoice,
    PersonReading,
    align_by_model,
    align_people,
    option_of,
    peoples_choices,
)

STRICT_RULES = "Our strict rules"
"""The name of our rules as an extractor of answers that a paper's rules leave open."""
MOST_OTHERS = 8
"""The most other reports to compare with."""


class MatchedAnswer(NamedTuple):
    """An answer that an extractor and people read."""

    row: Decided
    """The answer with the extractor's decision."""
    pair: PairedChoice


class ReadingResults(NamedTuple):
    """A report's extractors against people's readings, beside other reports of its owner."""

    readings: tuple[PersonReading, ...]
    """Readings of the report's own answers."""
    open: int
    """Answers of the report that its rules leave open."""
    cannot: int
    """Times that a person could not tell what an answer means."""
    alignments: tuple[Alignment, ...]
    """The report's own extractors first: its judge, then our strict rules beside a paper's. Empty without any."""
    people: tuple[Alignment, ...]
    """People against each other, and against themselves."""
    differing: tuple[MatchedAnswer, ...]
    """The report's answers for which the first of its own extractors and people differ."""

    @property
    def read(self) -> int:
        """Answers of the report that people read."""
        return len({reading.answer for reading in self.readings})


class _ReportReadings(NamedTuple):
    """A report's open answers with people's readings of them."""

    model: str
    report: ChoiceReport
    rows: Mapping[AnswerKey, Decided]
    readings: Sequence[PersonReading]
    cannot: int
    """Times that a person could not tell what an answer means."""


def reading_results(
    marking: Marking, job: Job, report: ChoiceReport, with_others: bool = True
) -> ReadingResults | None:
    """A report's extractors against people's readings, if any; `with_others` adds its owner's other reports."""
    own = _report_readings(marking, job, report)
    if not own.readings:
        return None
    reports = [own]
    if with_others:
        reports += _others(marking, job)
    alignments = []
    for extractor, models in _choices(reports).items():
        pairs = {model: _pairs(answers) for model, answers in models.items()}
        alignments += align_by_model(extractor, pairs)
    # an answer that several reports have was read once
    readings = {}
    for report_readings in reports:
        for reading in report_readings.readings:
            readings[reading.answer, reading.reader, reading.round] = reading
    return ReadingResults(
        readings=tuple(own.readings),
        open=len(own.rows),
        cannot=own.cannot,
        alignments=tuple(alignments),
        people=tuple(align_people([*readings.values()])),
        differing=_differing_answers(own),
    )


def _differing_answers(own: _ReportReadings) -> tuple[MatchedAnswer, ...]:
    """The answers for which a report's first extractor and people differ."""
    extractors = [*_choices([own]).values()]
    if not extractors:
        return ()
    answers = chain.from_iterable(extractors[0].values())
    return tuple(answer for answer in answers if answer.pair.is_differing)


def _report_readings(marking: Marking, job: Job, report: ChoiceReport) -> _ReportReadings:
    rows = {
        AnswerKey.from_answer(str(row.question.index), row.prediction): row
        for row in open_rows(report)
    }
    keys_by_hash = {answer_key(open_answer(row)): key for key, row in rows.items()}
    marks = marking.store.of_report("readings", job.link, job.owner, keys_by_hash)
    readings = [
        PersonReading(
            answer=keys_by_hash[mark.answer],
            reader=mark.person,
            option=mark.entry.value,
            round=mark.round,
            note=mark.entry.note,
            marker=mark.marker,
        )
        for mark in marks
        if mark.entry.value != CANNOT
    ]
    return _ReportReadings(job.title, report, rows, readings, len(marks) - len(readings))


def _others(marking: Marking, job: Job) -> list[_ReportReadings]:
    """The owner's other reports under the same benchmark and rules, with readings; at most MOST_OTHERS."""
    others = []
    for other_job in marking.jobs.of_owner(job.owner):
        if len(others) == MOST_OTHERS:
            break
        is_comparable = (
            other_job.state == "done"
            and other_job.link != job.link
            and other_job.benchmark == job.benchmark
            and other_job.protocol == job.protocol
        )
        if not is_comparable:
            continue
        other_report = marking.jobs.readable_report(other_job.link)
        if isinstance(other_report, ChoiceReport):
            report_readings = _report_readings(marking, other_job, other_report)
            if report_readings.readings:
                others.append(report_readings)
    return others


def _choices(reports: Iterable[_ReportReadings]) -> dict[str, dict[str, list[MatchedAnswer]]]:
    """The answers that people read, by extractor and model; only the first of several reports of a model counts."""
    choices: dict[str, dict[str, list[MatchedAnswer]]] = {}
    for report_readings in reports:
        options = peoples_choices(report_readings.readings)
        for extractor, rows in _extractions(report_readings).items():
            models = choices.setdefault(extractor, {})
            if report_readings.model not in models:
                models[report_readings.model] = [
                    _matched_answer(rows[key], option) for key, option in options.items()
                ]
    return choices


def _extractions(report_readings: _ReportReadings) -> Mapping[str, Mapping[AnswerKey, Decided]]:
    """The open answers as each extractor decided them: the report's judge, and our rules beside a paper's."""
    extractions = {}
    if report_readings.report.judge:
        extractions[report_readings.report.judge.model] = report_readings.rows
    if report_readings.report.protocol != "strict":
        decided = decide_rows(report_readings.rows.values(), "strict")
        extractions[STRICT_RULES] = dict(zip(report_readings.rows, decided, strict=True))
    return extractions


def _pairs(answers: Iterable[MatchedAnswer]) -> list[PairedChoice]:
    return [answer.pair for answer in answers]


def _matched_answer(row: Decided, people: str) -> MatchedAnswer:
    chosen = option_of(row.decision, row.question.options)
    question = row.question.index % PASS  # the same in all passes
    return MatchedAnswer(row, PairedChoice(str(question), people, chosen))
