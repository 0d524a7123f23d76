"""Mutants, small changes to the code that tests should notice: `make mutants`.

mutmut changes functions and methods in a copy of the tree. It leaves out decorated ones
(properties, commands) and what runs at import. Of the tests that `pick_tests` picks, a mutant meets
those that run its function, on SQLite alone: first the nearest, and the others if it survives.
"""

import argparse
import ast
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROCESSES = 2
SLOW_FOLDERS = {"web", "cli"}  # their tests start browsers and processes
SURVIVED = {"survived", "no tests"}

# A mutant may take three times as long as its tests, and 30 seconds.
SETTINGS = """\
[mutmut]
source_paths =
    {modules}
pytest_add_cli_args_test_selection =
    {tests}
pytest_add_cli_args =
    -m
    not soak
    -k
    not postgresql
    -p
    no:cacheprovider
    --tb=short
    --hypothesis-profile=mutants
timeout_multiplier = 3.0
timeout_constant = 10.0
process_isolation = forkserver
use_git_change_detection = false
"""


def main(arguments: Sequence[str]) -> int:
    """Print the surviving mutants of a sample and a summary.

    Returns 1 where the tests fail without any mutant.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.support.mutants")
    parser.add_argument(
        "modules",
        nargs="+",
        help="files or folders, such as arena/ratings/shares.py scoring/judges",
    )
    parser.add_argument("-n", type=int, default=40, help="how many mutants to try (40)")
    parser.add_argument(
        "--seed", type=int, default=1, help="the same seed draws the same mutants (1)"
    )
    parser.add_argument("--tests", nargs="+", help="test files, in place of those that are picked")
    options = parser.parse_args(arguments)
    modules = python_files(options.modules)
    rounds = [options.tests] if options.tests else pick_tests(modules)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copy is removed
    with tempfile.TemporaryDirectory(prefix="stereoscope-mutants-") as name:
        copy = Path(name).resolve()
        copy_tree(modules, copy)
        os.chdir(copy)
        write_settings(modules, rounds[0])  # mutmut reads them when it is imported
        try:
            return try_mutants(modules, rounds, options.n, options.seed)
        finally:
            os.chdir(ROOT)


def python_files(paths: Iterable[str]) -> list[str]:
    """The Python files among files and folders, by their paths from the root."""
    files = []
    for path in paths:
        files += sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [(ROOT / path)]
    return [str(file.relative_to(ROOT)) for file in files]


def pick_tests(modules: Iterable[str]) -> list[list[str]]:
    """The test files named after the modules, or in their mirrored folders where none is; then the
    others in these folders, and those elsewhere that import one of the modules.

    Those in `tests/` itself run the whole app or measure time, which mutmut spends differently.
    """
    near = set()
    far = set()
    sources = {file: file.read_text("utf-8") for file in ROOT.glob("tests/*/**/test_*.py")}
    for module in modules:
        package, _, name = module.removesuffix(".py").replace("/", ".").rpartition(".")
        imported = re.compile(
            rf"^\s*from {package}(\.{name} import|\simport .*\b{name}\b)", re.MULTILINE
        )
        mirror = ROOT / "tests" / Path(module).parent
        mirrored = {file for file in sources if file.parent == mirror}
        near |= {file for file in mirrored if file.stem == f"test_{name}"} or mirrored
        far |= mirrored
        for file, source in sources.items():
            if imported.search(source) and not SLOW_FOLDERS.intersection(file.parts):
                far.add(file)
    rounds = (near, far - near)
    return [sorted(str(file.relative_to(ROOT)) for file in files) for files in rounds if files]


def copy_tree(modules: Iterable[str], copy: Path) -> None:
    """Copy the modules to where mutmut reads them, and the whole tree to where it runs the tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tree = [name for name in listing.split("\0") if (ROOT / name).is_file()]
    targets = [copy / module for module in modules] + [copy / "mutants" / name for name in tree]
    for source, target in zip([*modules, *tree], targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / source, target)
    (copy / "mutants/.venv").symlink_to(ROOT / ".venv")


