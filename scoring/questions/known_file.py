"""A question file, read once: its benchmark, its questions' ids and texts, and the place of its right answers.

The benchmark is named in `FILE.yaml` beside it, else known by the file's md5, its name, or its columns together with
its number of rows.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from arena.cache import Cache
from arena.io.strict_json import RowsError
from arena.io.tables import ANSWERS, read_records
from arena.types import folded
from scoring.benchmarks.base import Answers, AskedQuestion, ChoicesError, FileBenchmark
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.multiple_choice.types import PASS
from scoring.registry import BENCHMARKS
from scoring.specs.files import file_content
from scoring.specs.problems import SpecError, either
from scoring.specs.schema import QuestionFile, ends_with
from scoring.specs.yaml_text import YamlError, read_yaml

BESIDE = ".yaml"
"""Ending of the notes on a question file, behind its whole name."""
_QUESTIONS: Cache[Mapping[Any, Any]] = Cache(3)
"""The questions of the files that were used last."""


class QuestionFileError(ValueError):
    """A question file on the server cannot be used; the message names it and says what to do."""


class Notes(BaseModel):
    """The notes in the small file beside a question file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str | None = None
    """Its benchmark's key."""
    answers: Answers | Mapping[str, Answers] | None = None
    """Place of the right answers, of all or by split."""
    md5: str | None = None
    """Md5 of the file as its authors publish it."""
    url: str | None = None
    licence: str | None = None
    fetched: str | None = None


_NO_NOTES = Notes()


@dataclass(frozen=True, eq=False)
class KnownFile:
    """A question file of a benchmark."""

    path: Path
    benchmark: str
    """Key of `BENCHMARKS`."""
    md5: str
    """Md5 of the file as it was published, if known; else of the file itself."""
    texts: Mapping[str, str]
    """The digest of each question's folded text by its id; "" for an empty one."""
    answers: Mapping[str, Answers]
    """Place of the right answers by split."""
    is_published: bool
    """Whether the benchmark's authors publish this md5."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def file_benchmark(self) -> FileBenchmark[Any]:
        benchmark = BENCHMARKS[self.benchmark]
        assert isinstance(benchmark, FileBenchmark)
        return benchmark

    def questions(self) -> Mapping[Any, Any]:
        """Returns the questions by id, as the benchmark's reader takes them. Raises RowsError and ChoicesError."""
        state = self.path.stat()
        cache_key = (str(self.path), state.st_mtime_ns, state.st_size, self.benchmark)
        return _QUESTIONS.get(cache_key, lambda: self.file_benchmark.own_questions(self.path))

    def has(self, id: str) -> bool:
        return self.place(id) is not None

    def place(self, id: str) -> str | None:
        """Returns the id of the question that an answer's id belongs to, maybe in a later pass; else None."""
        if id in self.texts:
            return id
        if not (id.isascii() and id.isdigit() and len(id) < 16):
            return None
        first_pass = str(int(id) % PASS)
        return first_pass if first_pass in self.texts else None


def known_file(path: Path) -> KnownFile:
    """Reads a question file. Raises QuestionFileError."""
    notes = _notes_of(path)
    try:
        md5 = notes.md5 or file_md5(path)
        key = notes.benchmark or _benchmark_of(path, md5)
        benchmark = BENCHMARKS.get(key)
        if not isinstance(benchmark, FileBenchmark):
            keys = either(_file_benchmarks())
            raise QuestionFileError(
                f"{path.name}: {key!r} isn't a benchmark with files. Choose {keys}."
            )
        questions = [*benchmark.list_questions(benchmark.own_questions(path))]
    except (RowsError, ChoicesError, OSError) as error:
        problem = str(error).rstrip(".")
        raise QuestionFileError(f"{problem}. Correct {path.name}, or remove it.") from error
    entry = _entry_of(benchmark, path.name, md5)
    return KnownFile(
        path=path,
        benchmark=key,
        md5=md5,
        texts={question.id: text_digest(question.text) for question in questions},
        answers=where_answers(questions, notes, entry),
        is_published=entry is not None and entry.md5 == md5,
    )


