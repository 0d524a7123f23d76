"""Reading results: agreement of the extractors of a report's open answers with people who read the same answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    between_people,
    by_model,
    option_of,
    people_choose,
)

STRICT_RULES = "Our strict rules"
"""The name of our rules as an extractor of answers that a paper's rules leave open."""
MOST_READ = 8
"""Other reports to compare with."""


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
    """The report's own extractor first; empty if only people read the answers."""
    people: tuple[Alignment, ...]
    differing: tuple[MatchedAnswer, ...]
    """Answers for which the report's own extractor and people differ."""

    @property
    def read(self) -> int:
        """Answers of the report that people read."""
        return len({reading.answer for reading in self.readings})


class _ReadReport(NamedTuple):
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
    """A report's extractors against people's readings, or None; `with_others` adds its owner's other reports."""
    own = _read(marking, job, report)
    if not own.readings:
        return None
    reports = [own]
    if with_others:
        reports += _others(marking, job, report)
    alignments = []
    for extractor, models in _choices(reports).items():
        pairs = {model: _pairs(answers) for model, answers in models.items()}
        alignments += by_model(extractor, pairs)
    readings = {
        (reading.answer, reading.reader, reading.round): reading
        for read in reports
        for reading in read.readings
    }
    return ReadingResults(
        readings=tuple(own.readings),
        open=len(own.rows),
        cannot=own.cannot,
        alignments=tuple(alignments),
        people=tuple(between_people([*readings.values()])),
        differing=_differing_answers(own),
    )


def _differing_answers(own: _ReadReport) -> tuple[MatchedAnswer, ...]:
    """The answers for which a report's first extractor and people differ."""
    extractors = [*_choices([own]).values()]
    if not extractors:
        return ()
    answers = chain.from_iterable(extractors[0].values())
    return tuple(answer for answer in answers if answer.pair.is_differing)


def _read(marking: Marking, job: Job, report: ChoiceReport) -> _ReadReport:
    rows = {
        AnswerKey.from_answer(str(row.question.index), row.prediction): row
        for row in open_rows(report)
    }
    keys = {answer_key(open_answer(row)): key for key, row in rows.items()}
    marks = marking.store.of_report("readings", job.link, job.owner, keys)
    readings = [
        PersonReading(keys[mark.answer], mark.marker, mark.entry.value, mark.round, mark.entry.note)
        for mark in marks
        if mark.entry.value != CANNOT
    ]
    return _ReadReport(job.title, report, rows, readings, len(marks) - len(readings))


def _others(marking: Marking, job: Job, report: ChoiceReport) -> list[_ReadReport]:
    """The owner's other reports under the same benchmark and rules, with readings; at most MOST_READ."""
    others = []
    for other_job in marking.jobs.of_owner(job.owner):
        if len(others) == MOST_READ:
            break
        is_comparable = (
            other_job.state == "done"
            and other_job.link != job.link
            and other_job.benchmark == job.benchmark
            and other_job.protocol == job.protocol
        )
        if not is_comparable:
            continue
        other_report = marking.jobs.report(other_job.link)
        if isinstance(other_report, ChoiceReport):
            read = _read(marking, other_job, other_report)
            if read.readings:
                others.append(read)
    return others


def _choices(reports: Iterable[_ReadReport]) -> dict[str, dict[str, list[MatchedAnswer]]]:
    """Each extractor's choices for each model's answers that people read; of several reports of a model the first."""
    choices: dict[str, dict[str, list[MatchedAnswer]]] = {}
    for read in reports:
        people = people_choose(read.readings)
        for extractor, rows in _extractors(read):
            models = choices.setdefault(extractor, {})
            if read.model not in models:
                models[read.model] = [_matched(rows[key], option) for key, option in people.items()]
    return choices


def _extractors(read: _ReadReport) -> Iterator[tuple[str, Mapping[AnswerKey, Decided]]]:
    """Yields the extractors of a report's open answers: its judge, and our rules beside a paper's."""
    if read.report.judge:
        yield read.report.judge.model, read.rows
    if read.report.protocol != "strict":
        strict = decide_rows(read.rows.values(), "strict")
        yield STRICT_RULES, dict(zip(read.rows, strict, strict=True))


def _pairs(answers: Iterable[MatchedAnswer]) -> list[PairedChoice]:
    return [answer.pair for answer in answers]


def _matched(row: Decided, people: str) -> MatchedAnswer:
    chosen = option_of(row.decision, row.question.options)
    return MatchedAnswer(row, PairedChoice(str(row.question.index % PASS), people, chosen))
