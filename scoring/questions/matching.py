"""Matching: finds the question file that a file of answers belongs to.

It goes by the chosen benchmark, then the file's name, its questions' texts, and its ids. Ids that count rows, such as
0, 1, 2, decide nothing: every benchmark has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from arena.io.tables import PAGE, FileLimits, Record, read_records
from arena.templates import plural
from scoring.benchmarks.base import ColumnNames
from scoring.multiple_choice.columns import columns_by_plain_name
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.questions.known_file import KnownFile, is_number, text_digest
from scoring.registry import flat_record
from scoring.specs.problems import either
from scoring.specs.schema import ends_with

_HALF = 0.5
"""Share of a file's ids, or of its questions' texts, that a question file must know."""


@dataclass(frozen=True)
class AnswerFile:
    """The ids and texts of the questions in a file of answers."""

    name: str
    texts: Mapping[str, str]
    """The digest of each question's text by its id; "" where the file has none."""

    @property
    def summary(self) -> str:
        """The number of its answers and the range of their ids, in words."""
        ids = [*self.texts]
        if all(map(is_number, ids)):
            ids.sort(key=int)
        answers = plural(len(ids), "answer")
        if len(ids) == 1:
            return f"{answers}, id {ids[0][:40]}"
        return f"{answers}, ids {ids[0][:40]} to {ids[-1][:40]}"

    @property
    def counts_rows(self) -> bool:
        """Whether its ids are row numbers from 0 or 1, which decide nothing."""
        if not all(map(is_number, self.texts)):
            return False
        numbers = {int(id) for id in self.texts}
        first = min(numbers)
        return first in (0, 1) and numbers == {*range(first, first + len(numbers))}


@dataclass(frozen=True)
class QuestionMatch:
    """The question file of a file of answers."""

    file: KnownFile | None = None
    """None if no file fits, or if several do."""
    fits: Sequence[KnownFile] = ()
    """All files that fit; if `unclear`, those to choose from."""
    unclear: str = ""
    """The question to the user if several fit."""


def answer_files(
    path: Path,
    namings: Iterable[ColumnNames],
    limits: FileLimits = PAGE,
    name: str | None = None,
) -> Mapping[ColumnNames, AnswerFile]:
    """Reads the ids and texts of a file of answers, in the columns of each naming; empty if they have no ids.

    Raises RowsError.
    """
    label = name or path.name
    texts_by_names: dict[ColumnNames, dict[str, str]] = {names: {} for names in namings}
    for record in read_records(path, limits, skip=IMAGE_COLUMNS, name=label, allow_object=True):
        for names, texts in texts_by_names.items():
            row = flat_record(record, names).values
            columns = columns_by_plain_name(row)
            if id := _cell(row, columns, names.ids):
                texts[id.removesuffix(".0")] = text_digest(_cell(row, columns, names.questions))
    return {names: AnswerFile(label, texts) for names, texts in texts_by_names.items()}


def record_id(record: Record, names: ColumnNames) -> str:
    """Returns the id of a record, in a column of these names, where 12.0 is 12; "" if it has none."""
    row = flat_record(record, names).values
    return _cell(row, columns_by_plain_name(row), names.ids).removesuffix(".0")


def match_questions(
    files: Sequence[KnownFile],
    answers: Mapping[ColumnNames, AnswerFile],
    benchmark: str | None = None,
) -> QuestionMatch:
    """Returns the question file that a file of answers belongs to, of this benchmark if one is chosen."""
    wanted = [file for file in files if benchmark in (None, file.benchmark)]
    candidates = [_Fit(file, answers[file.file_benchmark.column_names]) for file in wanted]
    fits = [fit for fit in candidates if fit.known_share >= _HALF and fit.agrees]
    named_fits = _best_named(fits)
    best_fits = named_fits or fits
    if not best_fits:
        return QuestionMatch()
    are_texts_compared = any(fit.equal_share is not None for fit in best_fits)
    only_ids_are_left = not (named_fits or benchmark or are_texts_compared)
    if only_ids_are_left:
        fits_by_ids = [fit for fit in best_fits if fit.do_ids_decide]
        if not fits_by_ids:
            return _unclear(best_fits)
        best_fits = fits_by_ids
    highest = max(fit.coverage for fit in best_fits)
    covering_fits = [fit for fit in best_fits if fit.coverage == highest]
    if len(covering_fits) > 1:
        return _unclear(covering_fits)
    return QuestionMatch(covering_fits[0].file, [fit.file for fit in fits])


