"""How the work of a rule grows with the length of a stranger's text."""

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from re import _constants as parts  # a pattern's own parts: no public door leads to them
from re import _parser as parser
from typing import Any

MOST = 24_000
"""Characters of the longest text."""
QUICKLY = 4_000
"""Characters of the longest text, but in `make soak`."""
A_LINE = 64
"""Characters of a line."""
FASTEST = 0.01
"""Seconds of processor time under which a measurement says nothing."""
SLOW = 0.25
"""Seconds of processor time that are too many for any text but those of the two longest lengths."""
BOUND = 6
"""Four times the text may take so many times the work: 4 is linear, 16 quadratic."""

UNITS = tuple("aA1 \t\n.,:;!?'\"`“”‘’()[]{}<>|*_#~=+-/\\$&%@^是的。、\u200b\u00a0\u202e\ufeff😀") + (
    "A. ", "(A) ", "A) ", "**A** ", "A, ", "A or ", "'A' ", "it is ", "the answer is ", "option A ", "not A ", "\\n",
    "a a\n", "- ", "> ", "1. ", "| a ", "![", "](", "[a](", "<b>", "</b>", "<!--", "&amp;", "&#", "```\n", "`a", "**a",
    "_a_", "$a$", "\\(", "\r\n", " \n", "\n\n", "http://a.b/", "a@b.", "a.", "a'", "' ", "\" ", "0.5 ", "1e", "- -",
    "\\u",
)  # fmt: skip
"""What texts are made of, over and over: what degenerate models and attackers write."""


_REPEATS = (parts.MAX_REPEAT, parts.MIN_REPEAT, parts.POSSESSIVE_REPEAT)


def texts(units: Iterable[str] = UNITS, every: bool = True) -> Iterator[Callable[[int], str]]:
    """Return makers of a text of n characters: each unit alone, after a word, before one, and with a doubled end.

    Unless `every` shape is wanted, the units take turns in them.
    """
    for number, unit in enumerate(units):
        shapes = (("", ""), ("x", "!"), ("The answer is ", " x\n"), ("", unit[:1] * 2 + "A"))
        for head, tail in shapes if every else [shapes[number % 4]]:

            def made(n: int, unit: str = unit, head: str = head, tail: str = tail) -> str:
                times = max(1, (n - len(head) - len(tail)) // len(unit))
                return head + unit * times + tail

            yield made


def slow(call: Callable[[str], object], units: Iterable[str] = (), soak: bool = False) -> list[str]:
    """Return texts of the usual units, and of these, whose work grows too fast: in the suite short ones, of few."""
    made = [*texts(UNITS if soak else UNITS[::7], every=soak), *texts(units, every=soak)]
    return [
        found for make in made if (found := grows_too_fast(call, make, MOST if soak else QUICKLY))
    ]


def grows_too_fast(
    call: Callable[[str], object], make: Callable[[int], str], most: int
) -> str | None:
    """Return what was measured where four times the text took over BOUND times the processor's time, else None.

    Lengths go up by steps of 4 to the most, so that a cubic rule shows itself before it costs minutes. Short texts
    count only when they are slow: a rule that reads bounded parts grows faster until its bound is reached. What looks
    too fast is measured again, short and long by turns: a processor's own speed changes by half within a second.
    """
    before, length = 0.0, most // 4**3
    while length <= most:
        long = make(length)
        took = _processor_time(call, long)
        if took > max(FASTEST if length > most // 16 else SLOW, BOUND * before):
            short, grown = make(length // 4), math.inf
            for _ in range(9):
                first, again = _processor_time(call, short), _processor_time(call, long)
                grown, took = min(grown, again / max(first, FASTEST / BOUND)), min(took, again)
                if grown <= BOUND:
                    break
            else:
                return f"{long[:40]!r}...: {len(long)} characters take {grown:.1f} times the work of a quarter"
        before, length = max(took, FASTEST / BOUND), length * 4
    return None


def _processor_time(call: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    call(text)
    return time.thread_time() - start


def units_of(pattern: re.Pattern) -> list[str]:
    """Return texts that a pattern nearly matches over and over: the bodies of its repeats, and what leads to them."""
    pick, found = Random(1), set[str]()
    text = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )

    def walk(items: Sequence, before: list) -> None:
        for place, (kind, value) in enumerate(items):
            front = [*before, *items[:place]]
            if kind in _REPEATS:
                body = _sample(value[2], pick)
                found.update((body, _sample(front, pick) + body))
                walk(value[2], front)
            elif kind is parts.BRANCH:
                for branch in value[1]:
                    walk(branch, front)
            elif kind is parts.SUBPATTERN:
                walk(value[3], front)
            elif kind is parts.ATOMIC_GROUP:
                walk(value, front)

    tree = list(parser.parse(text, pattern.flags & ~re.UNICODE))
    walk(tree, [])
    found.update(_sample(tree, pick) for _ in range(4))
    return sorted(found - {""})


def _sample(items: Sequence, pick: Random) -> str:
    """Return one text of those that a part of a pattern may match."""
    return "".join(_piece(kind, value, pick) for kind, value in items)


def _piece(kind: object, value: Any, pick: Random) -> str:
    if kind in _REPEATS:
        least, most, body = value
        return "".join(
            _sample(body, pick) for _ in range(least + (most > least and pick.random() < 0.5))
        )
    if kind is parts.BRANCH:
        return _sample(pick.choice(value[1]), pick)
    if kind in (parts.SUBPATTERN, parts.ATOMIC_GROUP):
        return _sample(value[3] if kind is parts.SUBPATTERN else value, pick)
    return (
        _character(*pick.choice(value), pick) if kind is parts.IN else _character(kind, value, pick)
    )


def _character(kind: object, value: Any, pick: Random) -> str:
    if kind in (parts.LITERAL, parts.RANGE):
        return chr(value if kind is parts.LITERAL else pick.choice(value))
    if kind is parts.CATEGORY:
        return {
            parts.CATEGORY_SPACE: " ",
            parts.CATEGORY_DIGIT: "1",
            parts.CATEGORY_NOT_WORD: ".",
        }.get(value, "a")
    return "x" if kind in (parts.ANY, parts.NOT_LITERAL, parts.NEGATE) else ""
