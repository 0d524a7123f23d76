"""Reading results: how far the extractors of a report's open answers are from people who read the same answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scoring.benchmarks.choice import ChoiceReport, decided
from scoring.jobs.store import Job
from scoring.multiple_choice.types import PASS, Decided
from scoring.people.mark_files import CANNOT
from scoring.people.marking import Marking
from scoring.people.open_answers import open_rows, shown_row
from scoring.people.plan import answer_key
from scoring.people.readings import (
    Alignment,
    PairedChoice,
    Reading,
    align,
    between_people,
    option_of,
    people_choose,
)
from scoring.people.store import Mark

STRICT_RULES = "Strict rules, no judge"
"""Ours as an extractor of what a paper's rules leave open."""
ALL_MODELS = "all models"
MOST_READ = 8
"""Other reports that stand beside one."""


class Compared(NamedTuple):
    """An answer that an extractor and people read."""

    row: Decided
    """With what the extractor chose."""
    pair: PairedChoice


class ReadingResults(NamedTuple):
    """What people's readings say of a report, and of others of its owner beside it."""

    readings: tuple[Reading, ...]
    """Of the report's own answers."""
    open: int
    """Answers of the report that its rules leave open."""
    cannot: int
    """Readings that said that nobody can tell."""
    alignments: tuple[Alignment, ...]
    """The report's own extractor first; none if nobody but people read the answers."""
    people: tuple[Alignment, ...]
    apart: tuple[Compared, ...]
    """Where the report's own extractor and people differ."""

    @property
    def read(self) -> int:
        """Answers of the report that people read."""
        return len({one.answer for one in self.readings})


class _ReadReport(NamedTuple):
    """A report's open answers, and what people said of them."""

    model: str
    report: ChoiceReport
    rows: Mapping[str, Decided]
    """By the key of each answer."""
    marks: Sequence[Mark]

    @property
    def readings(self) -> list[Reading]:
        return [
            Reading(
                item=mark.item,
                answer=mark.answer,
                reader=mark.marker,
                option=mark.said.value,
                round=mark.round,
                note=mark.said.note,
            )
            for mark in self.marks
            if mark.said.value != CANNOT
        ]


def reading_results(
    marking: Marking, job: Job, report: ChoiceReport, beside: bool = True
) -> ReadingResults | None:
    """What people's readings say; `beside`: of other reports of its owner too. None where nobody read an answer."""
    own = _read(marking, job, report)
    if not own.marks:
        return None
    every = [own, *(_others(marking, job, report) if beside else ())]
    choices = _choices(every)
    shared = {
        (one.answer, one.reader, one.round): one for read in every for one in read.readings
    }
    first = next(iter(_choices([own]).values()), {})
    return ReadingResults(
        readings=tuple(own.readings),
        open=len(own.rows),
        cannot=len(own.marks) - len(own.readings),
        alignments=tuple(_alignments(choices)),
        people=tuple(between_people([*shared.values()])),
        apart=tuple(
            one
            for found in first.values()
            for one in found
            if one.pair.outcome in ("one none", "other option")
        ),
    )


def _read(marking: Marking, job: Job, report: ChoiceReport) -> _ReadReport:
    rows = {answer_key(shown_row(row)): row for row in open_rows(report)}
    marks = marking.store.of_report("readings", job.link, job.owner, rows)
    return _ReadReport(job.title, report, rows, marks)


def _others(marking: Marking, job: Job, report: ChoiceReport) -> list[_ReadReport]:
    """Its owner's other reports whose letters were read by the same rules, as far as people read their open answers."""
    found = []
    for one in marking.jobs.of_owner(job.owner):
        alike = (
            one.state == "done"
            and one.link != job.link
            and (one.benchmark, one.protocol) == (job.benchmark, job.protocol)
        )
        other = marking.jobs.report(one.link) if alike and len(found) < MOST_READ else None
        if isinstance(other, ChoiceReport) and (read := _read(marking, one, other)).marks:
            found.append(read)
    return found


def _choices(reports: Iterable[_ReadReport]) -> dict[str, dict[str, list[Compared]]]:
    """What each extractor chose of each model's answers that people read; of several such reports the first."""
    found: dict[str, dict[str, list[Compared]]] = {}
    for read in reports:
        people = people_choose(read.readings)
        for extractor, rows in _extractors(read):
            models = found.setdefault(extractor, {})
            if read.model not in models:
                models[read.model] = [_compared(rows[key], said) for key, said in people.items()]
    return found


def _extractors(read: _ReadReport) -> Iterator[tuple[str, Mapping[str, Decided]]]:
    """Yield who read a report's open answers: its judge, and our rules where those of a paper left them open."""
    if read.report.judge:
        yield read.report.judge.model, read.rows
    if read.report.protocol != "strict":
        strict = decided(read.rows.values(), "strict")
        yield STRICT_RULES, dict(zip(read.rows, strict, strict=True))


def _compared(row: Decided, people: str) -> Compared:
    question = str(row.question.index % PASS)
    chosen = option_of(row.decision, row.question.options)
    return Compared(row, PairedChoice(question, people, chosen))


def _alignments(choices: Mapping[str, Mapping[str, Sequence[Compared]]]) -> Iterator[Alignment]:
    """Yield each extractor over all models, where there are several, and by model."""
    for extractor, models in choices.items():
        by_model = {model: [one.pair for one in found] for model, found in models.items()}
        if len(by_model) > 1:
            yield align(extractor, ALL_MODELS, [one for pairs in by_model.values() for one in pairs])
        for model, pairs in by_model.items():
            yield align(extractor, model, pairs)
