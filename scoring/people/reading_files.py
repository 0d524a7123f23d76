"""Files of readings: open answers drawn for people to read, people's choices, and extractors' choices."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from arena.io.csv_text import csv_text
from arena.io.rows import FileRow, Heading, cell, read_rows, sound_rows
from arena.io.strict_json import RowsError, row_errors
from arena.io.tables import Record, read_records, refuse_repeated
from scoring.benchmarks.article import ScoredAnswer
from scoring.multiple_choice.types import LETTERS, NONE, STEPS, Rule
from scoring.people.mark_files import PersonName
from scoring.people.readings import (
    NO_OPTION,
    Alignment,
    AnswerKey,
    PairedChoice,
    PersonReading,
    align_by_model,
    peoples_choices,
)
from scoring.report import answer_digest

READING_COLUMNS = ("item", "answer_sha256", "reader", "round", "option", "note")
DRAWN_COLUMNS = (*READING_COLUMNS, "question", "options", "answer")
RULES = "rules only"
"""The extractor of an audit in which no judge was asked."""
AUDIT = "-audit.jsonl"
"""The end of an audit's file name."""
_OPTION_LETTER = re.compile(r"^([A-Z])\. ", re.MULTILINE)


def drawn_csv(drawn: Iterable[ScoredAnswer]) -> str:
    """Drawn answers with an empty cell for the option that each means, without the extracted and the right option."""
    rows = []
    for answer in drawn:
        options = "\n".join(f"{letter}. {text}" for letter, text in answer.options.items())
        # In round 1; the reader, the option and the note are for the person to fill in.
        reading = (answer.id, answer_digest(answer.answer), "", 1, "", "")
        rows.append((*reading, answer.question, options, answer.answer))
    return csv_text([DRAWN_COLUMNS, *rows])


def readings_csv(readings: Iterable[PersonReading]) -> str:
    """Readings as `read_readings` reads them."""
    rows = []
    for reading in readings:
        reader = reading.marker or reading.reader
        rows.append((*reading.answer, reader, reading.round, reading.option, reading.note))
    return csv_text([READING_COLUMNS, *rows])


def _as_option(option: object) -> str:
    text = str(option).strip()
    return NO_OPTION if text.lower() == NO_OPTION else text.upper()


def _is_option(option: str) -> bool:
    return option == NO_OPTION or option in list(LETTERS)


class _ReadingRow(FileRow):
    """A row of a file of readings."""

    item: str
    answer_sha256: str
    option: Annotated[
        str,
        cell("an option's letter, or none", holds=_is_option),
        BeforeValidator(_as_option),
    ]
    reader: PersonName = "unnamed"
    round: Annotated[
        int,
        cell("1, or 2 for the same person's second time", holds=lambda number: number in (1, 2)),
    ] = 1
    note: str = ""
    options: str = ""

    @property
    def letters(self) -> list[str]:
        """The options' letters as `drawn_csv` writes them; none where the file doesn't show them."""
        return _OPTION_LETTER.findall(self.options)


class ReadingFile(NamedTuple):
    """The readings of a file that can be used, and the problems of its other rows."""

    readings: tuple[PersonReading, ...]
    problems: tuple[str, ...]


def read_readings(path: Path, answers: Mapping[AnswerKey, Collection[str]]) -> ReadingFile:
    """People's readings, in columns as `drawn_csv` writes them; rows without an option are skipped.

    `answers` are those that may be read, each with the letters of its options; if it has none, the letters in the
    file's column `options` may be chosen. Raises RowsError without the columns.
    """

    def row_problem(row: _ReadingRow) -> str:
        known_letters = answers.get(AnswerKey(row.item, row.answer_sha256))
        if known_letters is None:
            return "it isn't one of the answers here"
        letters = known_letters or row.letters
        if letters and row.option not in (*letters, NO_OPTION):
            return f"its question has no option {row.option}"
        return ""

    with row_errors(path.name):
        sound = sound_rows(
            _filled_records(read_records(path)),
            _ReadingRow,
            check=row_problem,
            key=("item", "answer_sha256", "reader", "round"),
            repeat_problem="this person read this answer in a row before",
        )
    readings = (
        PersonReading(
            answer=AnswerKey(row.item, row.answer_sha256),
            reader=row.reader,
            option=row.option,
            round=row.round,
            note=row.note,
        )
        for _, row in sound.rows
    )
    return ReadingFile(tuple(readings), sound.problems)


