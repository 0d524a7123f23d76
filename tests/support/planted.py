"""Planted defects, which say whether the tests still catch what they must: `make planted`.

A file `tests/planted/AREA_DEFECT.patch` holds a sentence on what a user would suffer, a line `Caught by:` with the
cheapest tests that catch it, as pytest takes them, and the defect. The tests must pass on a copy of the tracked files
and fail on one with the defect.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PATCHES = ROOT / "tests/planted"
_CAUGHT_BY = re.compile(r"^Caught by: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Defect(NamedTuple):
    """A planted defect, and the tests that catch it."""

    patch: Path
    tests: tuple[str, ...]

    @classmethod
    def read(cls, patch: Path) -> "Defect":
        """Read a patch file. Raises ValueError, which names it, where it names no tests."""
        found = _CAUGHT_BY.search(patch.read_text("utf-8").partition("\ndiff --git ")[0])
        if not found:
            raise ValueError(f"{patch}: expected a line 'Caught by: TESTS' before the diff; add it")
        return cls(patch, tuple(found[1].split()))


class Outcome(NamedTuple):
    """What became of a defect, and the test that failed or what git says."""

    word: str
    why: str


class Run(NamedTuple):
    """Pytest's exit code, and what it said."""

    code: int
    said: str


def copy_tracked(folder: Path) -> None:
    """Copy the tracked files as they stand in the working tree, with a link to the packages."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")


def run_tests(folder: Path, tests: Iterable[str]) -> Run:
    """Run tests of the suite in a folder up to the first failure."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-m",
        "not soak",
        "--durations=0",
        "--durations-min=1e9",
        *tests,
    ]
    with tempfile.TemporaryFile(
        "w+"
    ) as said:  # no pipe: a server that a failed test left behind would hold it open
        code = subprocess.run(command, cwd=folder, stdout=said, stderr=subprocess.STDOUT).returncode
        said.seek(0)
        return Run(code, said.read())


def outcome_of(defect: Defect, clean: Path) -> Outcome:
    """Plant a defect in a copy of the clean tree and run its tests."""
    with tempfile.TemporaryDirectory(prefix="stereoscope-planted-") as name:
        folder = Path(name) / "tree"
        shutil.copytree(clean, folder, symlinks=True)
        applied = subprocess.run(
            ["git", "apply", str(defect.patch)], cwd=folder, capture_output=True, text=True
        )
        if applied.returncode:
            return Outcome("does not apply", applied.stderr.strip().splitlines()[0])
        run = run_tests(folder, defect.tests)
    failed = _FAILED.search(run.said)
    word = {0: "slipped", 1: "caught"}.get(run.code, "tests do not run")
    return Outcome(word, failed[1] if failed else "")


def plant_all(defects: Sequence[Defect], clean: Path) -> int:
    """Plant one defect after the other and print what becomes of each; return how many were caught."""
    caught = 0
    for defect in defects:
        begun = time.monotonic()
        outcome = outcome_of(defect, clean)
        seconds, name = time.monotonic() - begun, defect.patch.stem
        caught += outcome.word == "caught"
        area = name.partition("_")[0]
        print(
            f"{name:<52} {area:<10} {outcome.word:<16} {seconds:5.1f} s  {outcome.why}", flush=True
        )
    return caught


def main(patterns: Sequence[str]) -> int:
    """Plant the defects whose names fit a pattern, or all; return the exit code."""
    found = {
        path
        for pattern in patterns or ["*"]
        for path in PATCHES.glob(f"{pattern.removesuffix('.patch')}.patch")
    }
    defects = [Defect.read(path) for path in sorted(found)]
    if not defects:
        print(f"No patch in {PATCHES} fits {' '.join(patterns)}")
        return 1
    with tempfile.TemporaryDirectory(prefix="stereoscope-planted-") as name:
        clean, begun = Path(name), time.monotonic()
        copy_tracked(clean)
        unplanted = run_tests(clean, sorted({test for defect in defects for test in defect.tests}))
        if unplanted.code:
            print(f"These tests fail on the clean tree; mend them first.\n{unplanted.said[-4000:]}")
            return 1
        print(
            f"On the clean tree the named tests pass ({time.monotonic() - begun:.0f} s).",
            flush=True,
        )
        caught = plant_all(defects, clean)
    print(f"{caught} of {len(defects)} caught.")
    return 0 if caught == len(defects) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
