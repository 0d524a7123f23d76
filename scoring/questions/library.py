"""The library: a folder with question files, each read when it changes, and with specs that a server offers to all."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from threading import Lock

from arena.io.tables import SUFFIXES
from scoring.benchmarks.spec_benchmark import is_own, spec_benchmark
from scoring.questions.known_file import BESIDE, KnownFile, QuestionFileError, known_file
from scoring.registry import BENCHMARKS
from scoring.report import QuestionSet
from scoring.specs.files import load_spec
from scoring.specs.problems import SpecError

log = logging.getLogger(__name__)

_State = tuple[int, int, int]
"""Times of the last change of a file and of the notes beside it, and the file's size."""
_READ: dict[Path, tuple[_State, KnownFile | None]] = {}
"""The files as they were last read; None for one that can't be used."""
_READ_TURN = Lock()
SPEC = ".yaml"
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_OFFERED: set[Path] = set()
"""The folders whose specs are among the benchmarks of this process."""
_OFFER_TURN = Lock()


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
            for deleted in _READ.keys() - {*paths}:
                del _READ[deleted]
            return [file for file in map(_read, paths) if file is not None]


def benchmarks_here(sets: Iterable[QuestionSet], library: QuestionLibrary) -> frozenset[str]:
    """The keys of the benchmarks whose questions are on this server, in published sets or in question files."""
    published = {questions.benchmark for questions in sets if questions.official}
    return frozenset(published | {file.benchmark for file in library.files()})


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith(".")


def _read(path: Path) -> KnownFile | None:
    state = _state(path)
    if path not in _READ or _READ[path][0] != state:
        try:
            _READ[path] = (state, known_file(path))
        except QuestionFileError as error:
            log.warning("a question file is left out: %s", error)
            _READ[path] = (state, None)
    return _READ[path][1]


def _state(path: Path) -> _State:
    beside = path.with_name(f"{path.name}{BESIDE}")
    notes_time = beside.stat().st_mtime_ns if beside.is_file() else 0
    file = path.stat()
    return (file.st_mtime_ns, notes_time, file.st_size)


def offer_specs(folder: Path | None) -> None:
    """Adds a folder's specs to the benchmarks, once in a process. The log names those that can't be added."""
    with _OFFER_TURN:
        if folder is None or folder in _OFFERED:
            return
        _OFFERED.add(folder)
        for path in sorted(folder.glob(f"*{SPEC}")):
            is_notes_file = PurePath(path.stem).suffix.lower() in SUFFIXES
            if not is_notes_file:
                _offer(path)


def _offer(path: Path) -> None:
    key = path.stem
    if not _KEY.fullmatch(key) or key in BENCHMARKS or is_own(key):
        is_taken = key in BENCHMARKS or is_own(key)
        reason = "is already a benchmark" if is_taken else "isn't a name in small letters"
        log.warning("%s is left out: %r %s. Rename the file.", path.name, key, reason)
        return
    try:
        BENCHMARKS[key] = spec_benchmark(key, load_spec(path))
    except SpecError as error:
        log.warning("a benchmark is left out: %s", error)
