"""The library: the question files of a folder, each read when it changes."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from arena.io.tables import SUFFIXES
from scoring.questions.known_file import BESIDE, KnownFile, QuestionFileError, known_file
from scoring.questions.offered import offer_specs

log = logging.getLogger(__name__)

_State = tuple[int, int, int]
"""Times of the last change of a file and of the notes beside it, and the file's size."""
_READ: dict[Path, tuple[_State, KnownFile | None]] = {}
"""The files as they were last read; None for one that can't be used."""
_TURN = Lock()


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
        with _TURN:
            paths = [path for path in sorted(self.folder.iterdir()) if _is_table(path)]
            for deleted in _READ.keys() - {*paths}:
                del _READ[deleted]
            return [file for file in map(_read, paths) if file is not None]


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