@dataclass(frozen=True)
class _Fit:
    """A question file, and the answers as they are read by its benchmark's column names."""

    file: KnownFile
    answers: AnswerFile

    @property
    def _answered(self) -> set[str | None]:
        """The question file's ids of the questions that are answered."""
        return {self.file.question_id(id) for id in self.answers.texts} - {None}

    @property
    def _known_count(self) -> int:
        """The number of the answers' ids that the question file knows."""
        return sum(map(self.file.has, self.answers.texts))

    @property
    def known_share(self) -> float:
        """The share of the answers' ids that the question file knows; 0 without ids."""
        return self._known_count / len(self.answers.texts) if self.answers.texts else 0.0

    @cached_property
    def coverage(self) -> tuple[bool, int, int]:
        """The rank of a fit by ids: equal ids first, then most ids in common, then fewest others."""
        are_all_known = self._known_count == len(self.answers.texts)
        has_equal_ids = are_all_known and self._answered == {*self.file.texts}
        return has_equal_ids, self._known_count, -len(self.file.texts)

    @property
    def do_ids_decide(self) -> bool:
        """Whether the ids alone decide.

        Ids that aren't all numbers do. Numbers do if they don't count rows and cover half of the question file's ids.
        """
        if not all(map(is_number, self.answers.texts)):
            return True
        return not self.answers.counts_rows and len(self._answered) >= _HALF * len(self.file.texts)

    @cached_property
    def equal_share(self) -> float | None:
        """The share of the answers' question texts that equal the question file's; None without any to compare."""
        equal = []
        for id, text in self.answers.texts.items():
            question_id = self.file.question_id(id)
            published = self.file.texts[question_id] if question_id is not None else ""
            if text and published:
                equal.append(text == published)
        return sum(equal) / len(equal) if equal else None

    @property
    def agrees(self) -> bool:
        """Whether at least half of the texts that can be compared are equal."""
        return self.equal_share is None or self.equal_share >= _HALF

    @property
    def name_length(self) -> int:
        """Length of the longest name, the file's or its benchmark's, that ends the answers' file name; 0 for none."""
        stem = PurePath(self.answers.name).stem.casefold()
        own = PurePath(self.file.name).stem
        # A name of one letter is the end of too many others.
        names = [own] if len(own) > 1 else []
        benchmark = self.file.file_benchmark
        # The benchmark's names can't say which of several files it is.
        if len(benchmark.question_files) < 2:
            names += benchmark.file_names
        return max((len(name) for name in names if ends_with(stem, name.casefold())), default=0)


def _best_named(candidates: Sequence[_Fit]) -> Sequence[_Fit]:
    """Returns the candidates with the longest name that the answers' file name ends with; none without such a name."""
    longest = max((candidate.name_length for candidate in candidates), default=0)
    return [candidate for candidate in candidates if longest and candidate.name_length == longest]


def _unclear(candidates: Sequence[_Fit]) -> QuestionMatch:
    """Returns no question file, and the question to the user which of the candidates it is."""
    files = [candidate.file for candidate in candidates]
    benchmarks = {file.benchmark: file.file_benchmark.name for file in files}
    are_of_one_benchmark = len(benchmarks) == 1 and len(files) > 1
    names = [file.name for file in files] if are_of_one_benchmark else [*benchmarks.values()]
    summary = candidates[0].answers.summary
    question = f"{summary}. Which is it: {either(names)}?"
    if len(names) == 1:
        question = f"{summary}. Is it {names[0]}?"
    return QuestionMatch(None, files, question)


def _cell(row: Mapping[str, object], columns: Mapping[str, str], names: Sequence[str]) -> str:
    """Returns a row's cell in the first column of these names; "" if it is no text or number."""
    for name in names:
        if name in columns:
            cell = row[columns[name]]
            return str(cell).strip() if isinstance(cell, str | int | float) else ""
    return ""