def _filled_records(records: Iterable[Record]) -> Iterator[Record]:
    """Yields the rows with an option, and all rows of a file without that column, which is then an error."""
    for record in records:
        has_column = "option" in record.values
        if not has_column or str(record.values["option"] or "").strip():
            yield record


class _AuditRow(FileRow):
    """A row of a multiple-choice report's audit."""

    strips = False

    index: int
    prediction: Annotated[str, Heading(as_written=True)]
    letter: str | None
    """"" if undecided: null in the file, which a cell reads as ""."""
    rule: Rule
    judge: str
    """The judge of the last reply; "" if no judge was asked."""

    @property
    def option(self) -> str | None:
        """A letter or NO_OPTION; None where the answer could not be read and its letter was only assigned."""
        if not self.letter or STEPS[self.rule] == "fallback":
            return None
        return NO_OPTION if self.letter == NONE else self.letter


class ExtractedFile(NamedTuple):
    """One extractor's choices for one model's answers."""

    model: str
    extractor: str
    options: Mapping[AnswerKey, str | None]
    """The chosen option; None where the answer could not be read."""
    answers: Mapping[AnswerKey, str]

    def pairs(self, people: Mapping[AnswerKey, str]) -> Mapping[AnswerKey, PairedChoice]:
        """People's choice beside the extractor's, for the answers that people read."""
        return {
            key: PairedChoice(key.question, option, self.options[key])
            for key, option in people.items()
            if key in self.options
        }


def read_extracted_files(paths: Sequence[Path]) -> list[ExtractedFile]:
    """The extractors' choices in multiple-choice reports' audits, as `score` writes them.

    Where an extractor has several files of a model, its names include the files' folders, or the whole paths of files
    in one folder. Raises RowsError.
    """
    refuse_repeated(paths)
    files = [_read_extracted_file(path) for path in paths]
    names = [(file.model, file.extractor) for file in files]
    name_counts = Counter(names)
    folder_counts = Counter(zip(names, [path.parent for path in paths], strict=True))
    distinct = []
    for path, file, name in zip(paths, files, names, strict=True):
        if name_counts[name] > 1:
            place = path if folder_counts[name, path.parent] > 1 else path.parent
            file = file._replace(extractor=f"{file.extractor} ({place})")
        distinct.append(file)
    return distinct


def _read_extracted_file(path: Path) -> ExtractedFile:
    """The extractor's choices in an audit. Raises RowsError, also for a file that isn't an audit by its name."""
    if not path.name.endswith(AUDIT):
        raise RowsError(
            f"This isn't a report's {AUDIT}. Choose the one that python -m scoring score wrote.",
            path.name,
        )
    options = {}
    answers = {}
    judges = []
    for _, row in read_rows(path, _AuditRow):
        key = AnswerKey.from_answer(str(row.index), row.prediction)
        options[key] = row.option
        answers[key] = row.prediction
        judges.append(row.judge)
    extractor = " and ".join(dict.fromkeys(filter(None, judges))) or RULES
    model = path.name.removesuffix(AUDIT).removeprefix("partial_")
    return ExtractedFile(model, extractor, options, answers)


def align_files(
    files: Sequence[ExtractedFile], readings: Sequence[PersonReading]
) -> list[Alignment]:
    """Each extractor's agreement with people, over all models' answers if there are several, and by model."""
    people = peoples_choices(readings)
    pairs_by_extractor: dict[str, dict[str, Sequence[PairedChoice]]] = {}
    for file in files:
        pairs_by_model = pairs_by_extractor.setdefault(file.extractor, {})
        pairs_by_model[file.model] = [*file.pairs(people).values()]
    alignments = []
    for extractor, pairs_by_model in pairs_by_extractor.items():
        alignments += align_by_model(extractor, pairs_by_model)
    return alignments
