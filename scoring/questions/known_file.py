"""A question file, read once: its benchmark, its questions' ids and texts, and the place of its right answers.

The benchmark is named in `FILE.yaml` beside it, else known by the file's md5, its name, or its columns together with
its number of rows.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from arena.cache import Cache
from arena.io.strict_json import RowsError
from arena.io.tables import ANSWERS, read_records
from arena.types import folded
from scoring.benchmarks.base import AskedQuestion, ChoicesError, FileBenchmark, TruthPlace
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
    answers: TruthPlace | Mapping[str, TruthPlace] | None = None
    """Where the right answers are, of all questions or by split."""
    md5: str | None = None
    """Md5 of the file as its authors publish it."""
    url: str | None = None
    licence: str | None = None
    fetched: str | None = None
    """Day of the download, as 2026-11-30."""


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
    truth_places: Mapping[str, TruthPlace]
    """Where the right answers are, by split."""
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
        return self.question_id(id) is not None

    def question_id(self, id: str) -> str | None:
        """Returns the id of the question that an answer's id, perhaps a later pass's, belongs to; None if none fits."""
        if id in self.texts:
            return id
        if not is_number(id):
            return None
        first_pass = str(int(id) % PASS)
        return first_pass if first_pass in self.texts else None


def known_file(path: Path) -> KnownFile:
    """Reads a question file. Raises QuestionFileError."""
    notes = _notes_of(path)
    try:
        md5 = notes.md5.lower() if notes.md5 else file_md5(path)
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
        truth_places=truth_places(questions, notes, entry),
        is_published=entry is not None and entry.md5 == md5,
    )


def text_digest(text: str) -> str:
    """Returns a digest of a question's text, whatever its spaces and case; "" for an empty one."""
    bare = folded(text)
    return hashlib.blake2b(bare.encode(), digest_size=12).hexdigest() if bare else ""


def is_number(id: str) -> bool:
    """Whether an id is a whole number of at most 15 digits."""
    return id.isascii() and id.isdigit() and len(id) < 16


def file_md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _notes_of(path: Path) -> Notes:
    """Reads the notes beside a question file; without them all are empty. Raises QuestionFileError."""
    notes_path = path.with_name(f"{path.name}{BESIDE}")
    if not notes_path.is_file():
        return _NO_NOTES
    try:
        return Notes.model_validate(read_yaml(file_content(notes_path)) or {})
    except (YamlError, SpecError, ValidationError) as error:
        fields = either([*Notes.model_fields])
        problem = str(error).splitlines()[0][:200]
        raise QuestionFileError(
            f"{notes_path.name} can't be read: {problem.rstrip('.')}. Write only lines for {fields}."
        ) from error


def _file_benchmarks() -> Mapping[str, FileBenchmark[Any]]:
    return {
        key: benchmark
        for key, benchmark in BENCHMARKS.items()
        if isinstance(benchmark, FileBenchmark)
    }


class _PublishedFile(NamedTuple):
    """A question file that a benchmark's authors publish."""

    key: str
    """The benchmark's key."""
    benchmark: FileBenchmark[Any]
    file: QuestionFile


def _published_files() -> Iterator[_PublishedFile]:
    for key, benchmark in _file_benchmarks().items():
        for file in benchmark.question_files:
            yield _PublishedFile(key, benchmark, file)


def _benchmark_of(path: Path, md5: str) -> str:
    """Returns the key of a file's benchmark: by its md5, else by its name, else by its rows and columns.

    Raises QuestionFileError.
    """
    published_files = [*_published_files()]
    by_md5 = {published.key for published in published_files if published.file.md5 == md5}
    by_name = _keys_by_name(path.name, published_files)
    by_table = _keys_by_table(path, published_files)
    for keys in (by_md5, by_name, by_table):
        if len(keys) == 1:
            return keys.pop()
    raise QuestionFileError(
        f"Neither content nor name shows whose questions {path.name} has. Put {path.name}{BESIDE} beside it, "
        "with a line such as benchmark: mmbench."
    )


def _keys_by_name(name: str, published_files: Iterable[_PublishedFile]) -> set[str]:
    """Returns the keys of benchmarks with a question file of this name, else of those with a name that it ends with."""
    stem = PurePath(name).stem.casefold()
    keys = {
        published.key
        for published in published_files
        if PurePath(published.file.name).stem.casefold() == stem
    }
    if keys:
        return keys
    for key, benchmark in _file_benchmarks().items():
        names = (key, *benchmark.file_names)
        if any(ends_with(stem, benchmark_name.casefold()) for benchmark_name in names):
            keys.add(key)
    return keys


def _keys_by_table(path: Path, published_files: Iterable[_PublishedFile]) -> set[str]:
    """Returns the keys of the benchmarks with a question file of as many rows and with the same columns."""
    records = [*read_records(path, ANSWERS, allow_object=True, digested=IMAGE_COLUMNS)]
    if not records:
        return set()
    keys = set()
    for published in published_files:
        has_as_many_rows = published.file.rows == len(records)
        if has_as_many_rows and published.benchmark.fits_questions(records[0]):
            keys.add(published.key)
    return keys


def _entry_of(benchmark: FileBenchmark[Any], name: str, md5: str) -> QuestionFile | None:
    """Returns the benchmark's entry for a file, by its md5 or else by its name; None without an entry."""
    files = benchmark.question_files
    by_md5 = [file for file in files if file.md5 == md5]
    by_name = [file for file in files if file.name.casefold() == name.casefold()]
    entries = by_md5 or by_name
    return entries[0] if entries else None


def truth_places(
    questions: Iterable[AskedQuestion], notes: Notes = _NO_NOTES, entry: QuestionFile | None = None
) -> Mapping[str, TruthPlace]:
    """Returns the place of each split's right answers: "absent" if the file has none of them.

    Otherwise it is that of the operator's notes, else "hidden" if the benchmark's `entry` says so, else "there".
    """
    has_truth_by_split: dict[str, bool] = {}
    for question in questions:
        has_truth = has_truth_by_split.get(question.split, False)
        has_truth_by_split[question.split] = has_truth or question.has_truth
    places: dict[str, TruthPlace] = {}
    for split, has_truth in has_truth_by_split.items():
        noted = notes.answers.get(split) if isinstance(notes.answers, Mapping) else notes.answers
        if not has_truth:
            places[split] = "absent"
        elif noted is not None:
            places[split] = noted
        else:
            places[split] = "hidden" if entry and entry.answers == "hidden" else "there"
    return places
