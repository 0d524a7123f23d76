"""Planted defects, which say whether the tests still catch what they must: `make planted`.

A file `tests/planted/AREA_DEFECT.patch` holds a sentence on what a user would suffer, a line `Caught by: TESTS [-k
EXPRESSION]` that names the cheapest tests, as pytest takes them, and the defect. The tests must pass on a copy of the
tracked files, and fail on one with the defect.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PATCHES = ROOT / "tests/planted"
_CAUGHT_BY = re.compile(r"^Caught by: (.+?)(?: -k (.+))?$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Defect(NamedTuple):
    """A planted defect, and the tests that catch it."""

    patch: Path
    tests: tuple[str, ...]
    expression: str
    """Pytest's -k; empty: all of these tests."""

    @classmethod
    def read(cls, patch: Path) -> "Defect":
        """Read a patch file. Raises ValueError, which names it, where it says no tests."""
        found = _CAUGHT_BY.search(patch.read_text("utf-8").partition("\ndiff --git ")[0])
        if not found:
            raise ValueError(f"{patch}: expected a line 'Caught by: TESTS [-k EXPRESSION]' before the diff; add it")
        return cls(patch, tuple(found[1].split()), (found[2] or "").strip("\"'"))


class Outcome(NamedTuple):
    """What became of a defect, and the test that failed."""

    word: str
    test: str


def copy_tracked(folder: Path) -> None:
    """Copy the tracked files as they stand in the working tree, with a link to the packages."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")


def run_tests(folder: Path, tests: Sequence[str], expression: str) -> subprocess.CompletedProcess[str]:
    chosen = ["-k", expression] if expression else []
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--durations=0", "--durations-min=1e9", *tests, *chosen]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def outcome_of(defect: Defect, clean: Path) -> Outcome:
    """Plant a defect in a copy of the clean tree and run its tests."""
    with tempfile.TemporaryDirectory(prefix="stereoscope-planted-") as name:
        folder = Path(name) / "tree"
        shutil.copytree(clean, folder, symlinks=True)
        applied = subprocess.run(["git", "apply", str(defect.patch)], cwd=folder, capture_output=True, text=True)
        if applied.returncode:
            return Outcome("does not apply", applied.stderr.strip().splitlines()[0])
        done = run_tests(folder, defect.tests, defect.expression)
    failed = _FAILED.search(done.stdout)
    if done.returncode == 0:
        return Outcome("slipped", "")
    return Outcome("caught" if done.returncode == 1 else "tests do not run", failed[1] if failed else "")


def fails_unplanted(defects: Sequence[Defect], clean: Path) -> str:
    """Run the tests of all defects on the clean tree, those of one expression together; return what fails."""
    tests: dict[str, set[str]] = defaultdict(set)
    for defect in defects:
        tests[defect.expression] |= set(defect.tests)
    for expression, named in sorted(tests.items()):
        done = run_tests(clean, sorted(named), expression)
        if done.returncode:
            return done.stdout[-4000:] + done.stderr[-1000:]
    return ""


def plant_all(defects: Sequence[Defect], clean: Path) -> int:
    """Plant one defect after the other and print what becomes of each; return how many were caught."""
    caught = 0
    for defect in defects:
        begun = time.monotonic()
        outcome = outcome_of(defect, clean)
        seconds, name = time.monotonic() - begun, defect.patch.stem
        caught += outcome.word == "caught"
        area = name.partition("_")[0]
        print(f"{name:<50} {area:<10} {outcome.word:<16} {seconds:5.1f} s  {outcome.test}", flush=True)
    return caught


def main(patterns: Sequence[str]) -> int:
    """Plant the defects whose names fit a pattern, or all; return the exit code."""
    found = {path for pattern in patterns or ["*"] for path in PATCHES.glob(f"{pattern.removesuffix('.patch')}.patch")}
    defects = [Defect.read(path) for path in sorted(found)]
    if not defects:
        print(f"No patch in {PATCHES} fits {' '.join(patterns)}")
        return 1
    with tempfile.TemporaryDirectory(prefix="stereoscope-planted-") as name:
        clean, begun = Path(name), time.monotonic()
        copy_tracked(clean)
        if problem := fails_unplanted(defects, clean):
            print(f"These tests fail on the clean tree; mend them first.\n{problem}")
            return 1
        print(f"On the clean tree the named tests pass ({time.monotonic() - begun:.0f} s).", flush=True)
        caught = plant_all(defects, clean)
    print(f"{caught} of {len(defects)} caught.")
    return 0 if caught == len(defects) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
