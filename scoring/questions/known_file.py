"""A question file, read once: whose it is, its questions' ids and texts, and where its right answers are.

Whose it is says `FILE.yaml` beside it, else its md5, its name, or its columns together with its number of rows.
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
"""Behind a question file's whole name: what is said of it."""
_QUESTIONS: Cache[Mapping[Any, Any]] = Cache(3)
"""The questions of the files that were asked for last."""


class QuestionFileError(ValueError):
    """A question file on the server cannot be used; the message names it and says what to do."""


class SaidOf(BaseModel):
    """What the small file beside a question file says of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str | None = None
    """Its benchmark's key."""
    answers: Answers | Mapping[str, Answers] | None = None
    """Where the right answers are, of all or by split."""
    md5: str | None = None
    """Of the file as its authors publish it."""
    url: str | None = None
    licence: str | None = None
    fetched: str | None = None


_SAYS_NOTHING = SaidOf()


@dataclass(frozen=True, eq=False)
class KnownFile:
    """A question file of a benchmark."""

    path: Path
    benchmark: str
    """Key of `BENCHMARKS`."""
    md5: str
    """Of the file as it was published, where that is known; else of the file itself."""
    texts: Mapping[str, str]
    """The digest of each question's folded text by its id; "" where it has none."""
    answers: Mapping[str, Answers]
    """Where the right answers of each split are."""
    is_published: bool
    """Whether its md5 is one that the benchmark's authors publish."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def record(self) -> FileBenchmark[Any]:
        found = BENCHMARKS[self.benchmark]
        assert isinstance(found, FileBenchmark)
        return found

    def questions(self) -> Mapping[Any, Any]:
        """The questions by id, as the benchmark's reader takes them. Raises RowsError and ChoicesError."""
        state = self.path.stat()
        made_of = (str(self.path), state.st_mtime_ns, state.st_size, self.benchmark)
        return _QUESTIONS.get(made_of, lambda: self.record.own_questions(self.path))

    def has(self, id: str) -> bool:
        return self.place(id) is not None

    def place(self, id: str) -> str | None:
        """The id of the question that this is an answer to, maybe in a later pass; None if there is none."""
        if id in self.texts:
            return id
        if id.isascii() and id.isdigit() and len(id) < 16:
            base = str(int(id) % PASS)
            return base if base in self.texts else None
        return None


def known_file(path: Path) -> KnownFile:
    """What a question file is. Raises QuestionFileError."""
    said = _said_of(path)
    try:
        md5 = said.md5 or file_md5(path)
        key = said.benchmark or _benchmark_of(path, md5)
        benchmark = BENCHMARKS.get(key)
        if not isinstance(benchmark, FileBenchmark):
            keys = either(_of_files())
            raise QuestionFileError(f"{path.name}: {key!r} is no benchmark with files; name {keys}")
        asked = [*benchmark.asked(benchmark.own_questions(path))]
    except (RowsError, ChoicesError, OSError) as error:
        raise QuestionFileError(f"{error}; correct {path.name}, or take it away") from error
    entry = _entry_of(benchmark, path.name, md5)
    return KnownFile(
        path=path,
        benchmark=key,
        md5=md5,
        texts={question.id: text_digest(question.text) for question in asked},
        answers=where_answers(asked, said, entry),
        is_published=entry is not None and entry.md5 == md5,
    )


def text_digest(text: str) -> str:
    """What tells a question's text from others, however it is spaced and cased; "" of an empty one."""
    bare = folded(text)
    return hashlib.blake2b(bare.encode(), digest_size=12).hexdigest() if bare else ""


def file_md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _said_of(path: Path) -> SaidOf:
    beside = path.with_name(f"{path.name}{BESIDE}")
    if not beside.is_file():
        return SaidOf()
    try:
        return SaidOf.model_validate(read_yaml(file_content(beside)) or {})
    except (YamlError, SpecError, ValidationError) as error:
        fields = either([*SaidOf.model_fields])
        told = str(error).splitlines()[0][:200]
        raise QuestionFileError(f"{beside.name}: expected {fields}, found: {told}") from error


def _of_files() -> Mapping[str, FileBenchmark[Any]]:
    return {key: one for key, one in BENCHMARKS.items() if isinstance(one, FileBenchmark)}


def _published() -> Iterator[tuple[str, FileBenchmark[Any], QuestionFile]]:
    """Yield every known question file with its benchmark."""
    for key, benchmark in _of_files().items():
        for file in benchmark.question_files:
            yield key, benchmark, file


def _benchmark_of(path: Path, md5: str) -> str:
    """The key of the benchmark that a file's md5 tells, or its name, or its rows and columns. Raises
    QuestionFileError."""
    known = [*_published()]
    ways = [
        {key for key, _, file in known if file.md5 == md5},
        _named(path.name, known),
        _alike(path, known),
    ]
    keys = next((found for found in ways if len(found) == 1), set())
    if not keys:
        raise QuestionFileError(
            f"{path.name} is the question file of no benchmark that its content or name tells. Write beside it "
            f"{path.name}{BESIDE} with a line as in benchmark: mmbench"
        )
    return keys.pop()


def _named(name: str, known: Iterable[tuple[str, FileBenchmark[Any], QuestionFile]]) -> set[str]:
    stem = PurePath(name).stem.casefold()
    return {key for key, _, file in known if PurePath(file.name).stem.casefold() == stem} or {
        key
        for key, benchmark in _of_files().items()
        for called in (key, *benchmark.file_names)
        if ends_with(stem, called.casefold())
    }


def _alike(path: Path, known: Iterable[tuple[str, FileBenchmark[Any], QuestionFile]]) -> set[str]:
    """The benchmarks that have a question file of as many rows, and whose columns it has."""
    records = [*read_records(path, ANSWERS, members=True, digested=IMAGE_COLUMNS)]
    if not records:
        return set()
    return {
        key
        for key, benchmark, file in known
        if file.rows == len(records) and benchmark.asks_as(records[0])
    }


def _entry_of(benchmark: FileBenchmark[Any], name: str, md5: str) -> QuestionFile | None:
    """What the benchmark says of this file: by its md5, else by its name."""
    files = benchmark.question_files
    by_md5 = [file for file in files if file.md5 == md5]
    by_name = [file for file in files if file.name.casefold() == name.casefold()]
    return next(iter([*by_md5, *by_name]), None)


def where_answers(
    asked: Iterable[AskedQuestion], said: SaidOf = _SAYS_NOTHING, entry: QuestionFile | None = None
) -> Mapping[str, Answers]:
    """Where each split's right answers are, as the operator says, else the spec, else the file itself."""
    splits: dict[str, bool] = {}
    for question in asked:
        splits[question.split] = splits.get(question.split, False) or question.has_truth
    found: dict[str, Answers] = {}
    for split, is_told in splits.items():
        own = said.answers.get(split) if isinstance(said.answers, Mapping) else said.answers
        if not is_told:
            found[split] = "absent"
        elif own is not None:
            found[split] = own
        else:
            found[split] = "hidden" if entry and entry.answers == "hidden" else "there"
    return found
