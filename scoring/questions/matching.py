"""Matching: to which question file a file of answers belongs.

In this order: the benchmark that was chosen, the file's name, its questions' texts, its ids. Nothing is guessed from
ids that count rows, as 0, 1, 2 do: every benchmark has such.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from arena.io.tables import PAGE, FileLimits, read_records
from arena.templates import plural
from scoring.multiple_choice.reader import IMAGE_COLUMNS, spelled
from scoring.questions.known_file import KnownFile, text_digest
from scoring.registry import BENCHMARKS, flat
from scoring.specs.problems import either
from scoring.specs.schema import ends_with

_IDS = ("index", "question_id", "id", "idx", "questionid")
_TEXTS = ("question", "prompt")
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


def answer_file(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> AnswerFile:
    """Read the ids and texts of a file of answers; without ids there are none. Raises RowsError."""
    label = name or path.name
    texts: dict[str, str] = {}
    for record in read_records(path, limits, IMAGE_COLUMNS, label, members=True):
        row = flat(record).values
        columns = spelled(row)
        id = _cell(row, columns, ("g_index", *_IDS))
        if id:
            texts[id.removesuffix(".0")] = text_digest(_cell(row, columns, _TEXTS))
    return AnswerFile(label, texts)


def matched(
    files: Sequence[KnownFile], answers: AnswerFile, benchmark: str | None = None
) -> QuestionMatch:
    """The question file that a file of answers belongs to, of the chosen benchmark if one is."""
    knowing = [file for file in files if benchmark in (None, file.benchmark)]
    knowing = [file for file in knowing if answers.texts and _known(file, answers) >= _HALF]
    fits = _agreeing(knowing, answers)
    named = _named(fits, answers)
    left = named or fits
    if not left:
        return QuestionMatch()
    tells = bool(named or benchmark) or _has_texts(left, answers)
    if not tells:
        if answers.counts_rows:
            return QuestionMatch(None, left, _unclear(left, answers))
        left = [file for file in left if _tells_by_ids(file, answers)]
        if not left:
            return QuestionMatch(None, fits, _unclear(fits, answers))
    best = _best(left, lambda file: _covered(file, answers))
    if len(best) > 1:
        return QuestionMatch(None, best, _unclear(best, answers))
    return QuestionMatch(best[0], fits)


def _known(file: KnownFile, answers: AnswerFile) -> float:
    """The share of the answers' ids that a question file knows."""
    return sum(map(file.has, answers.texts)) / len(answers.texts)


def _covered(file: KnownFile, answers: AnswerFile) -> tuple[bool, int, int]:
    """How well a question file's ids are those of the answers: equal, then the most known, then the fewest others."""
    places = {file.place(id) for id in answers.texts} - {None}
    known = sum(map(file.has, answers.texts))
    return (places == {*file.texts}, known, -len(file.texts))


def _tells_by_ids(file: KnownFile, answers: AnswerFile) -> bool:
    """Whether ids that are no mere numbers fit, or numbers that are most of the question file's."""
    if not all(map(_is_number, answers.texts)):
        return True
    places = {file.place(id) for id in answers.texts} - {None}
    return len(places) >= _HALF * len(file.texts)


def _agreeing(files: Sequence[KnownFile], answers: AnswerFile) -> Sequence[KnownFile]:
    """The question files whose texts are the answers' own; all of them where nothing can be compared."""
    compared = {file: _shares(file, answers) for file in files}
    return [file for file in files if compared[file] is None or (compared[file] or 0) >= _HALF]


def _shares(file: KnownFile, answers: AnswerFile) -> float | None:
    """The share of the answers' texts that are those of the question file; None without any to compare."""
    equal = [
        text == file.texts[place]
        for id, text in answers.texts.items()
        if text and (place := file.place(id)) is not None and file.texts[place]
    ]
    return sum(equal) / len(equal) if equal else None


def _has_texts(files: Sequence[KnownFile], answers: AnswerFile) -> bool:
    return any(_shares(file, answers) is not None for file in files)


def _named(files: Sequence[KnownFile], answers: AnswerFile) -> Sequence[KnownFile]:
    """The question files whose name, or a name of whose benchmark, ends the name of the file of answers."""
    stem = PurePath(answers.name).stem.casefold()
    lengths = {file: _longest(stem, file) for file in files}
    longest = max(lengths.values(), default=0)
    return [file for file in files if longest and lengths[file] == longest]


def _longest(stem: str, file: KnownFile) -> int:
    """The length of the longest name of a question file that ends a file's name; 0 if none does."""
    own = PurePath(file.name).stem
    called = BENCHMARKS[file.benchmark]
    names = [own] if len(own) > 1 else []
    spec = getattr(called, "spec", None)
    if spec is not None and len(spec.questions) < 2:
        names += spec.called
    return max((len(name) for name in names if ends_with(stem, name.casefold())), default=0)


def _best(
    files: Sequence[KnownFile], worth: Callable[[KnownFile], tuple[bool, int, int]]
) -> Sequence[KnownFile]:
    highest = max(map(worth, files))
    return [file for file in files if worth(file) == highest]


def _unclear(files: Sequence[KnownFile], answers: AnswerFile) -> str:
    """What is asked where several question files fit, or one by mere numbers."""
    benchmarks = {file.benchmark: BENCHMARKS[file.benchmark].name for file in files}
    one = len(benchmarks) == 1 and len(files) > 1
    names = [file.name for file in files] if one else [*benchmarks.values()]
    which = "is it" if len(names) == 1 else "which is it:"
    return f"{answers.told}; {which} {either(names)}?"


def _is_number(id: str) -> bool:
    return id.isascii() and id.isdigit() and len(id) < 16


def _cell(row: Mapping[str, object], columns: Mapping[str, str], names: Sequence[str]) -> str:
    column = next((columns[name] for name in names if name in columns), None)
    cell = row[column] if column is not None else None
    return str(cell).strip() if isinstance(cell, str | int | float) else ""
