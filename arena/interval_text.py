"""Interval text: writes 95% intervals, half widths and spreads over runs the same way everywhere.

± is the half width of a 95% interval; with "runs" before it, it is the spread over runs. For several intervals, a
heading or a sentence gives the level once. Words are in the current language: English in commands, and in files within
`speaking(ENGLISH)`.
"""

from arena.locale import t

BRACKETS = "Brackets are 95% intervals."
"""Sentence that a command prints once with intervals in brackets."""
End = float | None
"""An end of an interval; None if there is no interval."""


def spanned(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """Returns the ends for use below a heading with the level, as in "61.2 to 70.3" or "−0.3 to 1.2"."""
    if low is None or high is None:
        return missing
    return t("interval.span", low=f"{low:{spec}}", high=f"{high:{spec}}").replace("-", "−")


def interval_text(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """Returns an interval with its level, as in "95% interval 61.2 to 70.3"."""
    if low is None or high is None:
        return missing
    return t("interval.level", span=spanned(low, high, spec))


def bracketed(low: End, high: End, spec: str = ".1f", missing: str = "") -> str:
    """Returns an interval for a command that prints BRACKETS, as in "[61.2, 70.3]" or "[-0.3, 1.2]"."""
    if low is None or high is None:
        return missing
    return f"[{low:{spec}}, {high:{spec}}]"


def dashed(low: End, high: End, spec: str = ".0f", missing: str = "") -> str:
    """Returns the ends for a narrow cell below a heading with the level, as in "1020–1066" or "52–70%"."""
    if low is None or high is None:
        return missing
    low_text = f"{low:{spec}}".removesuffix("%")
    return f"{low_text}–{high:{spec}}"


def plus_minus(half_width: float, spec: str = ".1f") -> str:
    """Returns the half width of a 95% interval, as in "±4.2"."""
    return f"±{half_width:{spec}}"


def runs_text(spread: float, spec: str = ".1f") -> str:
    """Returns the standard deviation over runs, as in "(runs ±0.2)"."""
    return t("interval.runs", spread=plus_minus(spread, spec))
