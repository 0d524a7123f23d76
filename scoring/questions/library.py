"""The library: a folder with question files, each read when it changes, and with specs that a server offers to all."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from threading import Lock
from typing import NamedTuple

from arena.io.tables import SUFFIXES
from scoring.benchmarks.spec_benchmark import is_own, spec_benchmark
from scoring.questions.known_file import BESIDE, KnownFile, QuestionFileError, known_file
from scoring.registry import BENCHMARKS
from scoring.report import QuestionSet
from scoring.specs.files import load_spec
from scoring.specs.problems import SpecError

log = logging.getLogger(__name__)

_READ_FILES: dict[Path, "_ReadFile"] = {}
"""The files as they were last read."""
_READ_TURN = Lock()
SPEC = ".yaml"
"""Ending of a spec."""
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_OFFERED: set[Path] = set()
"""The folders whose specs are among the benchmarks of this process."""
_OFFER_TURN = Lock()


class _FileState(NamedTuple):
    """The times and the size of a file: they differ after a change."""

    file_time: int
    """Time of the file's last change, in nanoseconds."""
    notes_time: int
    """Time of the last change of the notes beside it, in nanoseconds; 0 without notes."""
    size: int
    """The file's size in bytes."""


class _ReadFile(NamedTuple):
    """A file that was read, and its state then."""

    state: _FileState
    file: KnownFile | None
    """None for a file that can't be used."""


@dataclass(frozen=True)
class QuestionLibrary:
    """The question files of a folder; each is read again when it changes."""

    folder: Path | None = None
    """None for no question files."""

    def files(self) -> Sequence[KnownFile]:
        """Returns every usable question file, by name. The log names the others, once."""
        if self.folder is None:
            return ()
        offer_specs(self.folder)
        with _READ_TURN:
            paths = [path for path in sorted(self.folder.iterdir()) if _is_table(path)]
            # A process has one folder; a file of another one would only be read again.
            for deleted in _READ_FILES.keys() - {*paths}:
                del _READ_FILES[deleted]
            return [file for file in map(_read, paths) if file is not None]


def benchmarks_here(
    question_sets: Iterable[QuestionSet], library: QuestionLibrary
) -> frozenset[str]:
    """The keys of the benchmarks whose questions are on this server, in published sets or in question files."""
    with_sets = {question_set.benchmark for question_set in question_sets if question_set.official}
    with_files = {file.benchmark for file in library.files()}
    return frozenset(with_sets | with_files)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith(".")


def _read(path: Path) -> KnownFile | None:
    """Returns a question file, read again if it changed; None for one that can't be used."""
    state = _state(path)
    last_read = _READ_FILES.get(path)
    if last_read is not None and last_read.state == state:
        return last_read.file
    try:
        file = known_file(path)
    except QuestionFileError as error:
        log.warning("a question file is left out: %s", error)
        file = None
    _READ_FILES[path] = _ReadFile(state, file)
    return file


def _state(path: Path) -> _FileState:
    notes_path = path.with_name(f"{path.name}{BESIDE}")
    notes_time = notes_path.stat().st_mtime_ns if notes_path.is_file() else 0
    file = path.stat()
    return _FileState(file.st_mtime_ns, notes_time, file.st_size)


def offer_specs(folder: Path | None) -> None:
    """Adds a folder's specs to the benchmarks, once in a process. The log names those that can't be added."""
    with _OFFER_TURN:
        if folder is None or folder in _OFFERED:
            return
        _OFFERED.add(folder)
        for path in sorted(folder.glob(f"*{SPEC}")):
            # animals.csv.yaml has the notes on animals.csv
            is_notes_file = PurePath(path.stem).suffix.lower() in SUFFIXES
            if not is_notes_file:
                _offer(path)


def _offer(path: Path) -> None:
    """Adds a spec to the benchmarks under its file's name, or logs why it can't be."""
    key = path.stem
    is_taken = key in BENCHMARKS or is_own(key)
    if is_taken or not _KEY.fullmatch(key):
        reason = "is already a benchmark" if is_taken else "isn't a name in small letters"
        log.warning("%s is left out: %r %s. Rename the file.", path.name, key, reason)
        return
    try:
        BENCHMARKS[key] = spec_benchmark(key, load_spec(path))
    except SpecError as error:
        log.warning("a benchmark is left out: %s", error)