def try_mutants(modules: Sequence[str], rounds: Sequence[list[str]], n: int, seed: int) -> int:
    """Make all mutants in the current folder, try a sample of them, print what survives each round."""
    from mutmut.__main__ import collect_source_file_mutation_data, create_mutants
    from mutmut.stats import status_by_exit_code

    begun = time.monotonic()
    with redirect_stdout(io.StringIO()):  # it prints each file
        create_mutants(PROCESSES)
    known, _ = collect_source_file_mutation_data(mutant_names=())
    files = {name: file.path for file, name, _ in known}
    sample = draw(files, n, seed)
    outcomes = dict.fromkeys(sample, "no tests")
    for number, tests in enumerate(rounds, start=1):
        left = [name for name, outcome in outcomes.items() if outcome in SURVIVED]
        print(
            f"\nRound {number}: {len(left)} of {len(files)} mutants, {len(tests)} test files.",
            flush=True,
        )
        write_settings(modules, tests)
        output = run_mutmut(left) if left else ""
        if output:
            print(f"mutmut stopped; its last lines:\n{output}")
            return 1
        tried, _ = collect_source_file_mutation_data(mutant_names=sample)
        for _, name, code in tried:
            outcome = status_by_exit_code[code]
            if name in left and (outcomes[name] == "no tests" or outcome != "no tests"):
                outcomes[name] = outcome
        for name in left:
            if outcomes[name] in SURVIVED:
                print_survivor(name, files[name], outcomes[name])
    counts = Counter(outcomes.values())
    seconds = round(time.monotonic() - begun)
    print("\n" + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()), end="")
    print(f"; {seconds} s, seed {seed}")
    return 0


def write_settings(modules: Sequence[str], tests: Sequence[str]) -> None:
    """Write the settings that mutmut reads in the current folder."""
    settings = SETTINGS.format(modules="\n    ".join(modules), tests="\n    ".join(tests))
    Path("setup.cfg").write_text(settings)


def print_survivor(name: str, path: Path, outcome: str) -> None:
    """Print the place and the change of a mutant."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    diff = get_diff_for_mutant(name, path=path)
    line = changed_line(path.read_text("utf-8"), name, diff)
    note = " (no test runs it)" if outcome == "no tests" else ""
    print(f"\n{path}:{line}{note}\n{short(diff)}", flush=True)


def draw(names: Iterable[str], n: int, seed: int) -> list[str]:
    """A sample of at most n names, the same for the same seed."""
    ordered = sorted(names)
    return random.Random(seed).sample(ordered, min(n, len(ordered)))


def run_mutmut(names: Sequence[str]) -> str:
    """Run mutants, whose outcomes mutmut keeps in the current folder.

    Returns nothing, or mutmut's last lines where it failed.
    """
    mutmut = str(Path(sys.executable).with_name("mutmut"))
    command = [mutmut, "run", "--max-children", str(PROCESSES), *names]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return output.read()[-6000:] if process.returncode else ""


def changed_line(source: str, mutant: str, diff: str) -> int:
    """The line of a module's source that a mutant changes.

    mutmut's diff counts from the comments above the function.
    """
    *_, function = re.split(r"\.x_|ǁ", mutant.partition("__mutmut_")[0])
    owner = re.search(r"ǁ(\w+)ǁ", mutant)
    body = ast.parse(source).body
    if owner:
        body = next(
            node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner[1]
        )
    nodes = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    node = next(node for node in nodes if node.name == function)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = source.splitlines()
    while first > 1 and lines[first - 2].startswith(" " * node.col_offset + "#"):
        first -= 1
    hunk = re.search(r"^@@ -(\d+)", diff, re.MULTILINE)
    assert hunk, diff
    before_change = diff[hunk.end() :].splitlines()[1:]
    context = next(index for index, line in enumerate(before_change) if line.startswith(("-", "+")))
    return first + int(hunk[1]) - 1 + context


def short(diff: str) -> str:
    """A diff's changed lines."""
    return "\n".join(line for line in diff.splitlines()[2:] if line.startswith(("-", "+")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
