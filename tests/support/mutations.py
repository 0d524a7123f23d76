"""Mutated files of strangers, and what is opened, sent or started while they are read."""

import copy
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scoring.registry import SPECS
from scoring.specs.yaml_text import read_yaml, write_yaml
from tests.support.other_forms import EVAL, TASK

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
WILD = (
    b'"',
    b",",
    b"\t",
    b"\n",
    b"{",
    b"]",
    b"\0",
    b"\xff",
    b"null",
    b"1e999",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"-1",
)


def mutated_bytes(whole: bytes, dice: random.Random) -> bytes:
    """The file with one to three faults: bytes lost, doubled, turned or put in."""
    found = bytearray(whole)
    for _ in range(dice.randint(1, 3)):
        place, many = dice.randrange(len(found) or 1), dice.randint(1, 12)
        kind = dice.randrange(4)
        if kind == 0:
            del found[place : place + many]
        elif kind == 1:
            found[place:place] = found[place : place + many]
        elif kind == 2:
            found[place : place + 1] = dice.choice(WILD)
        else:
            found[place:place] = dice.choice(WILD)
    return bytes(found)


def mutated_spec(seed: int) -> bytes:
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


@contextmanager
def watching() -> Iterator[list[str]]:
    """Yield what this block opens, by path, and what it sends or starts, by the name of the event."""
    global WATCHING
    OPENED.clear()
    WATCHING = True
    try:
        yield OPENED
    finally:
        WATCHING = False


def outside(opened: list[str], folder: Path) -> set[str]:
    """What lies neither in a folder nor where Python's modules do."""
    kept = (str(folder), sys.prefix, sys.base_prefix, str(SPECS.parents[1]))
    return {path for path in opened if not path.startswith(kept)}
