"""Intervals, half widths and spreads of runs are written in one way each, by one function each."""

import re
from pathlib import Path

import pytest

from arena.interval_text import (
    bracketed,
    dashed,
    interval_text,
    plus_minus,
    runs_text,
    spanned,
)

ROOT = Path(__file__).parents[2]
FILES = [
    path
    for folder in ("arena", "scoring")
    for ending in ("py", "html", "js")
    for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
]
READERS = re.compile(
    r"arena/io/encodings\.py|scoring/judges/replies\.py|scoring/multiple_choice/.*"
)
"""Files that read ± in what others wrote."""
FORMATTED = re.compile(
    # two numbers with a format each, in brackets, or joined by a dash or by "to"
    r"\[\{[^{}]*low[^{}]*\}, \{|low[^{}]*:[^{}]*\} ?(?:–|to) ?\{|low[^{}]*\}\} ?(?:–|to) ?\{\{"
)


def test_each_form_is_written_in_one_way():
    assert spanned(61.23, 70.26) == "61.2 to 70.3"
    assert interval_text(61.23, 70.26) == "95% interval 61.2 to 70.3"
    assert bracketed(61.23, 70.26) == "[61.2, 70.3]"
    assert dashed(1019.6, 1066.2) == "1020–1066"
    assert dashed(0.523, 0.7, ".0%") == "52–70%"
    assert plus_minus(4.21) == "±4.2"
    assert runs_text(0.2) == "(runs ±0.2)"


def test_pages_have_a_minus_sign_and_commands_one_that_programs_read():
    assert spanned(-1.5, 2, "+.1f") == "−1.5 to +2.0"
    assert bracketed(-1.5, 2, "+.1f") == "[-1.5, +2.0]"


@pytest.mark.parametrize("form", [spanned, interval_text, bracketed, dashed])
def test_without_an_end_there_is_no_interval(form):
    assert form(None, 1.0) == form(1.0, None) == ""
    assert form(None, None, missing="none") == "none"


def test_no_other_place_writes_intervals_of_its_own():
    offenders = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in FILES
        if path.name != "interval_text.py" and not READERS.fullmatch(str(path.relative_to(ROOT)))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "±" in line or "&plusmn;" in line or FORMATTED.search(line)
    ]
    assert not offenders