def text_digest(text: str) -> str:
    """Returns a digest of a question's text, whatever its spaces and case; "" for an empty one."""
    bare = folded(text)
    return hashlib.blake2b(bare.encode(), digest_size=12).hexdigest() if bare else ""


def file_md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _notes_of(path: Path) -> Notes:
    beside = path.with_name(f"{path.name}{BESIDE}")
    if not beside.is_file():
        return Notes()
    try:
        return Notes.model_validate(read_yaml(file_content(beside)) or {})
    except (YamlError, SpecError, ValidationError) as error:
        fields = either([*Notes.model_fields])
        problem = str(error).splitlines()[0][:200]
        raise QuestionFileError(
            f"{beside.name} can't be read: {problem.rstrip('.')}. Write only lines for {fields}."
        ) from error


def _file_benchmarks() -> Mapping[str, FileBenchmark[Any]]:
    return {
        key: benchmark
        for key, benchmark in BENCHMARKS.items()
        if isinstance(benchmark, FileBenchmark)
    }


def _published() -> Iterator[tuple[str, FileBenchmark[Any], QuestionFile]]:
    """Yields every known question file with its benchmark and the benchmark's key."""
    for key, benchmark in _file_benchmarks().items():
        for file in benchmark.question_files:
            yield key, benchmark, file


def _benchmark_of(path: Path, md5: str) -> str:
    """Returns the key of a file's benchmark: by its md5, else by its name, else by its rows and columns.

    Raises QuestionFileError.
    """
    known = [*_published()]
    by_md5 = {key for key, _, file in known if file.md5 == md5}
    for keys in (by_md5, _by_name(path.name, known), _by_table(path, known)):
        if len(keys) == 1:
            return keys.pop()
    raise QuestionFileError(
        f"Neither content nor name shows whose questions {path.name} has. Put {path.name}{BESIDE} beside it, "
        "with a line such as benchmark: mmbench."
    )


def _by_name(name: str, known: Iterable[tuple[str, FileBenchmark[Any], QuestionFile]]) -> set[str]:
    """Returns the benchmarks with a question file of this name, else those with a name that it ends with."""
    stem = PurePath(name).stem.casefold()
    same = {key for key, _, file in known if PurePath(file.name).stem.casefold() == stem}
    if same:
        return same
    keys = set()
    for key, benchmark in _file_benchmarks().items():
        names = (key, *benchmark.file_names)
        if any(ends_with(stem, benchmark_name.casefold()) for benchmark_name in names):
            keys.add(key)
    return keys


def _by_table(
    path: Path, known: Iterable[tuple[str, FileBenchmark[Any], QuestionFile]]
) -> set[str]:
    """Returns the benchmarks with a question file of as many rows and with the same columns."""
    records = [*read_records(path, ANSWERS, members=True, digested=IMAGE_COLUMNS)]
    if not records:
        return set()
    return {
        key
        for key, benchmark, file in known
        if file.rows == len(records) and benchmark.asks_as(records[0])
    }


def _entry_of(benchmark: FileBenchmark[Any], name: str, md5: str) -> QuestionFile | None:
    """Returns the benchmark's entry for a file, by its md5 or else by its name; None without an entry."""
    files = benchmark.question_files
    by_md5 = [file for file in files if file.md5 == md5]
    by_name = [file for file in files if file.name.casefold() == name.casefold()]
    entries = by_md5 or by_name
    return entries[0] if entries else None


def where_answers(
    questions: Iterable[AskedQuestion], notes: Notes = _NO_NOTES, entry: QuestionFile | None = None
) -> Mapping[str, Answers]:
    """Returns the place of each split's right answers, by the operator's notes, else the spec, else the file itself."""
    splits: dict[str, bool] = {}
    for question in questions:
        splits[question.split] = splits.get(question.split, False) or question.has_truth
    places: dict[str, Answers] = {}
    for split, has_truth in splits.items():
        own = notes.answers.get(split) if isinstance(notes.answers, Mapping) else notes.answers
        if not has_truth:
            places[split] = "absent"
        elif own is not None:
            places[split] = own
        else:
            places[split] = "hidden" if entry and entry.answers == "hidden" else "there"
    return places
