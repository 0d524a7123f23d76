"""Mutated specs: whatever stands in one, it is a spec or a sentence; nothing else is opened, and nothing is sent."""

import copy
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.io.tables import RowsError
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.spec_benchmark import OWN, spec_benchmark
from scoring.registry import SPECS, open_upload
from scoring.specs.other_forms import load_benchmarks
from scoring.specs.problems import SpecError
from scoring.specs.yaml_text import read_yaml, write_yaml
from tests.support.other_forms import EVAL, TASK, TEMPLATE

SEEDS = [path.read_text() for path in sorted(SPECS.glob("*.yaml"))] + [EVAL, TASK] * 4
ODD = [
    *[None, True, 0, -1, 10**15, 0.5, "", " ", "x", "Yes", "Overall", "strict", "index", "letter"],
    *["../../etc/passwd", "/etc/passwd", "https://example.org/x", "http://a", "{question}", "{x}"],
    *["x" * 300, "é\u2028", "[" * 50, "1e999", "nan", "rows", "marks", "!!python/object:os.system"],
    *[
        [],
        {},
        [[]],
        [{}],
        {"kind": "letter"},
        {"kind": "no"},
        {"mean": "rows"},
        {"sum": ["Overall"]},
    ],
    *[
        ["a", "a"],
        {"a": "b"},
        {"when": {"A": ""}, "rule": "text"},
        [{"rule": "letter"}],
        {"from": "index"},
    ],
]
SIGNS = [
    "&x ",
    "*x",
    "!t ",
    "\t",
    "\n",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "#",
    "|\n",
    "\x00",
    "\ufeff",
]
TABLE = """index,question,A,B,answer,category,l2-category,split,image_path,prediction
1_a_2_0_0_1,Is it?,Yes,No,A,"x,y",z,dev,1.jpg,A
2,"Say 7","['a']",,7,x,z,test,1.jpg,"It is 7, or B"
3,,,,,,,,,
"""


def mutated(seed: int) -> bytes:
    """A spec of ours with a change or two, to its text or to what it holds."""
    draw = random.Random(seed)
    text = draw.choice(SEEDS)
    for _ in range(draw.randint(1, 2)):
        text = _by_text(draw, text) if draw.random() < 0.3 else _by_value(draw, text)
    return text.encode("utf-8", "surrogatepass")


def _by_text(draw: random.Random, text: str) -> str:
    place = draw.randrange(len(text) + 1)
    other = draw.randrange(len(text) + 1)
    first, last = sorted((place, other))
    lines = text.splitlines(keepends=True)
    return draw.choice(
        [
            lambda: text[:place] + draw.choice(SIGNS) + text[place:],
            lambda: text[:first] + text[last:],
            lambda: text[:place] + text[first : first + 200] + text[place:],
            lambda: "".join(draw.sample(lines, len(lines))),
            lambda: text[:place] + chr(draw.randrange(1, 0x3000)) + text[place + 1 :],
        ]
    )()


def _by_value(draw: random.Random, text: str) -> str:
    try:
        value = read_yaml(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text
    places = [*_places(value)]
    if not places:
        return text
    holder, key = draw.choice(places)
    act = draw.random()
    if act < 0.15:
        del holder[key]
    elif act < 0.3 and isinstance(holder, dict):
        holder[str(draw.choice(ODD))[:40]] = copy.deepcopy(holder[key])
    elif act < 0.4:
        other, where = draw.choice(places)
        holder[key] = copy.deepcopy(other.get(where) if isinstance(other, dict) else value)
    else:
        holder[key] = copy.deepcopy(draw.choice(ODD))
    try:
        return write_yaml(value)
    except (ValueError, RecursionError):
        return text


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


OPENED: list[str] = []
WATCHING = False


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if WATCHING and (event.startswith(("socket.", "subprocess", "os.exec", "os.system", "urllib"))):
        OPENED.append(event)
    if WATCHING and event == "open" and isinstance(args[0], str | bytes):
        OPENED.append(os.fsdecode(args[0]))


sys.addaudithook(_watch)


@pytest.fixture
def watched():
    global WATCHING
    OPENED.clear()
    WATCHING = True
    yield OPENED
    WATCHING = False


def check(folder: Path, seeds: range) -> tuple[int, int]:
    """How many mutated specs are read, and how many are refused in sentences."""
    path = folder / "spec.yaml"
    table = folder / "m.csv"
    table.write_text(TABLE)
    (folder / "_zoo_template_yaml").write_text(TEMPLATE)
    read = refused = 0
    for seed in seeds:
        path.write_bytes(mutated(seed))
        try:
            found = load_benchmarks(path)
        except SpecError as error:
            assert error.problems and all(problem.text for problem in error.problems), seed
            assert "\x00" not in str(error) and len(str(error)) < 20_000, seed
            refused += 1
            continue
        read += 1
        spec = found[0].spec
        benchmark = spec_benchmark(OWN, spec)
        try:
            opened = open_upload(table, benchmark=benchmark)
            assert opened
            for protocol in spec.protocols:
                report = opened.report(protocol)
                assert benchmark.sheets(report) and benchmark.sentence(report), seed
        except (ChoicesError, RowsError) as error:
            assert str(error), seed
    return read, refused


def _outside(opened: list[str], folder: Path) -> set[str]:
    """Files that lie neither beside the spec nor where Python's modules do."""
    kept = (str(folder), sys.prefix, sys.base_prefix, str(SPECS.parents[1]))
    return {path for path in opened if not path.startswith(kept)}


def test_mutated_specs_give_sentences(tmp_path, watched):
    read, refused = check(tmp_path, range(100))
    assert read > 5 and refused > 30
    assert _outside(watched, tmp_path) == set()


@pytest.mark.soak
def test_two_thousand_mutated_specs_give_sentences(tmp_path, watched):
    read, refused = check(tmp_path, range(1_000, 3_000))
    assert read > 100 and refused > 500
    assert _outside(watched, tmp_path) == set()
