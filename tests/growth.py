"""How the work of a rule grows with the length of a stranger's text."""

import time
from collections.abc import Callable, Iterable, Iterator

MOST = 60_000
"""Characters of the longest text."""
FASTEST = 0.004
"""Seconds of processor time under which a measurement says nothing."""
BOUND = 6
"""Four times the text may take so many times the work: 4 is linear, 16 quadratic."""

UNITS = tuple("aA1 \t\n.,:;!?'\"`“”‘’()[]{}<>|*_#~=+-/\\$&%@^是的。、\u200b\u00a0\u202e\ufeff😀") + (
    "A. ", "(A) ", "A) ", "**A** ", "A, ", "A or ", "'A' ", "it is ", "the answer is ", "option A ", "not A ", "\\n",
    "a a\n", "- ", "> ", "1. ", "| a ", "![", "](", "[a](", "<b>", "</b>", "<!--", "&amp;", "&#", "```\n", "`a", "**a",
    "_a_", "$a$", "\\(", "\r\n", " \n", "\n\n", "http://a.b/", "a@b.", "a.", "a'", "' ", "\" ", "0.5 ", "1e", "- -",
)  # fmt: skip
"""What texts are made of, over and over: what degenerate models and attackers write."""


def texts(units: Iterable[str] = UNITS) -> Iterator[Callable[[int], str]]:
    """Return makers of a text of n characters: each unit alone, after a word, before one, and with a doubled end."""
    for unit in units:
        for head, tail in (("", ""), ("x", "!"), ("The answer is ", " x\n"), ("", unit[:1] * 2 + "A")):

            def made(n: int, unit: str = unit, head: str = head, tail: str = tail) -> str:
                times = max(1, (n - len(head) - len(tail)) // len(unit))
                return head + unit * times + tail

            yield made


def grows_too_fast(call: Callable[[str], object], make: Callable[[int], str]) -> str | None:
    """Return what was measured where four times the text took over BOUND times the processor's time, else None.

    Lengths go up by steps of 4 to MOST, so that a cubic rule shows itself before it costs minutes.
    """
    before, length = 0.0, MOST // 4**4
    while length <= MOST:
        text = make(length)
        took = _processor_time(call, text)
        if took > max(FASTEST, BOUND * before):
            again = max(_least(call, make(length // 4)), FASTEST / BOUND)
            took = min(took, _least(call, text))
            if took > BOUND * again:
                return f"{text[:40]!r}...: {took:.4f} s for {len(text)} characters, {again:.4f} s for a quarter"
        before, length = max(took, FASTEST / BOUND), length * 4
    return None


def _least(call: Callable[[str], object], text: str) -> float:
    return min(_processor_time(call, text) for _ in range(3))


def _processor_time(call: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    call(text)
    return time.thread_time() - start
