"""Interval text: how a number's 95% interval, its half width and its spread over runs are written, each in one way.

± is the half width of a 95% interval; before the spread of runs it says *runs*. Where many intervals stand together, a
heading or a sentence says their level, and the intervals do not repeat it.
"""

BRACKETS = "Brackets are 95% intervals."
"""What a command says once where it prints intervals in brackets."""
End = float | None
"""An end of an interval; None where there is none."""


def spanned(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """The ends in words, below a heading that says the level: "61.2 to 70.3"."""
    if low is None or high is None:
        return missing
    return f"{low:{spec}} to {high:{spec}}".replace("-", "−")


def interval_text(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """An interval that stands alone, with its level: "95% interval 61.2 to 70.3"."""
    if low is None or high is None:
        return missing
    return f"95% interval {spanned(low, high, spec)}"


def bracketed(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """An interval in the lines of a command, which says BRACKETS: "[61.2, 70.3]"."""
    if low is None or high is None:
        return missing
    return f"[{low:{spec}}, {high:{spec}}]"


def dashed(low: End, high: End, spec: str = ".0f", missing: str = "") -> str:
    """The ends in a narrow cell, below a heading that says the level: "1020–1066", "52–70%"."""
    if low is None or high is None:
        return missing
    return f"{f'{low:{spec}}'.removesuffix('%')}–{high:{spec}}"


def plus_minus(half_width: float, spec: str = ".1f") -> str:
    """The half width of a 95% interval: "±4.2"."""
    return f"±{half_width:{spec}}"


def runs_text(spread: float, spec: str = ".1f") -> str:
    """The standard deviation of several runs: "(runs ±0.2)"."""
    return f"(runs {plus_minus(spread, spec)})"
