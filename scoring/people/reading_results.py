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
    AnswerKey,
    PairedChoice,
    PersonReading,
    between_people,
    by_model,
    option_of,
    people_choose,
)

STRICT_RULES = "Our strict rules"
"""As an extractor of what a paper's rules leave open."""
MOST_READ = 8
"""Other reports that stand beside one."""


class MatchedAnswer(NamedTuple):
    """An answer that an extractor and people read."""

    row: Decided
    """With what the extractor chose."""
    pair: PairedChoice


class ReadingResults(NamedTuple):
    """What people's readings say of a report, and of others of its owner beside it."""

    readings: tuple[PersonReading, ...]
    """Of the report's own answers."""
    open: int
    """Answers of the report that its rules leave open."""
    cannot: int
    """Readings that said that nobody can tell."""
    alignments: tuple[Alignment, ...]
    """The report's own extractor first; none if nobody but people read the answers."""
    people: tuple[Alignment, ...]
    apart: tuple[MatchedAnswer, ...]
    """Where the report's own extractor and people differ."""

    @property
    def read(self) -> int:
        """Answers of the report that people read."""
        return len({one.answer for one in self.readings})


class _ReadReport(NamedTuple):
    """A report's open answers, and what people said of them."""

    model: str
    report: ChoiceReport
    rows: Mapping[AnswerKey, Decided]
    readings: Sequence[PersonReading]
    cannot: int
    """Readings that said that nobody can tell."""


def reading_results(
    marking: Marking, job: Job, report: ChoiceReport, beside: bool = True
) -> ReadingResults | None:
    """What people's readings say; `beside`: of other reports of its owner too. None where nobody read an answer."""
    own = _read(marking, job, report)
    if not own.readings:
        return None
    every = [own, *(_others(marking, job, report) if beside else ())]
    choices = _choices(every)
    shared = {(one.answer, one.reader, one.round): one for read in every for one in read.readings}
    first = next(iter(_choices([own]).values()), {})
    return ReadingResults(
        readings=tuple(own.readings),
        open=len(own.rows),
        cannot=own.cannot,
        alignments=tuple(
            one
            for extractor, models in choices.items()
            for one in by_model(extractor, {name: _pairs(found) for name, found in models.items()})
        ),
        people=tuple(between_people([*shared.values()])),
        apart=tuple(one for found in first.values() for one in found if one.pair.is_apart),
    )


def _read(marking: Marking, job: Job, report: ChoiceReport) -> _ReadReport:
    rows = {AnswerKey.of(str(row.question.index), row.prediction): row for row in open_rows(report)}
    keys = {answer_key(shown_row(row)): key for key, row in rows.items()}
    marks = marking.store.of_report("readings", job.link, job.owner, keys)
    readings = [
        PersonReading(keys[mark.answer], mark.marker, mark.said.value, mark.round, mark.said.note)
        for mark in marks
        if mark.said.value != CANNOT
    ]
    return _ReadReport(job.title, report, rows, readings, len(marks) - len(readings))


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
        if isinstance(other, ChoiceReport) and (read := _read(marking, one, other)).readings:
            found.append(read)
    return found


def _choices(reports: Iterable[_ReadReport]) -> dict[str, dict[str, list[MatchedAnswer]]]:
    """What each extractor chose of each model's answers that people read; of several such reports the first."""
    found: dict[str, dict[str, list[MatchedAnswer]]] = {}
    for read in reports:
        people = people_choose(read.readings)
        for extractor, rows in _extractors(read):
            models = found.setdefault(extractor, {})
            if read.model not in models:
                models[read.model] = [_matched(rows[key], said) for key, said in people.items()]
    return found


def _extractors(read: _ReadReport) -> Iterator[tuple[str, Mapping[AnswerKey, Decided]]]:
    """Yield who read a report's open answers: its judge, and our rules where those of a paper left them open."""
    if read.report.judge:
        yield read.report.judge.model, read.rows
    if read.report.protocol != "strict":
        strict = decided(read.rows.values(), "strict")
        yield STRICT_RULES, dict(zip(read.rows, strict, strict=True))


def _pairs(found: Iterable[MatchedAnswer]) -> list[PairedChoice]:
    return [one.pair for one in found]


def _matched(row: Decided, people: str) -> MatchedAnswer:
    chosen = option_of(row.decision, row.question.options)
    return MatchedAnswer(row, PairedChoice(str(row.question.index % PASS), people, chosen))
