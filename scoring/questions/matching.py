"""Matching: to which question file a file of answers belongs.

In this order: the benchmark that was chosen, the file's name, its questions' texts, its ids. Nothing is guessed from
ids that count rows, as 0, 1, 2 do: every benchmark has such.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from arena.io.tables import PAGE, FileLimits, Record, read_records
from arena.templates import plural
from scoring.benchmarks.base import ColumnNames
from scoring.multiple_choice.reader import IMAGE_COLUMNS, spelled
from scoring.questions.known_file import KnownFile, text_digest
from scoring.registry import flat
from scoring.specs.problems import either
from scoring.specs.schema import ends_with

_HALF = 0.5
"""Share of a file's ids, or of its questions' texts, that a question file must know."""


@dataclass(frozen=True)
class AnswerFile:
    """What a file of answers tells of its questions."""

    name: str
    texts: Mapping[str, str]
    """The digest of each question's text by its id; "" where the file has none."""

    @property
    def told(self) -> str:
        """Its answers and their ids in words."""
        ids = [*self.texts]
        if all(map(_is_number, ids)):
            ids.sort(key=int)
        ends = f"ids {ids[0][:40]} to {ids[-1][:40]}" if ids[1:] else f"id {ids[0][:40]}"
        return f"{plural(len(ids), 'answer')}, {ends}"

    @property
    def counts_rows(self) -> bool:
        """Whether its ids are the numbers of rows, from 0 or 1, and so say nothing."""
        if not all(map(_is_number, self.texts)):
            return False
        numbers = {int(id) for id in self.texts}
        first = min(numbers)
        return first in (0, 1) and numbers == {*range(first, first + len(numbers))}


@dataclass(frozen=True)
class QuestionMatch:
    """The question file of a file of answers."""

    found: KnownFile | None = None
    """None where no file fits, and where several do."""
    fits: Sequence[KnownFile] = ()
    """All that may be it."""
    unclear: str = ""
    """What is to be chosen where several fit."""


def answer_files(
    path: Path,
    namings: Iterable[ColumnNames],
    limits: FileLimits = PAGE,
    name: str | None = None,
) -> Mapping[ColumnNames, AnswerFile]:
    """Read the ids and texts of a file of answers, in the columns of each naming; without ids there are none.

    Raises RowsError.
    """
    label = name or path.name
    found: dict[ColumnNames, dict[str, str]] = {names: {} for names in namings}
    for record in read_records(path, limits, IMAGE_COLUMNS, label, members=True):
        for names, texts in found.items():
            row = flat(record, names).values
            columns = spelled(row)
            if id := _cell(row, columns, names.ids):
                texts[id.removesuffix(".0")] = text_digest(_cell(row, columns, names.questions))
    return {names: AnswerFile(label, texts) for names, texts in found.items()}


def record_id(record: Record, names: ColumnNames) -> str:
    """The id of a record, in a column of these names; "" if it has none."""
    row = flat(record, names).values
    return _cell(row, spelled(row), names.ids).removesuffix(".0")


def matched(
    files: Sequence[KnownFile],
    answers: Mapping[ColumnNames, AnswerFile],
    benchmark: str | None = None,
) -> QuestionMatch:
    """The question file that a file of answers belongs to, of the chosen benchmark if one is."""
    wanted = [file for file in files if benchmark in (None, file.benchmark)]
    asked = [_Fit(file, answers[file.record.column_names]) for file in wanted]
    knowing = [candidate for candidate in asked if candidate.known_share >= _HALF]
    fits = [candidate for candidate in knowing if candidate.agrees]
    named = _named(fits)
    left = named or fits
    if not left:
        return QuestionMatch()
    tells = named or benchmark or any(one.equal_share is not None for one in left)
    if not tells:
        telling = [candidate for candidate in left if candidate.tells_by_ids]
        if not telling:
            return _asks(left)
        left = telling
    highest = max(candidate.covered for candidate in left)
    best = [candidate for candidate in left if candidate.covered == highest]
    if len(best) > 1:
        return _asks(best)
    return QuestionMatch(best[0].file, [candidate.file for candidate in fits])


@dataclass(frozen=True)
class _Fit:
    """A question file, and the answers as its benchmark names their columns."""

    file: KnownFile
    answers: AnswerFile

    @property
    def _places(self) -> set[str | None]:
        """The questions that are answered."""
        return {self.file.place(id) for id in self.answers.texts} - {None}

    @property
    def _known(self) -> int:
        return sum(map(self.file.has, self.answers.texts))

    @property
    def known_share(self) -> float:
        """The share of the answers' ids that the question file knows; 0 without ids."""
        return self._known / len(self.answers.texts) if self.answers.texts else 0.0

    @cached_property
    def covered(self) -> tuple[bool, int, int]:
        """How well its ids are those of the answers: equal, then the most known, then the fewest others."""
        return (self._places == {*self.file.texts}, self._known, -len(self.file.texts))

    @property
    def tells_by_ids(self) -> bool:
        """Whether ids that are no mere numbers fit, or numbers with gaps that are most of the question file's."""
        if not all(map(_is_number, self.answers.texts)):
            return True
        return not self.answers.counts_rows and len(self._places) >= _HALF * len(self.file.texts)

    @cached_property
    def equal_share(self) -> float | None:
        """The share of the answers' texts that are those of the question file; None without any to compare."""
        asked = self.file.texts
        equal = [
            text == asked[place]
            for id, text in self.answers.texts.items()
            if text and (place := self.file.place(id)) is not None and asked[place]
        ]
        return sum(equal) / len(equal) if equal else None

    @property
    def agrees(self) -> bool:
        """Whether its texts are the answers' own, where they can be compared."""
        return self.equal_share is None or self.equal_share >= _HALF

    @property
    def named_by(self) -> int:
        """The length of the longest name of it or of its benchmark that ends the answers' name; 0 if none does."""
        stem = PurePath(self.answers.name).stem.casefold()
        own = PurePath(self.file.name).stem
        names = [own] if len(own) > 1 else []
        benchmark = self.file.record
        if len(benchmark.question_files) < 2:
            names += benchmark.file_names
        return max((len(name) for name in names if ends_with(stem, name.casefold())), default=0)


def _named(candidates: Sequence[_Fit]) -> Sequence[_Fit]:
    """Those that the name of the file of answers names best."""
    longest = max((candidate.named_by for candidate in candidates), default=0)
    return [one for one in candidates if longest and one.named_by == longest]


def _asks(candidates: Sequence[_Fit]) -> QuestionMatch:
    """The question where several question files fit, or one by mere numbers."""
    files = [candidate.file for candidate in candidates]
    benchmarks = {file.benchmark: file.record.name for file in files}
    is_one = len(benchmarks) == 1 and len(files) > 1
    names = [file.name for file in files] if is_one else [*benchmarks.values()]
    which = "is it" if len(names) == 1 else "which is it:"
    told = candidates[0].answers.told
    return QuestionMatch(None, files, f"{told}; {which} {either(names)}?")


def _is_number(id: str) -> bool:
    return id.isascii() and id.isdigit() and len(id) < 16


def _cell(row: Mapping[str, object], columns: Mapping[str, str], names: Sequence[str]) -> str:
    """What a row has in the first column of these names; "" if that is no text or number."""
    column = next((columns[name] for name in names if name in columns), None)
    cell = row[column] if column is not None else None
    return str(cell).strip() if isinstance(cell, str | int | float) else ""
