"""The list of benchmarks: grouped by kind of rule, with a line for each, and the facts in those lines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from arena.locale import t, translated
from arena.types import grouped
from scoring.rules.kinds import KINDS
from scoring.specs.file_columns import FileColumn
from scoring.specs.schema import UNKNOWN

MIXED = "Several kinds"
"""Heading of the benchmarks with more than one kind."""
OTHER = "Other"
"""Heading of the benchmarks without a kind."""


class Listing:
    """The facts about a benchmark in the list and on its page."""

    name: str
    way: str
    """Its `Workflow`."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of its rules."""
        return ()

    @property
    def size(self) -> str:
        """The number of its questions, in words; "" if unknown."""
        return ""

    @property
    def measure(self) -> str:
        """The name of a report's main figure, in a few words."""
        return ""

    @property
    def licence(self) -> str:
        """The licence of its questions."""
        return UNKNOWN

    def columns(self) -> Sequence[FileColumn]:
        """The columns of a file of answers, with one made-up row."""
        return ()

    @property
    def columns_note(self) -> str:
        """A sentence on the columns; "" for none."""
        return ""


L = TypeVar("L", bound=Listing)


def by_kind(benchmarks: Iterable[L]) -> Mapping[str, list[L]]:
    """Benchmarks by the heading of their kind of rule: headings in the order of the list, benchmarks by name."""
    groups = grouped((_heading(benchmark), benchmark) for benchmark in benchmarks)
    headings = [*(kind.heading for kind in KINDS.values()), MIXED, OTHER]
    return {
        heading: sorted(groups[heading], key=lambda benchmark: benchmark.name.casefold())
        for heading in headings
        if heading in groups
    }


def _heading(benchmark: Listing) -> str:
    kinds = benchmark.kinds
    if not kinds:
        return OTHER
    if len(kinds) > 1:
        return MIXED
    return KINDS[kinds[0]].heading


def benchmark_line(benchmark: Listing, is_here: bool) -> str:
    """A benchmark in a line: name, size, main figure, questions, licence. `is_here`: this server has the questions."""
    return f"{benchmark.name} · {facts_line(benchmark, is_here)}"


def facts_line(benchmark: Listing, is_here: bool) -> str:
    """The line of `benchmark_line` without the benchmark's name."""
    has_licence = benchmark.licence != UNKNOWN
    parts = [
        translated(benchmark.size),
        translated(benchmark.measure),
        _place_of_questions(benchmark, is_here),
        translated(benchmark.licence) if has_licence else t("benchmarks.licence_unknown"),
    ]
    return " · ".join(filter(None, parts))


def _place_of_questions(benchmark: Listing, is_here: bool) -> str:
    """Returns the place of a benchmark's questions, in words."""
    if benchmark.way in ("compare", "sealed"):
        return t("benchmarks.questions_items")
    if is_here:
        return t("benchmarks.questions_here")
    if benchmark.way == "questions first":
        return t("benchmarks.questions_ask")
    return t("benchmarks.questions_bring")
