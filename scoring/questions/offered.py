"""Benchmarks that a server's people offer to everybody: specs in the folder of its question files."""

import logging
import re
from pathlib import Path, PurePath
from threading import Lock

from arena.io.tables import SUFFIXES
from scoring.benchmarks.spec_benchmark import is_own, spec_benchmark
from scoring.registry import BENCHMARKS
from scoring.specs.files import load_spec
from scoring.specs.problems import SpecError

log = logging.getLogger(__name__)

SPEC = ".yaml"
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_TURN = Lock()
_OFFERED: set[Path] = set()
"""The folders whose specs are among the benchmarks of this process."""


def offer_specs(folder: Path | None) -> None:
    """Adds a folder's specs to the benchmarks, once in a process. The log names those that can't be added."""
    with _TURN:
        if folder is None or folder in _OFFERED:
            return
        _OFFERED.add(folder)
        for path in sorted(folder.glob(f"*{SPEC}")):
            is_notes = PurePath(path.stem).suffix.lower() in SUFFIXES
            if not is_notes:  # notes on a question file
                _offer(path)


def _offer(path: Path) -> None:
    key = path.stem
    if not _KEY.fullmatch(key) or key in BENCHMARKS or is_own(key):
        reason = "is taken" if key in BENCHMARKS or is_own(key) else "is no name of small letters"
        log.warning("%s is left out: %r %s; rename the file", path.name, key, reason)
        return
    try:
        BENCHMARKS[key] = spec_benchmark(key, load_spec(path))
    except SpecError as error:
        log.warning("a benchmark is left out: %s", error)
